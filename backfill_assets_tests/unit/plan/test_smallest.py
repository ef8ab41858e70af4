"""The smallest window that consumers need: all that anybody reads is in it, and it is asked for as it is offered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill_assets.core.consumer import Consumer, ModelUse
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Column, ColumnRef, Model, Project, Signature
from backfill_assets.core.settings import Cost
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.estimate import estimate
from backfill_assets.plan.facts import Facts, Shown, Sources, Tables
from backfill_assets.plan.offered import clearly_less, with_smallest
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.smallest import needs
from backfill_assets.plan.smallest_text import smallest_command, smallest_words
from backfill_assets.plan.stages import Build, Plan, Request, plan_from_json
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets_tests.fakes import a_model, a_pointer, a_project
from backfill_assets_tests.unit.plan.test_estimate import built

NOW = utc("2024-06-20T12:00")
START = utc("2024-01-01")


def a_reader(name: str, *reads: str, history: int | None = None, **uses: ModelUse) -> Consumer:
    every = {model: uses.get(model, ModelUse(history=history)) for model in reads}
    return Consumer(name=name, reads=reads, uses=every, file=Path("consumers.yml"))


def with_readers(project: Project, *readers: Consumer) -> Project:
    return replace(project, consumers={r.name: r for r in readers})


def facts_of(project: Project, *shown: str, done: Mapping[str, Ranges] | None = None) -> Facts:
    """Prod shows an earlier version, complete, of the models that are named."""
    pointers = {n: a_pointer(n, f"{n}-0", *project.models[n].expected(NOW)) for n in shown}
    return Facts(
        now=NOW,
        environment=Environment(name="prod", revision=1, pointers=pointers, releases={}),
        tables=Tables(
            coverage={n: Coverage(green=(done or {}).get(n, Ranges())) for n in project.models},
            heads=dict.fromkeys(project.models, -1),
        ),
        sources=Sources(pins={name: {"commit": 1} for name in project.sources}),
    )


def plan_of(
    project: Project, *shown: str, request: Request | None = None, done: Mapping[str, Ranges] | None = None
) -> Plan:
    facts = facts_of(project, *shown, done=done)
    plan = with_smallest(project, facts, make_plan(project, facts, request or Request()))
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))) == plan
    return plan


def words(plan: Plan, project: Project) -> str:
    guess = estimate(plan.work, [], project.models, at_once=2, smaller=plan.smaller)
    return "\n".join(smallest_words(plan, project.models, guess))


def since(plan: Plan) -> str:
    assert plan.smallest is not None and plan.smallest.since is not None, plan.smallest
    return f"{plan.smallest.since:%Y-%m-%d}"


# --- the algebra ------------------------------------------------------------------------------------------------------


@st.composite
def projects(draw: st.DrawFn) -> Project:
    """Up to five models in a line or a fan, of any cadence, start and lookback, and consumers of some of them."""
    models: list[Model] = []
    for number in range(draw(st.integers(1, 5))):
        above = draw(st.lists(st.sampled_from(models), max_size=2, unique_by=lambda m: m.name)) if models else []
        cadence = draw(st.sampled_from([Cadence.DAILY, Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY]))
        start = START + timedelta(days=draw(st.integers(0, 120)))
        models.append(
            a_model(
                f"m{number}", *(m.name for m in above or ()), "raw",
                cadence=cadence, start=start, lookback=draw(st.integers(0, 9)),
            )
        )  # fmt: skip
    names = [m.name for m in models]
    reads = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    readers = [
        a_reader(f"c{n}", *draw(reads), history=draw(st.none() | st.integers(0, 60)))
        for n in range(draw(st.integers(0, 3)))
    ]
    return with_readers(a_project(*models), *readers)


def read_by_hand(project: Project) -> dict[str, set[datetime]]:
    """Model → the starts of its intervals that somebody reads: one interval after another, by looking at each."""
    units = {n: [i.start for part in m.expected(NOW) for i in m.cadence.split(part)] for n, m in project.models.items()}
    ends = {n: {s: m.cadence.shift(s, 1) for s in units[n]} for n, m in project.models.items()}
    found: dict[str, set[datetime]] = {n: set() for n in project.models}
    todo: list[tuple[str, datetime]] = []
    for consumer in project.consumers.values():
        for name in consumer.reads:
            if not units[name]:
                continue
            newest, history = max(ends[name].values()), consumer.use(name).history
            for start in units[name]:
                days = None if history is None else newest - timedelta(days=history)
                if days is None or ends[name][start] > days or start == units[name][-1]:
                    todo.append((name, start))
    while todo:
        name, start = todo.pop()
        if start in found[name]:
            continue
        found[name].add(start)
        model = project.models[name]
        first = start
        for _ in range(model.lookback):
            first = model.cadence.shift(first, -1)
        for upstream in model.upstreams:
            there = units.get(upstream.name, ())
            read = [o for o in there if o < ends[name][start] and ends[upstream.name][o] > first]
            if there and not read and start == units[name][-1]:
                read = [there[-1]]  # it ends before what is read of it begins: its newest interval is kept
            todo += [(upstream.name, other) for other in read]
    return found


@settings(max_examples=150, deadline=None)
@given(projects())
def test_every_day_that_anybody_reads_is_needed(project: Project) -> None:
    """By counting interval by interval; and what is needed begins with one that is read, so nothing smaller would do.

    (An upstream that ends before what is read of it begins keeps its newest interval.)
    """
    changes = {name: TableChange(category=Category.BREAKING, rows=True) for name in project.models}
    found, _ = needs(project, changes, NOW)
    for name, starts in read_by_hand(project).items():
        assert all(found[name].holds(start) for start in starts), name
        if starts:
            assert found[name].start == min(starts)


@settings(max_examples=100, deadline=None)
@given(projects())
def test_what_is_offered_builds_every_day_that_anybody_reads(project: Project) -> None:
    """Of the new logic alone: what such a day looks at is in the offered plan as well."""
    shown = [n for n, m in project.models.items() if m.expected(NOW)]
    plan = plan_of(project, *shown)
    if not plan.smaller:
        return
    project = facts_of(project, *shown).bounded(project)  # days before what is read begins are none
    built = {b.model: b.intervals for b in plan.smaller if isinstance(b, Build)}
    for name, starts in read_by_hand(project).items():
        unit = project.models[name].cadence
        for start in starts:
            assert Interval(start, unit.shift(start, 1)) in built[name], name
    assert sum(b.count for b in plan.smaller) < sum(b.count for b in plan.stages if isinstance(b, Build))


# --- what is offered --------------------------------------------------------------------------------------------------


def chain(*readers: Consumer, **more: object) -> Project:
    """`a`, and `b` that looks six days back into it."""
    return with_readers(a_project(a_model("a", "raw"), a_model("b", "a", lookback=6), **more), *readers)  # type: ignore[arg-type]


def test_lookbacks_are_followed() -> None:
    """Ten days of `b`, 10 to 19 June, look at `a` from 4 June on."""
    plan = plan_of(chain(a_reader("board", "b", history=10)), "a", "b")
    assert plan.smallest is not None and since(plan) == "2024-06-04"
    assert {n: str(i) for n, i in plan.smallest.needs.items()} == {
        "a": "2024-06-04..2024-06-19",
        "b": "2024-06-10..2024-06-19",
    }
    assert smallest_command(plan) == "backfill apply --forward-only 2024-06-04"
    assert {b.model: b.count for b in plan.smaller} == {"a": 16, "b": 16}


def test_who_needs_all_of_it_is_named() -> None:
    """No history: all. The others do not matter then. So it is with more days than there are."""
    project = chain(a_reader("board", "b", history=10), a_reader("notebook", "a"))
    plan = plan_of(project, "a", "b")
    assert not plan.smaller and words(plan, project) == "No shorter history is proposed: notebook reads all of a."
    many = chain(a_reader("export", "a", history=4000))
    assert (
        words(plan_of(many, "a", "b"), many)
        == "No shorter history is proposed: export reads all of a (4000 days of history)."
    )


def test_all_of_it_by_way_of_others() -> None:
    """Nobody reads all of anything, and what is read looks back to the beginning."""
    project = with_readers(
        a_project(a_model("a", "raw"), a_model("b", "a", lookback=400)), a_reader("x", "b", history=3)
    )
    said = words(plan_of(project, "a", "b"), project)
    assert (
        said
        == "No shorter history is proposed: what is read goes back to the beginning of a by way of the models between."
    )


def test_without_consumers_nobody_knows() -> None:
    """Of what is shown; a first plan is not lectured."""
    assert "consumers.yml names nobody" in words(plan_of(chain(), "a", "b"), chain())
    assert plan_of(chain()).smallest is None


def test_readers_of_other_columns_do_not_count() -> None:
    """Only `a.x` changes: who reads `a.y` for ever needs nothing of it."""
    old = Signature(rows="r", columns={"x": "1", "y": "1"}, row_reads=frozenset({ColumnRef(table="raw", column="z")}))
    project = chain(
        a_reader("all", "a", a=ModelUse(columns=("y",))), a_reader("week", "a", a=ModelUse(columns=("X",), history=7))
    )
    project = replace(project, signatures={"a": replace(old, columns={"x": "2", "y": "1"})})
    facts = replace(facts_of(project, "a"), shown=Shown(signatures={"a": old}))
    plan = with_smallest(project, facts, make_plan(project, facts, Request(select=("a",))))
    assert plan.smallest is not None and [r.consumer for r in plan.smallest.readers] == ["week"]
    assert smallest_command(plan) == "backfill apply --forward-only 2024-06-13 --select a"


def test_a_month_is_whole() -> None:
    """Three days of a monthly model are its newest month; what that reads begins with the month."""
    project = with_readers(
        a_project(a_model("a", "raw"), a_model("m", "a", cadence=Cadence.MONTHLY)), a_reader("board", "m", history=3)
    )
    plan = plan_of(project, "a", "m")
    assert since(plan) == "2024-05-01" and {b.model: str(b.intervals) for b in plan.smaller} == {
        "a": "2024-05-01..2024-06-19",
        "m": "2024-05-01..2024-05-31",
    }


def test_a_month_that_nobody_reads_is_not_in_the_way() -> None:
    """A day in the middle of a month would leave the monthly model without an interval to begin with."""
    project = with_readers(
        a_project(a_model("a", "raw"), a_model("m", "a", cadence=Cadence.MONTHLY)), a_reader("board", "a", history=3)
    )
    assert since(plan_of(project, "a", "m")) == "2024-05-01"


def test_days_count_from_the_last_that_there_is() -> None:
    """The newest days of a model that ended in March are those of March."""
    project = with_readers(a_project(a_model("a", "raw", end=utc("2024-04-01"))), a_reader("board", "a", history=7))
    assert since(plan_of(project, "a")) == "2024-03-25"


def test_who_chose_days_is_left_alone() -> None:
    """A range, a restatement or a strategy of somebody's: no offer beside it."""
    project = chain(a_reader("board", "b", history=10))
    for request in (
        Request(start=utc("2024-06-01")),
        Request(end=utc("2024-06-01")),
        Request(strategies=(("a", "dual-run"),)),
    ):
        assert plan_of(project, "a", "b", request=request).smallest is None


def test_forward_only_is_held_to_what_is_read() -> None:
    """A day that is too late is told with one that fits; one that fits is confirmed; one that is too early is offered
    a later one."""
    project = chain(a_reader("board", "b", history=10))
    late = plan_of(project, "a", "b", request=Request(forward_only=utc("2024-06-12")))
    assert "board reads 10 days of b: that goes back further than 2024-06-12" in words(late, project)
    assert smallest_command(late) == "backfill apply --forward-only 2024-06-04" and not late.smaller
    fits = plan_of(project, "a", "b", request=Request(forward_only=utc("2024-06-04")))
    assert words(fits, project).startswith("All that consumers declare to read") and not smallest_command(fits)
    early = plan_of(project, "a", "b", request=Request(forward_only=utc("2024-03-01")))
    assert smallest_command(early) == "backfill apply --forward-only 2024-06-04" and early.smaller
    whole = chain(a_reader("notebook", "b"))
    some = plan_of(whole, "a", "b", request=Request(forward_only=utc("2024-06-04")))
    assert "notebook reads all of b: that goes back further" in words(some, whole)


def test_new_models_begin_with_a_day() -> None:
    """Where nothing is shown, no older rows stay: `--start`, and what becomes of the days before."""
    project = with_readers(a_project(a_model("a", "raw")), a_reader("board", "a", history=10))
    plan = plan_of(project)
    assert smallest_command(plan) == "backfill apply --start 2024-06-10"
    assert "no rows before 2024-06-10 then, until the next routine run builds them" in words(plan, project)


def test_new_models_that_would_wait_are_not_offered() -> None:
    """From one day on, `b` would wait for days of `a` that the same day leaves out."""
    assert not plan_of(chain(a_reader("board", "b", history=10))).smaller


def test_new_models_come_afterwards() -> None:
    """Those that read nothing of what changes, and that nothing of it reads."""
    project = with_readers(a_project(a_model("a", "raw"), a_model("n", "raw")), a_reader("board", "a", "n", history=10))
    plan = plan_of(project, "a")
    assert plan.smallest is not None and plan.smallest.later == ("n",)
    assert since(plan) == "2024-06-10" and [b.model for b in plan.smaller] == ["a", "n"]
    assert "n comes with a plan afterwards" in words(plan, project)


def test_new_models_between_changed_ones() -> None:
    """A changed model that reads a new one would wait for it; a new one would read two logics."""
    project = chain(a_reader("board", "b", history=10))
    below, above = plan_of(project, "a"), plan_of(project, "b")
    assert not below.smaller and words(below, project) == (
        "No shorter history is proposed: b reads a, which is changed: all has to be built."
    )
    assert not above.smaller and words(above, project) == (
        "No shorter history is proposed: b reads a, which is new: all has to be built."
    )


def test_days_that_prod_lacks_are_in_the_window() -> None:
    """Prod stopped on 1 June: from then on there are no older rows that could stay."""
    project = with_readers(a_project(a_model("a", "raw")), a_reader("board", "a", history=3))
    facts = facts_of(project, "a")
    part = a_pointer("a", "a-0", *project.models["a"].expected(utc("2024-06-01")))
    facts = replace(facts, environment=replace(facts.environment, pointers={"a": part}))
    plan = with_smallest(project, facts, make_plan(project, facts, Request()))
    assert since(plan) == "2024-06-01" and {b.model: str(b.intervals) for b in plan.smaller} == {
        "a": "2024-06-01..2024-06-19"
    }
    assert smallest_command(plan) == "backfill apply --forward-only 2024-06-01"


def test_what_reads_days_that_prod_lacks_is_not_offered() -> None:
    """`a` stays as it is, and its newest days are not built: `b` from a day on would wait for them."""
    project = chain(a_reader("board", "b", history=10))
    every = project.models["a"].expected(NOW)
    for lack, offered in ((every.until(utc("2024-06-15")), False), (every, True)):
        facts = facts_of(project, "a", "b", done={"a": lack})
        shown = {**facts.environment.pointers, "a": a_pointer("a", project.fingerprints["a"], *lack)}
        facts = replace(facts, environment=replace(facts.environment, pointers=shown), shown=Shown())
        plan = with_smallest(project, facts, make_plan(project, facts, Request()))
        assert bool(plan.smaller) is offered, plan.smallest
        alone = with_smallest(project, facts, make_plan(project, facts, Request(forward_only=utc("2024-03-01"))))
        assert bool(smallest_command(alone)) is offered, alone.smallest


def test_a_type_that_older_rows_cannot_have() -> None:
    """Such a plan would be refused by the promotion: it is not offered."""
    project = chain(a_reader("board", "b", history=10))
    narrow = replace(project, columns={"a": (Column(name="id", type="int"),)})
    said = words(plan_of(narrow, "a", "b"), narrow)
    reason = "older rows of a.id are bigint, which cannot be shown as int without a loss"
    assert said == f"No shorter history is proposed: {reason}."


def test_what_is_saved_has_its_basis() -> None:
    """Time, money, and which batches say so."""
    project = with_readers(a_project(a_model("a", "raw", batch_size=10)), a_reader("board", "a", history=10))
    plan = plan_of(project, "a")
    entries = [built(n, n + 10, 10) for n in range(0, 100, 10)]
    price = Cost(currency="USD", per_core_hour=1, cores=36)
    guess = estimate(plan.work, entries, project.models, at_once=1, price=price, smaller=plan.smaller)
    [_, first, *_] = smallest_words(plan, project.models, guess)
    assert "It builds 10 instead of 171 intervals" in first
    assert "in 7–13 s and USD 0.07–0.13 instead of 2–3.9 min and USD 1.20–2.34" in first
    assert first.endswith(
        "about 2.7 min and USD 1.61 less, 94%. Estimated from 10 batches of version v1 (other logic)."
    )
    assert guess.to_json()["smallest"] is not None


@pytest.mark.parametrize("done", [False, True])
def test_what_is_there_already_is_not_offered_again(done: bool) -> None:
    """A plan of which only the window is left has nothing smaller."""
    project = with_readers(a_project(a_model("a", "raw")), a_reader("board", "a", history=10))
    left = Ranges((Interval(START, utc("2024-06-10")),)) if done else Ranges()
    assert bool(plan_of(project, "a", done={"a": left}).smaller) is not done


def test_what_is_built_already_is_not_built_again_for_less() -> None:
    """Of `a` nothing is left to build: a window of `a` and `b` may be fewer intervals, and is other work."""
    project = chain(a_reader("board", "b", history=10))
    rest = plan_of(project, "a", "b", done={"a": project.models["a"].expected(NOW)})
    builds = [b for b in rest.stages if isinstance(b, Build)]
    window = plan_of(project, "a", "b").smaller
    assert ([b.model for b in builds], [b.model for b in window]) == (["b"], ["a", "b"])
    assert sum(b.count for b in window) < sum(b.count for b in builds)
    assert not clearly_less(window, builds) and clearly_less(window[1:], builds)
    assert not clearly_less(builds, builds)


def test_no_saving_is_told_of_what_may_take_longer() -> None:
    """Its range of seconds reaches beyond that of all of it."""
    project = with_readers(a_project(a_model("a", "raw", batch_size=10)), a_reader("board", "a", history=10))
    plan = plan_of(project, "a")
    entries = [built(n, n + 10, 10) for n in range(0, 100, 10)]
    guess = estimate(plan.work, entries, project.models, at_once=1, smaller=plan.smaller)
    assert guess.smallest is not None and guess.total.seconds is not None
    wide = replace(guess.total.seconds, low=1.0, high=guess.total.seconds.high + 1)
    guess = replace(guess, smallest=replace(guess.smallest, total=replace(guess.smallest.total, seconds=wide)))
    [_, first, *_] = smallest_words(plan, project.models, guess)
    assert "that may take no less. Estimated from 10 batches" in first and "about" not in first
