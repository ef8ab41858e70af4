"""Who else is changing these models? The truth table of leases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.plan.leases import claim, targets
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, Status
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


def opened(plan: Plan, by: str, status: Status = Status.OPEN) -> PlanRecord:
    return PlanRecord(
        id=plan.id,
        environment=plan.environment,
        targets=targets(plan),
        created=NOW,
        by=by,
        status=status,
        since=NOW,
    )


PROD = environment(a="1", b="1")


@pytest.mark.parametrize(
    ("theirs", "by", "status", "mine", "expected"),
    [
        ({"a": "2"}, "ana", Status.OPEN, {"a": "3"}, "collides"),
        ({"a": "2"}, "ana", Status.APPLIED, {"a": "3"}, "collides"),
        ({"a": "2"}, "ana", Status.OPEN, {"b": "3"}, "free"),
        ({"a": "2"}, "ana", Status.OPEN, {"a": "2"}, "continues"),
        ({"a": "2", "b": "2"}, "ana", Status.OPEN, {"a": "2"}, "continues"),
        ({"a": "2"}, "ana", Status.OPEN, {"a": "2", "b": "2"}, "free"),
        ({"a": "2", "b": "2"}, "ana", Status.OPEN, {"a": "2", "b": "3"}, "collides"),
        ({"a": "2"}, "ana", Status.OPEN, {"a": "1"}, "free"),
        ({"a": "1"}, "ana", Status.OPEN, {"a": "2"}, "free"),
        ({"a": "2"}, "bob", Status.OPEN, {"a": "3"}, "supersedes"),
        ({"a": "2", "b": "2"}, "bob", Status.APPLIED, {"b": "3"}, "supersedes"),
        ({"a": "2"}, "bob", Status.OPEN, {"a": "2", "b": "2"}, "supersedes"),
        ({"a": "2"}, "bob", Status.OPEN, {"b": "2"}, "free"),
        ({"a": "2"}, "ana", Status.PROMOTED, {"a": "3"}, "free"),
        ({"a": "2"}, "ana", Status.ABANDONED, {"a": "3"}, "free"),
        ({"a": "2"}, "ana", Status.SUPERSEDED, {"a": "3"}, "free"),
    ],
)  # fmt: skip
def test_truth_table(theirs: dict[str, str], by: str, status: Status, mine: dict[str, str], expected: str) -> None:
    """Bob plans `mine` while `by`'s plan of `theirs` has a status; prod shows version 1 of a and b."""
    other = opened(make(theirs, PROD, tuple(theirs)), by, status)
    found = claim(make(mine, PROD, tuple(mine)), [other], PROD, by="bob")
    said = {
        "collides": bool(found.collisions),
        "continues": found.continues is not None,
        "supersedes": bool(found.supersedes),
    }
    assert [word for word, true in said.items() if true] == ([expected] if expected != "free" else [])


def test_a_collision_names_the_models() -> None:
    """Only those that both change to different versions."""
    other = opened(make({"a": "2", "b": "2"}, PROD), "ana")
    [collision] = claim(make({"a": "2", "b": "3"}, PROD), [other], PROD, by="bob").collisions
    assert collision.plan == other and collision.models == ("b",)


def test_plans_for_another_environment_are_no_matter() -> None:
    """A sandbox and prod can show different versions at once."""
    other = replace(opened(make({"a": "2"}, PROD), "ana"), environment="sandbox")
    found = claim(make({"a": "3"}, PROD), [other], PROD, by="bob")
    assert not found.collisions and not found.supersedes and found.continues is None


def test_a_restatement_and_a_new_version_can_both_be_open() -> None:
    """Mending what prod shows waits for nobody's work on the next version; two restatements exclude each other."""
    new = opened(make({"a": "2"}, PROD), "ana")
    mending, again = (make({"a": f"1.{revision}"}, PROD) for revision in ("11", "22"))
    assert not claim(mending, [new], PROD, by="bob").collisions
    assert not claim(mending, [new], PROD, by="ana").supersedes
    assert claim(again, [opened(mending, "ana")], PROD, by="bob").collisions


def test_a_lease_ends_when_the_environment_shows_the_version() -> None:
    """Also when whoever promoted it died before saying so."""
    other = opened(make({"a": "2"}, PROD), "ana")
    assert not claim(make({"a": "3"}, PROD), [other], environment(a="2"), by="bob").collisions


def test_the_same_situation_gives_the_same_plan() -> None:
    """The id and the versions do not depend on the clock; another version is another plan."""
    plan = make({"a": "2"}, PROD)
    assert plan.id == make({"a": "2"}, PROD).id == replace(plan, now=days("09").start).id
    assert targets(plan) == targets(make({"a": "2"}, PROD))
    assert plan.id != make({"a": "3"}, PROD).id
