"""Which entities does a file name? Keys, one a line, under the names of their columns.

They are part of the request, and so of the plan: nothing reads the file again.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from backfill_assets.core.codec import of_fields, to_fields
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import UsageError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Model

MOST = 100_000
"""Keys of a file, at most."""
_SHOWN, _TOLD, _LONG = 3, 5, 40
_MISSING = ("null", r"\n", "none", "nan", "n/a")
WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32, "bigint": 64, "long": 64}
"""Types of whole numbers, and how many bits they have."""
_DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_INTEGER = re.compile(r"0|-?[1-9]\d*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Keys of entities: values of `columns` (lower-cased), as Spark writes them as text; sorted, each once."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    file: str = field(default="", compare=False)
    """What the file was called. It decides nothing: the same keys in another file are the same request."""
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)
    """Where in the file each row is, as long as it is at hand: a plan does not keep it."""

    def to_csv(self) -> str:
        """The keys as a file that says them."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def to_plain(self) -> dict[str, Any]:
        """The keys as plain values."""
        return {name: said for name, said in to_fields(self).items() if name != "lines"}

    @classmethod
    def of_plain(cls, said: Mapping[str, Any]) -> Ids:
        """The keys that `to_plain` says."""
        return of_fields(cls, said)

    @property
    def digest(self) -> str:
        """A hash of the keys and of their columns."""
        return _digest(self.columns, self.rows)

    def called(self, columns: Sequence[str] = ()) -> str:
        """Which rows they are: `shop in ids.csv (1,204 keys: 1, 2, 3, …; 3fa91c02)`. `columns`: as a table calls them.

        >>> Ids(columns=("ds", "shop"), rows=(("2024-03-01", "7"),), file="/tmp/ids.csv").called()
        '(ds, shop) in ids.csv (1 key: 2024-03-01/7; 243c915c)'
        """
        names = ", ".join(columns or self.columns)
        first = [_short("/".join(row)) for row in self.rows[:_SHOWN]] + ["…"] * (len(self.rows) > _SHOWN)
        many = f"{len(self.rows):,} key{'s' * (len(self.rows) != 1)}"
        name = one_line(PurePath(self.file).name)
        where = f"({names})" if len(self.columns) > 1 else names
        return f"{where} in {name} ({many}: {', '.join(first)}; {self.digest[:8]})"


@functools.lru_cache(maxsize=8)
def _digest(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    return digest(json.dumps([columns, rows]))


def parse_ids(text: str, file: str) -> Ids:
    """The keys that a text says: CSV, whose first line names the columns. Line ends of any kind; blank lines at the end
    count for nothing.

    Raises UsageError with the lines of all that is wrong: no keys, too many, empty or missing values, other numbers of
    values than of columns, a key twice, spaces around a value.
    """
    lines = _lines(text, file)
    _, header = next(lines, (1, [""]))
    columns = tuple(name.strip().lower() for name in header)
    if not all(columns):
        fix = "write the names of the key's columns in its first line, as campaign_id, and a key in each line after it"
        why = "its first line names no column" if text.strip() else "it is empty, and would name nothing"
        raise UsageError(f"{_at(file, 1)}: which keys are meant is not said", why=why, fix=fix)
    if twice := {name for name in columns if columns.count(name) > 1}:
        raise UsageError(
            f"{_at(file, 1)}: {', '.join(map(one_line, sorted(twice)))} is named twice",
            why="the first line names each column of the key once", fix="remove one of them, with its values",
        )  # fmt: skip
    seen: dict[tuple[str, ...], int] = {}
    wrong: list[str] = []
    for line, values in lines:
        row = tuple(values)
        if problem := _problem(row, columns) or (f"{_quoted(row)} is in line {seen[row]} too" if row in seen else ""):
            wrong.append(f"line {line}: {problem}")
        seen.setdefault(row, line)
        if len(seen) > MOST:
            raise UsageError(
                f"{_name(file)} has more than {MOST:,} keys", why="all of them are kept in the plan",
                fix="restate the days whole, name the rows by --where, or make several plans, one after the other",
            )  # fmt: skip
    if wrong:
        raise _refusal(file, wrong, "each line is one key, whole, and each key is there once")
    if not seen:
        fix = "write a key in each line after the first, or leave it out: without it all rows of the days are meant"
        raise UsageError(f"{_name(file)} has no keys", why="it names columns only", fix=fix)
    rows = sorted(seen.items())
    return Ids(columns=columns, rows=tuple(r for r, _ in rows), file=file, lines=tuple(at for _, at in rows))


def check_ids(ids: Ids, model: Model, types: Mapping[str, str]) -> None:
    """Refuse keys that are none of a model's; `types` are those of its columns (lower-cased), in Spark's SQL.

    Raises UsageError for a column that is not of its grain, or is masked, and for values that are not of its type.
    """
    grain = {column.lower(): column for column in model.grain}
    key = ", ".join(model.grain)
    if not grain:
        raise UsageError(
            f"{_name(ids.file)} names no rows of {model.name}",
            why="the model says no grain: which row is which nobody knows", fix="add `grain:` to its header",
        )  # fmt: skip
    for name in ids.columns:
        if name not in grain:
            what = "is no part of its key" if name in types else "is no column of it"
            raise UsageError(
                f"{_at(ids.file, 1)}: {one_line(name)} {what}: {model.name}",
                why=f"its key is {key}, and the first line names columns of that",
                fix=f"write {model.grain[-1]} in the first line, and a value of it in each line after it",
            )
    if hidden := sorted({c.lower() for c in model.mask}.intersection(ids.columns)):
        raise UsageError(
            f"{_at(ids.file, 1)}: {', '.join(hidden)} of {model.name} is masked",
            why="the plan keeps the keys, and people are shown some of them",
            fix=f"name rows by other columns of its key: {key}",
        )
    readers = {name: _reader(types.get(name, "")) for name in ids.columns}
    if unfit := [f"{name} is {types.get(name, 'of no known type')}" for name, read in readers.items() if not read]:
        raise UsageError(
            f"{_at(ids.file, 1)}: {', '.join(unfit)} in {model.name}",
            why="keys of a file are texts, whole numbers, decimals or dates", fix="name the rows by --where",
        )  # fmt: skip
    wrong = [
        (line, f"{f'line {line}: ' if line else ''}`{_short(value)}`: {name} is {types[name]}, {problem}")
        for row, line in zip(ids.rows, ids.lines or (0,) * len(ids.rows), strict=True)
        for (name, read), value in zip(readers.items(), row, strict=True)
        if read and (problem := read(value))
    ]
    if wrong:
        raise _refusal(ids.file, [said for _, said in sorted(wrong)], f"values are written as {model.name} has them")


def _lines(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV with their numbers; blank ones at the end are left out."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff").rstrip("\r\n"), newline=""), strict=True)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise UsageError(
                f"{_at(file, rows.line_num)} is no CSV", why=str(error),
                fix='separate values by commas, and put one that holds a comma or a quote between quotes: "a,""b"""',
            ) from None  # fmt: skip
        yield rows.line_num, row or [""]


def _problem(row: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """What is wrong with a key in itself; "" when nothing is."""
    if len(row) != len(columns):
        return f"{len(row)} value{'s' * (len(row) != 1)}, and {len(columns)} column{'s' * (len(columns) != 1)}"
    if not all(row):
        return "an empty value: rows without a key are named by --where"
    if spaced := [value for value in row if value != value.strip()]:
        return f"{_quoted(spaced)} has spaces around it"
    if odd := [value for value in row if not value.isprintable()]:
        return f"{_quoted(odd)} has characters that nobody sees"
    if missing := [value for value in row if value.lower() in _MISSING]:
        return f"{_quoted(missing)} is how programs write that there is no value; a key that is called so: by --where"
    return ""


def _reader(kind: str) -> Callable[[str], str] | None:
    """What tells why a text is no value of a type as Spark writes it; None for a type that files are not read for."""
    kind = kind.lower()
    if kind == "string" or kind.startswith("varchar"):
        return lambda _: ""
    if kind in WHOLE:
        most = 2 ** (WHOLE[kind] - 1)
        return lambda value: (
            "and whole numbers are written as 1204" if not _INTEGER.fullmatch(value)
            else "" if len(value) < 21 and -most <= int(value) < most else "and it is too large for that"
        )  # fmt: skip
    if kind == "date":
        return _no_date
    if found := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", kind):
        return functools.partial(_no_decimal, digits=int(found[1]), scale=int(found[2]))
    return None


def _no_date(value: str) -> str:
    try:
        same = len(value) == len("2024-03-01") and date.fromisoformat(value).isoformat() == value
    except ValueError:
        same = False
    return "" if same else "and days are written as 2024-03-01"


def _no_decimal(value: str, digits: int, scale: int) -> str:
    if not _DECIMAL.fullmatch(value) or len(value) > _LONG:
        return "and numbers are written as 1.50"
    written = f"{Decimal(value):.{scale}f}"
    if Decimal(written) != Decimal(value) or len(written.lstrip("-").replace(".", "").lstrip("0")) > digits:
        return "and it does not fit into that"
    if written != value or (value[0] == "-" and not Decimal(value)):
        return f"and written as {written.removeprefix('-') if not Decimal(value) else written}"
    return ""


def _refusal(file: str, wrong: Sequence[str], why: str) -> UsageError:
    more = f" and {len(wrong) - _TOLD:,} more" if len(wrong) > _TOLD else ""
    what = f"{_name(file)}: {'; '.join(wrong[:_TOLD])}{more}"
    return UsageError(what, why=why, fix="mend these lines; nothing of the file was taken")


def _quoted(values: Sequence[str]) -> str:
    return ", ".join(f"`{_short(value)}`" for value in values)


def _short(value: str) -> str:
    shown = one_line(value)
    return shown if len(shown) <= _LONG else f"{shown[:_LONG]}…"


def _name(file: str) -> str:
    return one_line(file)


def _at(file: str, line: int) -> str:
    return f"{_name(file)} line {line}"
