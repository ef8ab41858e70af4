"""What the gate will refuse is said before anything is built: every rule that can be judged by then is asked."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.build.apply import apply
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Column, Signature
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.gate import RULES, gate
from backfill_assets.promote.gate_forecast import RULES_AFTER_BUILDING, RULES_BEFORE_BUILDING, forecast_obstacles
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, days

TEN = days("01", "10")


def ahead(world: World, plan: Plan, **more: object) -> list[str]:
    cases = world.cases()
    case = cases.promotion(plan.request, world.facts(), plan, **more)  # type: ignore[arg-type]
    found = forecast_obstacles(case, plan, cases.older_reads)
    return [f"{o.model}: {o.what} {o.intervals or ''}".strip() for o in found]


def refused(world: World, plan: Plan) -> list[str]:
    """What the gate says when the plan was carried out."""
    assert all(o.ok for o in apply(world.bench(), plan).values())
    case = world.cases().promotion(plan.request, world.facts(), world.plan(plan.request))
    return [f"{o.model}: {o.what} {o.intervals or ''}".strip() for o in gate(case).obstacles]


def released(*names: str, reads: dict[str, str] | None = None) -> World:
    """Ten days of these models' first versions, built and shown."""
    models = [a_model(n, *([(reads or {})[n]] if n in (reads or {}) else [])) for n in names]
    world = World(*models)
    apply(world.bench(), world.plan())
    pointers = [a_pointer(n, f"{n}-1", TEN, commit=world.tables.head(n, f"{n}-1")) for n in names]
    world.control.environments.flip(world.control.environments.read("prod"), pointers, release="r", at=NOW)
    return world


def with_code(world: World, *names: str, **versions: str) -> World:
    """The same warehouse, under newer code."""
    models = [world.project.models[n] for n in names]
    return World(*models, store=world.store, versions=versions, tables=world.tables)


def test_every_rule_is_asked_or_cannot_be() -> None:
    """A rule that is added to the gate has to be put on one side."""
    assert set(RULES_BEFORE_BUILDING) | set(RULES_AFTER_BUILDING) == set(RULES)
    assert not set(RULES_BEFORE_BUILDING) & set(RULES_AFTER_BUILDING)


def test_nothing_is_in_the_way_of_an_ordinary_plan() -> None:
    """First versions, newer ones, growth, restatements and new logic from a day on can all be shown then."""
    world = World(a_model("a", "raw"), a_model("b", "a"))
    assert ahead(world, world.plan()) == []
    shown = released("a", "b", reads={"b": "a"})
    newer = with_code(shown, "a", "b", a="2", b="2")
    assert ahead(newer, newer.plan()) == []
    since = Request(forward_only=days("05").start)
    assert ahead(newer, newer.plan(since)) == []
    again = Request(restate=(("a", days("03")),))
    assert ahead(shown, shown.plan(again)) == []


def test_a_range_that_loses_published_days() -> None:
    """A changed model over three days would take the other seven out of sight."""
    world = with_code(released("a"), "a", a="2")
    plan = world.plan(Request(start=days("01").start, end=days("03").end))
    assert ahead(world, plan) == ["a: prod would lose 2024-01-04..2024-01-10"]
    assert "a: prod would lose 2024-01-04..2024-01-10" in refused(world, plan)


def test_a_reader_that_stays_with_the_old_version() -> None:
    """Of two models that belong together one is selected: the gate says so, and so does the plan."""
    world = with_code(released("a", "b", reads={"b": "a"}), "a", "b", a="2", b="2")
    plan = world.plan(Request(select=("a",)))
    said = ["b: was built from a a-1, but prod would show a-2"]
    assert ahead(world, plan) == said
    assert said[0] in refused(world, plan)


def test_days_that_are_declared_empty() -> None:
    """What is declared complete is never shown, nor what is computed from it; other models of the plan wait with it."""
    world = World(a_model("a", "raw"), a_model("b", "a"), a_model("c", "raw"))
    _empty(world, days("02"))
    plan = world.plan()
    assert ahead(world, plan) == [
        "a: intervals are declared complete without rows: 2024-01-02",
        "b: intervals will be computed from declared-empty ones of a: 2024-01-02",
    ]
    world.engine.hollow = {"a"}
    assert refused(world, plan)[:1] == ["a: intervals are declared complete without rows: 2024-01-02"]


WORDS = (("ds", "date"), ("id", "string"))
IN_TWO_TYPES = (
    "a: column id would be string (2024-01-05..2024-01-10), which bigint cannot be cast to safely; "
    "it is bigint in the rows of 2024-01-01..2024-01-04"
)


def test_new_logic_from_a_day_on_of_a_type_that_older_rows_cannot_have() -> None:
    """Said before anything is built, where the code tells the type; a cast that loses nothing is in nobody's way."""
    since = Request(forward_only=days("05").start)
    for kind, said in (("string", IN_TWO_TYPES), ("bigint", ""), ("double", "would be double")):
        world = typed(with_code(released("a"), "a", a="2"), kind)
        found = ahead(world, world.plan(since))
        assert len(found) == bool(said) and all(said in one for one in found), kind
        assert ahead(world, world.plan()) == [], "all days of one type"


def test_a_type_that_is_known_when_the_table_is_made() -> None:
    """The gate says it then, and nobody promotes it or asks for an approval."""
    world = with_code(released("a"), "a", a="2")
    plan = world.plan(Request(forward_only=days("05").start))
    assert ahead(world, plan) == []
    world.engine.columns = WORDS
    assert IN_TWO_TYPES in refused(world, plan)
    assert not world.release(plan.request).moved


def test_an_inferred_type_says_nothing_of_a_column_that_is_as_it_was() -> None:
    """Its table has a type, whatever is inferred: of the same logic, and of a column with the same hash."""
    world = typed(released("a"), "string")
    assert ahead(world, world.plan(Request(restate=(("a", days("03")),)))) == []
    for now, said in (("same", []), ("other", [IN_TWO_TYPES])):
        newer = typed(with_code(released("a"), "a", a="2"), "string")
        old = newer.control.versions.all()["a", "a-1"]
        signature = Signature(rows="r", columns={"ds": "d", "id": "same"})
        newer.control.versions.sign_again([replace(old, signature=signature)])
        new = replace(signature, columns={"ds": "other", "id": now})
        newer.project = replace(newer.project, signatures={"a": new})
        assert ahead(newer, newer.plan(Request(forward_only=days("05").start))) == said


def typed(world: World, kind: str) -> World:
    """The code says that `id` is of this type."""
    columns = (Column(name="ds", type="date"), Column(name="id", type=kind))
    world.project = replace(world.project, columns={"a": columns})
    return world


def test_what_preflight_misses() -> None:
    """What has to be known before history is rewritten is a rule like the others."""
    world = with_code(released("a"), "a", a="2")
    plan = world.plan()
    gap = Gap(subject="a", what="has no owner", remedy="name one", blocking=True)
    cases = world.cases(required=True)
    case = cases.promotion(Request(), world.facts(), plan, gaps=[gap])
    assert [o.what for o in forecast_obstacles(case, plan, cases.older_reads)] == ["has no owner"]


def test_what_waits_holds_up_nothing() -> None:
    """A model whose upstream is not there stays as it is shown."""
    world = World(a_model("a", "raw"), a_model("b", "a"), a_model("c", "raw"))
    plan = world.plan(Request(select=("b", "c")))
    assert plan.blocked
    assert ahead(world, plan) == []


def _empty(world: World, interval: Interval) -> None:
    world.control.ledger.append([Entry(kind=Kind.EMPTY, model="a", version="a-1", interval=interval, at=NOW)])
