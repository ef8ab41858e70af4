"""What is in a table that is adopted, and how is it copied where it cannot be read in place? By Spark."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from backfill_assets.adapters.batch_rows import comparable, content_hash
from backfill_assets.adapters.durable import sync_commits
from backfill_assets.adapters.inputs import EVOLVING, folder_frame
from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.adapters.table_log import batch_metadata, data_commit, history
from backfill_assets.adapters.types_of_files import other_type
from backfill_assets.adapters.version_table import create_version_table, in_interval
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.sql.text import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Mapping["datetime | None", int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """Where a table is: a folder and its format, or the name of a catalog's table that only Spark can read."""

    text: str
    """As it was given."""
    format: str
    location: str = ""
    table: str = ""


def find_table(spark: SparkSession, text: str, root: Path) -> TablePlace:
    """The table that a path or a catalog's name means. Raises StateError when there is none."""
    from pyspark.errors import PySparkException

    if "/" in text or text.startswith("."):
        folder = Path(text) if "://" not in text else Path(urlsplit(text).path)
        if "://" in text and urlsplit(text).scheme != "file":
            raise StateError(
                f"{text} is in an object store",
                why="a table is adopted from a folder, or by its name in a catalog",
                fix="register it in the catalog, and name it there: `--table catalog.db.t --copy`",
            )
        folder = (root / folder).resolve()
        if not folder.is_dir():
            raise StateError(f"there is no folder {folder}", why="a table is one", fix="correct the path")
        if (folder / "_delta_log").exists():
            return TablePlace(text=text, format="delta", location=str(folder))
        try:
            kinds = {file.suffix[1:] for file in folder.rglob("*") if file.is_file() and file.name[0] not in "._"}
        except OSError as error:
            raise StateError(f"{folder} cannot be read", why=str(error), fix="correct the path") from None
        if len(kinds) != 1 or not kinds <= EVOLVING:
            known = " and ".join(sorted(EVOLVING, reverse=True))
            raise StateError(
                f"nobody can tell what table {folder} is",
                why=f"its files are {', '.join(sorted(kinds)) or 'none'}; known are Delta, {known}",
                fix="write it as one of these, or name a table of the catalog, whatever its format",
            )
        return TablePlace(text=text, format=kinds.pop(), location=str(folder))
    try:
        said = {r[0]: r[1] for r in spark.sql(f"DESCRIBE TABLE EXTENDED {_name(text)}").collect()}
    except PySparkException as error:
        raise StateError(
            f"there is no table {text}",
            why=str(error).splitlines()[0],
            fix="correct the name; a path has a / in it",
        ) from None
    kind, location = str(said.get("Provider", "")).lower(), str(said.get("Location", ""))
    parts = urlsplit(location)
    if kind == "delta" and parts.scheme in ("", "file"):
        return TablePlace(text=text, format="delta", location=str(Path(unquote(parts.path)).resolve()), table=text)
    return TablePlace(text=text, format=kind or "view", table=text)


@contextmanager
def reading(table: str) -> Generator[None]:
    """What Spark says of a table that it cannot read becomes a StateError."""
    try:
        yield
    except Exception as error:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not isinstance(error, PySparkException | Py4JError):
            raise
        found = causes(error)
        raise StateError(
            f"{table} cannot be read",
            why=other_type("\n".join(cause.message for cause in found)) or spark_reason(found),
            fix="bring its files back, or mend them, and run it again",
        ) from None


def frame_of(spark: SparkSession, place: TablePlace) -> DataFrame:
    """All rows of a table, as they are now: a Delta table's stay those of this moment, whoever writes to it."""
    if place.format == "delta":
        name = _name(place.table) if place.table else f"delta.{quoted(place.location)}"
        commit = int(spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"])
        return spark.sql(f"SELECT * FROM {name} VERSION AS OF {commit}")
    if place.table:
        return spark.table(_name(place.table))
    return folder_frame(spark, place.text, place.format, place.location)


def table_columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """Name and Spark SQL type of each column."""
    return tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields)


def schema_columns(schema: str) -> tuple[tuple[str, str], ...]:
    """The same of a schema in Delta's JSON."""
    from pyspark.sql.types import StructType

    return tuple((f.name, f.dataType.simpleString()) for f in StructType.fromJson(json.loads(schema)).fields)


def rows_by_time(frame: DataFrame, time_column: str) -> dict[datetime | None, int]:
    """Rows by the value of the time column."""
    from pyspark.sql import functions as F

    value = F.col(quoted(time_column)).cast("string")
    found: dict[datetime | None, int] = defaultdict(int)
    for at, rows in frame.groupBy(value).count().collect():
        found[_instant(at)] += rows
    return dict(found)


def rows_by_file(spark: SparkSession, location: str, time_column: str) -> dict[str, dict[datetime | None, int]]:
    """The same of each file (its path in full) that the log at a location names, at its first commit."""
    from pyspark.sql import functions as F

    frame = spark.read.format("delta").option("versionAsOf", 0).load(location)
    value = F.col(quoted(time_column)).cast("string")
    found: dict[str, dict[datetime | None, int]] = defaultdict(lambda: defaultdict(int))
    for file, at, rows in frame.groupBy(F.col("_metadata.file_path"), value).count().collect():
        found[unquote(urlsplit(file).path)][_instant(at)] += rows
    return dict(found)


def selected(frame: DataFrame, casts: Sequence[tuple[str, str]], names: Sequence[str], time: str) -> DataFrame:
    """The columns as the model has them, of the rows that have a time."""
    columns = [f"CAST({quoted(c)} AS {kind}) AS {quoted(n)}" for (c, kind), n in zip(casts, names, strict=True)]
    return frame.selectExpr(*columns).where(f"{quoted(time)} IS NOT NULL")


def fingerprints(frame: DataFrame, time_column: str, within: str) -> dict[str, tuple[int, Any]]:
    """Rows, and the sum of the rows' hashes, by value of the time column."""
    from pyspark.sql import functions as F

    hashed = F.sum(content_hash([comparable(frame, c) for c in frame.columns]).cast("decimal(38,0)"))
    by = frame.where(within).groupBy(F.col(quoted(time_column)).cast("string")).agg(F.count("*"), hashed)
    return {row[0]: (row[1], row[2]) for row in by.collect()}


def copy_rows(frame: DataFrame, job: Job, batch: str, span: Interval, location: str) -> int:
    """Write rows of a span to the job's version, which is created, and compare them; the commit's number.

    Raises StateError when what was written is not what was read.
    """
    model, within = job.model, in_interval(job.model, span)
    before = fingerprints(frame, model.time_column, within)
    create_version_table(job, frame.schema, location)
    (
        frame.where(within)
        .write.format("delta")
        .mode("overwrite")
        .option("replaceWhere", within)
        .option("userMetadata", batch_metadata(batch, span))
        .save(location)
    )
    commit = next(c for info in history(location) if (c := data_commit(info)).batch == batch).table_commit
    sync_commits(location, [commit])
    written = frame.sparkSession.read.format("delta").option("versionAsOf", commit).load(location)
    after = fingerprints(written.select(*map(quoted, frame.columns)), model.time_column, within)
    if before != after:
        differ = sorted(at for at in before.keys() | after.keys() if before.get(at) != after.get(at))
        raise StateError(
            f"the copy of {model.name} is not equal to the table, in {', '.join(differ[:5])}",
            why="the table was written to meanwhile, or a disk is damaged; nothing points at the copy",
            fix="run it again when nobody writes to the table",
        )
    return commit


def _instant(text: str | None) -> datetime | None:
    """A time as Spark writes it; one that Python has no value for is the first or the last that it has."""
    if text is None:
        return None
    try:
        return utc(text.replace(" ", "T"))
    except ValueError:
        return (datetime.min if text.startswith("-") else datetime.max).replace(tzinfo=UTC)


def _name(text: str) -> str:
    return ".".join(quoted(part.strip("`")) for part in text.split("."))
