"""When are rows copied instead of computed? When only names of columns differ, and nothing bad is known of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import ColumnRef, Override, Signature
from backfill_assets.core.segments import adopted_of
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.renamed_columns import renaming, still_copied
from backfill_assets.plan.sample import sample_plan
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.plan.strategy import Strategy
from backfill_assets.promote.gate_forecast import forecast_obstacles
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.tables import rows_of
from backfill_assets_tests.fakes import NOW, Cell, Crash, World, a_model, days, ranges, utc

RAW, DAILY = a_model("raw_model", "raw"), a_model("daily", "raw_model", "other", grain=("ds", "id"))
OLD = {"ds": "d", "id": "i", "total": "t", "most": "m"}


def signed(columns: Mapping[str, str], *, rows: str = "r", code: str = "") -> Signature:
    return Signature(rows=rows, columns=dict(columns), code=code)


def loaded(world: World, columns: Mapping[str, str] = OLD, *, rows: str = "r", to: str = "1") -> None:
    """The world's project with a text of `daily` of this meaning."""
    base = World(RAW, DAILY, versions={"daily": to}, store=world.store, tables=world.tables).project
    world.project = replace(base, signatures={"daily": signed(columns, rows=rows), "raw_model": signed({"ds": "x"})})


@pytest.fixture
def world() -> World:
    """Ten days of both models, shown."""
    found = World(RAW, DAILY)
    found.engine.columns = tuple((name, "bigint") for name in OLD)
    loaded(found)
    apply(found.bench(), found.plan())
    assert found.release(required=False).moved
    found.engine.writes.clear()
    return found


def renamed(world: World, columns: Mapping[str, str] | None = None, **more: str) -> Plan:
    loaded(world, columns or {"ds": "d", "id": "i", "sum": "t", "most": "m"}, to="2", **more)  # type: ignore[arg-type]
    return world.plan()


def test_only_names_differ(world: World) -> None:
    """All that is shown is copied, and said; what batches computed the rows from stays known."""
    plan = renamed(world)
    (build,) = [s for s in plan.stages if isinstance(s, Build)]
    assert plan.strategies == {"daily": Strategy.COLUMN_RENAME} and build.intervals == plan.copies["daily"].covers
    assert plan.copies["daily"].columns == (("ds", "ds"), ("id", "id"), ("total", "sum"), ("most", "most"))
    (said,) = copied_words(plan, world.project.models)
    assert said == (
        "daily: 10 days are copied from version daily-1 under the new names (total is called sum now); "
        "nothing is computed"
    )
    before = [e for e in world.control.ledger.entries(["daily"]) if e.kind is Kind.BUILT]
    outcome = apply(world.bench("later", pins={"raw": {"commit": 9}, "other": {"commit": 9}}), plan)["daily"]
    assert outcome.ok and not world.engine.writes and len(world.engine.copies) == len(build.batches)
    built = [e for e in world.control.ledger.entries(["daily"]) if e.kind is Kind.BUILT and e.version == "daily-2"]
    assert [(e.interval, e.inputs) for e in built] == [(e.interval, e.inputs) for e in before]
    assert [e.origin and (e.origin.batch, e.began) for e in built] == [(e.batch, e.began) for e in before]
    assert not world.plan().copies and world.plan().strategies == {"daily": Strategy.COLUMN_RENAME}


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        pytest.param({"ds": "d", "id": "i", "sum": "t", "most": "m"}, "other", id="other rows"),
        pytest.param({"ds": "d", "id": "i", "sum": "other", "most": "m"}, "r", id="another meaning"),
        pytest.param({"ds": "d", "id": "i", "sum": "t", "most": "other"}, "r", id="another meaning beside it"),
        pytest.param({"ds": "d", "id": "i", "sum": "t", "most": "m", "more": "n"}, "r", id="a new column"),
        pytest.param({"ds": "d", "id": "i", "total": "t", "most": "m", "again": "t"}, "r", id="a column twice"),
        pytest.param({"ds": "d", "id": "i", "total": "t"}, "r", id="a dropped column alone"),
    ],
)
def test_more_than_names_differ(world: World, columns: dict[str, str], rows: str) -> None:
    """It is computed."""
    plan = renamed(world, columns, rows=rows)
    assert plan.work and not plan.copies and plan.strategies["daily"] is not Strategy.COLUMN_RENAME


def test_names_go_where_the_meaning_is(world: World) -> None:
    """Swapped names, and a column that is dropped beside the rename."""
    plan = renamed(world, {"ds": "d", "id": "i", "total": "m", "most": "t"})
    assert plan.copies["daily"].renamed == (("most", "total"), ("total", "most"))
    plan = renamed(world, {"ds": "d", "id": "i", "sum": "t"})
    assert plan.copies["daily"].columns == (("ds", "ds"), ("id", "id"), ("total", "sum"))


def test_which_of_two_equal_columns_is_unknown(world: World) -> None:
    """A column that was there twice is not guessed at; one that keeps its name needs no guess."""
    loaded(world, {**OLD, "twin": "t"})
    facts, pointer = world.facts(), world.facts().environment.pointers["daily"]
    pointer = replace(pointer, columns=(*pointer.columns, ("twin", "x")))
    shown = replace(facts.environment, pointers={**facts.environment.pointers, "daily": pointer})
    facts = replace(recorded(facts, signatures={"daily": signed({**OLD, "twin": "t"})}), environment=shown)

    def found(columns: dict[str, str]) -> bool:
        loaded(world, columns, to="2")
        return renaming(world.project, facts, "daily") is not None

    assert not found({"ds": "d", "id": "i", "sum": "t", "most": "m"})
    assert found({"ds": "d", "id": "i", "total": "t", "peak": "m"})
    hidden = replace(pointer, columns=tuple(c for c in pointer.columns if c[0] != "most"))
    shown = replace(shown, pointers={**shown.pointers, "daily": hidden})
    facts = replace(facts, environment=shown)
    assert not found({"ds": "d", "id": "i", "total": "t", "peak": "m"}), "what the view does not list is not shown"


def recorded(facts: Facts, **more: Any) -> Facts:
    """What else is recorded of the version that is shown."""
    return replace(facts, shown=replace(facts.shown, **more))


@pytest.fixture
def facts(world: World) -> Facts:
    renamed(world)
    assert renaming(world.project, world.facts(), "daily") is not None
    return world.facts()


def test_nothing_is_proved_by_an_authors_word(world: World, facts: Facts) -> None:
    """Of this model, of one that it reads, or of the version that is shown; nor by rules of another release."""
    word = Override(model="raw_model", version="v", code="c", columns=(), reason="", place="", reaches=("daily",))
    for said in (replace(word, model="daily", reaches=()), word):
        assert renaming(replace(world.project, overrides={"w": said}), facts, "daily") is None
    assert renaming(world.project, recorded(facts, signatures={"daily": signed(OLD, code="c")}), "daily") is None
    assert renaming(world.project, recorded(facts, signatures={}), "daily") is None
    assert renaming(world.project, recorded(facts, algorithms={"daily": 1}), "daily") is None


def test_what_it_reads_is_what_it_read(world: World, facts: Facts) -> None:
    """Another version of an upstream model, and a batch that read one, or other tables: computed."""
    prints = {**world.project.fingerprints, "raw_model": "raw_model-2"}
    assert renaming(replace(world.project, fingerprints=prints), facts, "daily") is None
    found = facts.standing["daily"]

    def reading(**inputs: object) -> Facts:
        parts = [replace(p, entry=p.entry and replace(p.entry, inputs=inputs)) for p in found.parts]
        return replace(facts, standing={"daily": replace(found, parts=tuple(parts))})

    both = dict(found.parts[0].entry.inputs or {}) if found.parts[0].entry else {}
    assert renaming(world.project, reading(**both), "daily") is not None
    assert renaming(world.project, reading(**both, third={"commit": 1}), "daily") is None
    assert renaming(world.project, reading(other={"commit": 1}), "daily") is None
    assert renaming(world.project, reading(**both | {"raw_model": {"version": "raw_model-0"}}), "daily") is None


@pytest.mark.parametrize("what", ["red", "foreign", "unknown", "partial"])
def test_rows_of_which_something_is_known_are_computed(world: World, facts: Facts, what: str) -> None:
    """Red or foreign days, and those that no batch vouches for, or that were open."""
    bad = ranges(days("03", "04"))
    more = {what: {"why": bad} if what in ("red", "foreign") else bad}
    found = replace(facts, standing={"daily": replace(facts.standing["daily"], **more)})  # type: ignore[arg-type]
    plan = make_plan(world.project, found, Request())
    assert plan.copies["daily"].covers == Ranges((days("01", "10"),)) - bad
    (build,) = [s for s in plan.stages if isinstance(s, Build)]
    assert all((Ranges((b,)) & bad) in (Ranges(), Ranges((b,))) for b in build.batches)
    assert "8 days are copied" in copied_words(plan, world.project.models)[0]
    assert "2 days are computed" in copied_words(plan, world.project.models)[0]
    apply(world.bench(), plan)
    assert Ranges.of(i for _, i in world.engine.writes) == bad


def test_rows_of_older_logic_are_computed(world: World, facts: Facts) -> None:
    """And adopted ones. Corrections of the newest logic are copied from their own tables."""
    pointer = facts.environment.pointers["daily"]
    (whole,) = pointer.segments
    older = replace(whole, version="daily-0", interval=days("01", "04"))
    fixed = replace(whole, version="daily-1.fix", interval=days("05"))
    adopted = replace(whole, version=adopted_of("daily-1", "1f3a"), interval=days("06"))
    mixed = replace(pointer, segments=(older, fixed, adopted, replace(whole, interval=days("07", "10"))))
    parts = {p.interval: p for p in facts.standing["daily"].parts}
    entry = next(iter(parts.values())).entry
    standing = tuple(replace(next(iter(parts.values())), segment=s, entry=entry) for s in mixed.segments)
    shown = replace(facts.environment, pointers={**facts.environment.pointers, "daily": mixed})
    found = renaming(
        world.project,
        replace(facts, environment=shown, standing={"daily": replace(facts.standing["daily"], parts=standing)}),
        "daily",
    )
    assert found is not None
    assert [(s.version, s.interval) for s in found.segments] == [
        ("daily-1.fix", days("05")),
        ("daily-1", days("07", "10")),
    ]


def test_the_author_may_ask_for_computing(world: World) -> None:
    """And cannot ask for a copy that nothing proves."""
    renamed(world)
    for way in ("full-rebuild", "dual-run"):
        plan = world.plan(Request(strategies=(("daily", way),)))
        assert plan.work and not plan.copies
    assert world.plan(Request(strategies=(("daily", "column-rename"),))).copies
    loaded(world, {"ds": "d", "id": "i", "sum": "other"}, to="3")
    with pytest.raises(UsageError, match="cannot be changed by column-rename"):
        world.plan(Request(strategies=(("daily", "column-rename"),)))


def test_what_was_printed_is_what_runs(world: World) -> None:
    """Copies belong to the plan's id, and are kept by a sample; a plan of other code copies nothing."""
    plan = renamed(world)
    assert replace(plan, copies={}).id != plan.id
    part = sample_plan(plan, world.project, 2)
    apply(world.bench(), part)
    assert not world.engine.writes and Ranges.of(i for _, i in world.engine.copies).count(DAILY.cadence) == 2
    loaded(world, {"ds": "d", "id": "i", "sum": "other"}, to="3")
    apply(world.bench(), replace(world.plan(), copies=plan.copies))
    assert len(world.engine.writes) == 4, "all ten days, in batches of three"


def test_a_copy_goes_on_after_a_kill(world: World) -> None:
    """What has no record is copied again."""
    plan = renamed(world)
    killed = list[Interval]()

    def die(_: object, interval: Interval) -> None:
        if not killed:
            killed.append(interval)
            raise Crash

    world.engine.after_commit = die
    with pytest.raises(Crash):
        apply(world.bench("one"), plan)
    left = world.plan()
    assert left.copies["daily"].covers & Ranges(tuple(killed))
    assert apply(world.bench("two"), left)["daily"].ok and not world.engine.writes


def test_a_red_copy_is_computed_the_next_time(world: World) -> None:
    """The audits that came with the rename are judged like any others."""
    plan = renamed(world)
    world.tables.cells("daily", "daily-1")[days("02").start] = Cell(failures={"rows_ok": 1})
    assert apply(world.bench(), plan)["daily"].red == ranges(days("02"))
    left = world.plan()
    assert left.work and not left.copies and "rows_ok failed" in str(left.stages)


def test_rows_that_do_not_count_any_more_are_refused(world: World) -> None:
    """Somebody condemned them after the plan was made; and as many rows have to arrive as are shown."""
    plan = renamed(world)
    source = next(e for e in world.control.ledger.entries(["daily"]) if e.kind is Kind.BUILT)
    world.control.ledger.append([replace(source, kind=Kind.INVALIDATED, id="", reason="it is wrong")])
    failed = apply(world.bench(), plan)["daily"].failures
    assert "does not count any more" in failed[0].error and "daily=full-rebuild" in failed[0].error


def test_as_many_rows_arrive_as_are_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing is recorded."""
    plan = renamed(world)
    rows = world.tables.rows
    monkeypatch.setattr(
        world.tables, "rows", lambda m, v, c: {at: n - (v == "daily-2") for at, n in rows(m, v, c).items()}
    )
    outcome = apply(world.bench(), plan)["daily"]
    assert "rows were written of" in outcome.failures[0].error and not outcome.built


def test_the_ledger_keeps_the_origin(world: World) -> None:
    """Read back as it was written; a copy of a copy names what computed the rows."""
    plan = renamed(world)
    world.engine.columns = tuple((name, "bigint") for name in ("ds", "id", "sum", "most"))
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened is not None
    apply(world.bench(), plan)
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    assert world.release().moved
    loaded(world, {"ds": "d", "id": "i", "amount": "t", "most": "m"}, to="3")
    apply(world.bench(), world.plan())
    built: dict[str, list[Entry]] = {}
    for entry in world.control.ledger.entries(["daily"]):
        if entry.kind is Kind.BUILT:
            built.setdefault(entry.version, []).append(entry)
    assert [e.origin for e in built["daily-3"]] == [e.origin for e in built["daily-2"]]
    assert {e.origin.version for e in built["daily-3"] if e.origin} == {"daily-1"}


def corrected(world: World, day: str, rows: int = 99) -> None:
    """Prod's own code computes a day again, and its owner approves what came out."""
    loaded(world, OLD, to="1")
    correct(world, day, rows)


def correct(world: World, day: str, rows: int = 99) -> None:
    """The same by the code that is loaded."""
    world.pins.commits.update(raw=7, other=7)
    fix = world.plan(Request(restate=(("daily", days(day)),)))
    before, world.engine.cell = world.engine.cell, lambda job, interval: Cell(rows=rows)
    opened = store_plan(world.control, fix, by="ops", views=lambda: None, code=world.project.fingerprints)
    assert opened
    pins = {"raw": {"commit": 7}, "other": {"commit": 7}}
    assert apply(world.bench("fix", patches=fix.patches, pins=pins), fix)["daily"].ok
    world.engine.cell = before
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    assert world.release(plan=opened.plan.id).moved


def rows_of_day(world: World, day: str) -> int:
    pointer = world.control.environments.read("prod").pointers["daily"]
    return rows_of(world.tables, "daily", pointer.segments)[days(day).start]


def test_a_correction_after_the_copy_is_not_undone(world: World) -> None:
    """What was copied before is refused, withdrawn, and copied again from what is shown by then."""
    first = renamed(world)
    assert store_plan(world.control, first, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert apply(world.bench(), first)["daily"].ok
    corrected(world, "05")
    assert rows_of_day(world, "05") == 99
    opened = store_plan(world.control, renamed(world), by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    refused = world.release()
    assert not refused.moved
    (obstacle,) = [o for o in refused.verdict.obstacles if "copied before" in o.what]
    assert str(obstacle.intervals) == str(Ranges((days("05"),))) and "backfill withdraw daily:" in obstacle.remedy
    withdraw(world.control, world.tables, world.project, [("daily", days("05"))], now=NOW, by="dev")
    plan = world.plan()
    assert plan.copies["daily"].covers == Ranges((days("05"),))
    assert apply(world.bench("again"), plan)["daily"].ok
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    assert world.release().moved and rows_of_day(world, "05") == 99


def test_the_reader_of_a_copy_is_judged_by_what_will_be_copied() -> None:
    """It stays as it is shown, computed anew with the correction; the copy that is withdrawn is of the rows before."""
    reader = a_model("reader", "daily")
    world = World(RAW, DAILY, reader)
    world.engine.columns = tuple((name, "bigint") for name in OLD)
    reads = frozenset({ColumnRef(table="daily", column="id")})

    def load(columns: Mapping[str, str], to: str) -> None:
        base = World(RAW, DAILY, reader, versions={"daily": to}, store=world.store, tables=world.tables).project
        signatures = {"daily": signed(columns), "raw_model": signed({"ds": "x"})}
        signatures["reader"] = replace(signed({"ds": "d"}), row_reads=reads)
        world.project = replace(base, signatures=signatures)

    load(OLD, "1")
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    renamed_columns = {"ds": "d", "id": "i", "sum": "t", "most": "m"}
    load(renamed_columns, "2")
    assert apply(world.bench(), world.plan())["daily"].ok
    load(OLD, "1")
    correct(world, "05")
    load(renamed_columns, "2")

    def ahead() -> list[str]:
        plan, cases = world.plan(), world.cases(required=False)
        assert not [s for s in plan.work if s.model == "reader"]
        return [
            f"{o.model}: {o.remedy}"
            for o in forecast_obstacles(cases.promotion(plan.request, world.facts(), plan), plan, cases.older_reads)
        ]

    assert any("mend daily first" in o for o in ahead() if o.startswith("reader")), ahead()
    withdraw(world.control, world.tables, world.project, [("daily", days("05"))], now=NOW, by="dev")
    assert ahead() == []


def test_a_stored_copy_holds_as_far_as_it_is_shown(world: World) -> None:
    """Whoever goes on with a stored plan copies what is shown by then, and nothing that a check has refused."""
    said = renamed(world).copies["daily"]
    corrected(world, "05")
    renamed(world)
    now = still_copied(world.project, world.facts(), "daily", said, said.covers)
    assert now.covers == said.covers and [s for s in now.segments if s.interval == days("05")] != [
        s for s in said.segments if s.interval == days("05")
    ]
    assert {s.version for s in now.segments} > {s.version for s in said.segments}
    loaded(world, {"ds": "d", "id": "i", "other": "t", "most": "m"}, to="2")
    assert not still_copied(world.project, world.facts(), "daily", said, said.covers).segments


def test_another_key_of_a_merge_is_computed(world: World) -> None:
    """Whether a column that was none before is a key, a copy would not find out."""
    swapped = {"ds": "d", "id": "t", "total": "i", "most": "m"}
    assert renamed(world, swapped).copies
    model = replace(world.project.models["daily"], write="merge")
    world.project = replace(world.project, models={**world.project.models, "daily": model})
    assert renaming(world.project, world.facts(), "daily") is None


def test_batches_that_read_other_logic_beside_are_computed() -> None:
    """A day that read an upstream's older logic through its lookback is not what the code computes."""
    raw, daily = a_model("raw_model", "raw"), a_model("daily", "raw_model", grain=("ds", "id"), lookback=2)
    world = World(raw, daily)
    world.engine.columns = tuple((name, "bigint") for name in OLD)

    def load(columns: Mapping[str, str], raw_at: str, to: str, rows: str) -> None:
        base = World(
            raw, daily, versions={"daily": to, "raw_model": raw_at}, store=world.store, tables=world.tables
        ).project
        signatures = {"daily": signed(columns, rows=rows), "raw_model": signed({"ds": f"x{raw_at}"}, rows=raw_at)}
        world.project = replace(base, signatures=signatures)

    load(OLD, "1", "1", "r1")
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    load(OLD, "2", "2", "r2")
    plan = world.plan(Request(forward_only=utc("2024-01-06")))
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    apply(world.bench("fwd", patches=plan.patches), plan)
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    assert world.release(plan=opened.plan.id).moved
    load({"ds": "d", "id": "i", "sum": "t", "most": "m"}, "2", "3", "r2")
    plan = world.plan()
    copied = plan.copies["daily"].covers if "daily" in plan.copies else Ranges()
    assert not copied & Ranges((days("01", "08"),)), "these read days of raw_model that are other logic, or built now"
