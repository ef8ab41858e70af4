"""What a run that ended says: of many batches that failed alike once, with all of their intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.build.outcome import FailedInterval, Outcome
from backfill_assets.cli.outcomes import print_next, print_outcomes
from backfill_assets.core.intervals import utc
from backfill_assets.plan.commands import awaited_command
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import World, a_model, days, ranges


def test_one_reason_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """By the day or the range; another reason stands for itself."""
    world = World(a_model("a", "raw"))
    why = "cannot build a {}\nwhy: Division by zero"
    said = [
        (days("03"), why),
        (days("05", "06"), why),
        (days("08"), "cannot build a {}\nwhy: no room"),
        (days("07"), why),
        *((days(day), "cannot build a {0}\nwhy: CHECK (ds >= DATE '{0}')") for day in ("04", "09")),
    ]
    failed = Outcome(
        model="a",
        version="1",
        requested=ranges(days("01", "08")),
        green=ranges(days("01", "02")),
        failures=tuple(FailedInterval(interval=at, error=text.format(at)) for at, text in said),
    )
    print_outcomes(world.plan(), {"a": failed}, world.project)
    printed = capsys.readouterr().out
    assert "cannot build a 2024-01-03, 2024-01-05..2024-01-07\nwhy: Division by zero\n" in printed
    assert "cannot build a 2024-01-04\nwhy: CHECK (ds >= DATE '2024-01-04')\n" in printed, "what it quotes stays"
    assert printed.count("Division by zero") == 1 and "cannot build a 2024-01-08\nwhy: no room" in printed


def test_nothing_to_build_says_what_is_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who applies a project over sources that were never loaded learns why nothing happens."""
    world = World(a_model("a", "raw"))
    world.extents = {"raw": None}
    plan = world.plan()
    print_outcomes(plan, {}, world.project)
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"Nothing to build: plan {plan.id} has no missing interval.",
        "raw has no rows for 10 days of a, 2024-01-01..2024-01-10: not expected until there are some",
    ]


def test_nothing_to_build_says_what_is_red(capsys: pytest.CaptureFixture[str]) -> None:
    """Not "nothing" alone to somebody who applies the plan of an audit that failed."""
    world = World(a_model("a", "raw"), a_model("b", "raw"))
    kept = {"a": "complete; 2024-01-03 is red, and stays shown", "b": "complete and audited"}
    print_outcomes(replace(world.plan(), stages=(), kept=kept), {}, world.project)
    assert capsys.readouterr().out.splitlines()[1:] == ["a: complete; 2024-01-03 is red, and stays shown"]


@pytest.mark.parametrize(("lacking", "first"), [(False, ""), (True, "mend what backfill preflight names, then ")])
def test_what_comes_next(capsys: pytest.CaptureFixture[str], lacking: bool, first: str) -> None:
    """What closes the gate comes before the promotion, which would be refused."""
    print_next(World(a_model("a", "raw")).plan(), "", lacking=lacking)
    assert capsys.readouterr().out == f"prod is unchanged. Next: {first}backfill promote\n"


def test_what_was_not_selected_is_selected(capsys: pytest.CaptureFixture[str]) -> None:
    """A model waits for another one that nobody selected: the same command would wait again, so the one that builds
    both is said. What waits for rows of a source has none."""
    world = World(a_model("a", "raw"), a_model("b", "a"), a_model("c", "raw"))
    plan = world.plan(Request(select=("b", "c")))
    assert [(w.model, w.upstream) for w in plan.blocked] == [("b", "a")]
    command = "backfill apply --select c --select +b"
    assert awaited_command(plan, world.project.models) == command
    assert {"a", "b", "c"} == set(world.plan(Request(select=("c", "+b"))).models)
    print_outcomes(replace(plan, stages=()), {}, world.project)
    assert capsys.readouterr().out.splitlines()[-1] == f"Next, with what was not selected and is waited for: {command}"
    assert awaited_command(world.plan(), world.project.models) == ""

    chain = World(a_model("a", "raw"), a_model("b", "a"), a_model("d", "b"))
    both = awaited_command(chain.plan(Request(select=("b", "d"))), chain.project.models)
    assert both == "backfill apply --select d --select +b", "what waits for a selected one is built with it"
    world.ready_until["raw"] = utc("2024-01-05")
    assert awaited_command(world.plan(Request(select=("a", "b"))), world.project.models) == ""
    assert awaited_command(world.plan(Request(select=("b",))), world.project.models) == "backfill apply --select +b"
