"""A model that the code does not have any more is taken out of prod, and can be shown again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.diff import sides_of
from backfill_assets.app.evidence import read_release_evidence, write_evidence
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.prove import REMOVED, unreadable_rows
from backfill_assets.app.rollback import roll_back
from backfill_assets.cli.rollback import run_rollback
from backfill_assets.compare.diff_text import old_side
from backfill_assets.compare.questions import questions
from backfill_assets.compare.sides import Side, replaced_side, resolve_side
from backfill_assets.core.errors import BackfillError
from backfill_assets.evidence.checklist import _compared as compared_lines
from backfill_assets.evidence.sentences import not_compared, replaces, what_changed
from backfill_assets.plan.stages import Build, Request
from backfill_assets.state.releases import out_of_sight, taken_out
from backfill_assets_tests.projects import RUNNING, small_project
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

READERS = """
last_verified: 2024-01-03
consumers:
  - {name: export, kind: export, owner: cfo@example.com, criticality: high, reads: [running]}
"""


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """`running`, which reads `daily`, is shown, and its file is gone."""
    root = promoted(small_project(tmp_path, days=2))
    (root / "models" / "running.sql").unlink()
    return root


def test_it_goes_alone_and_comes_back(shown: Path) -> None:
    """Nobody is asked: no row takes the place of another. A rollback shows the same rows again."""
    place = unsparked(shown, user="dev")
    before = place.control.environments.read("prod").pointers
    ended = roll_back(place, "nothing", ["running"]).ended
    assert ended.moved is not None and set(ended.moved.pointers) == {"daily"}
    assert ended.moved.pointers["daily"] == before["daily"]
    [*_, last] = place.control.releases.all("prod")
    assert last.back_to == "nothing" and [(m.model, m.after) for m in last.moves] == [("running", None)]
    said = read_release_evidence(place, last.id).said
    assert said["summary"][0] == "running, which the code does not have any more, is taken out of prod, by dev."
    assert json.dumps(said["back_to"]) == '{"release": "nothing", "at": "", "by": "", "evidence": {}, "rules": {}}'
    assert plan_request(unsparked(shown)).warnings == ()
    again = roll_back(unsparked(shown, user="dev"), None).ended
    assert again.moved is not None and again.moved.pointers == before


def test_what_came_meanwhile_is_said(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It comes back with the days that it showed: routine runs build the others."""
    roll_back(unsparked(shown, user="dev"), "nothing", ["running"])

    def told(*, dry_run: bool) -> str:
        place = unsparked(shown, user="dev")
        assert run_rollback(place, None, [], at_once=False, dry_run=dry_run, as_json=False) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "builds" not in told(dry_run=True)
    settings = shown / "backfill.yml"
    settings.write_text(settings.read_text().replace("2024-01-03", "2024-01-04"))
    assert "comes back with 2024-01-01..2024-01-02; backfill routine builds what came since" in told(dry_run=True)
    assert "What came since they were shown: backfill routine builds it (running)" in told(dry_run=False)


def brought_back(root: Path, other: str = "") -> Context:
    """`running` is taken out of prod, and its file comes back, with `other` in place of its total; it is built."""
    assert roll_back(unsparked(root, user="dev"), "nothing", ["running"]).ended.moved is not None
    model = root / "models" / "running.sql"
    model.write_text(RUNNING.format(batch_size=5).replace("sum(now.total)", other or "sum(now.total)"))
    place = unsparked(root, user="dev")
    [stage] = [s for s in plan_request(place).stages if isinstance(s, Build)] or [None]
    out = place.control.releases.all("prod")[-1].id
    assert stage is None or stage.reason == f"shown before, until release {out} (taken out of prod)"
    build(place)
    return place


def test_another_query_is_compared_with_what_was_shown_last(shown: Path) -> None:
    """The old side is what prod showed until the rollback; the packet calls it no new model."""
    last = unsparked(shown).control.environments.read("prod").pointers["running"]
    place = brought_back(shown, "sum(now.total) + 1")
    out = place.control.releases.all("prod")[-1].id
    old, new = sides_of(place)
    assert old.pointers["running"] == last != new.pointers["running"] and old.until == {"running": out}
    [asked] = questions(place.project, place.control.versions.all(), place.log, old, new, models=["running"])
    assert asked.compared == last.covers and asked.unread().until == out
    assert old_side(asked.unread(), "prod") == f"prod (until {out} took it out)"
    packet = write_evidence(place).packet
    part = next(m for m in packet.models if m.model == "running")
    assert (part.kind, part.until, part.before) == ("returned", out, last.version)
    [said] = what_changed(part, packet)
    assert said.startswith("running comes back to prod: 2 days") and f"until release {out} (taken out of prod)" in said
    assert replaces(part) and {t.model: t.version for t in packet.rollback.to}["running"] is None
    assert {o.what.partition(" by ")[0] for o in promote_plan(place).verdict.obstacles} == {
        "was not compared with what is shown:",
        "needs approval",
    }


def test_the_same_query_comes_back_without_a_comparison(shown: Path) -> None:
    """No row is another one: nothing is asked, and nothing is called uncompared."""
    place = brought_back(shown)
    assert promote_plan(place).verdict.open
    part = next(m for m in write_evidence(place).packet.models if m.model == "running")
    assert part.kind == "returned" and part.until and not replaces(part)


def test_all_is_out_of_sight(shown: Path) -> None:
    """An environment that shows nothing any more is a side; one that never showed anything is none."""
    place = unsparked(shown, user="dev")
    (shown / "models" / "daily.sql").unlink()
    assert roll_back(unsparked(shown, user="dev"), "nothing", ["daily,running"]).ended.moved is not None
    assert resolve_side("prod", place.project, place.control, place.log) == Side(name="prod", pointers={})
    with pytest.raises(BackfillError, match="no environment or release staging shows anything"):
        resolve_side("staging", place.project, place.control, place.log)


def test_what_the_janitor_removed_is_not_compared_with(shown: Path) -> None:
    """Its table is gone: there is no old side."""
    place = brought_back(shown, "sum(now.total) + 1")
    now, releases = place.control.environments.read("prod"), place.control.releases.all("prod")
    last = out_of_sight(releases)
    gone = taken_out(releases, last, {})

    def at(revision: int) -> Side:
        removals = {("running", s.version): revision for s in last["running"].segments}
        return replaced_side(now, taken_out(releases, last, removals))

    assert gone.keys() == {"running"} and "running" in replaced_side(now, gone).pointers
    assert "running" not in at(now.revision).pointers and not at(now.revision).until
    assert "running" in at(1).pointers, "it was removed before it was shown: it was built again"


@pytest.mark.parametrize("other", ["", "sum(now.total) + 1"])
def test_nobody_is_told_of_a_comparison_with_what_is_gone(shown: Path, other: str) -> None:
    """The packet says that it was not compared, and a comparison finds it, for the owner to accept."""
    last = unsparked(shown).control.environments.read("prod").pointers["running"]
    assert roll_back(unsparked(shown, user="dev"), "nothing", ["running"]).ended.moved is not None
    place = unsparked(shown, user="dev")
    marked = place.control.removals.mark_for_deletion(
        {("running", last.version): ("old", 1)}, revision=place.control.environments.revision(), by="dev"
    )
    for removal in marked:
        place.storage.remove(removal.model, removal.version)
        place.control.removals.finish(removal)
    text = RUNNING.format(batch_size=5).replace("sum(now.total)", other or "sum(now.total)")
    (shown / "models" / "running.sql").write_text(text)
    place = unsparked(shown, user="dev")
    build(place)
    [plan] = [p for p in place.control.plans.all() if p.live]
    prove(place, plan.id)
    packet = write_evidence(place).packet
    part = next(m for m in packet.models if m.model == "running")
    assert replaces(part) and not part.same_rows and not_compared(packet) == ["running"]
    line = next(iter(compared_lines(packet)))
    assert line.state == "open" and line.why.startswith("what was shown once of running was not: its tables were remo")
    assert unreadable_rows(place, place.facts(), {"running": last.covers}) == {"running": {REMOVED: last.covers}}


def test_a_plan_of_others_is_not_compared_with_it(shown: Path) -> None:
    """Nothing of the plan takes its place: nothing of it is lost."""
    assert roll_back(unsparked(shown, user="dev"), "nothing", ["running"]).ended.moved is not None
    (shown / "models" / "running.sql").write_text(RUNNING.format(batch_size=5))
    model = shown / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(amount) + 1"))
    place = unsparked(shown, user="dev")
    build(place, Request(select=("daily",)))
    old, new = sides_of(place)
    assert old.pointers.keys() == new.pointers.keys() == {"daily"}


def test_a_changed_upstream_waits_for_it_to_go(shown: Path) -> None:
    """What was computed from older rows of a model keeps that from moving; the way on is named, and works."""
    model = shown / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(amount) + 1"))
    place = unsparked(shown, user="dev")
    build(place)
    [apart] = [o for o in promote_plan(place).verdict.obstacles if o.model == "running"]
    assert "was built from daily" in apart.what and "backfill rollback nothing --select running" in apart.remedy
    assert roll_back(place, "nothing", ["running"]).ended.moved is not None
    assert not [o for o in promote_plan(unsparked(shown, user="dev")).verdict.obstacles if o.model == "running"]


def test_what_others_are_computed_from_stays(shown: Path) -> None:
    """`daily` cannot go without `running`; nor as long as the code has it; nor all at once."""
    (shown / "models" / "other.sql").write_text((shown / "models" / "daily.sql").read_text())
    (shown / "models" / "daily.sql").unlink()
    place = unsparked(shown, user="dev")
    [left] = roll_back(place, "nothing", ["daily"]).ended.obstacles
    assert left.model == "running" and "backfill rollback nothing --select daily,running" in left.remedy
    ended = roll_back(place, "nothing", ["daily,running"]).ended
    assert ended.moved is not None and not ended.moved.pointers


@pytest.mark.parametrize(
    ("select", "told"),
    [((), "no model is named"), (["daily"], "the code has it"), (["other"], "no model named other")],
)
def test_what_the_code_has_is_not_taken_out(shown: Path, select: list[str], told: str) -> None:
    """Nor what is not named, nor what nobody knows."""
    before = unsparked(shown).control.environments.read("prod")
    with pytest.raises(BackfillError) as refused:
        roll_back(unsparked(shown, user="dev"), "nothing", select)
    assert told in f"{refused.value.what} {refused.value.why}"
    assert unsparked(shown).control.environments.read("prod") == before


def test_a_consumer_of_the_rules_in_force_is_told_first(tmp_path: Path) -> None:
    """Its view would be gone. The file cannot name it any more: it reads what is no model."""
    root = small_project(tmp_path, days=2)
    people = {name: {"accounts": [name.partition("@")[0]]} for name in ("ana@example.com", "cfo@example.com")}
    said = json.loads((root / "backfill.yml").read_text())
    (root / "backfill.yml").write_text(json.dumps(said | {"approvals": {"consumers": "high"}, "people": people}))
    (root / "consumers.yml").write_text(READERS)
    promoted(root)
    for name in ("models/running.sql", "consumers.yml"):
        (root / name).unlink()
    place = unsparked(root, user="dev")
    [told] = roll_back(place, "nothing", ["running"]).ended.obstacles
    assert told.what == "it would not be shown any more, and export reads it" and "cfo@example.com" in told.remedy
    assert roll_back(place, "nothing", ["running"], at_once=True).ended.moved is not None
