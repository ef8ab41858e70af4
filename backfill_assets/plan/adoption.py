"""Can a table that is there become a model's first version? By its columns, and by the time that its rows are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import amount
from backfill_assets.plan.stages import Request
from backfill_assets.sql.types import safe_cast
from backfill_assets.state.environment import Environment

TableColumns = Sequence[tuple[str, str]]
"""Name and Spark SQL type."""
END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
"""From here on no time is a model's."""
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """What a table has of a model: the intervals with rows that are over, and the rows by their starts."""

    intervals: Ranges
    rows: Mapping[datetime, int]
    gaps: Ranges
    """Intervals between the first and the last that have no rows: the model's query computes them."""
    later: int
    """Rows of intervals that are not over: these are not adopted."""


def contained(model: Model, rows: Mapping[datetime | None, int], now: datetime) -> Contained:
    """What a table has, by the value of its time column (None: NULL) and the rows that have it.

    Raises PlanError for rows that are of no interval, or outside of the model's time, and when none is left.
    """
    cadence, first = model.cadence, model.cadence.ceil(model.start)
    outside = {at: n for at, n in rows.items() if at is not None and (at < first or at >= (model.end or END_OF_TIME))}
    odd = {at: n for at, n in rows.items() if at is not None and at not in outside and cadence.floor(at) != at}
    wrong: list[str] = []
    if nulls := rows.get(None, 0):
        wrong.append(f"{nulls} rows have no {model.time_column}")
    if odd:
        wrong.append(f"{sum(odd.values())} rows begin no {cadence.value} interval: {_named(odd)}")
    if outside:
        wrong.append(f"{sum(outside.values())} rows are outside of the model's time: {_named(outside)}")
    if wrong:
        until = f" to {model.end:%Y-%m-%d}" if model.end else ""
        raise PlanError(
            f"the table cannot become a version of {model.name}",
            why="; ".join(wrong),
            fix=f"give them their time or take them out in the table; or correct `start:`, `end:` and `cadence:` of the"
            f" model, which is {cadence.value} from {model.start:%Y-%m-%d}{until}",
        )
    units = {at: Interval(at, cadence.shift(at, 1)) for at, n in rows.items() if at is not None and n}
    there = Ranges.of(unit for unit in units.values() if unit.end <= model.over(now))
    if there.span is None:
        raise PlanError(
            f"the table has no rows of an interval of {model.name} that is over",
            why=f"it has {sum(rows.values())} rows",
            fix="name another table, or let the model's query build it: backfill apply",
        )
    return Contained(
        intervals=there,
        rows={at: rows[at] for at, unit in units.items() if unit.end <= model.over(now)},
        gaps=Ranges((there.span,)) - there,
        later=sum(rows[at] for at, unit in units.items() if unit.end > model.over(now)),
    )


def casts(model: Model, wanted: TableColumns, there: TableColumns, *, copying: bool) -> tuple[tuple[str, str], ...]:
    """The table's name and the model's type of each column that the model has, in its order.

    Raises PlanError, with all that is wrong, for a column that the table lacks, and for one of another spelling or
    type: a copy may have both changed, as long as no value can be lost.
    """
    known = {name.lower(): (name, kind) for name, kind in there}
    wrong: list[str] = []
    found: list[tuple[str, str]] = []
    could_copy, of_another_time = True, ""
    for name, kind in wanted:
        column = known.get(name.lower())
        if column is None:
            wrong.append(f"it has no column {name} ({kind})")
            could_copy = False
        elif column[1] != kind and not safe_cast(column[1], kind):
            wrong.append(f"{column[0]} is {column[1]}, not {kind}, and a cast could lose values")
            could_copy = False
            if name.lower() == model.time_column.lower():
                of_another_time = f"CAST({column[0]} AS {kind.upper()}) AS {name}"
        elif column != (name, kind) and not copying:
            wrong.append(f"{column[0]} is {column[1]}; the model says {name} {kind}")
        else:
            found.append((column[0], kind))
    if wrong:
        own = f"make the query of {model.path.name} give the table's columns and types, or the table the model's"
        if of_another_time:  # no query can give that type: `cadence:` decides which one the time column has
            others = f"; of the other columns: {own}" if len(wrong) > 1 else ""
            own = (
                f"{model.name} is {model.cadence.value}: it has no such {model.time_column}, and --copy casts none: "
                f"write the table once more with {of_another_time} and adopt that; or declare the table in "
                f"sources.yml, let the query of {model.path.name} read it with {of_another_time}, and build it: "
                f"backfill apply{others}"
            )
        raise PlanError(
            f"the table's columns are not those of {model.name}",
            why="; ".join(wrong),
            fix=f"{own}; or --copy, which casts while it copies" if could_copy and not copying else own,
        )
    return tuple(found)


def refuse_rebuilding(project: Project, shown: Environment, selected: Sequence[str], request: Request) -> None:
    """Raise PlanError where a plan would compute adopted rows again by other code, and nobody asked for that.

    An adopted version counts as one of the code that was there then. When the code changes, somebody has to say whether
    the adopted rows stay, or are computed and compared.
    """
    asked = {name for name, _ in request.strategies}
    for name in selected:
        pointer = shown.pointers.get(name)
        if pointer is None or pointer.version == project.fingerprints[name] or name in asked:
            continue
        if span := pointer.segments.adopted.covers.span:
            count = pointer.segments.adopted.covers.count(project.models[name].cadence)
            raise PlanError(
                f"the code of {name} changed, and {amount(count, project.models[name].cadence)} of it were adopted",
                why="a plan computes adopted history again only when somebody asks for it",
                fix=f"--forward-only {span.end:%Y-%m-%d} keeps the adopted rows, and begins the new logic there; "
                f"--strategy {name}=full-rebuild computes them beside, and compares; dual-run moves nothing",
            )


def kept_older(pointer: Pointer | None, version: str) -> Ranges:
    """The intervals that a change to this version left as they are (forward only): its readers read them as they are
    shown, until a plan replaces them (`plan/older_logic.py`)."""
    return pointer.older.covers if pointer and pointer.version == version else NOTHING


def _named(rows: Mapping[datetime, int]) -> str:
    listed = ", ".join(f"{at:%Y-%m-%d %H:%M} ({n})" for at, n in sorted(rows.items())[:_MOST_NAMED])
    return f"{listed} and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else listed


def adopted_note(model: Model, adopted: Ranges) -> str:
    """What a plan says besides of a model that is complete and shows rows of an adopted table."""
    count = amount(adopted.count(model.cadence), model.cadence)
    return f"{count} are shown from the adopted table, and stay: --restate computes them"
