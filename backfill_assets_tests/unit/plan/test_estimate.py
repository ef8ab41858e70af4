"""How long will it take, what will it cost, and was that true? Fits, schedules, ranges and words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.cli.estimates import estimate_lines, estimate_markdown
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.settings import Cost
from backfill_assets.plan.actual import Actual, actual, actual_of_run
from backfill_assets.plan.estimate import Estimate, PlanEstimate, estimate
from backfill_assets.plan.estimate_text import comparison
from backfill_assets.plan.sample import evenly_spaced
from backfill_assets.plan.schedule import side_by_side, waves
from backfill_assets.plan.spread import Spread
from backfill_assets.plan.stages import AuditStage, Build
from backfill_assets.state.at_work import seconds_at_work
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import a_model
from backfill_assets_tests.strategies import EPOCH, day, sets_of_days, span

CORES = Cost(currency="EUR", per_core_hour=0.5, cores=20)
"""10 EUR an hour on the wall."""


def a_build(model: Model, first: int, end: int, version: str = "v1") -> Build:
    """A stage for the days from `first` up to, not including, `end`."""
    days = Ranges((span(first, end),))
    return Build(
        model=model.name,
        version=version,
        intervals=days,
        count=days.count(model.cadence),
        batches=tuple(days.batches(model.cadence, model.batch_size)),
        concurrency=model.batch_concurrency,
        reason="",
    )


def built(
    first: int, end: int, seconds: float, *, model: str = "a", version: str = "v1", at: datetime = EPOCH, run: str = "r"
) -> Entry:
    """A batch of 1,000 rows and 10,000 bytes a day."""
    return Entry(
        kind=Kind.BUILT,
        model=model,
        version=version,
        interval=span(first, end),
        rows=1000 * (end - first),
        bytes=10_000 * (end - first),
        seconds=seconds,
        at=at,
        run=run,
    )


def judged(at: datetime, *, model: str = "a", version: str = "v1", run: str = "r", kind: Kind = Kind.AUDITED) -> Entry:
    return Entry(kind=kind, model=model, version=version, interval=span(0, 1), audits="digest", at=at, run=run)


def after(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def guess(stage: Build, entries: Sequence[Entry], model: Model | None = None) -> Estimate:
    """The estimate of one stage by itself."""
    model = model or a_model("a", batch_size=30)
    return estimate([stage], entries, {model.name: model}, at_once=2).stages[0].takes


def seconds(takes: Estimate) -> Spread:
    assert takes.seconds
    return takes.seconds


# --- the fit ----------------------------------------------------------------------------------------------------------

sizes = st.lists(st.integers(1, 40), min_size=2, max_size=8).filter(lambda s: len(set(s)) > 1)


@given(sizes, st.floats(0, 100), st.floats(0.01, 10))
def test_a_history_that_is_a_line_is_continued(found: list[int], fixed: float, each: float) -> None:
    """Fixed seconds a batch and seconds an interval are found again, for sizes that were never built too."""
    entries = [built(0, size, fixed + each * size) for size in found]
    model = a_model("a", batch_size=30)
    takes = seconds(guess(a_build(model, 0, 75), entries))
    assert takes.likely == pytest.approx(3 * fixed + 75 * each, abs=1e-6)


batches = st.lists(
    st.builds(
        lambda first, size, took, version, hour: built(
            first, first + size, took, version=version, at=EPOCH + timedelta(hours=hour)
        ),
        st.integers(0, 100),
        st.integers(1, 40),
        st.floats(0, 500),
        st.sampled_from(["v1", "v0", "v9"]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


@given(batches, st.integers(1, 100), st.integers(0, 100), st.integers(1, 40), st.integers(1, 4))
def test_more_intervals_never_cost_less(
    entries: list[Entry], count: int, more: int, batch_size: int, concurrency: int
) -> None:
    """Whatever the history: neither in time, at either end of the range, nor in rows and bytes."""
    model = a_model("a", batch_size=batch_size, batch_concurrency=concurrency)
    few, many = (guess(a_build(model, 0, n), entries, model) for n in (count, count + more))
    for end in ("low", "likely", "high"):
        assert getattr(seconds(many), end) >= getattr(seconds(few), end) * (1 - 1e-9)
    assert few.rows is not None and many.rows is not None and few.bytes is not None and many.bytes is not None
    assert many.rows >= few.rows and many.bytes >= few.bytes


@given(batches, st.data(), st.integers(1, 100))
def test_the_order_of_the_entries_does_not_matter(entries: list[Entry], data: st.DataObject, count: int) -> None:
    """Not to the last digit, and not in the words."""
    model = a_model("a", batch_size=30)
    stage = a_build(model, 0, count)
    assert guess(stage, data.draw(st.permutations(entries))) == guess(stage, entries)


@given(st.dictionaries(st.sampled_from("abcd"), batches), st.integers(1, 100))
def test_low_likely_high(history: dict[str, list[Entry]], count: int) -> None:
    """In that order for every stage and for the plan, at least 15 % apart, and money is in step with time."""
    project = {m.name: m for m in (a_model("a"), a_model("b", "a"), a_model("c", "a"), a_model("d"))}
    entries = [
        built(0, (e.interval.end - e.interval.start).days, e.seconds, model=name, version=e.version)
        for name, found in history.items()
        for e in found
    ]
    stages = [a_build(model, 0, count) for model in project.values()]
    found = estimate(stages, entries, project, at_once=2, price=CORES)
    assert set(found.unknown) == project.keys() - history.keys()
    for takes in (*(s.takes for s in found.stages), found.total):
        if takes.seconds:
            assert takes.seconds.low <= takes.seconds.likely * 0.850001
            assert takes.seconds.high >= takes.seconds.likely * 1.149999
            assert takes.cost
            assert takes.cost.likely == pytest.approx(takes.seconds.likely / 360)


def test_negative_parts_are_not_believed() -> None:
    """Larger batches that were faster (the first ones were cold) mean a flat line, not one that falls."""
    takes = seconds(guess(a_build(a_model("a", batch_size=30), 0, 30), [built(0, 10, 30), built(10, 40, 10)]))
    assert takes.likely == pytest.approx(20)
    steep = seconds(guess(a_build(a_model("a", batch_size=30), 0, 30), [built(0, 10, 1), built(10, 40, 60)]))
    assert steep.likely == pytest.approx(30 * (10 * 1 + 30 * 60) / 1000)


def test_a_sample_of_single_days_bounds_what_a_batch_takes() -> None:
    """Three batches of a day: thirty days take between as long (all fixed) and thirty times that (all proportional)."""
    takes = guess(a_build(a_model("a", batch_size=30), 0, 30), [built(n, n + 1, 4) for n in (0, 15, 29)])
    assert takes.seconds == Spread(low=pytest.approx(4 * 0.85), likely=120, high=pytest.approx(120 * 1.15))
    assert takes.basis == "from 3 batches of this version, 3 days, in proportion to 1 day"
    assert (takes.rows, takes.bytes) == (30_000, 300_000)


def test_batches_that_are_mostly_fixed_time_are_said_so() -> None:
    """Each reads all of the source: thirty batches of three days cost what thirty of a month would."""
    model = a_model("a", batch_size=3)
    flat = [built(0, 1, 9.8), built(1, 4, 10), built(4, 14, 10.2)]
    assert "a larger `batch_size:` than 3 would take less" in guess(a_build(model, 0, 90), flat).basis
    steep = [built(0, 1, 1.5), built(1, 4, 4.5), built(4, 14, 15)]
    assert "batch_size" not in guess(a_build(model, 0, 90), steep).basis


def test_a_wide_range_says_how_to_narrow_it() -> None:
    """Samples of single days tell little of batches of a month: one of these would."""
    stage = a_build(a_model("a", batch_size=30), 0, 90)
    takes = guess(stage, [built(n, n + 1, 4) for n in (0, 15, 29)])
    assert takes.basis.endswith(f"to know better, build one of its batches first: {stage.batches[0]}")


def test_a_sample_takes_the_shape_from_another_version() -> None:
    """The old version says how much of a batch is fixed; the sample says how much slower the new one is: twice."""
    old = [built(0, 10, 10 + 10, version="old"), built(10, 40, 10 + 30, version="old")]
    sample = [built(n, n + 1, 22) for n in (0, 15, 29)]
    takes = guess(a_build(a_model("a", batch_size=30), 0, 30), [*old, *sample])
    assert seconds(takes).likely == pytest.approx(80)
    assert takes.basis == "from 3 batches of this version, 3 days; other sizes as in version old"


def test_one_batch_is_a_wide_range() -> None:
    """Half as long or half as much again, however well it fits itself."""
    assert guess(a_build(a_model("a", batch_size=30), 0, 30), [built(0, 30, 10)]).seconds == Spread(
        low=5, likely=10, high=15
    )


def test_the_versions_own_batches_come_first() -> None:
    """Then those of the version that was built last, which is said and widens the range; then nothing."""
    stage = a_build(a_model("a", batch_size=30), 0, 30)
    old = [built(0, 30, 20, version="old", at=after(n)) for n in range(3)]
    older = [built(0, 30, 99, version="older", at=after(-n - 1)) for n in range(3)]
    own = [built(0, 30, 10, at=after(-99)) for _ in range(4)]
    takes = guess(stage, [*old, *older, *own])
    assert takes.basis == "from 4 batches of this version, 120 days"
    assert takes.seconds == Spread(low=pytest.approx(8.5), likely=10, high=pytest.approx(11.5))
    takes = guess(stage, [*older, *old])
    assert takes.basis == "from 3 batches of version old (other logic)"
    assert takes.seconds == Spread(low=pytest.approx(14), likely=20, high=pytest.approx(26))
    assert guess(stage, []) == Estimate(basis="no history: run with --sample 3")
    assert guess(stage, [built(0, 30, 10, model="b")]) == Estimate(basis="no history: run with --sample 3")


def test_adopted_rows_say_nothing_about_time() -> None:
    """Nobody computed them: they count as no history, neither as the version's own nor beside another one's."""
    stage = a_build(a_model("a", batch_size=30), 0, 30)
    adopted = built(0, 3000, 0, version="v1.adopted-1f", at=after(9))
    assert guess(stage, [adopted]) == Estimate(basis="no history: run with --sample 3")
    assert guess(stage, [adopted, built(0, 30, 10, version="old")]).basis == "from 1 batch of version old (other logic)"


def test_a_restatement_is_of_the_same_logic() -> None:
    """A revision without batches of its own goes by its version's, which are as good, not by newer ones of others."""
    stage = a_build(a_model("a", batch_size=30), 0, 30, "v1.1f3a77b0")
    entries = [built(0, 30, 10), *(built(0, 30, 99, version="newer", at=after(n)) for n in range(4))]
    assert guess(stage, entries).basis == "from 1 batch of this version, 30 days"


def test_the_spread_of_the_batches_is_the_range() -> None:
    """The first batches of a session are slow: a tenth of all may be faster or slower than the range says."""
    entries = [built(0, 30, s) for s in (30, 30, 10, 10, 10, 10, 10, 10, 10, 10)]
    takes = seconds(guess(a_build(a_model("a", batch_size=30), 0, 30), entries))
    assert takes == Spread(low=pytest.approx(10), likely=pytest.approx(14), high=pytest.approx(30))


def times(noise: str, days: int, at: Random) -> list[float]:
    """Seconds of each day, of ten in the middle."""
    match noise:
        case "constant":
            return [10.0] * days
        case "even":
            return [10 * at.uniform(0.5, 1.5) for _ in range(days)]
        case "factors":
            return [10 * at.lognormvariate(0, 0.5) for _ in range(days)]
        case "heavy tail":
            return [10 * at.lognormvariate(0, 1) for _ in range(days)]
        case "waiting":
            return [2 + at.expovariate(0.1) for _ in range(days)]
        case _:
            return [10 * (1 + 2 * day / days) * at.uniform(0.5, 1.5) for day in range(days)]


@pytest.mark.parametrize("sample", [2, 3, 4, 5])
@pytest.mark.parametrize("noise", ["constant", "even", "factors", "heavy tail", "waiting", "trend"])
def test_a_sample_of_few_holds_what_it_says(noise: str, sample: int) -> None:
    """In 8 of 10 cases at least what the rest takes lies in the range: of one day more, and of a month."""
    model = a_model("a", batch_size=1)
    for days in (sample + 1, 30):
        held, tries, at = 0, 300, Random(f"{noise} {sample} {days}")
        for _ in range(tries):
            took = times(noise, days, at)
            every = Ranges((span(0, days),))
            chosen = evenly_spaced(every, model.cadence, sample)
            picked = {(i.start - EPOCH).days for i in chosen.split(model.cadence)}
            rest = every - chosen
            stage = replace(
                a_build(model, 0, days),
                intervals=rest,
                count=rest.count(model.cadence),
                batches=tuple(rest.batches(model.cadence, 1)),
            )
            found = seconds(guess(stage, [built(day, day + 1, took[day]) for day in picked], model))
            held += found.low <= sum(s for day, s in enumerate(took) if day not in picked) * (1 + 1e-9) <= found.high
        assert held >= 0.8 * tries, f"{held} of {tries} with {days} days"


def test_audits_take_time_too() -> None:
    """From a run's last batch to its last verdict, by run; a restatement is no verdict, and the number is fixed."""
    entries = [
        *(built(0, 30, 10, at=after(n), run="r") for n in range(3)),
        judged(after(6), run="r"),
        judged(after(7), run="r", kind=Kind.INVALIDATED),
        *(built(0, 30, 10, at=after(100 + n), run="s") for n in range(3)),
        judged(after(109), run="s"),
        *(built(0, 30, 10, at=after(200), run="t") for n in range(3)),
        Entry(kind=Kind.INVALIDATED, model="a", version="v1", interval=span(0, 1), run="t", at=after(9000)),
        judged(after(9999), run="another that finished its work"),
    ]
    for count, batch in ((30, 1), (60, 2)):
        takes = seconds(guess(a_build(a_model("a", batch_size=30), 0, count), entries))
        assert takes.likely == pytest.approx(10 * batch + 6)
        assert (takes.low, takes.high) == (pytest.approx(8.5 * batch + 5), pytest.approx(11.5 * batch + 7))


def test_batches_of_another_cadence_are_counted_in_this_one() -> None:
    """A model that was daily and is monthly now: what is shorter than a month says nothing."""
    model = a_model("a", cadence=Cadence.MONTHLY, batch_size=6)
    assert guess(a_build(model, 0, 366), [built(0, 10, 9)], model).basis.startswith("no history")
    takes = guess(a_build(model, 0, 366), [built(0, 91, 9)], model)
    assert takes.basis == "from 1 batch of this version, 3 months, in proportion to 3 months"
    assert seconds(takes).likely == pytest.approx(36)


def test_rows_of_days_say_nothing_of_the_rows_of_hours() -> None:
    """A model that was daily and is hourly now: it may hold a row an hour where it held one a day. Time is told."""
    model, other = a_model("a", cadence=Cadence.HOURLY, batch_size=240), a_model("b", batch_size=30)
    stages, found = [a_build(model, 0, 10, "v2"), a_build(other, 0, 10)], [built(0, 10, 9), built(0, 10, 9, model="b")]
    models = {"a": model, "b": other}
    told = estimate(stages, found, models, at_once=2, cadences={("a", "v1"): Cadence.DAILY, ("b", "v1"): Cadence.DAILY})
    hours, days = (s.takes for s in told.stages)
    assert (hours.rows, hours.bytes) == (None, None) and seconds(hours).likely == pytest.approx(9)
    assert (days.rows, days.bytes) == (10_000, 100_000)
    assert (told.total.rows, told.total.bytes) == (None, None) and seconds(told.total)


# --- schedules --------------------------------------------------------------------------------------------------------


def ticks(tasks: Mapping[str, int], reads: Mapping[str, Sequence[str]], workers: int) -> int:
    """The brute-force model: a pool, second by second. Ready tasks queue in the order given."""
    queue = [name for name in tasks if not reads.get(name)]
    seen, finished, running, now = set(queue), set[str](), dict[str, int](), 0
    while True:
        while True:
            for name in [n for n, left in running.items() if left == 0]:
                del running[name]
                finished.add(name)
            fresh = [n for n in tasks if n not in seen and finished >= set(reads.get(n, ()))]
            seen |= set(fresh)
            queue += fresh
            begun = queue[: workers - len(running)]
            queue = queue[len(begun) :]
            running |= {name: tasks[name] for name in begun}
            if all(running.values()):
                break
        if not running:
            return now
        now += 1
        running = {name: left - 1 for name, left in running.items()}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 4))
def test_waves_are_what_a_pool_does(tasks: list[int], workers: int) -> None:
    """Tasks begin in order, each when a worker is free."""
    named = {str(n): task for n, task in enumerate(tasks)}
    assert waves(tasks, workers) == ticks(named, {}, workers)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.data())
def test_a_plan_takes_its_longest_road_at_least(tasks: list[int], data: st.DataObject) -> None:
    """With room for all exactly that; one at a time the sum; two at a time something between."""
    named = {str(n): task for n, task in enumerate(tasks)}
    reads = {
        str(n): data.draw(st.lists(st.sampled_from([str(m) for m in range(n)]), unique=True)) if n else []
        for n in range(len(tasks))
    }
    road: dict[str, int] = {}
    for name in named:
        road[name] = named[name] + max((road[u] for u in reads[name]), default=0)
    assert side_by_side(named, reads, len(tasks)) == max(road.values())
    assert side_by_side(named, reads, 1) == sum(tasks)
    assert max(road.values()) <= side_by_side(named, reads, 2) <= sum(tasks)


@pytest.mark.parametrize(
    ("tasks", "reads"),
    [
        ({"a": 5, "b": 3, "c": 2, "d": 4}, {"b": ["a"], "c": ["a"], "d": ["b", "c"]}),
        ({"a": 5, "b": 3, "c": 2}, {"b": ["a"], "c": ["a"]}),
        ({"a": 5, "b": 1, "c": 2, "d": 9}, {"d": ["c"]}),
        ({"a": 0, "b": 1, "c": 2, "d": 9}, {"d": ["a"]}),
    ],
)
def test_models_are_scheduled_as_apply_does(tasks: dict[str, int], reads: dict[str, list[str]]) -> None:
    """Two at a time, each when what it reads is done."""
    assert side_by_side(tasks, reads, 2) == ticks(tasks, reads, 2)


def test_nothing_takes_no_time() -> None:
    """A plan without work."""
    assert side_by_side({}, {}, 2) == waves([], 2) == 0
    empty = estimate([], [], {}, at_once=2, price=CORES)
    assert (empty.stages, empty.total, empty.unknown) == ((), Estimate(basis="nothing to build"), ())
    assert estimate_lines(empty) == estimate_markdown(empty) == []


# --- samples ----------------------------------------------------------------------------------------------------------
@given(sets_of_days(), st.integers(1, 25))
def test_a_sample_is_some_of_them(days: Ranges, n: int) -> None:
    """Members, distinct, `n` or all, with the newest and (of two or more) the oldest; the same every time."""
    found = evenly_spaced(days, Cadence.DAILY, n)
    every = list(days.split(Cadence.DAILY))
    assert not found - days
    assert found.count(Cadence.DAILY) == min(n, len(every))
    assert not every or every[-1] in found
    assert n == 1 or not every or every[0] in found
    assert found == evenly_spaced(days, Cadence.DAILY, n)


def test_a_sample_is_of_whole_intervals_of_the_cadence() -> None:
    """Months, here; and never of nothing."""
    year = Ranges((Interval.of("2024-01-01", "2025-01-01"),))
    assert [i.start.month for i in evenly_spaced(year, Cadence.MONTHLY, 3)] == [1, 7, 12]
    assert [i.start.month for i in evenly_spaced(year, Cadence.MONTHLY, 1)] == [12]
    with pytest.raises(ValueError, match="at least one"):
        evenly_spaced(year, Cadence.MONTHLY, 0)


# --- plans ------------------------------------------------------------------------------------------------------------

PERFORMANCE = a_model("campaign_performance", "ads.events", batch_size=270, batch_concurrency=2)
ROI = a_model("roi_analysis", "campaign_performance", batch_size=90)
TRENDS = a_model("trends", "campaign_performance", cadence=Cadence.MONTHLY, batch_size=6)
MODELS = {m.name: m for m in (PERFORMANCE, ROI, TRENDS)}
HISTORY = [
    *(built(0, 270, s, model="campaign_performance", at=after(n)) for n, s in enumerate((70, 60, 50))),
    *(built(0, n, 2 + n / 10, model="roi_analysis", version="ab12", at=after(n)) for n in (30, 60, 90)),
    judged(after(6), model="campaign_performance"),
]


def a_plan(*stages: Build | AuditStage, price: Cost | None = None) -> PlanEstimate:
    return estimate(stages, HISTORY, MODELS, at_once=2, price=price)


def plain(found: PlanEstimate) -> list[str]:
    return [line.plain for line in estimate_lines(found)]


def test_what_a_person_reads() -> None:
    """A line a stage and one for all, in columns; money only where a price is set."""
    stages = a_build(PERFORMANCE, 0, 540), a_build(ROI, 0, 540)
    assert plain(a_plan(*stages)) == [
        "campaign_performance  540 days in 2 batches  ≈ 42–98 s  ≈ 540 k rows",
        "  from 3 batches of this version, 810 days",
        "roi_analysis          540 days in 6 batches  ≈ 46–86 s  ≈ 540 k rows",
        "  from 3 batches of version ab12 (other logic)",
        "total                 ≈ 1.5–3.1 min  ≈ 1.1 M rows  plus starting Spark",
    ]
    assert "  EUR 0.25–0.51  " in plain(a_plan(*stages, price=CORES))[-1]
    assert not any("EUR" in line for line in plain(a_plan(*stages, price=CORES))[:-1])


def test_what_a_pull_request_shows() -> None:
    """A Markdown table, with the price it counted with."""
    stages = a_build(PERFORMANCE, 0, 540), a_build(TRENDS, 0, 182)
    assert estimate_markdown(a_plan(*stages, price=CORES)) == [
        "| model | intervals | time | rows | size | cost (10 EUR an hour) | basis |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| `campaign_performance` | 540 days in 2 batches | ≈ 42–98 s | ≈ 540 k | ≈ 5.4 MB |  "
        "| from 3 batches of this version, 810 days |",
        "| `trends` | 6 months in 1 batch |  |  |  |  | no history: run with --sample 3 |",
        "| **total** |  | ≈ 42–98 s | ≈ 540 k | ≈ 5.4 MB | EUR 0.12–0.27 "
        "| partial: nothing is known of trends; run with --sample 3 |",
    ]
    assert "cost" not in estimate_markdown(a_plan(*stages))[0]


def test_what_a_machine_reads() -> None:
    """Plain values that say when the total is partial, and what is counted in."""
    told = a_plan(a_build(PERFORMANCE, 0, 540), a_build(TRENDS, 0, 182), price=CORES).to_json()
    assert json.loads(json.dumps(told)) == told
    assert (told["partial"], told["unknown"], told["currency"], told["unit"]) == (True, ["trends"], "EUR", "core-hours")
    assert told["total"] == {
        "seconds": {"low": 42.1349, "likely": 64.0, "high": 97.5194},
        "rows": 540_000,
        "bytes": 5_400_000,
        "used": {"low": 0.2341, "likely": 0.3556, "high": 0.5418},
        "cost": {"low": 0.117, "likely": 0.1778, "high": 0.2709},
        "basis": "partial: nothing is known of trends; run with --sample 3",
    }
    told = a_plan(a_build(TRENDS, 0, 182)).to_json()
    assert told["total"] == dict.fromkeys(("seconds", "rows", "bytes", "used", "cost")) | {
        "basis": "no history: run with --sample 3"
    }


def test_models_side_by_side_take_less_than_their_sum() -> None:
    """What reads another waits for it; what does not runs beside it. An audit alone takes its scan's time."""
    check = AuditStage(model="campaign_performance", version="v1", intervals=Ranges((span(0, 9),)), count=9)
    roi, performance = a_build(ROI, 0, 540), a_build(PERFORMANCE, 0, 540)
    alone = [seconds(a_plan(stage).total).likely for stage in (performance, roi)]
    assert seconds(a_plan(performance, roi).total).likely == pytest.approx(sum(alone))
    assert seconds(a_plan(check, performance).total).likely == pytest.approx(alone[0])
    assert seconds(a_plan(check, roi).total).likely == pytest.approx(alone[1] + 4)
    free = {"campaign_performance": PERFORMANCE, "roi_analysis": a_model("roi_analysis", batch_size=90)}
    beside = estimate([performance, roi], HISTORY, free, at_once=2).total
    assert seconds(beside).likely == pytest.approx(max(alone))


# --- afterwards -------------------------------------------------------------------------------------------------------


def it_took(
    *entries: Entry, stages: Sequence[Build] = (), price: Cost | None = None, waited: Ranges = NOTHING
) -> Actual:
    stages = stages or [a_build(PERFORMANCE, 0, 540)]
    return actual(entries, stages, MODELS, began=day(9), waited=waited, price=price)


def done(first: int, end: int, took: float, at: float, **more: str) -> Entry:
    values = {"model": "campaign_performance", **more}
    return built(first, end, took, at=day(9) + timedelta(seconds=at), **values)  # type: ignore[arg-type]


def test_what_it_really_took() -> None:
    """From the beginning, with the session's start, to the last verdict; what is older or not in the plan is not it."""
    took = it_took(
        done(0, 270, 40, 50),
        done(270, 540, 41, 52),
        judged(day(9) + timedelta(seconds=60), model="campaign_performance"),
        done(0, 270, 40, -5),
        done(0, 270, 40, 500, version="another"),
        done(540, 600, 40, 500),
        done(0, 270, 40, 500, model="roi_analysis"),
        price=CORES,
    )
    assert json.loads(json.dumps(took.to_json())) == {
        "stages": [
            {
                "model": "campaign_performance",
                "version": "v1",
                "planned": 540,
                "count": 540,
                "batches": 2,
                "rows": 540_000,
                "bytes": 5_400_000,
                "seconds": 50.0,
            }
        ],
        "seconds": 60.0,
        "rows": 540_000,
        "bytes": 5_400_000,
        "used": 0.3333,
        "cost": 0.1667,
    }
    assert it_took().seconds == 0
    assert it_took().cost is None


def test_a_run_counts_from_its_first_batch() -> None:
    """As its packet does, and as estimates know it: opening Spark is said beside, and is nothing to judge."""
    stages, begun = [a_build(PERFORMANCE, 0, 540)], replace(done(0, 540, 0, 5), kind=Kind.STARTED)
    entries = [begun, done(0, 540, 55, 60)]
    took = actual_of_run(entries, stages, MODELS, began=day(9), price=CORES)
    assert (took.seconds, took.opening) == (55, 5) and took.seconds == seconds_at_work(entries)
    assert took.cost == pytest.approx(55 / 60 * it_took(*entries, price=CORES).cost)
    said = comparison(a_plan(*stages), took)
    assert said == "Took 55 s, as estimated (42–98 s). Before its first batch, opening Spark took 5 s."
    waited = Ranges((Interval(day(9), day(9) + timedelta(seconds=3)),))
    assert actual_of_run(entries, stages, MODELS, began=day(9), waited=waited).opening == 2
    audits = [judged(day(9) + timedelta(seconds=60), model="campaign_performance")]
    assert actual_of_run(audits, stages, MODELS, began=day(9)).opening == 0, "nothing says when it began"
    later = [replace(e, at=e.at + timedelta(seconds=600)) for e in entries]
    took = actual_of_run([*audits, *later], stages, MODELS, began=day(9))
    assert (took.seconds, took.opening) == (660, 0), "an audit that came first is work"


def test_what_was_waited_is_no_work() -> None:
    """A night of two batches, a day's wait, a third batch: all three count, and the wait does not, in the total, its
    price and the stage. A batch that ran on when the window closed is work. Times are in hours."""
    begins, hour = day(9), 3600.0
    night = (done(0, 180, hour, hour), done(180, 360, 2 * hour, 3 * hour))
    entries = (*night, done(360, 540, hour, 25 * hour))
    waited = Ranges((Interval(begins + timedelta(hours=2), begins + timedelta(hours=24)),))
    took = it_took(*entries, waited=waited, price=CORES)
    [stage] = took.stages
    assert (stage.batches, stage.count, stage.rows) == (3, 540, took.rows)
    assert (took.seconds, stage.seconds) == (4 * hour, 4 * hour)
    assert took.cost == pytest.approx(4 * 10)
    opened = Ranges((Interval(begins - timedelta(hours=5), begins),))
    assert it_took(*night, waited=opened).seconds == 3 * hour


def test_an_attempt_that_failed_is_work() -> None:
    """Ten minutes that came to nothing, and ten that did."""
    begun = [replace(done(270, 540, 0, at), kind=Kind.STARTED) for at in (100, 700)]
    assert it_took(done(0, 270, 100, 100), *begun, done(270, 540, 600, 1300)).stages[0].seconds == 1300


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (40, "Took 40 s, less than the estimated 42–98 s."),
        (41, "Took 41 s; estimated 42–98 s."),
        (60, "Took 60 s, as estimated (42–98 s)."),
        (99, "Took 99 s; estimated 42–98 s."),
        (112, "Took 112 s, more than the estimated 42–98 s, 1.8 times the likeliest 64 s."),
    ],
)
def test_the_estimate_is_held_against_it(took: float, said: str) -> None:
    """Less, as estimated, or more and by how much."""
    stage = a_build(PERFORMANCE, 0, 540)
    assert comparison(a_plan(stage), it_took(done(0, 540, 9, took))) == said


def test_what_cannot_be_compared_is_not_judged() -> None:
    """Work that was not finished, models that nobody knew, no estimate at all; money is told where it is known."""
    performance, trends = a_build(PERFORMANCE, 0, 540), a_build(TRENDS, 0, 182)
    both = [performance, trends]
    whole = [done(0, 540, 9, 40), done(0, 182, 9, 96, model="trends")]
    assert comparison(a_plan(*both), it_took(*whole, stages=both)) == "Took 96 s; estimated 42–98 s without trends."
    assert comparison(a_plan(trends), it_took(*whole, stages=[trends])) == "Took 96 s; there was no estimate."
    assert comparison(a_plan(trends), it_took(stages=[trends])) == "Nothing of it was built."
    said = comparison(a_plan(performance, price=CORES), it_took(done(0, 270, 9, 40), price=CORES))
    assert said == (
        "Took 40 s and EUR 0.11 for 270 of 540 days of campaign_performance; "
        "estimated 42–98 s and EUR 0.12–0.27 for all."
    )


def test_days_of_a_sample_do_not_say_that_all_is_fixed_or_none() -> None:
    """The trial: two days of tables that each batch reads whole took 40 s each, and 2,406 were said to take 1.7 to
    275 hours; they took 6 minutes. The bytes that are read say what of a day's 40 s is fixed."""
    model = a_model("a", batch_size=2406)
    entries = [built(0, 1, 39.0), built(2405, 2406, 41.0)]
    [without] = estimate([a_build(model, 0, 2406)], entries, {"a": model}, at_once=2).stages
    shapes = {"a": (42.0, 0.139)}.get
    [stage] = estimate([a_build(model, 0, 2406)], entries, {"a": model}, at_once=2, shapes=shapes).stages
    takes = seconds(stage.takes)
    assert takes.low < 360 < takes.high and takes.high < 3600 < seconds(without.takes).high
    assert takes.likely == pytest.approx(40 * (42 + 0.139 * 2406) / 42.139)
    assert stage.takes.basis.startswith(
        "from 2 batches of this version, 2 days; other sizes by the bytes that they read"
    )


def test_bytes_are_asked_only_about_other_sizes() -> None:
    """A daily run looks at no files of its sources for the estimate; nor do batches that have sizes of their own."""
    model = a_model("a", batch_size=30)

    def shapes(name: str) -> tuple[float, float] | None:
        raise AssertionError(name)

    estimate([a_build(model, 30, 60)], [built(0, 30, 9.0)], {"a": model}, at_once=2, shapes=shapes)
    estimate([a_build(model, 90, 95)], [built(0, 30, 9.0), built(30, 90, 15.0)], {"a": model}, at_once=2, shapes=shapes)
