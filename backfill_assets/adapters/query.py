"""What does a query that somebody typed give? Its first rows, or Spark's reason in a line."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from backfill_assets.adapters.spark_errors import died
from backfill_assets.core.errors import BuildError

NONE = "none yet: backfill apply, backfill promote"


def first_rows(spark: SparkSession, query: str, *, at_most: int, views: Sequence[str]) -> tuple[list[str], list[Row]]:
    """The columns' names and `at_most` rows. Raises BuildError, which names the `views`, when it is not valid;
    EngineDiedError when Spark is gone."""
    try:
        frame = spark.sql(query)
        names = frame.columns
        return names, frame.limit(at_most).collect() if names else []
    except PySparkException as error:
        if (gone := died("run this query")) is not None:
            raise gone from None
        first = str(error).strip().splitlines()[0]
        fix = f"correct it; the views are: {', '.join(views) or NONE}"
        raise BuildError("this query cannot be run", why=first, fix=fix) from None
