"""How does a build read its upstreams? As they were when the plan froze them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.source_pins import FilePins, data_files
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.build.engine import Input, ModelInput, SourceInput
from backfill_assets.errors import BuildError
from backfill_assets.intervals import Cadence, Interval, Ranges
from backfill_assets.plan.patch import EVER, overlay
from backfill_assets.snapshots.model import Model, Source
from backfill_assets.state.environment import Segment, by_table
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMALESS = frozenset({"csv", "json"})


def input_frame(spark: SparkSession, warehouse: str, read: Input) -> DataFrame:
    """The upstream's rows, lazily."""
    match read:
        case ModelInput():
            below = Segment(version=read.version, commit=read.commit, interval=EVER)
            return model_frame(spark, warehouse, read.model, overlay((below,), read.over))
        case SourceInput():
            return _source_frame(spark, read.source, read.pin)


def model_frame(spark: SparkSession, warehouse: str, model: Model, segments: Sequence[Segment]) -> DataFrame:
    """The rows of segments of a model's tables, together; a column that some lack is NULL there."""
    parts = [_table_frame(spark, warehouse, model, s, within) for s, within in by_table(segments)]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _table_frame(spark: SparkSession, warehouse: str, model: Model, segment: Segment, within: Ranges) -> DataFrame:
    location = table_path(warehouse, model.name, segment.version)
    frame = spark.read.format("delta").option("versionAsOf", segment.commit).load(location)
    if segment.interval == EVER:
        return frame
    return frame.where(" OR ".join(f"({in_interval(model, part)})" for part in within))


def range_arguments(model: Model, interval: Interval) -> dict[str, Any]:
    """What a query of the model gets as `:start` and `:end`."""
    start, end = interval.start, interval.end
    if model.cadence is Cadence.HOURLY:
        return {"start": start, "end": end}
    return {"start": start.date(), "end": end.date()}


def check_pin(read: Input) -> None:
    """Raise BuildError when the source's files are not those of the plan. Delta needs no check: its commits stay."""
    if isinstance(read, SourceInput) and "files" in read.pin:
        found = FilePins().pin(read.source)
        if found != dict(read.pin):
            raise BuildError(
                f"source {read.source.name} changed while the plan was carried out",
                why=f"its files are {found.get('files')}, the plan froze {read.pin['files']}",
                fix="run `backfill plan` and apply again; the plan will freeze the new files",
            )


def _source_frame(spark: SparkSession, source: Source, pin: Mapping[str, object]) -> DataFrame:
    if source.table is not None:
        return spark.table(source.table)
    assert source.path is not None
    reader: Any = spark.read.format(source.format).options(**dict(source.options))
    if source.format == "delta":
        return reader.option("versionAsOf", pin["commit"]).load(source.path)
    if source.format in SCHEMALESS and source.columns:
        reader = reader.schema(", ".join(f"`{c.name}` {c.type or 'string'}" for c in source.columns))
    if "files" in pin and Path(source.path).is_dir():
        files = [str(f) for f in data_files(Path(source.path))]
        return reader.option("basePath", source.path).load(files)
    return reader.load(source.path)
