"""What does Dagster get to know of a run? Events of good, failed and empty runs, in process, on an instance that lasts.

The engine is a fake, so no JVM is started; `test_dagster_spark.py` has the real one.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.app.candidate import open_plan
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.io_manager import BuildRequest
from backfill_assets.defs.plan_tags import PLAN_TAG
from backfill_assets.defs.runs import BACKFILL_TAG
from backfill_assets.plan.stages import Request
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.dagster_place import (
    KEYS,
    Place,
    a_place,
    build_elsewhere,
    evaluations_of,
    execute,
    failure_of,
    in_process,
    materializations_of,
    materialize,
    partitions_of,
    red,
    tick,
    told,
    with_changes,
)
from backfill_assets_tests.fakes import Cell, FakePins, a_model, days


@pytest.fixture
def place() -> Place:
    return a_place(a_model("base", "raw"), a_model("top", "base", lookback=1))


def test_good_run_reports_each_partition_with_its_rows(place: Place, instance: dg.DagsterInstance) -> None:
    """Five days: five materializations with row counts and the code version, five evaluations and one summary."""
    result = materialize(place, instance, "base")
    assert result.success
    assert partitions_of(result, "base") == KEYS[:5]
    first = materializations_of(result, "base")[0]
    assert first.metadata["dagster/partition_row_count"].value == 10
    assert first.tags and first.tags["dagster/code_version"] == "base-1"
    assert "built 2024-01-01..2024-01-05 (5 intervals)" in str(first.metadata["outcome"].value)
    per_day = [e for e in evaluations_of(result) if e.partition]
    assert [(e.partition, e.passed, e.blocking) for e in per_day] == [(k, True, True) for k in KEYS[:5]]
    assert all(e.target_materialization_data for e in per_day)
    assert [e.description for e in evaluations_of(result) if not e.partition] == ["passed in all 5 intervals"]
    assert {e.run for e in place.control.ledger.entries()} == {result.run_id}


def test_complete_range_is_a_no_op_that_says_so(place: Place, instance: dg.DagsterInstance) -> None:
    """Running it again builds nothing and opens no Spark session; Dagster still shows the range as materialized."""
    materialize(place, instance, "base")
    opened, entries = place.opened, place.control.ledger.entries()
    result = materialize(place, instance, "base")
    assert result.success and partitions_of(result, "base") == KEYS[:5]
    assert place.opened == opened and place.control.ledger.entries() == entries
    said = str(materializations_of(result, "base")[0].metadata["outcome"].value)
    assert said.startswith("nothing to do, 2024-01-01..2024-01-05 (5 intervals) was complete")
    assert "restate: ['base:DAY..DAY']" in said
    assert [(e.partition, e.passed) for e in evaluations_of(result)] == [(None, True)]


def test_only_what_is_missing_is_built(place: Place, instance: dg.DagsterInstance) -> None:
    """A wider range builds only what the first did not."""
    materialize(place, instance, "base", last=KEYS[2])
    place.world.engine.writes.clear()
    result = materialize(place, instance, "base", last=KEYS[4])
    assert result.success
    assert Ranges.of(i for _, i in place.world.engine.writes) == Ranges((days("04", "05"),))
    assert "; 3 were complete already" in str(materializations_of(result, "base")[0].metadata["outcome"].value)


def test_red_day_fails_the_run_after_the_good_days_are_reported(place: Place, instance: dg.DagsterInstance) -> None:
    """One day fails its blocking audit: four are materialized, the run fails and says which, nothing below it ran."""
    place.world.engine.cell = red
    result = materialize(place, instance, "base", "top")
    assert not result.success
    assert partitions_of(result, "base") == [k for k in KEYS[:5] if k != "2024-01-03"]
    said = failure_of(result, "base")
    assert "base: 1 of 5 intervals are not complete: 2024-01-03" in said
    assert "audit rows_ok failed in 2024-01-03" in said and "for example: rows_ok@2024-01-03" in said
    assert "kept: 2024-01-01..2024-01-02, 2024-01-04..2024-01-05 is complete and audited" in said
    assert "fix: correct the source data" in said
    bad = [e for e in evaluations_of(result) if not e.passed]
    assert [(e.partition, e.severity) for e in bad] == [
        ("2024-01-03", dg.AssetCheckSeverity.ERROR),
        (None, dg.AssetCheckSeverity.ERROR),
    ]
    assert not partitions_of(result, "top") and not [n for n, _ in place.world.engine.writes if n == "top"]


def test_warning_reports_and_stops_nothing(instance: dg.DagsterInstance) -> None:
    """An audit of severity warn that fails is shown on its day, and the run succeeds."""
    audit = with_changes(a_model("x").audits[0], blocking=False)
    place = a_place(a_model("base", "raw", audits=(audit,)))
    place.world.engine.cell = red
    result = materialize(place, instance, "base")
    assert result.success and partitions_of(result, "base") == KEYS[:5]
    bad = [e for e in evaluations_of(result) if not e.passed]
    assert [(e.partition, e.severity) for e in bad] == [
        ("2024-01-03", dg.AssetCheckSeverity.WARN),
        (None, dg.AssetCheckSeverity.WARN),
    ]


def test_failed_batch_keeps_the_others(place: Place, instance: dg.DagsterInstance) -> None:
    """An error in one batch: its days are not reported, the other batch's are, and the message has the error."""

    def fail(job: Job, interval: Interval) -> None:
        if interval.start.day == 4:
            raise BuildError("cannot build base", why="division by zero", fix="guard the division")

    place.world.engine.before_write = fail
    result = materialize(place, instance, "base")
    assert not result.success
    assert partitions_of(result, "base") == KEYS[:3]
    said = failure_of(result, "base")
    assert "2024-01-04..2024-01-05 failed: cannot build base" in said and "division by zero" in said
    place.world.engine.before_write = lambda job, interval: None
    assert materialize(place, instance, "base").success


def test_downstream_waits_for_what_is_not_there(place: Place, instance: dg.DagsterInstance) -> None:
    """A model whose upstream lacks days builds what it can, fails, and says what it waits for."""
    materialize(place, instance, "base", last=KEYS[2])
    result = materialize(place, instance, "top", last=KEYS[4])
    assert not result.success
    assert partitions_of(result, "top") == KEYS[:3]
    said = failure_of(result, "top")
    assert "2024-01-04..2024-01-05 waits for base: 2024-01-04..2024-01-05" in said
    assert "fix: materialize base for 2024-01-04..2024-01-05 first" in said


def test_long_run_evaluates_only_what_failed(instance: dg.DagsterInstance) -> None:
    """An event costs 10 ms: a run of more than 31 days logs the summary, and the days that are worth a look."""
    place = a_place(a_model("base", "raw", start=days("2023-11-01").start))
    place.world.engine.cell = lambda job, interval: Cell(
        failures={"rows_ok": 1} if str(interval) == "2023-12-24" else {}
    )
    result = materialize(place, instance, "base", first="2023-11-01", last="2024-01-10")
    assert not result.success
    assert len(partitions_of(result, "base")) == 70
    assert [e.partition for e in evaluations_of(result)] == ["2023-12-24", None]


def test_reversed_range_is_refused(place: Place, instance: dg.DagsterInstance) -> None:
    """Dagster would run it with no partitions at all."""
    result = materialize(place, instance, "base", first=KEYS[4], last=KEYS[0])
    assert not result.success and "reversed" in failure_of(result, "base")
    assert place.control.ledger.entries() == []


def test_throw_away_instance_is_refused_before_anything_is_built(place: Place) -> None:
    """Without a Dagster home the run would be forgotten: it names the way to a lasting one."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(place, instance, "base")
    assert not result.success
    said = failure_of(result, "base")
    assert "throw-away Dagster instance; nothing was built" in said and "backfill ui" in said
    assert place.control.ledger.entries() == [] and place.opened == 0


def test_temporary_home_of_the_dagster_command_is_refused(place: Place, tmp_path: Path) -> None:
    """The `dagster` command makes one in the working folder when there is none, and deletes it afterwards."""
    home = tmp_path / ".tmp_dagster_home_x1"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        result = materialize(place, instance, "base")
    assert "throw-away" in failure_of(result, "base")


def test_run_config_cannot_redirect_the_tables(place: Place, instance: dg.DagsterInstance) -> None:
    """The io manager takes no configuration: no click can send a build anywhere else."""
    job = definitions(place).resolve_implicit_global_asset_job_def()
    job.get_subset(asset_selection={dg.AssetKey("base")}).execute_in_process(
        instance=instance,
        partition_key=KEYS[0],
        run_config={"resources": {"version_tables": {"config": {"warehouse": "elsewhere"}}}},
    )
    assert place.log.head("base", "base-1") == 1


def test_runs_of_a_dagster_backfill_share_its_name(place: Place, instance: dg.DagsterInstance) -> None:
    """The ledger names the backfill, so that all its runs can be found together."""
    job = definitions(place).resolve_implicit_global_asset_job_def()
    subset = job.get_subset(asset_selection={dg.AssetKey("base")})
    in_process(subset, instance=instance, partition_key=KEYS[0], tags={"dagster/backfill": "abcdefgh"})
    assert {e.run for e in place.control.ledger.entries()} == {"abcdefgh"}


def test_runs_of_a_dagster_backfill_read_the_same_sources(instance: dg.DagsterInstance) -> None:
    """A source that grows while the backfill goes on is read at one commit by all of its runs; another backfill reads
    what there is then."""
    place = a_place(a_model("one", "raw"), a_model("two", "raw", "one"))
    pins = FakePins(raw=7)
    place.pins = pins  # type: ignore[assignment]

    def read(backfill: str, last: str) -> set[object]:
        before = place.control.ledger.entries()
        for name in ("one", "two"):
            assert materialize(place, instance, name, last=last, tags={BACKFILL_TAG: backfill}).success
            pins.commits["raw"] += 1
        built = [e for e in place.control.ledger.entries() if e not in before and e.inputs]
        assert {e.model for e in built} == {"one", "two"}
        return {e.inputs["raw"]["commit"] for e in built if e.inputs}  # type: ignore[index]

    assert read("abcdefgh", KEYS[4]) == {7}
    assert read("ijklmnop", KEYS[6]) == {9}


def test_run_reads_what_its_plan_froze(instance: dg.DagsterInstance) -> None:
    """A run that goes on with a plan reads sources at the plan's commits, not at its own; days that the plan does not
    have belong to another plan, and are read as they are."""
    place = a_place(a_model("one", "raw"))
    pins = FakePins(raw=7)
    place.pins = pins  # type: ignore[assignment]
    assert open_plan(place, plan_request(place, Request(select=("one",), start=days("01").start, end=days("05").end)))
    pins.commits["raw"] = 9
    assert materialize(place, instance, "one", last=KEYS[4]).success
    entries = place.control.ledger.entries(["one"], kinds=[Kind.BUILT])
    assert entries and all(e.inputs == {"raw": {"commit": 7}} for e in entries)
    assert materialize(place, instance, "one", last=KEYS[6]).success
    later = place.control.ledger.entries(["one"], kinds=[Kind.BUILT])[len(entries) :]
    assert later and all(e.inputs == {"raw": {"commit": 9}} for e in later)


def test_sources_are_pinned_once_a_run(instance: dg.DagsterInstance) -> None:
    """Two models of one run read the same snapshot of a source, even when it grows between them."""
    place = a_place(a_model("one", "raw"), a_model("two", "raw", "one"))
    pins = FakePins(raw=7)
    place.pins = pins  # type: ignore[assignment]
    place.world.engine.after_commit = lambda job, interval: pins.commits.update(raw=8)
    assert materialize(place, instance, "one", "two").success
    entries = place.control.ledger.entries()
    assert {e.inputs["raw"]["commit"] for e in entries if e.inputs} == {7}  # type: ignore[index]


# --- the sensor and the jobs ------------------------------------------------------------------------------------------


def test_apply_job_builds_everything_and_moves_nothing(place: Place, instance: dg.DagsterInstance) -> None:
    """All models, in order, reported partition by partition; prod does not move."""
    result = execute(place, instance, "apply")
    assert result.success
    for name in ("base", "top"):
        assert instance.get_materialized_partitions(dg.AssetKey(name)) == set(KEYS)
    assert place.control.environments.read("prod").pointers == {}
    [plan] = place.control.plans.all()
    assert set(place.control.environments.read(plan.candidate).pointers) == {"base", "top"}
    run = instance.get_run_by_id(result.run_id)
    assert run is not None and run.tags[PLAN_TAG] == plan.id
    assert told(tick(place, instance)) == []
    opened = place.opened
    assert execute(place, instance, "apply").success and place.opened == opened


def test_apply_job_fails_with_what_is_left(place: Place, instance: dg.DagsterInstance) -> None:
    """A red day and what waits for it are both in the message."""
    place.world.engine.cell = red
    result = execute(place, instance, "apply")
    assert not result.success
    said = failure_of(result, "build_what_is_missing")
    assert "audit rows_ok failed in 2024-01-03" in said and "waits for base: 2024-01-03" in said
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS) - {"2024-01-03"}


def test_apply_job_restates_what_its_configuration_names(place: Place, instance: dg.DagsterInstance) -> None:
    """Published days are built in a revision, with what reads them; neither prod nor the partitions are touched."""
    build_elsewhere(place, "base", "top")
    promote_plan(place)
    before = place.control.environments.read("prod")
    tick(place, instance)
    result = execute(place, instance, "apply", restate=["base:2024-01-03..2024-01-04"])
    assert result.success
    [plan] = [p for p in place.control.plans.all() if p.live]
    assert {t.model: str(t.intervals) for t in plan.targets} == {
        "base": "2024-01-03..2024-01-04", "top": "2024-01-03..2024-01-05",
    }  # fmt: skip
    assert place.control.environments.read("prod").pointers == before.pointers
    assert place.control.environments.read(plan.candidate).pointers["base"].id != before.pointers["base"].id
    assert told(tick(place, instance)) == []


def test_apply_job_takes_what_the_command_takes(place: Place, instance: dg.DagsterInstance) -> None:
    """A sample first, then the rest and its promotion in one run; what is declared empty is not built."""
    assert execute(place, instance, "apply", sample=2).success
    assert len(instance.get_materialized_partitions(dg.AssetKey("top"))) == 2
    assert execute(place, instance, "apply", promote=True).success
    shown = place.control.environments.read("prod").pointers
    assert set(shown) == {"base", "top"} and str(shown["base"].covers) == f"{KEYS[0]}..{KEYS[-1]}"
    restated = execute(place, instance, "apply", restate=["base:2024-01-03"], promote=True)
    said = failure_of(restated, "build_what_is_missing")
    assert not restated.success and "prod was not moved" in said, said


def test_apply_job_declares_empty(place: Place, instance: dg.DagsterInstance) -> None:
    """As `apply --empty`: recorded as complete, nothing computed, no plan stored."""
    assert execute(place, instance, "apply", empty=True, select=["base"]).success
    assert {e.kind for e in place.control.ledger.entries()} == {Kind.EMPTY}
    assert place.control.plans.all() == [] and place.opened == 0


def test_apply_job_says_what_is_no_day(place: Place, instance: dg.DagsterInstance) -> None:
    """A configuration that is not understood fails the run before anything is built."""
    result = execute(place, instance, "apply", restate=["base:tomorrow"])
    assert "restate base:tomorrow is not understood" in failure_of(result, "build_what_is_missing")
    assert place.control.ledger.entries() == []


def test_a_run_that_is_tagged_with_a_plan_shows_its_rows_there(place: Place, instance: dg.DagsterInstance) -> None:
    """The plan's candidate environment shows what the run built; a tag that names no plan is refused before that."""
    plan = open_plan(place, plan_request(place, Request()))
    assert plan is not None
    assert materialize(place, instance, "base", tags={PLAN_TAG: plan.plan.id}).success
    shown = place.control.environments.read(plan.plan.candidate).pointers
    assert {name: str(pointer.covers) for name, pointer in shown.items()} == {"base": "2024-01-01..2024-01-05"}
    assert place.control.environments.read("prod").pointers == {}
    entries = place.control.ledger.entries()
    refused = materialize(place, instance, "base", last=KEYS[5], tags={PLAN_TAG: "nothing"})
    assert "no plan nothing" in failure_of(refused, "base") and place.control.ledger.entries() == entries


def test_promote_job_moves_prod_and_reports_the_views(place: Place, instance: dg.DagsterInstance) -> None:
    """One run, one commit, the views' assets told in the same run."""
    build_elsewhere(place, "base", "top")
    result = execute(place, instance, "promote")
    assert result.success
    assert set(place.control.environments.read("prod").pointers) == {"base", "top"}
    assert instance.get_latest_materialization_event(dg.AssetKey(["prod", "top"]))
    assert execute(place, instance, "promote").success  # nothing left to move


def test_closed_gate_fails_the_run_with_every_obstacle(place: Place, instance: dg.DagsterInstance) -> None:
    """Each thing in the way has its remedy; prod stays."""
    place.world.engine.cell = red
    build_elsewhere(place, "base", "top")
    result = execute(place, instance, "promote")
    assert not result.success
    said = failure_of(result, "point_prod")
    assert "prod was not moved; in the way:" in said
    assert (
        "base: 1 day does not count: rows_ok failed: 2024-01-03" in said
        and "top: 2 days are not built" in said
        and said.count("fix: ") == 2
    )
    assert place.control.environments.read("prod").pointers == {}


def test_order_is_all_that_an_asset_hands_over(place: Place) -> None:
    """The asset's function computes nothing: what is written is decided by the build alone."""
    assert set(BuildRequest.__slots__) == {"model", "step", "outcome"}
