"""How is a question about two sides answered by Spark? What each holds first; then only what differs is joined."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.diff_rows import Rows, rows_of_sides
from backfill_assets.adapters.side_by_side import side_by_side
from backfill_assets.adapters.spark_errors import as_build_error, died
from backfill_assets.compare.answer import Cells, answer, cells, different, moving, samples, shown, windows
from backfill_assets.compare.diff import Distribution, ModelDiff, Sample
from backfill_assets.compare.distributions import chosen, counted, told
from backfill_assets.compare.pairs import by_kind
from backfill_assets.compare.profile import by_day, by_slice, percentiles, repeated
from backfill_assets.compare.query import Comparison, Fields, compile_diff
from backfill_assets.compare.questions import Question
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

SETTINGS = {
    # A side is numbered within its key and then joined by key and number: one exchange is enough for both.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Conditions that have names cost the optimizer minutes, and memory, to carry through the plan (SPARK-33152).
    "spark.sql.constraintPropagation.enabled": "false",
    # Sketches are kept by day in a hash map. With the default of 128 groups, all rows are sorted instead.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000",
}
PARTITIONS = "spark.sql.shuffle.partitions"
PERCENTILE_ROWS = 250_000
"""So many rows of a side percentiles are taken of, more or less."""
ROWS_OF_A_PARTITION = 250_000
"""One side's rows of a partition are held in memory while the other's look for their pair."""


def diff_model(
    question: Question, spark: Callable[[], SparkSession], warehouse: str, salt: Callable[[], bytes], *, sample: int
) -> ModelDiff:
    """What is different. No session is opened when there is nothing to read; `sample`: keys of each kind of row.

    Raises BuildError with Spark's reason when the tables cannot be read, PlanError when they cannot be compared.
    """
    if not question.compared:
        return question.unread()
    with _asked(question, spark, warehouse) as (session, query, rows):
        found, columns, spread = _found(question, query, session, rows)
        diff = replace(answer(question, query, found, columns, salt()), distributions=spread)
        return replace(diff, samples=_samples(question, query, diff, session, rows, sample, salt))


def sample_model(
    question: Question,
    known: ModelDiff,
    spark: Callable[[], SparkSession],
    warehouse: str,
    salt: Callable[[], bytes],
    *,
    sample: int,
) -> ModelDiff:
    """What is `known` to be different, with other examples: so many keys of each kind of row. Raises BuildError."""
    if not sample or not windows(known):
        return replace(known, samples=())
    with _asked(question, spark, warehouse, once=True) as (session, query, rows):
        return replace(known, samples=_samples(question, query, known, session, rows, sample, salt))


@contextmanager
def _asked(
    question: Question, spark: Callable[[], SparkSession], warehouse: str, *, once: bool = False
) -> Generator[tuple[SparkSession, Comparison, Rows]]:
    """A session to ask (`once`, or several times), what both sides have, and their rows. What Spark refuses in the
    block is a BuildError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = spark().newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        with rows_of_sides(session, question, warehouse, once=once) as rows:
            old, new = rows(question.compared)
            yield session, compile_diff(question, _fields(session, old), _fields(session, new)), rows
    except (PySparkException, Py4JError) as error:
        masked = bool(question.mask)
        doing = f"compare {question.model.name}"
        found = as_build_error(error, doing, gone=died(doing), masked=masked)
        raise found from None if masked else error


def _found(
    question: Question, query: Comparison, session: SparkSession, both: Rows
) -> tuple[Cells, tuple[int, ...], tuple[Distribution, ...]]:
    """What both sides hold and what came of their rows, the columns that moved, and how these and new ones spread.

    What is dear is asked last, of what is known to differ: rows are joined for the days and columns whose fingerprints
    differ; slices, percentiles and distributions are told of the columns that moved.
    """

    def ask(text: str | None) -> list[dict[str, Any]]:
        return [row.asDict() for row in session.sql(text).collect()] if text else []

    sides = both(question.compared)
    held = ask(by_day(query, *sides))
    found = cells(held, [])
    rows = max((row["bf_rows"] for row in held), default=0)
    partitions = max(int(session.conf.get(PARTITIONS) or 1), rows // ROWS_OF_A_PARTITION)
    session.conf.set(PARTITIONS, str(partitions))
    unique = ask(repeated(query, *sides))[0]["bf_repeated"] == 0
    ranges, columns = question.compared, query.compared
    if unique and query.time in query.keys:
        days, columns = different(query, found)
        ranges = ranges & _spans(question, ((day, day) for day in days))
    joined = both(ranges) if ranges else None
    came = ask(by_kind(query, *joined, columns, unique=unique)) if joined else []
    moves = moving(question, query, cells(held, came))
    one_in = max(rows // PERCENTILE_ROWS, 1)
    spread = (*moves, *(i for i, c in enumerate(query.columns) if c.old is None))
    more = (
        percentiles(query, *sides, spread, days=False, one_in=one_in),
        percentiles(query, *sides, moves, days=True, one_in=one_in),
        *(by_slice(query, number, *sides, moves) for number in range(len(query.slices))),
    )
    for told_by_one in side_by_side(session, [partial(ask, text) for text in more]):
        held += told_by_one
    found = cells(held, came)
    asked = chosen(query, found, spread)
    return found, moves, told(query, asked, ask(counted(query, *sides, asked, one_in)), one_in)


def _spans(question: Question, taken: Iterable[tuple[str, str]]) -> Ranges:
    """The intervals from each first to last day."""
    cadence = Cadence.DAILY if question.model.cadence is Cadence.HOURLY else question.model.cadence
    return Ranges.of(Interval(utc(first), cadence.shift(utc(last), 1)) for first, last in taken)


def _samples(
    question: Question,
    query: Comparison,
    diff: ModelDiff,
    session: SparkSession,
    both: Rows,
    count: int,
    salt: Callable[[], bytes],
) -> tuple[Sample, ...]:
    """Rows of the days that have most of them."""
    show, taken = shown(query, diff), windows(diff)
    if not count or not taken:
        return ()
    ranges = question.compared
    if query.time in query.keys:  # else a row may have moved from one day to another
        ranges = ranges & _spans(question, taken.values())
    found: list[Row] = session.sql(query.sample(*both(ranges), taken, show, count)).collect()
    return samples(query, show, [row.asDict() for row in found], salt())


def _fields(session: SparkSession, relation: str) -> Fields:
    schema = session.sql(relation).schema
    return [(f.name, f.dataType.simpleString(), f.dataType.jsonValue()) for f in schema.fields]
