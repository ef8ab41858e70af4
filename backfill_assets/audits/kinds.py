"""Which kinds of audits are there, and what can each be told? One class a kind: its keys are those of the header."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.files.validation import (
    ColumnName,
    ColumnNames,
    Strict,
    column_name,
    column_names,
    instant,
    written_number,
)
from backfill_assets.sql.expressions import condition, metric

_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def _plain(value: object) -> object:
    """A scalar as it is; YAML's dates become text, so that arguments stay JSON."""
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if value is None or isinstance(value, Mapping | list | tuple):
        raise ValueError("not a number, a text or a date")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a number that rows can be compared with")
    return value


def _maybe(value: object) -> object:
    return None if value is None else _plain(written_number(value))


def _number(value: object) -> int | float:
    value = written_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a number")
    return value


def _table(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("not the name of a model or a source")
    return value


def _tolerance(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (match := _SHARE.fullmatch(value.strip())) and float(match[1]) <= 100:
        return f"{float(match[1]):g}%"
    raise ValueError("not a number of rows such as 10, or a share such as 0.5%")


def _groups(value: object) -> dict[str, str]:
    """Column here → column there; a list names columns that are called the same."""
    if isinstance(value, Mapping):
        pairs = {column_name(here): column_name(there) for here, there in value.items()}
    else:
        pairs = {name: name for name in column_names(value)}
    if not pairs or len({name.lower() for name in pairs}) != len(pairs):
        raise ValueError("not columns to group by, each once")
    return pairs


def _records(value: object) -> tuple[dict[str, object], ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(r, Mapping) and r for r in value):
        raise ValueError("not a list of records such as {ds: 2024-01-01, id: 7, total: 12.5}")
    return tuple(
        {column_name(k): _maybe(v) for k, v in cast(Mapping[object, object], record).items()} for record in value
    )


def _reasons(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("not a mapping from intervals to reasons, as in {2024-11-29: Black Friday}")
    for reason in value.values():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError("an interval needs a reason, as in {2024-11-29: Black Friday}")
    reasons = {str(_plain(at)): str(reason) for at, reason in value.items()}
    for at in reasons:
        try:
            instant(at)
        except ValueError as error:
            raise ValueError(f"{at}: {error}") from None
    return reasons


_Plain = Annotated[Any, BeforeValidator(_plain)]
_Bound = Annotated[Any, BeforeValidator(_maybe)] | None
_Number = Annotated[int | float, BeforeValidator(_number)]
_Table = Annotated[str, BeforeValidator(_table)]
_Condition = Annotated[str, BeforeValidator(condition)]
_Metric = Annotated[str, BeforeValidator(metric)]
_Distance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Percent = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_Tolerance = Annotated[int | str, BeforeValidator(_tolerance)]


class AuditKind(Strict):
    """What every audit takes."""

    name: str | None = None
    severity: Literal["error", "warn"] = "error"


class _Tolerant(AuditKind):
    """Counts what fails, and passes while that is not more than is tolerated."""

    tolerate: _Tolerance | None = None


class _Rows(_Tolerant):
    """Looks at single rows, of those for which `where` holds."""

    where: _Condition | None = None


class NotNull(_Rows):
    columns: ColumnNames


class NullRate(AuditKind):
    column: ColumnName
    min_percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None
    max_percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> NullRate:
        if self.min_percent is None and self.max_percent is None:
            raise ValueError("a null rate needs `min_percent`, `max_percent` or both")
        if (self.min_percent or 0) > (100 if self.max_percent is None else self.max_percent):
            raise ValueError("`min_percent` is more than `max_percent`")
        return self


class UniqueGrain(_Tolerant):
    pass


class Unique(_Rows):
    columns: ColumnNames


class Range(_Rows):
    column: ColumnName
    min: _Bound = None
    max: _Bound = None

    @model_validator(mode="after")
    def _bounded(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("a range needs `min`, `max` or both")
        low, high = self.min, self.max
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            raise ValueError("`min` is more than `max`")
        return self


class AcceptedValues(_Rows):
    column: ColumnName
    values: Annotated[tuple[_Plain, ...], Field(min_length=1)]


class Expression(_Rows):
    expression: _Condition


class Relationships(_Rows):
    columns: ColumnNames
    to: _Table
    fields: ColumnNames | None = None

    @model_validator(mode="after")
    def _paired(self) -> Relationships:
        if self.fields is not None and len(self.fields) != len(self.columns):
            raise ValueError("`columns` and `fields` go in pairs")
        return self


class Completeness(AuditKind):
    min_rows: Annotated[int, Field(ge=1, le=10**15, strict=True)] = 1


class Entities(_Tolerant):
    column: ColumnName
    values: Annotated[tuple[_Plain, ...], Field(min_length=1)] | None = None
    of: _Table | None = None
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


class RowCount(AuditKind):
    within_percent: _Percent
    of: Literal["prod"] = "prod"


class Aggregate(AuditKind):
    metric: _Metric
    min: _Number | None = None
    max: _Number | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Aggregate:
        if self.min is None and self.max is None:
            raise ValueError("an aggregate needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is more than `max`")
        return self


class Reconcile(_Tolerant):
    metric: _Metric
    of: _Table
    of_metric: _Metric | None = None
    by: Annotated[dict[str, str], BeforeValidator(_groups)] | None = None
    within: _Distance | None = None
    within_percent: _Percent | None = None


class Trend(AuditKind):
    metric: _Metric = "count(*)"
    max_change_percent: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
    neighbours: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 7
    explained: Annotated[dict[str, str], BeforeValidator(_reasons)] | None = None


class KnownRecords(AuditKind):
    records: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_records)]
    within: _Distance | None = None


class Sql(_Tolerant):
    file: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


KINDS: dict[str, type[AuditKind]] = {
    "not_null": NotNull,
    "null_rate": NullRate,
    "unique_grain": UniqueGrain,
    "unique": Unique,
    "range": Range,
    "accepted_values": AcceptedValues,
    "expression": Expression,
    "relationships": Relationships,
    "completeness": Completeness,
    "entities": Entities,
    "row_count": RowCount,
    "aggregate": Aggregate,
    "reconcile": Reconcile,
    "trend": Trend,
    "known_records": KnownRecords,
    "sql": Sql,
}
EXAMPLES = {
    "not_null": "- not_null: [ds, campaign_id]",
    "null_rate": "- null_rate: {column: email, max_percent: 5}",
    "unique_grain": "- unique_grain",
    "unique": "- unique: [event_id]",
    "range": "- range: {column: ctr, min: 0, max: 1}",
    "accepted_values": "- accepted_values: {column: channel, values: [facebook, email]}",
    "expression": "- expression: clicks <= impressions",
    "relationships": "- relationships: {columns: campaign_id, to: raw.campaigns, fields: id}",
    "completeness": "- completeness",
    "entities": "- entities: {column: channel, values: [facebook, email]}",
    "row_count": "- row_count: {within_percent: 5, of: prod}",
    "aggregate": "- aggregate: {metric: sum(spend), min: 0}",
    "reconcile": "- reconcile: {metric: sum(clicks), of: prod, by: [channel], within_percent: 1}",
    "trend": "- trend: {metric: sum(clicks), max_change_percent: 50}",
    "known_records": "- known_records: [{ds: 2024-01-01, campaign_id: 7, clicks: 120}]",
    "sql": "- sql: no_orphans",
}
SHORT = {
    "not_null": "columns",
    "unique": "columns",
    "expression": "expression",
    "known_records": "records",
    "sql": "file",
}
"""Kinds whose one important argument may stand alone: `- not_null: [ds]`."""
