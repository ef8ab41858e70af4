"""What does a test make sure of? An audit in words for somebody who does not read SQL."""

from __future__ import annotations

from backfill_assets.core.model import Audit, Model


def meaning(audit: Audit, model: Model) -> str:
    """One sentence; nothing where the audit's own description is needed, as for those that tolerate failures."""
    from backfill_assets.audits.kinds import kind_of  # a parser and pydantic, which few commands need

    sentence, where = kind_of(audit).meaning(model), audit.arguments.get("where")
    if audit.arguments.get("tolerate") is not None:
        return ""
    return f"{sentence} Only rows with {where} count." if sentence and where else sentence
