"""How long did a plan's stages take, and what did they cost? By what the ledger recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.settings import Cost
from backfill_assets.plan.batch_times import USEFUL
from backfill_assets.plan.stages import Audit, Build
from backfill_assets.state.ledger import Entry, Kind, by_version


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
