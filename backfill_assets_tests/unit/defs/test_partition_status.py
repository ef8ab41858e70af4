"""Does Dagster count what the loaded version has, and learn of what happened elsewhere? (decisions/0032)"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

from backfill_assets.app.ledger_edits import withdraw
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build.apply import apply
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import utc
from backfill_assets.defs import ledger_sensor as ledger_sensor_module
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.bulk_events import Report, report_events
from backfill_assets.plan.stages import Request
from backfill_assets.state.ledger import Entry
from backfill_assets.state.tables import TableLog
from backfill_assets_tests.dagster_place import (
    KEYS,
    Place,
    a_place,
    build_elsewhere,
    loaded,
    materialize,
    red,
    rests,
    tick,
    told,
    with_changes,
)
from backfill_assets_tests.fakes import a_model, days

ROWS_OK = dg.AssetCheckKey(dg.AssetKey("base"), "rows_ok")


@pytest.fixture
def place() -> Place:
    return a_place(a_model("base", "raw"), a_model("top", "base", lookback=1))


def status_of(instance: dg.DagsterInstance, place: Place, name: str) -> set[str]:
    """The partitions that Dagster's pages count as materialized, from the cache that they are drawn from."""
    definition = definitions(place).get_assets_def(name).partitions_def
    cached = get_and_update_asset_status_cache_value(instance, dg.AssetKey(name), definition)  # type: ignore[arg-type]
    assert definition is not None
    return (
        set()
        if cached is None
        else set(cached.deserialize_materialized_partition_subsets(definition).get_partition_keys())
    )


def test_partitions_are_of_the_loaded_version(place: Place, instance: dg.DagsterInstance) -> None:
    """After an edit Dagster counts what is built of the new version, nothing at first; after going back, all of the old
    one; prod's view keeps its own event throughout."""
    build_elsewhere(place, "base", "top")
    promote_plan(place)
    cursor = None
    for _ in range(2):
        found = tick(place, instance, cursor)
        cursor = found.cursor if isinstance(found, dg.SensorResult) else cursor
    assert status_of(instance, place, "base") == set(KEYS)

    edited = loaded(place, base="base-2")
    found = tick(edited, instance, cursor)
    assert status_of(instance, edited, "base") == set(), "of 540 of an older version, 0 are of this one"
    assert status_of(instance, edited, "top") == set(KEYS), "nothing is said of a model that is what it was"
    said = [e.description for e in found.asset_events if isinstance(e, dg.AssetObservation)]  # type: ignore[union-attr]
    assert len(said) == 1 and "10 partitions are not complete in version base-2" in str(said[0])
    checks = instance.event_log_storage.get_latest_asset_check_execution_by_key([ROWS_OK])
    assert not checks, "the old version's checks say nothing of the new one"
    assert instance.get_latest_materialization_event(dg.AssetKey(["prod", "base"]))

    result = materialize(edited, instance, "base", last=KEYS[1])
    assert result.success and status_of(instance, edited, "base") == set(KEYS[:2])
    assert told(tick(edited, instance, None)) == []
    assert status_of(instance, edited, "base") == set(KEYS[:2])

    tick(place, instance, None)
    assert status_of(instance, place, "base") == set(KEYS)


def test_a_partition_that_somebody_reported_by_hand_does_not_count(place: Place, instance: dg.DagsterInstance) -> None:
    """`Report materialization` in the UI builds nothing: the ledger decides; what is complete is told again."""
    build_elsewhere(place, "base")
    first = tick(place, instance)
    assert isinstance(first, dg.SensorResult)
    settled = tick(place, instance, first.cursor)
    assert isinstance(settled, dg.SensorResult)
    instance.report_runless_asset_event(dg.AssetMaterialization("base", partition="2024-01-11"))
    assert "2024-01-11" in instance.get_materialized_partitions(dg.AssetKey("base"))
    tick(place, instance, settled.cursor)
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS)


def test_what_another_code_location_materialized_is_left_alone(
    place: Place, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody else's asset of the same name keeps its partitions: nothing is wiped, and it is said whose they are."""

    @dg.asset(key=["base"], partitions_def=dg.DailyPartitionsDefinition("2024-01-01"))
    def theirs() -> None: ...

    run = dg.materialize([theirs], instance=instance, partition_key="2024-03-01")
    build_elsewhere(place, "base", "top")
    found = tick(place, instance)
    assert isinstance(found, dg.SensorResult) and rests(found.cursor), "nothing is left to look at"
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == {"2024-03-01"}
    assert status_of(instance, place, "top") == set(KEYS), "all others are told as ever"
    said = capsys.readouterr().err
    assert "base is not counted anew" in said and run.run_id in said and "dagster asset wipe base" in said


def test_sensor_reports_what_the_command_built_once(place: Place, instance: dg.DagsterInstance) -> None:
    """Ten days built by `backfill apply` appear in Dagster; the next ticks have nothing to say."""
    build_elsewhere(place, "base")
    first = tick(place, instance)
    assert told(first) == [("base", k) for k in KEYS]
    assert isinstance(first, dg.SensorResult) and rests(first.cursor)
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS)
    second = tick(place, instance, first.cursor)  # what was reported is known by now
    assert isinstance(second, dg.SensorResult) and not second.asset_events
    assert isinstance(tick(place, instance, second.cursor), dg.SkipReason)
    assert told(tick(place, instance, None)) == []  # a lost cursor repeats nothing


def test_sensor_leaves_red_days_out(place: Place, instance: dg.DagsterInstance) -> None:
    """What failed its audits is no materialization, whoever built it."""
    place.world.engine.cell = red
    build_elsewhere(place, "base")
    found = tick(place, instance)
    assert [k for _, k in told(found)] == [k for k in KEYS if k != "2024-01-03"]
    assert isinstance(found, dg.SensorResult)
    checks = [e for e in found.asset_events if isinstance(e, dg.AssetCheckEvaluation)]
    assert [(e.passed, e.description) for e in checks] == [(False, "failed in 1 of 10 intervals: 2024-01-03")]


def test_sensor_says_nothing_of_dagsters_own_runs(place: Place, instance: dg.DagsterInstance) -> None:
    """A run of Dagster's reports itself."""
    materialize(place, instance, "base")
    assert told(tick(place, instance)) == []


def test_sensor_waits_for_a_run_that_is_still_going_on(place: Place, instance: dg.DagsterInstance) -> None:
    """What a running run built is left to it; when it died without a word, the sensor reports it."""
    job = definitions(place).resolve_implicit_global_asset_job_def()
    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    build_elsewhere(place, "base", run=run.run_id)
    waiting = tick(place, instance)
    assert told(waiting) == [] and isinstance(waiting, dg.SensorResult) and not rests(waiting.cursor)
    instance.report_run_failed(run)
    assert told(tick(place, instance, waiting.cursor)) == [("base", k) for k in KEYS]


def test_sensor_is_bounded_and_goes_on(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long history arrives in several ticks, each of a few seconds, in order and complete."""
    monkeypatch.setattr("backfill_assets.defs.ledger_sensor.EVENTS_AT_ONCE", 4)
    monkeypatch.setattr("backfill_assets.defs.ledger_sensor.SECONDS_A_TICK", 0.0)
    build_elsewhere(place, "base")
    seen: list[str | None] = []
    cursor: str | None = None
    for _ in range(6):  # three tell days, one looks once more, one looks at the other model
        found = tick(place, instance, cursor)
        assert len(told(found)) <= 4
        seen += [key for _, key in told(found)]
        if isinstance(found, dg.SensorResult):
            cursor = found.cursor
            assert not rests(cursor) or seen == KEYS, "what is left is looked for, whatever else happens"
    assert seen == KEYS and rests(cursor)


def test_what_was_looked_at_is_not_looked_at_again(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick that does not get through leaves off between two models, and the next one goes on there; a model of which
    nothing is new is not asked for, whatever happens to others."""
    looked: list[str] = []

    def counting(name: str) -> None:
        real = getattr(ledger_sensor_module, name)

        def spy(entries: Sequence[Entry], log: TableLog, **more: Any) -> object:
            looked.append(more["model"])
            return real(entries, log, **more)

        monkeypatch.setattr(ledger_sensor_module, name, spy)

    counting("known_coverage")
    build_elsewhere(place, "base", "top")
    monkeypatch.setattr(ledger_sensor_module, "SECONDS_A_TICK", 0.0)
    first = tick(place, instance)
    assert isinstance(first, dg.SensorResult) and looked == ["base"] and not rests(first.cursor)
    assert "1 models are left" in str(first.skip_reason)
    second = tick(place, instance, first.cursor)
    assert isinstance(second, dg.SensorResult) and looked == ["base", "base"], "once more: Dagster knows more by now"
    third = tick(place, instance, second.cursor)
    assert isinstance(third, dg.SensorResult) and looked == ["base", "base", "top"]
    assert status_of(instance, place, "top") == set(KEYS)
    monkeypatch.setattr(ledger_sensor_module, "SECONDS_A_TICK", 20.0)
    cursor = settled(place, instance)
    looked.clear()
    withdraw(place, [("top", days("03", "04"))])
    tick(place, instance, cursor)
    assert looked == ["top"]


@pytest.mark.parametrize("cursor", ["[3, 1, {}, {}]", "oops", '{"of": 1}'])
def test_a_cursor_of_somebody_else(place: Place, instance: dg.DagsterInstance, cursor: str) -> None:
    """An earlier release's was a list, and people can write there what they like: everything is looked at once."""
    build_elsewhere(place, "base")
    assert told(tick(place, instance, cursor)) == [("base", k) for k in KEYS]


def test_audits_that_are_new_are_seen(place: Place, instance: dg.DagsterInstance) -> None:
    """After a reload days count as complete only once the new audits have passed: their rows are not others."""
    build_elsewhere(place, "base")
    cursor = settled(place, instance)
    base = place.project.models["base"]
    more = with_changes(base, audits=(*base.audits, with_changes(base.audits[0], name="rows_ok_2")))
    edited = with_changes(place, project=with_changes(place.project, models={**place.project.models, "base": more}))
    assert edited.project.fingerprints == place.project.fingerprints
    tick(edited, instance, cursor)
    assert status_of(instance, edited, "base") == set()


def test_another_ledger_is_seen() -> None:
    """One that was restored from a backup and went on may have as many entries, of the same commits: of other times."""
    found: list[dict[str, tuple[int, int, int]]] = []
    for day in ("03", "07"):
        place = a_place(a_model("base", "raw"))
        build_elsewhere(place, "base")
        withdraw(place, [("base", days(day))])
        found.append(place.control.ledger.marks())
    one, other = found
    assert one.keys() == other.keys() == {"base"}
    assert one["base"][:2] == other["base"][:2] and one["base"] != other["base"]


def test_checks_are_told_by_the_next_tick_where_one_was_killed(place: Place, instance: dg.DagsterInstance) -> None:
    """Between the last partition and what the audits found: nothing of it is lost."""
    build_elsewhere(place, "base")

    def killed(instance: dg.DagsterInstance, events: Sequence[Report]) -> None:
        if any(isinstance(e, dg.AssetCheckEvaluation) for e in events):
            raise KeyboardInterrupt
        report_events(instance, events)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_sensor_module, "report_events", killed)
        with pytest.raises(KeyboardInterrupt):
            ledger_sensor_module.ledger_sensor(place)(dg.build_sensor_context(instance=instance))
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS)
    assert settled(place, instance)
    known = instance.event_log_storage.get_latest_asset_check_execution_by_key([ROWS_OK])
    assert [*known] == [ROWS_OK]


def test_what_is_untrue_goes_first(place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many models what does not count any more is taken back before what counts is told again; and those that were
    told once come before a backlog."""
    build_elsewhere(place, "base", "top")
    cursor = settled(place, instance)
    monkeypatch.setattr(ledger_sensor_module, "MODELS_AT_ONCE", 1)
    withdraw(place, [("top", days("03"))])
    withdraw(place, [("base", days("04"))])
    first = tick(place, instance, cursor)
    assert told(first) == [] and not any(instance.get_materialized_partitions(dg.AssetKey(n)) for n in ("base", "top"))
    assert isinstance(first, dg.SensorResult) and len(first.asset_events) == 2 and not rests(first.cursor)
    assert settled(place, instance)
    assert "2024-01-03" not in instance.get_materialized_partitions(dg.AssetKey("top"))

    seen = json.loads(settled(place, instance) or "{}")["models"]
    build_elsewhere(place, "base", "top")
    del seen["base"]  # as if nothing had been told of it yet
    monkeypatch.setattr(ledger_sensor_module, "SECONDS_A_TICK", 0.0)
    found = tick(place, instance, json.dumps({"of": "", "models": seen}))
    assert {name for name, _ in told(found)} == {"top"}


def test_a_model_that_cannot_be_looked_at_stops_no_other(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its table's log is damaged, say: it is warned of each time, and the others are told."""
    build_elsewhere(place, "base", "top")
    real = ledger_sensor_module.known_coverage

    def damaged(entries: Sequence[Entry], log: TableLog, **more: Any) -> object:
        if more["model"] == "base":
            raise StateError("the log of base is damaged", why="so it is", fix="restore it")
        return real(entries, log, **more)

    monkeypatch.setattr(ledger_sensor_module, "known_coverage", damaged)
    found = tick(place, instance)
    assert {name for name, _ in told(found)} == {"top"}
    assert isinstance(found, dg.SensorResult) and not rests(found.cursor)
    assert "nothing is told of base: the log of base is damaged" in capsys.readouterr().err


def test_what_somebody_writes_beside_the_ledger_is_seen(place: Place, instance: dg.DagsterInstance) -> None:
    """A commit to a version's table that the ledger does not know wakes nobody; whoever looks finds it."""
    build_elsewhere(place, "base", "top")
    cursor = settled(place, instance)
    place.world.tables.foreign("base", "base-1")
    withdraw(place, [("top", days("03"))])
    tick(place, instance, cursor)
    assert status_of(instance, place, "base") == set()


def test_many_at_once_are_as_one_by_one() -> None:
    """Dagster knows the same of partitions that were stored together: values, tags, the newest one, which asset."""
    events = [
        *(dg.AssetMaterialization("a", partition=k, metadata={"rows": n}, tags={"dagster/data_version": "v1"})
          for n, k in enumerate(KEYS)),
        dg.AssetObservation("a", description="between"),
        *(dg.AssetMaterialization("b", partition=k) for k in KEYS[:3]),
        dg.AssetMaterialization("a", partition=KEYS[2], metadata={"rows": 99}),
    ]  # fmt: skip

    def known(instance: dg.DagsterInstance) -> object:
        found = []
        for name in "ab":
            key = dg.AssetKey(name)
            records = instance.fetch_materializations(key, limit=99).records
            newest = instance.get_latest_materialization_event(key)
            tags = instance.event_log_storage.get_latest_tags_by_partition(
                key, dg.DagsterEventType.ASSET_MATERIALIZATION, ["dagster/data_version"]
            )
            found.append(
                (
                    [(r.run_id, r.partition_key, r.asset_materialization, r.event_log_entry.level) for r in records],
                    newest and newest.asset_materialization,
                    tags,
                    instance.get_materialized_partitions(key),
                )
            )
        return found

    with dg.instance_for_test() as one, dg.instance_for_test() as other:
        for event in events:
            one.report_runless_asset_event(event)
        report_events(other, events)
        assert known(one) == known(other)


def test_sensor_reports_a_promotion(place: Place, instance: dg.DagsterInstance) -> None:
    """A promotion by the command: the view's asset gets its release, version, range and rows."""
    build_elsewhere(place, "base", "top")
    done = promote_plan(place)
    moved, verdict = done.environment, done.verdict
    assert verdict.open
    result = tick(place, instance)
    views = {k for k, _ in told(result) if k.startswith("prod/")}
    assert views == {"prod/base", "prod/top"}
    event = instance.get_latest_materialization_event(dg.AssetKey(["prod", "base"]))
    assert event and event.asset_materialization
    metadata = {k: v.value for k, v in event.asset_materialization.metadata.items()}
    assert metadata["release"] == moved.releases["base"]
    assert metadata["version"] == "base-1" and metadata["dagster/row_count"] == 100
    assert metadata["range"] == "2024-01-01..2024-01-10"
    assert told(tick(place, instance, None)) == []


def settled(place: Place, instance: dg.DagsterInstance) -> str | None:
    """The cursor of a sensor that has told all, and has seen what it told."""
    cursor = None
    for _ in range(9):
        found = tick(place, instance, cursor)
        if isinstance(found, dg.SkipReason):
            return cursor
        cursor = found.cursor
    raise AssertionError("it never comes to rest")


def test_a_version_that_is_as_complete_is_told_anew(place: Place, instance: dg.DagsterInstance) -> None:
    """Nothing is wiped where the same days are complete: each gets an event of the loaded version."""
    build_elsewhere(place, "base")
    cursor = settled(place, instance)
    edited = loaded(place, base="base-2")
    build_elsewhere(edited, "base")
    assert told(tick(edited, instance, cursor)) == [("base", k) for k in KEYS]


def test_what_happens_elsewhere_wakes_it(place: Place, instance: dg.DagsterInstance) -> None:
    """What is built, and then what is promoted, of which Dagster itself knows nothing."""
    build_elsewhere(place, "base")
    cursor = settled(place, instance)
    build_elsewhere(place, "top")
    assert told(tick(place, instance, cursor)) == [("top", k) for k in KEYS]
    cursor = settled(place, instance)
    promote_plan(place)
    assert [name for name, _ in told(tick(place, instance, cursor))] == ["prod/base", "prod/top"]


def test_after_wiping_it_looks_again(place: Place, instance: dg.DagsterInstance) -> None:
    """A run may have told something between the look and the wipe: the cursor does not call it known."""
    build_elsewhere(place, "base")
    cursor = settled(place, instance)
    edited = loaded(place, base="base-2")
    wiped = tick(edited, instance, cursor)
    assert isinstance(wiped, dg.SensorResult) and wiped.asset_events and not rests(wiped.cursor)
    materialize(edited, instance, "base", last=KEYS[0])
    assert settled(edited, instance)
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == {KEYS[0]}


def test_withdrawn_days_do_not_count(place: Place, instance: dg.DagsterInstance) -> None:
    """All other days of the version are told again, with what their audits found."""
    build_elsewhere(place, "base")
    cursor = settled(place, instance)
    withdraw(place, [("base", days("03", "04"))])
    found = tick(place, instance, cursor)
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS) - {"2024-01-03", "2024-01-04"}
    assert told(found) == [("base", k) for k in KEYS if k not in ("2024-01-03", "2024-01-04")]
    assert isinstance(found, dg.SensorResult)
    (said,) = (e for e in found.asset_events if isinstance(e, dg.AssetObservation))
    assert "2 partitions are not complete" in str(said.description) and "8 are complete" in str(said.description)
    assert [e.check_name for e in found.asset_events if isinstance(e, dg.AssetCheckEvaluation)] == ["rows_ok"]


def test_a_day_that_is_not_over_is_no_partition(place: Place, instance: dg.DagsterInstance) -> None:
    """Built as far as it goes; whoever reports it by hand is not believed."""
    settings = with_changes(place.project.settings, clock=utc("2024-01-11T12:00"))
    noon = loaded(place)
    noon.project = with_changes(noon.project, settings=settings)
    plan = plan_request(noon, Request(select=("base",), ignore_cron=True))
    apply(noon.bench(plan.sources), plan)
    cursor = settled(noon, instance)
    instance.report_runless_asset_event(dg.AssetMaterialization("base", partition="2024-01-11"))
    tick(noon, instance, cursor)
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == set(KEYS)


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [
        ({}, False),
        ({"dagster/uri": "{warehouse}-2/base/base-0"}, False),
        ({"dagster/uri": "{warehouse}/base/base-0"}, True),
        ({"version": "base-0"}, True),  # as early releases told it
    ],
)
def test_whose_a_materialization_is(
    place: Place, instance: dg.DagsterInstance, metadata: dict[str, str], ours: bool
) -> None:
    """By the table that it names: only what is this warehouse's is wiped."""

    @dg.asset(key=["base"], partitions_def=dg.DailyPartitionsDefinition("2024-01-01"))
    def one() -> dg.MaterializeResult[None]:
        named = {name: value.format(warehouse=place.warehouse) for name, value in metadata.items()}
        return dg.MaterializeResult(metadata=named)

    dg.materialize([one], instance=instance, partition_key="2024-03-01")
    build_elsewhere(place, "base")
    tick(place, instance)
    expected = set(KEYS) if ours else {"2024-03-01"}
    assert instance.get_materialized_partitions(dg.AssetKey("base")) == expected


def test_a_stranger_among_many_of_ours(place: Place, instance: dg.DagsterInstance) -> None:
    """One partition of somebody else's is enough to leave all as they are, also behind what was reported by hand."""

    @dg.asset(key=["base"], partitions_def=dg.DailyPartitionsDefinition("2024-01-01"))
    def theirs() -> None: ...

    dg.materialize([theirs], instance=instance, partition_key="2024-03-01")
    build_elsewhere(place, "base")
    for day in range(2, 9):
        instance.report_runless_asset_event(dg.AssetMaterialization("base", partition=f"2024-03-{day:02}"))
    tick(place, instance)
    assert len(instance.get_materialized_partitions(dg.AssetKey("base"))) == 8
