"""What does the watch look at? Everything that it is decided from, read in one go and without rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.source_history import SourceHistory
from backfill_assets.plan.stale_inputs import StaleInput
from backfill_assets.promote.interrupted_pins import InterruptedPin
from backfill_assets.promote.mismatches import Mismatch
from backfill_assets.promote.rehearsal import Readability
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Entry
from backfill_assets.state.pinned import PinnedConsumer
from backfill_assets.state.read_inputs import ReadInputs
from backfill_assets.state.releases import Release
from backfill_assets.state.settling import Settling
from backfill_assets.state.shown_state import ShownState
from backfill_assets.state.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedTable:
    """A table of somebody else's of which a commit is shown, and what is at its place now."""

    model: str
    location: str
    commit: int
    intervals: Ranges
    """What is shown of it."""
    head: int
    """The newest commit of what is there now; -1: no table."""
    same: bool
    """Whether it is still the same table, by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinFacts:
    """A pinned consumer, and what was found of the rows that it is kept on."""

    pin: PinnedConsumer
    proofs: Sequence[Readability]
    known: bool
    """Whether consumers.yml still names the consumer."""
    views: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → what is wrong with its view in a shared catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFacts:
    """One look at an environment and what it was built from."""

    now: datetime
    """By the project's clock: which intervals are over."""
    at: datetime
    """By the real clock: how long ago a release was."""
    lasts: timedelta
    """How long the watch goes on after a change."""
    project: Project
    """As the environment shows it."""
    fingerprints: Mapping[str, str]
    """Of the code that is loaded."""
    environment: Environment
    beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → the version of it that is shown as well, where only some of what an environment shows is looked at."""
    releases: Sequence[Release]
    """Oldest first."""
    entries: Mapping[tuple[str, str], Sequence[Entry]]
    """The ledger's, by model and version."""
    reads: ReadInputs | None = field(default=None, compare=False)
    """What the batches of models that read sources read, in columns; None: their entries say it."""
    histories: Mapping[str, SourceHistory] = field(default_factory=dict[str, SourceHistory])
    """By source."""
    newest: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Source → the instant after its newest row, where that is known."""
    ready: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Source → until when it says that all of its rows are there, of those that say it."""
    rows: Mapping[str, Mapping[datetime, int]] = field(default_factory=dict[str, "Mapping[datetime, int]"])
    """Model → start of an interval → rows shown of it."""
    proofs: Sequence[Readability] = ()
    standing: Mapping[str, ShownState] = field(default_factory=dict[str, ShownState])
    """What is known of what is shown."""
    restating: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → the open plan that computes shown rows of it again."""
    versions: Mapping[tuple[str, str], Version] = field(default_factory=dict[tuple[str, str], Version])
    """The record of every version, by (model, version)."""
    kept: frozenset[Mismatch] = frozenset()
    """Models that are shown beside another version of an upstream with a proof, or an owner's acceptance."""
    older: Sequence[StaleInput] = ()
    """What is shown beside other rows than it was computed from, without a proof or an owner's acceptance."""
    adopted: Sequence[AdoptedTable] = ()
    pins: Sequence[PinFacts] = ()
    interrupted: Sequence[InterruptedPin] = ()
    """Pins that were begun, moved or ended by somebody who died over it."""
    settling: Settling | None = None
    """Which shown intervals are provisional: routine runs build these again; None: nobody looked."""
    views: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → what is wrong with its view in a shared catalog."""
