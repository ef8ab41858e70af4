"""What do authors hold instead of SQLFrame's objects? Proxies that show only what is proved, and nothing of a value."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, NoReturn

from sqlframe.base.types import DataType

from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.interval import Hidden


class Proxy:
    """An object of SQLFrame that shows authors only what was tried and is right."""

    __slots__ = ("_inner",)
    _inner: Any

    def __init_subclass__(cls, *, proved: Iterable[str]) -> None:
        """The class has the methods that are proved and no other; those that it does not write are SQLFrame's."""
        names = frozenset(proved)
        for name in names - vars(cls).keys():
            setattr(cls, name, _passed(name))
        if unproved := {n for n in vars(cls) if not n.startswith("_") and callable(vars(cls)[n])} - names:
            raise TypeError(f"{cls.__name__} has methods that are not proved: {', '.join(sorted(unproved))}")

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> NoReturn:
        raise Escape(f"{type(self).__name__}.{name}")

    def __bool__(self) -> bool:
        raise Escape("the truth of a column or table")

    def __iter__(self) -> NoReturn:
        raise Escape("the items of a column or table")

    def _given(self) -> Any:
        """What SQLFrame may have of it."""
        return self._inner


def unwrap(value: Any) -> Any:
    """A value as SQLFrame may see it. Raises Escape for what SQL does not show: a lambda, an object of the author's."""
    match value:
        case Proxy():
            return value._given()
        case Hidden():
            return value._shown()
        case timedelta():
            raise Escape("a length of time, which SQLFrame writes as another type")
        case float() if not isfinite(value):
            raise Escape("a float that SQL has no literal for")
        case str() | int() | float() | bool() | None | Decimal() | date() | bytes() | DataType():
            return value
        case list():
            return [unwrap(item) for item in value]
        case tuple():
            return tuple(unwrap(item) for item in value)
        case dict():
            return {unwrap(key): unwrap(item) for key, item in value.items()}
        case _:
            raise Escape(f"a value of type {type(value).__name__}")


_wrappers: list[tuple[Callable[[Any], bool], Callable[[Any], Any]]] = []


def wraps(fits: Callable[[Any], bool], make: Callable[[Any], Any]) -> None:
    """Say what authors get for objects of SQLFrame that fit."""
    _wrappers.append((fits, make))


def wrap(value: Any) -> Any:
    """What authors get for an object of SQLFrame. Raises Escape for one that nothing stands for."""
    for fits, make in _wrappers:
        if fits(value):
            return make(value)
    raise Escape(f"an answer of type {type(value).__name__}")


def _passed(name: str) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any, **kwargs: Any) -> Any:
        return wrap(getattr(self._inner, name)(*unwrap(args), **unwrap(kwargs)))

    return method
