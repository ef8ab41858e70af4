"""How do computed rows of a scope and shown rows outside of it become one batch, and is the rest what was shown?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column, comparable, content_hash
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.core.model import Model
from backfill_assets.plan.ids import Ids
from backfill_assets.plan.patch import RowScope
from backfill_assets.sql.text import interval_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_NEW, _WITHIN, _KEY = "bf_new", "bf_within", "bf_key_"


def keys_frame(spark: SparkSession, ids: Ids, scope: RowScope, wanted: StructType) -> DataFrame:
    """The keys of a scope as rows, of the types that a table has."""
    from pyspark.sql import functions as F

    types = {field.name.lower(): field.dataType for field in wanted.fields}
    text = spark.createDataFrame(list(ids.rows), ", ".join(f"{_KEY}{n} string" for n, _ in enumerate(scope.columns)))
    return text.select(*(F.col(f"{_KEY}{n}").cast(types[c]).alias(f"{_KEY}{n}") for n, c in enumerate(scope.columns)))


def scoped_rows(
    computed: DataFrame, shown: DataFrame, model: Model, scope: RowScope, keys: DataFrame | None
) -> DataFrame:
    """The computed rows of the scope, and the shown ones outside of it. `keys`: of a scope that is one of keys."""
    from pyspark.sql import functions as F

    if keys is not None:
        within = _joined(computed, keys, scope, "left_semi")
        return within.unionByName(_joined(shown, keys, scope, "left_anti"))
    if not scope.by_key:  # each row is asked by itself, so Spark can leave out what is not wanted where it is read
        within = _holds(scope)
        return computed.where(within).unionByName(shown.where(~within))
    both = _within(_both(computed, shown), model, scope)
    return both.where(F.col(_WITHIN) == F.col(_NEW)).drop(_WITHIN, _NEW)


def changed_outside(
    written: DataFrame, shown: DataFrame, model: Model, scope: RowScope, keys: DataFrame | None
) -> list[str]:
    """The intervals, as text, whose rows outside of the scope are not those that were shown: by their number and the
    sum of their hashes, of all columns, bit by bit."""
    from pyspark.sql import functions as F

    if keys is None:
        both = _within(_both(written, shown), model, scope).where(~F.col(_WITHIN))
    else:
        both = _joined(_both(written, shown), keys, scope, "left_anti")
    sign = F.when(F.col(_NEW), 1).otherwise(-1)
    hashed = content_hash(comparable(both, name) for name in shown.columns).cast("decimal(38,0)")
    sums = (
        both.select(
            F.expr(interval_text(model)).alias(INTERVAL), sign.alias("bf_sign"), (hashed * sign).alias("bf_hash")
        )
        .groupBy(INTERVAL)
        .agg(F.sum("bf_sign").alias("bf_rows"), F.sum("bf_hash").alias("bf_sum"))
    )
    return sorted(str(row[0]) for row in sums.where("bf_rows <> 0 OR bf_sum <> 0").collect())


def _both(new: DataFrame, shown: DataFrame) -> DataFrame:
    """All rows of both, with which they are of."""
    from pyspark.sql import functions as F

    return new.withColumn(_NEW, F.lit(True)).unionByName(shown.withColumn(_NEW, F.lit(False)))


def _within(both: DataFrame, model: Model, scope: RowScope) -> DataFrame:
    """The rows, with whether they are of the scope: with one that may be left, all rows of a key are for which the
    condition holds in either."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    within = _holds(scope)
    if scope.by_key:
        within = F.max(within).over(Window.partitionBy(*(column(name) for name in model.grain)))
    return both.withColumn(_WITHIN, within)


def _joined(frame: DataFrame, keys: DataFrame, scope: RowScope, how: str) -> DataFrame:
    """The rows whose key is one of these (`left_semi`), or none of them (`left_anti`), as a key with a NULL is."""
    from pyspark.sql import functions as F

    same = [column(name) == F.col(f"{_KEY}{n}") for n, name in enumerate(scope.columns)]
    return frame.join(F.broadcast(keys), same, how)


def _holds(scope: RowScope) -> Column:
    """Whether the condition holds; where it is NULL it does not."""
    from pyspark.sql import functions as F

    return F.expr(f"coalesce(({scope.where}\n), false)")
