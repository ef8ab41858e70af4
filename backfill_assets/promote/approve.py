"""What does somebody say who approves a plan? One statement for each owner, about the rows as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from backfill_assets.errors import PlanError
from backfill_assets.plan.plan import Facts
from backfill_assets.promote.approval import Case, Subject, subject
from backfill_assets.promote.gate import Verdict
from backfill_assets.snapshots.model import Project
from backfill_assets.state.approvals import Approval
from backfill_assets.state.plans import PlanRecord


def statements(
    project: Project,
    facts: Facts,
    case: Case,
    *,
    by: str,
    owners: tuple[str, ...] = (),
    reason: str = "",
    accepted: Mapping[str, str] | None = None,
    now: datetime,
) -> list[Approval]:
    """The approvals, unsigned, for these owners (none: all for whom `by` may speak). `now` is of the real clock.

    Raises PlanError when the plan changes no published history, the owner is none of its, or `by` may not approve.
    """
    rules, accepted = project.settings.approvals, accepted or {}
    about = subject(project, facts, case)
    _check(case.record, about, owners, accepted)
    own = by == case.record.by
    if own and not rules.self:
        raise PlanError(
            f"{by} may not approve plan {case.record.id}",
            why=f"{by} made it, and whoever makes a plan is not who accepts it",
            fix="ask its owners: " + ", ".join(o or "(nobody)" for o in about.owners) + "; a team of one writes "
            "`approvals: {self: true}` in backfill.yml, and the record will say that it was so",
        )
    wanted = owners or tuple(about.owners)
    may = [o for o in wanted if by in rules.owners.get(o, (by,))]
    if not may or (owners and len(may) < len(wanted)):
        missing = next(o for o in wanted if o not in may)
        raise PlanError(
            f"{by} may not approve for {missing}",
            why=f"only {', '.join(rules.owners[missing])} may (approvals.owners in backfill.yml)",
            fix="ask one of them",
        )
    return [
        Approval(
            plan=case.record.id,
            environment=case.record.environment,
            digest=about.digest,
            scope=about.scope,
            owner=owner,
            by=by,
            at=now,
            expires=now + timedelta(days=rules.days),
            reason=reason,
            accepted={f.name: accepted[f.name] for f in about.findings if f.name in accepted},
            own=own,
        )
        for owner in may
    ]


def complete(record: PlanRecord, verdict: Verdict) -> None:
    """Raises PlanError when there is something of the plan that nobody can approve yet."""
    if verdict.open:
        return
    listed = "; ".join(f"{o.model}: {o.what} {o.intervals}".strip() for o in verdict.obstacles)
    raise PlanError(
        f"plan {record.id} cannot be approved yet",
        why=f"an approval is about rows that are there and audited ({listed})",
        fix="run `backfill apply` first",
    )


def _check(record: PlanRecord, about: Subject, owners: tuple[str, ...], accepted: Mapping[str, str]) -> None:
    if not about.scope:
        raise PlanError(
            f"plan {record.id} needs nobody's yes",
            why=f"it changes no rows that {record.environment} shows; green audits are enough",
            fix="promote it: backfill promote",
        )
    named = [f"{owner or '(nobody)'} of {', '.join(models)}" for owner, models in about.owners.items()]
    for owner in owners:
        if owner not in about.owners:
            raise PlanError(
                f"{owner} owns nothing of what plan {record.id} changes",
                why=f"its owners are: {'; '.join(named)}",
                fix="name one of these with --for",
            )
    known = [f.name for f in about.findings]
    for name, reason in accepted.items():
        if name not in known:
            raise PlanError(
                f"there is no finding {name} to accept",
                why=f"found was: {', '.join(known) or 'nothing'}",
                fix="see `backfill approve --prepare` for what is asked",
            )
        if not reason.strip():
            raise PlanError(
                f"finding {name} cannot be accepted without a reason",
                why="the evidence says why each difference may be so",
                fix=f'--accept {name}="the reason"',
            )
