"""What would an apply and a promotion do, how long would it take, whom would it affect, and what is in its way?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from backfill_assets.adapters.machine import check_versioned, session_conf
from backfill_assets.app.amendment import amend_continued
from backfill_assets.app.context import Context
from backfill_assets.app.estimate import estimate_plan, plan_maintenance
from backfill_assets.app.faults import find_faults
from backfill_assets.app.gate import judge_plan, obstacles_ahead
from backfill_assets.app.next_step import NextStep, next_step
from backfill_assets.app.plan import claim_of, find_uncovered, plan_request, with_again, worded
from backfill_assets.app.preflight import find_gaps, plan_impacts
from backfill_assets.app.watch import find_late, find_older_moves
from backfill_assets.contracts.impact import Impact
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.errors import BackfillError, SettingsError, StateError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faults import Fault
from backfill_assets.plan.leases import Claim
from backfill_assets.plan.maintenance import Maintenance
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.plan.uncovered import Uncovered
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.lone_authors import lone_author_words
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.watch.notice import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A plan of how things are now, and all that is known of it."""

    plan: Plan
    claim: Claim
    """How it stands to plans that are open."""
    amendment: Amendment | None
    """What became of the world since the open plan was stored of which this is what is left."""
    estimate: PlanEstimate
    maintenance: Maintenance | None
    """In which windows it is built; None where there are none, or nothing is built."""
    uncovered: tuple[Uncovered, ...]
    impacts: tuple[Impact, ...]
    faults: tuple[Fault, ...]
    ahead: tuple[Obstacle, ...]
    """What will stand in its way when all of it is built."""
    gaps: tuple[Gap, ...]
    """What preflight misses."""
    verdict: Verdict | None
    """The gate's, of a plan of which nothing is left to build; None of others, and where records cannot be read."""
    late: tuple[Notice, ...]
    """What is shown, or would be, and was built before its sources changed, and is not all built again by this plan."""
    unbuildable: str
    """Why nothing of it can be computed by Spark as it is configured; "" where it can."""
    notes: tuple[str, ...]
    """That approvals are off, where files say other rules than those in force, that nothing can be built, and that
    nobody but an author is left to approve."""
    approvals_required: bool

    @property
    def following(self) -> NextStep:
        """What is done next about it."""
        stored = self.claim.continues.id if self.claim.continues else ""
        return next_step(
            self.plan, self.verdict, stored, self.late, self.claim.collisions, unbuildable=self.unbuildable
        )

    @property
    def blocking(self) -> tuple[Gap, ...]:
        """The gaps that close the gate."""
        return tuple(gap for gap in self.gaps if gap.blocking) if self.approvals_required else ()


def preview(context: Context, request: Request) -> Preview:
    """Everything about a request's plan, by one look at how things are. Changes nothing, opens no session."""
    facts = context.facts(every_version=request.all_versions)
    made = plan_request(context, request, facts=facts)
    claim = claim_of(context, made)
    claim = replace(claim, beside=with_again(context, claim.beside, facts))
    made = worded(context, made, claim)
    rules, estimate, unbuildable = context.rules(facts), estimate_plan(context, made), _unbuildable(context)
    return Preview(
        plan=made,
        claim=claim,
        amendment=amend_continued(context, claim.continues, made, facts),
        estimate=estimate,
        maintenance=plan_maintenance(context, made, estimate),
        uncovered=find_uncovered(context, made),
        impacts=plan_impacts(context, made, facts.environment),
        faults=find_faults(context, facts),
        ahead=obstacles_ahead(context, made, facts),
        gaps=find_gaps(context, made, facts.environment, facts.tables.look(context.log)),
        verdict=_verdict(context, request, made, facts),
        late=_late(context, facts, made),
        unbuildable=unbuildable,
        notes=(
            *rules.notes,
            *([unbuildable] if unbuildable else []),
            *lone_author_words(made.owners, rules.effective, _authors(context, claim)),
        ),
        approvals_required=rules.rules.approvals.required,
    )


def _unbuildable(context: Context) -> str:
    try:
        sources = [source.path for source in context.project.sources.values() if source.path]
        settings = context.project.settings
        check_versioned(session_conf(context.project.root, settings, sources), settings)
    except SettingsError as error:
        return f"Nothing can be built. {error.what}: {error.why}. To mend it, {error.fix}"
    return ""


def _authors(context: Context, claim: Claim) -> tuple[str, ...]:
    """Who made the plan; of one that nobody applied, who would."""
    return claim.continues.authors if claim.continues else (context.user,)


def _verdict(context: Context, request: Request, made: Plan, facts: Facts) -> Verdict | None:
    idle = not (made.work or made.invalidations or made.texts or made.blocked)
    with suppress(StateError):  # what cannot be read is the gate's to say, when somebody promotes
        return judge_plan(context, request, facts, made) if idle and made.stages else None
    return None


def _late(context: Context, facts: Facts, made: Plan) -> tuple[Notice, ...]:
    replaced = _replaced(facts, made)
    with suppress(BackfillError):  # `watch` says it
        shown = tuple(n for n in find_late(context, facts) if n.intervals - replaced.get(n.model, NOTHING))
        return (*shown, *find_older_moves(context, facts, made))
    return ()


def _replaced(facts: Facts, made: Plan) -> dict[str, Ranges]:
    """Model → what is shown of it by now and computed anew in what the plan moves, built already or not. What is copied
    stays as old as it is."""
    found: dict[str, Ranges] = {}
    for name, version in made.moves:
        shown, patch = facts.environment.pointers.get(name), made.patches.get(name)
        if patch is not None:
            found[name] = NOTHING if patch.scope else patch.intervals
        elif shown is not None and shown.version != version and name not in made.copies:
            found[name] = shown.covers
    return found
