"""May it be shown, who said so, and what is the proof? The gate, approvals, the promotion and its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.comparing import Comparing
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import doubt
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.compare.expect import expectations
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.errors import PlanError
from backfill_assets.evidence.write import digest, evidence_path, write_packet
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.proof import Drift
from backfill_assets.plan.stages import Plan, Request, request_from_json
from backfill_assets.promote.approval import Case, changed, subject, unapproved
from backfill_assets.promote.approve import complete, statements
from backfill_assets.promote.candidate import known
from backfill_assets.promote.findings import drifted, unanswered, unexpected
from backfill_assets.promote.gate import Obstacle, Verdict, gate
from backfill_assets.promote.lifecycle import end_promoted, find_plan, fulfilled, newest_plan
from backfill_assets.promote.planned import gate_plan
from backfill_assets.promote.promote import promote, recover
from backfill_assets.state.approvals import Approval
from backfill_assets.state.environment import Environment, Pointer
from backfill_assets.state.plans import PlanRecord, Status
from backfill_assets.state.proofs import CONSUMERS, DIFF, KEPT, Finding, Proof

if TYPE_CHECKING:
    from backfill_assets.evidence.make import Evidence


@dataclass(kw_only=True)
class Releasing(Comparing):
    """A project whose plans can be approved and promoted."""

    def gate(self, request: Request, facts: Facts, plan: Plan) -> Verdict:
        """Whether the plan's models may be promoted as they are now."""
        models = tuple(name for name in plan.models if name not in plan.held)
        verdict = gate(self.project, facts, self.control.versions.all(), request, models, plan.patches)
        return self._with_consent(facts, plan, verdict)

    def gate_plan(self, facts: Facts, record: PlanRecord) -> Verdict:
        """Whether a stored plan's models may be promoted as they are now, apart from their owners' yes."""
        return gate_plan(self.project, facts, self.control.versions.all(), record, self._document(record))

    def _document(self, record: PlanRecord) -> Mapping[str, Any]:
        return self.control.plans.document(record.id) or {}

    def _request(self, record: PlanRecord) -> Request:
        return request_from_json(self._document(record).get("request", {}))

    def case(self, record: PlanRecord, verdict: Verdict) -> Case:
        """A stored plan with what it would show (`gate_plan`), and what was found out and said about it."""
        return Case(
            record=record,
            pointers=verdict.pointers,
            proofs=self.control.proofs.of(record.id),
            approvals=self.control.approvals.of([record.id]),
        )

    def prove(self, plan: str, drift: Sequence[Drift] = ()) -> tuple[Proof, ...]:
        """Compare what an open plan built with what is shown, ask its consumers' queries, and keep what came of it.

        Nothing is done again for rows that it is known of. A plan that changes no published rows has nothing to prove,
        and what is not complete can be proved later. Opens a session.
        """
        record, facts = find_plan(self.control, plan), self.facts()
        verdict = self.gate_plan(facts, record)
        if not verdict.open:
            return ()
        case = self.case(record, verdict)
        about = subject(self.project, facts, case)
        known = about.proved
        found: list[Proof] = []

        def keep(kind: str, findings: tuple[Finding, ...], document: Mapping[str, Any]) -> None:
            now = datetime.now(UTC)
            found.append(
                Proof(plan=record.id, kind=kind, content=about.content, at=now, findings=findings, document=document)
            )

        if about.scope and DIFF not in known:
            said, request = self._document(record), self._request(record)
            diff = self.diff(record.id, models=tuple(about.scope))
            expected = expectations(self.project.column_names, request.expect_moved, request.expect_unmoved)
            keep(DIFF, unexpected(diff, said.get("changes", {}), expected), diff.to_json())
        if about.scope and CONSUMERS not in known:
            reruns = self.rerun_consumers(record.id)
            keep(CONSUMERS, unanswered(reruns, self.project.consumers, tuple(about.scope)), reruns.to_json())
        if about.scope and (drift or KEPT not in known):
            keep(KEPT, drifted(drift), {"drift": [str(d) for d in drift]})
        self.control.proofs.put(found)
        return tuple(found)

    def statements(self, plan: str, *, by: str = "", owners: Sequence[str] = (), **said: Any) -> list[Approval]:
        """What `by` (default: the user) says when approving a plan; `said` are a reason and accepted findings."""
        record, facts = find_plan(self.control, plan), self.facts()
        verdict = self.gate_plan(facts, record)
        complete(record, verdict)
        case = self.case(record, verdict)
        now = datetime.now(UTC)
        return statements(self.project, facts, case, by=by or self.user, owners=tuple(owners), now=now, **said)

    def approve(self, approval: Approval) -> None:
        """Record an approval. Raises PlanError when its signature is not genuine, or it could never open the gate."""
        if why := self._doubt(approval):
            raise PlanError(
                f"the approval of {approval.by} is refused",
                why=f"it comes {why}" if why.startswith("without") else why,
                fix="sign with a key that `allowed_signers` names: backfill approve PLAN --key ~/.ssh/id_ed25519",
            )
        self.control.approvals.put(approval)

    def _doubt(self, approval: Approval) -> str:
        required = self.project.settings.approvals.signatures == "required"
        return doubt(self.project.root, approval, required=required)

    def _with_consent(self, facts: Facts, plan: Plan, verdict: Verdict) -> Verdict:
        """The verdict with what has to be known before, and with what the owners have not said yes to."""
        if self.project.settings.approvals.required:
            gaps = [gap for gap in self.preflight(plan) if gap.blocking]
            unknown = [Obstacle(model=gap.subject, what=gap.what, remedy=gap.remedy) for gap in gaps]
            verdict = replace(verdict, obstacles=(*verdict.obstacles, *unknown))
        if not any(changed(facts.environment, p) for p in verdict.pointers):
            return verdict
        moving = {p.model for p in verdict.pointers}
        records = [r for r in self.control.plans.all() if r.live and r.environment == self.environment]
        ours = [r for r in records if moving & set(r.versions) and self._is_ours(facts, r)]
        cases = [self.case(r, self.gate_plan(facts, r)) for r in ours]
        found = unapproved(self.project, facts, verdict.pointers, cases, now=datetime.now(UTC), doubt=self._doubt)
        return replace(verdict, obstacles=(*verdict.obstacles, *found))

    def _is_ours(self, facts: Facts, record: PlanRecord) -> bool:
        return all(known(self.project, facts, t) is not None for t in record.targets if t.intervals)

    def promote(self, request: Request | None = None, *, plan: str = "") -> tuple[Environment, Verdict]:
        """Move the environment to the code's versions, or to what a stored plan built, if the gate is open.

        The environment afterwards and the verdict. Finishes or withdraws an interrupted promotion first. Raises
        PromotionError when another one is under way, PlanError for an unknown plan, and for a plan and a request.
        """
        request = request or Request()
        if plan and request != Request():
            raise PlanError(
                "a plan and a range, models or a restatement were named",
                why="a stored plan says itself what it is about",
                fix=f"backfill promote {plan}",
            )
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)
        facts = self.facts()
        if plan:
            record = find_plan(self.control, plan)
            made = make_plan(self.project, facts, self._request(record))
            models, verdict = tuple(record.versions), self._with_consent(facts, made, self.gate_plan(facts, record))
        else:
            made = make_plan(self.project, facts, request)
            models, verdict = made.models, self.gate(request, facts, made)
        if not verdict.open:
            return facts.environment, verdict
        evidence = self.packets(facts.environment, verdict.pointers)
        moved = promote(
            self.control.environments, facts.environment, verdict.pointers, views, by=self.user, evidence=evidence
        )
        end_promoted(self.control, moved, by=self.user, views=lambda: views)
        publish_contracts(self.project, self.control, moved, models, at=datetime.now(UTC))
        return moved, verdict

    def evidence(self, plan: str | None = None, *, after: Mapping[str, Pointer] | None = None) -> Evidence:
        """Write a plan's (None: the newest one's) packet, unless a promotion sealed the one that is there.

        `after` is what the environment is about to show by this plan; None: it does not move now. Raises PlanError,
        StateError.
        """
        from backfill_assets.evidence.gather import gather  # pydantic: planning has no need of it
        from backfill_assets.evidence.inputs import Yes
        from backfill_assets.evidence.make import Evidence, make
        from backfill_assets.evidence.verify import read_packet

        record = find_plan(self.control, plan) if plan else newest_plan(self.control)
        folder = self.evidence_folder(record.id)
        sealed = record.status is Status.PROMOTED
        if sealed and (there := read_packet(folder)) is not None:
            return Evidence(packet=there, location=folder.location, digest=digest(folder), changed=False)
        tables, content, said, meant = DeltaTableFiles(self.warehouse), "", None, None
        facts = self.facts()
        if record.live and self._is_ours(facts, record):
            case = self.case(record, self.gate_plan(facts, record))
            content = subject(self.project, facts, case).content
            said = [Yes(approval=a, doubt=self._why_not(facts, case, a)) for a in case.approvals]
            meant = [i.to_json() for i in self.impacts(make_plan(self.project, facts, self._request(record)))]
        inputs = gather(
            self.project,
            self.control,
            self.log,
            tables,
            record,
            after=after,
            approvals=said,
            content=content,
            impacts=meant,
        )
        made, files = make(inputs)
        written = write_packet(folder, record.id, files, sealed=sealed)
        return Evidence(packet=made, location=folder.location, digest=written.digest, changed=written.changed)

    def _why_not(self, facts: Facts, case: Case, approval: Approval) -> str:
        """Why an approval does not count for the rows as they are; "" when it does."""
        if subject(self.project, facts, case, approval.scope).digest != approval.digest:
            return "rows, audits or comparisons are not those any more that it was about"
        return self._doubt(approval)

    def packets(self, shown: Environment, pointers: Sequence[Pointer]) -> dict[str, str]:
        """Write the packets of the plans that end when the environment moves to these pointers: plan → digest."""
        after = replace(shown, pointers={**shown.pointers, **{p.model: p for p in pointers}})
        return {plan.id: self.evidence(plan.id, after=after.pointers).digest for plan in fulfilled(self.control, after)}

    def evidence_folder(self, plan: str) -> ArrowFolder:
        """Where the packet of a plan is, or will be."""
        return ArrowFolder(evidence_path(self.warehouse, plan))
