"""The same warehouse with owners: published rows move to none but those that somebody looked at and said yes to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from backfill_assets.errors import PlanError
from backfill_assets.intervals import Cadence
from backfill_assets.plan.plan import Facts
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import Case, subject, unapproved
from backfill_assets.promote.approve import statements
from backfill_assets.promote.candidate import known
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.lifecycle import end_promoted, open_plan
from backfill_assets.promote.planned import gate_plan
from backfill_assets.state.environment import Environment, Pointer
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.proofs import DIFF, Proof
from backfill_assets_tests.unit.promote.test_machine import Warehouse

Rows = dict[tuple[str, datetime], tuple[str, str]]
"""Model and day → the table that its rows are in, and the batch that computed them."""


class Governed(Warehouse):
    """What was looked at is written down here, apart from what the system writes down."""

    def begun(self) -> None:
        self.looked_at: list[Rows] = []
        self.later = timedelta()

    # --- what happens -------------------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 5))
    def an_owner_says_yes(self, which: int) -> None:
        """To an open plan as it is now, if all of it is there."""
        records = [r for r in self.world.control.plans.all() if r.live]
        if records:
            self._say_yes(records[which % len(records)])

    @rule()
    def a_year_goes_by(self) -> None:
        """All that was said so far does not count any more."""
        self.later += timedelta(days=400)
        self.looked_at.clear()

    # --- what the other machine asks ----------------------------------------------------------------------------------

    def opened(self, plan: Plan) -> None:
        with suppress(PlanError):  # it collides with another one
            open_plan(self.world.control, plan, by="dev", views=lambda: None)

    def agreed(self) -> None:
        for record in self.world.control.plans.all():
            if record.live:
                self._say_yes(record)

    def consented(self, facts: Facts, verdict: Verdict) -> Verdict:
        """As `Workspace.promote` does."""
        if not verdict.open:
            return verdict
        moving = {p.model for p in verdict.pointers}
        control = self.world.control
        records = [r for r in control.plans.all() if r.live and moving & set(r.versions) and self._is_ours(facts, r)]
        cases = [self._case(facts, r) for r in records]
        found = unapproved(self.world.project, facts, verdict.pointers, cases, now=self._clock())
        return replace(verdict, obstacles=tuple(found))

    def _promote(self, request: Request, steps: int | None) -> None:
        before = self.world.control.environments.read("prod")
        super()._promote(request, steps)
        after = self.world.control.environments.read("prod")
        self._only_what_was_looked_at(before, after)
        if not self.crashed:
            end_promoted(self.world.control, after, by="dev", views=lambda: None)

    # --- what always holds --------------------------------------------------------------------------------------------

    def _only_what_was_looked_at(self, before: Environment, after: Environment) -> None:
        """Whatever the system thinks of approvals: a day's rows were those before, or somebody saw exactly these."""
        for name, old in before.pointers.items():
            was, now = self._rows(old), self._rows(after.pointers[name])
            for at in was.keys() & now.keys():
                if now[at][0] != was[at][0]:
                    assert any(rows.get(at) == now[at] for rows in self.looked_at), f"nobody said yes to {at}"

    def _say_yes(self, record: PlanRecord) -> None:
        facts = self.world.facts(self.now)
        if not self._is_ours(facts, record):
            return
        case = self._case(facts, record)
        about = subject(self.world.project, facts, case)
        if not about.scope or not case.pointers:
            return
        control, now = self.world.control, self._clock()
        control.proofs.put([Proof(plan=record.id, kind=DIFF, content=about.content, at=now, findings=(), document={})])
        for said in statements(self.world.project, facts, self._case(facts, record), by="ana", now=now):
            control.approvals.put(said)
        self.looked_at.append({at: cell for p in case.pointers for at, cell in self._rows(p).items()})

    def _case(self, facts: Facts, record: PlanRecord) -> Case:
        control = self.world.control
        document = control.plans.document(record.id) or {}
        verdict = gate_plan(self.world.project, facts, control.versions.all(), record, document)
        proofs, approvals = control.proofs.of(record.id), control.approvals.of([record.id])
        return Case(record=record, pointers=verdict.pointers, proofs=proofs, approvals=approvals)

    def _is_ours(self, facts: Facts, record: PlanRecord) -> bool:
        return all(known(self.world.project, facts, t) is not None for t in record.targets if t.intervals)

    def _rows(self, pointer: Pointer) -> Rows:
        found: Rows = {}
        for segment in pointer.segments:
            cells = self.world.tables.cells(pointer.model, segment.version, segment.commit)
            for unit in Cadence.DAILY.split(segment.interval):
                found[pointer.model, unit.start] = segment.version, cells[unit.start].batch
        return found

    def _clock(self) -> datetime:
        return datetime.now(UTC) + self.later


TestGoverned = Governed.TestCase
TestGoverned.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
