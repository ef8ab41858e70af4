"""What is wrong with published rows is told for what it is, with the restatement that replaces them; it stays shown."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.model import Audit
from backfill_assets.plan.facts import shown_states
from backfill_assets.plan.faults import Fault, faults
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.ledger import LEDGER, Kind, by_version
from backfill_assets_tests.fakes import World, a_model, a_project, days, ranges

MODELS = (a_model("a", "raw"), a_model("b", "a"))


def published() -> World:
    """Ten days of both are shown."""
    world = World(*MODELS)
    apply(world.bench(), world.plan())
    assert world.release().moved
    return world


def found(world: World) -> list[Fault]:
    """What `backfill plan` and `status` say."""
    shown, control = world.control.environments.read("prod"), world.control
    states = shown_states(world.project, shown.pointers, by_version(control.ledger.entries()), world.tables)
    proofs = rehearse(list(shown.pointers.values()), world.tables, world.tables, control.ledger, footers=False)
    return list(faults(world.project, shown, states, damages(world.project, proofs)))


def told(world: World) -> list[str]:
    return [f"{f.kind.value} {f.model} {f.intervals}" for f in found(world)]


def test_nothing_is_wrong() -> None:
    """With what was promoted and left alone; nor with an environment that shows nothing."""
    assert told(published()) == told(World(*MODELS)) == []


def test_a_damaged_file() -> None:
    """Its interval is named, with the command that puts others beside it; nothing is built over it."""
    world = published()
    world.tables.lost_files.add(("a", utc("2024-01-03")))
    (fault,) = found(world)
    assert str(fault).startswith("damaged: a 2024-01-03: 2024-01-03 is missing; it stays shown")
    assert fault.remedy.startswith("backfill apply --restate a:2024-01-03,")
    assert world.plan().work == ()


def test_of_very_many_files_some_are_looked_at() -> None:
    """Those that nobody looked at for longest; of the others nothing is said. What nobody remembers is looked at, and
    all of it where nobody says how much."""
    world = World(*(a_model(name, "raw") for name in "abcdefghijkl"))
    apply(world.bench(), world.plan())
    assert world.release().moved
    pointers = list(world.control.environments.read("prod").pointers.values())
    world.tables.looks = {(p.model, p.version): 100.0 - at for at, p in enumerate(pointers)}
    del world.tables.looks["c", "c-1"]
    world.tables.lost_files |= {("c", utc("2024-01-03")), ("a", utc("2024-01-03"))}

    def looked_at(most: int | None) -> list[str]:
        world.tables.looked.clear()
        proofs = rehearse(pointers, world.tables, world.tables, None, footers=False, most=most)
        assert [p.model for p in proofs] == [p.model for p in pointers]
        names = sorted(model for model, _ in world.tables.looked)
        assert [p.model for p in proofs if p.segments] == names
        assert sum(p.files for p in proofs) == 10 * len(names)
        assert {p.model for p in proofs if p.broken} == {"a", "c"} & {*names}
        return names

    assert looked_at(70) == ["c", *"fghijkl"], "beside what is broken"
    assert looked_at(71) == looked_at(90) == ["c", *"defghijkl"]
    assert looked_at(91) == looked_at(None) == [*"abcdefghijkl"]
    assert looked_at(0) == []
    world.tables.looks.clear()
    assert looked_at(70) == [*"abcdefghijkl"], "nobody remembers when"
    world.tables.looks = {(p.model, p.version): 1.0 for p in pointers}
    seen = {name for _ in range(60) for name in looked_at(20)}
    assert seen == {*"abcdefghijkl"}, "of what cannot be remembered, any"


def test_somebody_elses_commit() -> None:
    """Is neither missing nor gone: what was there before is shown."""
    world = published()
    world.tables.foreign("a", "a-1")
    assert told(world) == ["foreign a 2024-01-01..2024-01-10"]
    assert world.plan().work == () and "table is gone" not in str(world.plan().to_json())


def test_a_lost_ledger() -> None:
    """Nobody knows a batch of these rows; they stay shown, and are not built again."""
    world = published()
    world.store.table(LEDGER).rows.clear()  # type: ignore[attr-defined]
    assert told(world) == ["unknown a 2024-01-01..2024-01-10", "unknown b 2024-01-01..2024-01-10"]
    assert world.plan().work == ()


def test_a_table_that_is_gone() -> None:
    """Is damage, and told once."""
    world = published()
    world.tables.drop("b", "b-1")
    (fault,) = found(world)
    assert (fault.kind.value, fault.model, str(fault.intervals)) == ("damaged", "b", "2024-01-01..2024-01-10")


def test_an_audit_that_turned_red() -> None:
    """By the audits of the loaded code; one that is not loaded any more is no news."""
    world = published()
    (built, *_) = [e for e in world.control.ledger.entries(["a"]) if e.kind is Kind.BUILT]
    red = replace(built, kind=Kind.INVALIDATED, at=utc("2030-01-01"), id="", interval=days("02"), reason="rows_ok: 5")
    world.control.ledger.append([replace(red, audits="others")])
    assert told(world) == []
    world.control.ledger.append([replace(red, id="x")])
    assert [str(f).splitlines()[0] for f in found(world)] == ["red: a 2024-01-02: rows_ok: 5; it stays shown"]
    assert world.plan().work == ()


def test_other_code_is_loaded() -> None:
    """A restatement takes the published logic: the remedy says so."""
    world = published()
    world.tables.lost_files.add(("a", utc("2024-01-03")))
    world.project = a_project(*MODELS, versions={"a": "2"})
    (fault,) = found(world)
    assert "promote the loaded code of a, which replaces all of it; or load a-1" in fault.remedy
    world.project = a_project(a_model("b"), versions={})
    (fault,) = found(world)
    assert "load the code of a" in fault.remedy


def test_edited_audits_turn_published_days_red() -> None:
    """`apply` runs the edited audit where the rows are shown: red is a finding, not something to be built again."""
    world = published()
    strict = replace(MODELS[0], audits=(Audit(name="strict", kind="not_null", arguments={"columns": ("id",)}),))
    world.project = a_project(strict, MODELS[1])
    head = world.tables.head("a", "a-1")
    cells = world.tables.cells("a", "a-1")
    cells[utc("2024-01-05")] = replace(cells[utc("2024-01-05")], failures={"strict": 3})
    outcome = apply(world.bench(run="again"), world.plan())["a"]
    assert outcome.red == ranges(days("05")) and not outcome.built
    assert world.tables.head("a", "a-1") == head and world.plan().work == ()
    assert told(world) == ["red a 2024-01-05"]
    assert world.control.environments.read("prod").pointers["a"].covers == Ranges((days("01", "10"),))
