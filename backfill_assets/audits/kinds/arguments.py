"""What can an audit be told? The types of its keys in a header, each with what is said of a wrong value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from backfill_assets.audits.reads import PROD
from backfill_assets.files.validation import column_name, column_names, instant, written_number
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


def _other(value: object) -> str:
    if (name := _table(value)) == PROD:
        raise ValueError("`prod` is this model as it is shown; name another model, or a source")
    return name


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


Bound = Annotated[Any, BeforeValidator(_maybe)] | None
"""A number, a text or a date."""
Values = Annotated[tuple[Annotated[Any, BeforeValidator(_plain)], ...], Field(min_length=1)]
Number = Annotated[int | float, BeforeValidator(_number)]
Table = Annotated[str, BeforeValidator(_table)]
"""A model, a source, or PROD."""
Other = Annotated[str, BeforeValidator(_other)]
"""A model or a source."""
Condition = Annotated[str, BeforeValidator(condition)]
Metric = Annotated[str, BeforeValidator(metric)]
Distance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
"""In percent."""
Tolerance = Annotated[int | str, BeforeValidator(_tolerance)]
"""Rows, or a share of them such as `0.5%`."""
Groups = Annotated[dict[str, str], BeforeValidator(_groups)]
Records = Annotated[tuple[dict[str, Any], ...], BeforeValidator(_records)]
Reasons = Annotated[dict[str, str], BeforeValidator(_reasons)]
