"""Which values may a column have?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import model_validator

from backfill_assets.audits.kinds.arguments import Bound, Condition, Other, Values
from backfill_assets.audits.kinds.base import AuditKind, RowCheck
from backfill_assets.audits.lookup import Pairs, hit
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import AuditScope
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Model
from backfill_assets.core.wording import listed
from backfill_assets.files.validation import ColumnName, ColumnNames
from backfill_assets.sql.expressions import columns_of
from backfill_assets.sql.text import clock_time, hidden, interval_end, interval_text, literal, quoted, value_text


class Range(RowCheck):
    kind = "range"
    example = "- range: {column: ctr, min: 0, max: 1}"
    page = (("- range: {column: ctr, min: 0, max: 1}", "every value is within, bounds included; NULL passes"),)

    column: ColumnName
    min: Bound = None
    max: Bound = None

    @model_validator(mode="after")
    def _bounded(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("a range needs `min`, `max` or both")
        low, high = self.min, self.max
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            raise ValueError("`min` is more than `max`")
        return self

    def title(self) -> Sequence[str]:
        return (self.kind, self.column)

    def compared(self) -> Iterator[tuple[str, object]]:
        yield from ((self.column, value) for value in (self.min, self.max) if value is not None)

    def broken(self, model: Model) -> str:
        column = quoted(self.column)
        parts = [f"{column} < {literal(self.min)}"] if self.min is not None else []
        parts += [f"{column} > {literal(self.max)}"] if self.max is not None else []
        return " OR ".join(parts)

    def decisive(self) -> Sequence[str]:
        return (self.column,)

    def meaning(self, model: Model) -> str:
        if self.min is not None and self.max is not None:
            said = f"between {self.min} and {self.max}"
        else:
            said = f"at least {self.min}" if self.min is not None else f"at most {self.max}"
        return f"{self.column} is {said}, where it has a value."


class AcceptedValues(RowCheck):
    kind = "accepted_values"
    example = "- accepted_values: {column: channel, values: [facebook, email]}"
    page = (
        ("- accepted_values: {column: channel, values: [facebook, email]}", "every value is one of these; NULL passes"),
    )

    column: ColumnName
    values: Values

    def title(self) -> Sequence[str]:
        return (self.kind, self.column)

    def compared(self) -> Iterator[tuple[str, object]]:
        yield from ((self.column, value) for value in self.values)

    def broken(self, model: Model) -> str:
        return f"{quoted(self.column)} NOT IN ({', '.join(literal(v) for v in self.values)})"

    def decisive(self) -> Sequence[str]:
        return (self.column,)

    def meaning(self, model: Model) -> str:
        return f"{self.column} is one of {listed(map(str, self.values), 'or')}, where it has a value."


class NotFuture(RowCheck):
    kind = "not_future"
    example = "- not_future: updated_at"
    page = (("- not_future: updated_at", "no date or instant is after the interval that its row is in; NULL passes"),)
    short = "column"

    column: ColumnName

    def title(self) -> Sequence[str]:
        return (self.kind, self.column)

    def wrong(self, grain: Sequence[str], time_column: str) -> Iterator[tuple[str, str, str]]:
        if self.column.lower() == time_column.lower():
            what, why = f"`{self.kind}` of the time column says nothing", "it decides which interval a row is in"
            yield what, why, "name another date or timestamp, or remove the audit"

    def timed(self) -> Sequence[str]:
        return (self.column,)

    def broken(self, model: Model) -> str:
        return f"{clock_time(model, self.column)} >= {interval_end(model)}"

    def decisive(self) -> Sequence[str]:
        return (self.column,)

    def rule(self, model: Model) -> str:
        return f"no {self.column} after the {model.cadence.unit} of its row"

    def meaning(self, model: Model) -> str:
        return f"{self.column} is never after the {model.cadence.unit} of its row."


class NotConstant(AuditKind):
    kind = "not_constant"
    example = "- not_constant: [channel, spend]"
    page = (
        (
            "- not_constant: [channel, spend]",
            "none of these columns has the same value in all rows, where there are two or more; NULL is a value",
        ),
    )
    short = "columns"

    columns: ColumnNames

    def title(self) -> Sequence[str]:
        return (self.kind, *self.columns)

    def cells(self, model: Model) -> Sequence[str]:
        return [" + ".join(f"CAST({_constant(c)} AS INT)" for c in self.columns)]

    def samples(self, look: AuditScope) -> Sequence[str]:
        at, rows = interval_text(look.model), look.tables.rows()
        values = {
            c: literal(HIDDEN) if hidden(look.model, c) else value_text(f"max({quoted(c)})") for c in self.columns
        }
        return [
            f"SELECT {at} AS {INTERVAL}, concat({literal(f'{column}=')}, {value}) AS sample FROM {rows} "
            f"GROUP BY {at} HAVING {_constant(column)}"
            for column, value in values.items()
        ]

    def observed(self, bad: int, total: int) -> str:
        return f"{bad} of {len(self.columns)} columns with one value only, in {total} rows"

    def rule(self, model: Model) -> str:
        return f"more than one value in {' and in '.join(self.columns)}"

    def meaning(self, model: Model) -> str:
        return f"{listed(self.columns)} {'vary' if len(self.columns) > 1 else 'varies'} within a {model.cadence.unit}."


class Expression(RowCheck):
    kind = "expression"
    example = "- expression: clicks <= impressions"
    page = (
        ("- expression: clicks <= impressions", "the condition is true of every row; where it is NULL it is not true"),
    )
    short = "expression"

    expression: Condition

    def broken(self, model: Model) -> str:
        return f"NOT coalesce({self.expression}\n, false)"

    def decisive(self) -> Sequence[str]:
        return columns_of(self.expression)

    def rule(self, model: Model) -> str:
        return f"{self.expression} in every row"


class Relationships(RowCheck):
    kind = "relationships"
    example = "- relationships: {columns: campaign_id, to: raw.campaigns, fields: id}"
    page = (
        (
            "- relationships: {columns: campaign_id, to: raw.campaigns, fields: id}",
            "every key is in the other model or source; a key with a NULL passes. Without `fields` the columns "
            "are called the same",
        ),
    )

    columns: ColumnNames
    to: Other
    fields: ColumnNames | None = None

    @model_validator(mode="after")
    def _paired(self) -> Relationships:
        if self.fields is not None and len(self.fields) != len(self.columns):
            raise ValueError("`columns` and `fields` go in pairs")
        return self

    def title(self) -> Sequence[str]:
        return (self.kind, self.to)

    def looked_up(self) -> Pairs:
        return list(zip(self.columns, self.fields or self.columns, strict=True))

    def broken(self, model: Model) -> str:
        filled = " AND ".join(f"{quoted(c)} IS NOT NULL" for c in self.columns)
        return f"{filled} AND {hit(self.called)} IS NULL"

    def decisive(self) -> Sequence[str]:
        return self.columns

    def rule(self, model: Model) -> str:
        return f"every {', '.join(self.columns)} is a {', '.join(self.fields or self.columns)} of {self.to}"

    def meaning(self, model: Model) -> str:
        return f"Every {listed(self.columns)} is found in {self.to}."


def _constant(column: str) -> str:
    """Whether several rows have one value of a column. This costs less than to count what is distinct."""
    name = quoted(column)
    return f"(count(*) > 1 AND count({name}) IN (0, count(*)) AND min({name}) <=> max({name}))"
