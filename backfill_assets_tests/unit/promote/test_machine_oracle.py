"""The same warehouse with owners, and an oracle beside the gate: whatever people do, published rows change with a yes.

The oracle (`oracle.py`) judges each commit by the rows that readers see and by approvals' text; the gate is not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError, PromotionError
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.model import Audit
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approve import Approver, statements
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.lifecycle import end_abandoned, end_promoted, move_candidate, store_plan
from backfill_assets.promote.release import Released
from backfill_assets.state.control import Control
from backfill_assets.state.plans import PlanRecord
from backfill_assets_tests.fakes import Cell, Crash, FakeViews, Life, nothing
from backfill_assets_tests.memory_store import MemoryStore
from backfill_assets_tests.unit.promote.oracle import Names, Oracle, Watched, rows_of
from backfill_assets_tests.unit.promote.rules_world import OWNERS, PEOPLE, GovernedWorld
from backfill_assets_tests.unit.promote.test_machine import MODELS, Warehouse

WHO = {"ana@example.com": "ana", "bo@example.com": "bo", "": "eva"}
EDITS = (
    "off", "self", "for ever", "deputies", "accounts", "owner", "nobody", "window",
    "validated by nobody", "validated by the author", "read by nobody", "nobody reads", "a new reader", "back",
)  # fmt: skip
REQUESTS = st.sampled_from([Request(), Request(select=("a+",)), Request(select=("c",)), Request(select=("b",))])
START = MODELS[0].start
HOW = st.sampled_from(["well", "by its author", "too late", "built again", "a race", *EDITS[:-1]])


class Governed(Warehouse):
    """People with accounts: `dev` and `dev.two` are one author, `ana` and `bo` own models, `eva` owns none."""

    world: GovernedWorld

    def a_world(self) -> GovernedWorld:
        self.store = Watched(MemoryStore())
        return GovernedWorld(*MODELS, store=self.store)

    def begun(self) -> None:
        self.oracle = Oracle(
            store=self.store.inner,
            tables=self.world.tables,
            clock=self.world.clock,
            declared=self._named_by_files,
            people={account: person for person, accounts in PEOPLE.items() for account in accounts},
            project_clock=lambda: self.now,
            came=lambda: [(c.commit, i.start) for c in self.world.changes for i in c.touches or ()],
            computed_from=self.world.engine.computed_from.__getitem__,
        )
        self.store.looked = self.oracle.look
        self.between: Callable[[], object] = nothing
        self.author = "dev"

    # --- who says yes -------------------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 5), owner=st.sampled_from(sorted(WHO)))
    def an_owner_says_yes(self, which: int, owner: str) -> None:
        """To an open plan as it is now."""
        if records := [r for r in self.world.control.plans.all() if r.live]:
            self._say_yes(records[which % len(records)], owner, WHO[owner])

    @rule(which=st.integers(0, 5), account=st.sampled_from(["dev", "dev.two"]), claims=st.booleans())
    def the_author_says_yes(self, which: int, account: str, claims: bool) -> None:
        """By their own account, or claiming to be the owner; to the whole plan."""
        if records := [r for r in self.world.control.plans.all() if r.live]:
            for owner, other in WHO.items():
                self._say_yes(records[which % len(records)], owner, other, forged=account, claims=claims)

    @rule(which=st.integers(0, 5), owner=st.sampled_from(sorted(WHO)))
    def a_yes_is_stretched(self, which: int, owner: str) -> None:
        """What was said of some days is sent again for all days, and for another plan."""
        records = self.world.control.plans.all()
        given = [a for a in self.world.control.approvals.of([r.id for r in records]) if a.owner == owner]
        if given:
            said = given[which % len(given)]
            year = Interval(START, START + timedelta(days=366))
            wide = {name: type(part)((year,)) for name, part in said.scope.items()}
            other = records[which % len(records)].id
            for more in (replace(said, scope=wide, onward={}), replace(said, plan=other)):
                if more.statement not in self.oracle.looked_at:
                    self.world.control.approvals.put(more)

    # --- time and files -----------------------------------------------------------------------------------------------

    @rule(days=st.sampled_from([1, 10, 400]))
    def time_goes_by(self, days: int) -> None:
        """What was said so far holds for fourteen days."""
        self.world.later += timedelta(days=days)

    @rule(minutes=st.sampled_from([-5000, -10, 0, 10, 5000]))
    def another_machine_writes(self, minutes: int) -> None:
        """Whose clock is off."""
        self.store.skew = timedelta(minutes=minutes)

    @rule(what=st.sampled_from(EDITS))
    def files_are_edited(self, what: str) -> None:
        """After the first release: before it, they are the rules."""
        if self.world.rules().number:
            self.world.files_say(what)

    @rule(name=st.sampled_from("abc"), red=st.sets(st.integers(0, 12), max_size=3), back=st.booleans())
    def an_audit_is_edited(self, name: str, red: set[int], back: bool) -> None:
        """Some published days may be red by it."""
        self.world.engine.red = {START + timedelta(days=n) for n in red}
        self._audits(name, back=back)

    # --- plans --------------------------------------------------------------------------------------------------------

    @rule(first=st.integers(2, 9), select=st.sampled_from([(), ("a",), ("c",)]), steps=st.sampled_from([None, 6]))
    def new_logic_from_a_day_on(self, first: int, select: tuple[str, ...], steps: int | None) -> None:
        """Older rows stay as they are."""
        request = Request(forward_only=START + timedelta(days=first), select=select)
        try:
            plan = self.world.plan(request, now=self.now)
        except PlanError:
            return
        self._well()
        self.opened(plan)
        apply(self.world.bench(pins=plan.sources, patches=plan.patches), plan)
        self._promote(request, steps)

    @rule(
        name=st.sampled_from("abc"),
        number=st.integers(1, 3),
        yes=st.sets(st.sampled_from(sorted(WHO)), min_size=1),
        how=HOW,
        select=st.sampled_from([(), ("a+",), ("c",)]),
    )
    def a_change_goes_its_way(self, name: str, number: int, yes: set[str], how: str, select: tuple[str, ...]) -> None:
        """From the edit to the promotion; some of its owners say yes."""
        self.code_changes(name, number)
        self._goes_its_way(Request(select=select), name, yes, how)

    @rule(
        name=st.sampled_from("abc"),
        first=st.integers(0, 8),
        yes=st.sets(st.sampled_from(sorted(WHO)), min_size=1),
        how=HOW,
    )
    def a_correction_goes_its_way(self, name: str, first: int, yes: set[str], how: str) -> None:
        """The same of a day that is computed again, with all that reads it."""
        day = START + timedelta(days=first)
        self._goes_its_way(Request(restate=((name, Interval(day, day + timedelta(days=1))),)), name, yes, how)

    def _goes_its_way(self, request: Request, name: str, yes: set[str], how: str) -> None:
        """`how`: what is wrong with it, if anything. `by its author`: its owner opens the plan."""
        self._well()
        self.author = WHO[OWNERS[name]] if how == "by its author" else "dev"
        built = not self.crashed and self._built(request)
        self.author = "dev"
        if not built:
            return
        for record in self.world.control.plans.all():
            for owner in sorted(yes):
                self._say_yes(record, owner, WHO[owner])
        if how == "too late":
            self.world.later += timedelta(days=15)
        if how in EDITS:
            self.files_are_edited(how)
        if how == "built again":
            self._withdrawn_and_built(request)
        if how == "a race":
            self.between = self._a_race
        self._promote(request, None)
        self.between = nothing

    def _withdrawn_and_built(self, request: Request) -> None:
        """What was approved becomes other rows, of the same version."""
        day = Interval(START, START + timedelta(days=12))
        with suppress(PlanError):
            for name in "abc":
                self.alone = True
                withdraw(
                    self.world.control, self.world.tables, self.world.project, [(name, day)], now=self.now, by="dev"
                )
        self._built(request)

    def _a_race(self) -> None:
        """Between look and commit a routine run adds a day, and the approvals are over."""
        self.between = nothing
        self.world.later += timedelta(days=15)
        self.now += timedelta(days=1)
        self.a_routine_run(False)

    def _built(self, request: Request) -> bool:
        try:
            plan = self.world.plan(request, now=self.now)
        except PlanError:
            return False
        self.opened(plan)
        apply(self.world.bench(pins=plan.sources, patches=plan.patches), plan)
        return True

    @rule(which=st.integers(0, 5))
    def somebody_abandons(self, which: int) -> None:
        """An open plan, which may be approved already."""
        if records := [r for r in self.world.control.plans.all() if r.live]:
            plan = records[which % len(records)].id
            end_abandoned(self.world.control, self.world.tables, "warehouse", plan, by="dev", views=lambda: None)

    @rule(name=st.sampled_from("abc"), first=st.integers(0, 11), length=st.integers(1, 3))
    def somebody_withdraws(self, name: str, first: int, length: int) -> None:
        """Only what no environment shows can be withdrawn."""
        start = START + timedelta(days=first)
        part = Interval(start, start + timedelta(days=length))
        with suppress(PlanError):
            self.alone = True
            withdraw(self.world.control, self.world.tables, self.world.project, [(name, part)], now=self.now, by="dev")

    # --- moves --------------------------------------------------------------------------------------------------------

    @rule(days=st.lists(st.integers(0, 12), min_size=1, max_size=3))
    def rows_come_late(self, days: list[int]) -> None:
        """To the source that a reads."""
        for day in days:
            start = START + timedelta(days=day)
            self.world.rows_come(Interval(start, start + timedelta(days=1)))

    @rule(
        days=st.lists(st.integers(1, 4), min_size=1, max_size=2),
        bad=st.sets(st.integers(0, 12), max_size=2),
        how=st.sampled_from(["", "", "killed", "no release", "clock", "window", "again", "back", "moved"]),
        steps=st.integers(0, 12),
    )
    def late_rows_are_settled(self, days: list[int], bad: set[int], how: str, steps: int) -> None:
        """Rows come of the newest days, then a routine run; `how`: what goes wrong, or happens meanwhile."""
        newest = Cadence.DAILY.floor(self.now)
        for day in days:
            start = newest - timedelta(days=day)
            self.world.rows_come(Interval(start, start + timedelta(days=1)))
        if self.crashed:
            return
        starts = {START + timedelta(days=n) for n in bad}
        self._well()
        self.world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit.start in starts)})
        now = self.now
        if how == "clock":
            self.now = now - timedelta(days=2 + steps)
        if how == "window":
            self.files_are_edited("window")
        try:
            self._settled(Life(steps if how == "killed" else None), how, steps)
        finally:
            self.now = now
            self._well()

    def _settled(self, life: Life, how: str, which: int) -> None:
        world, code = self.world, self.world.project
        shown = world.control.environments.read("prod")
        if not shown.pointers:
            return

        def meanwhile() -> None:
            self.between = nothing
            inside, world.project = world.project, code
            running, self.oracle.settling = self.oracle.settling, 0
            try:
                if how == "again":
                    self._settled(Life(None), "", 0)
                elif how == "back":
                    self.somebody_goes_back(which, True, None)
                elif how == "moved":
                    self._promote(Request(), None)
            finally:
                world.project, self.oracle.settling = inside, running

        self.oracle.settling += 1
        self.between = meanwhile if how in ("again", "back", "moved") else nothing
        try:
            world.project = published(code, shown, world.control.versions.all())
            if how == "no release":
                self.between = self._dies
            world.settle(
                now=self.now,
                by="cron",
                control=self.as_a_process(life),
                views=FakeViews(self.catalog, life),
                between=lambda: self.between(),
            )
        except Crash:
            self.crashed = life.dead
        except (PlanError, PromotionError):  # b was promoted without a; or somebody moved what was to be settled
            pass
        finally:
            self.between = nothing
            self.oracle.settling -= 1
            world.project = code

    def _dies(self) -> None:
        raise Crash

    @rule(dies=st.booleans())
    def a_routine_run(self, dies: bool) -> None:
        """It extends what is shown, by the code that is shown."""
        world, code = self.world, self.world.project
        shown = world.control.environments.read("prod")
        if not shown.pointers or self.crashed:
            return
        self._well()
        try:
            try:
                world.project = published(code, shown, world.control.versions.all())
            except PlanError:  # b was promoted without a: routine runs say so, and extend nothing
                assert "b" in shown.pointers and "a" not in shown.pointers
                return
            plan = world.plan(now=self.now)
            apply(world.bench(), plan)
            if not dies:
                views = FakeViews(self.catalog)
                world.promote(Request(), now=self.now, by="cron", control=world.control, views=views, routine=True)
        finally:
            world.project = code

    @rule(
        request=REQUESTS,
        other=st.sampled_from(["routine", "promotion", "rollback", "foreign", "edit"]),
        which=st.integers(0, 5),
    )
    def two_at_once(self, request: Request, other: str, which: int) -> None:
        """Between what a promotion looked at and its commit, somebody else does something."""
        if self.crashed:
            return

        def once() -> None:
            self.between = nothing
            self._meanwhile(other, which)

        self.between = once
        try:
            self._promote(request, None)
        finally:
            self.between = nothing

    def _meanwhile(self, other: str, which: int) -> None:
        match other:
            case "routine":
                self.a_routine_run(False)
            case "promotion":
                self._promote(Request(select=(("a",), ("b",), ("c",))[which % 3]), None)
            case "rollback":
                self.somebody_goes_back(which, True, None)
            case "foreign":
                self.somebody_touches_a_table("abc"[which % 3], "foreign")
            case _:
                self.files_are_edited(EDITS[which])

    @rule(which=st.integers(0, 20), at_once=st.booleans(), steps=st.one_of(st.none(), st.integers(0, 12)))
    def somebody_goes_back(self, which: int, at_once: bool, steps: int | None) -> None:
        releases = self.world.control.releases.all("prod")
        if not releases:
            return
        self.oracle.going_back_to.append(releases[which % len(releases)].id)
        try:
            super().somebody_goes_back(which, at_once, steps)
        finally:
            self.oracle.going_back_to.pop()

    # --- what the other machine asks ----------------------------------------------------------------------------------

    def opened(self, plan: Plan) -> None:
        code = self.world.project.fingerprints
        with suppress(PlanError):
            opened = store_plan(self.world.control, plan, by=self.author, views=lambda: None, code=code)
            if opened and not opened.continues:  # who goes on with somebody's plan did not make it
                self.oracle.authors.setdefault(opened.plan.id, set()).add(self.author)

    def agreed(self) -> None:
        """What nobody owns somebody else approves where eva made it: who ever opened a plan is one of its authors."""
        for record in self.world.control.plans.all():
            for owner, account in (*WHO.items(), ("", "ana")):
                self._say_yes(record, owner, account)

    def _release(self, request: Request, *, control: Control, views: FakeViews) -> Released | None:  # type: ignore[override]
        """None where a table is wanted that a janitor, who was killed, has begun to remove."""
        try:
            done = self.world.promote(
                request, now=self.now, by="dev", control=control, views=views, between=lambda: self.between()
            )
        except PromotionError as refused:
            assert "the janitor removes it" in refused.why
            return None
        if done.moved:
            end_promoted(control, done.environment, by="dev", views=lambda: None)
        return done

    @rule()
    def all_is_well_in_the_end(self) -> None:
        """What an owner opened, nobody else may approve for them: it is abandoned, and opened by the author."""
        self._well()
        for record in self.world.control.plans.all():
            if record.live and self.oracle.authors.get(record.id, {self.author}) != {self.author}:
                end_abandoned(self.world.control, self.world.tables, "/w", record.id, by="dev", views=lambda: None)
        super().all_is_well_in_the_end()

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def published_rows_changed_with_a_yes(self) -> None:
        """At each commit since the last step."""
        assert not self.oracle.problems, self.oracle.problems

    # --- in detail ----------------------------------------------------------------------------------------------------

    def _named_by_files(self) -> dict[str, Names]:
        project = self.world.project
        return {
            name: Names(
                model.owner,
                model.terms.validation_owner,
                {
                    c.name: c.owner
                    for c in project.consumers.values()
                    if name in c.reads and c.criticality == "high" and project.settings.approvals.consumers == "high"
                },
            )
            for name, model in project.models.items()
        }

    def _say_yes(self, record: PlanRecord, owner: str, account: str, *, forged: str = "", claims: bool = False) -> None:
        """After a look at the plan's candidate. `forged`: another account brings the statement."""
        world, control = self.world, self.world.control
        facts = world.facts(self.now)
        cases = world.governed_cases(facts)
        if not record.live or not cases.may_move(facts, record) or not judge_rows(cases.of_rows(facts, record)).open:
            return
        shown = move_candidate(
            control, world.project, lambda: world.facts(self.now), record.id, by="dev", views=lambda: None
        )
        assert shown is not None
        world.prove(record.id, now=self.now)
        facts = world.facts(self.now)
        review = world.governed_cases(facts).review(facts, record)
        try:
            made = statements(
                world.project,
                facts,
                review,
                Approver(account=account, host="laptop"),
                owners=(owner,),
                now=world.clock(),
            )
        except PlanError:
            return
        for said in made:
            if forged:
                said = replace(said, account=forged, by=said.by if claims else forged)
            self.oracle.looked_at[said.statement] = rows_of(shown, world.tables)
            self.oracle.seen_before[said.statement] = dict(self.oracle.replaced)
            control.approvals.put(said)

    def _audits(self, name: str, *, back: bool) -> None:
        model = self.world.project.models[name]
        more = () if back else (Audit(name="edited", kind="not_null", arguments={"columns": ("id",)}),)
        models = {**self.world.project.models, name: replace(model, audits=(*MODELS[0].audits, *more))}
        self.world.project = replace(self.world.project, models=models)

    def _well(self) -> None:
        """Right clocks, the files and audits that there were, good rows, and nobody dies."""
        if self.world.rules().number:
            self.world.files_say("back")
        self.store.skew = timedelta()
        self.world.engine.red = set()
        for name in "abc":
            self._audits(name, back=True)
        self.world.engine.cell = lambda job, unit: Cell()
        self.world.engine.after_commit = lambda job, interval: None
        self.world.engine.before_scan = lambda job, intervals: None


TestGoverned = Governed.TestCase
TestGoverned.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


# --- without luck -----------------------------------------------------------------------------------------------------


def all_is_shown() -> Governed:
    machine = Governed()
    machine.begin()
    machine.all_is_well_in_the_end()
    return machine


@pytest.mark.parametrize("how", ["well", "by its author", "too late", "a race"])
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_one_thing_is_wrong(name: str, how: str) -> None:
    """A model changes, and everybody says yes: it is shown if nothing is wrong, and never by a yes that is over or the
    author's own."""
    machine = all_is_shown()
    before = machine.oracle.shown
    machine.a_change_goes_its_way(name, 2, set(WHO), how, ())
    machine.published_rows_changed_with_a_yes()
    moved = any(machine.oracle.shown[at] != seen for at, seen in before.items())
    assert moved == (how == "well")


def test_an_open_plan_is_about_the_versions_that_it_named() -> None:
    """One that has nothing to build is not about whatever the code says by now: its approval would let that pass."""
    machine = all_is_shown()
    before = machine.oracle.shown
    machine.code_changes("b", 2)
    machine._well()
    assert machine._built(Request()) and machine._built(Request(select=("b",)))
    machine.a_change_goes_its_way("b", 3, set(WHO), "by its author", ())
    machine.published_rows_changed_with_a_yes()
    assert machine.oracle.shown == before


@pytest.mark.parametrize("how", ["well", "validated by nobody", "read by nobody", "nobody reads"])
@pytest.mark.parametrize("silent", sorted(WHO))
def test_everybody_who_has_a_say_says_it(silent: str, how: str) -> None:
    """c has no owner, bo validates it, and a critical consumer of ana's reads it: one of them says nothing, and the
    author takes names out of the files."""
    machine = all_is_shown()
    before = machine.oracle.shown
    machine.a_change_goes_its_way("c", 2, {*WHO} - {silent}, how, ("c",))
    machine.published_rows_changed_with_a_yes()
    assert machine.oracle.shown == before


@pytest.mark.parametrize("what", EDITS)
def test_the_author_edits_the_files(what: str) -> None:
    """And says yes by each account, as themselves and as the owner; nobody else does."""
    machine = all_is_shown()
    before = machine.oracle.shown
    for name in "abc":
        machine.code_changes(name, 2)
    assert machine._built(Request())  # pyright: ignore[reportPrivateUsage]
    machine.files_are_edited(what)
    for account in ("dev", "dev.two"):
        for claims in (True, False):
            machine.the_author_says_yes(0, account, claims)
    machine.somebody_promotes((), None)
    machine.published_rows_changed_with_a_yes()
    assert machine.oracle.shown == before
