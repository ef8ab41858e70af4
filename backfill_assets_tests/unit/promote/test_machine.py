"""Whatever happens, in whatever order: builds, red days, deaths, new code, promotions, rollbacks, sweeps, crashes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.promote.case import Case
from backfill_assets.promote.compaction import Corrections, compact, compaction_case, find_many_corrections
from backfill_assets.promote.gate import Verdict, gate, judge_rows
from backfill_assets.promote.janitor import sweep
from backfill_assets.promote.lifecycle import end_promoted, store_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.promote import recover
from backfill_assets.promote.rehearsal import Readability
from backfill_assets.promote.release import Mover, Released, release_case
from backfill_assets.promote.rollback import ProposedRollback, rollback_work
from backfill_assets.promote.rollback_run import carry_out_rollback, rollback_case, rollback_obstacles
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import by_version
from backfill_assets.state.tables import version_coverage
from backfill_assets_tests.fakes import (
    NOW,
    Catalog,
    Cell,
    Crash,
    FakeViews,
    Life,
    MortalStore,
    World,
    a_model,
    attempted,
    sealed,
)
from backfill_assets_tests.unit.promote.rollback_world import looked_back

MODELS = (a_model("a", "raw"), a_model("b", "a", lookback=1), a_model("c", batch_size=2))
BEGAN = NOW - timedelta(days=6)
selections = st.sampled_from([(), ("a",), ("b",), ("c",), ("a", "b"), ("b", "c")])


def at(pointer: Pointer, unit: Interval) -> tuple[str, int]:
    """The table and the commit that a pointer shows a day of."""
    return next((s.version, s.commit) for s in pointer.segments if s.interval.start <= unit.start < s.interval.end)


class Killed(BaseException):
    """The build's process dies."""


# No preconditions: two models are built at once, so that one seed may lead to two situations; Hypothesis forbids rules
# that come and go with them.
class Warehouse(RuleBasedStateMachine):
    """One warehouse, one environment, one shared catalog, and people who do things at random."""

    @initialize()
    def begin(self) -> None:
        self.world = self.a_world()
        self.catalog = Catalog()
        self.versions = dict.fromkeys("abc", 1)
        self.now = BEGAN
        self.crashed = False
        self.alone = False
        """Whether days of a version were made anew, or went back although somebody was told of what was computed from
        them, and stays."""
        self.begun()

    def a_world(self) -> World:
        """With everything in memory; `contracts/test_machine_on_delta.py` has tables in a folder."""
        return World(*MODELS)

    # --- what happens -------------------------------------------------------------------------------------------------

    @rule()
    def a_day_goes_by(self) -> None:
        self.now += timedelta(days=1)

    @rule(name=st.sampled_from("abc"), number=st.integers(1, 3))
    def code_changes(self, name: str, number: int) -> None:
        """To a new text, or back to an older one; the fingerprint of b depends on a's."""
        self.versions[name] = number
        prints = {n: f"{n}-{self.versions[n]}" for n in "abc"}
        prints["b"] = f"b-{self.versions['b']}{self.versions['a']}"
        self.world.project = replace(self.world.project, fingerprints=prints)

    @rule(select=selections, bad=st.sets(st.integers(0, 12), max_size=2), late=st.integers(0, 8), scan=st.booleans())
    def somebody_builds(self, select: tuple[str, ...], bad: set[int], late: int, scan: bool) -> None:
        """Some days are red; the process may be killed after some commits, before the ledger or before the audit."""
        starts = {MODELS[0].start + timedelta(days=n) for n in bad}
        left = [late]

        def die(*_: object) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Killed

        engine = self.world.engine
        engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit.start in starts)})
        engine.after_commit = (lambda job, interval: None) if scan else die
        engine.before_scan = die if scan else (lambda job, intervals: None)
        plan = self.world.plan(Request(select=select), now=self.now)
        self.opened(plan)
        with suppress(Killed):
            apply(self.world.bench(), plan)

    @rule(model=st.sampled_from("abc"), what=st.sampled_from(["foreign", "optimize"]))
    def somebody_touches_a_table(self, model: str, what: str) -> None:
        """By hand, or to compact it."""
        version = self.world.project.fingerprints[model]
        if self.world.tables.head(model, version) >= 0:
            getattr(self.world.tables, what)(model, version)
            self.alone |= what == "foreign"

    @rule(
        name=st.sampled_from("abc"),
        first=st.integers(0, 11),
        length=st.integers(1, 3),
        red=st.booleans(),
        steps=st.one_of(st.none(), st.integers(0, 12)),
    )
    def somebody_restates(self, name: str, first: int, length: int, red: bool, steps: int | None) -> None:
        """Days that are shown, and what reads them; sometimes they are red now. Then whoever promotes it may be killed.
        What was shown of other days stays where it was."""
        start = MODELS[0].start + timedelta(days=first)
        request = Request(restate=((name, Interval(start, start + timedelta(days=length))),))
        engine = self.world.engine
        engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(red)})
        engine.after_commit = lambda job, interval: None
        engine.before_scan = lambda job, intervals: None
        try:
            plan = self.world.plan(request, now=self.now)
        except PlanError:
            return
        before = self.world.control.environments.read("prod").pointers
        self.opened(plan)
        apply(self.world.bench(pins=plan.sources, patches=plan.patches), plan)
        self._promote(request, steps)
        after = self.world.control.environments.read("prod").pointers
        for model, pointer in before.items():
            patch = plan.patches.get(model)
            rest = pointer.covers - (patch.intervals if patch else Ranges())
            for unit in rest.split(Cadence.DAILY):
                assert at(after[model], unit) == at(pointer, unit), "a restatement moved another day"

    @rule(select=selections, steps=st.one_of(st.none(), st.integers(0, 12)))
    def somebody_promotes(self, select: tuple[str, ...], steps: int | None) -> None:
        """Whatever is complete of these; killed after so many steps."""
        self._promote(Request(select=select), steps)

    def _promote(self, request: Request, steps: int | None) -> None:
        """As `promote_plan` does."""
        life = Life(steps)
        before = self.world.control.environments.read("prod")
        try:
            self._release(request, control=self.as_a_process(life), views=FakeViews(self.catalog, life))
        except Crash:
            self.crashed = True
        else:
            self.crashed = False
            assert self.catalog.views == dict(self.world.control.environments.read("prod").pointers)
        after = self.world.control.environments.read("prod")
        for name, pointer in before.pointers.items():
            assert not pointer.covers - after.pointers[name].covers, "a promotion took days away"

    @rule(which=st.integers(0, 20), at_once=st.booleans(), steps=st.one_of(st.none(), st.integers(0, 12)))
    def somebody_goes_back(self, which: int, at_once: bool, steps: int | None) -> None:
        """To any release that there was, as `roll_back` does; killed after so many steps."""
        world, life = self.world, Life(steps)
        releases = world.control.releases.all("prod")
        if not releases:
            return
        control = self.as_a_process(life)
        environments = control.environments
        before = world.control.environments.read("prod")
        told: list[Obstacle] = []

        def look(release: str | None, select: object) -> tuple[ProposedRollback, list[Readability]]:
            found, proofs = looked_back(world, self.now, release)
            told.extend(loss for loss in found.losses if "would be out of sight" in loss.what)
            return found, proofs

        def build(found: ProposedRollback) -> None:
            apply(world.bench(project=found.project, shown=found.after.pointers), rollback_work(found, self.now, {}))

        def move(found: ProposedRollback) -> tuple[Environment, Verdict]:
            def case() -> Case:
                again, proofs = look(found.release.id, ())
                way = rollback_obstacles(again, proofs, at_once=at_once)
                facts = world.facts(self.now)
                return rollback_case(world.project, facts, control, world.tables, again, way, at_once=at_once)

            views = FakeViews(self.catalog, life)
            done = release_case(
                Mover(control=control, log=world.tables, environment="prod", views=views, by="bob"),
                attempted(case),
                evidence=sealed,
                back_to=found.release.id,
                at_once=at_once,
            )
            return done.environment, done.verdict

        try:
            recover(environments, "prod", FakeViews(self.catalog, life))
            ended = carry_out_rollback(look, build, move, releases[which % len(releases)].id, (), at_once=at_once)
        except Crash:
            self.crashed = True
            return
        except Killed:
            self.crashed = False
            return
        finally:
            moved = world.control.environments.read("prod").pointers != before.pointers
            self.alone |= at_once and moved and bool(told)
        self.crashed = False
        after = world.control.environments.read("prod")
        if ended.moved is None:
            assert after.pointers == before.pointers
        for name, pointer in before.pointers.items():
            if not at_once and name not in ended.found.removed:
                assert not pointer.covers - after.pointers[name].covers, "a rollback took days away"

    @rule(later=st.sampled_from([0, 29, 40]), steps=st.one_of(st.none(), st.integers(0, 8)))
    def the_janitor_comes(self, later: int, steps: int | None) -> None:
        """Now, or when the time of everything that was superseded is over; killed after so many steps."""
        world, life = self.world, Life(steps)
        there = {(t.model, t.version) for t in world.tables.tables()}
        marked_for_deletion = world.control.environments.read("prod").marked_for_deletion
        world.tables.before_remove = lambda model, version: life.step()
        now = datetime.now(UTC) + timedelta(days=later)
        with suppress(Crash):
            self._join(life)
            sweep(self.as_a_process(life), world.tables, now=now, retention=timedelta(days=30), by="eva")
        world.tables.before_remove = lambda model, version: None
        left = {(t.model, t.version) for t in world.tables.tables()}
        assert later > 30 or not self.in_releases() & (there - left - marked_for_deletion), (
            "a table went before its time"
        )

    @rule(
        name=st.sampled_from("abc"),
        days=st.lists(st.integers(0, 8), min_size=2, max_size=3, unique=True),
        data=st.data(),
    )
    def corrections_pile_up(self, name: str, days: list[int], data: st.DataObject) -> None:
        """Each in a table of its own; then the janitor comes, and may be killed while it joins them."""
        self.all_is_well_in_the_end()
        for day in days:
            self.somebody_restates(name, day, 1, False, None)
        self.the_janitor_comes(0, data.draw(st.one_of(st.none(), st.integers(0, 20))))

    def _join(self, life: Life) -> None:
        """As `remove_garbage` does, of two tables of corrections already; what is shown stays what it was."""
        control, views, tables = self.as_a_process(life), FakeViews(self.catalog, life), self.world.tables
        self.world.engine.before_copy = lambda job: life.step()
        shown = recover(control.environments, "prod", views)
        assert shown == self.world.control.environments.read("prod")
        for crowd in find_many_corrections(control, tables, self.world.project, shown, most=1):
            model = self.world.project.models[crowd.pointer.model]
            before, after = crowd.pointer, self.world.control.environments.read("prod").pointers[model.name]
            assert before == after
            shown = compact(
                crowd, control, tables, model, self.world.open_engine, show=partial(self._show, crowd, control, views)
            )
            after = shown.pointers[model.name]
            assert after.covers == before.covers and not self.world.engine.differing(
                model, ["id"], before.segments, after.segments
            )
            assert len({s.version for s in after.segments} - {after.version}) == 1

    def _show(self, crowd: Corrections, control: Control, views: FakeViews, pointer: Pointer) -> Environment:
        def look() -> Case:
            facts = self.world.facts(self.now)
            return compaction_case(crowd, pointer, control, self.world.project, facts, self.world.tables)

        done = release_case(
            Mover(control=control, log=self.world.tables, environment="prod", views=views, by="eva"),
            attempted(look),
            evidence=sealed,
        )
        assert done.verdict.open, done.verdict
        return done.environment

    def in_releases(self) -> set[tuple[str, str]]:
        moves = [m for r in self.world.control.releases.all("prod") for m in r.moves]
        return {(m.model, s.version) for m in moves for p in (m.before, m.after) if p for s in p.segments}

    @rule(steps=st.one_of(st.none(), st.integers(0, 8)))
    def somebody_recovers(self, steps: int | None) -> None:
        """And may be killed as well."""
        life = Life(steps)
        try:
            recover(self.as_a_process(life).environments, "prod", FakeViews(self.catalog, life))
        except Crash:
            return
        self.crashed = False
        now = self.world.control.environments.read("prod")
        assert now.promotion is None
        assert self.catalog.views == dict(now.pointers)

    @rule()
    def all_is_well_in_the_end(self) -> None:
        """Good rows and no deaths: two applies make everything complete (the first may find that rows which nobody had
        audited are red), one promotion shows it."""
        self.somebody_recovers(None)
        engine = self.world.engine
        engine.cell = lambda job, unit: Cell()
        engine.after_commit = lambda job, interval: None
        engine.before_scan = lambda job, intervals: None
        self.the_janitor_comes(0, None)  # it finishes what an interrupted one began
        assert not self.world.control.environments.read("prod").marked_for_deletion
        apply(self.world.bench(), self.world.plan(now=self.now))
        outcomes = apply(self.world.bench(), self.world.plan(now=self.now))
        assert all(o.ok for o in outcomes.values())
        assert self.world.plan(now=self.now).work == ()
        self._of_newer_rows()
        self.opened(self.world.plan(now=self.now))
        self.agreed()
        self.somebody_promotes((), None)
        shown = self.world.control.environments.read("prod").pointers
        for model in self.world.project.models.values():
            expected = model.expected(self.now)
            if expected:
                assert not expected - shown[model.name].covers
                assert shown[model.name].version == self.world.project.fingerprints[model.name]

    def _of_newer_rows(self) -> None:
        """What was built before its upstream was made anew is refused, and computed again, as the refusal says."""
        facts, plan = self.world.facts(self.now), self.world.plan(now=self.now)
        case = self.world.cases(required=False).promotion(Request(), facts, plan)
        if asked := [(o.model, part) for o in (*case.older.upstreams, *case.older.sources) for part in o.intervals]:
            shown = facts.environment.pointers.keys()
            alone = {o.model for o in case.older.upstreams if o.model in shown and o.upstream not in shown}
            for name in alone:
                self.code_changes(name, self.versions[name] + 10)
            if rest := [(name, part) for name, part in asked if name not in alone]:
                withdraw(self.world.control, self.world.tables, self.world.project, rest, now=self.now, by="dev")
            apply(self.world.bench(), self.world.plan(now=self.now))

    # --- whoever is asked says yes; in `test_machine_approvals.py` they need not --------------------------------------

    def begun(self) -> None:
        """Nothing has happened yet."""

    def opened(self, plan: Plan) -> None:
        """Somebody is about to build this."""
        code = self.world.project.fingerprints
        with suppress(PlanError):  # it collides with another one
            store_plan(self.world.control, plan, by="dev", views=lambda: None, code=code)

    def agreed(self) -> None:
        """Whoever has to approve does."""

    def _release(self, request: Request, *, control: Control, views: FakeViews) -> Released:
        """As `promote_plan` does; what is complete was compared and approved."""
        self._approve()
        done = self.world.release(request, now=self.now, control=control, views=views)
        if done.moved:
            end_promoted(control, done.environment, by="dev", views=lambda: None)
        return done

    def _approve(self) -> None:
        facts, cases = self.world.facts(self.now), self.world.cases()
        for record in self.world.control.plans.all():
            if record.live and cases.may_move(facts, record) and judge_rows(cases.of_rows(facts, record)).open:
                self.world.prove(record.id, now=self.now)
                self.world.approve(record.id, now=self.now)

    def as_a_process(self, life: Life) -> Control:
        return Control.over(MortalStore(self.world.store, life))

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def readers_see_what_the_environment_says(self) -> None:
        """Every view shows its model's pointer; one may be absent or left over only while a promotion is open."""
        now = self.world.control.environments.read("prod")
        for model in self.catalog.views:
            if model in now.pointers or now.promotion is None or model not in now.promotion.models:
                assert self.catalog.shows(now, model) == now.pointers.get(model)
        if now.promotion is None:
            assert self.catalog.views == dict(now.pointers)

    @invariant()
    def an_environment_shows_green_days_only(self) -> None:
        """At the pinned commit, by the ledger (green) and by the rows themselves (there, and none that fails)."""
        groups = by_version(self.world.control.ledger.entries())
        for name, pointer in self.world.control.environments.read("prod").pointers.items():
            for segment in pointer.segments:
                cells = self.world.tables.cells(name, segment.version, segment.commit)
                for unit in Cadence.DAILY.split(segment.interval):
                    assert unit.start in cells, f"{name} {unit} has no rows"
                    assert not cells[unit.start].failures.get("rows_ok"), f"{name} {unit} is red"
                batches = {cells[u.start].batch for u in Cadence.DAILY.split(segment.interval)}
                recorded = {e.batch for e in groups[name, segment.version] if e.kind == "audited"}
                assert batches <= recorded, f"{name} shows rows that no audit has seen"

    @invariant()
    def an_environment_can_be_read_in_full(self) -> None:
        """Every file of every segment is there and whole, with rows in each of its days."""
        tables = self.world.tables
        for name, pointer in self.world.control.environments.read("prod").pointers.items():
            for segment in pointer.segments:
                found = tables.readable(name, segment.version, segment.commit, segment.interval)
                assert not found.broken, found
                assert found.rows >= Cadence.DAILY.count(segment.interval)

    @invariant()
    def an_environment_shows_what_belongs_together(self) -> None:
        """A model is never shown beside another version of its upstream than it was computed from, nor beside newer
        rows of it, unless somebody made days of a version anew before it was shown; so the watch finds nothing of that
        kind."""
        now = self.world.control.environments.read("prod")
        assert self.alone or not stale_inputs(self.world.project, now, by_version(self.world.control.ledger.entries()))
        shown = now.pointers
        records = self.world.control.versions.all()
        for name, pointer in shown.items():
            for upstream, version in records[name, pointer.version].upstream.items():
                assert upstream not in shown or shown[upstream].version == version

    @invariant()
    def the_ledger_tells_the_truth(self) -> None:
        """What it says is green is in the table, from the batch that it names."""
        groups = by_version(self.world.control.ledger.entries())
        for name, version in self.world.project.fingerprints.items():
            if self.world.tables.head(name, version) < 0:
                continue
            digest = audits_digest(self.world.project.models[name])
            entries = groups.get((name, version), [])
            found, head = version_coverage(entries, self.world.tables, model=name, version=version, audits=digest)
            cells = self.world.tables.cells(name, version, head)
            for part, entry in found.sources:
                for unit in Cadence.DAILY.split(part):
                    assert cells[unit.start].batch == entry.batch


TestWarehouse = Warehouse.TestCase
TestWarehouse.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_reader_that_was_promoted_alone() -> None:
    """Its upstream is made anew before it is shown: the reader can be computed again as a version of its own only, as
    the gate says."""
    machine = Warehouse()
    machine.begin()
    machine.somebody_builds(bad=set(), late=0, scan=False, select=())
    machine.somebody_promotes(select=("b",), steps=None)
    machine.somebody_touches_a_table(model="a", what="foreign")
    apply(machine.world.bench(), machine.world.plan(now=machine.now))
    facts, plan = machine.world.facts(machine.now), machine.world.plan(now=machine.now)
    case = machine.world.cases(required=False).promotion(Request(), facts, plan)
    [found] = [o for o in gate(case).obstacles if o.model == "b"]
    assert found.remedy.startswith(
        'make b a version of its own: `code_version: "2"` in its header, then backfill apply'
    )
    machine.all_is_well_in_the_end()
