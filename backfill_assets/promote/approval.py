"""Who has to say yes to a change of published history, and did they? To exactly these rows, and not too long ago.

What is shown for the first time, and new intervals of what is shown already, need green audits only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.audit.digest import audits_digest
from backfill_assets.intervals import NOTHING, Ranges
from backfill_assets.plan.plan import Facts
from backfill_assets.promote.gate import Obstacle
from backfill_assets.settings import ApprovalRules
from backfill_assets.snapshots.model import Project
from backfill_assets.state.approvals import Approval
from backfill_assets.state.environment import Environment, Pointer
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.proofs import DIFF, Finding, Proof, newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An open plan, what the environment would show by it, and all that was found out and said about it."""

    record: PlanRecord
    pointers: tuple[Pointer, ...]
    proofs: Sequence[Proof]
    approvals: Sequence[Approval]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a yes is about."""

    scope: Mapping[str, Ranges]
    """Model → the published intervals that change."""
    content: str
    """A hash of the rows in the scope, of what made them, and of the audits that they passed."""
    digest: str
    """A hash of the content and of all that was found out about it: what an approval binds to."""
    owners: Mapping[str, tuple[str, ...]]
    """Whose yes is needed → for which models."""
    findings: tuple[Finding, ...]
    """What has to be accepted by name."""
    proved: frozenset[str] = frozenset()
    """The kinds of proofs that there are of exactly this content."""


def changed(shown: Environment, pointer: Pointer) -> Ranges:
    """The intervals of a model that are shown, and whose rows come from another table afterwards."""
    before = shown.pointers.get(pointer.model)
    if before is None:
        return NOTHING
    same = Ranges.of(
        common
        for old in before.segments
        for new in pointer.segments
        if old.version == new.version and (common := old.interval.intersection(new.interval))
    )
    return before.covers - same


def subject(project: Project, facts: Facts, case: Case, scope: Mapping[str, Ranges] | None = None) -> Subject:
    """What the owners are asked, or were asked about this scope."""
    scope = scope or {p.model: part for p in case.pointers if (part := changed(facts.environment, p))}
    rows: list[object] = []
    for pointer in case.pointers:
        wanted = scope.get(pointer.model, NOTHING)
        for segment in pointer.segments:
            part = wanted & Ranges((segment.interval,))
            for interval, entry in facts.of(pointer.model, segment.version).batches(part):
                rows.append(
                    [pointer.model, segment.version, str(interval), entry.batch, entry.table_commit, entry.inputs]
                )
    names = sorted(scope)
    content = _hash(
        case.record.id,
        case.record.environment,
        rows,
        [[p.model, p.columns] for p in case.pointers if p.model in scope],
        {name: audits_digest(project.models[name]) for name in names},
        [[c.name, c.owner, list(c.reads)] for c in project.consumers.values() if set(c.reads) & set(scope)],
    )
    proofs = [proof for _, proof in sorted(newest(case.proofs, content).items())]
    owners: dict[str, tuple[str, ...]] = {}
    for name in names:
        owner = project.models[name].owner
        owners[owner] = (*owners.get(owner, ()), name)
    return Subject(
        scope=scope,
        content=content,
        digest=_hash(content, [proof.digest for proof in proofs]),
        owners=owners,
        findings=tuple(f for proof in proofs for f in proof.findings),
        proved=frozenset(proof.kind for proof in proofs),
    )


def unapproved(
    project: Project,
    facts: Facts,
    pointers: Sequence[Pointer],
    cases: Sequence[Case],
    *,
    now: datetime,
    doubt: Callable[[Approval], str] = lambda _: "",
) -> list[Obstacle]:
    """What the owners have not said yes to, of what would move. `now` is of the real clock.

    `doubt` says why an approval's signature does not count; "" when it does.
    """
    rules = project.settings.approvals
    if not rules.required:
        return []
    found: list[Obstacle] = []
    asked: set[str] = set()
    for pointer in pointers:
        if not (part := changed(facts.environment, pointer)):
            continue
        versions = {s.version for s in pointer.segments} | {pointer.version}
        case = next((c for c in cases if c.record.versions.get(pointer.model) in versions), None)
        if case is None:
            found.append(
                Obstacle(
                    model=pointer.model,
                    what="changes published history, and no plan is open that an owner could approve:",
                    intervals=part,
                    remedy="backfill apply opens one, also when nothing is left to build",
                )
            )
        elif case.record.id not in asked:
            asked.add(case.record.id)
            found.extend(_objections(project, facts, case, rules, now, doubt))
    return found


def _objections(
    project: Project,
    facts: Facts,
    case: Case,
    rules: ApprovalRules,
    now: datetime,
    doubt: Callable[[Approval], str],
) -> list[Obstacle]:
    current = subject(project, facts, case)
    found: list[Obstacle] = []
    approve = f"backfill approve {case.record.id}"
    for owner, models in current.owners.items():
        option = f" --for {owner}" if len(current.owners) > 1 and owner else ""
        problems: list[str] = []
        said: Approval | None = None
        for approval in reversed([a for a in case.approvals if a.owner == owner]):
            problem = _problem(project, facts, case, current, approval, rules, now) or doubt(approval)
            if not problem:
                said = approval
                break
            problems.append(f"{approval.by} said yes at {approval.at:%Y-%m-%d %H:%M} UTC, but {problem}")
        if said is None:
            found.append(
                Obstacle(
                    model=", ".join(models),
                    what=f"needs the yes of {owner or 'somebody (it has no owner)'} to a change of published history"
                    + (f" ({problems[0]})" if problems else "")
                    + ":",
                    intervals=current.scope[models[0]],
                    remedy=approve + option,
                )
            )
        about = subject(project, facts, case, said.scope) if said else current
        if DIFF not in about.proved:
            found.append(
                Obstacle(
                    model=", ".join(models),
                    what="was not compared with what is shown:",
                    intervals=current.scope[models[0]],
                    remedy="backfill apply",
                )
            )
        found.extend(
            Obstacle(
                model=finding.model,
                what=finding.text,
                remedy=f'mend it, or accept it: {approve}{option} --accept {finding.name}="why it may be so"',
            )
            for finding in about.findings
            if finding.model in models and not (said and finding.name in said.accepted)
        )
    return found


def _problem(
    project: Project,
    facts: Facts,
    case: Case,
    current: Subject,
    approval: Approval,
    rules: ApprovalRules,
    now: datetime,
) -> str:
    """Why an approval does not count; "" when it does."""
    if approval.expires <= now:
        return f"that was over at {approval.expires:%Y-%m-%d %H:%M} UTC"
    if approval.own and not rules.self:
        return "the author of a plan may not approve it (approvals.self in backfill.yml)"
    if (may := rules.owners.get(approval.owner)) and approval.by not in may:
        return f"only {', '.join(may)} may (approvals.owners in backfill.yml)"
    for name, part in current.scope.items():
        said = approval.scope.get(name, NOTHING)
        span = said.span
        if late := Ranges.of(i for i in part - said if span is None or i.start < span.end):
            return f"not to {name} {late}"
    if subject(project, facts, case, approval.scope).digest != approval.digest:
        return "rows, audits or comparisons in its scope are not those any more"
    return ""


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
