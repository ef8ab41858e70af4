"""The engine that decides: the project's own Spark, many small queries a job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from backfill_assets_tests.fuzz.case import TableSpec
from backfill_assets_tests.fuzz.compiled import name_of, reads_of
from backfill_assets_tests.fuzz.engine import Failure, Result, Rows, World, permuted
from backfill_assets_tests.fuzz.frames import is_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FAST = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",  # a query runs once, over ten rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_AT_ONCE = 24
"""Queries a job: 26 ms each, one a job 65 ms."""


@contextmanager
def fast(spark: SparkSession) -> Iterator[None]:
    """Settings for small queries, and the old ones afterwards. They change no row."""
    before = {key: spark.conf.get(key, None) for key in _FAST}
    for key, value in _FAST.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


class SparkEngine:
    """Tables and models are temporary views of one session."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._shown: dict[str, object] = {}
        self._frames: dict[object, DataFrame] = {}

    def run(self, worlds: Sequence[World], permutation: int = 0) -> list[Mapping[str, Result | Failure]]:
        found: list[dict[str, Result | Failure]] = [{} for _ in worlds]
        waiting: list[tuple[int, str, DataFrame]] = []
        for number, world in enumerate(worlds):
            self._show(world.tables, world.rows, permutation)
            failed: Failure | None = None
            for name, text in world.models.items():
                frame = failed or self._frame(text)
                if isinstance(frame, Failure):
                    found[number][name] = failed = frame
                    continue
                if name in world.only:
                    waiting.append((number, name, frame))
                if len(world.models) > 1:
                    if permutation:
                        frame = self._written(frame, permutation)
                    if isinstance(frame, Failure):
                        failed = frame
                        continue
                    frame.createOrReplaceTempView(name)
                    self._shown.pop(name, None)
        for start in range(0, len(waiting), _AT_ONCE):
            part = waiting[start : start + _AT_ONCE]
            for (number, name, _), result in zip(part, self._results([f for _, _, f in part]), strict=True):
                found[number][name] = result
        return [{name: results[name] for name in w.only} for results, w in zip(found, worlds, strict=True)]

    def _frame(self, text: str) -> DataFrame | Failure:
        """What a query, or a PySpark function, gives."""
        if is_python(text):
            return self._called(text)
        try:
            frame = self._spark.sql(text.replace(":start", "DATE'2024-01-01'").replace(":end", "DATE'2025-01-01'"))
        except _errors() as error:
            return Failure(why=_first(error), invalid=True)
        names = [n.lower() for n in frame.columns]
        if len(set(names)) != len(names):
            return Failure(why="a name comes twice", invalid=True)
        return frame

    def _called(self, code: str) -> DataFrame | Failure:
        module: dict[str, Any] = {}
        interval = SimpleNamespace(start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2025, 1, 1, tzinfo=UTC))
        try:
            exec(compile(code, "model.py", "exec"), module)
            return module[name_of(code)](**{r: self._spark.table(r) for r in reads_of(code)}, interval=interval)
        except Exception as error:  # whatever the code does wrong
            return Failure(why=_first(error), invalid=True)

    def _written(self, frame: DataFrame, permutation: int) -> DataFrame | Failure:
        """The frame's rows, in an order that says nothing."""
        try:
            rows = permuted([tuple(r) for r in frame.collect()], permutation)
            return self._spark.createDataFrame(rows, frame.schema)
        except _errors() as error:
            return Failure(why=_first(error), invalid=False)

    def _results(self, frames: Sequence[DataFrame]) -> list[Result | Failure]:
        """All in one job. When that fails, each half on its own, down to the query that is to blame."""
        texts = [_as_text(frame, number) for number, frame in enumerate(frames)]
        try:
            answers = reduce(lambda one, other: one.union(other), texts).collect()
        except _errors() as error:
            if len(frames) == 1:
                return [Failure(why=_first(error), invalid=False)]
            half = len(frames) // 2
            return [*self._results(frames[:half]), *self._results(frames[half:])]
        rows: list[list[tuple[str, ...]]] = [[] for _ in frames]
        for number, text in answers:
            rows[number].append(tuple(map(json.dumps, json.loads(text).values())))
        return [
            Result(types={n.lower(): k for n, k in frame.dtypes}, rows=tuple(found))
            for frame, found in zip(frames, rows, strict=True)
        ]

    def _show(self, tables: Mapping[str, TableSpec], rows: Rows, permutation: int) -> None:
        for name, spec in tables.items():
            key = (name, tuple(spec.columns.items()), rows[name], permutation)
            if self._shown.get(name) == key:
                continue
            if key not in self._frames:
                self._frames[key] = self._table(spec, permuted(rows[name], permutation))
            self._frames[key].createOrReplaceTempView(name)
            self._shown[name] = key

    def _table(self, spec: TableSpec, rows: Sequence[tuple[object, ...]]) -> DataFrame:
        """A table of literals: to Spark a relation that it has at hand."""
        columns = ", ".join(f"CAST({c} AS {k}) AS {c}" for c, k in spec.columns.items())
        there = rows or [(None,) * len(spec.columns)]
        kinds = list(spec.columns.values())
        values = ", ".join(f"({', '.join(map(_literal, row, kinds))})" for row in there)
        where = "" if rows else " WHERE false"
        frame = self._spark.sql(f"SELECT {columns} FROM VALUES {values} AS _({', '.join(spec.columns)}){where}")
        return self._spark.createDataFrame(frame.toArrow(), frame.schema)


def _errors() -> tuple[type[Exception], ...]:
    """What Spark raises; its own defects come as errors of the bridge to Java."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def _as_text(frame: DataFrame, number: int) -> DataFrame:
    names = [f"c{i}" for i in range(len(frame.columns))]
    return frame.toDF(*names).selectExpr(f"{number} AS q", "to_json(struct(*), map('ignoreNullFields', 'false')) AS r")


def _literal(value: Any, kind: str) -> str:
    match value:
        case None:
            return f"CAST(NULL AS {kind})"
        case tuple() if kind.startswith("struct"):
            return f"named_struct('a', {_literal(value[0], 'int')}, 'b', {_literal(value[1], 'string')})"
        case tuple() | list():
            return f"CAST(array({', '.join(_literal(v, 'int') for v in value)}) AS {kind})"
        case str():
            text = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{text}'" if kind == "string" else f"CAST('{text}' AS {kind})"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case _:
            return str(value).lower()


def _first(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
