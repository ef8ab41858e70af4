"""Are the rows that somebody knows by heart there, with the values that they should have?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from backfill_assets.audits.kinds.arguments import Distance, Records
from backfill_assets.audits.kinds.base import BITS, AuditKind, interval_literal
from backfill_assets.audits.relations import INTERVAL, Row
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import utc
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Model
from backfill_assets.sql.text import hidden, key_text, literal, quoted

NEAR = 1e-9
"""How far a known record's floating-point value may be from what is found, unless the audit says."""


class KnownRecords(AuditKind):
    kind = "known_records"
    example = "- known_records: [{ds: 2024-01-01, campaign_id: 7, clicks: 120}]"
    page = (
        (
            "- known_records: [{ds: 2024-03-01, campaign_id: 7, channel: email, clicks: 120, ctr: 0.031}]",
            "each record's row, found by the grain and the time column, has these values; floating-point ones to "
            "nine digits, or `within`",
        ),
    )
    short = "records"

    records: Records
    within: Distance | None = None

    def wrong(self, grain: Sequence[str], time_column: str) -> Iterator[tuple[str, str, str]]:
        """A record names its row by the whole grain, and its interval by the time column; no two name the same."""
        key = tuple(dict.fromkeys(name.lower() for name in (*grain, time_column)))
        seen: set[tuple[str, ...]] = set()
        for number, record in enumerate(self.records, start=1):
            values = {name.lower(): value for name, value in record.items()}
            if lacking := [name for name in key if name not in values]:
                why = f"a row is found by {', '.join(key)}"
                yield f"known record {number} does not say its `{lacking[0]}`", why, f"add `{lacking[0]}: …` to it"
                continue
            try:
                utc(str(values[time_column.lower()]))
            except ValueError:
                what = f"known record {number}: `{time_column}` is not a date or an instant"
                yield what, "", f"write `{time_column}: 2024-01-31`"
            name = tuple(str(values[column]) for column in key)
            if name in seen:
                yield f"known record {number} is about the same row as one before it", "", "keep one of them"
            seen.add(name)

    def compared(self) -> Iterator[tuple[str, object]]:
        for record in self.records:
            yield from record.items()

    def cells(self, model: Model) -> Sequence[str]:
        """A bit for each record that has a row as expected."""
        return [
            f"bit_or(CAST(CASE {' '.join(self._found(model, first))} ELSE 0 END AS BIGINT))"
            for first in range(0, len(self.records), BITS)
        ]

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        known, cells = self._known(look.model), passes.cells.get(self.called, ())
        found.totals[self.called] = {at: len(known.get(at, ())) for at in look.starts}
        found.failures[self.called] = {
            at: sum(not _seen(passes.rows.get(at), cells, number) for number in known.get(at, ()))
            for at in look.starts
        }  # fmt: skip

    def samples(self, look: AuditScope) -> Sequence[str]:
        known = self._known(look.model)
        return [self._sample(look, number, start) for start in look.starts for number in known.get(start, ())]

    def observed(self, bad: int, total: int) -> str:
        return f"{bad} failing of {total} known records"

    def rule(self, model: Model) -> str:
        return "every known record is there as expected"

    def _known(self, model: Model) -> Mapping[datetime, Sequence[int]]:
        """Interval start → the numbers of the records in it."""
        found: dict[datetime, list[int]] = {}
        for number, record in enumerate(self.records):
            at = next(value for name, value in record.items() if name.lower() == model.time_column.lower())
            found.setdefault(model.cadence.floor(utc(str(at))), []).append(number)
        return found

    def _found(self, model: Model, first: int) -> Iterator[str]:
        for bit, record in enumerate(self.records[first : first + BITS]):
            key, rest = self._conditions(model, record)
            yield f"WHEN {key} AND {rest} THEN {1 << bit}"

    def _conditions(self, model: Model, record: Mapping[str, Any]) -> tuple[str, str]:
        """What is true of the row that a record is about, and of that row when it is as expected."""
        within, keys = float(self.within or NEAR), _key(model)
        key = [_equals(name, value) for name, value in record.items() if name.lower() in keys]
        rest = [_near(name, value, within) for name, value in record.items() if name.lower() not in keys]
        return " AND ".join(key), " AND ".join(rest) or "true"

    def _sample(self, look: AuditScope, number: int, start: datetime) -> str:
        """The row that a record is about when it is not as expected, or that there is none."""
        model, record = look.model, self.records[number]
        condition, rest = self._conditions(model, record)
        keys = {name: value for name, value in record.items() if name.lower() in _key(model)}
        name = ", ".join(f"{name}={HIDDEN if hidden(model, name) else value}" for name, value in keys.items())
        shown = f"coalesce(max({key_text(record, model.mask)}), {literal(f'no row {name}')})"
        return (
            f"SELECT {interval_literal(start)} AS {INTERVAL}, {shown} AS sample "
            f"FROM {look.tables.rows()} WHERE {condition} HAVING count_if({rest}) = 0"
        )


def _key(model: Model) -> set[str]:
    """The columns by which a known record's row is found."""
    return {name.lower() for name in (*model.grain, model.time_column)}


def _seen(row: Row | None, cells: Sequence[str], number: int) -> bool:
    return row is not None and bool(int(row[cells[number // BITS]] or 0) >> number % BITS & 1)


def _equals(name: str, value: object) -> str:
    return f"{quoted(name)} IS NULL" if value is None else f"{quoted(name)} = {literal(value)}"


def _near(name: str, value: object, within: float) -> str:
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and within != NEAR):
        return f"abs({quoted(name)} - {literal(value)}) <= {literal(within)}"
    return _equals(name, value)
