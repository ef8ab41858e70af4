"""A reader's table of before comes back, as its code does. What it reads has other logic by now, of which it reads
nothing. Rows came to the source in between: they are in what it would be shown beside, and not in it."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.gate import gate
from backfill_assets.promote.gate_forecast import forecast_obstacles
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, days
from backfill_assets_tests.unit.promote.test_beside_newer import built, released

MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c", "b"))
RESTATED = Request(restate=(("a", days("03")),))


def code(world: World, **versions: str) -> None:
    world.project = a_project(*world.project.models.values(), versions=versions)


def there_and_back(*, late: bool) -> World:
    """Ten days are shown, one of them restated; b and c moved with a, and the tables of before are those of the code
    by now. (`late`: after rows had come.)"""
    world = World(*MODELS)
    released(world)
    if late:
        world.rows_come(days("03"))
    released(world, RESTATED)
    code(world, a="2", b="2", c="2")
    released(world)
    code(world, a="3")
    built(world)
    return world


def case(world: World) -> Case:
    return world.cases(required=False).promotion(Request(), world.facts(), world.plan())


def older(case: Case) -> dict[str, str]:
    found = [o for o in gate(case).obstacles if "computed from other rows" in o.what]
    return {o.model: f"{o.what} {o.intervals} {o.remedy}" for o in found}


def test_what_came_is_not_lost() -> None:
    """The day is refused, before anything is built as well; computed again it is shown."""
    world = there_and_back(late=True)
    refused = older(case(world))
    assert [*refused] == ["b"] and "2024-01-03 backfill withdraw b:2024-01-03" in refused["b"]
    plan, cases = world.plan(), world.cases(required=False)
    ahead = forecast_obstacles(cases.promotion(Request(), world.facts(), plan), plan, cases.older_reads)
    assert [o.model for o in ahead if "computed from other rows" in o.what] == ["b"]
    withdraw(world.control, world.tables, world.project, [("b", days("03"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {}


def test_where_nothing_came_it_is_shown() -> None:
    """Computing a day again made no other rows of it."""
    assert older(case(there_and_back(late=False))) == {}


def test_what_came_through_models_between() -> None:
    """d reads nothing of what c does otherwise; rows came to the source of a, which stays as it is, as b does."""
    world = World(*MODELS, a_model("d", "c"))
    released(world)
    world.rows_come(days("03"))
    released(world, RESTATED)
    code(world, c="2", d="2")
    released(world)
    code(world, c="3")
    built(world)
    refused = older(case(world))
    assert [*refused] == ["d"] and "2024-01-03 backfill withdraw d:2024-01-03" in refused["d"]


def test_a_table_that_waited() -> None:
    """A candidate's: it was never shown."""
    world = World(*MODELS)
    released(world)
    code(world, a="2", b="2", c="2")
    built(world)
    world.rows_come(days("03"))
    code(world, a="3", b="2", c="2")
    withdraw(world.control, world.tables, world.project, [("a", days("03"))], now=NOW, by="dev")
    built(world)
    assert [*older(case(world))] == ["b"]


def under_another_name(*, late: bool) -> World:
    """Of a and b, b went on with a1, and a was taken out; `late`: then rows came and were shown. By now a is called a3,
    and b is what it was when it read a."""
    world = World(a_model("a", "raw"), a_model("b", "a"))
    released(world)
    world.project = a_project(a_model("a1", "raw"), a_model("b", "a1"), versions={"b": "2"})
    released(world)
    shown = world.control.environments.read("prod")
    world.control.environments.flip(shown, [], remove=["a"], release="out", at=NOW, note=ReleaseNote(by="dev"))
    if late:
        world.rows_come(days("03"))
        released(world, Request(restate=(("a1", days("03")),)))
    world.project = a_project(a_model("a3", "raw"), a_model("b", "a3"))
    world.project = replace(world.project, fingerprints={"a3": "a-1", "b": "b-1"})
    built(world)
    return world


def test_it_read_what_has_another_name_by_now() -> None:
    """Batches say the name of that time; what came is not lost for that."""
    world = under_another_name(late=True)
    refused = older(case(world))
    assert [*refused] == ["b"] and "2024-01-03 backfill withdraw b:2024-01-03" in refused["b"]
    withdraw(world.control, world.tables, world.project, [("b", days("03"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {}
    assert older(case(under_another_name(late=False))) == {}
