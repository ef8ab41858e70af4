"""What did somebody ask for? Days and ranges as people write them, in a terminal or in the UI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import FIRST_YEAR, LAST_YEAR, Interval, utc
from backfill_assets.plan.ids import Ids, parse_ids
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.plan.stages import Request

T = TypeVar("T")
_HOUR = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d(:00)?")


def request_of(
    *, start: str | None = None, end: str | None = None, select: Sequence[str] = (), restate: Sequence[str] = (),
    where: str | None = None, ids: str | Ids | None = None, forward_only: str | None = None,
    end_bounded: bool = False, ignore_cron: bool = False, all_versions: bool = False,
    strategy: Sequence[str] = (), expect_moved: Sequence[str] = (), expect_unmoved: Sequence[str] = (),
    expect_filled: Sequence[str] = (), why: str | None = None, spell: Callable[[str], str] = "--{}".format,
) -> Request:  # fmt: skip
    """The request that texts say; `spell` writes an option's name as its user does. `ids`: a file's text, or its keys.

    Raises UsageError with all that is wrong: no days, empty or reversed ranges, empty names.
    """
    wrong: list[UsageError] = []
    lists = {"select": select, "restate": restate, "expect-moved": expect_moved, "expect-unmoved": expect_unmoved}
    lists["expect-filled"] = expect_filled
    for name, texts in lists.items():
        if any(not part.strip() for text in texts for part in (text.split(",") if name == "select" else (text,))):
            fix = f"name what is meant, or leave {spell(name)} out: without it everything is"
            wrong.append(UsageError(f"{spell(name)} is empty", why="it would name nothing", fix=fix))
    if why is not None and not why.strip():
        fix = "say in a sentence what the change is for, or leave it out"
        wrong.append(UsageError(f"{spell('why')} is empty", why="it would say nothing", fix=fix))
    if where is not None and not where.strip():
        fix = f"name the rows that are meant, or leave {spell('where')} out: without it all of the days are"
        wrong.append(UsageError(f"{spell('where')} is empty", why="it would name nothing", fix=fix))
    keys = _noted(wrong, None, lambda: parse_ids(ids, spell("ids"))) if isinstance(ids, str) else ids
    first = _noted(wrong, None, lambda: instant(start, spell("start")))
    after = _noted(wrong, None, lambda: instant(end, spell("end"), last=True))
    if first is not None and after is not None and first >= after:
        what = f"the range {start} .. {end} is empty or reversed"
        fix = f"swap them; {spell('start')} and {spell('end')} both name days that are included"
        wrong.append(UsageError(what, why=f"{spell('start')} must come before {spell('end')}", fix=fix))
    days = [_noted(wrong, None, lambda t=t: days_of(t, f"{spell('restate')} ")) for t in restate if t.strip()]
    since = _noted(wrong, None, lambda: instant(forward_only, spell("forward-only")))
    why_not = "it names a model and a way to change it"
    ways = [
        _noted(wrong, None, lambda t=t: name_and_value(spell("strategy"), t, why=why_not, value="dual-run"))
        for t in strategy
    ]
    if wrong:
        raise joined(wrong)
    return Request(
        start=first, end=after, end_bounded=end_bounded, ignore_cron=ignore_cron, select=tuple(select),
        restate=tuple(d for d in days if d is not None), where=(where or "").strip(), ids=keys,
        all_versions=all_versions, forward_only=since,
        strategies=tuple(w for w in ways if w is not None),
        expect_moved=tuple(expect_moved), expect_unmoved=tuple(expect_unmoved), expect_filled=tuple(expect_filled),
        why=(why or "").strip(),
    )  # fmt: skip


def between(start: str | None, end: str | None) -> Interval | None:
    """The range that two options say, open where one is not given; None when neither is. Raises UsageError."""
    request = request_of(start=start, end=end)
    if request.start is None and request.end is None:
        return None
    return Interval(request.start or ALL_TIME.start, request.end or ALL_TIME.end)


def reason_of(text: str | None, option: str) -> str:
    """A reason that somebody gives, "" for none. Raises UsageError, quoting `option`, for one that says nothing."""
    if text is not None and not text.strip():
        raise UsageError(f"{option} is empty", why="it would say nothing", fix="say in a sentence why")
    return " ".join((text or "").split())


def joined(errors: Sequence[UsageError]) -> UsageError:
    """Several mistakes as one error, all of them said."""
    if len(errors) == 1:
        return errors[0]
    first, *others = errors
    fix = "\n".join([first.fix, *map(str, others)])
    return UsageError(first.what, why=first.why, fix=fix)


def name_and_value(option: str, text: str, *, why: str, value: str) -> tuple[str, str]:
    """What `NAME=VALUE` says. Raises UsageError, which shows `value` as an example, without an `=`."""
    name, equals, said = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text} is not understood", why=why, fix=f"write {option} {name}={value}")
    return name, said


def days_of(text: str, option: str = "") -> tuple[str, Interval]:
    """`model:2024-03-01..2024-03-04`, or one day; hours as well. Raises UsageError, quoting `option` before it.

    >>> hours = days_of("m:2024-03-01T05:00..2024-03-01T07:00")[1]
    >>> f"{hours.start:%H:%M} to {hours.end:%H:%M}", f"{days_of('m:2024-03-01T05:00')[1]}"
    ('05:00 to 08:00', '2024-03-01T05:00')
    """
    model, _, days = text.partition(":")
    first, _, last = days.partition("..")
    try:
        if not model.strip():
            raise ValueError("no model")
        if not days.strip():
            raise ValueError("no day")
        start, end = _moment(first), _end(last or first)
        if start >= end:
            raise ValueError("the last one comes before the first")
        return model.strip(), Interval(start, end)
    except ValueError as error:
        named = re.match(r"[^\W\d][\w.]*", text.strip())
        raise UsageError(
            f"{option}{text} is not understood",
            why=f"it names a model, then the first and the last day or hour ({_lacking(error)})",
            fix=f"write {option}{named[0] if named else 'campaign_performance'}:2024-03-01..2024-03-04",
        ) from None


def instant(text: str | None, option: str, *, last: bool = False) -> datetime | None:
    """The instant that a day or ISO text names; a last day is included, so its end is the next midnight.

    Raises UsageError, quoting `option`, for what is no day, and for a year that no table holds.
    """
    if text is None:
        return None
    try:
        return _after(text) if last else _moment(text)
    except ValueError as error:
        raise UsageError(
            f"{option} {text} is no day",
            why=str(error) if "year" in str(error) and "range" not in str(error) else "it must be ISO 8601",
            fix=f"write {option} 2024-03-01, or 2024-03-01T05:00",
        ) from None


def _lacking(error: ValueError) -> str:
    """In our words: those of Python speak of an `isoformat string`, or of a month of 1..12."""
    ours = ("no model", "no day", "the last one", "the year is")
    return str(error) if str(error).startswith(ours) else "days are written 2024-03-01, or 2024-03-01T05:00"


def _moment(text: str) -> datetime:
    found = utc(text.strip())
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ValueError(f"the year is not one of {FIRST_YEAR} to {LAST_YEAR}")
    return found


def _after(text: str) -> datetime:
    """The end of what a last day or an instant names: a day is included."""
    return _moment(text) + timedelta(days=1) if len(text.strip()) <= len("2024-03-01") else _moment(text)


def _end(text: str) -> datetime:
    """The same of what is named by days or hours: an hour is included, too."""
    return _moment(text) + timedelta(hours=1) if _HOUR.fullmatch(text.strip()) else _after(text)


def _noted(wrong: list[UsageError], otherwise: T, read: Callable[[], T]) -> T:
    try:
        return read()
    except UsageError as error:
        wrong.append(error)
        return otherwise
