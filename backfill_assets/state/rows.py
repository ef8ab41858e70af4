"""How is a record the row of a control table? Column by column; what is no scalar is JSON in a column of text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar, cast, get_args, get_type_hints

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import Interval
from backfill_assets.state.store import Row, TableSpec

T = TypeVar("T")
Read = Callable[[Any], Any]


def to_row(spec: TableSpec, record: object, **given: object) -> Row:
    """A value for every column of the table: what is given, else the record's field of that name.

    The columns `start` and `end` are the ends of the field `interval`. A map of anything is JSON as it is. The table
    itself fills its `sequence`.
    """
    given = {spec.sequence: 0, **given}
    return {
        column: given[column] if column in given else _written(record, column, kind)
        for column, kind in spec.columns.items()
    }


def from_row(kind: type[T], row: Row, **given: object) -> T:
    """The record that `to_row` gave; the fields that are given are not looked for in the row."""
    make: Any = kind
    found = dict(given)
    for name, read in _readers(kind):
        if name in found:
            continue
        if name == "interval":
            found[name] = Interval(cast(datetime, row["start"]), cast(datetime, row["end"]))
        elif name in row:
            found[name] = read(row[name])
    return make(**found)


def _written(record: Any, column: str, kind: str) -> object:
    if column in ("start", "end"):
        return getattr(record.interval, column)
    value = getattr(record, column)
    if isinstance(value, Enum):
        return value.value
    if kind != "text" or isinstance(value, str):
        return value
    anything = dict(_readers(type(record)))[column] is json.loads
    return json.dumps(dict(value) if anything else to_plain(value), sort_keys=True, default=str)


@functools.cache
def _readers(kind: Any) -> tuple[tuple[str, Read], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, _reader(hints[f.name])) for f in fields(kind) if f.init)


def _reader(hint: Any) -> Read:
    if hint in (str, int, float, bool, datetime):
        return lambda value: value
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if get_args(hint)[1:] in ((object,), (Any,)):
        return json.loads
    return lambda text: from_plain(hint, json.loads(text))
