"""How does a frozen value become JSON, and the same value again? By the types that its class declares.

What is read back is data only: no name in it is looked up and no code of it runs, unlike pickle. What does not fit the
types is refused. A field that an older release did not write has its default; one that a newer release wrote is left
out. Classes with a shorter form of their own have `to_plain` and `of_plain`, or are `as_list`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Read = Callable[[Any], Any]
_WRITE, _READ = "to_plain", "of_plain"
_LIST = "[]"
"""Lists are rare in frozen values: they are written as `{"[]": [...]}`, tuples as JSON's lists."""


def to_plain(value: object) -> Any:
    """The value as JSON values; a dataclass is a map of its fields, a map with other keys than text a list of pairs.

    >>> to_plain((date(2024, 1, 31), {"a": [1]}))
    ['2024-01-31', {'a': {'[]': [1]}}]
    """
    match value:
        case Enum():
            return value.value
        case float() if not isfinite(value):
            return str(value)
        case str() | bool() | int() | float() | None:
            return value
        case Decimal():
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case Path():
            return str(value)
        case _ if hasattr(value, _WRITE):
            return getattr(value, _WRITE)()
        case tuple():
            return [to_plain(item) for item in value]
        case list():
            return {_LIST: [to_plain(item) for item in value]}
        case frozenset():
            return sorted((to_plain(item) for item in value), key=lambda v: v if isinstance(v, list) else [repr(v)])
        case Mapping():
            if all(isinstance(key, str) for key in value):
                return {key: to_plain(item) for key, item in value.items()}
            return [[to_plain(key), to_plain(item)] for key, item in value.items()]
        case _ if type(value) in _LISTS:
            return [to_plain(getattr(value, name)) for name in _names(type(value))]
        case _ if is_dataclass(value):
            return to_fields(value)
        case _:
            raise TypeError(f"a {type(value).__name__} is no plain value")


def to_fields(value: object) -> dict[str, Any]:
    """A dataclass as a map of its fields: for classes whose own `to_plain` says some of them otherwise."""
    return {name: to_plain(getattr(value, name)) for name in _names(type(value))}


def from_plain(kind: type[T], raw: Any) -> T:
    """The value of this type that `to_plain` gave. Raises ValueError for anything else."""
    try:
        return _reader(kind)(raw)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"no {kind}: {error}") from None


def of_fields(kind: type[T], raw: Any) -> T:
    """The dataclass that `to_fields` gave. Raises as `from_plain` does."""
    return _dataclass(kind)(raw)


def as_list(kind: type[T]) -> type[T]:
    """A dataclass that is written as the values of its fields, without their names: for what there is much of.

    Fields at the end that an older release did not write have their defaults.
    """
    _LISTS.add(kind)
    return kind


_LISTS = set[type]()


@functools.cache
def _reader(hint: Any) -> Read:
    """Reads values of a type. Made once a type, so that thousands of values cost a call each."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _either(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset or origin is AbstractSet:
        item = _reader(arguments[0])
        return lambda raw: frozenset(item(v) for v in _of(list, raw))
    if origin is Literal:
        return lambda raw: raw if raw in arguments else _refuse(raw, hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(*arguments)
    if hint is object or hint is Any:
        return _anything
    if hint in (datetime, date):
        return lambda raw: hint.fromisoformat(raw)
    if hint is float:
        return lambda raw: raw if type(raw) in (int, float) else float(_of(str, raw))
    if hint is Decimal:
        return lambda raw: Decimal(_of(str, raw))
    if hint in (str, int, bool, NoneType):
        return lambda raw: raw if type(raw) is hint else _refuse(raw, hint)
    if isinstance(hint, type) and issubclass(hint, Enum | Path):
        return hint
    if hasattr(hint, _READ):
        return getattr(hint, _READ)
    if is_dataclass(hint):
        return _dataclass(hint)
    raise TypeError(f"{hint} is no type of plain values")


@functools.cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@functools.cache
def _dataclass(hint: Any) -> Read:
    hints = get_type_hints(hint)
    readers: list[tuple[str, Read]] = []
    optional = {f.name for f in fields(hint) if f.default is not MISSING or f.default_factory is not MISSING}

    def read(raw: Any) -> Any:
        if not readers:  # at first use, because types name each other
            readers.extend((name, _reader(hints[name])) for name in _names(hint))
        said = _named(raw) if hint in _LISTS else _of(dict, raw)
        return hint(**{name: r(said[name]) for name, r in readers if name in said or name not in optional})

    def _named(raw: Any) -> dict[str, Any]:
        values: list[Any] = _of(list, raw)
        return dict(zip(_names(hint), values, strict=False)) if len(values) <= len(readers) else _refuse(raw, hint)

    return read


def _either(arguments: tuple[Any, ...]) -> Read:
    """One of several types, of which at most one is written as more than a scalar: the first that fits."""
    readers = [_reader(a) for a in arguments]

    def read(raw: Any) -> Any:
        for reader in readers:
            try:
                return reader(raw)
            except (TypeError, ValueError):
                continue
        return _refuse(raw, arguments)

    def optional(raw: Any) -> Any:
        return None if raw is None else readers[0](raw)

    return optional if arguments[1:] == (NoneType,) else read


def _tuple(arguments: tuple[Any, ...]) -> Read:
    if arguments[1:] == (...,):
        item = _reader(arguments[0])
        return lambda raw: tuple([item(v) for v in _of(list, raw)])
    items = [_reader(a) for a in arguments]
    return lambda raw: tuple([r(v) for r, v in zip(items, _of(list, raw), strict=True)])


def _mapping(key: Any, item: Any) -> Read:
    read_key, read_item = _reader(key), _reader(item)
    if key is str:
        return lambda raw: {k: read_item(v) for k, v in _of(dict, raw).items()}
    return lambda raw: {read_key(k): read_item(v) for k, v in (raw.items() if type(raw) is dict else _of(list, raw))}


def _anything(raw: Any) -> Any:
    if isinstance(raw, list):
        return tuple(_anything(v) for v in raw)
    if isinstance(raw, dict):
        if raw.keys() == {_LIST}:
            return [_anything(v) for v in raw[_LIST]]
        return {k: _anything(v) for k, v in raw.items()}
    return raw


def _of(kind: type, raw: Any) -> Any:
    return raw if type(raw) is kind else _refuse(raw, kind)


def _refuse(raw: Any, kind: object) -> Any:
    raise ValueError(f"{raw!r:.40} is no {kind}")
