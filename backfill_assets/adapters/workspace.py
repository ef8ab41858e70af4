"""One project with its state, its machine and its Spark session, in one hand: what every way in starts from."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.caches import CacheFile, old_cache_files, remove_cache_files
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import doubt
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_days import SourceDays
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.build.apply import MODELS_AT_ONCE
from backfill_assets.build.build import Workbench
from backfill_assets.build.by_hand import Withdrawn, declare_empty, withdraw
from backfill_assets.build.engine import Engine
from backfill_assets.build.events import Listener, silence
from backfill_assets.compare.ask import questions
from backfill_assets.compare.diff import SAMPLE, Diff
from backfill_assets.compare.expect import expectations
from backfill_assets.compare.sides import Side, resolve_side
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.preflight import Gap, Grounds, preflight
from backfill_assets.contracts.publish import publish_contracts, read_contracts
from backfill_assets.contracts.rerun import Reruns, concerned
from backfill_assets.errors import PlanError
from backfill_assets.evidence.gather import gather
from backfill_assets.evidence.inputs import Yes
from backfill_assets.evidence.make import Evidence, make
from backfill_assets.evidence.verify import read_packet
from backfill_assets.evidence.write import digest, evidence_path, write_packet
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.plan.cover import Uncovered, uncovered
from backfill_assets.plan.estimate import USEFUL, Actual, PlanEstimate, actual, estimate
from backfill_assets.plan.facts import read_facts
from backfill_assets.plan.leases import Claim
from backfill_assets.plan.patch import Patch, reached
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.proof import Drift, kept_readers
from backfill_assets.plan.published import published
from backfill_assets.plan.reach import within_reach
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Plan, Request, request_from_json
from backfill_assets.promote.approval import Case, changed, subject, unapproved
from backfill_assets.promote.approve import complete, statements
from backfill_assets.promote.candidate import known
from backfill_assets.promote.findings import drifted, unanswered, unexpected
from backfill_assets.promote.gate import Obstacle, Verdict, gate
from backfill_assets.promote.go_back import RolledBack, go_back
from backfill_assets.promote.janitor import Rounds, Swept, look_around, sweep
from backfill_assets.promote.lifecycle import (
    Abandoned,
    Opened,
    abandon,
    end_promoted,
    find_plan,
    fulfilled,
    look,
    only_open_plan,
    open_plan,
    show_candidate,
)
from backfill_assets.promote.planned import gate_plan
from backfill_assets.promote.promote import promote, recover
from backfill_assets.promote.rehearsal import Readability, rehearse
from backfill_assets.promote.rollback import Rollback, look_back, rollback_plan
from backfill_assets.settings import cache_folder, project_root
from backfill_assets.snapshots.loader import load_project
from backfill_assets.snapshots.model import Project
from backfill_assets.snapshots.records import Records
from backfill_assets.state.approvals import Approval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, Pointer, Segment
from backfill_assets.state.ledger import new_id
from backfill_assets.state.plans import PlanRecord, Status
from backfill_assets.state.proofs import CONSUMERS, DIFF, KEPT, Finding, Proof
from backfill_assets.state.versions import logic_of
from backfill_assets.watch.closing import Watched, closing
from backfill_assets.watch.watch import take_a_look, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from backfill_assets.adapters.spark_views import SparkViews


def _records(warehouse: str) -> Records:
    return Control.over(DeltaStore(warehouse)).versions.records()


@dataclass(frozen=True, slots=True, kw_only=True)
class Housework:
    """What the janitor finds to do."""

    rounds: Rounds
    caches: tuple[CacheFile, ...]


@dataclass(kw_only=True)
class Workspace:
    """A loaded project and everything that acts on it. Nothing that needs a JVM is opened before it is used."""

    project: Project
    control: Control
    log: DeltaTableLog
    pins: FilePins = field(default_factory=FilePins)
    days: SourceDays = field(default_factory=SourceDays)
    shown: Mapping[str, Pointer] | None = None
    """What builds find corrections of their inputs in; None: what the environment shows."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _engine: Engine | None = field(default=None, repr=False)

    @classmethod
    def open(cls, project: str | Path | None = None) -> Workspace:
        """Load the project (the argument, BACKFILL_PROJECT, or the demo). Raises ProjectError, SettingsError."""
        loaded = load_project(project_root(project), _records)
        warehouse = loaded.settings.warehouse
        return cls(project=loaded, control=Control.over(DeltaStore(warehouse)), log=DeltaTableLog(warehouse))

    @property
    def warehouse(self) -> str:
        return self.project.settings.warehouse

    @property
    def environment(self) -> str:
        """The environment that plans are about."""
        return self.project.settings.environment

    @property
    def user(self) -> str:
        """Who acts here, as the records name them."""
        try:
            return getpass.getuser()
        except (KeyError, OSError):  # a container whose user has no name
            return f"uid {os.getuid()}"

    def now(self) -> datetime:
        return self.project.settings.now()

    def facts(self, *, every_version: bool = False) -> Facts:
        """The situation right now, of every model; of `every_version` that was ever built as well."""
        facts = read_facts(
            self.project,
            self.control,
            self.log,
            self.pins,
            now=self.now(),
            environment=self.environment,
            every_version=every_version,
        )
        return replace(facts, extents=self._extents(facts.sources))

    def source_days(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Ranges]:
        """For which time each source, frozen as `pins` say, has rows; not of those whose files do not tell."""
        known = {n: self.days.of(self.project.sources[n], pin) for n, pin in pins.items() if n in self.project.sources}
        return {name: days for name, days in known.items() if days is not None}

    def _extents(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Interval]:
        """From the first row to the last of the sources that bound what reads them."""
        days = self.source_days({n: pin for n, pin in pins.items() if self.project.sources[n].cut_off})
        return {name: there.span for name, there in days.items() if there.span}

    def plan(self, request: Request | None = None) -> Plan:
        """What has to be done now."""
        request = request or Request()
        return make_plan(self.project, self.facts(every_version=request.all_versions), request)

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

    def open_plan(self, plan: Plan) -> Opened | None:
        """Store a plan that is about to be built; None when there is nothing to it. Raises PlanError on a collision."""
        return open_plan(self.control, plan, by=self.user, views=self.shared_views)

    def show_candidate(self, plan: str) -> Environment | None:
        """Point the plan's candidate environment at what is complete by now; None when the plan has ended."""
        return show_candidate(self.control, self.project, self.facts, plan, by=self.user, views=self.shared_views)

    def abandon(self, plan: str) -> Abandoned:
        """End a plan and drop its candidate environment. Raises PlanError for an unknown or promoted one."""
        return abandon(self.control, self.log, self.warehouse, plan, by=self.user, views=self.shared_views)

    def estimate(self, plan: Plan) -> PlanEstimate:
        """How long the plan will take and what it costs, from what the ledger knows."""
        known = self.control.ledger.entries(kinds=USEFUL) if plan.work else []
        entries = [e for e in known if not e.through]  # a part of an interval says little of a whole one
        price = self.project.settings.cost
        return estimate(plan.work, entries, self.project.models, at_once=MODELS_AT_ONCE, price=price)

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

    def rerun_consumers(self, plan: str) -> Reruns:
        """Ask consumers' queries of an open plan's candidate environment, as it is now, and of prod.

        Opens a session. Raises PlanError for a plan that is unknown, or has ended.
        """
        from backfill_assets.adapters.consumer_queries import run_commands, run_queries

        record = find_plan(self.control, plan)
        candidate = self.show_candidate(record.id)
        if candidate is None:
            raise PlanError(
                f"plan {record.id} has no candidate environment",
                why=f"it is {record.status.value}",
                fix="apply it again, or name an open plan: backfill plans",
            )
        shown = self.control.environments.read(record.environment)
        asked = concerned(self.project.consumers.values(), candidate, shown)
        queried = run_queries(self.spark, asked, candidate, shown, self.warehouse) if asked else ()
        return Reruns(
            plan=record.id,
            at=datetime.now(UTC),
            pointers={name: pointer.id for name, pointer in candidate.pointers.items()},
            reruns=(*queried, *run_commands(asked, candidate, self.project.root)),
        )

    def took(self, plan: Plan, run: str, began: datetime) -> Actual:
        """What a run that began then has taken until now."""
        entries = [e for e in self.control.ledger.entries(kinds=USEFUL) if e.run == run] if run else []
        return actual(entries, plan.work, self.project.models, began=began, price=self.project.settings.cost)

    def drift(self, plan: Plan) -> list[Drift]:
        """Where models that keep their tables would read other values than they were built from. Opens a session when
        there is something to compare, after a build."""
        found: list[Drift] = []
        for kept in kept_readers(self.project, plan) if plan.work else []:
            facts, name = self.facts(), kept.upstream
            pointer = facts.environment.pointers[name]
            if kept.word and logic_of(pointer.version) != kept.word.version:
                continue  # the word is about a version that is not shown
            version, commit = self.project.fingerprints[name], facts.heads[name]
            built = [Segment(version=version, commit=commit, interval=i) for i in facts.coverage[name].green]
            if not built:
                continue
            differ = self.engine().differing(self.project.models[name], kept.columns, pointer.segments, built)
            if differ:
                again = {
                    reader: Ranges.of(reached(self.project.models[reader], part) for part in differ) & shown.covers
                    for reader in kept.readers
                    if (shown := facts.environment.pointers.get(reader))
                }
                found.append(Drift(kept=kept, intervals=differ, again=again))
        return found

    def sides(self, target: str | None = None) -> tuple[Side, Side]:
        """What a diff's target means, old and new: `A..B`, a plan (its environment and its candidate), or (None) the
        only open plan. Raises PlanError, StateError when there is no such thing."""
        if target and ".." in target:
            one, _, other = target.partition("..")
        else:
            record = find_plan(self.control, target) if target else only_open_plan(self.control)
            one, other = record.environment, record.candidate
        old, new = (resolve_side(name, self.project, self.control, self.log) for name in (one, other))
        return old, new

    def diff(
        self,
        target: str | None = None,
        *,
        models: Sequence[str] = (),
        within: Interval | None = None,
        slices: Sequence[str] = (),
        tolerance: float | None = None,
        sample: int = SAMPLE,
    ) -> Diff:
        """Compare two sides of the project's models (none named: all that either shows). Opens a session only where
        days have to be read; `sample` is how many keys of each kind of row are shown.

        Raises PlanError for sides or columns that cannot be compared, StateError, BuildError.
        """
        from backfill_assets.adapters.diff import diff_model

        old, new = self.sides(target)
        asked = questions(
            self.project,
            self.control.versions.all(),
            self.log,
            old,
            new,
            models=models,
            within=within,
            slices=slices,
            tolerance=tolerance,
        )
        salt = self.control.salt.get
        found = [diff_model(q, lambda: self.spark, self.warehouse, salt, sample=sample) for q in asked]
        return Diff(old=old.name, new=new.name, models=tuple(found))

    def bench(
        self,
        pins: Mapping[str, Mapping[str, object]] | None = None,
        *,
        patches: Mapping[str, Patch] | None = None,
        run: str = "",
        listen: Listener = silence,
    ) -> Workbench:
        """What a build works with. `pins` are frozen sources (None: as they are now), `patches` a plan's revisions."""
        now = self.now()
        if pins is None:
            pins = {name: self.pins.pin(source) for name, source in self.project.sources.items()}
        return Workbench(
            project=within_reach(self.project, self._extents(pins), now),
            control=self.control,
            log=self.log,
            engine=self.engine,
            pins=pins,
            run=run or new_id(),
            environment=self.environment,
            now=now,
            patches=patches or {},
            shown=self.shown,
            listen=listen,
        )

    def engine(self) -> Engine:
        """The engine over the process's Spark session, opened by the first call."""
        with self._lock:
            if self._engine is None:
                from backfill_assets.adapters.engine import SparkEngine

                self._engine = SparkEngine(self.spark, warehouse=self.warehouse, root=self.project.root)
            return self._engine

    @cached_property
    def spark(self) -> SparkSession:
        """The process's Spark session."""
        from backfill_assets.adapters.session import spark_session

        return spark_session(self.project.root, self.project.settings)

    def gate(self, request: Request, facts: Facts, plan: Plan) -> Verdict:
        """Whether the plan's models may be promoted as they are now."""
        models = tuple(name for name in plan.models if name not in plan.held)
        verdict = gate(self.project, facts, self.control.versions.all(), request, models, plan.patches)
        return self._with_consent(facts, plan, verdict)

    def gate_plan(self, facts: Facts, record: PlanRecord) -> Verdict:
        """Whether a stored plan's models may be promoted as they are now, apart from their owners' yes."""
        document = self.control.plans.document(record.id) or {}
        return gate_plan(self.project, facts, self.control.versions.all(), record, document)

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
            said = self.control.plans.document(record.id) or {}
            request = request_from_json(said.get("request", {}))
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
        PromotionError when another one is under way, PlanError for an unknown plan.
        """
        request = request or Request()
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)
        facts = self.facts()
        if plan:
            record = find_plan(self.control, plan)
            said = self.control.plans.document(record.id) or {}
            made = make_plan(self.project, facts, request_from_json(said.get("request", {})))
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

    @property
    def storage(self) -> DeltaTableStorage:
        """The folders of the version tables."""
        return DeltaTableStorage(self.warehouse)

    def look_back(self, release: str | None = None, select: Sequence[str] = ()) -> tuple[Rollback, list[Readability]]:
        """What going back to a release (None: before the last change) would be, and whether it can still be read."""
        found = look_back(
            self.project,
            self.control,
            self.log,
            environment=self.environment,
            now=self.now(),
            release=release,
            select=select,
        )
        return found, rehearse(found.pointers, self.storage, self.log, self.control.ledger)

    def roll_back(
        self,
        release: str | None,
        select: Sequence[str] = (),
        *,
        at_once: bool = False,
        build: Callable[[Workspace, Plan], object],
    ) -> RolledBack:
        """Go back to an older release: build and audit first what it lacks (or not: `at_once`), then move all pointers.

        `build` carries out a plan in a workspace. Nothing moves when anything is in the way or could not be built.
        """
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)

        def extend(found: Rollback) -> None:
            assert found.project is not None
            project, after = found.project, found.after.pointers
            place = Workspace(project=project, control=self.control, log=self.log, pins=self.pins, shown=after)
            sources = {name: self.pins.pin(source) for name, source in found.project.sources.items()}
            build(place, rollback_plan(found, self.now(), sources))

        def move(found: Rollback) -> Environment:
            moved = promote(
                self.control.environments,
                found.environment,
                found.pointers,
                views,
                remove=found.removed,
                by=self.user,
                back_to=found.release.id,
            )
            end_promoted(self.control, moved, by=self.user, views=lambda: views)
            return moved

        return go_back(self.look_back, extend, move, release, select, at_once=at_once)

    @property
    def retention(self) -> timedelta:
        """How long what was superseded stays, so that it can be gone back to."""
        return timedelta(days=self.project.settings.retention_days)

    def janitor(self) -> Housework:
        """What could go: tables that nothing reaches, and what lies in the cache; nothing is changed."""
        rounds = look_around(self.control, self.storage, now=self.now(), retention=self.retention)
        caches = old_cache_files(cache_folder(self.project.root), before=self.now() - self.retention)
        return Housework(rounds=rounds, caches=tuple(caches))

    def sweep(self) -> tuple[Housework, Swept]:
        """Remove it, and join the small files of the control tables; what there was, and what came of it."""
        found = self.janitor()
        swept = sweep(self.control, self.storage, now=self.now(), retention=self.retention, by=self.user)
        remove_cache_files(found.caches)
        self.control.compact()
        return found, swept

    def published(self) -> Workspace:
        """The same warehouse with the project as the environment shows it: what routine runs extend.

        Raises StateError, PlanError when a stored definition cannot be executed.
        """
        shown = self.control.environments.read(self.environment)
        project = published(self.project, shown, self.control.versions.all())
        return Workspace(project=project, control=self.control, log=self.log, pins=self.pins)

    def promote_green(self) -> tuple[Environment, Verdict, tuple[Obstacle, ...]]:
        """Promote, without the models that something is in the way of and those that read them; and what that is."""
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)
        facts = self.facts()
        plan = make_plan(self.project, facts, Request())
        held: list[Obstacle] = []
        models = plan.models
        while True:
            verdict = self.gate(Request(), facts, replace(plan, models=models))
            if verdict.open:
                break
            held.extend(verdict.obstacles)
            named = [f"{m}+" for o in verdict.obstacles for m in o.model.split(", ") if m in models]
            stuck = select_models(self.project, named) if named else models
            models = tuple(m for m in models if m not in stuck)
        moved = facts.environment
        if verdict.pointers:
            moved = promote(self.control.environments, facts.environment, verdict.pointers, views, by=self.user)
        return moved, verdict, tuple(held)

    def watch(self) -> Watched:
        """What is found of the environment and its sources. Opens a session only where a shared catalog has views.

        Raises StateError, PlanError when what is shown cannot be read as a project.
        """
        views, shown = self.shared_views(), self.control.environments.read(self.environment)
        if shown.promotion is not None:
            views = None  # they are ready for both releases, and say so
        records = self.control.versions.all()
        recorded = all((name, pointer.version) in records for name, pointer in shown.pointers.items())
        versions = {name: pointer.version for name, pointer in shown.pointers.items()}
        as_shown = replace(self.project, fingerprints={**self.project.fingerprints, **versions})
        found = take_a_look(
            published(self.project, shown, records) if recorded else as_shown,  # a missing record is a finding
            self.control,
            self.log,
            self.storage,
            SourceChanges(),
            environment=shown,
            fingerprints=self.project.fingerprints,
            now=self.now(),
            at=datetime.now(UTC),
            lasts=timedelta(hours=self.project.settings.watch_hours),
            views=views.drifted(shown) if views is not None else {},
        )
        notices = watch(found)
        return Watched(environment=shown.name, notices=notices, closing=closing(found, notices))

    def evidence(self, plan: str, *, after: Mapping[str, Pointer] | None = None) -> Evidence:
        """Write a plan's packet, unless a promotion sealed the one that is there. Raises PlanError, StateError.

        `after` is what the environment is about to show by this plan; None: it does not move now.
        """
        record = find_plan(self.control, plan)
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
            document = self.control.plans.document(record.id) or {}
            again = make_plan(self.project, facts, request_from_json(document.get("request", {})))
            meant = [impact.to_json() for impact in self.impacts(again)]
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

    def shared_views(self) -> SparkViews | None:
        """The shared catalog's views when the Spark configuration has one. Opens a session only then."""
        from backfill_assets.adapters.machine import conf_dir, read_conf

        conf = read_conf(conf_dir(self.project.root)) | self.project.settings.spark
        if conf.get("spark.sql.catalogImplementation") != "hive":
            return None
        from backfill_assets.adapters.spark_views import SparkViews

        grace = timedelta(seconds=self.project.settings.cutover_grace)
        return SparkViews(self.spark, self.warehouse, grace)
