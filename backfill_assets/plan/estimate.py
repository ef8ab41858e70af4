"""How long will a plan take, and what will it cost? Ranges with their basis, from the ledger's batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.settings import Cost
from backfill_assets.plan.batch_times import USEFUL, Basis, Shapes, basis_of
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.schedule import side_by_side, waves
from backfill_assets.plan.spread import NO_TIME, Spread
from backfill_assets.plan.stages import AuditStage, Build
from backfill_assets.state.ledger import Entry, by_version

_WIDE = 10
"""How many times the least time the most may be, before a better basis is proposed."""


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
            **to_plain(self.takes),
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
            "total": to_plain(self.total),
            "partial": bool(self.unknown),
            "unknown": list(self.unknown),
            "currency": self.price and self.price.currency,
            "unit": self.price and self.price.unit,
            "whole": self.whole and self.whole.to_json(),
            "smallest": self.smallest and self.smallest.to_json(),
        }


def estimate(
    stages: Sequence[Build | AuditStage],
    entries: Iterable[Entry],
    models: Mapping[str, Model],
    *,
    at_once: int,
    price: Cost | None = None,
    whole: Sequence[Build] = (),
    smaller: Sequence[Build] = (),
    copies: Mapping[str, Copied] = MappingProxyType({}),
    shapes: Shapes | None = None,
    cadences: Mapping[tuple[str, str], Cadence] = MappingProxyType({}),
) -> PlanEstimate:
    """What the stages (`plan.work`) will take, going by the ledger's entries of USEFUL kinds, in any order.

    `whole` (`plan.whole`) is what they are measured against, `smaller` (`plan.smaller`) what they are measured with,
    `copies` (`plan.copies`) is what is not computed of them, `shapes` says how bytes make batches of other sizes take
    longer. `at_once` is how many models run side by side. `cadences` are of model and version: how many rows days held
    says nothing of hours. The plan's
    time is not the sum of its stages': models are scheduled as `build.apply` does it, each when what it reads is done.
    """
    entries = [e for e in entries if e.kind in USEFUL]
    alike = partial(estimate, at_once=at_once, price=price, shapes=shapes, cadences=cadences)
    everything = alike(whole, entries, models) if whole else None
    less = alike(smaller, entries, models) if smaller else None
    history = by_version(entries)
    found: list[StageEstimate] = []
    seconds: dict[str, Spread] = {}
    for stage in stages:
        model = models[stage.model]
        sizes = {model.cadence.count(batch) for batch in stage.batches} if isinstance(stage, Build) else ()
        basis = basis_of(history, model, stage.version, sizes=sizes, shapes=shapes)
        audits = basis.audits if basis else NO_TIME
        match stage:
            case AuditStage():
                seconds.setdefault(stage.model, audits)  # one scan serves what is audited and what is built
            case Build():
                takes = _priced(_of_stage(stage, model, basis, copies.get(stage.model, NO_COPY).covers), price)
                if basis and cadences.get((stage.model, basis.version), model.cadence) is not model.cadence:
                    takes = replace(takes, rows=None, bytes=None)
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


_COPY_LEAST, _COPY_LIKELY = 0.1, 0.5
"""What copying takes at least, and likely, as a part of what computing took. It writes the same rows and reads no more,
so it takes no longer."""


def _of_stage(stage: Build, model: Model, basis: Basis | None, copied: Ranges) -> Estimate:
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
        rows=_sum(s.takes.rows for s in known),
        bytes=_sum(s.takes.bytes for s in known),
        basis=f"partial: nothing is known of {', '.join(unknown)}; run with --sample 3"
        if unknown
        else "plus starting Spark",
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    known = list(counts)
    return None if None in known else sum(n for n in known if n is not None)


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
