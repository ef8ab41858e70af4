"""Which values may a row have?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import model_validator

from backfill_assets.audits.kinds.arguments import Bound, Condition, Table, Values
from backfill_assets.audits.kinds.base import RowCheck
from backfill_assets.audits.lookup import Pairs, hit
from backfill_assets.audits.text import literal, quoted
from backfill_assets.core.model import Model
from backfill_assets.core.words import listed
from backfill_assets.files.validation import ColumnName, ColumnNames
from backfill_assets.sql.expressions import columns_of


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

    def broken(self) -> str:
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

    def broken(self) -> str:
        return f"{quoted(self.column)} NOT IN ({', '.join(literal(v) for v in self.values)})"

    def decisive(self) -> Sequence[str]:
        return (self.column,)

    def meaning(self, model: Model) -> str:
        return f"{self.column} is one of {listed(map(str, self.values), 'or')}, where it has a value."


class Expression(RowCheck):
    kind = "expression"
    example = "- expression: clicks <= impressions"
    page = (
        ("- expression: clicks <= impressions", "the condition is true of every row; where it is NULL it is not true"),
    )
    short = "expression"

    expression: Condition

    def broken(self) -> str:
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
    to: Table
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

    def broken(self) -> str:
        filled = " AND ".join(f"{quoted(c)} IS NOT NULL" for c in self.columns)
        return f"{filled} AND {hit(self.called)} IS NULL"

    def decisive(self) -> Sequence[str]:
        return self.columns

    def rule(self, model: Model) -> str:
        return f"every {', '.join(self.columns)} is a {', '.join(self.fields or self.columns)} of {self.to}"

    def meaning(self, model: Model) -> str:
        return f"Every {listed(self.columns)} is found in {self.to}."
