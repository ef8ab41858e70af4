"""How is a question about two sides answered by Spark? One query for all counts, a small one for samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from backfill_assets.adapters.spark_errors import as_build_error
from backfill_assets.compare.answer import answer, samples, shown, windows
from backfill_assets.compare.ask import Question, cut
from backfill_assets.compare.diff import ModelDiff
from backfill_assets.compare.query import Fields, Query, compile_diff
from backfill_assets.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.promote.views import plain_view

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

SETTINGS = {
    # A side is numbered within its key and then joined by key and number: one exchange is enough for both.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Conditions that have names cost the optimizer minutes, and memory, to carry through the plan (SPARK-33152).
    "spark.sql.constraintPropagation.enabled": "false",
}


def diff_model(
    question: Question, spark: Callable[[], SparkSession], warehouse: str, salt: Callable[[], bytes], *, sample: int
) -> ModelDiff:
    """What is different. No session is opened when there is nothing to read; `sample`: keys of each kind of row.

    Raises BuildError with Spark's reason when the tables cannot be read, PlanError when they cannot be compared.
    """
    if not question.compared:
        return question.unread()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = spark().newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        old, new = _relations(question, warehouse, question.compared)
        query = compile_diff(question, _fields(session, old), _fields(session, new))
        found = [row.asDict() for row in session.sql(query.aggregate(old, new)).collect()]
        diff = answer(question, query, found, salt())
        return replace(
            diff, samples=samples(query, *_sample(question, query, diff, session, warehouse, sample), salt())
        )
    except (PySparkException, Py4JError) as error:
        raise as_build_error(error, f"compare {question.model.name}") from error


def _sample(
    question: Question, query: Query, diff: ModelDiff, session: SparkSession, warehouse: str, count: int
) -> tuple[tuple[int, ...], list[dict[str, object]]]:
    """The columns to show, and rows of the days that have most of them."""
    show, taken = shown(query, diff), windows(diff)
    if not count or not taken:
        return show, []
    ranges = question.compared
    if query.time in query.keys:  # else a row may have moved from one day to another
        cadence = Cadence.DAILY if question.model.cadence is Cadence.HOURLY else question.model.cadence
        spans = (Interval(utc(first), cadence.shift(utc(last), 1)) for first, last in taken.values())
        ranges = ranges & Ranges.of(spans)
    old, new = _relations(question, warehouse, ranges)
    rows: list[Row] = session.sql(query.sample(old, new, taken, show, count)).collect()
    return show, [row.asDict() for row in rows]


def _relations(question: Question, warehouse: str, ranges: Ranges) -> tuple[str, str]:
    assert question.old is not None and question.new is not None
    return plain_view(cut(question.old, ranges), warehouse), plain_view(cut(question.new, ranges), warehouse)


def _fields(session: SparkSession, relation: str) -> Fields:
    schema = session.sql(relation).schema
    return [(f.name, f.dataType.simpleString(), f.dataType.jsonValue()) for f in schema.fields]
