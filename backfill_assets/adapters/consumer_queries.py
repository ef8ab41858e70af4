"""How are consumers' queries asked of an environment? In Spark, with the environment's views in place of prod's."""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.commands import run_command
from backfill_assets.adapters.query import checked, collected
from backfill_assets.adapters.side_by_side import side_by_side
from backfill_assets.adapters.spark_errors import causes, died, spark_reason
from backfill_assets.adapters.spark_views import show_readable
from backfill_assets.contracts.masked_answers import ViewMasks, masked_rerun
from backfill_assets.contracts.rerun import SAMPLE, Answer, Rerun, evaluated, rerun
from backfill_assets.core.consumer import Consumer, ConsumerQuery
from backfill_assets.core.errors import StateError
from backfill_assets.sql.parsing import parse, splice
from backfill_assets.sql.text import quoted
from backfill_assets.sql.types import is_number
from backfill_assets.state.environment import Environment, schema_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST = 300
"""Characters of an error that are kept."""


def run_queries(
    spark: SparkSession,
    consumers: Iterable[Consumer],
    candidate: Environment,
    shown: Environment,
    warehouse: str,
    masks: Mapping[str, Collection[str]],
) -> Iterator[Rerun]:
    """Every query over both environments; evaluations that are queries once more, under their names.

    Of an answer that may hold values of columns in `masks` (by model) none of them is kept.

    A query names prod's views (`prod.model`); over the candidate it reads the candidate's. One that fails is an answer,
    and so is why a table that it reads cannot be read.
    """
    lost, missing = (show_readable(spark, environment, warehouse) for environment in (shown, candidate))
    salt = secrets.token_bytes(16)
    new = _views(spark, candidate, shown.name, masks, missing)
    old = _views(spark, shown, shown.name, masks, lost)
    for consumer in consumers:
        found: list[Rerun] = []
        for query in consumer.queries:
            read = {reference.key for reference in parse(query.sql).references}
            sides = ((in_place_of(shown, candidate, query.sql), missing), (query.sql, lost))
            answers = [
                partial(_answered, spark, query, sql, _unreadable(shown.name, read, gone)) for sql, gone in sides
            ]
            one, other = side_by_side(spark, answers)
            found.append(masked_rerun(rerun(consumer, query, one, other), query, new, old, salt))
        yield from found
        yield from evaluated(consumer, found)


def _answered(spark: SparkSession, query: ConsumerQuery, sql: str, unreadable: Answer | None) -> Answer:
    return unreadable or ask(spark, query, sql)


def _unreadable(called: str, read: Collection[str], lost: Mapping[str, StateError]) -> Answer | None:
    """The answer to a query that reads what cannot be read; None where it does not."""
    why = next((f"{e.what}: {e.why}" for model, e in lost.items() if f"{called}.{model}".lower() in read), "")
    return Answer(error=why[:LONGEST]) if why else None


def _views(
    spark: SparkSession,
    environment: Environment,
    called: str,
    masks: Mapping[str, Collection[str]],
    lost: Collection[str],
) -> ViewMasks:
    """The environment's views, by the names that queries call them: those of the environment `called`. No query reads
    those that are `lost`."""
    if not any(masks.values()):
        return ViewMasks()
    schema = quoted(schema_name(environment.name))
    columns = {
        f"{called}.{model}".lower(): [c.lower() for c in spark.table(f"{schema}.{quoted(model)}").columns]
        for model in environment.pointers
        if model not in lost
    }
    return ViewMasks(
        columns=columns, masks={f"{called}.{model}".lower(): [c.lower() for c in mask] for model, mask in masks.items()}
    )


def run_commands(consumers: Iterable[Consumer], candidate: Environment, root: Path) -> Iterator[Rerun]:
    """Every evaluation that is a command, run in the project's folder; what it ends with is its answer.

    The candidate's name is in BACKFILL_ENVIRONMENT: `backfill_assets.read` and `spark` follow it.
    """
    for consumer in consumers:
        for evaluation in consumer.evaluations:
            if evaluation.command:
                answer = run_command(evaluation.command, candidate.name, root, evaluation.variables)
                missed = (answer.error,) if answer.error else ()
                yield Rerun(
                    consumer=consumer.name, query=evaluation.command, evaluation=evaluation.name,
                    candidate=answer, shown=None, missed=missed,
                )  # fmt: skip


def in_place_of(shown: Environment, candidate: Environment, sql: str) -> str:
    """The query with the candidate's views for those of the environment that it names."""
    schema = quoted(schema_name(candidate.name))
    models = {*shown.pointers, *candidate.pointers}
    return splice(sql, {f"{shown.name}.{model}".lower(): f"{schema}.{quoted(model)}" for model in models})


def ask(spark: SparkSession, query: ConsumerQuery, sql: str) -> Answer:
    """What the query gives; Spark's reason when it fails."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return _ask(spark, query, sql)
    except (PySparkException, Py4JError) as error:
        if (gone := died(f"ask the query {query.name}")) is not None:  # no answer at all: not the query's fault
            raise gone from error
        return Answer(error=spark_reason(causes(error))[:LONGEST])


def _ask(spark: SparkSession, query: ConsumerQuery, sql: str) -> Answer:
    from pyspark.sql import functions as F

    checked(spark, sql)
    frame = spark.sql(sql)
    names, types = frame.columns, [field.dataType.simpleString() for field in frame.schema.fields]
    flat = frame.toDF(*(f"c{i}" for i in range(len(names))))  # a result may have a name twice
    # Sums of doubles differ in their last digits with the order in which they are added up.
    told = [
        F.format_string("%.12g", f"c{i}").alias(f"c{i}") if kind in ("double", "float") else F.col(f"c{i}")
        for i, kind in enumerate(types)
    ]
    hashed = F.xxhash64(F.to_json(F.struct(*told), {"ignoreNullFields": "false"})).cast("decimal(38,0)")
    lower = [name.lower() for name in names]
    bound = {
        b.column: f"c{lower.index(b.column.lower())}"
        for b in query.bounds
        if b.column.lower() in lower and is_number(types[lower.index(b.column.lower())])
    }
    ends = [
        end(F.col(column).cast("double")).alias(f"{word}_{column}")
        for column in bound.values()
        for word, end in (("min", F.min), ("max", F.max))
    ]
    numbers = {name: f"c{i}" for i, name in enumerate(names) if is_number(types[i]) and names.count(name) == 1}
    ends += [F.sum(F.col(column).cast("double")).alias(f"sum_{column}") for column in numbers.values()]
    [found] = flat.agg(F.count(F.lit(1)).alias("n"), F.sum(hashed).alias("total"), *ends).collect()
    return Answer(
        columns=tuple(names),
        rows=found["n"],
        checksum=f"{int(found['total'] or 0) & (2**64 - 1):016x}",
        sample=tuple(tuple("NULL" if v is None else str(v) for v in row) for row in collected(frame, SAMPLE)),
        extremes={name: (found[f"min_{c}"], found[f"max_{c}"]) for name, c in bound.items()},
        sums={name: _rounded(found[f"sum_{c}"]) for name, c in numbers.items()},
    )


def _rounded(value: float | None) -> float | None:
    """To 12 digits, and no total where it is none: JSON knows neither NaN nor infinities."""
    return float(f"{value:.12g}") if value is not None and math.isfinite(value) else None
