"""What is a seed here? A CSV file of the project, copied, and a source that reads it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from backfill_assets.importing.found import ReadSource, ToCheck, Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.project.column_types import column_types

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
    columns = {c: kinds.get(c.lower()) or guessed for c, guessed in column_types(header, rows).items()}
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
