"""Which SQL does one function stand for? What it builds for several intervals, if that is one text but for values."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlglot
from sqlframe.standalone import StandaloneSession
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from backfill_assets.python_models.sqlframe.columns import defined, keys
from backfill_assets.python_models.sqlframe.escape import Escape, escaped
from backfill_assets.python_models.sqlframe.frames import Frame, upstream
from backfill_assets.python_models.sqlframe.interval import Interval
from backfill_assets.python_models.sqlframe.modules import Modules

_EARLY = datetime(1987, 6, 5, 7, 41, 13, tzinfo=UTC)
_LATE = datetime(2345, 10, 18, 19, 23, 47, tzinfo=UTC)
PROBES = (
    (
        _EARLY,
        _LATE,
    ),  # unlike each other in every part that a format can print, and further apart than anybody adds days
    (_LATE, _EARLY),  # on the other side of every date
    (datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),  # a leap day, and a month's end
    (datetime(2023, 12, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),  # a month, and a year's end
    (datetime(2021, 3, 28, 1, tzinfo=UTC), datetime(2021, 3, 28, 2, tzinfo=UTC)),  # an hour, of a Sunday
)
"""Intervals that have nothing in common. The code cannot look at them (`taint.py`, `interval.py`); if it could, then
not at all of these without a difference."""
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'")


def compile_function(function: Mapping[str, Any], files: Mapping[Path, str]) -> str:
    """The function's SQL. Raises whatever stands in its way.

    A text that depends on the interval is `'{…;…}'` in it, with its values for all PROBES: what is written for one of
    them by hand is not the same.
    """
    modules = Modules(Path(function["path"]), Path(function["root"]), files)
    called = vars(modules.run(function["code"]))[function["name"]]
    built = [_sql(called, function["upstreams"], start, end) for start, end in PROBES]
    texts = [text for text, _ in built]
    if len({_shape(text) for text in texts}) > 1:
        raise Escape("another interval gives other SQL")
    if escaped:
        raise Escape("it went on after an escape")
    _check(*built[0], function["upstreams"])
    return _combined(texts)


def _combined(texts: list[str]) -> str:
    values = zip(*(_TEXT.findall(text) for text in texts), strict=True)
    told = iter([v[0] if len(set(v)) == 1 else "'{" + ";".join(text[1:-1] for text in v) + "}'" for v in values])
    return _TEXT.sub(lambda _: next(told), texts[0])


def _sql(called: Callable[..., Any], upstreams: list[Any], start: datetime, end: datetime) -> tuple[str, list[str]]:
    session = StandaloneSession()
    keys.clear()
    defined.clear()
    arguments: dict[str, Any] = {u["parameter"]: upstream(session, u["table"], u["columns"]) for u in upstreams}
    frame = called(**arguments, interval=Interval(start, end))
    if not isinstance(frame, Frame):
        raise Escape("it returns no DataFrame")
    text = frame._inner.sql(dialect="spark", optimize=False, pretty=True)
    if isinstance(text, list) or ";" in _TEXT.sub("", re.sub(r"`[^`]*`", "", text)):
        raise Escape("more than one statement")
    return text, [name.casefold() for name in frame.columns]


def _check(text: str, names: list[str], upstreams: list[Any]) -> None:
    """SQLFrame writes names that nothing defines when it has lost track of a join; sqlglot refuses those."""
    schema: dict[str, object] = {_quoted(u["table"]): {_quoted(n): t for n, t in u["columns"]} for u in upstreams}
    qualified = qualify(sqlglot.parse_one(text, dialect="spark"), dialect="spark", schema=schema)
    if not isinstance(qualified, exp.Query):
        raise Escape("no query")
    found = [n.casefold() for n in qualified.named_selects]
    if names != found or "*" in found:
        raise Escape("columns without names")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _shape(text: str) -> str:
    """SQL without its texts, and with CTEs, whose names are hashes of what is in them, counted."""
    seen: dict[str, str] = {}
    return re.sub(r"`t\d+`", lambda match: seen.setdefault(match[0], f"`cte{len(seen)}`"), _TEXT.sub("?", text))
