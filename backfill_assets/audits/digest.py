"""Which audits were these? A digest that changes when any audit of the model does, so that old results go stale."""

from __future__ import annotations

import hashlib
import json

from backfill_assets.core.model import Model


def audits_digest(model: Model) -> str:
    """16 hex digits over every audit's name, kind, arguments and severity, and the grain that the implied ones use."""
    audits = [[a.name, a.kind, dict(a.arguments), a.blocking] for a in model.audits]
    text = json.dumps([sorted(audits, key=str), list(model.grain), model.time_column], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
