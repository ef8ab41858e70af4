"""How long did a plan's stages take, and what did they cost? By what the ledger recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.settings import Cost
from backfill_assets.plan.batch_times import USEFUL
from backfill_assets.plan.stages import AuditStage, Build
from backfill_assets.state.at_work import seconds_at_work
from backfill_assets.state.ledger import Entry, Kind, by_version

TIMED = USEFUL | {Kind.STARTED}
"""The kinds of entries that say what was under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageActual:
    """What one Build stage took. `seconds` are on the wall, from its first batch's beginning to its last record,
    without the pauses in between."""

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
    """What it really took. `seconds` are from `began` to the last record, without what was waited."""

    stages: tuple[StageActual, ...]
    seconds: float
    rows: int
    bytes: int
    used: float | None
    cost: float | None
    opening: float = 0.0
    """Seconds before its first batch, in which the Spark session was opened: no part of the others, as estimates do not
    know them."""

    def to_json(self) -> dict[str, object]:
        return {
            **({"opening": round(self.opening, 4)} if self.opening else {}),
            "stages": [stage.to_json() for stage in self.stages],
            "seconds": round(self.seconds, 4),
            "rows": self.rows,
            "bytes": self.bytes,
            "used": None if self.used is None else round(self.used, 4),
            "cost": None if self.cost is None else round(self.cost, 4),
        }


def actual(
    entries: Iterable[Entry],
    stages: Sequence[Build | AuditStage],
    models: Mapping[str, Model],
    *,
    began: datetime,
    waited: Ranges = NOTHING,
    price: Cost | None = None,
) -> Actual:
    """What the Build stages took, by what the ledger recorded for their intervals since `began`.

    Work of other runs on the same intervals counts; who does not want that gives one run's entries only. `waited` is
    when no batch began: it counts for those that ran on.
    """
    since = [e for e in entries if e.kind in TIMED and e.at >= began]
    history = by_version(since)
    found: list[StageActual] = []
    latest, worked = began, list[Interval]()
    for stage in stages:
        of_stage = [e for e in history.get((stage.model, stage.version), []) if Ranges((e.interval,)) & stage.intervals]
        latest = max((latest, *(e.at for e in of_stage if e.kind in USEFUL)))
        worked += [Interval(_begun(e), e.at) for e in of_stage if e.kind is Kind.BUILT and e.seconds > 0]
        if isinstance(stage, Build):
            found.append(_what_it_took(stage, models[stage.model].cadence, of_stage))
    seconds = _seconds(began, latest, waited - Ranges.of(worked))
    return Actual(
        stages=tuple(found),
        seconds=seconds,
        rows=sum(s.rows for s in found),
        bytes=sum(s.bytes for s in found),
        used=price and price.units_per_hour * seconds / 3600,
        cost=price and price.per_hour * seconds / 3600,
    )


def actual_of_run(
    entries: Sequence[Entry],
    stages: Sequence[Build | AuditStage],
    models: Mapping[str, Model],
    *,
    began: datetime,
    waited: Ranges = NOTHING,
    price: Cost | None = None,
) -> Actual:
    """The same of one run's entries, from its first batch on, as packets and estimates count; what was before it, where
    that was no audit, is said beside."""
    done = sorted((e for e in entries if e.kind in TIMED and e.at > began), key=lambda e: e.at)
    first = done[0].at if done and done[0].kind is Kind.STARTED else began  # of an audit nothing says when it began
    took = actual(entries, stages, models, began=first, waited=waited, price=price)
    return replace(took, opening=_seconds(began, first, waited))


def _seconds(begin: datetime, end: datetime, without: Ranges) -> float:
    parts = Ranges((Interval(begin, end),)) - without if begin < end else NOTHING
    return sum((part.end - part.start).total_seconds() for part in parts)


def _what_it_took(stage: Build, cadence: Cadence, entries: Sequence[Entry]) -> StageActual:
    built = [e for e in entries if e.kind is Kind.BUILT]
    runs: dict[str, list[Entry]] = defaultdict(list)
    for entry in [*(replace(e, kind=Kind.STARTED, at=_begun(e)) for e in built), *entries]:
        runs[entry.run].append(entry)
    return StageActual(
        model=stage.model,
        version=stage.version,
        cadence=cadence,
        planned=stage.count,
        count=(Ranges.of(e.interval for e in built) & stage.intervals).count(cadence),
        batches=len(built),
        rows=sum(e.rows for e in built),
        bytes=sum(e.bytes for e in built),
        seconds=sum(map(seconds_at_work, runs.values())) if built else 0.0,
    )


def _begun(entry: Entry) -> datetime:
    """When the batch began that an entry says is built."""
    return entry.at - timedelta(seconds=entry.seconds)
