"""When prod, the clock or sources moved on since a plan was stored, is that said, and kept with the evidence?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.amendment import amend_stored
from backfill_assets.app.apply import build_plan, check_plan, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import write_evidence
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.preview import preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.prove import Proved
from backfill_assets.app.waiting import read_waiting
from backfill_assets.cli.plans import print_amendment
from backfill_assets.cli.waiting import print_waiting
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import DAILY, write_events, write_project
from backfill_assets_tests.unsparked import build, extend, prove, unsparked

TEXT = DAILY.format(batch_size=10, batch_concurrency=1)
OTHER = TEXT.replace("sum(amount)", "sum(amount) + 1")
RESTATED = Request(restate=(("daily", days("02")),))


@pytest.fixture(autouse=True)
def compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Spark compares: nothing is found."""

    def nothing_found(place: Context, stored: str, plan: Plan, facts: Facts) -> None:
        prove(place, stored)

    monkeypatch.setattr("backfill_assets.app.promote.prove_built", nothing_found)


def at(root: Path, text: str, *, until: int, required: bool = False) -> Context:
    """The project with so many days of events, on the morning after."""
    write_events(root, days=until)
    write_project(root, {"daily.sql": text}, clock=f"2024-01-{until + 1:02}", approvals={"required": required})
    return unsparked(root, user="dev")


def shown(root: Path, *, required: bool = False) -> Context:
    place = at(root, TEXT, until=4, required=required)
    build(place)
    assert promote_plan(place).verdict.open
    return place


def opened(place: Context) -> str:
    [plan] = [p.id for p in place.control.plans.all() if p.live]
    return plan


def amended(place: Context, plan: str) -> Amendment:
    facts: Facts = place.facts()
    return amend_stored(place, find_plan(place.control, plan), facts, {})


def test_a_plan_as_it_was_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing moved: nothing is said, and nothing is kept."""
    place = shown(tmp_path)
    build(place, RESTATED)
    plan = opened(place)
    assert amended(place, plan) == Amendment(plan=plan)
    again = start_apply(place, RESTATED)
    assert again.amendment == Amendment(plan=plan) and not again.amendment.words
    print_amendment(again.amendment)
    assert capsys.readouterr().out == ""
    done = promote_plan(place, plan=plan)
    assert done.verdict.open and done.amendment == Amendment(plan=plan)


def test_a_correction_over_another_release(tmp_path: Path) -> None:
    """A restatement waits while a routine run adds a day: `promote PLAN` says over which release its day is put, by
    the value that the packet keeps."""
    place = shown(tmp_path)
    build(place, RESTATED)
    plan = opened(place)
    grown = at(tmp_path, TEXT, until=5)
    assert extend(grown) == ()
    release = grown.control.releases.all("prod")[-1].id
    done = promote_plan(grown, plan=plan)
    assert done.verdict.open and done.amendment, done.verdict.obstacles
    [other] = done.amendment.releases
    assert (other.model, other.release, str(other.intervals)) == ("daily", release, "2024-01-02")
    assert done.amendment.words[0].startswith(f"since plan {plan}: prod moved to release {release} for daily, ")
    assert done.amendment.words[0].endswith("its 2024-01-02 are put over that")
    assert not done.amendment.intervals, "it is a day of what is kept around the correction"
    assert [s.source for s in done.amendment.sources] == ["raw.events"]
    assert from_plain(Amendment, json.loads(json.dumps(to_plain(done.amendment)))) == done.amendment
    kept = json.loads(Path(grown.warehouse, "evidence", plan, "packet.json").read_text())
    assert kept["plan"]["amended"] == list(done.amendment.words)
    assert any(
        line.startswith(f"Since plan {plan}: prod moved to release {release}") for line in kept["summary"]["mind"]
    )


def test_a_stored_plan_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is promoted, and what its packet and its approvers are told, is the plan as it was stored, a day later
    too: its stages, its batches and its patches; only how it differs from what is shown is looked up."""
    place = shown(tmp_path)
    made, _ = build(place, RESTATED)
    plan = opened(place)
    grown = at(tmp_path, TEXT, until=5)
    extend(grown)

    def nobody(*_: object) -> None:
        raise AssertionError("it is made again")

    for module in ("app.plan", "app.promote", "adapters.resuming"):
        monkeypatch.setattr(f"backfill_assets.{module}.make_plan", nobody)
    facts = grown.facts()
    again = plan_by_now(grown, facts, find_plan(grown.control, plan))
    assert again == replace(made, now=facts.now, because={}) and again.stages and again.id == plan
    assert write_evidence(grown, plan).packet.plan.id == plan
    done = promote_plan(grown, plan=plan)
    assert done.verdict.open, done.verdict.obstacles
    [replaced] = [s for s in done.environment.pointers["daily"].segments if s.version == made.patches["daily"].version]
    assert Ranges((replaced.interval,)) == made.patches["daily"].intervals


def test_facts_are_read_once_and_again_after_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning, what is ahead, the candidate and the comparison are of one look; what was built is looked at once."""
    place = at(tmp_path, TEXT, until=4)
    looks: list[Facts] = []
    real = Context.facts

    def counted(context: Context, **more: Any) -> Facts:
        looks.append(real(context, **more))
        return looks[-1]

    monkeypatch.setattr(Context, "facts", counted)
    monkeypatch.setattr("backfill_assets.app.apply.prove_built", lambda *given: looks.append(given[-1]) or Proved())
    built = build_plan(place, start_apply(place, Request()))
    check_plan(place, built)
    first, after, used = looks
    assert not first.tables.coverage["daily"].built and after.tables.coverage["daily"].built and used is after
    looks.clear()
    check_plan(place, build_plan(place, start_apply(place, Request())))
    [only, used] = looks
    assert used is only, "nothing was built: nothing can have changed by this command"


def test_a_resumed_plan_says_what_came_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change of the code is gone on with a day later: `apply` names the release, the new day and the source."""
    shown(tmp_path)
    build(at(tmp_path, OTHER, until=4))
    later = at(tmp_path, TEXT, until=5)
    plan = opened(later)
    assert extend(later) == ()
    started = start_apply(at(tmp_path, OTHER, until=5), Request())
    assert started.stored == plan and started.amendment
    assert [(i.model, str(i.intervals)) for i in started.amendment.intervals] == [("daily", "2024-01-05")]
    [other] = started.amendment.releases
    assert not other.intervals and "the plan replaces that" in started.amendment.words[0]
    print_amendment(started.amendment)
    assert "2024-01-05 was added" in capsys.readouterr().out


def test_who_looks_at_a_stored_plan_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`plan`, of what is left of it, and `plans --waiting-for`, of what it lacks: the same sentences."""
    shown(tmp_path, required=True)
    build(at(tmp_path, OTHER, until=4, required=True))
    plan = opened(at(tmp_path, TEXT, until=4, required=True))
    assert extend(at(tmp_path, TEXT, until=5, required=True)) == ()
    later = at(tmp_path, OTHER, until=5, required=True)
    found = preview(later, Request())
    assert found.claim.continues and found.claim.continues.id == plan and found.amendment
    words = found.amendment.words
    assert any("2024-01-05 was added" in sentence for sentence in words)
    print_amendment(found.amendment)
    assert "2024-01-05 was added" in capsys.readouterr().out
    [waiting] = read_waiting(later).plans
    assert waiting.plan.id == plan and "shows" in waiting.amendment.words[0]
    assert waiting.to_json()["amendment"] == to_plain(waiting.amendment)
    print_waiting(read_waiting(later), "")
    assert words[0] in " ".join(capsys.readouterr().out.split())
