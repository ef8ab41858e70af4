"""Which intervals of a model differ between two sets of its tables? By checksums, without a join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column, comparable, content_hash
from backfill_assets.adapters.few_rows import FEW_COMPARED, held, interpret
from backfill_assets.adapters.inputs import model_frame
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments
from backfill_assets.sql.text import interval_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_ROWS = (0, 0)


def differing(
    spark: SparkSession,
    warehouse: str,
    model: Model,
    columns: Sequence[str],
    shown: Segments,
    built: Segments,
    before: Mapping[str, str],
) -> Ranges:
    """The intervals that both hold and whose rows differ in these columns; `before`: their former names."""
    _, rows = held(warehouse, [(model.name, shown), (model.name, built)])
    if rows <= FEW_COMPARED:
        spark = spark.newSession()
        interpret(spark)
    one = checksums(model_frame(spark, warehouse, model, shown), model, columns, before)
    other = checksums(model_frame(spark, warehouse, model, built), model, columns, {})
    both = shown.covers & built.covers
    return Ranges.of(
        unit for unit in both.split(model.cadence) if one.get(unit.start, _NO_ROWS) != other.get(unit.start, _NO_ROWS)
    )


def checksums(
    frame: DataFrame, model: Model, columns: Sequence[str], before: Mapping[str, str]
) -> dict[datetime, tuple[int, int]]:
    """Rows and the sum of the rows' hashes, by start of the interval. Doubles count to nine digits."""
    from pyspark.sql import functions as F

    names = {name.lower(): name for name in (model.time_column, *columns)}
    frame = frame.select(*(column(before.get(low, name)).alias(name) for low, name in names.items()))
    loose = {f.name.lower() for f in frame.schema.fields if f.dataType.typeName() in ("double", "float")}
    values = [F.format_string("%.9e", column(c)) if c.lower() in loose else comparable(frame, c) for c in columns]
    hashed = F.sum(content_hash(values).cast("decimal(38,0)"))
    found = frame.groupBy(F.expr(interval_text(model)).alias(INTERVAL)).agg(F.count("*"), hashed).collect()
    return {utc(row[0].replace(" ", "T")): (row[1], row[2]) for row in found if row[0] is not None}
