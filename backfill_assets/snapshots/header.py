"""What does a model say about itself? The header of a SQL file, or the arguments of `@model`: the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.errors import Problem
from backfill_assets.intervals import Cadence
from backfill_assets.settings import spark_conf
from backfill_assets.snapshots.documents import Document, did_you_mean
from backfill_assets.snapshots.validation import Duration, Instant, Name, Names, SparkType, Strict, Text, validate


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

    semantics: dict[Name, Text] = Field(default_factory=dict[str, str])
    deletes: Text = ""
    late_rows: Text = ""
    rules: tuple[DeclaredRule, ...] = ()
    validation_owner: Text = ""


def _described(value: object) -> object:
    return {"description": value} if isinstance(value, str) else {} if value is None else value


def _cadence(value: object) -> Cadence:
    try:
        return Cadence(str(value).lower())
    except ValueError:
        known = [c.value for c in Cadence]
        hint = did_you_mean(str(value), known)
        raise ValueError(f"not one of {', '.join(known)}" + (f"; {hint}" if hint else "")) from None


def _texts(value: object) -> object:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _conf(value: object) -> object:
    return spark_conf(value) if isinstance(value, Mapping) else value


class Header(Strict):
    """Every key that a model may give, with its default."""

    description: Text = ""
    owner: Text = ""
    cadence: Annotated[Cadence, BeforeValidator(_cadence)] = Cadence.DAILY
    start: Instant
    end: Instant | None = None
    time_column: Name = "ds"
    grain: Names
    lookback: Annotated[int, Field(ge=0, strict=True)] = 0
    batch_size: Annotated[int, Field(ge=1, strict=True)] | None = None
    batch_concurrency: Annotated[int, Field(ge=1, strict=True)] = 1
    retries: Annotated[int, Field(ge=0, strict=True)] = 2
    timeout: Duration | None = None
    pool: Text | None = None
    spark: Annotated[dict[str, str], BeforeValidator(_conf)] = Field(default_factory=dict[str, str])
    tags: Annotated[dict[str, str], BeforeValidator(_texts)] = Field(default_factory=dict[str, str])
    columns: dict[Name, Annotated[DeclaredColumn, BeforeValidator(_described)]] = Field(
        default_factory=dict[str, DeclaredColumn]
    )
    audits: list[Any] = Field(default_factory=list[Any])
    contract: DeclaredTerms = Field(default_factory=DeclaredTerms)

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Header:
        if self.end is not None and self.end <= self.start:
            raise ValueError("`end` must be after `start`")
        return self


FIXES = {
    "start": "add `start: 2024-01-01`: the first day that this model should have",
    "grain": "add `grain: [ds, …]`: the columns that together identify one row",
    "end": "give the first day that this model should not have any more, or remove `end`",
    "cadence": "write hourly, daily, weekly or monthly",
    "time_column": "name the output column that says which interval a row belongs to",
    "lookback": "give how many earlier intervals this model also reads: 0 or more",
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
}


def parse_header(document: Document, problems: list[Problem]) -> Header | None:
    """The header in a document's data; None, and problems, when it does not hold."""
    if not isinstance(document.data, Mapping):
        fix = "write `key: value` lines; `start` and `grain` are required"
        problems.append(document.problem(what="the header must be a mapping", fix=fix))
        return None
    return validate(Header, document, document.data, problems, fixes=FIXES)
