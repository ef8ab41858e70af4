"""May it be shown, who said so, and what is the proof? The gate, approvals, the promotion and its evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.account import host
from backfill_assets.adapters.comparing import Comparing
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.compare.expect import expectations
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.evidence.released import Moving, release_files
from backfill_assets.evidence.write import RELEASE, digest, digest_of, evidence_path, write_packet
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.proof import Drift
from backfill_assets.plan.stages import Plan, Promote, Request, request_from_json
from backfill_assets.promote.approval import Hearing, not_counted, subject, why_not
from backfill_assets.promote.approve import Giver, complete, statements
from backfill_assets.promote.beforehand import beforehand
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.findings import drifted, incomparable, unanswered, unexpected
from backfill_assets.promote.gate import ROWS, Case, Verdict, compared, gate, vouching
from backfill_assets.promote.grounds import grounds
from backfill_assets.promote.lifecycle import end_promoted, end_sealed, find_plan, fulfilled, meant_plan, record_move
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.promote.release import Released, Sealing, release_case
from backfill_assets.promote.rules_change import record_rules, rules_to_record
from backfill_assets.promote.weigh import cadence_of
from backfill_assets.state.approvals import Approval
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, Status
from backfill_assets.state.proofs import CONSUMERS, DIFF, KEPT, Finding, Proof
from backfill_assets.state.releases import Release, find_release
from backfill_assets.state.rules import RulesInForce

if TYPE_CHECKING:
    from backfill_assets.adapters.spark_views import SparkViews
    from backfill_assets.evidence.make import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEvidence:
    """The packet of a release, in its folder."""

    said: Mapping[str, Any]
    location: str
    digest: str


@dataclass(kw_only=True)
class Releasing(Comparing):
    """A project whose plans can be approved and promoted."""

    def gate(self, request: Request, facts: Facts, plan: Plan) -> Verdict:
        """Whether the plan's models may be promoted as they are now."""
        return gate(self.case(request, facts, plan))

    def beforehand(self, plan: Plan) -> tuple[Obstacle, ...]:
        """What the gate will refuse a plan for when all of it is built and green; nothing where it moves nothing.

        What preflight misses is not among it (`preflight`).
        """
        if not plan.work or not any(isinstance(s, Promote) for s in plan.stages):
            return ()
        facts = self.facts()
        with suppress(StateError):  # what cannot be read is the gate's to say, when somebody promotes
            return beforehand(self.cases(facts).promotion(plan.request, facts, plan), plan)
        return ()

    def case(self, request: Request, facts: Facts, plan: Plan, stored: PlanRecord | None = None) -> Case:
        """What the gate is asked: about what a plan moves by now, or about a stored one."""
        cases = self.cases(facts)
        gaps = self.preflight(plan) if cases.required else ()
        return cases.promotion(request, facts, plan, stored=stored, gaps=gaps)

    def cases(self, facts: Facts) -> Cases:
        """How cases of this project are made: by which rules approvals count."""
        rules, models = facts.rules_for(self.project), self.project.models
        genuine = partial(not_genuine, rules.signers)
        return Cases(
            project=self.project,
            control=self.control,
            log=self.log,
            required=rules.approvals.required,
            owners=lambda name: rules.owners_of(name, models[name].owner if name in models else ""),
            counts=lambda record, approval: not_counted(
                self.project, facts, record, approval, now=datetime.now(UTC), genuine=genuine
            ),
        )

    def prove(self, plan: str, drift: Sequence[Drift] = ()) -> tuple[Proof, ...]:
        """Compare what an open plan built with what is shown, ask its consumers' queries, and keep what came of it.

        Nothing is done again for rows that it is known of. A plan that changes no published rows has nothing to prove,
        and what is not complete can be proved later. Opens a session.
        """
        record, facts = find_plan(self.control, plan), self.facts()
        cases = self.cases(facts)
        if not cases.complete(facts, record).open:
            return ()
        about = subject(self.project, facts, cases.hearing(facts, record))
        known = about.proved
        found: list[Proof] = []

        def keep(kind: str, findings: tuple[Finding, ...], document: Mapping[str, Any]) -> None:
            now = datetime.now(UTC)
            found.append(
                Proof(plan=record.id, kind=kind, content=about.content, at=now, findings=findings, document=document)
            )

        if about.scope and DIFF not in known:
            said, request = cases.document(record), cases.request(record)
            lost = self.unreadable(facts, about.scope)
            without = {name: Ranges.of(i for part in found.values() for i in part) for name, found in lost.items()}
            diff = self.diff(record.id, models=tuple(about.scope), without=without)
            expected = expectations(self.project.column_names, request.expect_moved, request.expect_unmoved)
            markers = {name: model.updated_at for name, model in self.project.models.items()}
            findings = unexpected(diff, said.get("changes", {}), expected, markers)
            keep(DIFF, (*incomparable(lost), *findings), diff.to_json())
        if about.scope and CONSUMERS not in known:
            reruns = self.rerun_consumers(record.id)
            keep(CONSUMERS, unanswered(reruns, self.project.consumers, tuple(about.scope)), reruns.to_json())
        if about.scope and (drift or KEPT not in known):
            keep(KEPT, drifted(drift), {"drift": [str(d) for d in drift]})
        self.control.proofs.put(found)
        return tuple(found)

    def unreadable(self, facts: Facts, scope: Mapping[str, Ranges]) -> dict[str, dict[str, Ranges]]:
        """What of the published intervals that change cannot be read: by model, what is wrong with files and where."""
        pointers = [p for name, p in facts.environment.pointers.items() if name in scope]
        lost = damages(self.project, rehearse(pointers, self.storage, self.log, self.control.ledger))
        cut = {n: {what: part & scope[n] for what, part in problems.items()} for n, problems in lost.items()}
        found = {n: {what: part for what, part in problems.items() if part} for n, problems in cut.items()}
        return {name: problems for name, problems in found.items() if problems}

    def statements(
        self, plan: str, *, by: str = "", owners: Sequence[str] = (), signs: bool = False, **said: Any
    ) -> list[Approval]:
        """What the account that acts states when approving a plan; `said` are a reason and accepted findings.

        `by` is who it claims to be; with `signs`, a signature will prove it.
        """
        record, facts = find_plan(self.control, plan), self.facts()
        cases = self.cases(facts)
        complete(record, cases.complete(facts, record))
        case, now = cases.hearing(facts, record), datetime.now(UTC)
        return statements(self.project, facts, case, self.giver(by, signs=signs), owners=tuple(owners), now=now, **said)

    def approve(self, approval: Approval) -> Approval:
        """Record an approval as given by the account that acts, now. Raises PlanError when it could not count."""
        given = replace(approval, account=self.user, host=host(), recorded=datetime.now(UTC))
        record, facts = find_plan(self.control, given.plan), self.facts()
        case = self.cases(facts).hearing(facts, record)
        if problem := self._why_not(facts, case, given):
            raise PlanError(
                f"the approval of {given.by} is refused",
                why=problem,
                fix=f"see whose approval plan {record.id} needs, and how: backfill promote {record.id}, backfill rules",
            )
        self.control.approvals.put(given)
        return given

    def promote(self, request: Request | None = None, *, plan: str = "") -> tuple[Environment, Verdict]:
        """Move the environment to the code's versions, or to what a stored plan built, if the gate is open.

        The environment afterwards and the verdict. Finishes or withdraws an interrupted promotion first. Raises
        PromotionError when another one is under way, PlanError for an unknown plan, and for a plan and a request.
        """
        asked = request or Request()
        if plan and asked != Request():
            raise PlanError(
                "a plan and a range, models or a restatement were named",
                why="a stored plan says itself what it is about",
                fix=f"backfill promote {plan}",
            )
        stored = find_plan(self.control, plan) if plan else None
        asked = (
            request_from_json((self.control.plans.document(stored.id) or {}).get("request", {})) if stored else asked
        )
        views, made = self.shared_views(), None
        records: list[PlanRecord] = []

        def look() -> Case:
            nonlocal made
            facts = self.facts()
            made = make_plan(self.project, facts, asked)
            case = self.case(asked, facts, made, stored)
            if case.required or not any(compared(case)) or not gate(case, ROWS).open:
                return case
            # Nobody has to approve it, so nobody waits for a comparison: it is made here, and counts.
            record = stored or record_move(self.control, made, case.pointers, by=self.user, views=lambda: views)
            self.show_candidate(record.id)
            self.prove(record.id, self.drift(made))
            return self.case(asked, self.facts(), made, stored)

        def evidence(sealing: Sealing) -> Mapping[str, str]:
            assert made is not None
            case = sealing.case
            records[:] = [stored or record_move(self.control, made, case.pointers, by=self.user, views=lambda: views)]
            plans = self.packets(case.environment, case.pointers, records, vouching(case))
            return self.seal(sealing, plans=plans)

        done = self.release(look, views, evidence=evidence, rules=self.rules_of)
        if done.verdict.open:
            assert made is not None
            end = end_promoted if done.moved else end_sealed  # of one that was killed when it had moved
            end(self.control, done.environment, by=self.user, views=lambda: views, beside=records)
            models = tuple(stored.versions) if stored else made.models
            publish_contracts(self.project, self.control, done.environment, models, at=datetime.now(UTC))
        return done.environment, done.verdict

    def release(
        self,
        look: Callable[[], Case],
        views: SparkViews | None,
        *,
        evidence: Callable[[Sealing], Mapping[str, str]],
        rules: Callable[[Case], Mapping[str, object]],
        **back: Any,
    ) -> Released:
        """Move the environment by a case that the gate judges, as the account that acts; `back` is for a rollback.

        `release_case` says what the others are, and what is raised.
        """
        return release_case(
            self.control, self.log, self.environment, views, look, by=self.user, evidence=evidence, rules=rules, **back
        )

    def rules_of(self, case: Case) -> Mapping[str, object]:
        """The rules in force for a move that the gate lets through, with what it brings to them recorded."""
        return self.record_rules(case.facts, case.pointers, case.changed).to_json()

    def record_rules(self, facts: Facts, pointers: Sequence[Pointer], changed: Collection[str]) -> RulesInForce:
        """Record what a promotion that the gate lets through brings to the rules, before it moves anything.

        Killed in between, owners of models that are not shown yet are recorded: the next promotion records them again.
        """
        rules = facts.rules or self.rules()
        wanted = rules_to_record(rules, facts.environment, pointers, changed) if pointers else None
        return record_rules(self.control, rules, wanted, self.giver(), now=datetime.now(UTC))

    def giver(self, by: str = "", *, signs: bool = False) -> Giver:
        """Who acts here, and whom they claim to be."""
        return Giver(account=self.user, host=host(), by=by, signs=signs)

    def evidence(
        self,
        plan: str | None = None,
        *,
        after: Mapping[str, Pointer] | None = None,
        vouching: Sequence[Hearing] = (),
    ) -> Evidence:
        """Write a plan's (None: the newest one's) packet, unless a promotion sealed the one that is there.

        `after` is what the environment is about to show by this plan; None: it does not move now. `vouching` are other
        open plans, of the same rows, on whose comparisons and approvals the move rests. Raises PlanError, StateError.
        """
        from backfill_assets.evidence.gather import gather  # pydantic: planning has no need of it
        from backfill_assets.evidence.inputs import Yes
        from backfill_assets.evidence.make import Evidence, make
        from backfill_assets.evidence.verify import read_packet

        record = meant_plan(self.control, plan)
        folder, named = self.evidence_folder(record, moving=after is not None)
        sealed = after is None and (record.status is Status.PROMOTED or bool(named))
        there = read_packet(folder) if sealed else None
        if there is not None and not named and there.plan.status in ("open", "applied"):
            # A rollback or another plan's release showed what it built: what is there says that nothing does yet.
            sealed, there = False, None
        if there is not None:
            return Evidence(packet=there, location=folder.location, digest=digest(folder), changed=False)
        tables, content, said, meant, proofs = DeltaTableFiles(self.warehouse), "", None, None, None
        asked: Mapping[str, tuple[str, ...]] = {}
        others = [hearing for hearing in vouching if hearing.record.id != record.id]
        facts = self.facts()
        cases = self.cases(facts)
        if record.live and cases.is_ours(facts, record):
            case = cases.hearing(facts, record)
            said = [Yes(approval=a, doubt=self._why_not(facts, h, a)) for h in (case, *others) for a in h.approvals]
            heard = next((h for h in (case, *others) if h.proofs), case)
            about = subject(self.project, facts, case)
            content = (about if heard is case else subject(self.project, facts, heard)).content
            proofs, asked = heard.proofs, about.owners if cases.required and case.changed else {}
            meant = [i.to_json() for i in self.impacts(make_plan(self.project, facts, cases.request(record)))]
        inputs = gather(
            self.project,
            self.control,
            self.log,
            tables,
            record,
            after=after,
            approvals=said,
            content=content,
            proofs=proofs,
            impacts=meant,
            rules=facts.rules,
            asked=asked,
        )
        made, files = make(inputs)
        written = write_packet(folder, record.id, files, sealed=sealed)
        return Evidence(packet=made, location=folder.location, digest=written.digest, changed=written.changed)

    def _why_not(self, facts: Facts, case: Hearing, approval: Approval) -> str:
        """Why an approval does not count for the rows as they are; "" when it does."""
        genuine = partial(not_genuine, facts.rules_for(self.project).signers)
        return why_not(self.project, facts, case, approval, now=datetime.now(UTC), genuine=genuine)

    def packets(
        self,
        shown: Environment,
        pointers: Sequence[Pointer],
        records: Sequence[PlanRecord] = (),
        vouching: Sequence[Hearing] = (),
    ) -> dict[str, str]:
        """Write the packets of these plans, and of all that end when the environment moves so: plan → digest.

        `vouching` are the open plans on whose comparisons and approvals the move rests.
        """
        after = replace(shown, pointers={**shown.pointers, **{p.model: p for p in pointers}})
        ended = {plan.id for plan in (*records, *fulfilled(self.control, after))}
        return {plan: self.evidence(plan, after=after.pointers, vouching=vouching).digest for plan in sorted(ended)}

    def seal(
        self,
        sealing: Sealing,
        *,
        plans: Mapping[str, str] | None = None,
        back_to: Release | None = None,
        at_once: bool = False,
        reason: str = "",
    ) -> Mapping[str, str]:
        """Write the packet of a release that is about to move; its digest, and those of its `plans`. Needs no Spark."""
        case = sealing.case
        moving = Moving(
            release=sealing.release,
            environment=case.environment,
            pointers=sealing.pointers,
            removed=sealing.removed,
            purpose=case.purpose.value,
            cadences={name: cadence_of(self.project, name) for name in (p.model for p in sealing.pointers)},
            changed=case.changed,
            by=self.user,
            reason=reason,
            at_once=at_once,
            back_to=back_to,
            plans=plans or {},
            approvals=grounds(case),
            rules=sealing.rules,
        )
        _, files = release_files(self.control, self.log, moving)
        folder = self.release_folder(sealing.release)
        written = write_packet(folder, sealing.release, files, sealed=False, kind="release")
        return {**moving.plans, sealing.release: written.digest}

    def release_evidence(self, name: str) -> ReleaseEvidence:
        """The packet of a release: of its id, or of a beginning or an end of it. Raises PromotionError when there is no
        such release, StateError when it has no packet or a damaged one."""
        release = find_release(self.control.releases.all(self.environment), name)
        folder = self.release_folder(release.id)
        if not release.evidence.get(release.id):
            plans = ", ".join(release.evidence)
            raise StateError(
                f"release {release.id} has no packet of its own",
                why="an earlier version of the program made it",
                fix=f"backfill evidence {plans}" if plans else f"backfill releases {release.id} says what is recorded",
            )
        if (found := digest(folder)) != release.evidence[release.id]:
            raise StateError(
                f"the packet at {folder.location} is another than the one that release {release.id} names",
                why=f"its manifest is {found}",
                fix="restore it from a backup",
            )
        said = json.loads(folder.read(RELEASE) or b"{}")
        return ReleaseEvidence(said=said, location=folder.location, digest=found)

    def release_folder(self, release: str) -> ArrowFolder:
        """Where the packet of a release is, or will be."""
        return ArrowFolder(evidence_path(self.warehouse, release))

    def evidence_folder(self, record: PlanRecord, *, moving: bool = False) -> tuple[ArrowFolder, str]:
        """Where the packet of a plan is, or will be, and the digest by which a release names it ("": none does).

        Each release of a plan has a packet of its own, which none after it overwrites. `moving`: of the release that
        is about to happen.
        """
        sealed = [r for r in self.control.releases.all(record.environment) if record.id in r.evidence]
        ended = bool(sealed) and not moving and (record.status is Status.PROMOTED or self._is_shown(record))
        number = len(sealed) + (not ended)
        folders = [ArrowFolder(evidence_path(self.warehouse, _numbered(record.id, n))) for n in range(number, 0, -1)]
        if not ended:
            return folders[0], ""
        wanted = sealed[-1].evidence[record.id]  # earlier versions of the program wrote them all to one folder
        return next((f for f in folders if digest_of(f) == wanted), folders[0]), wanted

    def _is_shown(self, record: PlanRecord) -> bool:
        """Whether a release showed an open plan, and was killed before it recorded the plan's end."""
        shown = self.control.environments.read(record.environment)
        return record.id in {r.id for r in fulfilled(self.control, shown)}


def _numbered(plan: str, number: int) -> str:
    return plan if number == 1 else f"{plan}-{number}"
