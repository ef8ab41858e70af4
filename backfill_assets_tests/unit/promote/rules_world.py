"""A world with owners and rules in force: what `Context` does beside the gate, over fakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from backfill_assets.audits.counts import Counts
from backfill_assets.build.apply import apply
from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import AuditReads, Job
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model, Project, Source
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.plan.facts import Facts, read_facts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approval import not_counted
from backfill_assets.promote.approve import Approver
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.extend import settling_case
from backfill_assets.promote.gate import gate
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.promote import ViewCatalog
from backfill_assets.promote.proposal import moved_meanwhile
from backfill_assets.promote.release import Mover, Released, Sealing, release_case
from backfill_assets.promote.rules_change import record_rules, rules_to_record
from backfill_assets.promote.settled import settleable
from backfill_assets.state.control import Control
from backfill_assets.state.required_approvals import needed_from
from backfill_assets.state.rules import RulesInForce, declared_rules
from backfill_assets.state.settling import settling
from backfill_assets.state.store import Store
from backfill_assets.watch.late import unsettled
from backfill_assets.watch.watch import read_source_facts
from backfill_assets_tests.fakes import Cell, FakeEngine, FakeTables, World, attempted, nothing, sealed
from backfill_assets_tests.memory_store import MemoryStore

OWNERS = {"a": "ana@example.com", "b": "bo@example.com", "c": ""}
VALIDATION = {"c": "bo@example.com"}
"""Model → its validation owner."""
READERS = {"export": ("ana@example.com", ("c",))}
"""Consumers of high criticality: their owners, and what they read."""
SETTLE = {"a": timedelta(days=3)}
"""How long rows of a day may come after it; b reads a, and inherits it."""
PEOPLE = {"ana@example.com": ("ana",), "bo@example.com": ("bo",), "dev@example.com": ("dev", "dev.two")}


class NumberedEngine(FakeEngine):
    """No two computations give the same rows: each interval's rows have a number of their own (it is their count)."""

    def __init__(self, tables: FakeTables) -> None:
        self._numbers = count(11)
        self.state_of_source: Callable[[], int] = lambda: 1
        self.computed_from: dict[int, int] = {}
        """The number of rows → how far the source was when they were computed."""
        super().__init__(tables)
        self.red: set[datetime] = set()
        """Days on which the audit `edited` fails, where a model has it."""

    @property
    def cell(self) -> Callable[[Job, Interval], Cell]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return lambda job, unit: replace(self._cell(job, unit), rows=self._number())

    def _number(self) -> int:
        number = next(self._numbers)
        self.computed_from[number] = self.state_of_source()
        return number

    @cell.setter
    def cell(self, value: Callable[[Job, Interval], Cell]) -> None:
        self._cell = value

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> dict[datetime, Counts]:
        found = super().scan(job, commit, intervals, reads)
        edited = any(a.name == "edited" for a in job.model.audits)
        return {
            s: replace(c, failures={**c.failures, **({"edited": 1} if edited and s in self.red else {})})
            for s, c in found.items()
        }


class GovernedWorld(World):
    """Published rows change with their owners' approval, by the rules that the first release recorded."""

    def __init__(self, *models: Model, store: Store | None = None, tables: FakeTables | None = None) -> None:
        store = store or MemoryStore()
        super().__init__(*models, store=store, tables=tables)
        approvals = ApprovalRules(consumers="high")
        self.written = replace(
            self.project, settings=replace(self.project.settings, approvals=approvals, people=PEOPLE)
        )
        self.project = self._naming(self.written, OWNERS, VALIDATION, READERS, SETTLE)
        self.engine = NumberedEngine(self.tables)
        self.later = timedelta()
        self.engine.state_of_source = lambda: self.pins.commits.get("raw", 1)

    def newest(self, source: Source) -> datetime | None:
        return None

    def bench(self, run: str = "run", **more: object) -> Workbench:
        pins = {name: self.pins.pin(source) for name, source in self.project.sources.items()}
        return super().bench(run, **({"pins": pins} | more))

    def unsettled(self, now: datetime, control: Control) -> Mapping[str, Ranges]:
        """As `find_unsettled` does."""
        shown = control.environments.read("prod")
        return unsettled(
            read_source_facts(
                self.project,
                control,
                self.tables,
                self,
                environment=shown,
                fingerprints=self.project.fingerprints,
                digests={},
                now=now,
                at=datetime.now(UTC),
                lasts=timedelta(hours=24),
            )
        )

    def clock(self) -> datetime:
        """The real time, by the clock of whoever promotes."""
        return datetime.now(UTC) + self.later

    def rules(self) -> RulesInForce:
        return self.control.rules.in_force("prod", declared_rules(self.project))

    def facts(self, now: datetime = datetime.max, *, control: Control | None = None) -> Facts:  # type: ignore[override]
        found = read_facts(self.project, control or self.control, self.tables, self.pins, now=now, environment="prod")
        known = settling(control or self.control, "prod", now)
        return replace(found, sources=replace(found.sources, extents=self.extents), rules=self.rules(), settling=known)

    def governed_cases(self, facts: Facts, control: Control | None = None) -> Cases:
        """As `cases_of` does."""
        rules, project = facts.rules_for(self.project), self.project
        return self.cases(
            control=control or self.control,
            required=rules.approvals.required,
            owners=lambda name: needed_from(rules, declared_rules(project, beside=rules), name),
            not_counted=lambda record, approval: not_counted(project, facts, record, approval, now=self.clock()),
        )

    def promote(
        self,
        request: Request,
        *,
        now: datetime,
        by: str,
        control: Control,
        views: ViewCatalog | None,
        between: Callable[[], object] = nothing,
        routine: bool = False,
    ) -> Released:
        """As `promote_plan`, or as `promote_green`, does. `between` happens when the gate has looked."""

        def look() -> Case:
            facts = self.facts(now, control=control)
            cases, plan = self.governed_cases(facts, control), make_plan(self.project, facts, request)
            if not routine:
                return cases.promotion(request, facts, plan)
            shown = facts.environment.pointers.items()
            held = [o for name, p in shown if (o := moved_meanwhile(self.project, name, p)) is not None]
            models = self._without(plan.models, [o.model for o in held])
            while True:
                case = cases.promotion(request, facts, replace(plan, models=models), purpose=Purpose.ROUTINE)
                if (verdict := gate(case)).open:
                    return case
                models = self._without(models, [m for o in verdict.obstacles for m in o.model.split(", ")])

        def evidence(release: Sealing) -> Mapping[str, str]:
            between()
            return sealed(release)

        rules = self._rules_by(by, control)
        return release_case(
            Mover(control=control, log=self.tables, environment="prod", views=views, by=by, rules=rules),
            attempted(look),
            evidence=evidence,
        )

    def settle(
        self,
        *,
        now: datetime,
        by: str,
        control: Control,
        views: ViewCatalog | None,
        between: Callable[[], object] = nothing,
    ) -> tuple[Released | None, tuple[Obstacle, ...]]:
        """As the beginning of a routine run does; `between` happens when everything is built, and when the gate has
        looked."""
        facts = self.facts(now, control=control)
        request = settleable(self.project, facts, self.unsettled(now, control)).request
        if request is None:
            return None, ()
        built = make_plan(self.project, facts, request)
        apply(self.bench(pins=built.sources, patches=built.patches), built)
        between()
        held: tuple[Obstacle, ...] = ()

        def look() -> Case:
            nonlocal held
            again = self.facts(now, control=control).with_pins(built.sources)
            cases, late = self.governed_cases(again, control), self.unsettled(now, control)
            found, held = settling_case(
                self.project, again, request, late, lambda plan: cases.promotion(request, again, plan)
            )
            return found

        def evidence(release: Sealing) -> Mapping[str, str]:
            between()
            return sealed(release)

        rules = self._rules_by(by, control)
        done = release_case(
            Mover(control=control, log=self.tables, environment="prod", views=views, by=by, rules=rules),
            attempted(look),
            evidence=evidence,
        )
        return done, (*held, *done.verdict.obstacles)

    def _rules_by(self, by: str, control: Control) -> Callable[[Case], Mapping[str, object]]:
        """As those of `app/release.py`."""

        def rules(case: Case) -> dict[str, object]:
            found = case.facts.rules or self.rules()
            once, moving = case.facts.past.out_of_sight, case.pointers
            new = rules_to_record(found, case.environment, moving, case.agreed, out_of_sight=once) if moving else None
            who = Approver(account=by, host="laptop")
            return dict(record_rules(control, found, new, who, now=self.clock()).to_json())

        return rules

    def _without(self, models: tuple[str, ...], stuck: list[str]) -> tuple[str, ...]:
        named = [f"{m}+" for m in stuck if m in models]
        gone = select_models(self.project, named) if named else models if stuck else ()
        return tuple(m for m in models if m not in gone)

    def files_say(self, what: str) -> None:
        """Somebody edits the project's files: never what is in force. `back`: to what they were."""
        code = self.project
        approvals, people = self.written.settings.approvals, self.written.settings.people
        owners, validation, readers, settle = dict(OWNERS), dict(VALIDATION), dict(READERS), dict(SETTLE)
        match what:
            case "off":
                approvals = replace(approvals, required=False)
            case "self":
                approvals = replace(approvals, self=True)
            case "for ever":
                approvals = replace(approvals, days=100_000)
            case "deputies":
                approvals = replace(approvals, owners={o: ("dev",) for o in OWNERS.values() if o})
            case "accounts":
                people = {"ana@example.com": ("ana", "dev.two"), "bo@example.com": ("bo", "dev")}
            case "owner":
                owners["a"] = "dev@example.com"
            case "window":
                settle = dict.fromkeys(OWNERS, timedelta(days=300))
            case "nobody":
                owners |= {"a": "", "b": ""}
            case "validated by nobody":
                validation = {}
            case "validated by the author":
                validation["c"] = "dev@example.com"
            case "read by nobody":
                readers = {}
            case "nobody reads":
                approvals = replace(approvals, consumers="none")
            case "a new reader":
                readers["notebook"] = "dev@example.com", ("a", "c")
            case _:
                assert what == "back"
        said = replace(code, settings=replace(code.settings, approvals=approvals, people=people))
        self.project = self._naming(said, owners, validation, readers, settle)

    def _naming(
        self,
        code: Project,
        owners: Mapping[str, str],
        validation: Mapping[str, str],
        readers: Mapping[str, tuple[str, tuple[str, ...]]],
        settle: Mapping[str, timedelta],
    ) -> Project:
        """The code with these names and windows in its headers and in consumers.yml."""
        return replace(
            code,
            models={
                n: replace(
                    m,
                    owner=owners[n],
                    terms=replace(m.terms, validation_owner=validation.get(n, "")),
                    settle=settle.get(n, timedelta()).total_seconds(),
                )
                for n, m in code.models.items()
            },
            consumers={
                n: Consumer(name=n, owner=owner, reads=reads, criticality="high", file=Path("consumers.yml"))
                for n, (owner, reads) in readers.items()
            },
        )
