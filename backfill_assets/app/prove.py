"""What is found when the rows that a plan built are compared with what is shown?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from backfill_assets.app.consumers import rerun_consumers
from backfill_assets.app.context import Context
from backfill_assets.app.diff import compare_sides, find_drift
from backfill_assets.app.gate import cases_of
from backfill_assets.compare.codec import diff_to_json
from backfill_assets.compare.expect import expectations
from backfill_assets.compare.filling import FILLING, expected_filling, found_filling
from backfill_assets.compare.sides import replaced_side
from backfill_assets.contracts.rerun import queries_digest
from backfill_assets.core.intervals import Ranges, by_name
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.proof import Drift
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import subject
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.findings import drifted, incomparable, unanswered, unexpected, unfilled, unpaired
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.proofs import CONSUMERS, DIFF, KEPT, LEFT, Finding, Proof, newest_proofs

ASKED = "asked"
"""The key of a proof's document under which the digest of the queries is that were asked."""
REMOVED = "the janitor removed its tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """What was found now: kept tables that drift, and comparisons."""

    drift: tuple[Drift, ...] = ()
    proofs: tuple[Proof, ...] = ()
    in_the_way: tuple[Obstacle, ...] = ()
    """Why these rows cannot be shown whatever a comparison finds: then nothing is compared."""


def prove_built(context: Context, stored: str, plan: Plan, facts: Facts) -> Proved:
    """Find what the plan makes drift. Compare what the stored one built with what is shown, ask its consumers' queries,
    and keep what came of it.

    Nothing is done again for rows that it is known of. A plan that changes no published rows, or has ended, has nothing
    to prove. Opens a session.
    """
    drift = tuple(find_drift(context, plan, facts))
    record, cases = find_plan(context.control, stored), cases_of(context, facts)
    if not record.live:
        return Proved(drift=drift)
    if found := judge_rows(cases.of_rows(facts, record, plan.blocked)).obstacles:
        return Proved(drift=drift, in_the_way=found)
    return Proved(drift=drift, proofs=_prove(context, cases, record, drift, facts))


def _prove(
    context: Context, cases: Cases, record: PlanRecord, drift: Sequence[Drift], facts: Facts
) -> tuple[Proof, ...]:
    review = cases.review(facts, record)
    about = subject(context.project, facts, review)
    known = newest_proofs(review.proofs, about.content)
    found: list[Proof] = []

    def keep(kind: str, findings: tuple[Finding, ...], document: Mapping[str, Any]) -> None:
        now = datetime.now(UTC)
        found.append(
            Proof(plan=record.id, kind=kind, content=about.content, at=now, findings=findings, document=document)
        )

    if about.scope and DIFF not in known:
        said = cases.stored(record)
        request = said.request if said else Request()
        lost = unreadable_rows(context, facts, about.scope)
        without = {name: Ranges.of(i for part in found.values() for i in part) for name, found in lost.items()}
        reasons: dict[str, str] = {}
        diff = compare_sides(
            context,
            record.id,
            models=tuple(about.scope),
            without=without,
            unpaired=lambda error: reasons.update({error.model: error.why}),
        )
        expected = expectations(context.project.column_names, request.expect_moved, request.expect_unmoved)
        markers = {name: model.updated_at for name, model in context.project.models.items()}
        findings = unexpected(diff, said.changes if said else {}, expected, markers)
        filled = found_filling(diff, expected_filling(request.expect_filled, context.project.column_names))
        document = diff_to_json(diff) | ({FILLING: [str(one) for one in filled]} if filled else {})
        keep(DIFF, (*incomparable(lost), *unpaired(reasons), *findings, *unfilled(filled)), document)
    asked = queries_digest(context.project.consumers.values())
    answers = known.get(CONSUMERS)  # one of an earlier release does not say what was asked
    if about.scope and (answers is None or answers.document.get(ASKED, asked) != asked):
        reruns = rerun_consumers(context, record.id)
        findings = unanswered(reruns, context.project.consumers, tuple(about.scope))
        keep(CONSUMERS, findings, reruns.to_json() | {ASKED: asked})
    if about.scope and (drift or KEPT not in known):
        left = by_name(d.again for d in drift)
        plain = {reader: parts.to_plain() for reader, parts in left.items()}
        keep(KEPT, drifted(drift), {"drift": [str(d) for d in drift], LEFT: plain})
    context.control.proofs.put(found)
    return tuple(found)


def unreadable_rows(context: Context, facts: Facts, scope: Mapping[str, Ranges]) -> dict[str, dict[str, Ranges]]:
    """What of the published intervals that change cannot be read: by model, what is wrong with files and where."""
    replaced = replaced_side(facts.environment, facts.past.taken_out).pointers
    pointers = [p for name, p in replaced.items() if name in scope]
    lost = damages(context.project, rehearse(pointers, context.storage, context.log, context.control.ledger))
    for name, out in facts.past.taken_out.items():
        if out.removed and name in scope:
            lost[name] = {**lost.get(name, {}), REMOVED: out.removed}
    cut = {n: {what: part & scope[n] for what, part in problems.items()} for n, problems in lost.items()}
    found = {n: {what: part for what, part in problems.items() if part} for n, problems in cut.items()}
    return {name: problems for name, problems in found.items() if problems}
