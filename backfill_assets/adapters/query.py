"""What does a query that somebody typed give? Its first rows, or Spark's reason in a line. A statement is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.spark_errors import VANISHED, causes, died, spark_reason
from backfill_assets.core.errors import BuildError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_SHOWN = re.compile(r"\s*(DESCRIBE|DESC|EXPLAIN|SHOW)\b", re.IGNORECASE)
"""What begins like this tells of tables, and changes nothing."""
NONE = "none yet: backfill apply, backfill promote"


def checked(spark: SparkSession, sql: str) -> None:
    """Look at a query without running it: Spark runs what is none as soon as it sees it, but in parentheses nothing but
    a query has a meaning. Raises ParseException for what is none, AnalysisException for one that has none."""
    spark.sql(f"SELECT * FROM (\n{sql.rstrip().rstrip(';')}\n) LIMIT 0")


def first_rows(spark: SparkSession, query: str, *, at_most: int, views: Sequence[str]) -> tuple[list[str], list[Row]]:
    """The columns' names and `at_most` rows. Raises BuildError, which names the `views`, when it is not valid, or its
    rows cannot be read, and UsageError when it is none; EngineDiedError when Spark is gone."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        _refuse_statement(spark, query)
        frame = spark.sql(query)
        names = frame.columns
        return names, collected(frame, at_most) if names else []
    except PySparkException as error:
        if (gone := died("run this query")) is not None:
            raise gone from None
        fix = f"correct it; the views are: {', '.join(views) or NONE}"
        raise BuildError("this query cannot be run", why=_first_line(error), fix=fix) from None
    except Py4JJavaError as error:  # what PySpark has no name for: a file that is gone, for one
        if (gone := died("run this query")) is not None:
            raise gone from None
        chain = causes(error)
        lost = any(mark in f"{c.kind}: {c.message}" for c in chain for mark in VANISHED)
        fix = (
            "bring the file back; or restate the days that are lost: backfill plan names them, and the command"
            if lost
            else "see what it says; the same query in a session of your own tells more: backfill shell"
        )
        raise BuildError("this query cannot be run", why=spark_reason(chain), fix=fix) from None


def collected(frame: DataFrame, at_most: int) -> list[Row]:
    """So many rows; as texts where they have a value that Python has not: a day of the year 12024, a map by arrays."""
    from pyspark.sql import functions as F

    few = frame.limit(at_most)
    try:
        return few.collect()
    except (ValueError, OverflowError, TypeError):
        names = [f"c{i}" for i in range(len(frame.columns))]  # a result may have a name twice
        texts = few.toDF(*names).select(*(F.col(name).cast("string") for name in names))
        return texts.toDF(*frame.columns).collect()


def _refuse_statement(spark: SparkSession, query: str) -> None:
    """Raise UsageError for what would do more than read: delete rows, write files, make tables, set something."""
    from pyspark.errors import ParseException

    if _SHOWN.match(query):
        return
    session: Any = spark
    if not is_remote(session):
        session._jsparkSession.sessionState().sqlParser().parsePlan(query)  # its own mistakes, at their own places
    try:
        checked(spark, query)
    except ParseException as error:
        raise UsageError(
            "this is no query",
            why=f"nothing but SELECT, DESCRIBE, EXPLAIN and SHOW is run here, and nothing was ({_first_line(error)})",
            fix="to write tables, let a model be built, or use a session of your own: backfill shell",
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
