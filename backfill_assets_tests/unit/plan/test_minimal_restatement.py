"""Is a restatement as small as it can be, and as large as it must be? Compared with dependencies day by day."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.plan.facts import Facts, Tables
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Build, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets_tests.fakes import a_model, a_pointer, a_project

FIRST, TODAY = date(2023, 11, 1), date(2024, 4, 10)
DAYS = (TODAY - FIRST).days
Days = frozenset[date]
Unit = tuple[date, ...]
"""The days of an interval: the brute-force model knows nothing else of it."""


# --- brute force: intervals are tuples of days, made by the calendar alone -------------------------------------------


def name_of(cadence: Cadence, day: date) -> date:
    """The first day of the day's, week's or month's interval."""
    if cadence is Cadence.MONTHLY:
        return date(day.year, day.month, 1)
    return date.fromisocalendar(*day.isocalendar()[:2], 1) if cadence is Cadence.WEEKLY else day


@cache
def calendar(cadence: Cadence) -> list[Unit]:
    """Every interval from before the days until after them, in order."""
    found: dict[date, list[date]] = {}
    for number in range(-200, DAYS + 100):
        day = FIRST + timedelta(days=number)
        found.setdefault(name_of(cadence, day), []).append(day)
    return [tuple(days) for days in found.values()]


def units(cadence: Cadence) -> list[Unit]:
    """Those that a model has: the ones that lie within the days."""
    return [unit for unit in calendar(cadence) if unit[0] >= FIRST and unit[-1] < TODAY]


@cache
def reads(cadence: Cadence, unit: Unit, lookback: int) -> Days:
    """The days that an interval is computed from: its own, and those of as many intervals before it."""
    every = calendar(cadence)
    index = every.index(unit)
    return frozenset(day for each in every[index - lookback : index + 1] for day in each)


def computable(
    cadences: dict[str, Cadence], upstream: dict[str, list[tuple[str, int]]], until: date
) -> dict[str, list[Unit]]:
    """The intervals before a day that can be there: with all that they read, as far as it began."""
    found: dict[str, list[Unit]] = {}
    for name, cadence in cadences.items():
        found[name] = [u for u in units(cadence) if u[-1] < until]
        for above, lookback in upstream[name]:
            there, first = {day for unit in found[above] for day in unit}, units(cadences[above])[0][0]
            wanted = {
                u: {day for day in whole(cadences[above], reads(cadence, u, lookback)) if day >= first}
                for u in found[name]
            }
            found[name] = [u for u in found[name] if wanted[u] <= there]
    return found


def whole(cadence: Cadence, days: Days) -> Days:
    """The days of all intervals that have any of these."""
    return frozenset(day for unit in calendar(cadence) if days & set(unit) for day in unit)


def brute(
    cadences: dict[str, Cadence],
    upstream: dict[str, list[tuple[str, int]]],
    asked: dict[str, set[date]],
    shown: dict[str, list[Unit]],
) -> dict[str, set[Unit]]:
    """Which intervals have to be computed again: the named ones, and whatever is computed from days of such."""
    again: dict[str, set[Unit]] = {}
    for name, cadence in cadences.items():
        again[name] = {u for u in shown[name] if asked.get(name, set()) & set(u)}
        for above, lookback in upstream[name]:
            changed = {day for unit in again[above] for day in unit}
            again[name] |= {u for u in shown[name] if reads(cadence, u, lookback) & changed}
    return again


# --- the test ---------------------------------------------------------------------------------------------------------

cadences = st.sampled_from([Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY])
some_days = st.integers(0, DAYS - 1).flatmap(
    lambda first: st.integers(first, min(first + 9, DAYS - 1)).map(
        lambda last: (FIRST + timedelta(days=first), FIRST + timedelta(days=last))
    )
)


@given(cadences, cadences, cadences, st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.data())
def test_a_restatement_is_exactly_what_depends_on_it(
    one: Cadence, two: Cadence, three: Cadence, first: int, second: int, third: int, data: st.DataObject
) -> None:
    """Over any cadences and lookbacks, whatever is restated, of whichever model: no interval is built whose inputs did
    not change, and none that was computed from a restated one is left out; of what is shown, and of nothing else."""
    kinds = {"d": Cadence.DAILY, "a": one, "b": two, "c": three, "solo": Cadence.DAILY}
    above: dict[str, list[tuple[str, int]]] = {
        "d": [], "a": [("d", first)], "b": [("a", second)], "c": [("d", third), ("b", third)], "solo": [],
    }  # fmt: skip
    until = data.draw(st.sampled_from([TODAY, TODAY - timedelta(days=45)]))
    restate = {
        name: data.draw(some_days) for name in data.draw(st.sets(st.sampled_from("dab"), min_size=1, max_size=2))
    }
    asked = {
        name: {low + timedelta(days=n) for n in range((high - low).days + 1)} for name, (low, high) in restate.items()
    }
    project = a_project(
        *(
            a_model(
                name,
                *(up for up, _ in above[name]),
                cadence=cadence,
                start=utc(FIRST),
                lookback=above[name][0][1] if above[name] else 0,
            )
            for name, cadence in kinds.items()
        )
    )
    shown = computable(kinds, above, until)
    spans = {n: Interval(utc(s[0][0]), utc(s[-1][-1] + timedelta(days=1))) for n, s in shown.items()}
    facts = Facts(
        now=utc(TODAY),
        environment=Environment(
            name="prod",
            revision=0,
            pointers={name: a_pointer(name, f"{name}-1", span) for name, span in spans.items()},
            releases={},
        ),
        tables=Tables(
            coverage=dict.fromkeys(
                project.models, Coverage(green=Ranges((Interval(utc("2023-01-01"), utc("2025-01-01")),)))
            ),
            heads=dict.fromkeys(project.models, 1),
        ),
    )
    expected = brute(kinds, above, asked, shown)
    named = [(name, Interval(utc(low), utc(high + timedelta(days=1)))) for name, (low, high) in restate.items()]
    if not all(expected[name] & {u for u in units(kinds[name]) if asked[name] & set(u)} for name in restate):
        return  # nothing of it is shown: refused
    plan = make_plan(project, facts, Request(restate=tuple(named)))
    found = {
        stage.model: {(i.start.date(), i.end.date()) for i in stage.intervals.split(kinds[stage.model])}
        for stage in plan.stages
        if isinstance(stage, Build)
    }
    assert found == {
        name: {(u[0], u[-1] + timedelta(days=1)) for u in again} for name, again in expected.items() if again
    }


def test_the_brute_force_knows_its_calendar() -> None:
    """A month over looked-back days, by hand: March 1 is read by the days until March 3, so by March only; February 29
    by March's first two days as well."""
    kinds = {"d": Cadence.DAILY, "r": Cadence.DAILY, "m": Cadence.MONTHLY}
    above: dict[str, list[tuple[str, int]]] = {"d": [], "r": [("d", 2)], "m": [("r", 0)]}
    shown = computable(kinds, above, TODAY)
    march = brute(kinds, above, {"d": {date(2024, 3, 1)}}, shown)
    assert sorted(u[0].day for u in march["r"]) == [1, 2, 3]
    assert [(u[0], len(u)) for u in march["m"]] == [(date(2024, 3, 1), 31)]
    leap = brute(kinds, above, {"d": {date(2024, 2, 29)}}, shown)
    assert sorted((u[0], len(u)) for u in leap["m"]) == [(date(2024, 2, 1), 29), (date(2024, 3, 1), 31)]
