"""What is a packet made from? Frozen values, all read before it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Consumer, Model
from backfill_assets.core.pointer import Pointer
from backfill_assets.evidence.tables import TableState
from backfill_assets.plan.actual import Actual
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.maintenance import Maintenance
from backfill_assets.plan.stages import Owned, Plan
from backfill_assets.state.approvals import Approval
from backfill_assets.state.ledger import Entry
from backfill_assets.state.plans import PlanRecord, PlanTarget
from backfill_assets.state.proofs import Proof
from backfill_assets.state.releases import TakenOut
from backfill_assets.state.rules import RulesInForce
from backfill_assets.state.versions import Version

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedModel:
    """One model that the plan changes, with all that was recorded of it."""

    target: PlanTarget
    model: Model
    """By the definition that the version was built by."""
    record: Version | None
    """None: it was never built."""
    before: Pointer | None
    """What the environment shows, or showed before the promotion."""
    old: Version | None
    """The version that `before` shows, or `out` did last."""
    out: TakenOut | None = None
    """Where nothing of it is shown before: what was once, and the release that took it out of sight."""
    same_rows: bool = False
    """Whether just the rows of `out` come back, and others beside."""
    complete: Ranges
    """What of the version is built and audited green."""
    shown: Ranges
    """What of it the environment shows after the promotion."""
    kept: Ranges
    """What it goes on to show from older tables."""
    missing: Ranges
    provisional: Ranges = NOTHING
    """What of `shown` is not settled by the clock of the plan."""
    table: TableState | None
    batches: tuple[tuple[Interval, Entry], ...]
    """The BUILT entries of what is shown."""
    results: tuple[AuditResult, ...]
    """Of those batches, and of what audits keep out of a plan that is not promoted; the newest for each check and
    interval."""
    old_rows: Mapping[datetime, int] = field(default_factory=dict[datetime, int])
    new_rows: Mapping[datetime, int] = field(default_factory=dict[datetime, int])
    rewired: tuple[str, ...] = ()
    """Which columns read others than before, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedApproval:
    """An approval, and why it does not count ("" when it does)."""

    approval: Approval
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A plan as the gate looks at it, in fields of `Inputs`."""

    approvals: tuple[JudgedApproval, ...]
    proofs: Sequence[Proof]
    content: str = ""
    impacts: tuple[Json, ...] | None = None
    asked: Sequence[Owned] = ()
    amendment: Amendment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """A plan with everything that is known of it."""

    plan: PlanRecord
    said: Plan
    """The plan as it was stored."""
    subjects: tuple[ChangedModel, ...]
    promoting: bool = False
    """Whether the environment is about to move to it."""
    before_known: bool
    """Whether `ChangedModel.before` is recorded: it is not for a plan that was promoted without a packet."""
    consumers: tuple[Consumer, ...]
    consumers_confirmed: date | None = None
    """When somebody last made sure that nobody is missing among them."""
    estimate: PlanEstimate
    actual: Actual
    maintenance: Maintenance | None = None
    """In which windows it is built, as of when it was opened; None: at any time."""
    exceptions: tuple[str, ...] = ()
    """Why batches of it were built outside of them."""
    approvals: tuple[JudgedApproval, ...] = ()
    proofs: Mapping[str, Proof] = field(default_factory=dict[str, Proof])
    """By kind."""
    content: str = ""
    """Which rows the plan has now, as proofs name them; empty: nobody looked."""
    impacts: tuple[Json, ...] | None = None
    """What the change means for each consumer (`Impact.to_json`); None: nobody looked."""
    rules: RulesInForce | None = None
    """By which rules approvals are judged; None: nobody looked."""
    asked: Sequence[Owned] = ()
    """Whose approval the plan needs → for which models; nothing where it has ended, or none is required."""
    amendment: Amendment | None = None
    """What became of the world since the plan was opened; None: nobody looked."""
    rollback_command: str = "backfill rollback"
