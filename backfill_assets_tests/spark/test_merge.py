"""What does a merged model's batch touch? Rows that differ, by key; held against pandas over random data."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval
from backfill_assets.state.changes import Changes
from backfill_assets.state.tables import DataCommit
from backfill_assets_tests.projects import build_all, days, engine, job, path_of, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """\
sources:
  - name: raw.orders
    format: csv
    path: data/orders
    options: {header: true}
    columns: {id: bigint, ds: date, note: string, amount: "decimal(10,2)", loaded: bigint}
"""
ORDERS = """\
/*
start: 2024-01-01
grain: [id]
write: merge
updated_at: updated_at
batch_size: 2
batch_concurrency: 2
*/
SELECT ds, id, note, amount, map('a', amount) AS parts
FROM raw.orders WHERE ds >= :start AND ds < :end
"""
VALUES = ["ds", "id", "note", "amount"]


def write_orders(root: Path, rows: pd.DataFrame) -> None:
    """A CSV file a day; a day without rows has a file without rows."""
    folder = root / "data" / "orders"
    folder.mkdir(parents=True, exist_ok=True)
    for ds in ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"):
        mine = rows[rows["ds"] == ds].reindex(columns=["id", "ds", "note", "amount", "loaded"])
        mine = mine.astype({"loaded": "Int64"})
        mine.to_csv(folder / f"{ds}.csv", index=False)


def a_place(root: Path, rows: pd.DataFrame, model: str = ORDERS) -> Context:
    write_orders(root, rows)
    return Context.open(write_project(root, {"orders.sql": model}, sources=SOURCE, clock="2024-01-05"))


def orders(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """(id, day of January, note, amount, loaded)."""
    frame = pd.DataFrame(rows, columns=["id", "day", "note", "amount", "loaded"])
    return frame.assign(ds=[f"2024-01-0{d}" for d in frame.pop("day")])


def table_of(place: Context) -> pd.DataFrame:
    table = open_table(path_of(place, "orders"))
    assert table is not None
    return pd.DataFrame(table.to_pyarrow_table().to_pylist()).sort_values("id", ignore_index=True)


def plain(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Values that can be compared: (day, id, note or None, cents or None), in order of id."""
    found = [
        (
            f"{r['ds']}"[:10],
            r["id"],
            r["note"] if isinstance(r["note"], str) and r["note"] else None,
            cents(r["amount"]),
        )
        for r in frame.to_dict("records")
    ]
    return sorted(found, key=lambda r: r[1])


def cents(amount: Any) -> int | None:
    return None if pd.isna(amount) else round(float(amount) * 100)


def expected_changes(before: pd.DataFrame, after: pd.DataFrame) -> tuple[int, int, int, set[int]]:
    """Inserted, updated, deleted, and the ids of rows that are as they were: by pandas' outer merge."""
    old, new = ({row[1]: row for row in plain(f)} for f in (before, after))
    both = pd.merge(pd.Series(list(old), name="id"), pd.Series(list(new), name="id"), how="outer", indicator=True)
    kinds = both["_merge"].value_counts()
    common = set(both[both["_merge"] == "both"]["id"])
    same = {i for i in common if old[i] == new[i]}
    return int(kinds["right_only"]), len(common - same), int(kinds["left_only"]), same


def random_orders(random: Random, before: pd.DataFrame | None) -> pd.DataFrame:
    """Some orders over two days: some of those before, some with other values or another day, some new ones."""
    rows: list[tuple[Any, ...]] = []
    for i in range(1, 60):
        if random.random() < 0.3:
            continue
        old = None if before is None else before[before["id"] == i]
        if old is not None and len(old) and random.random() < 0.7:
            [kept] = old.to_dict("records")
            rows.append((i, int(kept["ds"][-1]), kept["note"], kept["amount"], 0))
        else:
            note = random.choice([None, "a", "b"])
            rows.append((i, random.choice([1, 2]), note, random.choice([None, 1, 2.5]), 0))
    return orders(*rows).astype({"note": object, "amount": object})


def write(work: SparkEngine, todo: Job, batch: str, interval: Interval) -> DataCommit:
    work.prepare(todo, interval)
    return work.write(todo, batch, interval)


def test_random_data_is_merged_as_pandas_would(spark: SparkSession, tmp_path: Path) -> None:
    """From any rows to any others: exactly the rows that differ are counted and get a new marker; a second merge of the
    same changes none and rewrites no byte; the neighbouring day's files stay."""
    random = Random(20240101)
    both = days("2024-01-01", "2024-01-02")
    before = random_orders(random, None)
    neighbour = orders((1000, 3, "x", 1, 0))
    place = a_place(tmp_path, pd.concat([before, neighbour]))
    work = engine(place)
    first = write(work, job(place, "orders"), "first", both)
    assert first.changes == Changes(inserted=len(before)) and first.rows == len(before) and first.bytes > 0
    write(work, job(place, "orders"), "beside", days("2024-01-03"))
    [kept] = [f for f in files(place) if "ds=2024-01-03" in f]
    for number in range(2):
        after = random_orders(random, before)
        stamps = dict(zip(*(table_of(place)[c] for c in ("id", "updated_at")), strict=True))
        write_orders(tmp_path, pd.concat([after, neighbour]))

        merged = write(work, job(place, "orders"), f"b{number}", both)

        inserted, updated, deleted, same = expected_changes(before, after)
        assert min(inserted, updated, deleted, len(same)) > 0, "the data must try everything"
        assert merged.changes is not None
        counted = (merged.changes.inserted, merged.changes.updated, merged.changes.deleted)
        assert counted == (inserted, updated, deleted)
        assert (
            merged.rows
            == len(after)
            == place.log.rows("orders", todo_version(place), merged.table_commit)[days("2024-01-01").start]
            + place.log.rows("orders", todo_version(place), merged.table_commit)[days("2024-01-02").start]
        )
        found = table_of(place)
        assert plain(found) == plain(pd.concat([after, neighbour]))
        moved = {i for i, at in zip(found["id"], found["updated_at"], strict=True) if stamps.get(i) != at}
        assert moved == set(after["id"]) - same
        assert kept in files(place)

        there = files(place)
        again = write(work, job(place, "orders"), f"b{number} again", both)
        assert again.changes == Changes() and again.bytes == 0 and again.rows == len(after)
        assert again.table_commit == merged.table_commit + 1, "a batch without changes has a commit of its own"
        assert files(place) == there and table_of(place).equals(found)
        before = after


def test_a_merge_leaves_no_plan_behind(spark: SparkSession, tmp_path: Path) -> None:
    """The session of a merged model has no view of the batch afterwards, which would hold all that was broadcast."""
    place = a_place(tmp_path, orders((1, 1, "a", 1, 0)))
    merged_in: list[SparkSession] = []
    original = type(spark).sql

    def sql(self: SparkSession, query: str, *args: Any, **kwargs: Any) -> Any:
        if query.startswith("MERGE"):
            assert "bf_changes" in [t.name for t in self.catalog.listTables()]
            merged_in.append(self)
        return original(self, query, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(spark), "sql", sql)
        write(engine(place), job(place, "orders"), "b", days("2024-01-01"))
    [session] = merged_in
    assert "bf_changes" not in [t.name for t in session.catalog.listTables()]


def todo_version(place: Context) -> str:
    return place.project.fingerprints["orders"]


def files(place: Context) -> set[str]:
    table = open_table(path_of(place, "orders"))
    assert table is not None
    return set(table.file_uris())


def test_merges_of_other_days_commit_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    """Two batches that coincide neither conflict nor swap their records, also when one of them changes nothing."""
    rows = orders(*((d * 10 + n, d, "a", n, 0) for d in (1, 2, 3, 4) for n in range(5)))
    place = a_place(tmp_path, rows)
    todo, work = job(place, "orders"), engine(place)
    work.prepare(todo, days("2024-01-01"))
    parts = [days("2024-01-01", "2024-01-02"), days("2024-01-03", "2024-01-04")]
    together = threading.Barrier(2)

    def both(part: int) -> list[DataCommit]:
        found: list[DataCommit] = []
        for number in range(2):
            together.wait(60)
            found.append(work.write(todo, f"{part}/{number}", parts[part]))
        return found

    with ThreadPoolExecutor(2) as pool:
        commits = [c for found in pool.map(both, range(2)) for c in found]

    assert sorted(c.table_commit for c in commits) == [1, 2, 3, 4]
    assert {(c.batch, c.interval, c.rows, c.changes) for c in commits} == {
        (f"{p}/{n}", parts[p], 10, Changes(inserted=0 if n else 10)) for p in range(2) for n in range(2)
    }
    assert plain(table_of(place)) == plain(rows)


@pytest.mark.parametrize("write_mode", ["merge", "replace"])
def test_what_is_no_single_row_a_key_is_refused(spark: SparkSession, tmp_path: Path, write_mode: str) -> None:
    """Two rows of a key, and rows of other days, write nothing; the error names keys. With an order the latest row
    stays, equal copies are one row, and a tie of different rows is refused."""
    twice = orders(
        (1, 1, "old", 1, 7), (1, 1, "new", 2, 9), (1, 1, "new", 2, 9), (1, 1, "none", 2, None), (2, 1, "x", 1, 1)
    )
    plainly = ORDERS.replace("updated_at: updated_at\n", "").replace(" AS parts", " AS parts, loaded")
    model = plainly.replace("write: merge", f"write: {write_mode}")
    ordered = model.replace("batch_size", "dedupe: {order_by: [loaded desc]}\nbatch_size")
    one = days("2024-01-01")
    if write_mode == "merge":
        place = a_place(tmp_path / "no order", twice, model)
        with pytest.raises(BuildError) as refused:
            write(engine(place), job(place, "orders"), "b", one)
        assert "1 keys (id) have several rows, e.g. id=1 (4 times)" in refused.value.why
        assert "dedupe" in refused.value.fix and not refused.value.retryable
        assert files(place) == set()

    place = a_place(tmp_path / "order", twice, ordered)
    commit = write(engine(place), job(place, "orders"), "b", one)
    assert plain(table_of(place)) == [("2024-01-01", 1, "new", 200), ("2024-01-01", 2, "x", 100)]
    assert commit.rows == 2

    write_orders(tmp_path / "order", pd.concat([twice, orders((2, 1, "y", 1, 1))]))
    before = files(place)
    with pytest.raises(BuildError, match=r"does not tell apart, e\.g\. id=2"):
        write(engine(place), job(place, "orders"), "b2", one)
    assert files(place) == before

    leaky = ordered.replace("ds >= :start AND ds < :end", "ds < :end OR ds >= :start")
    place = a_place(tmp_path / "leaky", orders((1, 1, "a", 1, 1), (5, 2, "a", 1, 1)), leaky)
    with pytest.raises(BuildError, match="outside the interval"):
        write(engine(place), job(place, "orders"), "b", one)
    assert files(place) == set()


def test_somebody_elses_rows_do_not_survive(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that others put into an interval, the same key twice among them, are gone after the next batch."""
    rows = orders((1, 1, "a", 1, 0), (2, 1, "b", 2, 0))
    place = a_place(tmp_path, rows)
    write(engine(place), job(place, "orders"), "b", days("2024-01-01"))
    table = open_table(path_of(place, "orders"))
    assert table is not None
    theirs = table.to_pyarrow_table()
    for note in ("a", "theirs", "theirs"):
        notes = pa.array([note] * theirs.num_rows)
        theirs = theirs.set_column(theirs.column_names.index("note"), "note", notes)
        write_deltalake(table, theirs, mode="append")

    commit = write(engine(place), job(place, "orders"), "b2", days("2024-01-01"))

    assert commit.rows == 2 and plain(table_of(place)) == plain(rows)


def test_equal_rows_are_one_and_others_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """`dedupe: exact`: copies of a row, NULLs and maps among its values, are one; a key with two rows is refused."""
    rows = orders((1, 1, "a", 1, 0), (1, 1, "a", 1, 0), (2, 1, "", None, 0), (2, 1, "", None, 0), (3, 1, "c", 1, 0))
    model = ORDERS.replace("write: merge\nupdated_at: updated_at\n", "dedupe: exact\n")
    place = a_place(tmp_path, rows, model)
    write(engine(place), job(place, "orders"), "b", days("2024-01-01"))
    assert plain(table_of(place)) == plain(rows.drop_duplicates())
    write_orders(tmp_path, pd.concat([rows, orders((3, 1, "c", 2, 0))]))
    with pytest.raises(BuildError) as refused:
        write(engine(place), job(place, "orders"), "b2", days("2024-01-01"))
    assert "1 keys have rows that differ and that `dedupe` (exact) does not tell apart, e.g. id=3" in refused.value.why
    assert refused.value.fix == "say which one counts: `dedupe: {order_by: [loaded_at desc]}`"
    assert plain(table_of(place)) == plain(rows.drop_duplicates())


def test_the_marker_of_a_replaced_model_moves_with_its_values(spark: SparkSession, tmp_path: Path) -> None:
    """An interval that is written again keeps the time of rows that are the same, and has a new one of others."""
    before = orders((1, 1, "a", 1, 0), (2, 1, "b", 2, 0), (3, 1, "", None, 0), (9, 2, "z", 9, 0))
    place = a_place(tmp_path, before, ORDERS.replace("write: merge\n", ""))
    both = days("2024-01-01", "2024-01-02")
    write(engine(place), job(place, "orders"), "b", both)
    first = table_of(place).set_index("id")["updated_at"]
    after = orders((1, 1, "a", 1, 0), (2, 1, "b", 5, 0), (3, 1, "", None, 0), (4, 1, "new", 1, 0), (9, 2, "z", 9, 0))
    write_orders(tmp_path, after)
    write(engine(place), job(place, "orders"), "b2", both)
    found = table_of(place).set_index("id")["updated_at"]
    assert plain(table_of(place)) == plain(after)
    assert {i for i in found.index if i in first.index and found[i] == first[i]} == {1, 3, 9}
    assert found[2] > first[2] and found[4] > first[1]


def test_a_key_that_moved_is_red_in_both_days(spark: SparkSession, tmp_path: Path) -> None:
    """A key that a later interval computes while an earlier one still holds it does not become two rows in prod."""
    place = a_place(tmp_path, orders(*((d, d, "a", 1, 0) for d in (1, 2, 3, 4)), (1, 3, "moved", 1, 0)))
    outcome = build_all(place)["orders"]
    assert str(outcome.red) == "2024-01-01, 2024-01-03" and str(outcome.green) == "2024-01-02, 2024-01-04"
    failed = [r for r in outcome.results if not r.passed]
    assert {r.check for r in failed} == {"stable_key"}
    assert failed[0].sample == ("id=1, also in 2024-01-03 00:00",)

    write_orders(tmp_path, orders(*((d, d, "a", 1, 0) for d in (2, 4)), (1, 3, "moved", 1, 0)))
    mended = build_all(Context.open(tmp_path))["orders"]
    # 1 left its first day; 3 is gone from the day in which 1 stays, in the same file
    assert mended.ok and mended.changes == Changes(deleted=2, copied=1)
