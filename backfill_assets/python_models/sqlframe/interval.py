"""The interval, which may go into SQL but not into a decision: its instants, days and texts hide their values."""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false, reportDeprecated=false
# The stand-ins take less than what they stand for.

from __future__ import annotations

import datetime as real
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from backfill_assets.python_models.sqlframe.escape import Escape, refusing

C = TypeVar("C")


class Hidden:
    """A part of the interval, whatever its type."""

    __slots__ = ()

    def _shown(self) -> Any:
        raise NotImplementedError


class Writes:
    """What may be compared with the interval, because it only writes the comparison down."""

    __slots__ = ()


def _hiding(*names: str) -> Callable[[type[C]], type[C]]:
    def add(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, refusing(name))
        for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            setattr(cls, name, _not_compared)
        return cls

    return add


def _not_compared(self: Any, other: Any) -> Any:
    if isinstance(other, Writes):
        return NotImplemented  # then Python asks the column, which can
    raise Escape("a comparison with the interval")


@_hiding(
    "__hash__", "__bool__", "__contains__", "__iter__", "__len__", "__int__", "__float__", "__mod__", "__rmod__",
    "__mul__", "__rmul__", "__complex__", "__index__",
    *(name for name in vars(str) if not name.startswith("_") and name not in ("replace", "strip")),
)  # fmt: skip
class HiddenText(str, Hidden):
    """Text of the interval."""

    __slots__ = ()

    def _shown(self) -> str:
        return "".join(str.__iter__(self))

    def __str__(self) -> HiddenText:
        return self

    __repr__ = refusing("text, quoted")

    def __format__(self, form: str) -> HiddenText:
        return HiddenText(format(self._shown(), form))

    def __add__(self, other: str) -> HiddenText:
        return HiddenText(self._shown() + plain(other))

    def __radd__(self, other: str) -> HiddenText:
        return HiddenText(plain(other) + self._shown())

    def __getitem__(self, key: Any) -> HiddenText:
        return HiddenText(str.__getitem__(self, key))

    def replace(self, *args: Any) -> HiddenText:
        return HiddenText(str.replace(self, *args))

    def strip(self, *args: Any) -> HiddenText:
        return HiddenText(str.strip(self, *args))


def plain(value: Any) -> Any:
    """A value as SQL may show it, also within lists and dicts."""
    match value:
        case Hidden():
            return value._shown()
        case list() | tuple():
            return type(value)(plain(item) for item in value)
        case dict():
            return {plain(key): plain(item) for key, item in value.items()}
        case _:
            return value


def hides(value: Any, depth: int = 16) -> bool:
    """Whether a part of the interval is in it."""
    match value:
        case Hidden():
            return True
        case list() | tuple() | set() | frozenset():
            return not depth or any(hides(item, depth - 1) for item in value)
        case dict():
            return not depth or any(hides(item, depth - 1) for pair in value.items() for item in pair)
        case _:
            return False


class _Standing(type):
    """`isinstance(x, date)` is as true of a stand-in as of the real class; the real ones make real values."""

    def __instancecheck__(cls, instance: object) -> bool:
        stands_for = cls.__dict__.get("_stands_for")
        return isinstance(instance, stands_for) if stands_for else type.__instancecheck__(cls, instance)


class Date(real.date, metaclass=_Standing):
    """`datetime.date` without today."""

    _stands_for = real.date
    today = fromtimestamp = refusing("clock")

    @classmethod
    def fromisoformat(cls, text: str) -> Date:
        _not_hidden(text)
        return super().fromisoformat(text)


class Datetime(real.datetime, metaclass=_Standing):
    """`datetime.datetime` without now, and without the machine's zone."""

    _stands_for = real.datetime
    now = utcnow = today = fromtimestamp = utcfromtimestamp = timestamp = refusing("clock")

    def astimezone(self, zone: Any = None) -> Any:
        if zone is None:
            raise Escape("the machine's zone")
        return super().astimezone(zone)

    @classmethod
    def fromisoformat(cls, text: str) -> Datetime:
        _not_hidden(text)
        return super().fromisoformat(text)

    @classmethod
    def strptime(cls, text: str, form: str) -> Datetime:
        _not_hidden(text)
        return super().strptime(text, form)

    @classmethod
    def combine(cls, date: Any, time: Any, *zone: Any) -> Any:
        _not_hidden(date)
        return super().combine(date, time, *zone)


def _not_hidden(value: object) -> None:
    if isinstance(value, Hidden):
        raise Escape("a part of the interval")


class _HiddenTime(Hidden):
    """What the interval's dates and datetimes share: text and steps."""

    __slots__ = ()

    def isoformat(self, *args: Any, **kwargs: Any) -> HiddenText:
        return HiddenText(self._shown().isoformat(*args, **kwargs))

    def strftime(self, form: str) -> HiddenText:
        return HiddenText(self._shown().strftime(form))

    def __str__(self) -> str:
        return HiddenText(str(self._shown()))

    def __format__(self, form: str) -> str:
        return HiddenText(format(self._shown(), form))

    __repr__ = refusing("text, as Python writes it")

    def __add__(self, step: real.timedelta) -> Any:
        return type(self)._of(self._shown() + step)  # type: ignore[attr-defined]

    __radd__ = __add__

    def __sub__(self, step: Any) -> Any:
        if isinstance(step, Writes):
            return NotImplemented
        if not isinstance(step, real.timedelta):
            raise Escape("a length of the interval")
        return type(self)._of(self._shown() - step)  # type: ignore[attr-defined]

    __rsub__ = refusing("length")


_PARTS = ("__hash__", "__bool__", "__reduce__", "__reduce_ex__", "year", "month", "day", "weekday", "isoweekday",
          "isocalendar", "toordinal", "timetuple", "ctime")  # fmt: skip


def _parts(cls: type[C]) -> type[C]:
    for name in ("year", "month", "day", "hour", "minute", "second", "microsecond", "fold"):
        if hasattr(cls, name):
            setattr(cls, name, property(refusing(name)))
    return cls


@_parts
@_hiding(*_PARTS, "replace")
class HiddenDate(_HiddenTime, Date):
    """A day of the interval."""

    @classmethod
    def _of(cls, value: real.date) -> Any:
        return cls(value.year, value.month, value.day)

    def _shown(self) -> real.date:
        return real.date.fromisoformat(real.date.isoformat(self))


@_parts
@_hiding(*_PARTS, "time", "timetz", "timestamp", "utctimetuple", "dst")
class HiddenDatetime(_HiddenTime, Datetime):
    """An instant of the interval."""

    @classmethod
    def _of(cls, value: real.datetime) -> Any:
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return cls(*parts, tzinfo=value.tzinfo)

    def _shown(self) -> real.datetime:
        return real.datetime.fromisoformat(real.datetime.isoformat(self))

    def date(self) -> Any:
        return HiddenDate._of(self._shown().date())

    def replace(self, **parts: Any) -> Any:
        if set(parts) != {"tzinfo"} or parts["tzinfo"] not in (None, real.UTC):
            raise Escape("a part of the interval")
        return self._of(self._shown().replace(**parts))

    def astimezone(self, zone: Any = None) -> Any:
        if zone is not real.UTC or self._shown().tzinfo is not real.UTC:
            raise Escape("the interval in a zone, whose rules one day does not tell")
        return self


class Interval:
    """`backfill_assets.core.intervals.Interval`, of which only the ends may be named."""

    __slots__ = ("end", "start")

    def __init__(self, start: real.datetime, end: real.datetime) -> None:
        self.start, self.end = HiddenDatetime._of(start), HiddenDatetime._of(end)

    def __getattr__(self, name: str) -> NoReturn:
        raise Escape(f"Interval.{name}")

    __eq__ = __hash__ = __str__ = __repr__ = __format__ = refusing("text or value")  # type: ignore[assignment]
