"""Does Dagster say what an owner asks of an open plan, whichever way it was learnt, and nothing that is over?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import dagster as dg
import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.context import Context
from backfill_assets.app.model_questions import plans_of_models
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets.defs import candidate_sensor as candidate_sensor_module
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.candidate_checks import PREFIX, answers, asked_of, candidate_specs, unreported_answers
from backfill_assets.defs.candidate_sensor import _queue, candidate_sensor  # pyright: ignore[reportPrivateUsage]
from backfill_assets.evidence.asked import ASKED
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets_tests.fakes import World, a_model
from backfill_assets_tests.review_shop import FINDING, Shop, a_difference, compare, review_shop
from backfill_assets_tests.strategies import day

ALL = {f"{PREFIX}{name}" for name in ASKED}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return review_shop(tmp_path)


def tick(place: Context, instance: dg.DagsterInstance, cursor: str | None = None) -> tuple[set[str], str | None]:
    """The checks that a look tells of, and its cursor."""
    found = candidate_sensor(place)(dg.build_sensor_context(instance=instance, cursor=cursor))
    if isinstance(found, dg.SkipReason):
        return set(), cursor
    assert isinstance(found, dg.SensorResult)
    for event in found.asset_events:
        instance.report_runless_asset_event(event)
    return {str(e.check_name) for e in found.asset_events if isinstance(e, dg.AssetCheckEvaluation)}, found.cursor


def known(instance: dg.DagsterInstance, name: str) -> dg.AssetCheckEvaluation:
    """What the page of the model says of a question."""
    key = dg.AssetCheckKey(dg.AssetKey("daily"), f"{PREFIX}{name}")
    found = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert isinstance(found.evaluation, dg.AssetCheckEvaluation)
    return found.evaluation


def test_every_question_is_a_check() -> None:
    """In the words of the reviewer's page; none blocks, and an audit of the author's keeps its name."""
    project = World(a_model("daily", "raw")).project
    assert {s.name: str(s.description).partition("?")[0] + "?" for s in candidate_specs(project)} == {
        f"{PREFIX}{name}": text for name, text in ASKED.items()
    }
    assert not any(s.blocking for s in candidate_specs(project))
    model = project.models["daily"]
    taken = Audit(name="candidate_keys", kind="sql", blocking=True, arguments={})
    assert set(asked_of(replace(model, audits=(*model.audits, taken)))) == ALL - {"candidate_keys"}


def test_what_a_terminal_did_is_told(shop: Shop, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, each question with its number; what is not as it has to be as an error, what is open as a warning."""
    place = shop.place()
    told, cursor = tick(place, instance)
    assert told == ALL
    keys, moved, owner = known(instance, "keys"), known(instance, "moved"), known(instance, "owner")
    assert (keys.passed, keys.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert str(keys.description).startswith("2 duplicate, 0 empty: keys are there more than once")
    assert keys.metadata["number"].value == "2 duplicate, 0 empty" and keys.metadata["plan"].value == shop.plan
    assert str(moved.description).startswith("1 difference to accept: ") and "\x1b" not in str(moved.description)
    assert (owner.passed, owner.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "0 of 2 given" in str(owner.description) and "vera@example.com" in str(owner.description)
    assert known(instance, "audits").passed
    packet = owner.metadata["packet"]
    assert isinstance(packet, dg.MarkdownMetadataValue) and "packet" not in keys.metadata
    assert "| Is every key there once? | not as it has to be | 2 duplicate, 0 empty |" in packet.value
    assert "# Release note: " in packet.value and "<script>" not in packet.value and "\u202e" not in packet.value
    assert tick(place, instance, cursor) == (set(), cursor)
    assert tick(place, instance)[0] == set(), "a lost cursor repeats nothing"

    # An approval changes the owners' answer, and what is said of the difference that it accepts; nothing else is told.
    approve(shop.place("ana"), ApprovalRequest(plan=shop.plan, reason="seen", accepted={FINDING: "as agreed"}))
    told, cursor = tick(place, instance, cursor)
    assert told == {"candidate_owner", "candidate_moved"}
    assert "1 of 2 given" in str(known(instance, "owner").description)
    compare(place, shop.plan, a_difference(4, moved=3))
    told, cursor = tick(place, instance, cursor)
    assert {"candidate_owner", "candidate_rows"} <= told
    assert "0 of 2 given" in str(known(instance, "owner").description), "what was approved were other rows"

    # Dagster shows no check that is older than the newest materialization, and forgets all with the asset.
    instance.report_runless_asset_event(dg.AssetMaterialization("daily", partition="2024-01-01"))
    told, cursor = tick(place, instance, cursor)
    assert told == ALL
    instance.wipe_assets([dg.AssetKey("daily")])
    told, cursor = tick(place, instance, cursor)
    assert told == ALL

    # A packet that cannot be read is a warning of its plan's checks: an error of the sensor would hide all others.
    def damaged(*_: object) -> None:
        raise StateError("the packet is damaged", why="a file is gone", fix="restore it")

    with monkeypatch.context() as patch:
        patch.setattr("backfill_assets.app.model_questions.look_at_plan", damaged)
        assert tick(place, instance)[0] == ALL
    said = known(instance, "keys")
    assert not said.passed and said.severity is dg.AssetCheckSeverity.WARN and "a file is gone" in str(said.description)

    # What is over is not left red.
    abandon_plan(place, shop.plan)
    assert tick(place, instance, cursor)[0] == ALL
    for name in ASKED:
        said = known(instance, name)
        assert said.passed and f"plan {shop.plan}, the last that did, is abandoned" in str(said.description)
    assert unreported_answers(place, instance, {}) == [], "nothing is read where no plan is"


def test_a_tick_tells_only_so_much(shop: Shop, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next ticks tell the rest, each once: thousands of models whose plans ended would be minutes of events."""
    monkeypatch.setattr(candidate_sensor_module, "MOST_EVENTS", 3)
    place, cursor, told = shop.place(), None, list[tuple[str, str]]()
    for _ in range(10):
        found = candidate_sensor(place)(dg.build_sensor_context(instance=instance, cursor=cursor))
        if isinstance(found, dg.SkipReason):
            break
        assert isinstance(found, dg.SensorResult) and len(found.asset_events) <= 3
        for event in found.asset_events:
            assert isinstance(event, dg.AssetCheckEvaluation)
            instance.report_runless_asset_event(event)
            told.append((event.asset_key.to_user_string(), str(event.check_name)))
        cursor = found.cursor
    assert len(told) == len(set(told)) and {check for _, check in told} == ALL
    assert len(told) > 3 and tick(place, instance)[0] == set()


def test_the_plan_of_each_model_is_found_in_one_reading_of_plans() -> None:
    """A sensor asks every half minute: that may not cost plans times models, least of all times what each is about."""

    class Counted(tuple[PlanTarget, ...]):
        read = 0

        def __iter__(self) -> Iterator[PlanTarget]:
            Counted.read += 1
            return super().__iter__()

    names = [f"m{n}" for n in range(20)]
    opened = [
        ("loaded", "prod", names, PlanStatus.OPEN),
        ("other", "prod", names[:5], PlanStatus.OPEN),
        ("beside", "dev", names, PlanStatus.OPEN),
    ]
    first, second, elsewhere = (
        PlanRecord(
            id=one,
            environment=where,
            targets=Counted(PlanTarget(model=m, version=one, intervals=Ranges()) for m in models),
            created=day(n),
            by="ana",
            status=status,
            since=day(n),
        )
        for n, (one, where, models, status) in enumerate(opened)
    )
    ended = replace(second, id="ended", status=PlanStatus.ABANDONED, created=day(9))
    place = SimpleNamespace(
        project=SimpleNamespace(fingerprints={"m0": "loaded"}), environment="prod",
        control=SimpleNamespace(plans=SimpleNamespace(all=lambda: [first, second, elsewhere, ended])),
    )  # fmt: skip
    found = plans_of_models(cast(Context, place), [*names[:7], "calm"])
    assert {name: r.id for name, r in found.items()} == {
        **dict.fromkeys(names[:7], "loaded"), **dict.fromkeys(names[1:5], "other"),
    }  # fmt: skip
    assert Counted.read <= 4


def test_runs_answer_them(shop: Shop, instance: dg.DagsterInstance) -> None:
    """One asked from its page, in the words of the sensor; a job answers all at its end, also one that is refused."""
    found = definitions(shop.place()).resolve_implicit_global_asset_job_def()
    one = dg.AssetCheckKey(dg.AssetKey("daily"), "candidate_owner")
    done = found.get_subset(asset_selection=set(), asset_check_selection={one}).execute_in_process(instance=instance)
    assert [e.check_name for e in done.get_asset_check_evaluations()] == ["candidate_owner"]
    asked = known(instance, "owner")
    [again] = [
        e
        for e in unreported_answers(shop.place(), instance, plans_of_models(shop.place(), ["daily"]))
        if e.check_name == "candidate_owner"
    ] or [asked]
    assert (again.description, again.metadata, again.severity) == (asked.description, asked.metadata, asked.severity)
    assert again is asked
    config = {"plan": shop.plan, "reason": "seen", "accept": [f"{FINDING}=as agreed"]}
    for user, given in (("dev", 0), ("ana", 1)):
        job = definitions(shop.place(user)).resolve_job_def("approve")
        done = job.execute_in_process(
            run_config={"ops": {"record_approval": {"config": config}}}, instance=instance, raise_on_error=False
        )
        assert done.success == bool(given)
        assert f"{given} of 2 given" in str(known(instance, "owner").description)


def test_a_model_that_no_plan_changed() -> None:
    """There is nothing to ask; nobody tells Dagster of it unasked."""
    said = answers(a_model("calm", "raw"), None)
    assert set(said) == ALL and all(s.passed for s in said.values())
    assert said["candidate_keys"].description == "no plan changes calm"


def test_every_open_plan_has_its_turn() -> None:
    """Those that waited come first, however often anything is new; what ended meanwhile is left out."""
    assert _queue(["a", "b", "c"], ["c", "gone"], anew=True) == ["c", "a", "b"]
    assert _queue(["a", "b", "c"], ["c"], anew=False) == ["c"]
