"""The same warehouse with owners: published rows move to none but those that somebody looked at and said yes to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approval import not_counted
from backfill_assets.promote.approve import Approver, statements
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.lifecycle import end_promoted
from backfill_assets.promote.release import Released
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord
from backfill_assets_tests.fakes import FakeViews
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

    def agreed(self) -> None:
        for record in self.world.control.plans.all():
            if record.live:
                self._say_yes(record)

    def _release(self, request: Request, *, control: Control, views: FakeViews) -> Released:
        """As `promote_plan` does: nothing moves without the approval of its owner."""
        clock, facts = self._clock(), self.world.facts(self.now)
        done = self.world.release(
            request,
            now=self.now,
            control=control,
            views=views,
            not_counted=lambda record, a: not_counted(self.world.project, facts, record, a, now=clock),
        )
        if done.moved:
            end_promoted(control, done.environment, by="dev", views=lambda: None)
        return done

    def _promote(self, request: Request, steps: int | None) -> None:
        before = self.world.control.environments.read("prod")
        super()._promote(request, steps)
        after = self.world.control.environments.read("prod")
        self._only_what_was_looked_at(before, after)

    # --- what always holds --------------------------------------------------------------------------------------------

    def _only_what_was_looked_at(self, before: Environment, after: Environment) -> None:
        """Whatever the system thinks of approvals: a day's rows were those before, or somebody saw exactly these."""
        for name, old in before.pointers.items():
            was, now = self._rows(old), self._rows(after.pointers[name])
            for at in was.keys() & now.keys():
                if now[at] != was[at]:
                    assert any(rows.get(at) == now[at] for rows in self.looked_at), f"nobody said yes to {at}"

    def _say_yes(self, record: PlanRecord) -> None:
        facts, cases = self.world.facts(self.now), self.world.cases()
        if not cases.may_move(facts, record) or not judge_rows(cases.of_rows(facts, record)).open:
            return
        review = cases.review(facts, record)
        if not review.changed:
            return
        control, now = self.world.control, self._clock()
        self.world.prove(record.id, now=self.now, at=now)
        who = Approver(account="ana", host="laptop")
        for said in statements(self.world.project, facts, cases.review(facts, record), who, now=now):
            control.approvals.put(said)
        self.looked_at.append({at: cell for p in review.pointers for at, cell in self._rows(p).items()})

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
