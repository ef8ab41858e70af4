"""What may an entry of `consumers.yml` say? Every key, its type and its default."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.core.intervals import Interval
from backfill_assets.files.validation import (
    ColumnName,
    ColumnNames,
    Day,
    Name,
    Names,
    Strict,
    Text,
    identifier,
    instant,
    text,
)

_DAYS = re.compile(r"([0-9]{1,6})\s*d(ays?)?")
_MOST = 36_600
"""Days, at most: a century."""


def days(value: object) -> int:
    """A number of days from `400 days`, `14d` or `7`.

    >>> days("400 days"), days(7)
    (400, 7)
    """
    if isinstance(value, str) and (match := _DAYS.fullmatch(value.strip().lower())):
        value = int(match[1])
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
        return value
    raise ValueError(f"not a number of days such as `14 days`, {_MOST:,} at most")


def span(value: object) -> Interval:
    """Whole days, the last one included, from `2024-01-01..2024-03-31` or one day.

    >>> str(span("2024-01-01..2024-03-31"))
    '2024-01-01..2024-03-31'
    """
    first, _, last = str(value).partition("..")
    try:
        return Interval(instant(first), instant(last or first) + timedelta(days=1))
    except ValueError:
        raise ValueError("not days such as 2024-01-01..2024-03-31, the last one included") from None


def _command(value: object) -> str:
    found = text(value)
    try:
        shlex.split(found)
    except ValueError:
        raise ValueError("a quote is not closed, or nothing follows the last backslash") from None
    return found


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
    columns: ColumnNames = ()
    history: Days | None = None


class _Bound(Strict):
    min: Annotated[float, Field(allow_inf_nan=False, strict=True)] | None = None
    max: Annotated[float, Field(allow_inf_nan=False, strict=True)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> _Bound:
        if self.min is None and self.max is None:
            raise ValueError("a bound needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is more than `max`")
        return self


class _Query(Strict):
    name: Annotated[str, BeforeValidator(identifier)]
    sql: Text
    min_rows: Annotated[int, Field(ge=0, strict=True)] | None = None
    bounds: dict[ColumnName, _Bound] = Field(default_factory=dict[str, _Bound])


class _Evaluation(Strict):
    name: Annotated[str, BeforeValidator(identifier)]
    query: Text = ""
    command: Annotated[str, BeforeValidator(_command)] = ""
    variables: Names = ()
    days: Annotated[Interval, BeforeValidator(span)]

    @model_validator(mode="after")
    def _one_way(self) -> _Evaluation:
        if bool(self.query) == bool(self.command):
            raise ValueError("an evaluation has either a `query` or a `command`")
        if self.variables and not self.command:
            raise ValueError("only a `command` has `variables`")
        return self


class ConsumerEntry(Strict):
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
    last_verified: Day | None = None
    description: Text = ""
    url: Text = ""
