"""What does a test make sure of? An audit in words for somebody who does not read SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backfill_assets.core.model import Audit, Model
from backfill_assets.evidence.words import listed
from backfill_assets.plan.estimate import UNITS


def meaning(audit: Audit, model: Model) -> str:
    """One sentence; nothing where the audit's own description is needed, as for those that tolerate failures."""
    said: dict[str, Any] = dict(audit.arguments)
    if said.get("tolerate") is not None:
        return ""
    sentence = _sentence(audit.kind, said, model)
    where = said.get("where")
    return f"{sentence} Only rows with {where} count." if sentence and where else sentence


def _sentence(kind: str, said: dict[str, Any], model: Model) -> str:
    columns = _columns(said)
    unit = UNITS[model.cadence]
    match kind:
        case "not_null":
            return f"{listed(columns)} {'are' if len(columns) > 1 else 'is'} never empty."
        case "unique_grain" | "unique":
            return f"There is only one row for each {listed(columns or model.grain)}."
        case "accepted_values":
            return (
                f"{listed(columns)} is one of {listed(map(str, said.get('values', ())), 'or')}, where it has a value."
            )
        case "range":
            return f"{listed(columns)} is {_bounds(said)}, where it has a value."
        case "relationships":
            return f"Every {listed(columns)} is found in {said['to']}." if said.get("to") else ""
        case "completeness":
            return f"Every {unit} has at least {_rows(int(said.get('min_rows') or 1))}."
        case "row_count":
            if (within := said.get("within_percent")) is None:
                return ""
            return (
                f"Every {unit} has about as many rows as {said.get('of') or 'prod'} shows, {within:g} % more or less."
            )
        case _:
            return ""


def _columns(said: dict[str, Any]) -> Sequence[str]:
    named = said.get("columns") or said.get("column") or ()
    return (named,) if isinstance(named, str) else tuple(named)


def _bounds(said: dict[str, Any]) -> str:
    low, high = said.get("min"), said.get("max")
    if low is not None and high is not None:
        return f"between {low} and {high}"
    return f"at least {low}" if low is not None else f"at most {high}"


def _rows(least: int) -> str:
    return "one row" if least == 1 else f"{least:,} rows"
