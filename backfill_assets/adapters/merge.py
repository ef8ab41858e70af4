"""How is an interval brought to what a batch computed? MERGE on the grain, of the rows that differ and of no others."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column, comparable
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Model
from backfill_assets.sql.text import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_CHANGES, _GONE, _THERE = "bf_changes", "bf_gone", "bf_there"


def merge(
    spark: SparkSession,
    source: DataFrame,
    model: Model,
    location: str,
    interval: Interval,
    metadata: str,
    *,
    head: int,
    empty: bool,
) -> None:
    """Commit what differs between the interval's rows at the table's commit `head` and the source's, one row a key.

    `empty` says that there are none at that commit: all that there is to do is insert.
    `spark` is the calling thread's own session: a MERGE takes its commit's metadata from the session's settings.
    """
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", metadata)
    target = spark.read.format("delta").option("versionAsOf", head).load(location).where(in_interval(model, interval))
    (source if empty else merge_changes(source, target, model)).createOrReplaceTempView(_CHANGES)
    names = [quoted(f) for f in target.columns]
    # The source holds only rows that differ, so files without any are not rewritten, as they would be by a MERGE of all
    # rows with conditions. The interval's literals let Delta look at its partitions only, and let batches of other
    # intervals commit at the same time.
    within = in_interval(model, interval).replace(quoted(model.time_column), f"t.{quoted(model.time_column)}")
    on = " AND ".join([within, *(f"t.{quoted(c)} <=> s.{quoted(c)}" for c in model.grain)])
    matched = (
        f"WHEN MATCHED AND s.{_GONE} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{n} = s.{n}' for n in names)} "
    )
    try:
        spark.sql(
            f"MERGE INTO delta.{quoted(location)} AS t USING {_CHANGES} AS s ON {on} {'' if empty else matched}"
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{n}' for n in names)})"
        )
    finally:
        # Delta's log cache keeps sessions for an hour, and a view the batch's plan, with all that was broadcast for it.
        spark.catalog.dropTempView(_CHANGES)


def merge_changes(source: DataFrame, target: DataFrame, model: Model) -> DataFrame:
    """The rows to insert, update and (flagged) delete to get from the target to the source; the marker is no reason.

    A key is in the source at most once. NULL equals NULL, in keys as in values.
    """
    from pyspark.sql import functions as F

    left = source.withColumn(_THERE, F.lit(True)).alias("s")
    right = target.withColumn(_THERE, F.lit(True)).alias("t")
    gone, new = column(_THERE, "s").isNull(), column(_THERE, "t").isNull()
    key = {c.lower() for c in model.grain}
    chosen = [
        (F.when(gone, column(c, "t")).otherwise(column(c, "s")) if c.lower() in key else column(c, "s")).alias(c)
        for c in target.columns
    ]
    return (
        left.join(right, _same_key(model), "full_outer")
        .where(gone | new | differs(source, target, model))
        .select(*chosen, gone.alias(_GONE))
        .dropDuplicates([*model.grain])  # a key that somebody else wrote twice is merged once, and replaced afterwards
    )


def marked(frame: DataFrame, model: Model) -> DataFrame:
    """The frame with the marker, which is the present time unless the frame has it."""
    from pyspark.sql import functions as F

    name = model.updated_at
    if name is None or name.lower() in {c.lower() for c in frame.columns}:
        return frame
    return frame.withColumn(name, F.current_timestamp())


def carry(source: DataFrame, shown: DataFrame, model: Model) -> DataFrame:
    """The source with the marker of rows that are shown with the same values already: they did not move."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    marker = model.updated_at
    assert marker is not None
    types, others = ({f.name.lower(): f.dataType.simpleString() for f in s.schema} for s in (source, shown))
    if types != others:
        return source  # another table: each of its rows is new
    # What another logic shows may have a key twice; such rows vouch for nothing.
    once = F.count("*").over(Window.partitionBy(*(column(c) for c in model.grain))) == 1
    left, right = source.alias("s"), shown.withColumn(_THERE, once).where(_THERE).alias("t")
    same = column(_THERE, "t").isNotNull() & ~differs(source, shown, model)
    kept = F.when(same, column(marker, "t")).otherwise(column(marker, "s"))
    chosen = [kept.alias(c) if c.lower() == marker.lower() else column(c, "s") for c in source.columns]
    return left.join(right, _same_key(model), "left").select(*chosen)


def differs(source: DataFrame, target: DataFrame, model: Model) -> Column:
    """Whether any value of two rows of one key, `s` and `t`, IS DISTINCT FROM the other's."""
    from pyspark.sql import functions as F

    beside = {c.lower() for c in (*model.grain, model.updated_at or "")}
    spelled = {c.lower(): c for c in source.columns}
    return reduce(
        or_,
        (
            ~comparable(source, spelled[c.lower()], "s").eqNullSafe(comparable(target, c, "t"))
            for c in target.columns
            if c.lower() not in beside
        ),
        F.lit(False),
    )


def _same_key(model: Model) -> Column:
    return reduce(and_, (column(c, "s").eqNullSafe(column(c, "t")) for c in model.grain))
