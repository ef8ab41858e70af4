"""What happens to each column, and what does a new one hold? As the packet's page tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backfill_assets.evidence.formatting import count, number
from backfill_assets.evidence.shape import ColumnPart, ModelPart


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """A column that is not as it was."""

    name: str
    what: str
    type: str
    holds: str
    """Of a new column: its range and how many rows lack a value; "" where nobody counted."""
    description: str


def column_views(m: ModelPart, measured: Mapping[str, Any] | None) -> list[ColumnView]:
    """The columns that are new, gone, of another type or of other values; `measured` is the model's comparison."""
    totals = {n.lower(): s for n, s in measured["total"]["columns"].items()} if measured else {}
    rows = measured["total"]["rows"] if measured else {}
    return [
        ColumnView(
            name=c.name,
            what=_what(c, totals.get(c.name.lower()), rows),
            type=f"{c.new_type or c.old_type}{f', was {c.old_type}' if c.what == 'type' else ''}",
            holds=_holds(totals.get(c.name.lower()), rows) if c.what == "added" else "",
            description=c.description if c.what != "removed" else "",
        )
        for c in m.columns
        if c.what != "same"
    ]


def _what(c: ColumnPart, found: Mapping[str, Any] | None, rows: Mapping[str, int]) -> str:
    match c.what:
        case "values" if found and rows:
            paired = rows["unchanged"] + rows["changed"]
            if found["changed"]:
                return f"other values in {number(found['changed'])} of {count(paired, 'row')}"
            return f"the same values in {count(paired, 'row')}"
        case "values":
            return "may have other values"
        case "type":
            return "has another type"
        case "added":
            return "new"
        case _:
            return "gone"


def _holds(found: Mapping[str, Any] | None, rows: Mapping[str, int]) -> str:
    stats = found["new"] if found else None
    if not stats:
        return ""
    total = rows.get("new") or sum(rows.get(kind, 0) for kind in ("unchanged", "changed", "added"))
    said: list[str] = []
    if stats["min"] is not None and stats["max"] is not None:
        said.append(f"from {_value(stats['min'])} to {_value(stats['max'])}")
    if stats["mean"] is not None:
        said.append(f"{_value(stats['mean'])} on average")
    nulls = stats["nulls"]
    if nulls and total:
        said.append(f"empty in {number(nulls)} of {count(total, 'row')} ({100 * nulls / total:.2g} %)")
    else:
        said.append("never empty")
    return ", ".join(said)


def _value(value: object) -> str:
    try:
        return number(float(str(value)))
    except ValueError:
        return str(value)
