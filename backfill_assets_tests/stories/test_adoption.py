"""A table that a team has becomes a model's first version; the model takes over when both were compared (F9)."""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import backfill_assets
from backfill_assets.adapters.spark_views import show_environment
from backfill_assets.app.adopt import Adopted, Adoption, adopt
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.app.watch import watch_environment
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff import sum_number
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.segments import is_adopted
from backfill_assets.plan.stages import Build, Request
from backfill_assets.state.proofs import DIFF
from backfill_assets_tests.projects import (
    backfill_here,
    build_all,
    compare,
    days,
    expected_daily,
    say_yes,
    small_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HISTORY = days("2024-01-01", "2024-01-06")


def legacy(root: Path) -> list[tuple[str, str, int, int]]:
    """What the old job computed of the first six days: what `daily` would, but for a cent on one day."""
    rows = [row for row in expected_daily(root) if row[0] <= "2024-01-06"]
    return [(ds, kind, n, cents + (ds == "2024-01-03")) for ds, kind, n, cents in rows]


def write_legacy(spark: SparkSession, folder: Path, rows: list[tuple[str, str, int, int]], **options: Any) -> Path:
    frame = spark.createDataFrame(rows, "ds string, kind string, n bigint, cents bigint").selectExpr(
        "kind", "CAST(ds AS DATE) AS ds", "n", "CAST(cents / 100.0 AS DECIMAL(20,2)) AS total", "'x' AS loaded_by"
    )
    writer = frame.coalesce(1).write.format(options.pop("format", "delta")).mode(options.pop("mode", "error"))
    for key, by in options.items():
        writer = getattr(writer, key)(by)
    writer.save(str(folder))
    return folder


def shown(root: Path, environment: str, model: str = "daily") -> list[tuple[Any, ...]]:
    rows = backfill_assets.read(model, project=root, environment=environment).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def test_a_legacy_table_is_shown_grown_compared_and_taken_over(
    spark: SparkSession, tmp_path: Path, environment: str
) -> None:
    """An unpartitioned Delta table is shown in place; the model goes on after it; its own history is compared, approved
    and shown; a rollback shows the old rows again; and nobody ever touches the old table."""
    root = small_project(tmp_path / "project", days=10, batch_size=10, environment=environment)
    daily = root / "models" / "daily.sql"
    terms = "contract: {validation_owner: vera@example.com}\nslices: [kind]\ngrain: [ds, kind]"
    daily.write_text(daily.read_text().replace("grain: [ds, kind]", terms))
    old = legacy(root)
    table = write_legacy(spark, tmp_path / "legacy of ten years", old)
    place = Context.open(root)

    done = adopt(place, Adoption(model="daily", table=str(table)))
    assert done.shown and done.origin is not None and done.origin.commit == 0 and not done.red
    assert done.contained.intervals == Ranges((HISTORY,)) and not done.contained.gaps
    assert shown(root, environment) == old, "read without Spark"
    show_environment(spark, place.control.environments.read(environment), place.warehouse)
    [row] = spark.sql(f"SELECT count(*) AS rows, sum(n) AS n FROM {environment}.daily").collect()
    assert (row["rows"], row["n"]) == (len(old), sum(n for _, _, n, _ in old)), "read by Spark"
    [segment] = place.control.environments.read(environment).pointers["daily"].segments
    assert is_adopted(segment.version)
    assert {f.name for f in Path(place.warehouse, "daily", segment.version).rglob("*.parquet")} == set()

    # a plan leaves it alone: what comes after it, and what reads it
    plan = plan_request(place)
    assert {s.model: s.intervals for s in plan.stages if isinstance(s, Build)} == {
        "daily": Ranges((days("2024-01-07", "2024-01-10"),)),
        "running": Ranges((days("2024-01-01", "2024-01-10"),)),
    }

    # somebody goes on writing there: nobody sees that, and the watch says it
    before = everything(table)
    assert not [n for n in watch_environment(place).notices if n.finding and "adopted" in n.what]
    write_legacy(spark, table, [("2024-01-02", "a", 99, 1)], mode="append")
    assert shown(root, environment) == old
    [notice] = [n for n in watch_environment(place).notices if n.finding and "adopted" in n.what]
    assert notice.model == "daily" and "commit 1" in notice.what
    after = everything(table)
    assert before.items() <= after.items()

    # routine growth, by the model's query
    assert extend(place).promoted.verdict.open
    new = [row for row in expected_daily(root) if row[0] > "2024-01-06"]
    assert shown(root, environment) == sorted([*old, *new])

    # the model's own history, beside it; one day differs by a cent a row
    again = Request(restate=(("daily", HISTORY),))
    outcomes = build_all(place, again)
    assert all(o.ok for o in outcomes.values()), outcomes
    said = " ".join(o.what for o in promote_plan(place, again).verdict.obstacles)
    assert "needs approval by ana@example.com" in said and "vera@example.com (validation owner)" in said
    stored = compare(place, again)
    [proof] = [p for p in place.control.proofs.of(stored) if p.kind == DIFF]
    [kinds] = next(m for m in diff_from_json(proof.document).models if m.model == "daily").slices
    for group in kinds.groups:  # as the model declares
        move = group.move("total")
        assert move and move.old and move.new
        sides = (old, [row for row in expected_daily(root) if row[0] <= "2024-01-06"])
        cents = [sum(row[3] for row in side if row[1] == group.name) for side in sides]
        assert [int(sum_number(s.sum) * 100) for s in (move.old, move.new)] == cents and cents[0] != cents[1]
    say_yes(place, stored, why="the old job rounded up")
    moved = promote_plan(place, again)
    assert moved.verdict.open and moved.verdict.changed == {"daily": Ranges((HISTORY,))}
    assert shown(root, environment) == expected_daily(root)

    # back to the old rows, and none of this touched the table
    back = backfill_here("rollback", "--now", project=root)
    assert back.code == 0, back
    assert shown(root, environment)[: len(old)] == old
    assert everything(table) == after


def test_other_tables_are_copied_once(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Parquet files with narrower types and other spellings, by `--copy`: a table of our own with the same rows. A
    Delta table of the catalog by its name, in place."""
    root = small_project(tmp_path / "project", days=10, batch_size=10, environment=environment)
    old = legacy(root)
    frame = spark.createDataFrame(old, "ds string, kind string, n int, cents bigint").selectExpr(
        "CAST(ds AS DATE) AS DS", "kind", "n", "CAST(cents / 100.0 AS DECIMAL(12,2)) AS total"
    )
    folder = tmp_path / "parquet"
    frame.write.parquet(str(folder))
    before = everything(folder)
    refused = backfill_here("adopt", "daily", "--table", folder, project=root)
    assert refused.code == 1 and "--copy" in refused.err, refused
    said = backfill_here("adopt", "daily", "--table", folder, "--copy", "--json", project=root)
    assert said.code == 0 and said.json["copied"] and sum(said.json["rows"].values()) == len(old), said
    assert shown(root, environment) == old and everything(folder) == before
    shutil.rmtree(folder)
    assert shown(root, environment) == old, "the copy needs it no more"

    other = small_project(tmp_path / "other", days=10, batch_size=10, environment=f"{environment}_x")
    write_legacy(spark, tmp_path / "delta", old)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {environment}")
    spark.sql(f"CREATE TABLE {environment}.legacy USING delta LOCATION '{tmp_path / 'delta'}'")
    done: Adopted = adopt(Context.open(other), Adoption(model="daily", table=f"{environment}.legacy"))
    assert done.origin is not None and done.origin.location == str(tmp_path / "delta")
    assert shown(other, f"{environment}_x") == old
    with pytest.raises(BackfillError, match="there is no table"):
        adopt(Context.open(small_project(tmp_path / "third")), Adoption(model="daily", table="no.such_table"))


def test_a_file_of_another_type_is_not_copied_as_something_else(tmp_path: Path, environment: str) -> None:
    """Read back, a copy of wrong rows is equal to what was read."""
    root = small_project(tmp_path / "project", days=2, batch_size=10, environment=environment)
    folder = tmp_path / "parquet"
    folder.mkdir()
    total = pa.array([Decimal("1.00")], pa.decimal128(12, 2))
    for day, n in ((1, pa.array([5], pa.int32())), (2, pa.array([Decimal("12.50")], pa.decimal128(9, 2)))):
        rows = pa.table({"ds": [date(2024, 1, day)], "kind": ["a"], "n": n, "total": total})
        pq.write_table(rows, folder / f"{day}.parquet", store_decimal_as_integer=True)
    said = backfill_here("adopt", "daily", "--table", folder, "--copy", project=root)
    assert said.code == 1 and f"{folder} cannot be read" in said.err, said
    assert f"n is decimal(9,2) in 2.parquet of {folder}, and int is read of all its files" in said.err
    assert not Context.open(root).control.environments.read(environment).pointers


def test_drafts_are_copied_into_place(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Each table of a folder gets a draft that says what is guessed; moved to its place it is a model that can adopt
    its table. What is there is never written over."""
    root = small_project(tmp_path / "project", days=10, environment=environment)
    old = legacy(root)
    write_legacy(spark, tmp_path / "tables" / "orders", old)
    spark.range(3).write.parquet(str(tmp_path / "tables" / "lookup"))
    (tmp_path / "tables" / "notes.txt").write_text("no table")
    said = backfill_here("adopt", "--all", tmp_path / "tables", "--json", project=root)
    assert said.code == 0, said
    assert said.json["written"] == ["drafts/models/lookup.sql", "drafts/models/orders.sql", "drafts/sources.yml"]
    orders = next(g for g in said.json["guesses"] if g["name"] == "orders")
    assert (orders["time_column"], orders["first"], orders["grain"]) == ("ds", "2024-01-01", ["kind"])
    text = (root / "drafts" / "models" / "orders.sql").read_text()
    assert text.count("guessed") >= 4
    again = backfill_here("adopt", "--all", tmp_path / "tables", "--json", project=root)
    assert again.json["written"] == [] and len(again.json["left"]) == 3

    (root / "models" / "orders.sql").write_text(text.replace("owner: TODO", "owner: ana@example.com"))
    entries = (root / "drafts" / "sources.yml").read_text().split("sources:\n")[1].split("  - name: ")
    mine = next(e for e in entries if e.startswith("legacy.orders"))
    (root / "sources.yml").write_text((root / "sources.yml").read_text() + "  - name: " + mine)
    done = backfill_here("adopt", "orders", "--table", tmp_path / "tables" / "orders", "--json", project=root)
    assert done.code == 0 and sum(done.json["rows"].values()) == len(old), done
    assert backfill_here("adopt", "orders", project=root).code == 2
