"""The runbook of real plans: its states follow the records from the first look to a rollback, also as Dagster's job."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.runbook import Runbook, look_for_runbook
from backfill_assets.core.errors import PlanError
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.evidence.formatting import moment
from backfill_assets.evidence.runbook import CUTOVER, RUNBOOK
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, prove, unsparked

SHOWN, WATCHED = "prod shows it", "The watch is closed"
APPROVED, COMPARED = "The owners approved exactly these rows", "Old and new rows were compared"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Ana's models are shown, and dev has another version of one of them."""
    root = small_project(tmp_path, days=2)
    settings = root / "backfill.yml"
    people = {name: {"accounts": [name.partition("@")[0]]} for name in ("ana@example.com", "dev@example.com")}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"people": people}))
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    return root


def applied(root: Path) -> tuple[Context, str]:
    place = unsparked(root, user="dev")
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    return place, plan


def states(found: Runbook) -> dict[str, str]:
    return {line.what: line.state for line in found.lines}


def test_its_states_follow_the_records(shop: Path) -> None:
    """Built, compared, approved, shown, taken back: each is done when a record says so, and not before."""
    place, plan = applied(shop)
    files = sorted(p for p in shop.rglob("*") if p.is_file())
    first = states(look_for_runbook(place, plan))
    assert sorted(p for p in shop.rglob("*") if p.is_file()) == files, "a look writes nothing"
    assert {what: first[what] for what in (COMPARED, APPROVED, SHOWN, WATCHED)} == dict.fromkeys(
        (COMPARED, APPROVED, SHOWN, WATCHED), "open"
    )
    assert first["All of it is built beside prod"] == "done"
    prove(place, plan)
    assert states(look_for_runbook(place, plan))[COMPARED] == "done"
    approve(unsparked(shop, user="ana"), ApprovalRequest(plan=plan))
    assert states(look_for_runbook(place, plan))[APPROVED] == "done"

    before = place.control.releases.all("prod")[-1]
    assert f"backfill rollback {before.id} --select daily" in look_for_runbook(place, plan).documents[RUNBOOK]
    assert promote_plan(place, plan=plan).verdict.open
    shown, release = look_for_runbook(place, plan), place.control.releases.all("prod")[-1]
    assert states(shown)[SHOWN] == "done" and states(shown)[APPROVED] == "done"
    assert f"prod shows it since {moment(release.at)}." in shown.documents[CUTOVER]
    assert "we have switched" in shown.documents[CUTOVER]
    assert f"backfill rollback {before.id} --select daily" in shown.documents[RUNBOOK], "not to where it is"

    assert roll_back(place, before.id, at_once=True)
    back = look_for_runbook(place, plan)
    assert states(back)[SHOWN] == states(back)[WATCHED] == "open"
    assert "prod showed it from" in back.documents[CUTOVER] and "have switched" not in back.documents[CUTOVER]
    assert any(f"taken back by {place.control.releases.all('prod')[-1].id}" in line.why for line in back.lines)


def test_a_later_plan_and_the_way_back_to_the_first(shop: Path) -> None:
    """What another plan replaced is not shown any more; once a rollback brought it back it is, since then."""
    place, first = applied(shop)
    prove(place, first)
    approve(unsparked(shop, user="ana"), ApprovalRequest(plan=first))
    assert promote_plan(place, plan=first).verdict.open
    release = place.control.releases.all("prod")[-1]
    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) + 1 AS n", "count(*) + 2 AS n"))
    place, second = applied(shop)
    prove(place, second)
    approve(unsparked(shop, user="ana"), ApprovalRequest(plan=second))
    assert promote_plan(place, plan=second).verdict.open
    replaced = look_for_runbook(place, first)
    assert states(replaced)[SHOWN] == "open" and "prod shows it since" not in replaced.documents[CUTOVER]
    assert "prod showed it from" in replaced.documents[CUTOVER]
    assert states(look_for_runbook(place, second))[SHOWN] == "done"

    daily.write_text(daily.read_text().replace("count(*) + 2 AS n", "count(*) + 1 AS n"))
    place = unsparked(shop, user="dev")
    assert roll_back(place, release.id, at_once=True)
    back = place.control.releases.all("prod")[-1]
    found = look_for_runbook(place, first)
    assert states(found)[SHOWN] == "done" and any(line.what == SHOWN and back.id in line.why for line in found.lines)
    assert states(look_for_runbook(place, second))[SHOWN] == "open"


def test_a_plan_that_was_given_up(shop: Path) -> None:
    """Nothing of it is to be done any more; who asks for one that is not there is told."""
    place, plan = applied(shop)
    abandon_plan(place, plan)
    found = states(look_for_runbook(place, plan))
    assert found[SHOWN] == found[APPROVED] == found["Readers were told"] == "not needed"
    with pytest.raises(PlanError):
        look_for_runbook(place, "0000")


def test_the_job_does_what_the_command_does(shop: Path, tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """The same documents, as metadata and as files."""
    place, plan = applied(shop)
    config = {"ops": {"write_runbook": {"config": {"plan": plan, "out": str(tmp_path / "out")}}}}
    done = definitions(place).resolve_job_def("runbook").execute_in_process(instance=instance, run_config=config)
    assert done.success
    [said] = [e for e in done.all_events if e.event_type_value == "STEP_OUTPUT"]
    metadata = said.event_specific_data.metadata  # type: ignore[union-attr]
    text = (tmp_path / "out" / RUNBOOK).read_text()
    assert text.startswith(str(metadata["runbook"].value)) and f"# Runbook of plan {plan}" in text
    assert set(metadata) >= {"runbook", "checklist", "migration_note", "cutover_message"}
