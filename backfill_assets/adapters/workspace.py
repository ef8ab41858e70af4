"""One project with its state, its machine and its Spark session, in one hand: what every way in starts from."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import doubt
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.build.apply import MODELS_AT_ONCE
from backfill_assets.build.build import Workbench
from backfill_assets.build.engine import Engine
from backfill_assets.build.events import Listener, silence
from backfill_assets.errors import PlanError
from backfill_assets.evidence.gather import gather
from backfill_assets.evidence.inputs import Yes
from backfill_assets.evidence.make import Evidence, make
from backfill_assets.evidence.verify import read_packet
from backfill_assets.evidence.write import digest, evidence_path, write_packet
from backfill_assets.intervals import Ranges
from backfill_assets.plan.estimate import USEFUL, Actual, PlanEstimate, actual, estimate
from backfill_assets.plan.facts import read_facts
from backfill_assets.plan.leases import Claim
from backfill_assets.plan.patch import Patch, reached
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.proof import Drift, kept_readers
from backfill_assets.plan.published import published
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import Case, changed, subject, unapproved
from backfill_assets.promote.approve import complete, statements
from backfill_assets.promote.candidate import known
from backfill_assets.promote.gate import Obstacle, Verdict, gate
from backfill_assets.promote.lifecycle import (
    Abandoned,
    Opened,
    abandon,
    end_promoted,
    find_plan,
    fulfilled,
    look,
    open_plan,
    show_candidate,
)
from backfill_assets.promote.planned import gate_plan
from backfill_assets.promote.promote import ViewCatalog, promote, recover
from backfill_assets.settings import project_root
from backfill_assets.snapshots.loader import load_project
from backfill_assets.snapshots.model import Project
from backfill_assets.state.approvals import Approval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, Pointer, Segment
from backfill_assets.state.ledger import new_id
from backfill_assets.state.plans import PlanRecord, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(kw_only=True)
class Workspace:
    """A loaded project and everything that acts on it. Nothing that needs a JVM is opened before it is used."""

    project: Project
    control: Control
    log: DeltaTableLog
    pins: FilePins = field(default_factory=FilePins)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _engine: Engine | None = field(default=None, repr=False)

    @classmethod
    def open(cls, project: str | Path | None = None) -> Workspace:
        """Load the project (the argument, BACKFILL_PROJECT, or the demo). Raises ProjectError, SettingsError."""
        loaded = load_project(project_root(project))
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

    def facts(self) -> Facts:
        """The situation right now, of every model."""
        return read_facts(self.project, self.control, self.log, self.pins, now=self.now(), environment=self.environment)

    def plan(self, request: Request | None = None) -> Plan:
        """What has to be done now."""
        return make_plan(self.project, self.facts(), request or Request())

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
        entries = self.control.ledger.entries(kinds=USEFUL) if plan.work else []
        price = self.project.settings.cost
        return estimate(plan.work, entries, self.project.models, at_once=MODELS_AT_ONCE, price=price)

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

    def bench(
        self,
        pins: Mapping[str, Mapping[str, object]] | None = None,
        *,
        patches: Mapping[str, Patch] | None = None,
        run: str = "",
        listen: Listener = silence,
    ) -> Workbench:
        """What a build works with. `pins` are frozen sources (None: as they are now), `patches` a plan's revisions."""
        if pins is None:
            pins = {name: self.pins.pin(source) for name, source in self.project.sources.items()}
        return Workbench(
            project=self.project,
            control=self.control,
            log=self.log,
            engine=self.engine,
            pins=pins,
            run=run or new_id(),
            environment=self.environment,
            patches=patches or {},
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
        verdict = gate(self.project, facts, self.control.versions.all(), request, plan.models, plan.patches)
        return self._with_approvals(facts, verdict)

    def gate_plan(self, facts: Facts, record: PlanRecord) -> Verdict:
        """Whether a stored plan's models may be promoted as they are now, apart from their owners' yes."""
        document = self.control.plans.document(record.id) or {}
        return gate_plan(self.project, facts, self.control.versions.all(), record, document)

    def case(self, facts: Facts, record: PlanRecord) -> Case:
        """A stored plan with what it would show now, and what was found out and said about it."""
        return Case(
            record=record,
            pointers=self.gate_plan(facts, record).pointers,
            proofs=self.control.proofs.of(record.id),
            approvals=self.control.approvals.of([record.id]),
        )

    def statements(self, plan: str, *, by: str = "", owners: Sequence[str] = (), **said: Any) -> list[Approval]:
        """What `by` (default: the user) says when approving a plan; `said` are a reason and accepted findings."""
        record, facts = find_plan(self.control, plan), self.facts()
        complete(record, self.gate_plan(facts, record))
        case = self.case(facts, record)
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

    def _with_approvals(self, facts: Facts, verdict: Verdict) -> Verdict:
        """The verdict with what the owners have not said yes to."""
        if not any(changed(facts.environment, p) for p in verdict.pointers):
            return verdict
        moving = {p.model for p in verdict.pointers}
        records = [r for r in self.control.plans.all() if r.live and r.environment == self.environment]
        cases = [self.case(facts, r) for r in records if moving & set(r.versions) and self._is_ours(facts, r)]
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
            verdict = self._with_approvals(facts, self.gate_plan(facts, find_plan(self.control, plan)))
        else:
            verdict = self.gate(request, facts, make_plan(self.project, facts, request))
        if not verdict.open:
            return facts.environment, verdict
        self.packets(facts.environment, verdict.pointers)
        moved = promote(self.control.environments, facts.environment, verdict.pointers, views)
        end_promoted(self.control, moved, by=self.user, views=lambda: views)
        return moved, verdict

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
            stuck = select_models(self.project, [f"{o.model}+" for o in verdict.obstacles])
            models = tuple(m for m in models if m not in stuck)
        moved = facts.environment
        if verdict.pointers:
            moved = promote(self.control.environments, facts.environment, verdict.pointers, views)
        return moved, verdict, tuple(held)

    def evidence(self, plan: str, *, after: Mapping[str, Pointer] | None = None) -> Evidence:
        """Write a plan's packet, unless a promotion sealed the one that is there. Raises PlanError, StateError.

        `after` is what the environment is about to show by this plan; None: it does not move now.
        """
        record = find_plan(self.control, plan)
        folder = self.evidence_folder(record.id)
        sealed = record.status is Status.PROMOTED
        if sealed and (there := read_packet(folder)) is not None:
            return Evidence(packet=there, location=folder.location, digest=digest(folder), changed=False)
        tables, content, said = DeltaTableFiles(self.warehouse), "", None
        facts = self.facts()
        if record.live and self._is_ours(facts, record):
            case = self.case(facts, record)
            content = subject(self.project, facts, case).content
            said = [Yes(approval=a, doubt=self._why_not(facts, case, a)) for a in case.approvals]
        inputs = gather(
            self.project,
            self.control,
            self.log,
            tables,
            record,
            after=after,
            approvals=said,
            content=content,
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

    def shared_views(self) -> ViewCatalog | None:
        """The shared catalog's views when the Spark configuration has one. Opens a session only then."""
        from backfill_assets.adapters.machine import conf_dir, read_conf

        conf = read_conf(conf_dir(self.project.root)) | self.project.settings.spark
        if conf.get("spark.sql.catalogImplementation") != "hive":
            return None
        from backfill_assets.adapters.spark_views import SparkViews

        grace = timedelta(seconds=self.project.settings.cutover_grace)
        return SparkViews(self.spark, self.warehouse, grace)
