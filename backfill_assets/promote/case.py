"""What would move, and what is known of it? A case is all that the gate looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Blocked, Request
from backfill_assets.promote.approval import PlanReview
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.older_reads import OlderReads
from backfill_assets.promote.proposal import Proposal
from backfill_assets.state.approvals import Approval
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.required_approvals import OWNER, Roles
from backfill_assets.state.versions import Version


class Purpose(StrEnum):
    """Why an environment would move."""

    PROMOTION = "promotion"
    ROUTINE = "routine"
    """It extends what is shown: no published row may be another one."""
    ROLLBACK = "rollback"
    """It goes back to a release: the rows that this showed were let through when it was made."""
    JOIN = "join"
    """It points at copies: no row is another one."""


def _everything_counts(_: PlanRecord, __: Approval) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What would move, and all that is known about it. Everything in it was read at one moment."""

    purpose: Purpose = Purpose.PROMOTION
    project: Project
    facts: Facts
    versions: Mapping[tuple[str, str], Version]
    request: Request = field(default_factory=Request)
    wanted: Proposal
    """What somebody wants to be shown, and the pointers that would move."""
    removed: tuple[str, ...] = ()
    """Models that would not be shown any more."""
    changed: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Model → the published intervals whose rows would be others."""
    rewritten: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """The same as far as they would be others in the same table: written over what was published."""
    released: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """What of `changed` the release that is gone back to has shown, or would show by now."""
    late: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Of a routine run: the provisional intervals that their sources changed since they were built."""
    older: OlderReads = field(default_factory=OlderReads)
    """What of it was computed from older rows than are shown. Of routine runs nobody looks."""
    way_back: tuple[Obstacle, ...] = ()
    """What a rollback finds in its way."""
    surprises: tuple[Obstacle, ...] = ()
    """What whoever promotes expects otherwise than it was compared."""
    blocked: tuple[Blocked, ...] = ()
    """What of the plan waits for models that it reads."""
    gaps: tuple[Gap, ...] = ()
    """What is not known and has to be, before history is rewritten."""
    reviews: tuple[PlanReview, ...] = ()
    """The open plans, with what was found out and said about them."""
    required: bool = True
    """Whether published rows change with their owners' approval only."""
    owners: Callable[[str], Roles] = lambda _: {"": (OWNER,)}
    """Whose approval a change of a model's rows needs, and as what."""
    not_counted: Callable[[PlanRecord, Approval], str] = _everything_counts
    """Why an approval of a plan does not count; "" when it does."""

    @property
    def pointers(self) -> tuple[Pointer, ...]:
        return self.wanted.pointers

    @property
    def agreed(self) -> Mapping[str, Ranges]:
        """What of `changed` the owners of today have approved: a routine run asks nobody, so it brings no new owner."""
        return {} if self.purpose is Purpose.ROUTINE else self.changed

    @property
    def environment(self) -> Environment:
        return self.facts.environment

    @property
    def after(self) -> dict[str, Pointer]:
        """All that the environment would show."""
        shown = {**self.environment.pointers, **{p.model: p for p in self.pointers}}
        return {name: pointer for name, pointer in shown.items() if name not in self.removed}
