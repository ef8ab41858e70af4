"""What can be shown for a plan, or for a release? Its packet, written or found."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.app.amendment import amend_stored
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of, why_not_counted
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.preflight import plan_impacts
from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.evidence.released import Moving, release_files
from backfill_assets.evidence.write import RELEASE, digest_of, evidence_path, packet_digest, write_packet
from backfill_assets.plan.facts import Facts
from backfill_assets.promote.approval import PlanReview, subject
from backfill_assets.promote.case import Case
from backfill_assets.promote.changed_rows import cadence_of
from backfill_assets.promote.consent import release_approvals, vouching
from backfill_assets.promote.lifecycle import fulfilled, named_or_newest_plan
from backfill_assets.promote.release import Sealing
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.provisional import provisional_parts
from backfill_assets.state.releases import Release, find_release

if TYPE_CHECKING:
    from backfill_assets.evidence.inputs import Inputs, Judged
    from backfill_assets.evidence.make import Evidence
    from backfill_assets.evidence.shape import Packet


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEvidence:
    """The packet of a release, in its folder."""

    said: Mapping[str, Any]
    location: str
    digest: str


def plan_or_release(context: Context, target: str | None = None) -> Evidence | ReleaseEvidence:
    """Write the packet of a plan (None: of the newest one), or find that of a release.

    Raises PlanError, PromotionError when there is no such thing, StateError for a packet that is damaged.
    """
    if target is not None and is_release(context, target):
        return read_release_evidence(context, target)
    return write_evidence(context, target)


def is_release(context: Context, name: str) -> bool:
    """Whether somebody means a release and no plan: ids of plans have no `r`."""
    if re.match(r"r\d", name):
        return True
    if any(p.id.startswith(name.removeprefix("plan-")) for p in context.control.plans.all()):
        return False
    return any(r.id.endswith(name) for r in context.control.releases.all(context.environment))


def write_evidence(
    context: Context,
    plan: str | None = None,
    *,
    after: Mapping[str, Pointer] | None = None,
    vouching: Sequence[PlanReview] = (),
    facts: Facts | None = None,
) -> Evidence:
    """Write a plan's (None: the newest one's) packet, unless a promotion sealed the one that is there.

    `after` is what the environment is about to show by this plan; None: it does not move now. `vouching` are other
    open plans, of the same rows, on whose comparisons and approvals the move rests, which was judged by `facts`.
    Raises PlanError, StateError.
    """
    from backfill_assets.evidence.make import Evidence, make  # pydantic: planning has no need of it
    from backfill_assets.evidence.verify import read_packet

    record = named_or_newest_plan(context.control, plan)
    folder, named = evidence_folder(context, record, moving=after is not None)
    sealed = after is None and (record.status is PlanStatus.PROMOTED or bool(named))
    there = read_packet(folder) if sealed else None
    if there is not None and not named and there.plan.status in ("open", "applied"):
        # A rollback or another plan's release showed what it built: what is there says that nothing does yet.
        sealed, there = False, None
    if there is not None:
        return Evidence(packet=there, location=folder.location, digest=packet_digest(folder), changed=False)
    made, files = make(_inputs(context, record, after=after, vouching=vouching, facts=facts))
    written = write_packet(folder, record.id, files, sealed=sealed)
    return Evidence(packet=made, location=folder.location, digest=written.digest, changed=written.changed)


def look_at_plan(context: Context, record: PlanRecord, facts: Facts | None = None) -> Packet:
    """What a plan's packet says: that of its release, or the one that would be written now, by `facts` or as they are
    read here. Writes nothing."""
    from backfill_assets.evidence.packet import packet
    from backfill_assets.evidence.verify import read_packet

    if record.status is PlanStatus.PROMOTED and (there := read_packet(evidence_folder(context, record)[0])) is not None:
        return there
    return packet(_inputs(context, record, facts=facts))


def plan_files(context: Context, record: PlanRecord) -> Mapping[str, bytes]:
    """The files of that packet by name: those of its release, or the ones that would be written now. Writes nothing."""
    from backfill_assets.evidence.make import make
    from backfill_assets.evidence.verify import read_packet

    folder, _ = evidence_folder(context, record)
    if record.status is PlanStatus.PROMOTED and read_packet(folder) is not None:
        return {name: content for name in folder.names() if (content := folder.read(name)) is not None}
    return make(_inputs(context, record))[1]


def _inputs(
    context: Context,
    record: PlanRecord,
    *,
    after: Mapping[str, Pointer] | None = None,
    vouching: Sequence[PlanReview] = (),
    facts: Facts | None = None,
) -> Inputs:
    from backfill_assets.evidence.gather import GatheredFrom, gather  # pydantic: planning has no need of it

    now = facts or context.facts()
    tables = DeltaTableFiles(context.warehouse)
    origin = GatheredFrom(project=context.project, control=context.control, log=context.log, tables=tables)
    judged = _judged(context, record, now, after or {}, vouching)
    return gather(origin, record, after=after, judged=judged, rules=now.rules)


def _judged(
    context: Context, record: PlanRecord, facts: Facts, after: Mapping[str, Pointer], vouching: Sequence[PlanReview]
) -> Judged | None:
    """The plan as the gate looks at it; None where it has ended, or is another code's."""
    from backfill_assets.evidence.inputs import Judged, JudgedApproval

    cases = cases_of(context, facts)
    if not (record.live and cases.may_move(facts, record)):
        return None
    case = cases.review(facts, record)
    reviews = (case, *(review for review in vouching if review.record.id != record.id))
    amendment = amend_stored(context, record, facts, {name: pointer.covers for name, pointer in after.items()})
    approvals = tuple(
        JudgedApproval(approval=a, doubt=why_not_counted(context, facts, h, a)) for h in reviews for a in h.approvals
    )
    heard, about = next((h for h in reviews if h.proofs), case), subject(context.project, facts, case)
    impacts = plan_impacts(context, plan_by_now(context, facts, record), facts.environment)
    return Judged(
        approvals=approvals,
        proofs=heard.proofs,
        content=(about if heard is case else subject(context.project, facts, heard)).content,
        impacts=tuple(i.to_json() for i in impacts),
        asked=about.asked if cases.required and case.changed else (),
        amendment=amendment,
    )


def seal_release(
    context: Context,
    sealing: Sealing,
    *,
    record: PlanRecord | None = None,
    back_to: Release | None = None,
    at_once: bool = False,
    reason: str = "",
) -> Mapping[str, str]:
    """Write the packet of a release that is about to move; of the plan in `record`, where one moves, and of all that
    end with it, theirs first. Plan or release → digest. Needs no Spark."""
    plans = _plan_packets(context, sealing.case, record) if record else {}
    case = sealing.case
    after = replace(case.environment, pointers={p.model: p for p in sealing.pointers})
    moving = Moving(
        release=sealing.release,
        environment=case.environment,
        pointers=sealing.pointers,
        removed=sealing.removed,
        purpose=case.purpose.value,
        cadences={name: cadence_of(context.project, name) for name in (p.model for p in sealing.pointers)},
        changed=case.changed,
        provisional=provisional_parts(context.control, after, case.facts.now),
        by=context.user,
        reason=reason,
        at_once=at_once,
        back_to=back_to,
        plans=plans,
        approvals=release_approvals(case),
        rules=sealing.rules,
    )
    _, files = release_files(context.control, context.log, moving)
    folder = release_folder(context, sealing.release)
    written = write_packet(folder, sealing.release, files, sealed=False, kind="release")
    return {**moving.plans, sealing.release: written.digest}


def _plan_packets(context: Context, case: Case, record: PlanRecord) -> dict[str, str]:
    shown = case.environment
    after = replace(shown, pointers={**shown.pointers, **{p.model: p for p in case.pointers}})
    ended = {plan.id for plan in (record, *fulfilled(context.control, after))}
    grounds = vouching(case)
    return {
        plan: write_evidence(context, plan, after=after.pointers, vouching=grounds, facts=case.facts).digest
        for plan in sorted(ended)
    }


def read_release_evidence(context: Context, name: str) -> ReleaseEvidence:
    """The packet of a release: of its id, or of a beginning or an end of it. Raises PromotionError when there is no
    such release, StateError when it has no packet or a damaged one."""
    release = find_release(context.control.releases.all(context.environment), name)
    folder = release_folder(context, release.id)
    if not release.evidence.get(release.id):
        plans = ", ".join(release.evidence)
        raise StateError(
            f"release {release.id} has no packet of its own",
            why="an earlier version of the program made it",
            fix=f"backfill evidence {plans}" if plans else f"backfill releases {release.id} says what is recorded",
        )
    if (found := packet_digest(folder)) != release.evidence[release.id]:
        raise StateError(
            f"the packet at {folder.location} is another than the one that release {release.id} names",
            why=f"its manifest is {found}",
            fix="restore it from a backup",
        )
    said = json.loads(folder.read(RELEASE) or b"{}")
    return ReleaseEvidence(said=said, location=folder.location, digest=found)


def release_folder(context: Context, release: str) -> ArrowFolder:
    """Where the packet of a release is, or will be."""
    return ArrowFolder(evidence_path(context.warehouse, release))


def evidence_folder(context: Context, record: PlanRecord, *, moving: bool = False) -> tuple[ArrowFolder, str]:
    """Where the packet of a plan is, or will be, and the digest by which a release names it ("": none does).

    Each release of a plan has a packet of its own, which none after it overwrites. `moving`: of the release that
    is about to happen.
    """
    sealed = [r for r in context.control.releases.all(record.environment) if record.id in r.evidence]
    ended = bool(sealed) and not moving and (record.status is PlanStatus.PROMOTED or _is_shown(context, record))
    number = len(sealed) + (not ended)
    folders = [ArrowFolder(evidence_path(context.warehouse, _numbered(record.id, n))) for n in range(number, 0, -1)]
    if not ended:
        return folders[0], ""
    wanted = sealed[-1].evidence[record.id]  # earlier versions of the program wrote them all to one folder
    return next((f for f in folders if digest_of(f) == wanted), folders[0]), wanted


def _is_shown(context: Context, record: PlanRecord) -> bool:
    """Whether a release showed an open plan, and was killed before it recorded the plan's end."""
    shown = context.control.environments.read(record.environment)
    return record.id in {r.id for r in fulfilled(context.control, shown)}


def _numbered(plan: str, number: int) -> str:
    return plan if number == 1 else f"{plan}-{number}"
