"""How does the environment come to show what was built?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from backfill_assets.app.amendment import amend_stored
from backfill_assets.app.candidate import show_candidate
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release, write_packets
from backfill_assets.app.gate import promotion_case
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.prove import prove_built
from backfill_assets.app.release import release_by_case
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.core.errors import PlanError
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.plan.stored import request_of
from backfill_assets.promote.gate import ROWS, Case, Verdict, compared, gate, vouching
from backfill_assets.promote.lifecycle import end_promoted, end_sealed, find_plan, record_move
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.release import Sealing
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """How a promotion ended: what the environment showed `before` and shows now, and what was in the way."""

    before: Environment
    environment: Environment
    verdict: Verdict
    held: tuple[Obstacle, ...] = ()
    """What keeps models of a routine run from moving."""
    notes: tuple[str, ...] = ()
    """That approvals are off, and where files say other rules than those in force now."""
    amendment: Amendment | None = None
    """What became of the world since the stored plan that was named was opened."""


def promote_plan(context: Context, request: Request | None = None, *, plan: str = "") -> Promoted:
    """Move the environment to the code's versions, or to what a stored plan built, if the gate is open.

    Finishes or withdraws an interrupted promotion first. Raises
    PromotionError when another one is under way, PlanError for an unknown plan, and for a plan and a request.
    """
    asked = request or Request()
    if plan and asked != Request():
        raise PlanError(
            "a plan and a range, models or a restatement were named",
            why="a stored plan says itself what it is about",
            fix=f"backfill promote {plan}",
        )
    stored = find_plan(context.control, plan) if plan else None
    asked = request_of(context.control, stored.id) if stored else asked
    before = context.control.environments.read(context.environment)
    made, amendment = None, None
    records: list[PlanRecord] = []

    def recorded(plan: Plan, case: Case) -> PlanRecord:
        views = context.shared_views
        return stored or record_move(context.control, plan, case.pointers, by=context.user, views=views)

    def look() -> Case:
        nonlocal made, amendment
        facts = context.facts()
        made = plan_by_now(context, facts, stored) if stored else make_plan(context.project, facts, asked)
        case = promotion_case(context, asked, facts, made, stored)
        if stored:
            amendment = amend_stored(context, stored, facts, {p.model: p.covers for p in case.pointers})
        if case.required or not any(compared(case)) or not gate(case, ROWS).open:
            return case
        # Nobody has to approve it, so nobody waits for a comparison: it is made here, and counts.
        record = recorded(made, case)
        show_candidate(context, record.id, facts)
        prove_built(context, record.id, made, facts)
        return promotion_case(context, asked, context.facts(), made, stored)

    def evidence(sealing: Sealing) -> Mapping[str, str]:
        assert made is not None
        case = sealing.case
        records[:] = [recorded(made, case)]
        plans = write_packets(context, case.environment, case.pointers, records, vouching(case))
        return seal_release(context, sealing, plans=plans)

    done = release_by_case(context, look, evidence=evidence)
    if done.verdict.open:
        assert made is not None
        end = end_promoted if done.moved else end_sealed  # of one that was killed when it had moved
        end(context.control, done.environment, by=context.user, views=context.shared_views, beside=records)
        models = tuple(stored.versions) if stored else made.models
        publish_contracts(context.project, context.control, done.environment, models, at=datetime.now(UTC))
    return Promoted(
        before=before,
        environment=done.environment,
        verdict=done.verdict,
        notes=tuple(context.rules().notes),
        amendment=amendment,
    )
