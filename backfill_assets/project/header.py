"""What does a model say about itself? The header of a SQL file, or the arguments of `@model`: the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from backfill_assets.core.cron import check_cron
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.local_days import known_zones
from backfill_assets.core.model import EXACT, TOLERANCE, SortColumn
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.documents import Document
from backfill_assets.files.validation import (
    ColumnName,
    ColumnNames,
    Duration,
    Instant,
    Reason,
    Strict,
    Text,
    VersionId,
    column_name,
    columns_once,
    setting,
    shown,
    text,
    validate_partly,
    written_number,
)
from backfill_assets.project.spark_settings import spark_conf, wrong_setting
from backfill_assets.sql.types import spark_type

_LEVELS = 50


def _type(value: object) -> str:
    if not isinstance(value, str) or len(value) > 100_000:
        raise ValueError('a type is text such as `bigint` or "decimal(18,4)"')
    if value.count("<") > _LEVELS and max(accumulate((c == "<") - (c == ">") for c in value)) > _LEVELS:
        raise ValueError("the type is nested too deeply")
    return spark_type(value)


SparkType = Annotated[str, BeforeValidator(_type)]


class DeclaredColumn(Strict):
    """A column of a header: its description, and its type when the author promises one."""

    type: SparkType | None = None
    description: Text = ""


class DeclaredRule(Strict):
    """A rule of a `contract:` and its period; `until` is the first day that it does not hold for any more."""

    rule: Text
    since: Instant | None = None
    until: Instant | None = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> DeclaredRule:
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("`until` must be after `since`")
        return self


class DeclaredTerms(Strict):
    """A `contract:`: what a header promises beyond types, grain, audits and descriptions."""

    semantics: dict[ColumnName, Text] = Field(default_factory=dict[str, str])
    deletes: Text = ""
    late_rows: Text = ""
    rules: tuple[DeclaredRule, ...] = ()
    validation_owner: Text = ""


class DeclaredSameAs(Strict):
    """`same_as`: the version whose table this code gives again, as the author knows and no comparison of code can."""

    version: VersionId
    code: VersionId | None = None
    columns: ColumnNames = ()
    reason: Reason


def _order(value: object) -> tuple[SortColumn, ...]:
    """`[loaded_at desc, id asc]`. A bare name would let the smallest win, which is rarely what is meant."""
    items: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    if not items:
        raise ValueError("not a list such as [loaded_at desc]")
    found: list[SortColumn] = []
    for item in items:
        column, _, direction = str(item).strip().rpartition(" ")
        direction = direction.lower()
        if direction not in ("asc", "desc"):
            raise ValueError(f"{shown(item)} does not say which row wins: write `{item} desc` to keep the latest")
        found.append(SortColumn(column=column_name(column.strip()), descending=direction == "desc"))
    return tuple(found)


class Dedupe(Strict):
    """Which of several rows of one grain stays: the first in this order."""

    order_by: Annotated[tuple[SortColumn, ...], BeforeValidator(_order)]


def _dedupe(value: object) -> object:
    return Dedupe.model_construct(order_by=(EXACT,)) if value == "exact" else value


def _described(value: object) -> object:
    return {"description": value} if isinstance(value, str) else {} if value is None else value


def _cadence(value: object) -> Cadence:
    try:
        return Cadence(str(value).lower())
    except ValueError:
        known = [c.value for c in Cadence]
        hint = did_you_mean(str(value), known)
        raise ValueError(f"not one of {', '.join(known)}" + (f"; {hint}" if hint else "")) from None


def _time_zone(value: object) -> str:
    name = text(value)
    if name == "UTC":
        return ""
    zones = known_zones()
    if name not in zones:
        hint = did_you_mean(name, sorted(zones))
        raise ValueError(f"{shown(name)} is no region such as Europe/Berlin" + (f"; {hint}" if hint else ""))
    return name


def _ready(value: object) -> str:
    return check_cron(text(value))


def _tags(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {text(k): str(v) if isinstance(v, bool) else text(v) for k, v in value.items()}


def _conf(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    found = spark_conf({text(name): setting(one) and one for name, one in value.items()})
    if problem := wrong_setting(found):
        raise ValueError(problem)
    return found


class Header(Strict):
    """Every key that a model may give, with its default."""

    description: Text = ""
    """what a row is, for people"""
    owner: Text = ""
    """an e-mail address or `team:name`"""
    cadence: Annotated[Cadence, BeforeValidator(_cadence)] = Cadence.DAILY
    """`hourly`, `daily`, `weekly`, `monthly`"""
    time_zone: Annotated[str, BeforeValidator(_time_zone)] = ""
    """the region whose local days the intervals consist of, as in `Europe/Berlin`, else UTC: see
    docs/models.md#local-days"""
    start: Instant
    """first day (or instant); nothing before it is ever expected, nor an interval that begins before it"""
    end: Instant | None = None
    """first day (or instant) that the model does not have: with `2024-03-01` the last day is 2024-02-29 (`--end` names
    the last day itself); an interval that it lies within is not built"""
    time_column: ColumnName = "ds"
    """the output's interval column: DATE (TIMESTAMP for hourly); the table is partitioned by it"""
    grain: ColumnNames
    """columns of the unique key; audited as `unique_grain` always"""
    lookback: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 0
    """earlier upstream intervals that an interval reads; they must be complete first (`settle` is what SQLMesh and
    dbt call lookback)"""
    settle: Duration | None = None
    """how long rows of an interval may come after it, as in `14 days`, else as long as for what it reads: see
    docs/late-data.md"""
    ready: Annotated[str, BeforeValidator(_ready)] = ""
    """a cron expression: when an interval counts as over, at or after its end: see
    docs/models.md#when-an-interval-counts-as-over"""
    write: Literal["replace", "merge"] = "replace"
    """`merge` touches only rows that differ, by the grain: see docs/writes.md"""
    dedupe: Annotated[Dedupe | None, BeforeValidator(_dedupe)] = None
    """`{order_by: [loaded_at desc]}`: of rows of one grain and interval the first stays; `exact`: equal rows are one"""
    updated_at: ColumnName | None = None
    """of a merged model: a column, added to the query's, that says when a row last changed"""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = None
    """intervals a batch, else that of docs/settings.md"""
    batch_concurrency: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    """batches at a time"""
    retries: Annotated[int, Field(ge=0, le=1000, strict=True)] = 4
    """further attempts after an error that may pass, with backoff and jitter: about 15 seconds in all"""
    timeout: Duration | None = None
    """of a batch: `90s`, `20m`, `2h`"""
    pool: Text | None = None
    """the Dagster concurrency pool of its runs"""
    spark: Annotated[dict[str, str], BeforeValidator(_conf)] = Field(default_factory=dict[str, str])
    """Spark SQL settings of its session; those that can change rows make a new version"""
    tags: Annotated[dict[str, str], BeforeValidator(_tags)] = Field(default_factory=dict[str, str])
    """for people and for Dagster, as in `{team: growth}`"""
    columns: Annotated[
        dict[ColumnName, Annotated[DeclaredColumn, BeforeValidator(_described)]], BeforeValidator(columns_once)
    ] = Field(default_factory=dict[str, DeclaredColumn])
    """what a column is, for people: `name: text` or `name: {description, type}`; a type is a promise, and checked"""
    audits: list[Any] = Field(default_factory=list[Any])
    """what has to hold in each interval: see docs/audits.md"""
    contract: DeclaredTerms = Field(default_factory=DeclaredTerms)
    """what values mean, late rows, rules, who accepts: see docs/contracts.md"""
    code_version: Text = ""
    """a text of yours (numbers with a point in quotes) that is a part of the version: change it, and all of history is
    computed again"""
    same_as: DeclaredSameAs | None = None
    """your word that the code gives what a version has: see docs/categories.md#when-you-know-better"""
    allow_nondeterministic: Reason | None = None
    """why the model may give other rows when it is built again: see docs/models.md#the-same-rows-again"""
    slices: ColumnNames = ()
    """columns by whose values a diff is told, besides by day: see docs/diff.md"""
    mask: ColumnNames = ()
    """columns whose values nobody should see, nor those of what is computed from them: see
    docs/diff.md#masked-columns"""
    unmask: dict[ColumnName, Reason] = Field(default_factory=dict[str, str])
    """`{column: reason}`: columns that may be seen although they are computed from masked ones"""
    tolerance: Annotated[
        float, BeforeValidator(written_number), Field(ge=0, lt=1, allow_inf_nan=False, strict=True)
    ] = TOLERANCE
    """how far apart two floats may be, relative to the larger one, and count as equal in a diff; for a change, the
    smaller of what its header says and what the shown version was built with"""

    # Of a field before these, `info.data` lacks what was refused already: that is told by itself.

    @field_validator("time_zone")
    @classmethod
    def _of_days(cls, value: str, info: ValidationInfo) -> str:
        if value and info.data.get("cadence") is Cadence.HOURLY:
            raise ValueError("an hourly model has no `time_zone`: its hours are those of UTC, whatever clocks show")
        return value

    @field_validator("end")
    @classmethod
    def _ends_after_it_starts(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        start = info.data.get("start")
        if value is not None and start is not None and value <= start:
            raise ValueError("`end` must be after `start`")
        return value

    @field_validator("updated_at")
    @classmethod
    def _marks_other_columns(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        key = (*info.data.get("grain", ()), info.data.get("time_column", ""))
        if value.lower() in {c.lower() for c in key}:
            raise ValueError("`updated_at` is a column beside the grain and the time column")
        return value


FIXES = {
    "start": "add `start: 2024-01-01`: the first day that this model should have",
    "grain": "add `grain: [ds, …]`: the columns that together identify one row",
    "end": "give the first day that this model should not have any more, or remove `end`",
    "cadence": "write hourly, daily, weekly or monthly",
    "time_zone": "name the zone whose local days it has, as in Europe/Berlin, or leave it out for days of UTC; a model "
    "of hours has none, one of days that reads it may",
    "time_column": "name the output column that says which interval a row belongs to",
    "lookback": "give how many earlier intervals this model also reads: 0 or more",
    "settle": "write how long rows of an interval may still come after it, as in 14 days",
    "ready": 'write five fields in quotes, as in "0 6 * * *": when an interval counts as over, at or after its end; '
    "in SQL files 0/5 for */5, which ends the comment",
    "write": "write replace, or merge to touch only rows that differ",
    "dedupe": "write {order_by: [loaded_at desc]}: of rows of one grain the first stays; or exact: equal rows are one",
    "updated_at": "name the column that says when a row last changed",
    "batch_size": "give how many intervals one batch computes: 1 or more",
    "batch_concurrency": "give how many batches may run at once: 1 or more",
    "retries": "give how often a batch is tried again: 0 or more",
    "timeout": "write it as 90s, 20m or 2h",
    "spark": "write a mapping of Spark settings, as in {spark.sql.shuffle.partitions: 4}",
    "tags": "write a mapping, as in {team: growth}",
    "columns": "write `name: description`, or `name: {type: bigint, description: …}`",
    "audits": "write a list, as in `- not_null: [ds]`",
    "contract": "it has semantics (column: meaning), deletes, late_rows, rules, validation_owner; "
    "types, grain and audits have their own keys",
    "code_version": "write any text, and another one when everything is to be computed again",
    "allow_nondeterministic": "say why it does not matter that another build gives other rows",
    "same_as": "write {version: …, code: …, reason: why it gives the same}; see `backfill docs categories`",
    "slices": "write a list of columns by whose values a diff is also told, as in `[channel]`",
    "mask": "write a list of columns whose values nobody should see in a diff, as in `[email]`",
    "unmask": "write `column: why its values may be seen although they are computed from masked ones`",
    "tolerance": "write how far apart two floats may be, relative to the larger one: `1e-9`, or 0 for exact",
}


def parse_header(document: Document, problems: list[Problem]) -> tuple[Header | None, frozenset[str]]:
    """The header in a document's data, and the keys that are wrong: they have a default, or stand for nothing.

    None when it is no header at all. Problems are appended.
    """
    if not isinstance(document.data, Mapping):
        fix = "write `key: value` lines; `start` and `grain` are required"
        problems.append(document.problem(what="the header must be a mapping", fix=fix))
        return None, frozenset(Header.model_fields)
    instead = {"start": "2000-01-01", "grain": ["ds"]}
    return validate_partly(Header, document, document.data, problems, fixes=FIXES, instead=instead)
