"""Which rows does a batch write? One a key, by the declared order; several of one key, or strangers, are refused."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.core.errors import DataError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import EXACT, Model
from backfill_assets.sql.text import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAMPLES = 5
_RANK, _COPY, _DIFFER, _COUNT, _OUTSIDE = (f"bf_{n}" for n in ("rank", "copy", "differ", "count", "outside"))


def needs_keys(model: Model) -> bool:
    """Whether the model's rows must be one a key before they are written; of other models an audit looks afterwards."""
    return model.write == "merge" or bool(model.dedupe) or model.updated_at is not None


@contextmanager
def settled(frame: DataFrame, model: Model, interval: Interval) -> Generator[tuple[DataFrame, int]]:
    """The batch's rows, computed once and kept while the block runs, and how many they are.

    Raises DataError, before anything is written, when rows are outside the interval or a key has several.
    """
    rows = latest(frame, model) if model.dedupe else frame
    with kept(rows) as rows:
        yield rows.drop(_DIFFER), _check(rows, model, interval)


@contextmanager
def kept(frame: DataFrame) -> Generator[DataFrame]:
    """The frame's rows, computed once and kept while the block runs."""
    if is_remote(session := frame.sparkSession):  # whose frames are made anew from their texts each time
        yield session.computed(frame)
        return
    frame = frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()


def latest(frame: DataFrame, model: Model) -> DataFrame:
    """Of the rows of one grain and interval the first in the model's order; a column says whether others tie with it.

    Equal copies of a row are one row. Rows that differ and that the order does not tell apart are no choice of ours:
    without an order, these are all that differ.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    key = [column(c) for c in _unique([*model.grain, model.time_column])]
    order = [
        column(o.column).desc_nulls_last() if o.descending else column(o.column).asc_nulls_last()
        for o in model.dedupe
        if o != EXACT
    ]
    of_key = Window.partitionBy(*key)
    marker = (model.updated_at or "").lower()
    content = content_hash(comparable(frame, c) for c in frame.columns if c.lower() != marker)
    return (
        frame.withColumn(_RANK, F.rank().over(of_key.orderBy(*order, F.lit(0))))
        .where(F.col(_RANK) == 1)
        .withColumn(_DIFFER, content)
        .withColumn(_DIFFER, F.min(_DIFFER).over(of_key) != F.max(_DIFFER).over(of_key))
        .withColumn(_COPY, F.row_number().over(of_key.orderBy(*order, F.lit(0))))
        .where(F.col(_COPY) == 1)
        .drop(_RANK, _COPY)
    )


def column(name: str, of: str = "") -> Column:
    """A column by its name, whatever letters it has; `of` is a frame's alias."""
    from pyspark.sql import functions as F

    return F.col(f"{of}.{quoted(name)}" if of else quoted(name))


def content_hash(values: Iterable[Column]) -> Column:
    """One number for a row's values. xxhash64 passes over NULLs: (NULL, 1) has the hash of (1, NULL) unless told."""
    from pyspark.sql import functions as F

    return F.xxhash64(*(part for value in values for part in (value, value.isNull())))


def comparable(frame: DataFrame, name: str, of: str = "") -> Column:
    """A column in a form that can be hashed and compared: maps can be neither."""
    from pyspark.sql import functions as F

    there = column(name, of)
    kinds = {field.name.lower(): field.dataType.simpleString() for field in frame.schema}
    return F.to_json(F.struct(there)) if "map<" in kinds[name.lower()] else there


def _check(rows: DataFrame, model: Model, interval: Interval) -> int:
    from pyspark.sql import functions as F

    outside = ~F.coalesce(F.expr(in_interval(model, interval)), F.lit(False))
    differ = column(_DIFFER) if model.dedupe else F.lit(False)
    keys = rows.groupBy(*(column(c) for c in model.grain)).agg(
        F.count("*").alias(_COUNT), F.count_if(outside).alias(_OUTSIDE), F.max(differ).alias(_DIFFER)
    )
    [found] = keys.agg(F.sum(_COUNT), F.sum(_OUTSIDE), F.count_if(column(_COUNT) > 1), F.count_if(_DIFFER)).collect()
    count, strangers, double, tied = (value or 0 for value in found)
    if strangers:
        raise DataError(
            f"cannot build {model.name} {interval}",
            why=f"it computes rows outside the interval (or with an empty time column): {strangers} of {count}, "
            f"e.g. {'; '.join(sample_keys(rows.where(outside), [*model.grain, model.time_column], model.mask))}",
            fix="filter the query to the interval: the time column must be >= :start and < :end",
        )
    if tied:
        exact = model.dedupe == (EXACT,)
        order = "exact" if exact else ", ".join(map(str, model.dedupe))
        raise DataError(
            f"cannot build {model.name} {interval}",
            why=f"{tied} keys have rows that differ and that `dedupe` ({order}) does not tell apart, "
            f"e.g. {'; '.join(sample_keys(keys.where(_DIFFER), model.grain, model.mask))}",
            fix="say which one counts: `dedupe: {order_by: [loaded_at desc]}`"
            if exact
            else "add a column to `order_by` that tells which row is the latest",
        )
    if double:
        several = keys.where(column(_COUNT) > 1)
        raise DataError(
            f"cannot build {model.name} {interval}",
            why=f"{double} keys ({', '.join(model.grain)}) have several rows, "
            f"e.g. {'; '.join(sample_keys(several, model.grain, model.mask, _COUNT))}",
            fix="make the query give one row a key, or say which one counts: `dedupe: {order_by: [loaded_at desc]}`"
            if not model.dedupe
            else "one key is in several intervals: correct the grain, or give each key one interval",
        )
    return count


def sample_keys(frame: DataFrame, columns: Sequence[str], mask: Sequence[str], times: str = "") -> list[str]:
    """A few keys as text, in order, without values of the `mask`; `times` is a column: how often each is there."""
    names, masked = _unique(columns), {c.lower() for c in mask}
    chosen = [column(c).cast("string").alias(f"bf_{n}") for n, c in enumerate(names)]
    more = [column(times)] if times else []
    found: list[Any] = (
        frame.select(*chosen, *more).sort(*(f"bf_{n}" for n in range(len(names)))).limit(SAMPLES).collect()
    )
    return [
        ", ".join(f"{c}={_shown(row[n], c.lower() in masked)}" for n, c in enumerate(names))
        + (f" ({row[len(names)]} times)" if times else "")
        for row in found
    ]


def _shown(value: object, masked: bool) -> object:
    return HIDDEN if masked else "NULL" if value is None else value


def _unique(names: Sequence[str]) -> list[str]:
    return list({name.lower(): name for name in reversed(names)}.values())[::-1]
