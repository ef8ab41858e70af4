"""How does the environment come to show what was built?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from backfill_assets.app.amendment import amend_stored
from backfill_assets.app.candidate import show_candidate
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.faults import stale_by_promotion
from backfill_assets.app.follow import record_followed
from backfill_assets.app.gate import cases_of, promotion_case
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.prove import prove_built
from backfill_assets.app.release import mover
from backfill_assets.app.warned import warned_of
from backfill_assets.app.watch import find_late_moves
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff import Diff
from backfill_assets.compare.expect import expectations, judge_moves
from backfill_assets.compare.filling import expected_filling, found_filling
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.core.errors import BackfillError, PlanError
from backfill_assets.core.intervals import Ranges, by_name
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.away import away_words, refuse_away
from backfill_assets.plan.commands import other_code_remedy, restate_all
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faults import Fault
from backfill_assets.plan.faulty import refuse_faulty
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.promote.case import Case
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.consent import vouching
from backfill_assets.promote.gate import Verdict, compared, judge_rows
from backfill_assets.promote.lifecycle import (
    end_applied,
    end_killed,
    end_promoted,
    ended_text,
    find_plan,
    newer_plan,
    record_move,
)
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.overtaken import why_overtaken
from backfill_assets.promote.planned import refuse_dual_run
from backfill_assets.promote.release import Attempt, Sealing, release_case
from backfill_assets.promote.undone import rolled_back_plans
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.proofs import DIFF, left_to_do, newest_proofs
from backfill_assets.state.warned import Parts, Warned
from backfill_assets.watch.notice import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMove:
    """A plan that is built and not promoted."""

    plan: str
    kind: str
    stuck: str = ""
    """Why it cannot be promoted, and what to do first."""

    def __str__(self) -> str:
        return f"{self.kind} {self.plan}"

    def waits(self, promote: str) -> str:
        """For what it waits: to be promoted by a command, or why nothing promotes it."""
        if self.stuck:
            return f"{self} is not promoted, and {self.stuck}"
        return f"{self} waits: {promote}"


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
    waiting: tuple[WaitingMove, ...] = ()
    """Where no plan was named and nothing moved: the plans that are promoted by their ids."""
    stale: tuple[Fault, ...] = ()
    """What is shown beside rows of an upstream that it did not read, as these were not there yet."""
    late: tuple[Notice, ...] = ()
    """What is shown for the first time and was built before its sources changed."""
    warned: tuple[Warned, ...] = ()
    """The audits that only warn, and did, of what is shown for the first time."""
    left: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Readers that keep old values, as somebody accepted, and in which intervals."""

    @property
    def left_words(self) -> tuple[str, ...]:
        """That, and the command that computes them again; nothing where there are none."""
        said = (
            f"Computed from values of before, as was accepted: {', '.join(self.left)}. Next: {restate_all(self.left)}"
        )
        return (said,) if self.left else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned(Attempt):
    """What would move, and the plan that it is of."""

    plan: Plan
    amendment: Amendment | None


def promote_plan(context: Context, request: Request | None = None, *, plan: str = "") -> Promoted:
    """Move the environment to the code's versions, or to what a stored plan built, if the gate is open.

    Finishes or withdraws an interrupted promotion first. Raises
    PromotionError when another one is under way, PlanError for an unknown plan, and for a plan and a request,
    UsageError for an expectation of what nobody knows.
    """
    asked = request or Request()
    if plan and asked != Request():
        raise PlanError(
            "a plan and a range, models or a restatement were named",
            why="a stored plan says itself what it is about",
            fix=f"backfill promote {plan}",
        )
    expectations(context.project.column_names, asked.expect_moved, asked.expect_unmoved)
    expected_filling(asked.expect_filled, context.project.column_names)
    stored = find_plan(context.control, plan) if plan else None
    asked = stored_request(context.control, stored.id) if stored else asked
    before = context.control.environments.read(context.environment)
    done = release_case(
        mover(context), partial(_prepare_attempt, context, asked, plan), evidence=partial(_evidence, context, stored)
    )
    if done.verdict.open:
        who, control, views = context.user, context.control, context.shared_views
        if done.moved:
            end_promoted(control, done.environment, by=who, views=views, beside=done.packets)
        else:
            end_killed(control, done.environment.name, by=who, views=views)
            end_applied(control, done.environment, by=who, views=views)
        models = tuple(stored.versions) if stored else done.attempt.plan.models
        publish_contracts(context.project, context.control, done.environment, models, at=datetime.now(UTC))
        with suppress(BackfillError):  # it is promoted: the next one makes up for it, or the rollback that needs it
            record_followed(context, done.environment)
    facts = done.attempt.case.facts
    newly = _shown_newly(before, done.verdict.pointers) if done.verdict.open else {}
    return Promoted(
        before=before,
        environment=done.environment,
        verdict=done.verdict,
        notes=(*context.rules().notes, *away_words(done.attempt.plan, facts)),
        amendment=done.attempt.amendment,
        waiting=_waiting(context, facts) if done.verdict.open and not (plan or done.verdict.pointers) else (),
        stale=stale_by_promotion(context, before, done.environment, facts.tables.entries) if done.verdict.open else (),
        late=_late(context, facts, done.environment, newly) if done.moved else (),
        warned=warned_of(context, newly),
        left=by_name(left_to_do(context.control.proofs.of(each)) for each in done.packets) if done.moved else {},
    )


def _late(context: Context, facts: Facts, moved: Environment, newly: Parts) -> tuple[Notice, ...]:
    found = by_name({name: part} for (name, _), part in newly.items() if part)
    return find_late_moves(context, facts, moved, found)


def _shown_newly(before: Environment, pointers: Sequence[Pointer]) -> Parts:
    """The intervals of versions that an environment did not show `before`."""
    found: dict[tuple[str, str], Ranges] = {}
    for pointer in pointers:
        old = before.pointers.get(pointer.model)
        for segment in pointer.segments:
            key = pointer.model, segment.version
            shown = old.segments.in_table(segment.version).covers if old else Ranges()
            found[key] = found.get(key, Ranges()) | (Ranges((segment.interval,)) - shown)
    return found


def _waiting(context: Context, facts: Facts) -> tuple[WaitingMove, ...]:
    cases = cases_of(context, facts)
    return tuple(
        WaitingMove(
            plan=r.id,
            kind="restatement" if stored_request(context.control, r.id).restate else "plan",
            stuck=_stuck(cases, facts, r),
        )
        for r in context.control.plans.all()
        if r.status is PlanStatus.APPLIED and r.environment == context.environment
    )


def _stuck(cases: Cases, facts: Facts, record: PlanRecord) -> str:
    if not cases.is_ours(facts, record):
        return f"was made from other code than the loaded: {other_code_remedy(record)}"
    return why_overtaken(facts.environment, record, cases.stored(record))


def _prepare_attempt(context: Context, asked: Request, named: str) -> _Planned:
    """What the gate judges, from how things are now. A comparison that it asks for, and that nobody has to approve, is
    made first: of a plan that is recorded for it where none was stored."""
    stored = find_plan(context.control, named) if named else None
    if stored is not None:
        _refuse_given_up(context, stored)
        refuse_dual_run(stored, stored_plan(context.control, stored.id))
    refuse_faulty(context.project, asked)
    facts = context.facts()
    plan = plan_by_now(context, facts, stored) if stored else make_plan(context.project, facts, asked)
    refuse_away(plan, facts)
    case = promotion_case(context, asked, facts, plan, stored)
    if stored is not None and case.pointers:
        _refuse_ended(context, stored)
    covers = {p.model: p.covers for p in case.pointers}
    amendment = amend_stored(context, stored, facts, covers) if stored else None
    if not case.required and any(compared(case)) and judge_rows(case).open:
        # Nobody has to approve it, so nobody waits for a comparison: it is made here, and counts.
        record = stored or _recorded(context, plan, case)
        show_candidate(context, record.id, facts)
        prove_built(context, record.id, plan, facts)
        case = promotion_case(context, asked, context.facts(), plan, stored)
    case = replace(case, surprises=() if stored else tuple(_surprises(context, case)))
    return _Planned(case=case, plan=plan, amendment=amendment)


def _refuse_given_up(context: Context, stored: PlanRecord) -> None:
    """Raise PlanError for a plan that was abandoned, or that a newer one of the same person took the place of."""
    if stored.status in (PlanStatus.ABANDONED, PlanStatus.SUPERSEDED):
        newer = newer_plan(context.control, stored) if stored.status is PlanStatus.SUPERSEDED else None
        raise PlanError(
            ended_text(context.control, stored.id) or f"plan {stored.id} was {stored.status}",
            why="a plan that was given up is not promoted",
            fix=f"backfill promote {newer.id}" if newer else "backfill apply, which plans what the code says",
        )


def _refuse_ended(context: Context, stored: PlanRecord) -> None:
    """Raise PlanError for a plan that was promoted, and that no rollback took away: others came in its place since."""
    if stored.status is PlanStatus.PROMOTED and stored.id not in rolled_back_plans(context.control, [stored]):
        raise PlanError(
            f"plan {stored.id} was promoted already, and {stored.environment} shows something else by now",
            why=f"that was at {stored.since:%Y-%m-%d %H:%M} UTC; it is not put over what came since",
            fix="backfill apply, which plans what the code says",
        )


def _surprises(context: Context, case: Case) -> Iterator[Obstacle]:
    """What this promotion expects otherwise than was compared for the plans that it rests on, which did not know it."""
    asked, columns = case.request, context.project.column_names
    if not (asked.expect_moved or asked.expect_unmoved or asked.expect_filled):
        return
    diffs = {r.record.id: diff_from_json(newest_proofs(r.proofs)[DIFF].document) for r in vouching(case)}
    for plan, diff in diffs.items():
        known = stored_request(context.control, plan)
        expected = expectations(
            columns,
            [name for name in asked.expect_moved if name not in known.expect_moved],
            [name for name in asked.expect_unmoved if name not in known.expect_unmoved],
        )
        filled = expected_filling([said for said in asked.expect_filled if said not in known.expect_filled], columns)
        others = [d for d in diffs.values() if d is not diff]
        expected = [e for e in expected if _is_for(case, diff, others, e.model)]
        filled = [e for e in filled if _is_for(case, diff, others, e.model)]
        told = [*judge_moves(diff, expected).surprises, *(c for c in found_filling(diff, filled) if not c.met)]
        for each in told:
            yield Obstacle(
                model=each.expected.model,
                what=str(each),
                remedy=f"look at it: backfill diff {plan}; it is promoted without that expectation",
            )
    if case.pointers or case.removed:
        yield from _where_nothing_changes(context, case, diffs.values())


def _where_nothing_changes(context: Context, case: Case, diffs: Collection[Diff]) -> Iterator[Obstacle]:
    """What is expected of models of which no published row becomes another one: nobody compares these, and none moved.
    Of the others it is in the way that they were not compared."""
    asked, columns, nothing = case.request, context.project.column_names, Diff(old="", new="", models=())
    told = [
        *judge_moves(nothing, expectations(columns, asked.expect_moved, ())).surprises,
        *found_filling(nothing, expected_filling(asked.expect_filled, columns)),
    ]
    for each in told:
        if each.expected.model not in case.changed and not any(_compared(d, each.expected.model) for d in diffs):
            yield Obstacle(
                model=each.expected.model,
                what=f"{each}: no published row of it becomes another one",
                remedy="see what would move: backfill plan; it is promoted without that expectation",
            )


def _is_for(case: Case, diff: Diff, others: Sequence[Diff], model: str) -> bool:
    """Whether a comparison decides about a model: it compared it; or the model changes, and no other one did."""
    return _compared(diff, model) or (model in case.changed and not any(_compared(d, model) for d in others))


def _compared(diff: Diff, model: str) -> bool:
    found = diff.of(model)
    return found is not None and bool(found.compared or found.proofs)


def _evidence(context: Context, stored: PlanRecord | None, sealing: Sealing[_Planned]) -> Mapping[str, str]:
    return seal_release(context, sealing, record=stored or _recorded(context, sealing.attempt.plan, sealing.case))


def _recorded(context: Context, plan: Plan, case: Case) -> PlanRecord:
    return record_move(
        context.control,
        plan,
        case.pointers,
        by=context.user,
        views=context.shared_views,
        code=context.project.fingerprints,
    )
