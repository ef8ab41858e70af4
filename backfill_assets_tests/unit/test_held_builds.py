"""What do people see of a build that may not begin now? In a terminal and in Dagster, without Spark."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.adapters.heartbeat import read_heartbeats, sending_heartbeats
from backfill_assets.app import apply as app_apply
from backfill_assets.app import routine
from backfill_assets.app.apply import Checked, build_plan, check_plan, start_apply
from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.carry_out import Carried
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import write_evidence
from backfill_assets.app.prove import prove_built
from backfill_assets.build.hold import Hold
from backfill_assets.core.windows import Window, Windows
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote import lifecycle
from backfill_assets.promote.lifecycle import ended_text
from backfill_assets.state.ledger import Kind
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.dagster_place import KEYS, Place, a_place, execute, failure_of, materialize, with_changes
from backfill_assets_tests.fakes import a_model
from backfill_assets_tests.projects import BACKFILL
from backfill_assets_tests.unit.inputs.project import SETTINGS, run, write
from backfill_assets_tests.unsparked import unsparked


def far_from_now() -> Window:
    """A minute of the day, half a day from now, in UTC."""
    now = datetime.now(UTC)
    begins = (now.hour * 60 + now.minute + 720) % 1440
    return Window(start=begins, end=begins + 1)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A project whose only window is half a day away."""
    first, last = str(far_from_now()).removesuffix(" UTC").split("-")
    said = f'windows: [{{from: "{first}", to: "{last}"}}]\n'
    return write(tmp_path, {"backfill.yml": SETTINGS + said})


def test_what_does_not_wait_ends_with_a_code_of_its_own(closed: Path) -> None:
    """It says why, when the next window opens, and how to go on. The plan is stored, and nothing was begun."""
    told = run("apply", "--no-wait", project=closed)
    assert told.code == 75, told
    assert "nothing more is begun: heavy builds run in windows (" in told.err
    assert "the next one opens at " in told.out and "the same command goes on from there" in told.out
    place = Context.open(closed)
    [plan] = place.control.plans.all()
    assert plan.live and not place.control.ledger.entries()
    again = run("apply", "--no-wait", "--json", project=closed)
    assert again.code == 75 and json.loads(again.out)["held"].startswith("heavy builds run in windows")
    assert [p.id for p in place.control.plans.all()] == [plan.id]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_waits_can_be_ended(closed: Path, number: int, code: int) -> None:
    """It gives signs of life while it waits. Told to end it says how to go on, and killed it leaves nothing that is in
    the way: the same plan is gone on with."""
    place, pipe = Context.open(closed), subprocess.PIPE
    process = subprocess.Popen([BACKFILL, "--project", closed, "apply"], stderr=pipe, stdout=pipe, text=True)
    with process:
        try:
            assert process.stderr
            lines = iter(process.stderr.readline, "")
            assert next((line for line in lines if line.startswith("waiting: heavy builds run in windows (")), "")
            assert [(b.pid, b.routine) for b in read_heartbeats(place.warehouse)] == [(process.pid, False)]
        except BaseException:
            process.kill()
            raise
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == code
    assert ("the same command goes on from there" in said) is (number == signal.SIGTERM)
    [plan] = place.control.plans.all()
    assert run("apply", "--no-wait", project=closed).code == 75
    assert [p.id for p in place.control.plans.all()] == [plan.id] and not place.control.ledger.entries()


def test_a_plan_that_is_abandoned_while_its_run_waits(closed: Path) -> None:
    """The run ends by itself, has built nothing, and says why; its candidate is not shown again."""
    place = unsparked(closed)
    started, hold = start_apply(place, Request()), place.hold()
    hold.sleep = lambda stop, seconds: abandon_plan(place, started.stored)
    built = build_plan(place, started, hold=hold)
    assert built.held.startswith(f"plan {started.stored} was abandoned at ") and not built.goes_on
    assert not built.complete and built.candidate is None and not place.control.ledger.entries()


def test_a_plan_that_is_superseded_while_its_last_batch_runs(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another clone's newer code of the same person: all is built, and nothing is compared beside a candidate that is
    gone. It says which plan took its place."""
    place = unsparked(closed)
    started = start_apply(place, Request())
    path = next(closed.glob("models/*.sql"))

    def built_meanwhile(context: Context, plan: Plan, **_: object) -> Carried:
        path.write_text(path.read_text().replace("kind, clicks", "kind, clicks + 1 AS clicks"))
        start_apply(unsparked(closed), Request())
        return Carried(project=context.project, plan=plan, outcomes={})

    monkeypatch.setattr(app_apply, "carry_out", built_meanwhile)
    built = build_plan(place, started)
    [_, newer] = place.control.plans.all()
    assert built.held.startswith(f"plan {started.stored} was superseded at ") and not built.goes_on
    assert built.held.endswith(f", by {newer.by}'s plan {newer.id}")
    assert not built.complete and check_plan(place, built) == Checked()
    assert prove_built(place, started.stored, started.plan, built.facts).proofs == ()


def test_a_plan_that_another_run_built_and_promoted_ends_no_run(closed: Path) -> None:
    """Nothing of it is left to build, which the run finds when it goes on."""
    place = unsparked(closed)
    plan = start_apply(place, Request()).stored
    [record] = place.control.plans.all()
    place.control.plans.mark([record], PlanStatus.PROMOTED, by="ana", at=datetime.now(UTC))
    assert not ended_text(place.control, plan)


def test_a_look_at_its_plan_that_fails_ends_no_run(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is away for a moment: the plan counts as open."""
    place = unsparked(closed)
    plan = start_apply(place, Request()).stored
    abandon_plan(place, plan)
    assert ended_text(place.control, plan)

    def away(*_: object) -> None:
        raise OSError("Connection reset by peer")

    monkeypatch.setattr(lifecycle, "find_plan", away)
    assert not ended_text(place.control, plan)


def test_a_plan_stays_the_same_whatever_windows_say(closed: Path) -> None:
    """They are no part of it: a stored plan is gone on with, byte by byte. Without them nothing is said of them."""
    run("apply", "--no-wait", project=closed)
    stored = Context.open(closed).control.plans.document(_stored(closed))
    before = json.loads(run("plan", "--json", project=closed).out)
    (closed / "backfill.yml").write_text(SETTINGS)
    after = json.loads(run("plan", "--json", project=closed).out)
    assert before.pop("maintenance") and after == before and before["open_plans"]["continues"]
    assert Context.open(closed).control.plans.document(_stored(closed)) == stored
    assert "windows" not in json.loads(run("status", "--json", project=closed).out)


def _stored(root: Path) -> str:
    [plan] = Context.open(root).control.plans.all()
    return plan.id


def test_the_notice_is_attached_to_the_plan(closed: Path) -> None:
    """As text, as Markdown for a pull request, and in JSON: when it is built, and whom to tell."""
    text, folded = run("plan", project=closed).out, run("plan", "--markdown", project=closed).out
    said = json.loads(run("plan", "--json", project=closed).out)["maintenance"]
    assert "builds in windows (" in text and "Maintenance notice (draft)\n  Subject: Maintenance: daily" in text
    assert "<details><summary>Maintenance notice (draft)</summary>\n\nSubject: Maintenance: daily" in folded
    assert said["consumers"] == [{"consumer": "board", "owner": ""}] and said["done"] is None and said["opens"]
    assert "Subject: Maintenance: daily" in said["notice"]
    run("apply", "--no-wait", project=closed)
    runbook = run("runbook", project=closed).out
    assert "## Maintenance notice (draft)" in runbook and "Subject: Maintenance: daily" in runbook
    assert "- [ ] The maintenance notice was sent (open): no record says so; builds in windows (" in runbook


def test_status_says_that_builds_are_held_and_who_waits(closed: Path) -> None:
    """And until when they may go on, where a window is open."""
    place = Context.open(closed)
    with sending_heartbeats(place.warehouse, "r1"), sending_heartbeats(place.warehouse, "r2", routine=True):
        told, said = run("status", project=closed).out, json.loads(run("status", "--json", project=closed).out)
    assert "windows  no batch of a heavy build begins: heavy builds run in windows (" in told
    assert said["windows"]["waiting"] == ["r1"] and not said["windows"]["open_until"]
    (closed / "backfill.yml").write_text(SETTINGS + 'windows: [{from: "00:00", to: "24:00"}]\n')
    assert "windows  00:00-24:00 UTC: open until " in run("status", project=closed).out
    with sending_heartbeats(place.warehouse, "r2", routine=True):
        said = " ".join(run("status", project=closed).out.split())
    assert re.search(
        r"the routine run r2 \(since \d{4}-\d\d-\d\d \d\d:\d\d UTC\) goes first; if it hangs, end it, or", said
    )


def test_a_look_that_fails_holds_nobody_up(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is away for a moment while a build of several nights asks who else runs: it goes on."""
    (closed / "backfill.yml").write_text(SETTINGS + 'windows: [{from: "00:00", to: "24:00"}]\n')

    def away(_: str) -> None:
        raise OSError("Connection reset by peer")

    monkeypatch.setattr("backfill_assets.app.context.read_heartbeats", away)
    place = unsparked(closed)
    assert not place.hold().why()
    assert build_plan(place, start_apply(place, Request())).complete


def test_what_is_complete_was_not_held(tmp_path: Path) -> None:
    """Another run built the rest while this one was held: nothing is left to go on with."""
    place = unsparked(write(tmp_path))
    started, hold = start_apply(place, Request()), place.hold()
    assert build_plan(place, started, hold=place.hold()).complete
    hold.ended = "heavy builds run in windows"
    again = build_plan(place, started, hold=hold)
    assert again.complete and not again.held


def test_the_packet_has_the_notice_and_the_reasons(closed: Path) -> None:
    """As of when the plan was opened: a packet that is written again is the same. Without windows it has none."""
    place = unsparked(closed)
    started = start_apply(place, Request())
    assert build_plan(place, started, hold=place.hold(regardless="the board meets")).complete
    made = write_evidence(place, started.stored)
    found = made.packet.maintenance
    assert found and "Subject: Maintenance: daily" in found.notice and found.sentence.startswith("builds in windows (")
    assert "Some batches were built outside of the windows: the board meets." in made.packet.spent.sentence
    page = (Path(made.location) / "packet.html").read_text()
    assert '<h2 id="maintenance">Maintenance notice (draft)</h2>' in page and "Subject: Maintenance: daily" in page
    assert "the board meets." in (Path(made.location) / "release_note.md").read_text()
    assert not write_evidence(place, started.stored).changed
    (closed / "backfill.yml").write_text(SETTINGS)
    assert write_evidence(unsparked(closed), started.stored).packet.maintenance is None


def test_a_routine_run_says_that_it_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as it works, settling and promotion included; nobody else does."""
    place = unsparked(write(tmp_path))
    seen = list[list[bool]]()
    promote = routine.promote_green

    def look(context: Context) -> object:
        seen.append([beat.routine for beat in read_heartbeats(context.warehouse)])
        return promote(context)

    monkeypatch.setattr(routine, "promote_green", look)
    with sending_heartbeats(place.warehouse, "a build"):
        routine.extend(place)
    assert [sorted(beats) for beats in seen] == [[False, True]] and not read_heartbeats(place.warehouse)


# --- Dagster ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    found = a_place(a_model("base", "raw"))
    settings = replace(found.project.settings, windows=Windows((far_from_now(),)))
    return replace(found, project=with_changes(found.project, settings=settings))


def test_the_job_takes_what_the_command_takes(place: Place, instance: dg.DagsterInstance) -> None:
    """With no_wait it fails, and says when; with a reason it builds at once, and the ledger has the reason."""
    result = execute(place, instance, "apply", no_wait=True)
    said = failure_of(result, "build_what_is_missing")
    assert not result.success and not place.opened
    assert (
        said.startswith("stopped before all batches had begun: heavy builds run in windows (")
        and "it goes on from there" in said
    )
    assert execute(place, instance, "apply", outside_windows="the board meets").success
    reasons = {e.reason for e in place.control.ledger.entries() if e.kind is Kind.STARTED}
    assert reasons == {"outside of the windows: the board meets"}


@pytest.mark.parametrize(
    ("tags", "ok"),
    [({"backfill/no_wait": "true"}, False), ({"backfill/outside_windows": "the board meets"}, True)],
)
def test_ranges_take_it_from_tags(
    place: Place, instance: dg.DagsterInstance, tags: Mapping[str, str], ok: bool
) -> None:
    """As somebody materializes them in the UI."""
    result = materialize(place, instance, "base", last=KEYS[1], tags=tags)
    assert result.success is ok and bool(place.opened) is ok
    if not ok:
        assert "stopped before all batches had begun: heavy builds run in windows (" in failure_of(result, "base")


class Pause:
    """The wall clock of a run that waits: each look moves it half an hour on, and something may happen meanwhile."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
        self.now, self.looks, self.meanwhile = datetime.now(UTC), 0, meanwhile
        place.clock = lambda: self.now
        monkeypatch.setattr("backfill_assets.app.context.Hold", partial(Hold, sleep=self.sleep))

    def sleep(self, stop: threading.Event, seconds: float) -> None:
        self.now, self.looks = self.now + timedelta(seconds=seconds), self.looks + 1
        self.meanwhile()


@pytest.mark.parametrize("way", ["job", "range"])
def test_a_run_goes_on_by_itself_after_a_pause(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """In its own step: it opens no session before the window does, and then builds all in that one run."""
    opened_early = list[bool]()
    pause = Pause(place, monkeypatch, lambda: opened_early.append(bool(place.opened)))
    done = execute(place, instance, "apply") if way == "job" else materialize(place, instance, "base", last=KEYS[1])
    assert done.success and pause.looks > 1000 and not any(opened_early)
    began = {e.at for e in place.control.ledger.entries() if e.kind is Kind.STARTED}
    assert began and len(instance.get_runs()) == 1


@pytest.mark.parametrize("way", ["job", "range"])
def test_a_run_whose_plan_is_abandoned_in_the_pause(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It fails at its next look, says so, and has built nothing."""

    def abandon_it() -> None:
        for record in place.control.plans.all():
            abandon_plan(place, record.id)

    pause = Pause(place, monkeypatch, abandon_it)
    done = execute(place, instance, "apply") if way == "job" else materialize(place, instance, "base", last=KEYS[1])
    said = failure_of(done, "build_what_is_missing" if way == "job" else "base")
    assert not done.success and pause.looks == 1 and not place.opened
    assert (
        re.search(r"stopped before all batches had begun: plan \w+ was abandoned at ", said)
        and "fix: launch it again if" in said
    )


def test_routine_runs_are_first_in_the_queue(place: Place) -> None:
    """Of runs that wait for a slot; without windows Dagster's order stays as it is."""
    from backfill_assets.defs.jobs import routine_job

    assert routine_job(place).tags == {"dagster/priority": "1"}
    assert routine_job(a_place(a_model("base", "raw"))).tags == {}
