"""How does a wrong value in a header or a YAML file become a problem with a line and a remedy?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from backfill_assets.errors import Problem
from backfill_assets.intervals import utc
from backfill_assets.snapshots.documents import Document, did_you_mean
from backfill_assets.snapshots.types import spark_type

T = TypeVar("T", bound=BaseModel)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Strict(BaseModel):
    """A mapping in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def validate(
    model: type[T], document: Document, data: object, problems: list[Problem], *, at: tuple[str | int, ...] = (),
    fixes: Mapping[str, str] | None = None, otherwise: str = "correct the value",
) -> T | None:  # fmt: skip
    """The data as a `model`; None, and one problem each, when values are wrong.

    `at` is where in the document the data is; `fixes` gives the remedy for a field, `otherwise` for the rest.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        known = list(model.model_fields)
        for entry in error.errors(include_url=False):
            loc = tuple(p for p in entry["loc"] if isinstance(p, int) or not p.startswith("function-"))
            field = str(loc[0]) if loc else ""
            fix = (fixes or {}).get(field, "")
            path = ".".join(map(str, loc))
            if entry["type"] == "missing":
                what, why, fix = f"`{path}` is missing", "", fix or f"add `{path}: …`"
            elif entry["type"] == "extra_forbidden":
                what, why = f"unknown key `{path}`", ""
                fix = did_you_mean(str(loc[-1]), known) if len(loc) == 1 else fix
                fix = fix or (f"known keys: {', '.join(known)}" if len(loc) == 1 else "remove it")
            else:
                message = str(entry["msg"]).removeprefix("Value error, ")
                what, why = f"`{path}` is wrong: {message}" if path else message, f"it is {_shown(entry['input'])}"
            problems.append(document.problem(*at, *loc, what=what, why=why, fix=fix or otherwise))
        return None


def duration(value: object) -> float:
    """Seconds from `90s`, `20m`, `2h`, `1d` or a number of seconds.

    >>> duration("20m")
    1200.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip().lower())):
        seconds = float(match[1]) * _SECONDS[match[2]]
    else:
        raise ValueError("not a duration such as 90s, 20m, 2h or 1d")
    if seconds <= 0:
        raise ValueError("a duration must be more than zero")
    return seconds


def _instant(value: object) -> datetime:
    if isinstance(value, str | date):
        try:
            return utc(value)
        except ValueError:
            pass
    raise ValueError("not a date such as 2024-01-31, or an instant such as 2024-01-31T06:00")


def _names(value: object) -> tuple[str, ...]:
    items: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    if not items:
        raise ValueError("not a name or a list of names")
    for item in items:
        identifier(item)
    if len({str(i).lower() for i in items}) != len(items):
        raise ValueError("a name is listed twice")
    return tuple(items)


def identifier(value: object) -> str:
    """The value when it can name a column or a model; ValueError otherwise."""
    if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
        raise ValueError(f"{_shown(value)} is not a name (letters, digits and _, not starting with a digit)")
    return value


def _type(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError('a type is text such as `bigint` or "decimal(18,4)"')
    return spark_type(value)


def _text(value: object) -> str:
    if value is None or isinstance(value, Mapping | list):
        raise ValueError("not text")
    return str(value).strip()


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


Instant = Annotated[datetime, BeforeValidator(_instant)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Name = Annotated[str, BeforeValidator(identifier)]
Duration = Annotated[float, BeforeValidator(duration)]
Text = Annotated[str, BeforeValidator(_text)]
SparkType = Annotated[str, BeforeValidator(_type)]
