"""What is the gate asked about a promotion? A case, of what is shown, what is built, and what is recorded of plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.away import waiting_models
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen import Frozen
from backfill_assets.plan.older_sources import History, without
from backfill_assets.plan.stages import Blocked, Plan, Request
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.promote.approval import PlanReview
from backfill_assets.promote.candidate import known_target
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.promote.mismatches import may_differ
from backfill_assets.promote.older_reads import Building, OlderReads, older_reads
from backfill_assets.promote.overtaken import overtaken
from backfill_assets.promote.planned import propose_plan
from backfill_assets.promote.proposal import Proposal, propose
from backfill_assets.promote.rollback_step import model_then
from backfill_assets.state.approvals import Approval, DamagedApproval
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import DECIDING, EntriesByVersion, Kind, by_version
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import replacements
from backfill_assets.state.required_approvals import Roles
from backfill_assets.state.tables import TableLog
from backfill_assets.state.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Makes cases of one project and its records; `facts` are read anew for each."""

    project: Project
    control: Control
    log: TableLog
    required: bool
    """Whether published rows change with their owners' approval only."""
    owners: Callable[[str], Roles]
    """Whose approval a change of a model's rows needs, and as what."""
    not_counted: Callable[[PlanRecord, Approval], str]
    """Why an approval of a plan does not count; "" when it does."""
    history: History
    """What came to a source after a commit of it."""

    def promotion(
        self,
        request: Request,
        facts: Facts,
        plan: Plan,
        *,
        stored: PlanRecord | None = None,
        gaps: Sequence[Gap] = (),
        purpose: Purpose = Purpose.PROMOTION,
    ) -> Case:
        """About what a request's plan moves by now, or about a `stored` one. `gaps` are what preflight misses.

        What waits for an upstream, and what a dual run only compares, stays as it is shown, and holds up nothing.
        """
        versions = self.control.versions.all()
        if stored is not None:
            wanted = propose_plan(self.project, facts, versions, stored, self.stored(stored))
            wanted = self._complete(wanted, facts, plan.blocked)
        else:
            waits = {b.model for b in plan.blocked}
            models = [name for name in plan.models if name not in waits.union(plan.held)]
            wanted = propose(facts.bounded(self.project), facts, versions, request, models, plan.patches)
        found = find_changed_rows(self.project, facts, self.log, wanted.pointers)
        moving = tuple(p for p in wanted.pointers if p.model not in found.idle)
        return Case(
            purpose=purpose,
            project=self.project,
            facts=facts,
            versions=versions,
            request=request,
            wanted=replace(wanted, pointers=moving),
            changed=found.changed,
            rewritten=found.rewritten,
            older=self.older_reads(facts, moving) if purpose is Purpose.PROMOTION else OlderReads(),
            blocked=plan.blocked,
            gaps=tuple(gaps),
            reviews=self._reviews(facts, versions) if found.changed else (),
            required=self.required,
            owners=self.owners,
            not_counted=self.not_counted,
        )

    def older_reads(
        self,
        facts: Facts,
        moving: Sequence[Pointer],
        frozen: Sequence[Frozen] = (),
        building: Building = MappingProxyType({}),
    ) -> OlderReads:
        """What of pointers that would move is older than what is shown, as far as it is built; and what is not, of what
        a plan has `frozen`. `building`: what is built before they move."""

        def entries(models: Collection[str]) -> EntriesByVersion:
            return by_version(self.control.ledger.entries(models, kinds=DECIDING - {Kind.AUDITED}))

        gone = [p for name, p in facts.environment.pointers.items() if name not in self.project.models]
        versions = self.control.versions.all()
        then = {p.model: model_then(self.project, versions, p.model, p.version) for p in gone}
        deleted = {name: model for name, model in then.items() if model is not None}
        history = without(self.history, facts.sources.away)
        unlike = partial(may_differ, versions)
        return older_reads(self.project, facts, moving, deleted, entries, history, frozen, building, unlike)

    def _reviews(self, facts: Facts, versions: Mapping[tuple[str, str], Version]) -> tuple[PlanReview, ...]:
        """What is known of all open plans that the loaded code is of."""
        records = [r for r in self.control.plans.all() if r.live and r.environment == facts.environment.name]
        replaced = replacements(facts.past.releases)
        ours = [(r, self.stored(r)) for r in records if self.is_ours(facts, r)]
        moving = [(r, stored) for r, stored in ours if not overtaken(facts.environment, stored)]
        return tuple(self._review(facts, r, stored, replaced, versions) for r, stored in moving)

    def review(self, facts: Facts, record: PlanRecord) -> PlanReview:
        """A stored plan with what it would show, and what was found out and said about it."""
        replaced, versions = replacements(facts.past.releases), self.control.versions.all()
        return self._review(facts, record, self.stored(record), replaced, versions)

    def _review(
        self,
        facts: Facts,
        record: PlanRecord,
        stored: Plan | None,
        replaced: Mapping[str, Mapping[str, Ranges]],
        versions: Mapping[tuple[str, str], Version],
    ) -> PlanReview:
        pointers = propose_plan(self.project, facts, versions, record, stored).pointers
        recorded = self.control.approvals.recorded([record.id])
        return PlanReview(
            record=record,
            pointers=pointers,
            changed=find_changed_rows(self.project, facts, self.log, pointers).changed,
            replaced=replaced,
            proofs=self.control.proofs.of(record.id),
            approvals=[a for a in recorded if isinstance(a, Approval)],
            damaged=[a for a in recorded if isinstance(a, DamagedApproval)],
        )

    def of_rows(self, facts: Facts, record: PlanRecord, blocked: tuple[Blocked, ...] | None = None) -> Case:
        """About the rows alone that a stored plan moves: are they there, and audited? `blocked`: what waits of it by
        now; None: what did when it was opened."""
        versions, stored = self.control.versions.all(), self.stored(record)
        if blocked is None:
            blocked = stored.blocked if stored else ()
        wanted = self._complete(propose_plan(self.project, facts, versions, record, stored), facts, blocked)
        return Case(
            project=self.project,
            facts=facts,
            versions=versions,
            wanted=wanted,
            request=stored.request if stored else Request(),
            blocked=blocked,
            older=self.older_reads(facts, wanted.pointers),
        )

    def _complete(self, wanted: Proposal, facts: Facts, blocked: Sequence[Blocked]) -> Proposal:
        """Without what is asked of models that wait: they stay as they are shown, and hold up no others. Parts of
        history that are computed again are shown as a whole, or not at all."""
        waits = {b.model for b in blocked} | waiting_models(self.project, facts)
        there = (w for w in wanted.wanted if w.ready or w.patched or w.model not in waits)
        return replace(wanted, wanted=tuple(there))

    def proposal(self, facts: Facts, record: PlanRecord) -> Proposal:
        """What a stored plan would show. Raises PlanError when the loaded code is not the plan's."""
        return propose_plan(self.project, facts, self.control.versions.all(), record, self.stored(record))

    def is_ours(self, facts: Facts, record: PlanRecord) -> bool:
        """Whether the loaded code is the plan's."""
        return all(known_target(self.project, facts, t) is not None for t in record.targets)

    def may_move(self, facts: Facts, record: PlanRecord) -> bool:
        """Whether it is, and the plan is of what is shown by now."""
        return self.is_ours(facts, record) and not overtaken(facts.environment, self.stored(record))

    def stored(self, record: PlanRecord) -> Plan | None:
        """A stored plan, as it was opened."""
        return stored_plan(self.control, record.id)

    def request(self, record: PlanRecord) -> Request:
        """The request that a stored plan was made for."""
        return stored_request(self.control, record.id)
