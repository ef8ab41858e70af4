"""A column is renamed: what is shown is copied under the new name, the query runs for new days only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import backfill_assets
from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Interval
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.projects import (
    an_environment,
    build_all,
    commits_per_interval,
    days,
    expected_daily,
    finish,
    path_of,
    script,
    small_project,
    start,
    write_events,
)
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.spark.test_merge import a_place, orders
from backfill_assets_tests.stories.test_approval import ANA, PEOPLE, edit, in_the_way
from backfill_assets_tests.stories.test_kill_during_build import DIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def frame(root: Path, model: str = "daily") -> pd.DataFrame:
    """A model as its readers see it."""
    found = backfill_assets.read(model, project=root).to_pandas()
    return found.sort_values(list(found.columns[:2])).reset_index(drop=True)


def rename(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


def built(place: Context, model: str = "daily") -> list[Entry]:
    version = place.project.fingerprints[model]
    return [e for e in place.control.ledger.entries([model], kinds=[Kind.BUILT]) if e.version == version]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Interval]]]:
    """What Spark computes by a model's query."""
    found: list[tuple[str, Interval]] = []
    write = SparkEngine.write

    def noted(self: SparkEngine, job: Any, batch: str, interval: Interval) -> Any:
        found.append((job.model.name, interval))
        return write(self, job, batch, interval)

    monkeypatch.setattr(SparkEngine, "write", noted)
    yield found


@pytest.fixture(scope="module")
def environment() -> str:
    """One for all tests of this file: each has a copy of what is published there."""
    return an_environment()


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, environment: str) -> Path:
    """Four days in two batches, shown."""
    root = tmp_path_factory.mktemp("published") / "shop"
    small_project(root, days=4, batch_size=3, batch_concurrency=1, environment=environment)
    edit(root, people=PEOPLE)
    assert backfill("apply", "--promote", project=root, user="dev").code == 0
    return root


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Path:
    """A copy; the amounts of the second day were written again since."""
    root = shutil.copytree(published, tmp_path / "shop")
    other = write_events(tmp_path / "other", first="2024-01-02", days=1, per_day=4)
    (root / "data" / "events" / "2024-01-02.csv").write_text((other / "2024-01-02.csv").read_text())
    return root


def test_a_renamed_column_is_copied(shop: Path, environment: str, computed: list[tuple[str, Interval]]) -> None:
    """The plan says so; the rows are those that were shown, whatever the sources hold by now; owners approve; late data
    is noticed as before; new days are computed; a rollback shows the old name."""
    daily, running = (shop / "models" / f"{name}.sql" for name in ("daily", "running"))
    before, old = frame(shop), Context.open(shop)
    rename(daily, "AS total", "AS takings")
    rename(daily, "column: total", "column: takings")
    refused = backfill("plan", project=shop)
    assert refused.code == 1 and "total" in refused.err, "who reads it is named"
    rename(running, "sum(total)", "sum(takings)")

    plan = backfill("plan", "--json", project=shop).json
    assert plan["strategies"]["daily"]["strategy"] == "column-rename" and plan["changes"]["daily"]["renamed"]
    assert plan["copies"]["daily"]["columns"] == [["ds", "ds"], ["kind", "kind"], ["n", "n"], ["total", "takings"]]
    assert plan["changes"]["running"]["category"] == "unchanged"
    version = old.project.fingerprints["daily"]
    sentence = f"4 days are copied from version {version} under the new names (total is called takings now)"
    said = " ".join(backfill("plan", project=shop).out.split())
    assert f"{sentence}; nothing is computed" in said and "column-rename: signatures prove" in said
    assert sentence in backfill("plan", "--markdown", project=shop).out

    applied = backfill("apply", project=shop, user="dev")
    assert applied.code == 0 and sentence in " ".join(applied.out.split()), applied
    assert "daily" not in dict(computed), "running is tried: its text is another"
    computed.clear()
    place = Context.open(shop)
    assert [(e.interval, e.inputs) for e in built(place)] == [(e.interval, e.inputs) for e in built(old)]
    assert all(e.origin and e.origin.version == version for e in built(place))

    assert f"needs approval by {ANA}" in in_the_way(backfill("promote", "--json", project=shop, user="dev"))
    (stored,) = [r.id for r in place.control.plans.all() if r.live]
    approved = backfill("approve", stored, project=shop, user="ana")
    assert approved.code == 0, approved
    promoted = backfill("promote", stored, project=shop, user="dev")
    assert promoted.code == 0, promoted
    pd.testing.assert_frame_equal(frame(shop), before.rename(columns={"total": "takings"}))
    assert not backfill("sql", f"SELECT sum(takings) FROM {environment}.daily", project=shop).code
    note = backfill("evidence", stored, project=shop)
    assert note.code == 0 and "copied" in note.out + note.err + _packet(place, stored)

    watched = backfill("watch", "--json", project=shop)
    late = [n for n in watched.json["notices"] if n["kind"] == "late_source_data"]
    assert [n["model"] for n in late] == ["daily"] and "2024-01-02" in str(late), watched

    write_events(shop, first="2024-01-05", days=1)
    edit(shop, clock="2024-01-06")
    done = backfill("routine", project=shop, user="dev")
    assert done.code == 0, done
    assert computed == [("daily", days("2024-01-05")), ("running", days("2024-01-05"))]
    newest = frame(shop)[lambda f: f["ds"].astype(str) == "2024-01-05"]
    wanted = [row for row in expected_daily(shop) if row[0] == "2024-01-05"]
    assert [(str(r.ds), r.kind, r.n, round(r.takings * 100)) for r in newest.itertuples()] == wanted

    back = backfill("rollback", "--now", project=shop, user="dev")
    back = backfill("rollback", project=shop, user="dev") if back.code else back
    assert back.code == 0, back
    assert list(frame(shop).columns) in (["ds", "kind", "n", "total"], ["ds", "kind", "n", "takings"])


def _packet(place: Context, plan: str) -> str:
    return "".join(f.read_text() for f in (Path(place.warehouse) / "evidence" / plan).glob("*.json"))


@pytest.mark.extended
def test_swapped_names_are_copied_and_an_author_may_ask_for_computing(
    shop: Path, computed: list[tuple[str, Interval]]
) -> None:
    """Each column goes where its meaning is, also of a column that takes another's name."""
    daily = shop / "models" / "daily.sql"
    write_events(shop, days=4)
    rename(daily, "sum(amount) AS total", "sum(amount) AS total, max(amount) AS most, min(id) AS first_id")
    assert backfill("apply", "--strategy", "daily=full-rebuild", project=shop, user="dev").code == 0
    promote_all(shop)
    before = frame(shop)
    computed.clear()
    rename(daily, "sum(amount) AS total, max(amount) AS most", "max(amount) AS total, sum(amount) AS most")
    rename(shop / "models" / "running.sql", "sum(total)", "sum(most)")
    rename(daily, "min(id) AS first_id", "min(id) AS FIRST")
    applied = backfill("apply", project=shop, user="dev")
    assert applied.code == 0 and "daily" not in dict(computed), applied
    assert "most is called total now, total is called most now" in " ".join(applied.out.split())
    promote_all(shop)
    swapped = before.rename(columns={"total": "most", "most": "total", "first_id": "FIRST"})
    pd.testing.assert_frame_equal(frame(shop)[list(swapped.columns)].astype(str), swapped.astype(str))

    rename(daily, "AS FIRST", "AS last_name")
    asked = backfill("apply", "--strategy", "daily=full-rebuild", project=shop, user="dev")
    assert asked.code == 0 and "copied" not in asked.out and ("daily", days("2024-01-01", "2024-01-03")) in computed


def promote_all(root: Path) -> None:
    (stored,) = [r.id for r in Context.open(root).control.plans.all() if r.live]
    for who in ("ana", "bo"):
        backfill("approve", stored, project=root, user=who)
    done = backfill("promote", stored, project=root, user="dev")
    assert done.code == 0, done


def test_a_copy_that_is_killed_goes_on(shop: Path, computed: list[tuple[str, Interval]]) -> None:
    """Between a data commit and its record: what was recorded is kept, what was not is copied again."""
    before = frame(shop)
    daily = shop / "models" / "daily.sql"
    rename(daily, "AS total", "AS takings")
    rename(daily, "column: total", "column: takings")
    rename(shop / "models" / "running.sql", "sum(total)", "sum(takings)")
    died = finish(start(*script(DIES, shop, Kind.BUILT.value, "2"), cwd=shop))
    assert died.code == 9, died
    place = Context.open(shop)
    assert len(built(place)) == 1
    applied = backfill("apply", project=shop, user="dev")
    assert applied.code == 0 and "daily" not in dict(computed), applied
    counts = commits_per_interval(place, "daily")
    assert counts[days("2024-01-01")] == 1 and counts[days("2024-01-04")] == 2, counts
    promote_all(shop)
    pd.testing.assert_frame_equal(frame(shop), before.rename(columns={"total": "takings"}))


def test_a_merged_model_keeps_its_markers(
    spark: SparkSession, tmp_path: Path, computed: list[tuple[str, Interval]]
) -> None:
    """When a row's values last moved is copied as well, under whatever name."""
    rows = orders((1, 1, "a", 1.5, 1), (2, 1, "b", 2.5, 1), (3, 3, "c", 3.5, 1))
    build_all(place := a_place(tmp_path, rows))
    promote_plan(place)
    before = frame(tmp_path, "orders")
    computed.clear()
    model = tmp_path / "models" / "orders.sql"
    rename(model, "updated_at: updated_at", "updated_at: moved")
    rename(model, "id, note, amount", "id, note AS remark, amount")
    applied = backfill("apply", project=tmp_path, user="dev")
    assert applied.code == 0 and not computed, applied
    table = open_table(path_of(Context.open(tmp_path), "orders"))
    assert table is not None
    wanted = before.rename(columns={"note": "remark", "updated_at": "moved"}).sort_values("id")
    found = table.to_pyarrow_table().to_pandas().sort_values("id")
    assert found[list(wanted.columns)].astype(str).values.tolist() == wanted.astype(str).values.tolist()
