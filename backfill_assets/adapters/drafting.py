"""What would a model of a table that is there say of itself? Its columns, and what its data lets one guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.adoption import TablePlace, find_table, frame_of, table_columns
from backfill_assets.core.errors import StateError
from backfill_assets.sql.text import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = 20_000
"""Rows by which a grain is guessed."""
_DAYS = ("ds", "dt", "day", "date", "event_date", "date_key")
_KEYS = ("id", "key", "code", "uuid")
_COUNTED = ("string", "int", "bigint", "smallint", "tinyint", "date", "boolean")
"""Types of columns that tell rows apart; amounts do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A table as a draft tells it. What is "" or empty could not be guessed."""

    name: str
    place: TablePlace
    columns: tuple[tuple[str, str], ...]
    time_column: str = ""
    first: str = ""
    """The first day of the time column."""
    grain: tuple[str, ...] = ()
    """With these, and the time column, no two rows of the sample are alike."""
    unique: bool = False


def tables_in(spark: SparkSession, text: str, root: Path) -> tuple[list[tuple[str, TablePlace]], dict[str, str]]:
    """The tables in a folder, or in a schema of the catalog, by name; and those of the schema that cannot be told of,
    with why. Raises StateError when there are none."""
    found: list[tuple[str, TablePlace]] = []
    left: dict[str, str] = {}
    if "/" in text or text.startswith("."):
        folder = (root / text).resolve()
        for inside in sorted(folder.iterdir()) if folder.is_dir() else ():
            try:
                found.append((inside.name.lower(), find_table(spark, str(inside), root)))
            except StateError:  # no table: another file or folder
                continue
    else:
        schema = ".".join(quoted(part) for part in text.split("."))
        for row in spark.sql(f"SHOW TABLES IN {schema}").collect():
            if row["isTemporary"]:  # of this session, and of no schema
                continue
            name = f"{text}.{row['tableName']}"
            try:
                found.append((row["tableName"], find_table(spark, name, root)))
            except StateError as error:  # such as one whose classes are not here, or that is gone by now
                left[name] = error.why
    if not found and not left:
        raise StateError(
            f"there are no tables in {text}",
            why="a folder has a folder for each, a schema their names",
            fix="correct the path, or the schema's name",
        )
    return found, left


def guess(spark: SparkSession, name: str, place: TablePlace) -> Guess:
    """Look at a table's columns, at a sample of its rows, and for its first day."""
    frame = frame_of(spark, place)
    columns = table_columns(frame)
    said = Guess(name=name, place=place, columns=columns)
    time = _time_column(columns)
    if not time:
        return said
    first = frame.selectExpr(f"CAST(CAST(min({quoted(time)}) AS DATE) AS STRING)").collect()[0][0]
    others = [c for c, kind in columns if c != time and kind in _COUNTED]
    wanted = sorted(others, key=lambda c: (not c.lower().endswith(_KEYS), others.index(c)))
    day = f"CAST({quoted(time)} AS DATE)"
    rows = [tuple(row) for row in frame.selectExpr(day, *map(quoted, wanted)).limit(SAMPLE).collect()]
    grain, unique = _grain(rows, wanted)
    return Guess(
        name=name, place=place, columns=columns, time_column=time, first=first or "", grain=grain, unique=unique
    )


def _time_column(columns: Sequence[tuple[str, str]]) -> str:
    """The day of a row, as far as names and types tell: dates come first, and of these the usual names."""
    dates = [c for c, kind in columns if kind == "date"]
    instants = [c for c, kind in columns if kind.startswith("timestamp")]
    usual = [c for c in dates if c.lower() in _DAYS]
    return next(iter([*usual, *dates, *instants]), "")


def _grain(rows: Sequence[tuple[object, ...]], names: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The fewest of these columns, the likeliest first, with which no two rows are alike; all where there are none.

    The first value of a row is its day.
    """
    chosen: list[int] = []

    def unique(numbers: Sequence[int]) -> bool:
        return len({(row[0], *(row[n + 1] for n in numbers)) for row in rows}) == len(rows)

    for number in range(len(names)):
        if unique(chosen):
            break
        chosen.append(number)
    if not unique(chosen):
        return tuple(names), False
    for number in list(chosen):
        if unique(less := [n for n in chosen if n != number]):
            chosen = less
    return tuple(names[n] for n in chosen), True
