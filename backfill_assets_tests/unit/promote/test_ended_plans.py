"""What is said to somebody who approves a plan that is over?"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app import promote as promote_use_case
from backfill_assets.app.approve import ApprovalRequest, approval_statements, approve, approve_plan
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.query import why_none
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.verify import verify_packet
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.lifecycle import end_abandoned, find_plan, newer_plan
from backfill_assets.state.plans import PlanStatus
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, changed, promoted, prove, unsparked

ANA = "ana@example.com"


def waiting(tmp_path: Path) -> tuple[Context, str]:
    """A change of published rows that waits for Ana."""
    return changed(promoted(small_project(tmp_path, days=2)))


def refused(place: Context, plan: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    assert not place.control.approvals.of([plan]) or "promoted" in caught.value.what
    return caught.value


def test_an_abandoned_plan(tmp_path: Path) -> None:
    """Nothing of it is promoted: an approval would lead to a refusal. One that was stated before is not recorded."""
    place, plan = waiting(tmp_path)
    [said] = approval_statements(replace(place, acting=ANA), plan)
    end_abandoned(place.control, place.log, place.warehouse, plan, by="dev", views=lambda: None)
    told = refused(place, plan)
    assert told.what == f"plan {plan} was abandoned" and "do not count" in told.why
    assert told.fix == "make it again, and approve it then: backfill apply"
    with pytest.raises(PlanError, match="was abandoned"):
        approve_plan(replace(place, acting=ANA), said)


def test_a_superseded_plan(tmp_path: Path) -> None:
    """The newer one is named; where that has ended as well, nobody is sent to it."""
    place, plan = waiting(tmp_path)
    record = place.control.plans.all()[-1]
    place.control.plans.mark([record], PlanStatus.SUPERSEDED, by="dev", at=record.since)
    assert refused(place, plan).fix == "make it again, and approve it then: backfill apply"
    assert newer_plan(place.control, record) is None
    with pytest.raises(PlanError, match="was superseded") as told:
        promote_plan(place, plan=plan)
    assert told.value.fix == "backfill apply, which plans what the code says"
    newer = replace(record, id="newer", by=record.by)
    place.control.plans.put(newer, {}, revision=place.control.plans.read_at()[1])
    assert refused(place, plan).fix == "backfill approve newer"
    with pytest.raises(PlanError, match=r"was superseded at .*'s plan newer") as told:
        promote_plan(place, plan=plan)
    assert told.value.fix == "backfill promote newer"


def test_a_promoted_plan(tmp_path: Path) -> None:
    """In which release it was; nobody is sent to promote it once more."""
    place, plan = waiting(tmp_path)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    assert promote_plan(place, plan=plan).verdict.open
    release = place.control.releases.all("prod")[-1].id
    told = refused(place, plan)
    assert told.what == f"plan {plan} was promoted already, in release {release}"
    assert "backfill promote" not in str(told)


def test_a_plan_that_was_rolled_back(tmp_path: Path) -> None:
    """It is made and approved again; nobody is sent to roll back once more."""
    place, plan = waiting(tmp_path)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    assert promote_plan(place, plan=plan).verdict.open
    before = place.control.releases.all("prod")[0].id
    assert roll_back(place, before, at_once=True).ended.moved is not None
    back = place.control.releases.all("prod")[-1].id
    told = refused(place, plan)
    assert told.what == f"plan {plan} was promoted, and rolled back in release {back}"
    assert told.fix == "make it again, and approve it then: backfill apply"


def test_a_query_of_its_candidate(tmp_path: Path) -> None:
    """That has no views any more: why is said in their place; not of an open one, nor of other environments."""
    place, plan = waiting(tmp_path)
    candidate, control = f"plan-{plan}", place.control
    assert why_none(control, candidate) == why_none(control, "prod") == why_none(control, "plan-none") == []
    end_abandoned(control, place.log, place.warehouse, plan, by="dev", views=lambda: None)
    [told] = why_none(control, candidate)
    assert told.startswith(f"none, as plan {plan} was abandoned at ")
    [record] = [r for r in control.plans.all() if r.id == plan]
    control.plans.mark([record], PlanStatus.PROMOTED, by="dev", at=record.since)
    assert why_none(control, candidate) == [f"none, as plan {plan} was promoted: prod shows it"]


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Context, str]:
    """A promotion that was killed when prod had moved, before it recorded that its plan is over."""

    class KilledError(BaseException): ...

    def die(*_: object, **__: object) -> None:
        raise KilledError

    place, plan = waiting(tmp_path)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(promote_use_case, "end_promoted", die)
        promote_plan(place, plan=plan)
    assert find_plan(place.control, plan).live and len(place.control.releases.all("prod")) == 2
    return place, plan


def test_a_killed_promotion_is_not_abandoned(killed: tuple[Context, str]) -> None:
    """It was promoted, and its packet stays that of the release."""
    place, plan = killed
    with pytest.raises(PlanError, match="it was promoted to prod at"):
        end_abandoned(place.control, place.log, place.warehouse, plan, by="dev", views=lambda: None)
    assert find_plan(place.control, plan).status is PlanStatus.PROMOTED
    assert verify_packet(plan, lambda: place).problems == ()


def test_a_killed_promotion_is_not_approved_again(killed: tuple[Context, str]) -> None:
    """In which release it was."""
    place, plan = killed
    assert refused(place, plan).what.startswith(f"plan {plan} was promoted already, in release r")


def test_a_killed_promotion_is_not_superseded(killed: tuple[Context, str]) -> None:
    """The next change is a plan of its own."""
    place, plan = killed
    daily = place.project.root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) + 1 AS n", "count(*) + 2 AS n"))
    build(unsparked(place.project.root, user="dev"))
    *_, older, newer = place.control.plans.all()
    assert (older.id, older.status, newer.status) == (plan, PlanStatus.PROMOTED, PlanStatus.APPLIED)


def test_what_was_rolled_back_is_promoted_again(tmp_path: Path) -> None:
    """The same plan is opened again: no release of its first time ends it. It is approved, and promoted."""
    place, plan = waiting(tmp_path)
    before = place.control.releases.all("prod")[0].id
    for _ in range(3):
        approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
        assert promote_plan(place, plan=plan).verdict.open
        assert find_plan(place.control, plan).status is PlanStatus.PROMOTED
        assert roll_back(place, before, at_once=True).ended.moved is not None
        place = unsparked(place.project.root, user="dev")
        build(place)
        [plan] = [r.id for r in place.control.plans.all() if r.live]
        prove(place, plan)


def test_a_plan_whose_table_the_janitor_removed(tmp_path: Path) -> None:
    """Its packet cannot be held against rows any more; nobody has to look who removed them."""
    place, plan = waiting(tmp_path)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    assert promote_plan(place, plan=plan).verdict.open
    before = place.control.releases.all("prod")[0].id
    assert roll_back(place, before, at_once=True).ended.moved is not None
    model, version = next(iter(find_plan(place.control, plan).versions.items()))
    shutil.rmtree(table_path(place.warehouse, model, version))
    found = verify_packet(plan, lambda: place)
    assert found.problems and found.removed == ()
    revision = place.control.environments.read("prod").revision
    begun = place.control.removals.mark_for_deletion({(model, version): ("old", 1)}, revision=revision, by="janitor")
    found = verify_packet(plan, lambda: place)
    said = f"{model}/{version} was removed by the janitor at {begun[0].at:%Y-%m-%d %H:%M} UTC"
    assert found.problems and found.removed == (f"{said}, as nothing showed it any more",)
