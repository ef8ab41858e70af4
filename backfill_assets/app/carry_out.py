"""How is a plan carried out: with which workbench, and who follows its progress?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from backfill_assets.app.batches import is_long
from backfill_assets.app.context import Context
from backfill_assets.build.apply import apply
from backfill_assets.build.events import Listener, silence
from backfill_assets.build.hold import Hold
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.model import Project
from backfill_assets.plan.stages import Plan
from backfill_assets.state.ledger import new_id


class Follow(Protocol):
    """Opens the listener of one run of a plan; it is closed when the run is over, or interrupted."""

    def __call__(self, context: Context, plan: Plan, run: str, /) -> AbstractContextManager[Listener]: ...


def unseen(context: Context, plan: Plan, run: str) -> AbstractContextManager[Listener]:
    """Nobody follows."""
    return nullcontext(silence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A plan that was carried out. `run` is its name in the ledger; "" when there was nothing to do."""

    project: Project
    plan: Plan
    run: str = ""
    outcomes: Mapping[str, Outcome]

    @property
    def ok(self) -> bool:
        """Whether every model of it is built and green."""
        return all(outcome.ok for outcome in self.outcomes.values())


def carry_out(
    context: Context, plan: Plan, *, run: str = "", follow: Follow = unseen, hold: Hold | None = None
) -> Carried:
    """Invalidate, build and audit what the plan says. Opens no session when there is nothing to build.

    `hold` is asked before each batch; None: each may begin at any time.
    """
    if not plan.work and not plan.invalidations:
        return Carried(project=context.project, plan=plan, outcomes={})
    run = run or new_id()
    with follow(context, plan, run) as listen:
        bench = context.bench(plan.sources, patches=plan.patches, frozen=plan.continued.frozen, run=run, listen=listen)
        bench = replace(bench, hold=hold or Hold(), ids=plan.request.ids)
        context.long = context.long or is_long(context, plan)
        return Carried(project=context.project, plan=plan, run=run, outcomes=apply(bench, plan))
