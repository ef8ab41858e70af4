"""What is a seed here? A CSV file of the project, copied, and a source that reads it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

from backfill_assets.importing.found import ReadSource, ToCheck, Untranslatable
from backfill_assets.importing.header import plain

FOLDER = "seeds"
_LARGEST = 16 * 1024 * 1024
_MOST_ROWS = 10_000


def seed_source(
    name: str, file: Path, declared: Mapping[str, str], place: str, description: str, *, delimiter: str = ","
) -> ReadSource:
    """The source of a seed. Types that nobody declares are guessed from its rows, as the tools do. Raises
    Untranslatable when the file cannot be read."""
    header, rows, text = _rows(file, delimiter, int(place.rpartition(":")[2]))
    kinds = {n.lower(): t for n, t in declared.items()}
    columns = {c: kinds.get(c.lower()) or _guess([r[i] for r in rows if i < len(r)]) for i, c in enumerate(header)}
    checks: tuple[ToCheck, ...] = ()
    if any(c.lower() not in kinds for c in header):
        why = "no types are declared there: each tool guesses them from the rows"
        checks = (ToCheck(model=name, place=place, what="the types of a seed are guessed", why=why),)
    options = {"header": "true", **({"sep": delimiter} if delimiter != "," else {})}
    return ReadSource(
        name=name, seed=(f"{FOLDER}/{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.csv", text), columns=columns,
        description=description, more={"options": options}, checks=checks,
    )  # fmt: skip


def _rows(file: Path, delimiter: str, line: int) -> tuple[list[str], list[list[str]], str]:
    shown = plain(file.name)
    try:
        if file.stat().st_size > _LARGEST:
            why, fix = f"it has more than {_LARGEST:,} bytes", "declare the file in sources.yml yourself"
            raise Untranslatable(f"the seed {shown}", why=why, fix=fix, line=line)
        text = file.read_bytes().decode("utf-8-sig")
        read = csv.reader(text.splitlines(), delimiter=delimiter)
        header = next(read, [])
        rows = [row for row, _ in zip(read, range(_MOST_ROWS), strict=False)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise Untranslatable(f"the seed {shown} cannot be read", why=why, line=line) from None
    if not header or len({c.lower() for c in header}) < len(header) or not all(c.strip() for c in header):
        raise Untranslatable(f"the seed {shown}", why="its first line does not name columns", line=line)
    return [c.strip() for c in header], rows, text


def _guess(values: list[str]) -> str:
    """The narrowest Spark type that all values have; empty ones are NULL."""
    given = [v for v in values if v != ""]
    for kind, fits in (
        ("int", _int),
        ("bigint", _bigint),
        ("double", _double),
        ("date", _date),
        ("timestamp", _moment),
    ):
        if given and all(fits(v) for v in given):
            return kind
    return "boolean" if given and all(v.lower() in ("true", "false") for v in given) else "string"


def _int(value: str) -> bool:
    return re.fullmatch(r"-?\d{1,9}", value) is not None and (value == "0" or not value.lstrip("-").startswith("0"))


def _bigint(value: str) -> bool:
    return re.fullmatch(r"-?\d{1,18}", value) is not None and (value == "0" or not value.lstrip("-").startswith("0"))


def _double(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", value) is not None and re.match(r"-?0\d", value) is None


def _date(value: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _moment(value: str) -> bool:
    try:
        return re.match(r"\d{4}-\d\d-\d\d", value) is not None and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
