"""Did a key move between intervals? A batch sees its own interval only, so a moved key would be there twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column, samples
from backfill_assets.adapters.inputs import model_frame
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.text import interval_text
from backfill_assets.build.engine import Job
from backfill_assets.core.intervals import Interval
from backfill_assets.core.segments import Segments
from backfill_assets.plan.patch import ALL_TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIRST, _LAST = "first_in", "last_in"


def moved_rows(spark: SparkSession, warehouse: str, job: Job, commit: int) -> dict[str, int]:
    """How many keys of each interval (as INTERVAL text) are in another interval as well.

    Looked at are the version's table at the commit and what stays beside it.
    """
    from pyspark.sql import functions as F

    found = _moved(spark, warehouse, job, commit, ALL_TIME).groupBy(INTERVAL).agg(F.count("*")).collect()
    return {row[0]: row[1] for row in found if row[0] is not None}


def moved_samples(spark: SparkSession, warehouse: str, job: Job, commit: int, interval: Interval) -> Sequence[str]:
    """A few of the interval's keys that are elsewhere as well, with the first and last interval that has them."""
    return samples(_moved(spark, warehouse, job, commit, interval), [*job.model.grain, _FIRST, _LAST], job.model.mask)


def _moved(spark: SparkSession, warehouse: str, job: Job, commit: int, interval: Interval) -> DataFrame:
    from pyspark.sql import functions as F

    model = job.model
    own = Segments.of_table(job.version, commit, [ALL_TIME])
    everything = model_frame(spark, warehouse, model, job.beside.over(own))
    bucket = F.expr(interval_text(model)).alias(INTERVAL)
    keys = [column(c) for c in model.grain]
    twice = (
        everything.select(*keys, bucket)
        .groupBy(*keys)
        .agg(F.min(INTERVAL).alias(_FIRST), F.max(INTERVAL).alias(_LAST))
        .where(column(_FIRST) != column(_LAST))
        .alias("t")
    )
    here = everything if interval == ALL_TIME else everything.where(in_interval(model, interval))
    same = reduce(and_, (column(c, "s").eqNullSafe(column(c, "t")) for c in model.grain))
    joined = here.select(*keys, bucket).alias("s").join(twice, same)
    return joined.select(*(column(c, "s") for c in model.grain), INTERVAL, _FIRST, _LAST).distinct()
