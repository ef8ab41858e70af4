"""Who has agreed to rows that change, and whose yes is missing? Of a case: by proofs, findings and approvals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.promote.approval import EVERY_PROOF, STALE, ApprovalSubject, PlanReview, covered, subjects
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.settled import consented
from backfill_assets.state.approvals import Approval
from backfill_assets.state.proofs import Finding, Proof


def unapproved(case: Case) -> dict[str, dict[str, Ranges]]:
    """Whose approval is missing → model → of which published intervals."""
    left: dict[str, dict[str, Ranges]] = {}
    for name, part in unreleased(case).items() if case.required else ():
        for owner in case.owners(name):
            valid = [covered_by(case, r, a) for r, a in valid_approvals(case) if a.owner == owner]
            if open_ := part - Ranges.of(i for c in valid for i in c.get(name, NOTHING)):
                left.setdefault(owner, {})[name] = open_
    return left


def unaccepted(case: Case) -> Iterator[tuple[PlanReview, ApprovalSubject, Finding, Sequence[str]]]:
    """The findings that close the gate, and who has not accepted them yet. What was looked at again since, with all
    that was looked at then, is what was found now."""
    moving = unreleased(case)
    told: set[tuple[str, str]] = set()
    there = subjects_of(case)
    for review, about in there:
        others = [other for r, other in there if r.record.id == review.record.id]
        for proof, finding in ((p, f) for p in about.proofs for f in p.findings):
            if finding.model not in moving or (review.record.id, finding.name) in told:
                continue
            if any(_is_newer(review, other, about, proof) for other in others):
                continue
            told.add((review.record.id, finding.name))
            lacking = [o for o in case.owners(finding.model) if not _is_accepted(case, finding, o)]
            if lacking:
                yield review, about, finding, lacking


def _is_newer(review: PlanReview, other: ApprovalSubject, about: ApprovalSubject, proof: Proof) -> bool:
    """Whether another scope, which has all that this one has, was looked at later: by the order of records, as clocks
    differ."""
    at = review.proofs.index
    whole = not any(part - other.scope.get(name, NOTHING) for name, part in about.scope.items())
    return whole and any(p.kind == proof.kind and at(p) > at(proof) for p in other.proofs)


def covered_by(case: Case, review: PlanReview, approval: Approval) -> Mapping[str, Ranges]:
    """What of the moving models an approval is about; nothing where it does not count."""
    return covered(case.project, case.facts, review, approval, case.pointers)


def vouching(case: Case) -> tuple[PlanReview, ...]:
    """The open plans whose comparisons, and approvals of the same rows, a move rests on."""
    moving = unreleased(case)
    found = {r.record.id: r for r, s in subjects_of(case) if s.proved >= EVERY_PROOF and moving.keys() & s.scope.keys()}
    return tuple(found.values())


def unreleased(case: Case) -> dict[str, Ranges]:
    """The published intervals whose rows change to others than those of the release that is gone back to, and that no
    settling window covers."""
    settles = settled_beforehand(case)
    left = {
        name: part - case.released.get(name, NOTHING) - settles.get(name, NOTHING)
        for name, part in case.changed.items()
    }
    return {name: part for name, part in left.items() if part}


def settled_beforehand(case: Case) -> Mapping[str, Ranges]:
    """What of it the owners have consented to beforehand, for routine runs only."""
    if case.purpose is not Purpose.ROUTINE:
        return {}
    moving = {p.model: p for p in case.pointers}
    return consented(case.project, case.facts, case.changed, moving, case.late)


def subjects_of(case: Case) -> list[tuple[PlanReview, ApprovalSubject]]:
    """What the proofs are about, of the rows that would be shown."""
    moving = {p.model for p in case.pointers}
    shown = [r.showing(case.pointers) for r in case.reviews]
    found = [(r, s) for r in shown for s in subjects(case.project, case.facts, r)]
    return [(r, s) for r, s in found if moving & set(s.scope)]


def valid_approvals(case: Case) -> list[tuple[PlanReview, Approval]]:
    """The approvals that count, newest first."""
    found = [(r, a) for r in case.reviews for a in r.approvals if not case.not_counted(r.record, a)]
    return sorted(found, key=lambda each: each[1].at, reverse=True)


def _is_accepted(case: Case, finding: Finding, owner: str) -> bool:
    """Whether an approval that counts, and is about these rows, names the finding. Where none is required,
    anybody's."""
    return any(
        finding.name in approval.accepted and covered_by(case, review, approval).get(finding.model, NOTHING)
        for review, approval in valid_approvals(case)
        if not case.required or approval.owner == owner
    )


def why_not_enough(case: Case, owner: str, parts: Mapping[str, Ranges]) -> str:
    """Why the newest approval of an owner is not enough."""
    said = [(r, a) for r in case.reviews for a in r.approvals if a.owner == owner]
    if not said:
        return ""
    review, approval = max(said, key=lambda each: each[1].at)
    problem = case.not_counted(review.record, approval)
    if not problem:
        there = covered_by(case, review, approval)
        beyond = [f"{name} {left}" for name, part in parts.items() if (left := part - there.get(name, NOTHING))]
        problem = f"not of {', '.join(beyond)}" if there else STALE
    what = f" plan {approval.plan}" if len(case.reviews) > 1 else ""
    return f" ({approval.by} approved{what} at {approval.at:%Y-%m-%d %H:%M} UTC, but {problem})"


def release_approvals(case: Case) -> tuple[Approval, ...]:
    """The approvals that a release rests on: those that count, and are about rows that it changes. Oldest first; none
    where nobody's approval is needed."""
    found: list[Approval] = []
    for review in case.reviews if case.required else ():
        for approval in review.approvals:
            if case.not_counted(review.record, approval):
                continue
            about = covered_by(case, review, approval)
            if any(part & about.get(name, NOTHING) for name, part in case.changed.items()):
                found.append(approval)
    return tuple(sorted(found, key=lambda a: a.at))
