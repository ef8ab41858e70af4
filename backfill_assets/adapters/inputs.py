"""How does a build read its upstreams? As they were when the plan froze them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from backfill_assets.adapters.csv_header import HeaderColumns, by_header, corrupt_record
from backfill_assets.adapters.jvm import sql_with
from backfill_assets.adapters.read_schema import read_as
from backfill_assets.adapters.refused_values import refusing, values_read
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.source_files import SourceFile, files_at
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.adapters.types_of_files import TypesOfFiles, types_of_files
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.build.engine import Input, Job, ModelInput, SourceInput
from backfill_assets.core.errors import (
    BuildError,
    PlanError,
    SourceChangedError,
    SourceRewrittenError,
    TransientBuildError,
)
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Model, Source
from backfill_assets.core.pin import state_of
from backfill_assets.core.segments import NO_ROWS, Segment, Segments, is_adopted
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.project.object_store import UnreachableError
from backfill_assets.sql.text import quoted
from backfill_assets.sql.types import PADDED, as_read
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SCHEMALESS = frozenset({"csv", "json"})
EVOLVING = frozenset({"parquet", "orc"})
"""Files of these say the types of their columns, each its own."""


def input_frame(spark: SparkSession, warehouse: str, read: Input) -> DataFrame:
    """The upstream's rows, lazily."""
    match read:
        case ModelInput():
            below = Segments.of_table(read.version, read.commit, [ALL_TIME]) if read.commit >= 0 else NO_ROWS
            return _ordered(model_frame(spark, warehouse, read.model, read.over.over(below)), read.columns)
        case SourceInput():
            return _source_frame(spark, read)


def _ordered(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The columns in the order that the reader's version was made from: that of the code, not that of the table.

    A table that was built before an edit moved columns keeps their old places, and may have some that the code does
    not. Code that reads columns by their places (`SELECT * … UNION ALL …`) is compared as if it read the code's order.
    """
    there = [name.lower() for name in frame.columns]
    wanted = [name.lower() for name in columns]
    if not columns or wanted == there or not set(wanted) <= set(there):
        return frame
    return frame.select(*map(quoted, columns))


def model_frame(spark: SparkSession, warehouse: str, model: Model, segments: Segments) -> DataFrame:
    """The rows of segments of a model's tables, together; a column that some lack is NULL there."""
    parts = [_table_frame(spark, warehouse, model, s, within) for s, within in segments.tables()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def renamed_frame(
    spark: SparkSession,
    warehouse: str,
    model: Model,
    segments: Segments,
    columns: Sequence[tuple[str, str]],
    wanted: StructType,
) -> DataFrame:
    """The rows of segments as a table of these columns has them. `columns`: lower-cased, as they are called in the
    segments' tables, and in that one. Raises BuildError where the names or the types are others."""
    before = {new: old for old, new in columns}
    kinds = {f.name.lower(): f.dataType.simpleString() for f in wanted.fields}
    parts: list[DataFrame] = []
    for segment, within in segments.tables():
        frame = _table_frame(spark, warehouse, model, segment, within)
        there = {f.name.lower(): f for f in frame.schema.fields}
        same = {n: there[o].dataType.simpleString() for n, o in before.items() if o in there}
        if same != kinds:
            differ = sorted(set(kinds) ^ set(same)) or sorted(n for n in kinds if kinds[n] != same[n])
            raise BuildError(
                f"the rows of {model.name} cannot be copied from its version {segment.version}",
                why=f"columns of the new version are not there, or of another type: {', '.join(differ)}",
            )
        names = [(there[before[f.name.lower()]].name, f.name) for f in wanted.fields]
        parts.append(frame.selectExpr(*(f"{quoted(old)} AS {quoted(new)}" for old, new in names)))
    return reduce(lambda one, other: one.union(other), parts)


def _table_frame(spark: SparkSession, warehouse: str, model: Model, segment: Segment, within: Ranges) -> DataFrame:
    location = table_path(warehouse, model.name, segment.version)
    for part in within:
        check_adopted(warehouse, model.name, segment, part)
    frame = spark.read.format("delta").option("versionAsOf", segment.commit).load(location)
    if segment.interval == ALL_TIME:
        return frame
    return frame.where(in_interval(model, *within))


def range_query(session: SparkSession, query: str, model: Model, interval: Interval) -> DataFrame:
    """What a query of the model gives for an interval, which it gets as `:start` and `:end`."""
    start, end = interval.start, interval.end
    arguments = {"start": start, "end": end}
    if model.cadence is not Cadence.HOURLY:
        arguments = {"start": start.date(), "end": end.date()}
    if is_remote(session):
        return session.sql(query, arguments)
    return sql_with(session, query, arguments)


def check_adopted(warehouse: str, model: str, segment: Segment, part: Interval) -> None:
    """Raise SourceChangedError when files of an adopted table are gone, or of another size: Spark would read what
    somebody else wrote there since, or a part of it."""
    if not is_adopted(segment.version):
        return
    there = DeltaTableStorage(warehouse).readable(model, segment.version, segment.commit, part, footers=False)
    if there.broken:
        raise SourceChangedError(
            f"the adopted rows of {model} cannot be read",
            why=", ".join(there.broken[:3]),
            fix="bring the files back as they were, or restate their days: `backfill plan` names them, and the command",
        )


def check_pin(read: Input) -> None:
    """Raise SourceChangedError when files of the plan are away, SourceRewrittenError when they are others. Delta's
    commits stay as they are."""
    if isinstance(read, SourceInput) and "files" in read.pin:
        try:
            found = FilePins().state(read.source)
        except UnreachableError as error:  # nothing is known of the files
            raise TransientBuildError(error.what, why=error.why, fix=error.fix) from error
        except (PlanError, OSError):  # none is there, or one went while it was looked at
            found = {"count": 0}
        if state_of(found) != state_of(read.pin):
            raise _changed(read.source, cast(int, found["count"]), cast(int, read.pin["count"]))


def _changed(source: Source, there: int, frozen: int) -> BuildError:
    """Files that are away may come back; what was written again, or came beside, stays."""
    what, again = f"source {source.name} changed while the plan was carried out", "run `backfill plan` and apply: it "
    again += "freezes them as they are now"
    if there < frozen:
        fix = f"bring back what is gone and run this again, or {again}"
        return SourceChangedError(what, why=f"{there} of its {frozen} files are there", fix=fix)
    why = "a file of it was written again" if there == frozen else f"it has {there} files by now, of {frozen}"
    return SourceRewrittenError(what, why=why, fix=again)


def check_pins(job: Job) -> None:
    """The same of all that a job reads."""
    for read in job.inputs.values():
        check_pin(read)


def _source_frame(spark: SparkSession, read: SourceInput) -> DataFrame:
    return _ordered(_typed(_files_frame(spark, read.source, read.pin), read.source), read.columns)


def _typed(frame: DataFrame, source: Source) -> DataFrame:
    """The columns of the types that are declared: were a type another in truth, a comparison would cast what a
    version's name says is compared as it is."""
    known = {c.name.lower(): c.type for c in source.columns if c.type and not c.type.startswith(PADDED)}
    other = {
        field.name: type_
        for field in frame.schema.fields
        if (type_ := known.get(field.name.lower(), field.dataType.simpleString())) != field.dataType.simpleString()
    }
    if not other:
        return frame
    names = {name: quoted(name) for name in frame.columns}
    return frame.selectExpr(
        *[f"CAST({q} AS {other[name]}) AS {q}" if name in other else q for name, q in names.items()]
    )


def folder_frame(spark: SparkSession, name: str, format: str, location: str) -> DataFrame:
    """All rows of a folder of Parquet or ORC files, as they are now; `name` is what it is called where one is of
    another type."""
    reader: Any = spark.read.format(format)
    source = Source(name=name, format=format, path=location, file=Path(location))
    frame = reader.load(location)
    return _with_refusals(reader, source, frame, frame.schema, types_of_files(source, files_at(location)))


def _files_frame(spark: SparkSession, source: Source, pin: Mapping[str, object]) -> DataFrame:
    if source.table is not None:
        return spark.table(source.table)
    assert source.path is not None
    reader: Any = spark.read.format(source.format).options(**dict(source.options))
    if source.format == "delta":
        return reader.option("versionAsOf", pin["commit"]).load(source.path)
    declared = {c.name: c.type or "string" for c in source.columns}
    if source.format in SCHEMALESS and declared:
        reader = reader.schema(_schema(declared))
        if not source.option("mode") and corrupt_record(source) not in map(str.lower, declared):
            reader = reader.option("mode", "FAILFAST")  # Spark's own way is NULL, or no row at all, without a word
    files = files_at(source.path) if "files" in pin else []
    if source.format in EVOLVING:
        return _widened(reader, source, files)
    if source.columns_by != "header":
        return _loaded(reader, source.path, files)
    if not files:  # nobody but Spark can look into them
        return _loaded(reader.option("enforceSchema", "false"), source.path, files)
    parts = [_named(reader, source, declared, columns, some) for columns, some in by_header(source, files)]
    if not parts:
        return _loaded(reader, source.path, files)
    return reduce(lambda one, other: one.union(other), parts)


def _loaded(reader: Any, path: str, files: Sequence[SourceFile]) -> DataFrame:
    if files and not files[0].alone:
        return reader.option("basePath", path).load([file.place for file in files])
    return reader.load(path)


def _widened(reader: Any, source: Source, files: Sequence[SourceFile]) -> DataFrame:
    """The files by the types of one of them, as Spark has it, but for what is declared: a wider type, which others may
    have, one that others have, and a column that it lacks. A plan looked whether any file has that. A column that some
    files have as a type that would not be read as it is fails there, where it is read."""
    from pyspark.sql.types import StructType

    assert source.path is not None
    frame = _loaded(reader, source.path, files)
    declared = {c.name: as_read(c.type) for c in source.columns if c.type}
    said = cast(StructType, StructType.fromDDL(_schema(declared))) if declared else StructType()
    looked_at = source.format == "parquet" and files
    types = types_of_files(source, files)
    schema = read_as(frame.schema, said, [name.lower() for name in declared] if looked_at else (), types)
    if schema.simpleString() != frame.schema.simpleString():
        frame = _loaded(reader.schema(schema), source.path, files)
    return _with_refusals(reader, source, frame, schema, types)


def _with_refusals(reader: Any, source: Source, frame: DataFrame, schema: StructType, types: TypesOfFiles) -> DataFrame:
    """A frame of all files, which are read with this schema, or one that fails where a file has another type."""
    parts = types.by_others(values_read(schema))
    if parts.keys() <= {()}:
        return frame

    def load(schema: StructType, files: Sequence[SourceFile]) -> DataFrame:
        assert source.path is not None
        return _loaded(reader.schema(schema), source.path, files)

    return reduce(
        lambda one, other: one.union(other),
        (refusing(load, source, schema, others, files) for others, files in parts.items()),
    )


def _schema(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{quoted(name)} {type_}" for name, type_ in columns.items())


def _named(
    reader: Any, source: Source, declared: Mapping[str, str], columns: HeaderColumns | None, files: Sequence[SourceFile]
) -> DataFrame:
    """CSV files with one header, their values by its names. Spark goes by places: it is given the columns in the order
    of the header. Declared ones that it does not have are NULL, as they are in Parquet files."""
    assert source.path is not None
    names = list(declared)
    if columns is None:
        return _loaded(reader.option("enforceSchema", "false"), source.path, files).select(*map(quoted, names))
    own = {
        name or f"_{place}_of_the_file": declared.get(name or "", "string") for place, name in enumerate(columns.there)
    }
    corrupt = [name for name in names if name.lower() == corrupt_record(source)]
    schema = own | {name: declared[name] for name in (*columns.folders, *corrupt)}
    frame = _loaded(reader.schema(_schema(schema)), source.path, files)
    return frame.selectExpr(
        *(quoted(n) if n in schema else f"CAST(NULL AS {declared[n]}) AS {quoted(n)}" for n in names)
    )
