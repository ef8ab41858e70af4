"""What would be done, what does it take, and what is in its way? Plans of a project, without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.adapters.place import Place
from backfill_assets.adapters.resuming import as_restated, how_read, resumed
from backfill_assets.adapters.session import check_machine
from backfill_assets.build.apply import MODELS_AT_ONCE
from backfill_assets.build.by_hand import Withdrawn, declare_empty, withdraw
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.preflight import Gap, Grounds, preflight
from backfill_assets.contracts.publish import read_contracts
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.plan.cover import Uncovered, uncovered
from backfill_assets.plan.estimate import USEFUL, Actual, PlanEstimate, actual, estimate
from backfill_assets.plan.facts import standings
from backfill_assets.plan.faults import Fault, faults
from backfill_assets.plan.frozen import Continued, Pins
from backfill_assets.plan.leases import Claim
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import Abandoned, Opened, abandon, find_plan, look, open_plan, show_candidate
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, by_version


@dataclass(kw_only=True)
class Planning(Place):
    """A project that can be planned."""

    def plan(self, request: Request | None = None, *, resume: bool = True) -> Plan:
        """What has to be done now; what is left of open plans reads sources as these froze them, if `resume`.

        Raises PlanError when a source cannot be read so any more.
        """
        request = request or Request()
        facts, found = self.facts(every_version=request.all_versions), Continued()
        if resume and request.restate:
            facts, found = as_restated(self.project, self.control, self.pins, facts, request)
        plan = replace(make_plan(self.project, facts, request), continued=found)
        if not resume or request.restate or not plan.work:
            return plan
        return resumed(self.project, self.control, self.pins, plan, self.claim(plan))

    def how_read(self, plan: str, model: str, intervals: Ranges, pins: Pins) -> Continued:
        """How these intervals of a model are read, which are built for a stored plan. `pins`: the sources otherwise."""
        record = find_plan(self.control, plan)
        left = {model: (self.project.fingerprints[model], intervals)}
        return how_read(self.project, self.control, self.pins, [record] if record.live else [], left, pins)

    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with rows that the environment shows: files are looked at, not into."""
        shown = self.control.environments.read(self.environment)
        if not shown.pointers:
            return ()
        groups = by_version(self.control.ledger.entries(list(shown.pointers), kinds=DECIDING))
        states = standings(self.project, shown.pointers, groups, self.log)
        pointers = list(shown.pointers.values())
        proofs = rehearse(pointers, self.storage, self.log, self.control.ledger, footers=False)
        return faults(self.project, shown, states, damages(self.project, proofs))

    def uncovered(self, plan: Plan) -> tuple[Uncovered, ...]:
        """Where sources have no rows for what the plan builds, as far as files say."""
        return uncovered(self.project, plan, self.source_days(plan.sources))

    def declare_empty(self, request: Request) -> dict[str, Ranges]:
        """Record what is missing of the request's intervals as complete without computing it; returns it by model."""
        return declare_empty(self.control, self.project, self.facts(), request, by=self.user)

    def withdraw(self, asked: Sequence[tuple[str, Interval]], *, reason: str = "") -> tuple[Withdrawn, ...]:
        """Make intervals of the code's versions missing again. Raises PlanError for those that are published."""
        return withdraw(self.control, self.log, self.project, asked, now=self.now(), by=self.user, reason=reason)

    def claim(self, plan: Plan) -> Claim:
        """How the plan stands to those that are open: which it continues, replaces or collides with."""
        return look(self.control, plan, by=self.user)

    def worded(self, plan: Plan, claim: Claim) -> Plan:
        """The plan with what its author said that it is for: now, or when the plan that it continues was opened."""
        if plan.request.why or not claim.continues:
            return plan
        return replace(plan, request=replace(plan.request, why=self.control.plans.why(claim.continues.id)))

    def open_plan(self, plan: Plan) -> Opened | None:
        """Store a plan that is about to be built; None when there is nothing to it.

        Raises PlanError on a collision, and SettingsError, having stored nothing, when this machine cannot build.
        """
        if plan.work:
            check_machine(self.project.root, self.project.settings)
        return open_plan(self.control, plan, by=self.user, views=self.shared_views)

    def show_candidate(self, plan: str) -> Environment | None:
        """Point the plan's candidate environment at what is complete by now; None when the plan has ended."""
        return show_candidate(self.control, self.project, self.facts, plan, by=self.user, views=self.shared_views)

    def abandon(self, plan: str) -> Abandoned:
        """End a plan and drop its candidate environment. Raises PlanError for an unknown or promoted one."""
        return abandon(self.control, self.log, self.warehouse, plan, by=self.user, views=self.shared_views)

    def estimate(self, plan: Plan) -> PlanEstimate:
        """How long the plan will take and what it costs, from what the ledger knows."""
        known = self.control.ledger.entries(kinds=USEFUL) if plan.work or plan.whole else []
        entries = [e for e in known if not e.through]  # a part of an interval says little of a whole one
        price = self.project.settings.cost
        return estimate(plan.work, entries, self.project.models, at_once=MODELS_AT_ONCE, price=price, whole=plan.whole)

    def took(self, plan: Plan, run: str, began: datetime) -> Actual:
        """What a run that began then has taken until now."""
        entries = [e for e in self.control.ledger.entries(kinds=USEFUL) if e.run == run] if run else []
        return actual(entries, plan.work, self.project.models, began=began, price=self.project.settings.cost)

    def impacts(self, plan: Plan) -> tuple[Impact, ...]:
        """What the plan means for each consumer."""
        if not self.project.consumers:
            return ()
        shown = self.control.environments.read(plan.environment)
        contracts = read_contracts(self.project, self.control, shown)
        return impacts(plan, self.project.consumers.values(), shown, contracts)

    def grounds(self, plan: Plan, *, extents: bool = False) -> Grounds:
        """What preflight looks at; `extents`: also which days sources have, which takes longer."""
        shown = self.control.environments.read(plan.environment)
        tables = {(n, s.version) for n, p in shown.pointers.items() if n in plan.models for s in p.segments}
        days = self.source_days(plan.sources) if extents else {}
        return Grounds(
            shown=shown,
            gone=frozenset(t for t in tables if self.log.head(*t) < 0),
            extents={name: there.span for name, there in days.items() if there.span},
        )

    def preflight(self, plan: Plan) -> tuple[Gap, ...]:
        """What is missing before the plan's models may be promoted; which days sources have is not looked at."""
        return preflight(self.project, plan, self.grounds(plan))
