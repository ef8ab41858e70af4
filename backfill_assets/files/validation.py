"""How does a wrong value in a header or a YAML file become a problem with a line and a remedy?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from backfill_assets.core.errors import Problem
from backfill_assets.core.escaping import UNSEEN
from backfill_assets.core.intervals import FIRST_YEAR, LAST_YEAR, utc
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.documents import UNREADABLE, Document

T = TypeVar("T", bound=BaseModel)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST = 255
"""Characters of a name, at most."""
LONGEST_MODEL = 128
"""Characters of a model's name, at most: catalogs and folders add to it."""
_TAKEN = ("_control", "evidence")
_KINDS = {
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "not a mapping, as `{key: value}`"),
    **dict.fromkeys(("list_type", "tuple_type"), "not a list"),
}
"""What is wrong, by pydantic's type of error, where its own words are Python's."""
_VERSION = re.compile(r"[0-9a-f]{16}")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([smhd]|days?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_DURATION = 366 * 86400


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
        problems += _problems(model, document, error, at, fixes or {}, otherwise)
        return None


def validate_partly(
    model: type[T], document: Document, data: Mapping[Any, object], problems: list[Problem], *,
    fixes: Mapping[str, str] | None = None, otherwise: str = "correct the value", instead: Mapping[str, object],
) -> tuple[T | None, frozenset[str]]:  # fmt: skip
    """The same, but wrong fields get their default or what `instead` says, so that what depends on the others can be
    checked too. Beside it the fields that are wrong or missing; with any there are problems. None: nothing is left.
    """
    wrong: set[str] = set()
    left = data
    for round_ in range(3):  # checks of several fields run only once each of them holds
        try:
            found = model.model_validate(left)
        except ValidationError as error:
            told = _problems(model, document, error, (), fixes or {}, otherwise)
            places = {str(e["loc"][0]) if e["loc"] else "" for e in error.errors(include_url=False)}
            problems += told if round_ == 0 else [p for p in told if p not in problems]
            wrong |= places
            left = {k: v for k, v in left.items() if isinstance(k, str) and k in model.model_fields and k not in wrong}
            left |= {name: value for name, value in instead.items() if name in wrong}
        else:
            return found, frozenset(wrong)
    return None, frozenset(wrong)


def _problems(
    model: type[BaseModel], document: Document, error: ValidationError, at: tuple[str | int, ...],
    fixes: Mapping[str, str], otherwise: str,
) -> Iterator[Problem]:  # fmt: skip
    for entry in error.errors(include_url=False):
        loc = tuple(p for p in entry["loc"] if isinstance(p, int) or not p.startswith("function-"))
        known = list(_fields(model, loc[:-1]))
        field = str(loc[0]) if loc else ""
        path = ".".join(map(str, loc))
        fix = fixes.get(field, "")
        if entry["type"] == "missing":
            what, why, fix = f"`{path}` is missing", "", fix or f"add `{path}: …`"
        elif entry["type"] == "extra_forbidden":
            what, why = f"unknown key `{path}`", ""
            fix = did_you_mean(str(loc[-1]), known) or fix or f"known keys: {', '.join(known)}"
        elif entry["type"] == "invalid_key":
            what, why = f"unknown key `{loc[-1]}`", "it is no text"
            loc = (*loc[:-1], _written(document, (*at, *loc)))
            fix = f"known keys: {', '.join(known)}" if known else "put it in quotes"
        elif _unreadable(entry["input"]):
            continue  # told when it was read
        else:
            message = _KINDS.get(entry["type"]) or str(entry["msg"]).removeprefix("Value error, ")
            what, why = f"`{path}` is wrong: {message}" if path else message, f"it is {shown(entry['input'])}"
            if entry["type"] == "literal_error" and isinstance(entry["input"], str):
                choices = re.findall(r"'([^']*)'", str(entry.get("ctx", {}).get("expected", "")))
                fix = "; ".join(filter(None, (did_you_mean(entry["input"], choices), fix)))
        yield document.problem(*at, *loc, what=what, why=why, fix=fix or otherwise)


def _written(document: Document, path: tuple[str | int, ...]) -> str:
    """How the file spells a key that is no text: YAML's `null` is None here."""
    spellings = {
        str(path[-1]).lower(),
        "null" if path[-1] == "None" else "",
        "~",
        "yes" if path[-1] == "True" else "no",
    }
    return next((str(p[-1]) for p in document.lines if p[:-1] == path[:-1] and str(p[-1]).lower() in spellings), "")


def _fields(model: type[BaseModel], loc: tuple[str | int, ...]) -> Mapping[str, object]:
    """The keys that are known at a place in a model."""
    fields = _keys(model)
    for step in loc:
        if isinstance(step, str) and step in fields:
            inner = next(_models(fields[step].annotation), None)
            fields = _keys(inner) if inner else {}
    return fields


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {found.alias or name: found for name, found in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _unreadable(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_unreadable, cast(Mapping[object, object], value).values()))
    return any(map(_unreadable, cast(list[object], value))) if isinstance(value, list) else value is UNREADABLE


_POWER = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?\d+")


def written_number(value: object) -> object:
    """`1e-9` as the number that it is: YAML takes it for text, as it has no point. All else as it is.

    >>> written_number("1e-9"), written_number("e9"), written_number(3)
    (1e-09, 'e9', 3)
    """
    return float(value) if isinstance(value, str) and _POWER.fullmatch(value) else value


def duration(value: object) -> float:
    """Seconds from `90s`, `20m`, `2h`, `1d`, `14 days` or a number of seconds.

    >>> duration("20m")
    1200.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip().lower())):
        seconds = float(match[1]) * _SECONDS[match[2][0]]
    else:
        raise ValueError("not a duration such as 90s, 20m, 2h or 1d")
    if not seconds > 0:
        raise ValueError("a duration must be more than zero")
    if seconds > _LONGEST_DURATION:
        raise ValueError("a duration is a year at most")
    return float(seconds)


def instant(value: object) -> datetime:
    """The instant that a date, an instant or its ISO text names, in years that tables can hold."""
    if isinstance(value, str | date):
        try:
            found = utc(value)
        except ValueError:
            pass
        else:
            if FIRST_YEAR <= found.year <= LAST_YEAR:
                return found
            raise ValueError(f"the year is not one of {FIRST_YEAR} to {LAST_YEAR}")
    raise ValueError("not a date such as 2024-01-31, or an instant such as 2024-01-31T06:00")


def day(value: object) -> date:
    """The day that a date or its ISO text names; no instant."""
    if isinstance(value, datetime) or (isinstance(value, str) and len(value.strip()) > len("2024-01-31")):
        raise ValueError("not a day such as 2024-01-31")
    return instant(value).date()


def _list(value: object, what: str) -> list[Any]:
    items: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    if not items:
        raise ValueError(f"not a {what} or a list of {what}s")
    return items


def _names(value: object) -> tuple[str, ...]:
    return _once([identifier(item) for item in _list(value, "name")], "a name is listed twice")


def column_names(value: object) -> tuple[str, ...]:
    """One column or several, each once."""
    return _once([column_name(item) for item in _list(value, "column")], "a column is listed twice")


def columns_once(value: object) -> object:
    """A mapping by column, each once; anything else as it is."""
    if isinstance(value, Mapping):
        _once([column_name(str(name)) for name in value], "a column is listed twice: Spark does not tell case apart")
    return value


def _once(items: list[str], otherwise: str) -> tuple[str, ...]:
    if len({item.lower() for item in items}) != len(items):
        raise ValueError(otherwise)
    return tuple(items)


def identifier(value: object) -> str:
    """The value when it can name a model; ValueError otherwise."""
    if isinstance(value, bool):
        raise ValueError(_BOOLEAN)
    if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
        raise ValueError(
            f"{shown(value)} is not a name (ASCII letters (a-z, A-Z), digits and _, not starting with a digit)"
        )
    if len(value) > LONGEST:
        raise ValueError(f"{shown(value)} is longer than {LONGEST} characters")
    return value


def name_problem(name: str) -> str:
    """Why a model cannot be called this; empty when it can."""
    if not IDENTIFIER.fullmatch(name):
        return "it is not made of ASCII letters (a-z, A-Z), digits and _ only, or starts with a digit"
    if len(name) > LONGEST_MODEL:
        return f"it is longer than {LONGEST_MODEL} characters"
    return "the warehouse keeps its own records under this name" if name.lower() in _TAKEN else ""


_BOOLEAN = "not text: YAML reads yes, no, on, off, true and false as a truth value; put it in quotes"


def setting(value: object) -> str:
    """A setting of Spark's or of a reader: text, a number, or a truth value in Spark's spelling."""
    return str(value).lower() if isinstance(value, bool) else text(value)


def column_name(value: object) -> str:
    """Any name that a column can have in Spark; it is quoted wherever it is used."""
    if isinstance(value, bool):
        raise ValueError(_BOOLEAN)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{shown(value)} is not the name of a column")
    if value != value.strip():
        raise ValueError(f"{shown(value)} begins or ends with a space")
    if len(value) > LONGEST:
        raise ValueError(f"{shown(value)} is longer than {LONGEST} characters")
    return value


def text(value: object) -> str:
    """A text, or a whole number as text; no list, and nothing that a terminal or a file name cannot hold."""
    if value is None or isinstance(value, Mapping | list | tuple):
        raise ValueError("not text")
    if isinstance(value, float):
        raise ValueError("a number with a point loses its zeros in YAML (1.10 is 1.1): write it in quotes")
    if isinstance(value, bool):
        raise ValueError(_BOOLEAN)
    found = str(value).strip()
    if bad := UNSEEN.search(found):
        what = "a zero byte" if bad[0] == "\0" else f"the control character U+{ord(bad[0]):04X}"
        raise ValueError(f"the text holds {what}")
    return found


def _reason(value: object) -> str:
    if not (found := text(value)):
        raise ValueError("a reason must say something")
    return found


def _version(value: object) -> str:
    # YAML takes 16 digits for a number, and leading zeros or an `e` between them make another one of it.
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return value
    raise ValueError("not a version as the plan prints it: 16 hex digits, as text in quotes")


def shown(value: object) -> str:
    """A value as a message quotes it."""
    try:
        found = repr(value)
    except (ValueError, RecursionError):  # a number of 5,000 digits
        found = f"a {type(value).__name__}"
    return found if len(found) <= 80 else f"{found[:77]}…"


Instant = Annotated[datetime, BeforeValidator(instant)]
Day = Annotated[date, BeforeValidator(day)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Name = Annotated[str, BeforeValidator(identifier)]
ColumnName = Annotated[str, BeforeValidator(column_name)]
ColumnNames = Annotated[tuple[str, ...], BeforeValidator(column_names)]
Duration = Annotated[float, BeforeValidator(duration)]
Text = Annotated[str, BeforeValidator(text)]
Reason = Annotated[str, BeforeValidator(_reason)]
VersionId = Annotated[str, BeforeValidator(_version)]
