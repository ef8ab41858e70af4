"""A restatement is of the logic that is shown: nothing puts it over other logic, whoever approved it before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.plan import claim_of, plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import RollbackOutcome, roll_back
from backfill_assets.app.waiting import read_waiting
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_routine_beside_older import edit
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

RESTATE = Request(restate=(("daily", Interval(utc("2024-01-03"), utc("2024-01-04"))),))


def project(tmp_path: Path, *, approvals: bool = False) -> Path:
    root = small_project(tmp_path, days=9)
    settings = root / "backfill.yml"
    said = json.loads(settings.read_text())
    settings.write_text(json.dumps(said | {"approvals": {"required": approvals}}))
    return promoted(root)


def restated(root: Path, *, user: str = "dev") -> str:
    """A restatement of a day is built, with what reads it, and compared."""
    place = unsparked(root, user=user)
    build(place, RESTATE)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    return plan


def release(root: Path, model: str, old: str, new: str, *, user: str = "dev") -> None:
    """Other logic of a model is built and promoted."""
    edit(root / "models" / f"{model}.sql", old, new)
    place = unsparked(root, user=user)
    built, _ = build(place)
    prove(place, built.id)
    assert promote_plan(place, plan=built.id).verdict.open


def logics(root: Path, model: str) -> set[str]:
    return {s.logic for s in unsparked(root).control.environments.read("prod").pointers[model].segments}


def back(root: Path) -> RollbackOutcome:
    return roll_back(unsparked(root, user="dev"), None, reason="as it was")


CHANGES = {
    "the restated model": ("daily", "sum(amount)", "2 * sum(amount)"),
    "what reads it": ("running", "sum(total)", "10 * sum(total)"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("code", ["newer", "older"])
def test_other_logic_is_shown_by_now(tmp_path: Path, change: Sequence[str], code: str) -> None:
    """Of the model, or of what reads it: whichever code is loaded, it is refused with what leads on, and so is the look
    at what waits. Shown again, it may be promoted."""
    root = project(tmp_path)
    plan, before = restated(root), {name: logics(root, name) for name in ("daily", "running")}
    model, old, new = change
    release(root, model, old, new)
    after = {name: logics(root, name) for name in ("daily", "running")}
    if code == "older":
        edit(root / "models" / f"{model}.sql", new, old)
    place = unsparked(root, user="dev")
    with pytest.raises(
        PlanError, match=f"plan {plan} restates .*{model}.*, and prod shows .* of {model}.* by now"
    ) as no:
        promote_plan(place, plan=plan)
    again = "backfill apply --restate daily:2024-01-03"
    assert no.value.fix == f"`backfill abandon {plan}`; then, with the code that prod shows, `{again}`"
    assert {name: logics(root, name) for name in after} == after
    [waits] = [each for each in promote_plan(place).waiting if each.plan == plan] if code == "newer" else [None]
    assert waits is None or "which prod does not show any more: `backfill abandon" in waits.waits("backfill promote")
    assert plan in [record.id for record in read_waiting(place).other_code]
    assert back(root).ended.moved is not None
    assert {name: logics(root, name) for name in before} == before
    prove(unsparked(root), plan)
    assert promote_plan(unsparked(root, user="dev"), plan=plan).verdict.open
    versions = {s.version for s in unsparked(root).control.environments.read("prod").pointers["daily"].segments}
    assert {logic_of(v) for v in versions} == before["daily"] and len(versions) == 2


def test_the_newer_one_is_gone_back_from(tmp_path: Path) -> None:
    """A restatement of what was released since is not put over what was shown before."""
    root = project(tmp_path)
    before = logics(root, "daily")
    release(root, "daily", *CHANGES["the restated model"][1:])
    plan = restated(root)
    assert back(root).ended.moved is not None
    with pytest.raises(PlanError, match="by now"):
        promote_plan(unsparked(root, user="dev"), plan=plan)
    assert logics(root, "daily") == before


def test_nobody_is_asked_to_approve_it(tmp_path: Path) -> None:
    """An approval of it would be of rows that nothing shows."""
    root = project(tmp_path, approvals=True)
    plan = restated(root)
    place = unsparked(root)
    _released_without_approval(root)
    with pytest.raises(PlanError, match="by now"):
        approve(unsparked(root, user="ana@example.com"), ApprovalRequest(plan=plan, by="ana@example.com"))
    assert not place.control.approvals.recorded([plan])


def _released_without_approval(root: Path) -> None:
    settings = root / "backfill.yml"
    said = settings.read_text()
    place = unsparked(root, user="dev")
    edit(root / "models" / "daily.sql", *CHANGES["the restated model"][1:])
    place = unsparked(root, user="dev")
    built, _ = build(place)
    shown = place.control.environments
    pointers = place_pointers(place, built.id)
    shown.flip(shown.read("prod"), pointers, release="by-hand", at=utc("2024-02-01"))
    settings.write_text(said)


def place_pointers(place: Context, plan: str) -> list[object]:
    candidate = place.control.environments.read(f"plan-{plan}")
    return [candidate.pointers[name] for name in ("daily", "running")]


def test_a_wider_tolerance_holds_from_the_next_change_on(tmp_path: Path) -> None:
    """The plan says by which its own rows are compared, where the header says more than before; not of a narrower
    one, nor where nothing changes."""
    root = project(tmp_path)
    for said, code, warned in (("0.5", "2 * ", True), ("1e-12", "3 * ", False), ("0.5", "", False)):
        text = (root / "models" / "daily.sql").read_text()
        edit(root / "models" / "daily.sql", "sum(amount)", f"{code}sum(amount)")
        edit(root / "models" / "daily.sql", "owner:", f"tolerance: {said}\nowner:")
        found = [w.what for w in plan_request(unsparked(root, user="dev")).warnings if "compared within" in w.what]
        told = ["daily is compared within 1e-09, as what is shown was, and not within the 0.5 of its header"]
        assert found == (told if warned else [])
        (root / "models" / "daily.sql").write_text(text)


def test_another_persons_is_in_nobodys_way(tmp_path: Path) -> None:
    """Whoever restates the logic that is shown need not wait for one that nobody promotes any more; one's own ends."""
    root = project(tmp_path)
    restated(root, user="ana@example.com")
    release(root, *CHANGES["the restated model"])
    for user, ended in (("bob@example.com", False), ("ana@example.com", True)):
        place = unsparked(root, user=user)
        found = claim_of(place, plan_request(place, RESTATE))
        assert not found.collisions
        assert (len(found.supersedes), len(found.beside)) == ((1, 0) if ended else (0, 1))
