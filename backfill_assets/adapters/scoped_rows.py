"""How do computed rows of a scope and shown rows outside of it become one batch, and is the rest what was shown?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column, comparable, content_hash
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.core.model import Model
from backfill_assets.plan.patch import RowScope
from backfill_assets.sql.text import interval_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NEW, _WITHIN = "bf_new", "bf_within"


def scoped_rows(computed: DataFrame, shown: DataFrame, model: Model, scope: RowScope) -> DataFrame:
    """The computed rows of the scope, and the shown ones outside of it."""
    from pyspark.sql import functions as F

    if not scope.by_key:  # each row is asked by itself, so Spark can leave out what is not wanted where it is read
        within = _holds(scope)
        return computed.where(within).unionByName(shown.where(~within))
    both = _both(computed, shown, model, scope)
    return both.where(F.col(_WITHIN) == F.col(_NEW)).drop(_WITHIN, _NEW)


def changed_outside(written: DataFrame, shown: DataFrame, model: Model, scope: RowScope) -> list[str]:
    """The intervals, as text, whose rows outside of the scope are not those that were shown: by their number and the
    sum of their hashes, of all columns, bit by bit."""
    from pyspark.sql import functions as F

    both = _both(written, shown, model, scope).where(~F.col(_WITHIN))
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


def _both(new: DataFrame, shown: DataFrame, model: Model, scope: RowScope) -> DataFrame:
    """All rows of both, with which they are of, and whether they are of the scope: with a scope that may be left, all
    rows of a key are for which the condition holds in either."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    both = new.withColumn(_NEW, F.lit(True)).unionByName(shown.withColumn(_NEW, F.lit(False)))
    within = _holds(scope)
    if scope.by_key:
        within = F.max(within).over(Window.partitionBy(*(column(name) for name in model.grain)))
    return both.withColumn(_WITHIN, within)


def _holds(scope: RowScope) -> Column:
    """Whether the condition holds; where it is NULL it does not."""
    from pyspark.sql import functions as F

    return F.expr(f"coalesce(({scope.where}\n), false)")
