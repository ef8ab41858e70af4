"""A restatement is of the logic that is shown: nothing puts it over other logic, whoever approved it before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.context import Context
from backfill_assets.app.plan import claim_of, plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import RollbackOutcome, roll_back
from backfill_assets.app.waiting import read_waiting
from backfill_assets.app.watch import look_at_sources
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.segments import Segment, Segments, logic_of, revision_of
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.stages import Request
from backfill_assets.promote.overtaken import overtaken
from backfill_assets.state.environment import Environment
from backfill_assets_tests.fakes import World, a_model, a_pointer, days
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
    assert plan in [record.id for record in read_waiting(place).overtaken]
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


def segments(*parts: tuple[str, str, str]) -> Environment:
    """What prod shows of a: versions, each from a day to a day."""
    found = Segments(Segment(version=v, commit=1, interval=days(first, last)) for v, first, last in parts)
    pointer = replace(a_pointer("a", parts[0][0], days("01", "02")), segments=found)
    return Environment(name="prod", revision=1, pointers={"a": pointer}, releases={})


OLD, NEW = "a-1", "a-2"
AGAIN, REPLACES = Request(restate=(("a", days("03", "04")),)), Request()


@pytest.mark.parametrize(
    ("shown", "request_", "said"),
    [
        (segments((OLD, "01", "09")), AGAIN, False),
        (segments((revision_of(OLD, "x"), "01", "09")), AGAIN, False),
        (segments((NEW, "01", "09")), AGAIN, True),
        (segments((OLD, "01", "05"), (NEW, "06", "09")), AGAIN, False),
        (segments((NEW, "01", "05"), (OLD, "06", "09")), AGAIN, True),
        (segments((OLD, "01", "03"), (NEW, "04", "09")), AGAIN, True),
        (segments((OLD, "01", "03")), AGAIN, True),
        (Environment(name="prod", revision=1, pointers={}, releases={}), AGAIN, True),
        (segments((NEW, "01", "05"), (OLD, "06", "09")), REPLACES, False),
        (segments((OLD, "01", "05"), (NEW, "06", "09")), REPLACES, True),
    ],
)
def test_what_is_shown_of_its_days_decides(shown: Environment, request_: Request, said: bool) -> None:
    """A restatement is of the logic that its days are shown by; what replaces older logic, of the newest."""
    plan = World(a_model("a")).plan()
    patch = Patch(version=revision_of(OLD, "y"), intervals=Ranges((days("03", "04"),)))
    stored = replace(plan, request=request_, patches={"a": patch})
    assert [*overtaken(shown, stored)] == (["a"] if said else [])
    assert not overtaken(shown, replace(stored, patches={"a": replace(patch, version=OLD)}))
    assert not overtaken(shown, None)


def leaf(root: Path, first: str, last: str, *, red: bool = False) -> str:
    """Days of `running`, which nobody reads, are computed again; what audits find `red` is left."""
    request = Request(restate=(("running", Interval(utc(first), utc(last))),))
    place = unsparked(root, red={utc("2024-01-04")} if red else set(), user="dev")
    return build(place, request)[0].id


@pytest.mark.parametrize(("last", "put"), [("2024-01-09", False), ("2024-01-05", True)])
def test_days_that_were_built_for_a_plan_before(tmp_path: Path, last: str, put: bool) -> None:
    """They are its days as well: where new logic begins among them it is refused, where it begins after them not."""
    root = project(tmp_path)
    audited = "lookback: 1\naudits:\n  - not_null: [ds]"
    edit(root / "models" / "running.sql", "lookback: 1", audited)
    promoted(root)
    abandon_plan(unsparked(root, user="dev"), leaf(root, "2024-01-03", last, red=True))
    plan = leaf(root, "2024-01-03", last)
    _, old, new = CHANGES["what reads it"]
    edit(root / "models" / "running.sql", old, new)
    place = unsparked(root, user="dev")
    built, _ = build(place, Request(forward_only=utc("2024-01-06")))
    prove(place, built.id)
    assert promote_plan(place, plan=built.id).verdict.open
    before = unsparked(root).control.environments.read("prod").pointers["running"].segments
    place = unsparked(root, user="dev")
    if put:
        prove(place, plan)
        assert promote_plan(place, plan=plan).verdict.open
    else:
        with pytest.raises(PlanError, match="there by now") as no:
            promote_plan(place, plan=plan)
        assert no.value.fix == f"`backfill abandon {plan}`; then `backfill plan` says what can be computed again"
    after = unsparked(root).control.environments.read("prod").pointers["running"].segments
    assert (after == before) != put and after[-1] == before[-1]


def test_logic_that_came_back_for_newer_days_only(tmp_path: Path) -> None:
    """What is restated is shown again, of other days."""
    root = project(tmp_path)
    plan = leaf(root, "2024-01-03", "2024-01-04")
    model, old, new = CHANGES["what reads it"]
    release(root, model, old, new)
    edit(root / "models" / f"{model}.sql", new, old)
    place = unsparked(root, user="dev")
    built, _ = build(place, Request(forward_only=utc("2024-01-06")))
    prove(place, built.id)
    assert promote_plan(place, plan=built.id).verdict.open
    with pytest.raises(PlanError, match="there by now"):
        promote_plan(unsparked(root, user="dev"), plan=plan)


def test_a_plan_that_was_promoted_is_not_put_over_what_came_since(tmp_path: Path) -> None:
    """Again it moves nothing; over another release it is refused."""
    root = project(tmp_path)
    plan = restated(root)
    assert promote_plan(unsparked(root, user="dev"), plan=plan).verdict.open
    assert not promote_plan(unsparked(root, user="dev"), plan=plan).verdict.moves
    other = leaf(root, "2024-01-03", "2024-01-04")
    prove(unsparked(root), other)
    assert promote_plan(unsparked(root, user="dev"), plan=other).verdict.open
    before = unsparked(root).control.environments.read("prod").pointers
    with pytest.raises(PlanError, match="was promoted already, and prod shows something else by now"):
        promote_plan(unsparked(root, user="dev"), plan=plan)
    assert unsparked(root).control.environments.read("prod").pointers == before


def test_a_plan_that_was_rolled_back_is_judged_anew(tmp_path: Path) -> None:
    """As one that is open: the gate says what it lacks."""
    root = project(tmp_path)
    plan = restated(root)
    assert promote_plan(unsparked(root, user="dev"), plan=plan).verdict.open
    assert back(root).ended.moved is not None
    closed = promote_plan(unsparked(root, user="dev"), plan=plan).verdict
    assert ["was not compared" in o.what for o in closed.obstacles] == [True, True]


def test_a_plan_that_a_newer_one_took_the_place_of_is_not_promoted(tmp_path: Path) -> None:
    """It says which one; nothing moves, also from the code of the older one."""
    root = project(tmp_path)
    edit(root / "models" / "daily.sql", "sum(amount)", "2 * sum(amount)")
    older = build(unsparked(root, user="dev"))[0].id
    prove(unsparked(root), older)
    edit(root / "models" / "daily.sql", "2 * sum(amount)", "3 * sum(amount)")
    newer = build(unsparked(root, user="dev"))[0].id
    edit(root / "models" / "daily.sql", "3 * sum(amount)", "2 * sum(amount)")
    before = unsparked(root).control.environments.read("prod").pointers
    with pytest.raises(PlanError, match=f"plan {older} was superseded at .* by dev's plan {newer}") as told:
        promote_plan(unsparked(root, user="dev"), plan=older)
    assert told.value.fix == f"backfill promote {newer}"
    assert unsparked(root).control.environments.read("prod").pointers == before


def test_the_watch_knows_what_is_restated_already(tmp_path: Path) -> None:
    """As long as its plan is open."""
    root = project(tmp_path)
    plan = restated(root)
    place = unsparked(root)
    assert look_at_sources(place, place.facts()).restating == {"daily": plan, "running": plan}
    assert promote_plan(unsparked(root, user="dev"), plan=plan).verdict.open
    place = unsparked(root)
    assert look_at_sources(place, place.facts()).restating == {}
