"""Is this text a statement of an approval? Its fields, each of the type that it has to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from backfill_assets.core.intervals import Ranges

_LONGEST = 1_000_000


def statement_fields(statement: str) -> dict[str, Any]:
    """What a statement says, by field. Raises ValueError with everything that is wrong with it."""
    if len(statement) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST:,} characters")
    try:
        said: object = json.loads(statement, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(said, dict):
        raise ValueError("it is not one JSON object")
    found = cast(dict[str, Any], said)
    wrong = [
        f"`{name}` is not {kind}" for name, (kind, holds) in _FIELDS.items() if not holds(found.get(name, _ABSENT))
    ]
    if wrong:
        raise ValueError(", ".join(wrong))
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_ABSENT = object()


def _text(value: object) -> bool:
    return value is _ABSENT or (isinstance(value, str) and "\0" not in value)


def _name(value: object) -> bool:
    return value is _ABSENT or (_text(value) and bool(value))


def _scope(value: object) -> bool:
    if not isinstance(value, Mapping):
        return value is _ABSENT
    try:
        return all(bool(Ranges.of_plain(cast(Any, pairs))) for pairs in value.values())
    except (ValueError, TypeError):
        return False


def _reasons(value: object) -> bool:
    return value is _ABSENT or (isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()))


_FIELDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "plan": ("the id of a plan", _name),
    "environment": ("the name of an environment", _name),
    "digest": ("a digest", _name),
    "scope": ("a mapping from models to ranges of days", _scope),
    "owner": ("text", _text),
    "by": ("a name", _name),
    "at": ("an instant", _name),
    "expires": ("an instant", _name),
    "reason": ("text", _text),
    "accepted": ("a mapping from findings to reasons", _reasons),
    "own": ("true or false", lambda value: value is _ABSENT or isinstance(value, bool)),
}
