"""How long will it take, what will it cost, and was that true? Ranges with their basis, from the ledger's batches."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from graphlib import TopologicalSorter
from itertools import count
from math import exp, log, sqrt
from statistics import fmean, median, quantiles
from types import MappingProxyType

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import logic_of
from backfill_assets.core.settings import Cost
from backfill_assets.core.wording import amount
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.stages import Audit, Build
from backfill_assets.state.ledger import Entry, Kind, by_version

USEFUL = frozenset({Kind.BUILT, Kind.AUDITED, Kind.INVALIDATED})
"""The kinds of entries that say something about time."""

SURE, OTHER_LOGIC, FEW = 0.15, 0.3, 0.5
"""No range is narrower than this part of the likely value: at best; from another version; from fewer than 3 batches."""

_WIDE = 10
"""How many times the least time the most may be, before a better basis is proposed."""

TICK = 1e-3
"""Seconds: no batch took less, whatever a clock said."""

# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number that nobody knows exactly: `low <= likely <= high`."""

    low: float
    likely: float
    high: float

    def times(self, factor: float) -> Spread:
        return Spread(low=self.low * factor, likely=self.likely * factor, high=self.high * factor)

    def plus(self, other: Spread) -> Spread:
        return Spread(low=self.low + other.low, likely=self.likely + other.likely, high=self.high + other.high)

    def to_json(self) -> dict[str, float]:
        return {"low": round(self.low, 4), "likely": round(self.likely, 4), "high": round(self.high, 4)}


NO_TIME = Spread(low=0, likely=0, high=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What something will take, and where that is from; None where nobody knows.

    `seconds` are on the wall, with audits, without opening the Spark session (the ledger does not know that). `used`
    are core-hours or DBU, `cost` is money: the machine's for those seconds, idle cores included.
    """

    seconds: Spread | None = None
    rows: int | None = None
    bytes: int | None = None
    used: Spread | None = None
    cost: Spread | None = None
    basis: str

    def to_json(self) -> dict[str, object]:
        return {
            "seconds": self.seconds and self.seconds.to_json(),
            "rows": self.rows,
            "bytes": self.bytes,
            "used": self.used and self.used.to_json(),
            "cost": self.cost and self.cost.to_json(),
            "basis": self.basis,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate:
    """What one Build stage would take by itself: two models that run side by side share the machine and its price."""

    model: str
    version: str
    cadence: Cadence
    count: int
    batches: int
    takes: Estimate

    def to_json(self) -> dict[str, object]:
        return {
            "model": self.model,
            "version": self.version,
            "count": self.count,
            "batches": self.batches,
            **self.takes.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEstimate:
    """What all stages of a plan take together, and each of its Build stages by itself; `price` is what it counts with.

    `unknown` names the models without a number: the total is partial then.
    """

    stages: tuple[StageEstimate, ...]
    total: Estimate
    unknown: tuple[str, ...]
    price: Cost | None
    whole: PlanEstimate | None = None
    """The same for building everything again; None when that is no more work, or not known."""
    smallest: PlanEstimate | None = None
    """The same for the smallest window that consumers need; None when it is no less work, or not known."""

    def to_json(self) -> dict[str, object]:
        """Plain values; `partial` says that models are missing in the total."""
        return {
            "stages": [stage.to_json() for stage in self.stages],
            "total": self.total.to_json(),
            "partial": bool(self.unknown),
            "unknown": list(self.unknown),
            "currency": self.price and self.price.currency,
            "unit": self.price and self.price.unit,
            "whole": self.whole and self.whole.to_json(),
            "smallest": self.smallest and self.smallest.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StageActual:
    """What one Build stage took. `seconds` are on the wall, from its first batch's beginning to its last record."""

    model: str
    version: str
    cadence: Cadence
    planned: int
    count: int
    batches: int
    rows: int
    bytes: int
    seconds: float

    def to_json(self) -> dict[str, object]:
        return {
            "model": self.model,
            "version": self.version,
            "planned": self.planned,
            "count": self.count,
            "batches": self.batches,
            "rows": self.rows,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Actual:
    """What it really took. `seconds` are from `began`, so with opening the session, to the last record."""

    stages: tuple[StageActual, ...]
    seconds: float
    rows: int
    bytes: int
    used: float | None
    cost: float | None

    def to_json(self) -> dict[str, object]:
        return {
            "stages": [stage.to_json() for stage in self.stages],
            "seconds": round(self.seconds, 4),
            "rows": self.rows,
            "bytes": self.bytes,
            "used": None if self.used is None else round(self.used, 4),
            "cost": None if self.cost is None else round(self.cost, 4),
        }


# --- before -----------------------------------------------------------------------------------------------------------


def estimate(
    stages: Sequence[Build | Audit],
    entries: Iterable[Entry],
    models: Mapping[str, Model],
    *,
    at_once: int,
    price: Cost | None = None,
    whole: Sequence[Build] = (),
    smaller: Sequence[Build] = (),
    copies: Mapping[str, Copied] = MappingProxyType({}),
) -> PlanEstimate:
    """What the stages (`plan.work`) will take, going by the ledger's entries of USEFUL kinds, in any order.

    `whole` (`plan.whole`) is what they are measured against, `smaller` (`plan.smaller`) what they are measured with,
    `copies` (`plan.copies`) is what is not computed of them. `at_once` is how many models run side by side. The plan's
    time is not the sum of its stages': models are scheduled as `build.apply` does it, each when what it reads is done.
    """
    entries = [e for e in entries if e.kind in USEFUL]
    everything = estimate(whole, entries, models, at_once=at_once, price=price) if whole else None
    less = estimate(smaller, entries, models, at_once=at_once, price=price) if smaller else None
    history = by_version(entries)
    found: list[StageEstimate] = []
    seconds: dict[str, Spread] = {}
    for stage in stages:
        model = models[stage.model]
        basis = _basis(history, model, stage.version)
        audits = basis.audits if basis else NO_TIME
        match stage:
            case Audit():
                seconds.setdefault(stage.model, audits)  # one scan serves what is audited and what is built
            case Build():
                takes = _priced(_of_stage(stage, model, basis, copies.get(stage.model, NO_COPY).covers), price)
                seconds[stage.model] = takes.seconds or NO_TIME
                found.append(
                    StageEstimate(
                        model=stage.model,
                        version=stage.version,
                        cadence=model.cadence,
                        count=stage.count,
                        batches=len(stage.batches),
                        takes=takes,
                    )
                )
    unknown = tuple(s.model for s in found if s.takes.seconds is None)
    reads = {name: [u.name for u in models[name].upstreams if u.name in seconds] for name in seconds}
    total = _priced(_of_plan(found, seconds, reads, at_once), price)
    known = everything if everything and not everything.unknown and not unknown else None
    least = less if less and not less.unknown and not unknown else None
    return PlanEstimate(stages=tuple(found), total=total, unknown=unknown, price=price, whole=known, smallest=least)


def sample_intervals(intervals: Ranges, cadence: Cadence, n: int) -> Ranges:
    """`n` single intervals, spread evenly from the first to the last; all of them if there are no more.

    The newest is always one of them: it holds the most rows where a business grows. Neighbours touch, so they are one
    range. Raises ValueError when n is less than 1.

    >>> from backfill_assets.core.intervals import Interval
    >>> str(sample_intervals(Ranges((Interval.of("2024-01-01", "2024-01-10"),)), Cadence.DAILY, 3))
    '2024-01-01, 2024-01-05, 2024-01-09'
    """
    if n < 1:
        raise ValueError(f"a sample has at least one interval, not {n}")
    every = list(intervals.split(cadence))
    if n >= len(every):
        return intervals
    last = len(every) - 1
    return Ranges.of(every[last - last * i // max(n - 1, 1)] for i in range(n))


def waves(seconds: Iterable[float], workers: int) -> float:
    """How long a pool of workers takes for tasks of these lengths, begun in this order, each as a worker is free.

    >>> waves([3, 1, 1, 1], 2)
    3
    """
    busy_until: list[float] = [0] * workers
    for task in seconds:
        heapq.heapreplace(busy_until, busy_until[0] + task)
    return max(busy_until)


def side_by_side(seconds: Mapping[str, float], reads: Mapping[str, Collection[str]], at_once: int) -> float:
    """How long models take of which each begins when those that it reads are done, at most `at_once` at a time.

    >>> side_by_side({"a": 5, "b": 2, "c": 1}, {"c": ["a", "b"]}, 2)
    6
    """
    graph = TopologicalSorter({name: reads.get(name, ()) for name in seconds})
    graph.prepare()
    now: float = 0
    order, ready, running = count(), deque[str](), list[tuple[float, int, str]]()
    while graph.is_active():
        ready.extend(graph.get_ready())
        while ready and len(running) < at_once:
            name = ready.popleft()
            heapq.heappush(running, (now + seconds[name], next(order), name))
        now, _, name = heapq.heappop(running)
        graph.done(name)
    return now


# --- after ------------------------------------------------------------------------------------------------------------


def actual(
    entries: Iterable[Entry],
    stages: Sequence[Build | Audit],
    models: Mapping[str, Model],
    *,
    began: datetime,
    price: Cost | None = None,
) -> Actual:
    """What the Build stages took, by what the ledger recorded for their intervals since `began`.

    Work of other runs on the same intervals counts; who does not want that gives one run's entries only.
    """
    since = [e for e in entries if e.kind in USEFUL and e.at >= began]
    history = by_version(since)
    found: list[StageActual] = []
    latest = began
    for stage in stages:
        of_stage = [e for e in history.get((stage.model, stage.version), []) if Ranges((e.interval,)) & stage.intervals]
        latest = max((latest, *(e.at for e in of_stage)))
        if isinstance(stage, Build):
            found.append(_what_it_took(stage, models[stage.model].cadence, of_stage))
    seconds = (latest - began).total_seconds()
    return Actual(
        stages=tuple(found),
        seconds=seconds,
        rows=sum(s.rows for s in found),
        bytes=sum(s.bytes for s in found),
        used=price and price.units_per_hour * seconds / 3600,
        cost=price and price.per_hour * seconds / 3600,
    )


def comparison(before: PlanEstimate, after: Actual) -> str:
    """The estimate against what it really took, in one sentence; what was not estimated is not judged."""
    took = f"Took {duration(after.seconds, after.seconds)}"
    if before.price and after.cost is not None:
        took += f" and {money(before.price.currency, after.cost, after.cost)}"
    guess = before.total.seconds
    if guess is None:
        return f"{took}; there was no estimate."
    said = duration(guess.low, guess.high)
    if before.total.cost and before.price:
        said += f" and {money(before.price.currency, before.total.cost.low, before.total.cost.high)}"
    undone = [
        f"{s.count:,} of {amount(s.planned, s.cadence)} of {s.model}" for s in after.stages if s.count < s.planned
    ]
    if undone:
        return f"{took} for {', '.join(undone)}; estimated {said} for all."
    if before.unknown:
        return f"{took}; estimated {said} without {', '.join(before.unknown)}."
    if after.seconds < guess.low:
        return f"{took}, less than the estimated {said}."
    if after.seconds > guess.high:
        more = f", {after.seconds / guess.likely - 1:.0%} over the likely" if guess.likely else ""
        return f"{took}, more than the estimated {said}{more}."
    return f"{took}, as estimated ({said})."


def saving(guess: PlanEstimate, took: Actual | None = None) -> str:
    """What building everything again would take, and what of that this way saves (so far as it `took`, where that is
    known), in one sentence; "" where building everything is no more work, or nobody knows."""
    if guess.whole is None or guess.whole.total.seconds is None:
        return ""
    everything, cost, price = guess.whole.total.seconds, guess.whole.total.cost, guess.price
    names = ", ".join(f"{amount(s.count, s.cadence)} of {s.model}" for s in guess.whole.stages)
    said = duration(everything.low, everything.high)
    likely = guess.total.seconds.likely if guess.total.seconds else 0.0
    seconds = everything.likely - (took.seconds if took else likely)
    if seconds < 0.01 * everything.likely:
        return f"Building everything again ({names}) would take about as long, {said}."
    saved = duration(seconds, seconds)
    if price and cost:
        less = seconds * price.per_hour / 3600
        said += f" and {money(price.currency, cost.low, cost.high)}"
        saved += f" and {money(price.currency, less, less)}"
    part = seconds / everything.likely
    return f"Building everything again ({names}) would take {said}: this saves about {saved}, {part:.0%}."


# --- words ------------------------------------------------------------------------------------------------------------


def duration(low: float, high: float) -> str:
    """A range of seconds, in the unit that suits the higher.

    >>> duration(44.6, 70), duration(170, 300), duration(5400, 9000), duration(2.2, 2.24)
    ('45–70 s', '2.8–5 min', '1.5–2.5 h', '2.2 s')
    """
    unit, size = ("s", 1) if high < 120 else ("min", 60) if high < 7200 else ("h", 3600)
    return f"{_between(low / size, high / size, _short)} {unit}"


def money(currency: str, low: float, high: float) -> str:
    """A range of money; what is less than a hundredth is not told apart.

    >>> money("EUR", 0.002, 0.004), money("USD", 0.5, 1234)
    ('under EUR 0.01', 'USD 0.50–1,234.00')
    """
    return f"under {currency} 0.01" if high < 0.01 else f"{currency} {_between(low, high, '{:,.2f}'.format)}"


def _between(low: float, high: float, show: Callable[[float], str]) -> str:
    first, last = show(low), show(high)
    return first if first == last else f"{first}–{last}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


# --- what history says ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class _Batch:
    """One BUILT entry, by how many intervals it held."""

    size: int
    seconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Seconds of a batch = `fixed` + `each` × its intervals, learnt from batches of `smallest` to `largest`.

    Real times lie between `down` and `up` times what the line says.
    """

    fixed: float
    each: float
    smallest: int
    largest: int
    down: float
    up: float

    def __call__(self, size: int) -> float:
        return self.fixed + self.each * size

    def spread(self, size: int) -> Spread:
        """Outside of the sizes that were seen, all may be fixed time or all proportional: the range holds both."""
        seen = min(max(size, self.smallest), self.largest)
        ends = self(seen), self(size), self(seen) * size / seen
        return Spread(low=min(ends) * self.down, likely=self(size), high=max(ends) * self.up)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What is known of a model: its batches' line, what an interval holds, how long the audits after a build take.

    `size` is that of the batches, where all have one (else 0); `beyond` says where other sizes are from then.
    """

    line: _Line
    rows: float
    bytes: float
    audits: Spread
    words: str
    size: int
    beyond: str


def _basis(history: Mapping[tuple[str, str], Sequence[Entry]], model: Model, version: str) -> _Basis | None:
    """The version's own batches; else those of the same logic, or of the version that was built last. None: there are
    none."""
    batches = {v: _batches(entries, model.cadence) for (name, v), entries in history.items() if name == model.name}
    built = {v for v, found in batches.items() if found}
    logic = logic_of(version)
    others = sorted(built - {version}, key=lambda v: (logic_of(v) == logic, _newest(history[model.name, v]), v))
    chosen = version if version in built else others[-1] if others else None
    if chosen is None:
        return None
    found, same = batches[chosen], logic_of(chosen) == logic
    intervals = sum(b.size for b in found)
    words = f"from {len(found)} batch{'es' * (len(found) != 1)} of "
    words += f"this version, {amount(intervals, model.cadence)}" if same else f"version {chosen} (other logic)"
    shape, only, beyond = None, 0, ""
    if _one_size(found):
        shape = next((v for v in reversed(others) if v != chosen and not _one_size(batches[v])), None)
        only = found[0].size
        beyond = (
            f"; other sizes as in version {shape}" if shape else f", in proportion to {amount(only, model.cadence)}"
        )
    return _Basis(
        line=_line(found, batches[shape] if shape else (), least=SURE if same else OTHER_LOGIC),
        rows=sum(b.rows for b in found) / intervals,
        bytes=sum(b.bytes for b in found) / intervals,
        audits=_audits(history[model.name, chosen]),
        words=words,
        size=only,
        beyond=beyond,
    )


def _batches(entries: Iterable[Entry], cadence: Cadence) -> list[_Batch]:
    """Sorted, so that the order in which entries come changes no sum."""
    sizes = ((cadence.count(e.interval), e) for e in entries if e.kind is Kind.BUILT and e.origin is None)
    return sorted(_Batch(size, max(e.seconds, TICK), e.rows, e.bytes) for size, e in sizes if size > 0)


def _newest(entries: Iterable[Entry]) -> tuple[int, datetime, str]:
    return max(e.order for e in entries if e.kind is Kind.BUILT)


def _one_size(batches: Sequence[_Batch]) -> bool:
    return batches[0].size == batches[-1].size


def _line(batches: Sequence[_Batch], shape: Sequence[_Batch], *, least: float) -> _Line:
    """The line through the batches. `shape` are another version's, for batches of one size: its line, scaled to fit."""
    fixed, each = _fit(shape or batches)
    if shape and (there := fixed + each * batches[0].size):
        scale = fmean(b.seconds for b in batches) / there
        fixed, each = fixed * scale, each * scale
    least = FEW if len(batches) < 3 else OTHER_LOGIC if shape else least
    ratios = [b.seconds / (fixed + each * b.size) for b in batches if fixed + each * b.size] or [1.0]
    tenths = quantiles(ratios, n=10, method="inclusive") if len(ratios) > 1 else ratios
    learnt = 1 if shape or not (fixed and each) else 2
    down, up = _of_few(ratios, learnt) if len(ratios) < len(_T) + 1 else (1.0, 1.0)
    sizes = [b.size for b in (*batches, *shape)]
    return _Line(
        fixed=fixed,
        each=each,
        smallest=min(sizes),
        largest=max(sizes),
        down=min(tenths[0], down, 1 - least),
        up=max(tenths[-1], up, 1 + least),
    )


_T = (4.165, 2.282, 1.924, 1.778, 1.699, 1.650, 1.617, 1.592)
"""Student's t for 1, 2, … degrees of freedom, 85 % within: 8 of 10 hold, though times are not normal but skewed. From
ten batches on, a tenth of them says it."""
_FARTHEST = 10
"""How many times the likely time a scatter of few batches makes the most; two that differ much would say anything."""


def _of_few(ratios: Sequence[float], learnt: int) -> tuple[float, float]:
    """The least and the most that another batch takes, as a part of what the line says, in 8 of 10 cases.

    Few batches rarely show how far others lie from them. Times scatter by factors, so that is reckoned with their
    logarithms, upwards also with the times themselves; `learnt` is how many numbers the line was made of.
    """
    if len(ratios) <= learnt:
        return 1.0, 1.0
    free = len(ratios) - learnt
    wide = _T[free - 1] * sqrt(1 + 1 / len(ratios))
    logs = [log(ratio) for ratio in ratios]
    middle = fmean(logs)
    scatter = sqrt(sum((one - middle) ** 2 for one in logs) / free)
    factor = exp(min(wide * scatter, log(_FARTHEST)))
    return exp(middle) / factor, max(factor, 1 + wide * sqrt(sum((ratio - 1) ** 2 for ratio in ratios) / free))


def _fit(batches: Sequence[_Batch]) -> tuple[float, float]:
    """Least squares without negative parts: the best of the free line, the one through zero and the flat one.

    Batches of one size say nothing about the fixed part: it is 0 then.
    """
    size, seconds = fmean(b.size for b in batches), fmean(b.seconds for b in batches)
    through_zero = (0.0, sum(b.size * b.seconds for b in batches) / sum(b.size**2 for b in batches))
    if _one_size(batches):
        return through_zero
    each = sum((b.size - size) * (b.seconds - seconds) for b in batches) / sum((b.size - size) ** 2 for b in batches)
    free = (seconds - each * size, each)
    if min(free) >= 0:
        return free
    return min(
        through_zero,
        (seconds, 0.0),
        key=lambda line: sum((line[0] + line[1] * b.size - b.seconds) ** 2 for b in batches),
    )


def _audits(entries: Iterable[Entry]) -> Spread:
    """The time from a run's last batch to its last verdict. It is one scan of all, so it is taken as fixed."""
    built: dict[str, datetime] = {}
    judged: dict[str, datetime] = {}
    for entry in entries:
        if entry.kind is Kind.BUILT:
            built[entry.run] = max(entry.at, built.get(entry.run, entry.at))
        elif entry.audits:  # an INVALIDATED without them is a restatement
            judged[entry.run] = max(entry.at, judged.get(entry.run, entry.at))
    tails = [(judged[run] - built[run]).total_seconds() for run in built if run in judged]
    tails = [tail for tail in tails if tail >= 0]
    return Spread(low=min(tails), likely=median(tails), high=max(tails)) if tails else NO_TIME


# --- putting it together ----------------------------------------------------------------------------------------------


_COPY_LEAST, _COPY_LIKELY = 0.1, 0.5
"""What copying takes at least, and likely, as a part of what computing took. It writes the same rows and reads no more,
so it takes no longer."""


def _of_stage(stage: Build, model: Model, basis: _Basis | None, copied: Ranges) -> Estimate:
    if basis is None:
        return Estimate(basis="no history: run with --sample 3")
    sizes = [model.cadence.count(batch) for batch in stage.batches]
    each = [basis.line.spread(size) for size in sizes]
    each = [
        replace(s, low=s.low * _COPY_LEAST, likely=s.likely * _COPY_LIKELY) if copied & Ranges((batch,)) else s
        for s, batch in zip(each, stage.batches, strict=True)
    ]
    words = basis.words + (basis.beyond if set(sizes) - {basis.size} else "")
    line, largest = basis.line, max(sizes, default=0)
    if len(sizes) > stage.concurrency and line.fixed > line.each * largest:
        words += f"; most of a batch is fixed time: a larger `batch_size:` than {largest} would take less"
    if len(sizes) > 1 and basis.size and each[0].high > _WIDE * each[0].low:
        words += f"; to know better, build one of its batches first: {stage.batches[0]}"
    if copied & stage.intervals:
        words = f"copying takes no longer than computing did, {words}"
    building = Spread(
        low=waves((s.low for s in each), stage.concurrency),
        likely=waves((s.likely for s in each), stage.concurrency),
        high=waves((s.high for s in each), stage.concurrency),
    )
    return Estimate(
        seconds=building.plus(basis.audits),
        rows=round(basis.rows * stage.count),
        bytes=round(basis.bytes * stage.count),
        basis=words,
    )


def _of_plan(
    stages: Sequence[StageEstimate], seconds: Mapping[str, Spread], reads: Mapping[str, Collection[str]], at_once: int
) -> Estimate:
    known = [s for s in stages if s.takes.seconds]
    unknown = [s.model for s in stages if not s.takes.seconds]
    if not known:
        return Estimate(basis="no history: run with --sample 3" if unknown else "nothing to build")
    cases = [
        side_by_side({name: s.low for name, s in seconds.items()}, reads, at_once),
        side_by_side({name: s.likely for name, s in seconds.items()}, reads, at_once),
        side_by_side({name: s.high for name, s in seconds.items()}, reads, at_once),
    ]
    return Estimate(
        # Longer tasks can end sooner when they start in another order (Graham's anomaly), hence min and max.
        seconds=Spread(low=min(cases), likely=cases[1], high=max(cases)),
        rows=sum(s.takes.rows or 0 for s in known),
        bytes=sum(s.takes.bytes or 0 for s in known),
        basis=f"partial: nothing is known of {', '.join(unknown)}; run with --sample 3"
        if unknown
        else "starting Spark comes on top",
    )


def _priced(takes: Estimate, price: Cost | None) -> Estimate:
    if price is None or takes.seconds is None:
        return takes
    return Estimate(
        seconds=takes.seconds,
        rows=takes.rows,
        bytes=takes.bytes,
        used=takes.seconds.times(price.units_per_hour / 3600),
        cost=takes.seconds.times(price.per_hour / 3600),
        basis=takes.basis,
    )


def _what_it_took(stage: Build, cadence: Cadence, entries: Sequence[Entry]) -> StageActual:
    built = [e for e in entries if e.kind is Kind.BUILT]
    first = min((e.at.timestamp() - e.seconds for e in built), default=0.0)
    last = max((e.at.timestamp() for e in entries), default=0.0) if built else 0.0
    return StageActual(
        model=stage.model,
        version=stage.version,
        cadence=cadence,
        planned=stage.count,
        count=(Ranges.of(e.interval for e in built) & stage.intervals).count(cadence),
        batches=len(built),
        rows=sum(e.rows for e in built),
        bytes=sum(e.bytes for e in built),
        seconds=last - first,
    )
