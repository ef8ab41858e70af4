"""What is an approval about? The published intervals that change, their new rows, and all that was found out of them.

What is shown for the first time, and new intervals of what is shown already, need green audits only. Whether an
approval counts, and whether all that changes is covered, is for the gate to say (`gate.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Owned
from backfill_assets.state.approval_validity import Genuine, objection, trusted
from backfill_assets.state.approvals import Approval, DamagedApproval
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.proofs import CONSUMERS, DIFF, KEPT, Finding, Proof, newest_proofs
from backfill_assets.state.required_approvals import Roles, merged_roles, needed_from
from backfill_assets.state.rules import Rules, declared_rules

EVERY_PROOF = frozenset({DIFF, CONSUMERS, KEPT})
"""What has to be found out of rows before they replace published ones."""


STALE = "rows in its scope, what they replace, audits or comparisons are not those any more"
"""Why an approval does not count whose digest is another one by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReview:
    """An open plan, what the environment would show by it, and all that was found out and said about it."""

    record: PlanRecord
    pointers: tuple[Pointer, ...]
    changed: Mapping[str, Ranges]
    """Model → the published intervals whose rows would be others."""
    replaced: Mapping[str, Mapping[str, Ranges]] = field(default_factory=dict[str, Mapping[str, Ranges]])
    """Model → release → the published intervals that show other rows since that: what one who compares or approves the
    plan sees replaced."""
    proofs: Sequence[Proof] = ()
    approvals: Sequence[Approval] = ()
    damaged: Sequence[DamagedApproval] = ()

    def showing(self, pointers: Sequence[Pointer]) -> PlanReview:
        """The same plan where an environment would show these pointers of their models."""
        moved = {p.model: p for p in (*self.pointers, *pointers)}
        return replace(self, pointers=tuple(moved.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSubject:
    """What an approval is about."""

    scope: Mapping[str, Ranges]
    """Model → the published intervals that change."""
    content: str
    """A hash of the rows in the scope, of what made them, and of the audits that they passed."""
    digest: str
    """A hash of the content and of all that was found out about it: what an approval binds to."""
    owners: Mapping[str, tuple[str, ...]]
    """Whose approval is needed → for which models."""
    roles: Roles
    """And as what."""
    proofs: tuple[Proof, ...]
    """What was found out of exactly this content: the newest of each kind."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What has to be accepted by name."""
        return tuple(f for proof in self.proofs for f in proof.findings)

    @property
    def proved(self) -> frozenset[str]:
        """The kinds of proofs that there are."""
        return frozenset(proof.kind for proof in self.proofs)

    @property
    def asked(self) -> tuple[Owned, ...]:
        """Whose approval is asked for: one `Owned` an owner, for which models and in which roles."""
        return tuple(Owned(owner=o, models=models, roles=self.roles[o]) for o, models in self.owners.items())


def subject(
    project: Project, facts: Facts, review: PlanReview, scope: Mapping[str, Ranges] | None = None
) -> ApprovalSubject:
    """What the owners are asked, or were asked about this scope."""
    scope = scope or review.changed
    rows: list[object] = []
    for pointer in review.pointers:
        wanted = scope.get(pointer.model, NOTHING)
        for segment in pointer.segments:
            part = wanted & Ranges((segment.interval,))
            for interval, entry in facts.tables.of(pointer.model, segment.version).batches(part):
                rows.append(
                    [pointer.model, segment.version, str(interval), entry.batch, entry.table_commit, entry.inputs]
                )
    names = sorted(name for name in scope if name in project.models)
    since = [
        [name, release, str(part)]
        for name in sorted(scope)
        for release, ranges in sorted(review.replaced.get(name, {}).items())
        if (part := ranges & scope[name])
    ]
    content = _hash(
        review.record.id,
        review.record.environment,
        rows,
        [[p.model, p.columns] for p in review.pointers if p.model in scope],
        {name: audits_digest(project.models[name]) for name in names},
        [[c.name, c.owner, list(c.reads)] for c in project.consumers.values() if set(c.reads) & set(scope)],
        *([since] if since else []),  # statements of earlier releases do not say it
    )
    proofs = [proof for _, proof in sorted(newest_proofs(review.proofs, content).items())]
    owners: dict[str, tuple[str, ...]] = {}
    rules = facts.rules_for(project)
    files = declared_rules(project, beside=rules)
    asked = [(name, needed_from(rules, files, name)) for name in names]
    for name, here in asked:
        for owner in here:
            owners[owner] = (*owners.get(owner, ()), name)
    return ApprovalSubject(
        scope=scope,
        content=content,
        digest=_hash(content, [proof.digest for proof in proofs]),
        owners=owners,
        roles=merged_roles(item for _, here in asked for item in here.items()),
        proofs=tuple(proofs),
    )


def subjects(project: Project, facts: Facts, review: PlanReview) -> Iterator[ApprovalSubject]:
    """What is known of a plan's rows: in the scope that it has now, and in that of each of its approvals."""
    scopes = [review.changed, *(a.scope for a in review.approvals)]
    seen: list[Mapping[str, Ranges]] = []
    for scope in scopes:
        if scope and scope not in seen:
            seen.append(scope)
            yield subject(project, facts, review, scope)


def covered(
    project: Project, facts: Facts, review: PlanReview, approval: Approval, pointers: Sequence[Pointer]
) -> Mapping[str, Ranges]:
    """The intervals of these pointers' models that an approval is about; none when any row in its scope is another one.

    What the environment has gained since the approval, of a model whose scope went to the end, is covered where it has
    the version of the rows before: such days are published by their own audits, whichever version they are of. Not
    where other rows were shown in their place since.
    """
    about = review.showing(pointers)
    if subject(project, facts, about, approval.scope).digest != approval.digest:
        return {}
    found: dict[str, Ranges] = {}
    for pointer in pointers:
        scope = approval.scope.get(pointer.model, NOTHING)
        found[pointer.model] = scope
        since, last = approval.onward.get(pointer.model), scope.span
        if since is None or last is None:
            continue
        ends = [s for s in pointer.segments if s.interval.start < last.end <= s.interval.end]
        gained = Ranges.of(
            replace(s.interval, start=max(s.interval.start, since))
            for s in pointer.segments
            if s.interval.end > since and any(s.version == e.version for e in ends)
        )
        others = Ranges.of(i for part in review.replaced.get(pointer.model, {}).values() for i in part)
        found[pointer.model] = scope | (gained - others)
    return found


def why_not(
    project: Project, facts: Facts, review: PlanReview, approval: Approval, *, now: datetime, genuine: Genuine = trusted
) -> str:
    """Why an approval of the review's plan does not count for the rows as they are; "" when it does."""
    if problem := not_counted(project, facts, review.record, approval, now=now, genuine=genuine):
        return problem
    if subject(project, facts, review, approval.scope).digest != approval.digest:
        return STALE
    return ""


def rules_of(project: Project, facts: Facts) -> Rules:
    """By which rules approvals count. Where none is required they only accept findings, and the author may."""
    rules = facts.rules_for(project)
    if rules.approvals.required:
        return rules
    return replace(rules, approvals=replace(rules.approvals, self=True))


def not_counted(
    project: Project, facts: Facts, record: PlanRecord, approval: Approval, *, now: datetime, genuine: Genuine = trusted
) -> str:
    """Why an approval of a plan does not count, whatever its rows are by now; "" when it does."""
    if (approval.plan, approval.environment) != (record.id, record.environment):
        return f"it is about plan {approval.plan} for {approval.environment}"
    return objection(approval, rules_of(project, facts), authors=record.authors, now=now, genuine=genuine)


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
