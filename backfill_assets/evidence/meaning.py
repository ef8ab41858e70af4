"""What does a test make sure of? An audit in words for somebody who does not read SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backfill_assets.audit.judge import describe
from backfill_assets.evidence.words import listed
from backfill_assets.plan.estimate import UNITS
from backfill_assets.snapshots.model import Audit, Model


def meaning(audit: Audit, model: Model) -> str:
    """One sentence; for kinds that need more than one, the audit's own description."""
    said: dict[str, Any] = dict(audit.arguments)
    columns: Sequence[str] = said.get("columns") or ([said["column"]] if said.get("column") else [])
    unit = UNITS[model.cadence]
    match audit.kind:
        case "not_null":
            return f"{listed(columns)} {'are' if len(columns) > 1 else 'is'} never empty."
        case "unique_grain":
            return f"There is only one row for each {listed(columns or model.grain)}."
        case "accepted_values":
            return f"{listed(columns)} is always one of {listed(map(str, said.get('values', ())), 'or')}."
        case "range":
            return f"{listed(columns)} is always {_bounds(said)}."
        case "completeness":
            return f"Every {unit} has at least {_rows(int(said.get('min_rows') or 1))}."
        case "row_count":
            within, other = said["within_percent"], said.get("of") or "prod"
            return f"Every {unit} has about as many rows as {other} shows, at most {within:g} % more or fewer."
        case _:
            return describe(model, audit)


def _bounds(said: dict[str, Any]) -> str:
    low, high = said.get("min"), said.get("max")
    if low is not None and high is not None:
        return f"between {low} and {high}"
    return f"at least {low}" if low is not None else f"at most {high}"


def _rows(least: int) -> str:
    return "one row" if least == 1 else f"{least:,} rows"
