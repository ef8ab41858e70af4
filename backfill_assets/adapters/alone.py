"""Have some intervals of a batch the rows that they have when each is computed by itself? Sums over both tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.batch_rows import column, comparable, content_hash, latest
from backfill_assets.adapters.inputs import check_pins, model_frame
from backfill_assets.adapters.job_rows import JobRows
from backfill_assets.adapters.side_by_side import side_by_side
from backfill_assets.adapters.spark_errors import died
from backfill_assets.adapters.table_log import table_rows
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.build.engine import Job, OneAlone
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments
from backfill_assets.sql.batch_bound import may_depend_on_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_ROWS = "bf_rows"
_FLOATS = ("float", "double")
_NOT_HASHED = re.compile(r"(^|[:<,])(float|double|variant)(?=[>,]|$)")
"""Types whose values are no matter of equality, or that Spark cannot hash, wherever in a type; names of fields are
followed by a colon."""
_TOLERANCE, _NOISE = 1e-6, 1e-9
"""Of sums of floats, relative to the sum of their sizes, and a row: sums made in another order differ by far less."""
Sums = Mapping[str, Any]


def one_alone(rows: JobRows, job: Job, warehouse: str, commit: int, batch: Interval) -> OneAlone | None:
    """The first of some intervals of a batch's commit that differs when it is computed by itself, and where; or the
    last of these, which differs nowhere.

    None where that tells nothing: the query goes interval by interval, or rows are carried over from what is shown, or
    no interval has rows, or the only one has. What is different as well when the whole batch is computed again is not
    counted: that is an order which is not fixed, or what the code keeps from one call to the next, and not the batch.
    """
    model = job.model
    if job.scope or job.taken or model.updated_at is not None:
        return None
    if model.language == "sql" and not may_depend_on_batch(model.code, model.time_column, model.cadence):
        return None
    there: Counter[datetime] = Counter()
    for at, count in table_rows(rows.location(job), commit).items():
        if batch.holds(at):
            there[model.cadence.floor(at)] += count
    found, unsteady = None, dict[str, None]()
    for start in to_try(+there, batch, model.cadence, model.lookback):
        one = Interval(start, model.cadence.shift(start, 1))
        try:
            found = _tried(rows, job, warehouse, commit, batch, one)
        except Exception:
            if start in there or died(f"compute {one} by itself") is not None:
                raise
            break  # what cannot be computed of nothing never is: batches have rows
        unsteady |= dict.fromkeys(found.unsteady)
        if not found.same:
            break
    check_pins(job)
    return found and replace(found, unsteady=tuple(unsteady))


def to_try(there: Mapping[datetime, int], batch: Interval, cadence: Cadence, lookback: int = 0) -> list[datetime]:
    """Which intervals of a batch, by the rows that they have: of those between others, whichever way a model looks, the
    one with most of them; with neighbours, if any has; and two more of these, as not every night has somebody awake,
    unless each reads nearly as much as the batch (`lookback`). Of two intervals both. And the last one without rows: a
    batch's limit, or what counts once a batch, leaves the first ones as they are.

    >>> from backfill_assets.core.intervals import utc
    >>> days = [utc(f"2024-01-0{day}") for day in (1, 2, 3, 7, 9)]
    >>> [day.day for day in to_try(dict.fromkeys(days, 1), Interval.of("2024-01-01", "2024-01-10"), Cadence.DAILY)]
    [2, 3, 7, 8]
    >>> [day.day for day in to_try(dict.fromkeys(days[:2], 1), Interval.of("2024-01-01", "2024-01-03"), Cadence.DAILY)]
    [2, 1]
    >>> month = list(Cadence.DAILY.split(Interval.of("2024-01-01", "2024-02-01")))
    >>> rows = {day.start: day.start.day % 10 for day in month}
    >>> [day.day for day in to_try(rows, Interval.of("2024-01-01", "2024-02-01"), Cadence.DAILY)]
    [29, 11, 20]
    >>> [day.day for day in to_try(rows, Interval.of("2024-01-01", "2024-02-01"), Cadence.DAILY, lookback=60)]
    [29]
    """

    def fits(at: datetime) -> tuple[int, int, datetime]:
        return sum(cadence.shift(at, n) in there for n in (-1, 1)), there[at], at

    starts = sorted(there)
    if not starts:
        return []
    empty = [unit.start for unit in cadence.split(batch) if unit.start not in there][-1:]
    if len(starts) == 1:
        return empty
    if not (between := starts[1:-1]):
        return [*starts[::-1], *empty]
    best = max(between, key=fits)
    rest = [start for start in between if start != best] if lookback < len(starts) else []
    more = dict.fromkeys(rest[len(rest) * part // 3] for part in (1, 2)) if rest else ()
    return [best, *more, *empty]


def _tried(rows: JobRows, job: Job, warehouse: str, commit: int, batch: Interval, one: Interval) -> OneAlone:
    model, session = job.model, rows.session(job)
    written = model_frame(session, warehouse, model, Segments.of_table(job.version, commit, [one]))
    sums = partial(_sums, model=model, schema=written.schema)
    kept, alone = side_by_side(session, [partial(sums, of) for of in (written, _computed(rows, job, one, one))])
    differ = _differing(kept, alone)
    unsteady = _differing(kept, sums(_computed(rows, job, batch, one))) if differ else set[str]()
    differ -= unsteady
    columns, others = (tuple(name for name in kept if name in some - {_ROWS}) for some in (differ, unsteady))
    there = kept[_ROWS], alone[_ROWS] if differ else kept[_ROWS]
    return OneAlone(interval=one, columns=columns, rows=there, unsteady=others)


def _computed(rows: JobRows, job: Job, batch: Interval, one: Interval) -> DataFrame:
    """The rows of one interval, computed with a batch."""
    frame = rows.checked(job, batch)
    frame = latest(frame, job.model) if job.model.dedupe else frame
    return frame.where(in_interval(job.model, one))


def _sums(frame: DataFrame, model: Model, schema: StructType) -> Sums:
    """Of rows, as a table of this schema has them: how many they are, and of each column a sum that changes with its
    values and with the keys that have them. Of floats within others, and of VARIANT, nothing is told."""
    from pyspark.sql import functions as F

    kinds = {f.name: f.dataType.simpleString() for f in schema.fields}
    frame = frame.select(*(column(f.name).cast(f.dataType).alias(f.name) for f in schema.fields))
    whole = [c for c, kind in kinds.items() if not _NOT_HASHED.search(kind)]
    key = [comparable(frame, c) for c in whole if c.lower() in {g.lower() for g in (*model.grain, model.time_column)}]
    weight = F.pmod(content_hash(key), F.lit(1009)) / F.lit(1009.0)
    told = [F.count("*").alias(_ROWS)]
    for name, kind in kinds.items():
        there = column(name)
        if name in whole:
            hashed = content_hash([*key, comparable(frame, name)])
            told.append(F.sum(hashed.cast("decimal(38,0)")).alias(name))
        elif kind in _FLOATS:
            finite = F.when(F.isnan(there) | (F.abs(there) == float("inf")), None).otherwise(there.cast("double"))
            parts = [F.count(there), F.count(finite), F.sum(finite * weight), F.sum(F.abs(finite))]
            told.append(F.struct(*(part.alias(f"p{n}") for n, part in enumerate(parts))).alias(name))
    [found] = frame.agg(*told).collect()
    return found.asDict()


def _differing(one: Sums, other: Sums) -> set[str]:
    return {name for name in one if not _same(one[name], other[name])}


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return one == other
    (*counts, weighed, size), (*others, weighed_there, size_there) = one, other
    near = _TOLERANCE * max(size or 0.0, size_there or 0.0) + _NOISE * counts[0]
    return (
        counts == others
        and abs((weighed or 0.0) - (weighed_there or 0.0)) <= near
        and abs((size or 0.0) - (size_there or 0.0)) <= near
    )
