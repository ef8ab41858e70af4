"""Published days computed again, beside them: those and what reads them, and nothing that prod gained is lost (B2)."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.adapters.spark_views import show_environment
from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.context import Context
from backfill_assets.app.diff import find_drift
from backfill_assets.app.janitor import find_garbage
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.stages import Build, Request
from backfill_assets.promote.compaction import find_many_corrections
from backfill_assets_tests.projects import (
    approve,
    backfill,
    backfill_here,
    build_all,
    commits_per_interval,
    compare,
    days,
    expected_daily,
    say_yes,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RESTATE = Request(restate=(("daily", days("2024-01-03", "2024-01-04")),))


def shown(root: Path, environment: str, model: str) -> list[tuple[Any, ...]]:
    table = backfill_assets.read(model, project=root, environment=environment)
    return sorted(tuple(str(v) for v in row.values()) for row in table.to_pylist())


def shown_daily(root: Path, environment: str) -> list[tuple[Any, ...]]:
    """What an environment shows of `daily`, in the form of `expected_daily`."""
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def test_two_days_again(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Late rows of two days: those are rebuilt with the day after them downstream, prod moves in one step, the other
    days are the same files at the same commit, and the next daily run keeps the correction."""
    root = small_project(tmp_path, days=8, batch_size=8, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    before = place.control.environments.read(environment)
    old_daily, old_running = shown_daily(root, environment), shown(root, environment, "running")
    write_events(root, first="2024-01-03", days=2, per_day=9)

    assert not plan_request(place).work, "a source that changed rebuilds nothing by itself"
    plan = plan_request(place, RESTATE)
    assert {s.model: s.intervals for s in plan.stages if isinstance(s, Build)} == {
        "daily": Ranges((days("2024-01-03", "2024-01-04"),)),
        "running": Ranges((days("2024-01-03", "2024-01-05"),)),
    }
    assert plan_request(place, RESTATE).id == plan.id
    outcomes = build_all(place, RESTATE)
    assert all(o.ok for o in outcomes.values()), outcomes
    assert shown_daily(root, environment) == old_daily, "prod shows what it showed"
    assert not any(isinstance(s, Build) for s in plan_request(place, RESTATE).stages), "nothing is left to do"

    approve(place, RESTATE)
    done = promote_plan(place, RESTATE)
    moved, verdict = done.environment, done.verdict
    assert verdict.open
    assert shown_daily(root, environment) == expected_daily(root) != old_daily
    for model, again in (("daily", days("2024-01-03", "2024-01-04")), ("running", days("2024-01-03", "2024-01-05"))):
        [old] = before.pointers[model].segments
        untouched = [s for s in moved.pointers[model].segments if (s.version, s.commit) == (old.version, old.commit)]
        assert Ranges.of(s.interval for s in untouched) == Ranges((old.interval,)) - Ranges((again,))
        assert max(commits_per_interval(place, model).values()) == 1, "its own table was not written to"
    assert_running_follows(root, environment, other_than=old_running)

    # the next day comes, by the usual way; the corrected days stay corrected, also for what looks back at them
    write_events(root, days=9, first="2024-01-01")
    write_events(root, first="2024-01-03", days=2, per_day=9)
    settings = (root / "backfill.yml").read_text().replace("2024-01-09", "2024-01-10")
    (root / "backfill.yml").write_text(settings)
    later = Context.open(root)
    assert all(o.ok for o in build_all(later).values())
    promote_plan(later)
    assert shown_daily(root, environment) == expected_daily(root)
    assert_running_follows(root, environment, other_than=old_running)
    assert not plan_request(later).stages


def test_corrections_are_joined(
    spark: SparkSession, tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Day after day is corrected, each in a table of its own: the janitor joins them, and readers see no difference."""
    root = small_project(tmp_path, days=6, batch_size=6, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    for number, day in enumerate(("2024-01-02", "2024-01-05"), start=8):
        write_events(root, first=day, days=1, per_day=number)
        again = Request(restate=(("daily", days(day)),))
        place = Context.open(root)
        assert all(o.ok for o in build_all(place, again).values())
        approve(place, again)
        promote_plan(place, again)
    before = {model: shown(root, environment, model) for model in ("daily", "running")}
    assert shown_daily(root, environment) == expected_daily(root)
    assert not find_garbage(place).crowds, "two tables are not too many"

    monkeypatch.setattr("backfill_assets.app.janitor.find_many_corrections", partial(find_many_corrections, most=1))
    said = backfill_here("janitor", project=root)
    assert said.code == 0 and "2 tables of corrections, 2024-01-02, 2024-01-05" in said.out
    assert {model: shown(root, environment, model) for model in before} == before
    done = backfill_here("janitor", "--apply", project=root)
    assert done.code == 0 and "daily: its tables of corrections are one now" in done.out, done
    place = Context.open(root)
    now = place.control.environments.read(environment)
    assert {m: len({s.version for s in p.segments}) for m, p in now.pointers.items()} == {"daily": 2, "running": 2}
    assert {model: shown(root, environment, model) for model in before} == before
    show_environment(spark, now, place.warehouse)
    rows = spark.table(f"{environment}.daily").collect()
    assert sorted((f"{r.ds}", r.kind, r.n, int(r.total * 100)) for r in rows) == expected_daily(root)
    assert not plan_request(place).work and not find_garbage(place).crowds
    assert "corrections joined" in backfill_here("releases", project=root).out


def assert_running_follows(root: Path, environment: str, *, other_than: list[tuple[Any, ...]]) -> None:
    """`running` is each day's total beside that of the day before: computed here from what `daily` shows."""
    totals: dict[str, int] = {}
    for ds, _, _, cents in shown_daily(root, environment):
        totals[ds] = totals.get(ds, 0) + cents
    rows = backfill_assets.read("running", project=root, environment=environment).to_pylist()
    found = {f"{r['ds']}": (int(r["total"] * 100), r["day_before"] and int(r["day_before"] * 100)) for r in rows}
    expected = {ds: (total, totals.get(f"{ds[:8]}{int(ds[8:]) - 1:02}")) for ds, total in totals.items()}
    assert found == expected
    assert shown(root, environment, "running") != other_than


def test_what_is_not_shown_is_not_restated(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Days that were never published, models that are not shown, and another version than the published one."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    place = Context.open(root)
    with pytest.raises(PlanError, match="shows nothing of it"):
        plan_request(place, RESTATE)
    build_all(place)
    promote_plan(place)
    with pytest.raises(PlanError, match="shows nothing of daily in 2024-02-01"):
        plan_request(place, Request(restate=(("daily", days("2024-02-01")),)))
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(amount + 1)"))
    said = backfill("plan", "--restate", "daily:2024-01-03", project=root)
    assert said.code == 1 and "cannot be restated" in said.err and "fix:" in said.err
    said = backfill("plan", "--restate", "daily=2024-01-03", project=root)
    assert said.code == 2 and "--restate daily:2024-03-01..2024-03-04" in said.err


def test_only_what_reads_a_changed_column_is_rebuilt(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A column more, then another formula for one that nobody reads, then a revert: `running` keeps its table
    throughout, and going back builds nothing."""
    root = small_project(tmp_path, days=4, batch_size=4, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    model = root / "models" / "daily.sql"
    first = model.read_text()
    running = place.control.environments.read(environment).pointers["running"]

    model.write_text(first.replace("sum(amount) AS total", "sum(amount) AS total, max(amount) AS largest"))
    added = Context.open(root)
    plan = plan_request(added)
    assert [s.model for s in plan.work] == ["daily"]
    assert str(plan.changes["daily"]) == "additive, non-breaking: adds largest"
    assert plan.because["running"] == ("reads none of what changed in daily (largest)",)
    # a source that changed meanwhile: what `running` reads is no longer what it was built from
    write_events(root, first="2024-01-02", days=1, per_day=9)
    build_all(added)
    [drift] = find_drift(added, plan, added.facts())
    assert (drift.kept.columns, str(drift.intervals)) == (("ds", "total"), "2024-01-02")
    assert str(drift).endswith("backfill apply --restate running:2024-01-02..2024-01-03")
    # what was built beside the kept columns has other values in them: prod waits until somebody accepts that
    opened = compare(added)
    closed = promote_plan(added).verdict
    assert [o.what for o in closed.obstacles if "n changed in 2 rows" in o.what], closed.obstacles
    say_yes(added, opened, why="late rows of 2024-01-02")
    done = promote_plan(added)
    moved, verdict = done.environment, done.verdict
    assert verdict.open, verdict.obstacles
    assert moved.pointers["running"] == running
    again = Request(restate=tuple(("running", part) for part in drift.again["running"]))
    assert all(o.ok for o in build_all(added, again).values())
    approve(added, again)
    promote_plan(added, again)
    assert_running_follows(root, environment, other_than=[])
    assert "largest" in backfill_assets.read("daily", project=root, environment=environment).column_names

    model.write_text(first.replace("count(*) AS n", "count(DISTINCT id) AS n").replace("AS total", "AS total"))
    changed = Context.open(root)
    assert not find_drift(changed, plan_request(changed), changed.facts()), "nothing is built of it yet"
    assert str(plan_request(changed).changes["daily"]) == "breaking: n may differ; removes largest"
    assert [s.model for s in plan_request(changed).work] == ["daily"]

    model.write_text(first)
    back = Context.open(root)
    assert not plan_request(back).work, "the view lists a column less, over the table that it shows"
    approve(back)
    done = promote_plan(back)
    reverted, verdict = done.environment, done.verdict
    assert verdict.open, verdict.obstacles
    assert reverted.pointers["daily"].segments == moved.pointers["daily"].segments
    expected = expected_daily(root)
    shutil.rmtree(root / "data")
    assert shown_daily(root, environment) == expected, "nothing reads the source to show prod, late rows included"
    assert "largest" not in backfill_assets.read("daily", project=root, environment=environment).column_names


def test_new_logic_from_a_day_on(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Forward only: the old rows stay as they are, with NULL in the new column; days that follow keep it so, each with
    the new logic; and what is of two logics never passes for a rebuild."""
    root = small_project(tmp_path, days=5, batch_size=5, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    [old] = place.control.environments.read(environment).pointers["daily"].segments
    model = root / "models" / "daily.sql"
    changed = model.read_text().replace("sum(amount) AS total", "sum(amount) * 2 AS total, max(amount) AS largest")
    model.write_text(changed)

    forward = Request(forward_only=days("2024-01-04").start)
    new = Context.open(root)
    plan = plan_request(new, forward)
    assert {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)} == {
        "daily": "2024-01-04..2024-01-05",
        "running": "2024-01-04..2024-01-05",
    }
    opened = open_plan(new, plan)
    assert opened and all(o.ok for o in build_all(new, forward).values())
    candidate = show_candidate(new, opened.plan.id)
    assert candidate
    assert_doubled_from(root, candidate.name, "2024-01-04")
    approve(new, forward)
    done = promote_plan(new, forward)
    moved, verdict = done.environment, done.verdict
    assert verdict.open, verdict.obstacles
    first, second = moved.pointers["daily"].segments
    assert (first.version, first.commit, str(first.interval)) == (old.version, old.commit, "2024-01-01..2024-01-03")
    assert (second.version, str(second.interval)) == (new.project.fingerprints["daily"], "2024-01-04..2024-01-05")
    assert_doubled_from(root, environment, "2024-01-04")
    # running looks back over the seam: 2024-01-04 compares its doubled total with the old one of the day before
    rows = {str(r["ds"]): r for r in backfill_assets.read("running", project=root, environment=environment).to_pylist()}
    assert rows["2024-01-04"]["day_before"] == rows["2024-01-03"]["total"]

    # in Spark, too, the view has the new column, NULL where older logic made the rows
    shown = show_environment(new.spark, moved, new.warehouse)
    query = f"SELECT ds < '2024-01-04' AS old, count(largest) AS n FROM {environment}.daily GROUP BY 1"
    assert {row.old: row.n for row in shown.sql(query).collect()} == {True: 0, False: 4}

    # a plain plan says what a rebuild of history would be, and the next day can be published without it
    [rebuild, *_] = plan_request(new).work
    assert isinstance(rebuild, Build) and str(rebuild.intervals) == "2024-01-01..2024-01-03"
    assert "older logic in 2024-01-01..2024-01-03" in rebuild.reason
    write_events(root, days=6)
    settings = (root / "backfill.yml").read_text().replace("2024-01-06", "2024-01-07")
    (root / "backfill.yml").write_text(settings)
    later = Context.open(root)
    growth = Request(start=days("2024-01-06").start)
    assert all(o.ok for o in build_all(later, growth).values())
    done = promote_plan(later, growth)
    moved, verdict = done.environment, done.verdict
    assert verdict.open, verdict.obstacles
    assert [str(s.interval) for s in moved.pointers["daily"].segments] == [
        "2024-01-01..2024-01-03",
        "2024-01-04..2024-01-06",
    ]
    assert_doubled_from(root, environment, "2024-01-04")


def assert_doubled_from(root: Path, environment: str, since: str) -> None:
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    found = sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)
    assert found == [(ds, k, n, c * (2 if ds >= since else 1)) for ds, k, n, c in expected_daily(root)]
    assert all((r["largest"] is None) == (f"{r['ds']}" < since) for r in rows)
