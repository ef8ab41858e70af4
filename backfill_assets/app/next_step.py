"""What is done next about a plan: is it applied, promoted, shown to its owners, restated, or is there nothing to do?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from backfill_assets.plan.commands import apply_command, promote_command, restate_command, with_why
from backfill_assets.plan.leases import Collision
from backfill_assets.plan.stages import Plan, Promote
from backfill_assets.promote.gate import Verdict
from backfill_assets.watch.notice import Notice


class Step(StrEnum):
    """What is to be done: build, mend Spark's configuration or end another plan, which are in the way of that, mend
    what closes the gate, promote, give the owners a plan to approve, restate what is shown from older sources, wait for
    an upstream, or nothing."""

    APPLY = "apply"
    CONFIGURATION = "configuration"
    COLLIDES = "collides"
    CLOSED = "closed"
    PROMOTE = "promote"
    OWNERS = "owners"
    RESTATE = "restate"
    WAIT = "wait"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class NextStep:
    """What comes next, and the command that does it: "" where none does."""

    step: Step
    command: str = ""


def next_step(
    plan: Plan,
    verdict: Verdict | None = None,
    stored: str = "",
    late: Sequence[Notice] = (),
    collisions: Sequence[Collision] = (),
    *,
    unbuildable: str = "",
) -> NextStep:
    """What comes after this plan was read.

    `verdict` is the gate's about a plan of which nothing is left to build, `stored` the id of the open plan that it
    continues, `late` what is shown and was built before its sources changed, `collisions` are the open plans because of
    which applying it is refused. `unbuildable`: why nothing can be built.
    """
    following = _own_step(plan, verdict, stored, late)
    if unbuildable and following.step in (Step.APPLY, Step.RESTATE):
        return NextStep(Step.CONFIGURATION)
    if collisions and following.step in (Step.APPLY, Step.OWNERS):
        return NextStep(Step.COLLIDES)
    return following


def _own_step(plan: Plan, verdict: Verdict | None, stored: str, late: Sequence[Notice]) -> NextStep:
    moves = any(isinstance(stage, Promote) for stage in plan.stages)
    request = apply_command(plan.request)
    if plan.work or plan.invalidations or plan.texts:
        return NextStep(Step.APPLY, request if stored else with_why(request, plan.request))
    if verdict is not None and not verdict.open:
        return NextStep(Step.CLOSED)
    if verdict is not None and moves:
        return NextStep(Step.PROMOTE, f"backfill promote {stored}".strip())
    if plan.blocked:
        return NextStep(Step.WAIT)
    if plan.owners:
        return NextStep(Step.OWNERS, request)
    if moves:
        return NextStep(Step.PROMOTE, promote_command(plan.request))
    if any(notice.restate for notice in late):
        return NextStep(Step.RESTATE, restate_late(late))
    return NextStep(Step.NOTHING)


def restate_late(late: Sequence[Notice]) -> str:
    """The command that builds again what is shown and was built before its sources changed."""
    return restate_command(tuple(argument for notice in late for argument in notice.restate))
