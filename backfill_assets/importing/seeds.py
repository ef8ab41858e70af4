"""What is a seed here? A CSV file of the project, copied, and a source that reads it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from backfill_assets.importing.found import ReadSource, ToCheck, Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.project.column_types import column_types

FOLDER = "seeds"
_LARGEST = 16 * 1024 * 1024
_MOST_ROWS = 10_000
"""How many rows types are guessed from."""
_MOST_TEXTS = 10

Texts = Callable[[str, str, Sequence[str]], Iterator[tuple[str, str]]]
"""What another tool makes of a column's texts that Spark does not, and why: by its name, its type and all of them."""


def as_they_are(column: str, kind: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A tool that reads texts as Spark does."""
    yield from ()


def seed_source(
    name: str, file: Path, declared: Mapping[str, str], place: str, description: str, *, delimiter: str = ",",
    texts: Texts = as_they_are,
) -> ReadSource:  # fmt: skip
    """The source of a seed. Types that nobody declares are guessed from its rows, as the tools do. Raises
    Untranslatable when the file cannot be read."""
    header, rows, text = _rows(file, delimiter, int(place.rpartition(":")[2]))
    kinds = {n.lower(): t for n, t in declared.items()}
    columns = {c: kinds.get(c.lower()) or guessed for c, guessed in column_types(header, rows[:_MOST_ROWS]).items()}
    checks: list[ToCheck] = []
    if any(c.lower() not in kinds for c in header):
        why = "no types are declared there: each tool guesses them from the rows"
        checks.append(ToCheck(model=name, place=place, what="the types of a seed are guessed", why=why))
    said = [one for at, c in enumerate(header) for one in texts(c, columns[c], [r[at] for r in rows if at < len(r)])]
    checks += [ToCheck(model=name, place=place, what=what, why=why) for what, why in said]
    options = {"header": "true", **({"sep": delimiter} if delimiter != "," else {}), **_quoting([header, *rows])}
    return ReadSource(
        name=name, seed=(f"{FOLDER}/{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.csv", text), columns=columns,
        description=description, more={"options": options}, checks=tuple(checks),
    )  # fmt: skip


def listed(texts: Sequence[str]) -> str:
    """Texts of a file as a report names them: each once, the first ones of many."""
    once = list(dict.fromkeys(texts))
    shown = ", ".join(f"`{plain(t)}`" for t in once[:_MOST_TEXTS])
    return shown if len(once) <= _MOST_TEXTS else f"{shown} and {len(once) - _MOST_TEXTS} more"


def _quoting(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """What Spark has to be told to read quotes within quotes, backslashes and line breaks as the tools do."""
    said: dict[str, str] = {}
    if any('"' in cell or "\\" in cell for row in rows for cell in row):
        said["escape"] = '"'
    if any("\n" in cell or "\r" in cell for row in rows for cell in row):
        said["multiLine"] = "true"
    return said


def _rows(file: Path, delimiter: str, line: int) -> tuple[list[str], list[list[str]], str]:
    shown = plain(file.name)
    try:
        if file.stat().st_size > _LARGEST:
            why, fix = f"it has more than {_LARGEST:,} bytes", "declare the file in sources.yml yourself"
            raise Untranslatable(f"the seed {shown}", why=why, fix=fix, line=line)
        text = file.read_bytes().decode("utf-8-sig")
        read = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        header = next(read, [])
        rows = [row for row in read if row]
    except (OSError, UnicodeDecodeError, csv.Error, TypeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise Untranslatable(f"the seed {shown} cannot be read", why=why, line=line) from None
    if not header or len({c.lower() for c in header}) < len(header) or not all(c.strip() for c in header):
        raise Untranslatable(f"the seed {shown}", why="its first line does not name columns", line=line)
    return [c.strip() for c in header], rows, text
