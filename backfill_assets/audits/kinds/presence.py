"""Is everything there: enough rows, and rows of all that is expected?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.arguments import Other, Percent, Values
from backfill_assets.audits.kinds.base import BITS, AuditKind, Tolerant, interval_literal
from backfill_assets.audits.lookup import Pairs, hit
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Interval
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Model
from backfill_assets.files.validation import ColumnName
from backfill_assets.sql.text import hidden, interval_text, literal, quoted


class Completeness(AuditKind):
    kind = "completeness"
    example = "- completeness"
    page = (("- completeness: {min_rows: 10}", "the interval has rows: at least one, or so many"),)

    min_rows: Annotated[int, Field(ge=1, le=10**15, strict=True)] = 1

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        lacking = max(self.min_rows - here.rows, 0)
        return AuditVerdict(passed=not lacking, failures=lacking, observed=f"{here.rows} rows")

    def rule(self, model: Model) -> str:
        return f"at least {self.min_rows} row{'s' * (self.min_rows != 1)}"

    def meaning(self, model: Model) -> str:
        least = "one row" if self.min_rows == 1 else f"{self.min_rows:,} rows"
        return f"Every {model.cadence.unit} has at least {least}."


class Entities(Tolerant):
    kind = "entities"
    example = "- entities: {column: channel, values: [facebook, email]}"
    page = (
        ("- entities: {column: channel, values: [facebook, email]}", "each of these values has a row"),
        (
            "- entities: {column: campaign_id, of: raw.campaigns, field: id, tolerate: 2%}",
            "each value of a column of another model or source has a row",
        ),
    )

    column: ColumnName
    values: Values | None = None
    of: Other | None = None
    field: ColumnName | None = None

    @model_validator(mode="after")
    def _expected(self) -> Entities:
        if (self.values is None) == (self.of is None):
            raise ValueError("say which entities are expected: `values: […]`, or `of:` a model or source")
        if self.field is not None and self.of is None:
            raise ValueError("`field` is the column of the table that `of` names")
        if self.values is not None and len({str(v) for v in self.values}) != len(self.values):
            raise ValueError("a value is listed twice")
        return self

    def title(self) -> Sequence[str]:
        return (self.kind, self.column)

    def compared(self) -> Iterator[tuple[str, object]]:
        yield from ((self.column, value) for value in self.values or ())

    def looked_up(self) -> Pairs:
        return [] if self.of is None else [(self.column, self.field or self.column)]

    def cells(self, model: Model) -> Sequence[str]:
        column = quoted(self.column)
        if self.values is None:
            return [f"count(DISTINCT CASE WHEN {hit(self.called)} THEN {column} END)"]
        parts = [self.values[first : first + BITS] for first in range(0, len(self.values), BITS)]
        return [" + ".join(_seen(column, part) for part in parts)]

    def distinct(self, model: Model) -> str:
        return self.called if self.values is None else ""

    def expected(self, views: Mapping[str, str]) -> str:
        return f"SELECT count(*) FROM ({self._all(views)})" if self.values is None else ""

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        rows, (cell,) = passes.rows, passes.cells[self.called]
        total = int(passes.expected[cell]) if self.values is None else len(self.values)
        found.totals[self.called] = dict.fromkeys(look.starts, total)
        found.failures[self.called] = {at: total - (rows[at][cell] if at in rows else 0) for at in look.starts}

    def samples(self, look: AuditScope) -> Sequence[str]:
        model, tables = look.model, look.tables
        other = None if self.of is None else tables.table(self.of)
        secret = hidden(model, self.column) or (
            other is not None and any(there.lower() in other.mask for there in self.there())
        )
        entity = literal(HIDDEN) if secret else "cast(e.bf_entity AS STRING)"
        units = " UNION ALL ".join(f"SELECT {interval_literal(start)} AS {INTERVAL}" for start in look.starts)
        at = interval_text(model)
        there = f"SELECT DISTINCT {at} AS bf_at, {quoted(self.column)} AS bf_there FROM {tables.rows()}"
        expected = self._all({} if self.of is None or other is None else {self.of: other.view})
        return [
            f"SELECT u.{INTERVAL}, concat({literal(f'{self.column}=')}, {entity}) AS sample "
            f"FROM ({units}) AS u CROSS JOIN ({expected}) AS e "
            f"LEFT JOIN ({there}) AS t ON t.bf_at = u.{INTERVAL} AND t.bf_there = e.bf_entity WHERE t.bf_at IS NULL"
        ]

    def observed(self, bad: int, total: int) -> str:
        return f"{bad} failing of {total} entities"

    def rule(self, model: Model) -> str:
        if self.values is None:
            said = f"{self.column} of {self.of}" + (f" ({self.field})" if self.field else "")
        else:
            values = [str(v) for v in self.values]
            more = f" and {len(values) - 10} more" if len(values) > 10 else ""
            said = f"{self.column} of {', '.join(values[:10])}{more}"
        return f"every {said} has rows"

    def _all(self, views: Mapping[str, str]) -> str:
        """The query of the entities that are expected, in a column `bf_entity`."""
        if self.of is None:
            return " UNION ALL ".join(f"SELECT {literal(v)} AS bf_entity" for v in self.values or ())
        field = quoted(self.field or self.column)
        return f"SELECT DISTINCT {field} AS bf_entity FROM {views[self.of]} WHERE {field} IS NOT NULL"


class RowCount(AuditKind):
    kind = "row_count"
    example = "- row_count: {within_percent: 5, of: prod}"
    page = (("- row_count: {within_percent: 5, of: prod}", "it has about as many rows as prod shows"),)

    within_percent: Percent
    of: Literal["prod"] = "prod"

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        if prod is None:
            return AuditVerdict(
                passed=True, failures=0, observed=f"{here.rows} rows, nothing in {self.of} to compare with"
            )
        moved = abs(here.rows - prod) / prod * 100 if prod else (0.0 if not here.rows else 100.0)
        bad = moved > self.within_percent
        observed = f"{here.rows} rows, {self.of} has {prod} ({moved:.2f} % apart)"
        return AuditVerdict(passed=not bad, failures=int(bad), observed=observed)

    def rule(self, model: Model) -> str:
        return f"rows within ±{self.within_percent:g} % of {self.of}"

    def meaning(self, model: Model) -> str:
        return (
            f"Every {model.cadence.unit} has about as many rows as {self.of} shows, "
            f"{self.within_percent:g} % more or less."
        )


def _seen(column: str, values: Sequence[object]) -> str:
    """How many of these values there are: a bit for each, which costs less than to count what is distinct."""
    cases = " ".join(f"WHEN {literal(value)} THEN {1 << bit}" for bit, value in enumerate(values))
    return f"bit_count(bit_or(CAST(CASE {column} {cases} ELSE 0 END AS BIGINT)))"
