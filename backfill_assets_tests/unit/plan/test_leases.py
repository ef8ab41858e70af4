"""Who else is changing these models? The truth table of leases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.plan.leases import Claim, claim, targets
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import parallel_plan_text
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, days


def make(versions: dict[str, str], shown: Environment, select: tuple[str, ...] = ()) -> Plan:
    """The plan for models that do not read each other, when nothing is built."""
    world = World(*(a_model(name) for name in versions), versions=versions)
    facts = replace(world.facts(), environment=shown)
    return make_plan(world.project, facts, Request(select=select))


def environment(**versions: str) -> Environment:
    """What prod shows, over the first five days."""
    pointers = {name: a_pointer(name, f"{name}-{v}", days("01", "05")) for name, v in versions.items()}
    return Environment(name="prod", revision=1, pointers=pointers, releases={})


def opened(plan: Plan, by: str, status: PlanStatus = PlanStatus.OPEN) -> PlanRecord:
    return PlanRecord(
        id=plan.id,
        environment=plan.environment,
        targets=targets(plan),
        created=NOW,
        by=by,
        status=status,
        since=NOW,
    )


def look(plan: Plan, other: PlanRecord, asked: Request | None = None, *, by: str = "bob") -> Claim:
    """How a plan stands to an open one, of which somebody asked for all, or for that."""
    return claim(plan, [other], PROD, by=by, request_of=lambda _: asked or Request(), code=code_of(other))


def code_of(record: PlanRecord) -> dict[str, str]:
    """The code that a plan was made of."""
    return {target.model: target.version for target in record.targets}


PROD = environment(a="1", b="1")


@pytest.mark.parametrize(
    ("theirs", "by", "status", "mine", "expected"),
    [
        ({"a": "2"}, "ana", PlanStatus.OPEN, {"a": "3"}, "collides"),
        ({"a": "2"}, "ana", PlanStatus.APPLIED, {"a": "3"}, "collides"),
        ({"a": "2"}, "ana", PlanStatus.OPEN, {"b": "3"}, "free"),
        ({"a": "2"}, "ana", PlanStatus.OPEN, {"a": "2"}, "continues"),
        ({"a": "2", "b": "2"}, "ana", PlanStatus.OPEN, {"a": "2"}, "beside"),
        ({"a": "2", "b": "2"}, "bob", PlanStatus.OPEN, {"a": "2"}, "beside"),
        ({"a": "2"}, "ana", PlanStatus.OPEN, {"a": "2", "b": "2"}, "beside"),
        ({"a": "2", "b": "2"}, "ana", PlanStatus.OPEN, {"a": "2", "b": "3"}, "collides"),
        ({"a": "2"}, "ana", PlanStatus.OPEN, {"a": "1"}, "free"),
        ({"a": "1"}, "ana", PlanStatus.OPEN, {"a": "2"}, "free"),
        ({"a": "2"}, "bob", PlanStatus.OPEN, {"a": "3"}, "supersedes"),
        ({"a": "2", "b": "2"}, "bob", PlanStatus.APPLIED, {"b": "3"}, "supersedes"),
        ({"a": "2"}, "bob", PlanStatus.OPEN, {"a": "2", "b": "2"}, "beside"),
        ({"a": "2"}, "bob", PlanStatus.OPEN, {"b": "2"}, "free"),
        ({"a": "2"}, "ana", PlanStatus.PROMOTED, {"a": "3"}, "free"),
        ({"a": "2"}, "ana", PlanStatus.ABANDONED, {"a": "3"}, "free"),
        ({"a": "2"}, "ana", PlanStatus.SUPERSEDED, {"a": "3"}, "free"),
    ],
)  # fmt: skip
def test_truth_table(theirs: dict[str, str], by: str, status: PlanStatus, mine: dict[str, str], expected: str) -> None:
    """Bob plans `mine`, by name, while `by`'s plan of `theirs` has a status; prod shows version 1 of a and b."""
    other = make(theirs, PROD, tuple(theirs))
    found = look(make(mine, PROD, tuple(mine)), opened(other, by, status), other.request)
    said = {
        "collides": bool(found.collisions),
        "continues": found.continues is not None,
        "supersedes": bool(found.supersedes),
        "beside": bool(found.beside),
    }
    assert [word for word, true in said.items() if true] == ([expected] if expected != "free" else [])


@pytest.mark.parametrize(
    ("by", "theirs", "mine", "expected"),
    [
        ("ana", {"a": "2", "b": "2"}, {"a": "2"}, "continues"),
        ("ana", {"a": "2"}, {"a": "2", "b": "2"}, "free"),
        ("bob", {"a": "2"}, {"a": "2", "b": "2"}, "supersedes"),
    ],
)  # fmt: skip
def test_the_same_request(by: str, theirs: dict[str, str], mine: dict[str, str], expected: str) -> None:
    """What is left of all that was asked for is no new plan; of more code than there was, the newer one replaces it."""
    found = look(make(mine, PROD), opened(make(theirs, PROD), by))
    said = {
        "continues": found.continues is not None,
        "supersedes": bool(found.supersedes),
        "beside": bool(found.beside),
    }
    assert [word for word, true in said.items() if true] == ([expected] if expected != "free" else [])


@pytest.mark.parametrize(
    "asked",
    [
        Request(start=days("03").start),
        Request(end=days("09").end),
        Request(select=("a",)),
        Request(ignore_cron=True),
        Request(forward_only=days("05").start),
        Request(restate=(("a", days("03")),)),
        Request(strategies=(("a", "dual-run"),)),
        Request(expect_unmoved=("a.id",)),
        Request(expect_moved=("a",)),
    ],
)
@pytest.mark.parametrize("by", ["ana", "bob"])
def test_another_request_never_goes_on_with_a_plan(asked: Request, by: str) -> None:
    """Nor ends it, whoever opened it and whatever of it is the same: it is named, and it is another plan."""
    plan = make({"a": "2", "b": "2"}, PROD)
    other = opened(plan, by)
    found = look(replace(plan, request=asked), other)
    assert [(b.plan, b.request) for b in found.beside] == [(other, Request())]
    assert found.continues is None and not found.supersedes and not found.collisions
    assert replace(plan, request=asked).id != plan.id


def test_an_own_restatement_does_not_replace_another_one() -> None:
    """Day five is restated; then day three is asked for, by the same person: the first may be approved already. The
    same days of newer source data are the same request."""
    third, fifth = Request(restate=(("a", days("03")),)), Request(restate=(("a", days("05")),))
    first, second = (make({"a": f"1.{revision}"}, PROD) for revision in ("11", "22"))
    other = opened(replace(first, request=fifth), "bob")
    found = look(replace(second, request=third), other, fifth)
    assert [c.plan for c in found.collisions] == [other] and not found.supersedes
    assert look(replace(second, request=fifth), other, fifth).supersedes == (other,)


def test_a_collision_names_the_models() -> None:
    """Only those that both change to different versions."""
    other = opened(make({"a": "2", "b": "2"}, PROD), "ana")
    [collision] = look(make({"a": "2", "b": "3"}, PROD), other).collisions
    assert collision.plan == other and collision.models == ("b",)


def test_plans_for_another_environment_are_no_matter() -> None:
    """A sandbox and prod can show different versions at once."""
    other = replace(opened(make({"a": "2"}, PROD), "ana"), environment="sandbox")
    found = look(make({"a": "3"}, PROD), other)
    assert not found.collisions and not found.supersedes and found.continues is None


@pytest.mark.parametrize("code", [{"a": "a-2"}, {"a": "a-2", "b": "b-1"}], ids=["deleted", "taken back"])
def test_a_plan_of_a_model_that_the_code_does_not_have_so_is_not_gone_on_with(code: dict[str, str]) -> None:
    """Nobody could finish it by this code: one's own is replaced, another person's stays as it is."""
    other = opened(make({"a": "2", "b": "2"}, PROD), "ana")
    mine = make({"a": "2"}, PROD)
    own, others = (
        claim(mine, [other], PROD, by=by, request_of=lambda _: Request(), code=code) for by in ("ana", "bob")
    )
    assert own == Claim(supersedes=(other,)) and others == Claim()
    both = code | {"b": "b-2"}
    assert claim(mine, [other], PROD, by="bob", request_of=lambda _: Request(), code=both).continues == other


def test_a_restatement_and_a_new_version_can_both_be_open() -> None:
    """Mending what prod shows waits for nobody's work on the next version, which is told of; two restatements exclude
    each other."""
    new = opened(make({"a": "2"}, PROD), "ana")
    mending, again = (make({"a": f"1.{revision}"}, PROD) for revision in ("11", "22"))
    assert not look(mending, new).collisions
    [told] = look(mending, new).beside
    assert (told.plan, told.moves) == (new, ("a",)) and "is open and moves a as well" in parallel_plan_text(told)
    assert not look(mending, new, by="ana").supersedes
    assert look(again, opened(mending, "ana")).collisions


def test_a_lease_ends_when_the_environment_shows_the_version() -> None:
    """Also when whoever promoted it died before saying so."""
    other = opened(make({"a": "2"}, PROD), "ana")
    code = code_of(other)
    found = claim(
        make({"a": "3"}, PROD), [other], environment(a="2"), by="bob", request_of=lambda _: Request(), code=code
    )
    assert not found.collisions


def test_the_same_situation_gives_the_same_plan() -> None:
    """The id and the versions do not depend on the clock; another version is another plan."""
    plan = make({"a": "2"}, PROD)
    assert plan.id == make({"a": "2"}, PROD).id == replace(plan, now=days("09").start).id
    assert targets(plan) == targets(make({"a": "2"}, PROD))
    assert plan.id != make({"a": "3"}, PROD).id
