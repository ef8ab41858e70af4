"""What may an entry of `consumers.yml` say? Every key, its type and its default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.intervals import Interval, utc
from backfill_assets.snapshots.validation import Name, Names, Strict, Text, identifier

_DAYS = re.compile(r"(\d+)\s*d(ays?)?")


def days(value: object) -> int:
    """A number of days from `400 days`, `14d` or `7`.

    >>> days("400 days"), days(7)
    (400, 7)
    """
    if isinstance(value, str) and (match := _DAYS.fullmatch(value.strip().lower())):
        return int(match[1])
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("not a number of days such as `14 days`")


def span(value: object) -> Interval:
    """Whole days, the last one included, from `2024-01-01..2024-03-31` or one day.

    >>> str(span("2024-01-01..2024-03-31"))
    '2024-01-01..2024-03-31'
    """
    first, _, last = str(value).partition("..")
    try:
        return Interval(utc(first), utc(last or first) + timedelta(days=1))
    except ValueError:
        raise ValueError("not days such as 2024-01-01..2024-03-31, the last one included") from None


def _reads(value: object) -> object:
    """Names alone mean all columns."""
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else None
    if names is not None:
        if not names:
            raise ValueError("not a name or a list of names")
        value = {identifier(name): None for name in names}
        if len(value) < len(names):
            raise ValueError("a name is listed twice")
    if isinstance(value, Mapping) and len({str(name).lower() for name in value}) < len(value):
        raise ValueError("a name is listed twice")
    return value


def _use(value: object) -> object:
    return {} if value is None or value == "all" else value if isinstance(value, Mapping) else {"columns": value}


Days = Annotated[int, BeforeValidator(days)]


class _Use(Strict):
    columns: Names = ()
    history: Days | None = None


class _Bound(Strict):
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> _Bound:
        if self.min is None and self.max is None:
            raise ValueError("a bound needs `min`, `max` or both")
        return self


class _Query(Strict):
    name: Annotated[str, BeforeValidator(identifier)]
    sql: Text
    min_rows: Annotated[int, Field(ge=0, strict=True)] | None = None
    bounds: dict[Name, _Bound] = Field(default_factory=dict[str, _Bound])


class _Evaluation(Strict):
    name: Annotated[str, BeforeValidator(identifier)]
    query: Text = ""
    command: Text = ""
    days: Annotated[Interval, BeforeValidator(span)]

    @model_validator(mode="after")
    def _one_way(self) -> _Evaluation:
        if bool(self.query) == bool(self.command):
            raise ValueError("an evaluation has either a `query` or a `command`")
        return self


class Entry(Strict):
    """One consumer as it is written."""

    name: Annotated[str, BeforeValidator(identifier)]
    kind: Literal["dashboard", "export", "report", "notebook", "service", "model", "agent"] = "dashboard"
    owner: Text = ""
    criticality: Literal["low", "medium", "high"] = "medium"
    how: Literal["view", "export", "extract"] = "view"
    reads: Annotated[dict[Name, Annotated[_Use, BeforeValidator(_use)]], BeforeValidator(_reads)]
    history: Days | None = None
    notice: Days = 0
    queries: tuple[_Query, ...] = ()
    evaluations: tuple[_Evaluation, ...] = ()
    last_verified: date | None = None
    description: Text = ""
    url: Text = ""
