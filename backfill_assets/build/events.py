"""What can a build tell while it runs? Events for progress bars and logs; nothing depends on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.state.changes import Changes
from backfill_assets.state.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStarted:
    """A model's work begins: `intervals` single ones in `batches`."""

    model: str
    intervals: int
    batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStarted:
    model: str
    interval: Interval
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWaits:
    """Another process builds some of it: this one waits until that is done. `other` is that one's batch, as far as the
    ledger knows it."""

    model: str
    interval: Interval
    other: Entry | None

    @property
    def by(self) -> str:
        """Who builds it, in words."""
        return f"run {self.other.run}, since {self.other.at:%Y-%m-%d %H:%M:%S} UTC" if self.other else "another process"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone:
    """A batch is committed. Its audits follow, those of several batches in one scan."""

    model: str
    interval: Interval
    intervals: int
    rows: int
    seconds: float
    changes: Changes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFailed:
    """An attempt failed; `again` says whether another follows."""

    model: str
    interval: Interval
    intervals: int
    error: str
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDivided:
    """A batch cannot be computed as a whole: its halves are tried, and theirs, to find what of it is bad."""

    model: str
    interval: Interval
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRestarted:
    """The engine died while this model used it. Another one is being opened."""

    model: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """Built intervals have their verdicts. `red` are those in which a blocking audit failed, `warned` says in how many
    another one did."""

    model: str
    intervals: int
    seconds: float
    red: Ranges
    warned: int = 0

    @property
    def verdict(self) -> str:
        """Where none is red: whether there is anything to be looked at."""
        return f"all green, {self.warned:,} with a warning" if self.warned else "all green"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDone:
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """No batch begins any more: `why`. What runs is finished; `waits`: the run goes on by itself when one may."""

    why: str
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Batches begin again."""


Event = (
    ModelStarted
    | BatchStarted
    | BatchWaits
    | BatchDone
    | BatchFailed
    | BatchDivided
    | EngineRestarted
    | Audited
    | ModelDone
    | Held
    | Resumed
)
Listener = Callable[[Event], None]


def silence(event: Event) -> None:
    """A listener that does nothing."""
