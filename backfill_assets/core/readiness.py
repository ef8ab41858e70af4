"""What does a model wait for? For the ticks of its own cron expression, and for those of all that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.core.model import Model


def with_readiness(models: Mapping[str, Model]) -> dict[str, Model]:
    """The models (given in dependency order), each with the expressions of what it reads."""
    found: dict[str, Model] = {}
    for name, model in models.items():
        above = [found[u.name] for u in model.upstreams if u.name in found]
        crons = tuple(sorted({cron for upstream in above for cron in upstream.crons}))
        found[name] = replace(model, upstream_ready=crons) if crons != model.upstream_ready else model
    return found
