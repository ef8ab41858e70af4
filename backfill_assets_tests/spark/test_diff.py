"""Does the comparison in Spark find what pandas finds in the same rows?"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from backfill_assets.adapters.diff import diff_model, sample_model
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.compare.codec import diff_from_json, diff_id, diff_to_json
from backfill_assets.compare.diff import Diff, Distribution, ModelDiff, RowCounts, RowGroup, Stats
from backfill_assets.compare.questions import ask
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets_tests.fakes import a_model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, DAYS = date(2024, 1, 1), 6
TYPES = {
    "ds": "date",
    "id": "int",
    "channel": "string",
    "n": "bigint",
    "amount": "decimal(18,6)",
    "ratio": "double",
    "flag": "boolean",
    "email": "string",
    "words": "array<double>",
    "pairs": "map<string,double>",
    "nested": "struct<x:double,y:array<string>>",
}
VALUES = [c for c in TYPES if c not in ("ds", "id")]
TOLERANCE = 1e-9
Record = dict[str, Any]


def random_row(rng: random.Random, ds: date, number: int | None) -> Record:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    return {
        "ds": ds,
        "id": number,
        "channel": maybe(rng.choice(["email", "search", "social"])),
        "n": maybe(rng.choice([0, 1, 7, 2**62])),
        "amount": maybe(Decimal(rng.randrange(-(10**9), 10**9)) / 1000000),
        "ratio": maybe(rng.choice([0.0, -0.0, math.nan, math.inf, -math.inf, rng.random() * 1e6])),
        "flag": maybe(rng.random() < 0.5),
        "email": maybe(f"{rng.choice('abc')}@example.com"),
        "words": maybe([maybe(rng.choice([1.5, math.nan])) for _ in range(rng.randrange(3))]),
        "pairs": maybe({k: maybe(rng.choice([0.1, 0.2])) for k in rng.sample("xyz", rng.randrange(3))}),
        "nested": maybe({"x": maybe(rng.choice([0.5, math.nan])), "y": maybe(["a"])}),
    }


def changed_row(rng: random.Random, row: Record) -> Record:
    """Some values are new, some floats moved by less than the tolerance, and maps have another order."""
    other = random_row(rng, row["ds"], row["id"])
    found = {c: other[c] if rng.random() < 0.2 else row[c] for c in row}
    if found["ratio"] is not None and math.isfinite(found["ratio"]) and rng.random() < 0.5:
        found["ratio"] *= 1 + 1e-13
    if found["pairs"]:
        found["pairs"] = dict(reversed(list(found["pairs"].items())))
    return found


def two_sides(seed: int) -> tuple[list[Record], list[Record]]:
    """Random rows, and what became of them: removed, added, changed ones; NULL and doubled keys on either side."""
    rng = random.Random(seed)
    old: list[Record] = []
    new: list[Record] = []
    for day in range(DAYS):
        ds = FIRST + timedelta(days=day)
        for number in [*range(30), None]:
            row = random_row(rng, ds, number)
            fate = rng.random()
            if fate < 0.9:
                old.append(row)
            if fate > 0.1:
                new.append(changed_row(rng, row) if rng.random() < 0.5 else row)
            if rng.random() < 0.03:
                rng.choice([old, new]).append(random_row(rng, ds, number))
    return old, new


def write(spark: SparkSession, root: Path, version: str, rows: Sequence[Record], types: dict[str, str]) -> Pointer:
    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    frame = spark.createDataFrame([tuple(r[c] for c in types) for r in rows], schema)
    frame.write.format("delta").partitionBy("ds").mode("append").save(f"{root}/table/{version}")
    return pointer(root, version, types)


def pointer(root: Path, version: str, types: dict[str, str], days: int = DAYS) -> Pointer:
    end = FIRST + timedelta(days=days)
    return Pointer(
        model="table",
        time_column="ds",
        timestamps=False,
        columns=tuple(types.items()),
        segments=(
            Segment(
                version=version,
                commit=DeltaTableLog(str(root)).head("table", version),
                interval=Interval.of(FIRST, end),
            ),
        ),
    )


def compare(spark: SparkSession, root: Path, old: Pointer, new: Pointer, *, sample: int = 3, **more: Any) -> ModelDiff:
    more = {"grain": ("ds", "id"), "slices": ("channel",), "mask": ("email",), "tolerance": TOLERANCE} | more
    within = more.pop("within", None)
    question = ask(a_model("table", **more), old, new, DeltaTableLog(str(root)), within=within)
    return diff_model(question, lambda: spark, str(root), lambda: b"salt", sample=sample)


# --- the same, in pandas ----------------------------------------------------------------------------------------------


def differs(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is not other
    if isinstance(one, float):
        if math.isnan(one) or math.isnan(other):
            return not (math.isnan(one) and math.isnan(other))
        return not math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=0)
    if isinstance(one, dict):
        return one.keys() != other.keys() or any(differs(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) != len(other) or any(differs(a, b) for a, b in zip(one, other, strict=True))
    return one != other


def merged(old: Sequence[Record], new: Sequence[Record]) -> pd.DataFrame:
    """A row per pair: `kind`, the sides' rows as dictionaries, and `differ`: the columns that do."""
    sides = []
    for name, rows in (("old", old), ("new", new)):
        keys = pd.Series([(r["ds"], r["id"]) for r in rows])
        side = pd.DataFrame({"key": keys, name: list(rows)})
        side[f"{name}_n"] = keys.map(keys.value_counts())
        side["place"] = side.groupby("key").cumcount()
        sides.append(side)
    both = pd.merge(*sides, on=["key", "place"], how="outer")
    many = (both["old_n"].fillna(1) > 1) | (both["new_n"].fillna(1) > 1)
    many |= both["key"].isin(both[many]["key"])
    both["differ"] = [
        [c for c in VALUES if isinstance(o, dict) and isinstance(n, dict) and not m and differs(o[c], n[c])]
        for o, n, m in zip(both["old"], both["new"], many, strict=True)
    ]
    both["kind"] = np.select(
        [many, both["old"].isna(), both["new"].isna(), both["differ"].str.len() > 0],
        ["unpaired", "added", "removed", "changed"],
        "unchanged",
    )
    return both


def expected_rows(both: pd.DataFrame) -> RowCounts:
    kinds = both["kind"].value_counts()
    unpaired = both[both["kind"] == "unpaired"]
    return RowCounts(
        old=int(both["old"].notna().sum()),
        new=int(both["new"].notna().sum()),
        **{k: int(kinds.get(k, 0)) for k in ("unchanged", "changed", "added", "removed")},
        unpaired_old=int(unpaired["old"].notna().sum()),
        unpaired_new=int(unpaired["new"].notna().sum()),
    )


def numbers(rows: Sequence[Record], column: str) -> list[Any]:
    return [r[column] for r in rows if r[column] is not None]


def assert_stats(found: Stats, rows: Sequence[Record], column: str) -> None:
    values = numbers(rows, column)
    assert found.nulls == len(rows) - len(values)
    if TYPES[column] in ("bigint", "boolean", "decimal(18,6)") and values:
        assert found.sum == sum(values) and type(found.sum) in (int, Decimal)
        assert (found.min, found.max) == (min(values), max(values))
        assert found.distinct == len(set(values))
        ordered = sorted(values)
        assert found.p50 == ordered[math.ceil(len(ordered) * 0.5) - 1]
        assert found.p95 == ordered[math.ceil(len(ordered) * 0.95) - 1]
    elif column == "channel" and values:
        assert (found.min, found.max, found.distinct) == (min(values), max(values), len(set(values)))
    elif column == "email":
        assert found.min is None and found.max is None


def expected_counts(told: Distribution, values: Sequence[Any], column: str) -> list[int]:
    """By bin, or by the values that were told and all others."""
    if told.edges:
        bins = np.searchsorted(np.array(told.edges), [float(v) for v in values if v is not None], side="right")
        return np.bincount(bins, minlength=len(told.edges) + 1).tolist()
    named = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN", "True": "true", "False": "false"}
    spelled = [v if v is None else named.get(str(v), str(v)) for v in values]
    counts = Counter(spelled)
    known = [counts[name] for name in told.values]
    assert not known or column == "ratio" or sum(known) == len(values), "all of few values are told"
    return [*known, len(values) - sum(known)]


def assert_group(found: RowGroup, both: pd.DataFrame, old: Sequence[Record], new: Sequence[Record]) -> None:
    assert found.rows == expected_rows(both)
    for move in found.moves:
        if move.column in VALUES:
            assert move.changed == sum(move.column in d for d in both["differ"]), move.column
        assert move.old is not None and move.new is not None
        for stats, rows in ((move.old, old), (move.new, new)):
            assert_stats(stats, rows, move.column)


def test_random_tables_as_pandas_sees_them(spark: SparkSession, tmp_path: Path) -> None:
    """Rows by what became of them, changed values per column of every type, sums, percentiles and bounds: in all, by
    day and by slice; with NULL keys, keys that are there twice, NaN, infinities, maps in another order."""
    old, new = two_sides(seed=1)
    found = compare(spark, tmp_path, write(spark, tmp_path, "a", old, TYPES), write(spark, tmp_path, "b", new, TYPES))
    both = merged(old, new)

    assert_group(found.total, both, old, new)
    assert set(both["kind"]) == {"unchanged", "changed", "added", "removed", "unpaired"}, "none of it is vacuous"
    for side, keys in ((old, found.old_keys), (new, found.new_keys)):
        count = pd.Series([(r["ds"], r["id"]) for r in side]).value_counts()
        assert keys.null_rows == sum(r["id"] is None for r in side) > 0
        assert (keys.duplicate_keys, keys.duplicate_rows) == (int((count > 1).sum()), int(count[count > 1].sum()))

    assert [g.name for g in found.days] == [str(FIRST + timedelta(days=d)) for d in range(DAYS)]
    for group in found.days:
        here = both[[str(k[0]) == group.name for k in both["key"]]]
        assert_group(group, here, *([r for r in side if str(r["ds"]) == group.name] for side in (old, new)))

    [by_channel] = found.slices
    assert {g.name for g in by_channel.groups} == {None, "email", "search", "social"} and by_channel.complete
    for group in by_channel.groups:
        sides = [[r for r in side if r["channel"] == group.name] for side in (old, new)]
        assert (group.rows.old, group.rows.new) == (len(sides[0]), len(sides[1]))
        for move in group.moves:
            assert move.old is not None and move.new is not None
            assert_stats(move.old, sides[0], move.column)
            assert_stats(move.new, sides[1], move.column)

    spread = {d.column: d for d in found.distributions}
    assert set(spread) == {"channel", "n", "amount", "ratio", "flag"}, "no key, nothing masked, nothing nested"
    assert [c for c, d in spread.items() if d.edges] == ["amount"], "the rest is few, text, or not finite"
    for column, told in spread.items():
        for side, counts in ((old, told.old), (new, told.new)):
            assert list(counts) == expected_counts(told, [r[column] for r in side], column), column

    rows = {(r["ds"], r["id"]): r for r in new}
    for sample in found.samples:
        assert sample.kind in set(both["kind"])
        assert all(v is None or (v.startswith("#") and "example" not in v) for k, v in sample.new if k == "email")
        if sample.kind == "changed":
            key = dict(sample.key)
            row = rows[date.fromisoformat(key["ds"] or ""), int(key["id"]) if key["id"] else None]
            assert dict(sample.new)["channel"] == row["channel"]
            assert sample.old != sample.new
    assert {s.kind for s in found.samples} == {"changed", "added", "removed", "unpaired"}

    diff = Diff(old="a", new="b", models=(found,))
    stored = json.dumps(diff_to_json(diff), allow_nan=False)
    back = diff_from_json(json.loads(stored))
    assert json.dumps(diff_to_json(back)) == stored and diff_id(back) == diff_id(
        diff
    )  # a NaN is equal to nothing, so as text


def plain(rows: Sequence[tuple[Any, ...]], *columns: str) -> list[Record]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_few_rows_are_kept_and_many_are_read_each_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found is the same; nothing is kept for longer. Other examples of what is known need one query."""

    def told(found: ModelDiff) -> object:
        return diff_to_json(Diff(old="", new="", models=(found,)))  # in which NaN is NaN

    old, new = two_sides(seed=2)
    sides = write(spark, tmp_path, "a", old, TYPES), write(spark, tmp_path, "b", new, TYPES)
    cache: Any = spark._jsparkSession.sharedState().cacheManager()  # type: ignore[attr-defined]
    few = compare(spark, tmp_path, *sides)
    more = {"slices": ("channel",), "mask": ("email",)}
    question = ask(a_model("table", grain=("ds", "id"), **more), *sides, DeltaTableLog(str(tmp_path)))  # type: ignore[arg-type]
    question = replace(question, tolerance=TOLERANCE)
    other = sample_model(question, few, lambda: spark, str(tmp_path), lambda: b"salt", sample=5)
    assert len(other.samples) > len(few.samples) > 0 and told(replace(other, samples=few.samples)) == told(few)
    monkeypatch.setattr("backfill_assets.adapters.diff_rows.LITTLE", -1)
    assert told(compare(spark, tmp_path, *sides)) == told(few)
    assert told(compare(spark, tmp_path, *sides, sample=5)) == told(other)
    assert cache.isEmpty()
    monkeypatch.setattr("backfill_assets.adapters.diff_rows.LITTLE", 1 << 40)
    monkeypatch.setattr("backfill_assets.adapters.diff_rows.kept", pytest.fail)
    again = sample_model(question, few, lambda: spark, str(tmp_path), lambda: b"salt", sample=5)
    assert told(again) == told(other), "nothing is kept for one query"
    assert sample_model(question, few, pytest.fail, str(tmp_path), lambda: b"salt", sample=0).samples == ()


def test_a_row_that_moved_to_another_day(spark: SparkSession, tmp_path: Path) -> None:
    """Where the day is no part of the key: the row is one, changed, missing in its old day's sum and there in its new
    one's; another type of a number is no change, and columns of one side are listed."""
    days = [FIRST + timedelta(days=d) for d in range(3)]
    old = plain([(days[0], 1, 10, 1.0), (days[1], 2, 20, 2.0), (days[1], 3, 30, 3.0)], "ds", "id", "n", "gone")
    later = [(days[2], 1, Decimal(10), "x"), (days[1], 2, Decimal(20), "y"), (days[1], 3, Decimal(30), "z")]
    new = plain(later, "ds", "id", "n", "fresh")
    one = write(spark, tmp_path, "a", old, {"ds": "date", "id": "int", "n": "int", "gone": "double"})
    other = write(spark, tmp_path, "b", new, {"ds": "date", "id": "bigint", "n": "decimal(12,2)", "fresh": "string"})
    found = compare(spark, tmp_path, one, other, grain=("id",), slices=(), mask=())

    assert found.total.rows == RowCounts(old=3, new=3, unchanged=2, changed=1)
    assert [m.column for m in found.moved] == ["ds"] and found.moved[0].changed == 1
    assert {c.name: (c.old_type, c.new_type) for c in found.columns if c.old_type != c.new_type} == {
        "id": ("int", "bigint"),
        "n": ("int", "decimal(12,2)"),
        "gone": ("double", None),
        "fresh": (None, "string"),
    }
    [sample] = found.samples
    assert (sample.kind, dict(sample.key)) == ("changed", {"id": "1"})
    assert (dict(sample.old)["ds"], dict(sample.new)["ds"]) == ("2024-01-01", "2024-01-03")
    assert [(g.name, g.rows.old, g.rows.new) for g in found.days] == [
        ("2024-01-01", 1, 0),
        ("2024-01-02", 2, 2),
        ("2024-01-03", 0, 1),
    ]
    question = ask(a_model("table", grain=("id",)), one, other, DeltaTableLog(str(tmp_path)), slices=["fresh"])
    with pytest.raises(PlanError, match="cannot be compared by fresh"):
        diff_model(question, lambda: spark, str(tmp_path), lambda: b"salt", sample=0)


@pytest.mark.parametrize("turned", [False, True])
def test_whole_numbers_that_a_float_cannot_hold(spark: SparkSession, tmp_path: Path, turned: bool) -> None:
    """An id of 64 bits that becomes a float is another one, though both are the same float."""
    numbers = [5, 2**53, 2**53 + 1, -(2**53) - 1, None]
    old = plain([(FIRST, i, n) for i, n in enumerate(numbers)], "ds", "id", "n")
    new = plain([(FIRST, i, None if n is None else float(n)) for i, n in enumerate(numbers)], "ds", "id", "n")
    one = write(spark, tmp_path, "a", old, {"ds": "date", "id": "int", "n": "bigint"})
    other = write(spark, tmp_path, "b", new, {"ds": "date", "id": "int", "n": "double"})
    sides = (other, one) if turned else (one, other)
    found = compare(spark, tmp_path, *sides, slices=(), mask=())
    assert found.total.rows == RowCounts(old=5, new=5, unchanged=3, changed=2)


def test_of_many_rows_the_same_keys_are_sampled_on_both_sides(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key in so many, and of each key both rows: what is counted, and what the percentiles are of."""
    monkeypatch.setattr("backfill_assets.adapters.diff.PERCENTILE_ROWS", 120)
    old = plain([(FIRST, i, i) for i in range(1200)], "ds", "id", "n")
    new = [r | {"n": r["n"] + 10_000} for r in old]
    types = {"ds": "date", "id": "int", "n": "bigint"}
    sides = write(spark, tmp_path, "a", old, types), write(spark, tmp_path, "b", new, types)
    found = compare(spark, tmp_path, *sides, slices=(), mask=())
    [told] = found.distributions
    assert told.one_in == 10 and 60 < sum(told.old) < 240 and sum(told.new) == sum(told.old)
    [move] = found.moved
    assert move.changed == 1200, "all rows are compared"
    assert move.old is not None and move.new is not None
    assert isinstance(move.old.p50, int) and move.new.p50 == move.old.p50 + 10_000


def test_days_that_differ_where_no_sum_does(spark: SparkSession, tmp_path: Path) -> None:
    """Keys are unique, so only what differs is joined: values that rows or columns exchanged, NULLs included, are
    found; floats within the tolerance are none; rows that came and went; and days with nothing are unchanged."""
    columns = ["ds", "id", "a", "b", "x", "s"]
    days = [FIRST + timedelta(days=d) for d in range(DAYS)]
    values = [(day, i, i if i % 2 else None, None if i % 2 else i, i / 7, f"s{i}") for day in days for i in range(1, 9)]
    old = plain(values, *columns)
    new = [dict(r) for r in old]
    for row in new:
        if row["ds"] == days[1]:
            row["a"], row["b"] = row["b"], row["a"]
        if row["ds"] == days[2] and row["id"] in (1, 3):
            row["a"] = 4 - row["id"]  # the sum stays
        if row["ds"] == days[3]:
            row["x"] *= 1 + 1e-13
        if row["ds"] == days[4] and row["id"] == 8:
            row["id"] = 9
    types = {"ds": "date", "id": "int", "a": "bigint", "b": "bigint", "x": "double", "s": "string"}
    one, other = write(spark, tmp_path, "a", old, types), write(spark, tmp_path, "b", new, types)
    found = compare(spark, tmp_path, one, other, slices=("s",), mask=())

    both = pd.DataFrame(old).merge(pd.DataFrame(new), on=["ds", "id"], how="outer", indicator=True)
    paired = both["_merge"] == "both"
    differs = {c: paired & (both[f"{c}_x"].fillna(-1) != both[f"{c}_y"].fillna(-1)) for c in ("a", "b", "s")}
    changed = differs["a"] | differs["b"] | differs["s"]

    def expected(here: pd.Series[bool]) -> RowCounts:
        added, removed = (int((here & (both["_merge"] == s)).sum()) for s in ("right_only", "left_only"))
        moved, there = int((here & changed).sum()), int((here & paired).sum())
        return RowCounts(
            old=there + removed,
            new=there + added,
            unchanged=there - moved,
            changed=moved,
            added=added,
            removed=removed,
        )

    assert found.total.rows == expected(both["ds"].notna())
    assert {str(g.name): g.rows for g in found.days} == {str(day): expected(both["ds"] == day) for day in days}
    assert {m.column: m.changed for m in found.total.moves if m.changed} == {
        c: int(d.sum()) for c, d in differs.items() if d.any()
    }
    for group in found.slices[0].groups:
        assert group.rows == expected(both["s_x"].fillna(both["s_y"]) == group.name)

    again = write(spark, tmp_path, "c", old, types)
    nothing = compare(spark, tmp_path, one, again, slices=(), mask=())
    assert nothing.same and nothing.total.rows == RowCounts(old=48, new=48, unchanged=48)


def test_only_the_days_that_were_written_again_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Two commits of one table: the day in between is compared, the others are the same files."""
    types = {"ds": "date", "id": "int", "n": "int"}
    days = [FIRST + timedelta(days=d) for d in range(DAYS)]
    old = write(spark, tmp_path, "a", plain([(d, i, i) for d in days for i in range(4)], "ds", "id", "n"), types)
    frame = spark.createDataFrame([(days[2], i, i + (i == 3)) for i in range(4)], "ds date, id int, n int")
    where = f"ds >= '{days[2]}' AND ds < '{days[3]}'"
    frame.write.format("delta").mode("overwrite").option("replaceWhere", where).save(f"{tmp_path}/table/a")
    found = compare(spark, tmp_path, old, pointer(tmp_path, "a", types), slices=(), mask=())

    assert str(found.compared) == "2024-01-03" and found.total.rows == RowCounts(old=4, new=4, unchanged=3, changed=1)
    assert [(str(p.interval), p.commits, p.rows) for p in found.proofs] == [
        ("2024-01-01..2024-01-02", (0, 1), 8),
        ("2024-01-04..2024-01-06", (0, 1), 12),
    ]
