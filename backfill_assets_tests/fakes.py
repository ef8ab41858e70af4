"""What stands in for Spark, Delta tables, sources and views in the unit tests?

`FakeTables` are version tables in memory, with commits and a log. `FakeEngine` builds into them, `FakeViews` are the
views of a shared catalog, `Life` is a process that can be killed between any two steps.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from backfill_assets.audits.counts import Counts
from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import AuditReads, Job, ModelInput, OneAlone
from backfill_assets.build.events import Event
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit, Model, Project, Source, Upstream
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments
from backfill_assets.core.settings import Settings
from backfill_assets.plan.facts import Facts, bounded_now, read_facts
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.source_history import SourceChange, SourceHistory
from backfill_assets.plan.stages import Plan, Request, plan_from_json
from backfill_assets.promote.approval import EVERY_PROOF, not_counted, subject
from backfill_assets.promote.approve import Approver, statements
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.gate import Verdict, judge_rows
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.promote import ViewCatalog
from backfill_assets.promote.proposal import propose
from backfill_assets.promote.release import Attempt, Mover, Released, Sealing, release_case
from backfill_assets.state.changes import Changes
from backfill_assets.state.columns import Columns
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.proofs import DIFF, Finding, Proof
from backfill_assets.state.required_approvals import needed_from
from backfill_assets.state.rules import declared_rules
from backfill_assets.state.store import ControlTable, Filter, Keep, Row, Sealed, Store, TableSpec
from backfill_assets.state.tables import Contents, DataCommit, Readable, StoredTable
from backfill_assets.state.versions import Version
from backfill_assets_tests.memory_store import MemoryStore

NOW = utc("2024-01-11T12:00")
START = utc("2024-01-01")


# --- values -----------------------------------------------------------------------------------------------------------


def days(first: str, last: str | None = None) -> Interval:
    """Whole days of January 2024, both ends named as people do: `days("03", "05")`."""
    text = [d if len(d) > 2 else f"2024-01-{d}" for d in (first, last or first)]
    return Interval(utc(text[0]), Cadence.DAILY.shift(utc(text[1]), 1))


def ranges(*intervals: Interval) -> Ranges:
    return Ranges.of(intervals)


def a_model(name: str, *upstreams: str, **more: object) -> Model:
    """A daily SQL model from 2024-01-01, in batches of three days, with an audit `rows_ok` that a Cell can fail."""
    values: dict[str, object] = {
        "name": name,
        "path": Path(f"/project/{name}.sql"),
        "language": "sql",
        "code": "SELECT 1",
        "start": START,
        "grain": ("ds", "id"),
        "batch_size": 3,
        "audits": (Audit(name="rows_ok", kind="not_null", arguments={"columns": ("id",)}),),
        "upstreams": tuple(Upstream(name=u) for u in upstreams),
    }
    return Model(**(values | more))  # type: ignore[arg-type]


def a_source(name: str) -> Source:
    return Source(name=name, path=f"/sources/{name}", time_column="at", file=Path("/project/sources.yml"))


def a_project(*models: Model, versions: Mapping[str, str] | None = None) -> Project:
    """The models (given in dependency order) as a project; what they read beside each other are sources.

    The fingerprint of a model is its name and what `versions` says ("1").
    """
    names = [m.name for m in models]
    sources = {u.name: a_source(u.name) for m in models for u in m.upstreams if u.name not in names}
    return Project(
        root=Path("/project"),
        settings=Settings(),
        models={m.name: m for m in models},
        sources=sources,
        consumers={},
        columns={},
        lineage={},
        fingerprints={n: f"{n}-{(versions or {}).get(n, '1')}" for n in names},
    )


def a_pointer(model: str, version: str, *parts: Interval, commit: int = 1) -> Pointer:
    return Pointer(
        model=model,
        time_column="ds",
        timestamps=False,
        columns=(("ds", "date"), ("id", "bigint")),
        segments=Segments.of_table(version, commit, parts),
    )


def nothing(*_: object) -> None:
    """A hook that does nothing."""


# --- tables and the engine --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """The rows of one interval: how many, how many fail which audit, and which batch computed them from what."""

    rows: int = 10
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    batch: str = ""
    read: tuple[str, ...] = ()


@dataclass(slots=True)
class _Table:
    commits: list[DataCommit | None] = field(default_factory=list[DataCommit | None])
    states: list[dict[datetime, Cell]] = field(default_factory=list[dict[datetime, Cell]])


class FakeTables:
    """A TableLog and a TableStorage over version tables in memory.

    Commit 0 creates a table; a commit without a DataCommit is harmless.
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], _Table] = {}
        self.lost_files: set[tuple[str, datetime]] = set()
        self.looks: dict[tuple[str, str], float] = {}
        """When somebody looked at a table's files; empty: nobody remembers it of any."""
        self.looked: list[tuple[str, str]] = []
        """The tables whose files were looked at."""
        self.before_remove: Callable[[str, str], object] = nothing
        self._lock = threading.Lock()

    def remember(self) -> None:
        """Nothing is kept."""

    def head(self, model: str, version: str) -> int:
        table = self._tables.get((model, version))
        return len(table.commits) - 1 if table else -1

    def commits(self, model: str, version: str) -> list[DataCommit]:
        table = self._tables.get((model, version))
        return [c for c in table.commits if c] if table else []

    def rows(self, model: str, version: str, commit: int) -> Mapping[datetime, int]:
        return {start: cell.rows for start, cell in self._whole(model, version, commit).items()}

    def files(self, model: str, version: str, commit: int) -> Mapping[datetime, frozenset[str]]:
        return {start: frozenset({cell.batch}) for start, cell in self._whole(model, version, commit).items()}

    def contents(self, model: str, version: str, commit: int) -> Contents:
        rows = self.rows(model, version, commit)
        return Contents(files=dict.fromkeys(rows, 1), rows=rows)

    def _whole(self, model: str, version: str, commit: int) -> dict[datetime, Cell]:
        if self.head(model, version) < commit:
            raise StateError(f"a version's table is gone: {model} {version}")
        return self.cells(model, version, commit)

    def cells(self, model: str, version: str, commit: int = -1) -> dict[datetime, Cell]:
        """Everything in the table at a commit (-1: the newest)."""
        return self._tables[model, version].states[commit]

    def create(self, model: str, version: str) -> None:
        with self._lock:
            self._tables.setdefault((model, version), _Table([None], [{}]))

    def write(
        self,
        model: str,
        version: str,
        batch: str,
        interval: Interval,
        cells: Mapping[datetime, Cell],
        *,
        merged: bool = False,
    ) -> DataCommit:
        """Replace the interval's rows in one commit; a merged one says how many cells' rows are new or others."""
        with self._lock:
            table = self._tables[model, version]
            kept = {s: c for s, c in table.states[-1].items() if not interval.start <= s < interval.end}
            rows = sum(c.rows for c in cells.values())
            before = {s: (c.rows, c.failures) for s, c in table.states[-1].items()}
            new = sum(c.rows for s, c in cells.items() if s not in before)
            other = sum(c.rows for s, c in cells.items() if s in before and before[s] != (c.rows, c.failures))
            commit = DataCommit(
                table_commit=len(table.commits),
                batch=batch,
                interval=interval,
                rows=rows,
                bytes=new + other if merged else rows,
                changes=Changes(inserted=new, updated=other) if merged else None,
            )
            table.commits.append(commit)
            table.states.append(kept | dict(cells))
            return commit

    def foreign(self, model: str, version: str) -> None:
        """Somebody else's commit: no batch, no interval."""
        with self._lock:
            table = self._tables[model, version]
            number = len(table.commits)
            table.commits.append(DataCommit(table_commit=number, batch="", interval=None, rows=1, bytes=1))
            table.states.append(dict(table.states[-1]))

    def optimize(self, model: str, version: str) -> None:
        """A commit that changes no rows."""
        with self._lock:
            table = self._tables[model, version]
            table.commits.append(None)
            table.states.append(dict(table.states[-1]))

    def drop(self, model: str, version: str) -> None:
        """Somebody deletes the folder."""
        del self._tables[model, version]

    # what a TableStorage does

    def tables(self) -> list[StoredTable]:
        return [
            StoredTable(model=m, version=v, files=len(t.states), bytes=100 * len(t.states))
            for (m, v), t in sorted(self._tables.items())
        ]

    def readable(self, model: str, version: str, commit: int, interval: Interval, *, footers: bool = True) -> Readable:
        self.looked.append((model, version))
        if self.head(model, version) < commit:
            return Readable(broken=(f"{model}/{version} has no commit {commit}",))
        cells = {s: c for s, c in self.cells(model, version, commit).items() if interval.start <= s < interval.end}
        lost = {s: f"{s:%Y-%m-%d} is missing" for s in cells if (model, s) in self.lost_files}
        rows = sum(c.rows for c in cells.values())
        broken = tuple(lost.values())
        return Readable(files=len(cells), rows=rows, bytes=len(cells), broken=broken, at=frozenset(lost))

    def last_look(self, model: str, version: str, interval: Interval) -> float | None:
        return self.looks.get((model, version), 0.0) if self.looks else None

    def remove(self, model: str, version: str) -> None:
        self.before_remove(model, version)
        self._tables.pop((model, version), None)


class FakeEngine:
    """An Engine over FakeTables. Hooks run before a write, between its commit and its return, and before a scan.

    Every interval has ten good rows unless `cell` says otherwise. A write checks that what it reads is there, at the
    commits that the job froze.
    """

    def __init__(self, tables: FakeTables) -> None:
        self.tables = tables
        self.cell: Callable[[Job, Interval], Cell] = lambda job, interval: Cell()
        self.before_write: Callable[[Job, Interval], object] = nothing
        self.after_commit: Callable[[Job, Interval], object] = nothing
        self.before_scan: Callable[[Job, Ranges], object] = nothing
        self.before_prepare: Callable[[Job], object] = nothing
        self.before_copy: Callable[[Job], object] = nothing
        self.other: Callable[[Job, Interval], OneAlone | None] = lambda job, interval: None
        self.alone: list[tuple[str, Interval]] = []
        self.columns: tuple[tuple[str, str], ...] = (("ds", "date"), ("id", "bigint"))
        self.writes: list[tuple[str, Interval]] = []
        self.copies: list[tuple[str, Interval]] = []
        self.scans: list[tuple[str, Ranges]] = []
        self.audit_reads: dict[str, AuditReads] = {}
        self.samples: list[tuple[str, str]] = []
        self.most_at_once: dict[str, int] = {}
        self.hollow: set[str] = set()
        """Models of which intervals are declared empty: no rows need be there."""
        self.cancelled = threading.Event()
        self._running: dict[str, int] = {}
        self._lock = threading.Lock()

    def prepare(self, job: Job, sample: Interval) -> tuple[tuple[str, str], ...]:
        self.before_prepare(job)
        self.tables.create(job.model.name, job.version)
        return self.columns

    def write(self, job: Job, batch: str, interval: Interval) -> DataCommit:
        name = job.model.name
        with self._lock:
            self._running[name] = self._running.get(name, 0) + 1
            self.most_at_once[name] = max(self.most_at_once.get(name, 0), self._running[name])
            self.writes.append((name, interval))
        try:
            self.before_write(job, interval)
            read = self._read(job, interval)
            cells = {
                unit.start: replace(self.cell(job, unit), batch=batch, read=read)
                for unit in job.model.cadence.split(interval)
            }
            merged = job.model.write == "merge"
            commit = self.tables.write(name, job.version, batch, interval, cells, merged=merged)
            self.after_commit(job, interval)
            return commit
        finally:
            with self._lock:
                self._running[name] -= 1

    def one_alone(self, job: Job, commit: int, interval: Interval) -> OneAlone | None:
        self.alone.append((job.model.name, interval))
        return self.other(job, interval)

    def copy(self, job: Job, batch: str, segments: Segments) -> DataCommit:
        self.before_copy(job)
        self.tables.create(job.model.name, job.version)
        span = segments.covers.span
        assert span is not None
        cells = {at: replace(cell, batch=batch) for at, cell in self._shown(job.model.name, segments).items()}
        return self.tables.write(job.model.name, job.version, batch, span, cells)

    def copy_renamed(
        self, job: Job, batch: str, interval: Interval, segments: Segments, columns: Sequence[tuple[str, str]]
    ) -> DataCommit:
        self.before_copy(job)
        name = job.model.name
        self.copies.append((name, interval))
        cells = {at: replace(cell, batch=batch) for at, cell in self._shown(name, segments).items()}
        commit = self.tables.write(name, job.version, batch, interval, cells)
        self.after_commit(job, interval)
        return commit

    def differing(
        self,
        model: Model,
        columns: Sequence[str],
        shown: Segments,
        built: Segments,
        before: Mapping[str, str] | None = None,
    ) -> Ranges:
        one, other = (self._shown(model.name, segments) for segments in (shown, built))
        both = shown.covers & built.covers
        same = {at for at in one if at in other and replace(one[at], batch="") == replace(other[at], batch="")}
        return Ranges.of(unit for unit in both.split(model.cadence) if unit.start not in same)

    def _shown(self, name: str, segments: Segments) -> dict[datetime, Cell]:
        return {
            at: cell
            for s in segments
            for at, cell in self.tables.cells(name, s.version, s.commit).items()
            if s.interval.start <= at < s.interval.end
        }

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Mapping[datetime, Counts]:
        self.before_scan(job, intervals)
        self.scans.append((job.model.name, intervals))
        self.audit_reads[job.model.name] = reads
        cells = self.tables.cells(job.model.name, job.version, commit)
        starts = {unit.start for unit in intervals.split(job.model.cadence)}
        return {s: Counts(rows=c.rows, failures=c.failures) for s, c in cells.items() if s in starts and c.rows}

    def sample(
        self, job: Job, commit: int, intervals: Ranges, reads: AuditReads, audit: str
    ) -> Mapping[datetime, Sequence[str]]:
        self.samples.append((str(intervals), audit))
        return {unit.start: (f"{audit}@{unit}",) for unit in intervals.split(job.model.cadence)}

    def cancel(self) -> None:
        self.cancelled.set()

    def _read(self, job: Job, interval: Interval) -> tuple[str, ...]:
        found: list[str] = []
        for name, read in job.inputs.items():
            if isinstance(read, ModelInput):
                owner = read.model.name
                table = self.tables.cells(owner, read.version, read.commit) if read.commit >= 0 else {}
                cells = {**table, **self._shown(owner, read.over)}
                for unit in needed(job.model, read.model, interval).split(read.model.cadence):
                    if unit.start not in cells and (interval.end > NOW or name in self.hollow):
                        continue  # an open interval reads what there is, and so does one of declared-empty ones
                    assert unit.start in cells, f"{job.model.name} {interval} reads {name} {unit}, which is not there"
                    found.append(cells[unit.start].batch)
        return tuple(dict.fromkeys(found))


class FakePins:
    """SourcePins that say `commits`, and remember who asked."""

    def __init__(self, **commits: int) -> None:
        self.commits = commits
        self.asked: list[str] = []

    def pin(self, source: Source) -> Mapping[str, object]:
        self.asked.append(source.name)
        return {"commit": self.commits.get(source.name, 1)}

    def not_there(self, source: Source, pin: Mapping[str, object]) -> str:
        return ""


def sealed(release: Sealing) -> Mapping[str, str]:
    """For tests that are not about packets: the digest of a release's."""
    return {release.release: "its packet"}


def attempted(look: Callable[[], Case]) -> Callable[[], Attempt]:
    """A look that finds a case and nothing else."""
    return lambda: Attempt(case=look())


class World:
    """A project with everything it needs, in memory: what `Context` is for the real thing."""

    def __init__(
        self,
        *models: Model,
        store: Store | None = None,
        versions: Mapping[str, str] | None = None,
        tables: FakeTables | None = None,
    ) -> None:
        self.project = a_project(*models, versions=versions)
        self.store = store or MemoryStore()
        self.control = Control.over(self.store)
        self.tables = tables or FakeTables()
        self.engine = FakeEngine(self.tables)
        self.engines_opened = 0
        self.pins = FakePins()
        self.changes: list[SourceChange] = []
        """What came to the sources, commit by commit."""
        self.extents: dict[str, Interval | None] = {}
        self.ready_until: dict[str, datetime] = {}
        self.sleeps: list[float] = []
        self.events: list[Event] = []

    def open_engine(self) -> FakeEngine:
        self.engines_opened += 1
        return self.engine

    def bench(self, run: str = "run", **more: object) -> Workbench:
        values: dict[str, object] = {
            "project": bounded_now(
                self.project, self.control, self.tables, self.extents, NOW, self.ready_until, environment="prod"
            ),
            "declared": self.project.models,
            "control": self.control,
            "log": self.tables,
            "engine": self.open_engine,
            "pins": {name: {"commit": 1} for name in self.project.sources},
            "run": run,
            "environment": "prod",
            "now": NOW,
            "listen": self.events.append,
            "sleep": self.sleeps.append,
        }
        return Workbench(**(values | more))  # type: ignore[arg-type]

    def facts(self, now: datetime = NOW) -> Facts:
        facts = read_facts(self.project, self.control, self.tables, self.pins, now=now, environment="prod")
        return replace(facts, sources=replace(facts.sources, extents=self.extents, ready_until=self.ready_until))

    def plan(self, request: Request | None = None, now: datetime = NOW) -> Plan:
        made = make_plan(self.project, self.facts(now), request or Request())
        assert plan_from_json(json.loads(json.dumps(made.to_json()))) == made, "a plan is not read back as it was"
        return made

    # what comes to the sources

    def rows_come(self, day: Interval, source: str = "raw") -> None:
        """To a source, of a day that may be long over, in a commit of its own."""
        commit = self.pins.commits[source] = self.pins.commits.get(source, 1) + 1
        self.changes.append(SourceChange(name=f"commit {commit}", commit=commit, touches=Ranges((day,))))

    def history(self, source: Source, since: int) -> SourceHistory:
        """As a SourceReader does."""
        return SourceHistory(changes=self.changes, since=0, head=self.pins.commits.get(source.name, 1))

    # what a Context does with plans and releases

    def cases(self, **more: object) -> Cases:
        """How cases of this world are made: by the rules that the project declares, so owners approve what changes."""
        project, rules = self.project, declared_rules(self.project)
        values: dict[str, object] = {
            "project": project,
            "control": self.control,
            "log": self.tables,
            "required": rules.approvals.required,
            "owners": lambda name: needed_from(rules, rules, name),
            "not_counted": lambda record, approval: not_counted(
                project, self.facts(), record, approval, now=datetime.now(UTC)
            ),
            "history": self.history,
        }
        return Cases(**(values | more))  # type: ignore[arg-type]

    def prove(self, plan: str, *findings: Finding, now: datetime = NOW, at: datetime | None = None) -> None:
        """What `backfill apply` does after a build: it compares, asks and checks, and keeps what it finds."""
        facts, cases = self.facts(now), self.cases()
        content = subject(self.project, facts, cases.review(facts, find_plan(self.control, plan))).content
        blank = Proof(plan=plan, kind=DIFF, content=content, at=at or datetime.now(UTC), document={})
        kinds = sorted(EVERY_PROOF)
        self.control.proofs.put([replace(blank, kind=k, findings=findings if k == DIFF else ()) for k in kinds])

    def approve(self, plan: str, *, now: datetime = NOW, at: datetime | None = None) -> None:
        """Each owner of what an open plan changes says yes to it, as by `backfill approve`; eva where there is none."""
        facts, record, at = self.facts(now), find_plan(self.control, plan), at or datetime.now(UTC)
        review = self.cases().review(facts, record)
        for owner in subject(self.project, facts, review).owners:
            who = Approver(account=owner or "eva", host="laptop")
            for said in statements(self.project, facts, review, who, owners=(owner,), now=at):
                self.control.approvals.put(said)

    def release(
        self,
        request: Request | None = None,
        *,
        now: datetime = NOW,
        plan: str = "",
        by: str = "ana",
        purpose: Purpose = Purpose.PROMOTION,
        control: Control | None = None,
        views: ViewCatalog | None = None,
        models: Sequence[str] | None = None,
        **rules: object,
    ) -> Released:
        """Promote what is complete of a request, or of a stored plan, as far as the gate allows."""
        control = control or self.control

        def look() -> Case:
            facts = read_facts(self.project, control, self.tables, self.pins, now=now, environment="prod")
            facts = replace(facts, sources=replace(facts.sources, extents=self.extents))
            stored = find_plan(control, plan) if plan else None
            cases = self.cases(control=control, **rules)
            asked = cases.request(stored) if stored else request or Request()
            made = make_plan(self.project, facts, asked)
            made = made if models is None else replace(made, models=tuple(models))
            return cases.promotion(asked, facts, made, stored=stored, purpose=purpose)

        return release_case(
            Mover(control=control, log=self.tables, environment="prod", views=views, by=by),
            attempted(look),
            evidence=sealed,
        )


def gated(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    request: Request,
    models: Sequence[str],
    patches: Mapping[str, Patch] | None = None,
) -> Verdict:
    """What the gate says of these models' rows, whoever owns them."""
    wanted = propose(facts.bounded(project), facts, versions, request, models, patches)
    return judge_rows(Case(project=project, facts=facts, versions=versions, request=request, wanted=wanted))


# --- views and deaths -------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process is dead. No handler can do anything about it: whatever it touches next fails as well."""


@dataclass(slots=True)
class Life:
    """A process that dies after `steps_left` steps (None: never). A step is a moment before or after a side effect."""

    steps_left: int | None = None
    steps: int = 0
    dead: bool = False

    def step(self) -> None:
        if self.dead or self.steps_left == 0:
            self.dead = True
            raise Crash
        self.steps += 1
        if self.steps_left is not None:
            self.steps_left -= 1


@dataclass(slots=True)
class MortalTable:
    """A ControlTable as one process uses it."""

    table: ControlTable
    life: Life

    def read(self, where: Filter | None = None) -> list[Row]:
        self._check()
        return self.table.read(where)

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        self._check()
        return self.table.stream(where)

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        self._check()
        return self.table.columns(names, where, after=after)

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        self._check()
        return self.table.chosen(names, keep, after=after)

    def sealed(self) -> Sealed | None:
        self._check()
        return self.table.sealed()

    def revision(self) -> int:
        self._check()
        return self.table.revision()

    def state(self) -> str:
        self._check()
        return self.table.state()

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        self._check()
        return self.table.read_at(where)

    def append(self, rows: Sequence[Row]) -> None:
        self.life.step()
        self.table.append(rows)
        self.life.step()

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        self.life.step()
        found = self.table.replace(rows, where=where, revision=revision, note=note)
        self.life.step()
        return found

    def compact(self, most_files: int = 64) -> None:
        self.life.step()
        self.table.compact(most_files)

    def _check(self) -> None:
        if self.life.dead:
            raise Crash


@dataclass(slots=True)
class MortalStore:
    """A store as one process uses it."""

    store: Store
    life: Life

    def table(self, spec: TableSpec) -> MortalTable:
        return MortalTable(self.store.table(spec), self.life)


@dataclass(frozen=True, slots=True)
class Expanded:
    """A view that shows `old` while the environment's row holds its id, and `new` while it holds that one's."""

    old: Pointer
    new: Pointer


@dataclass(slots=True)
class Catalog:
    """What a shared catalog holds: view name → plain (a pointer) or expanded."""

    views: dict[str, Pointer | Expanded] = field(default_factory=dict[str, "Pointer | Expanded"])

    def shows(self, environment: Environment, model: str) -> Pointer | None:
        """The pointer whose rows a reader of the view gets now; None when there is no view, or it has no rows."""
        view = self.views.get(model)
        if not isinstance(view, Expanded):
            return view
        there = environment.pointers.get(model)
        return next((p for p in (view.old, view.new) if there and p.id == there.id), None)


class FakeViews:
    """A ViewCatalog as one process uses it. `hook` is called before each change, with what is about to happen."""

    def __init__(self, catalog: Catalog, life: Life | None = None, hook: Callable[[str], object] = nothing) -> None:
        self.catalog, self.life, self.hook = catalog, life or Life(), hook
        self.grace = timedelta()
        self.prepared: list[str] = []
        """The versions whose tables have names."""

    def prepare(self, pointers: Sequence[Pointer]) -> None:
        self.prepared += [s.version for p in pointers for s in p.segments]

    def expand(self, environment: str, moves: Sequence[tuple[Pointer, Pointer]], cutover: datetime) -> None:
        for old, new in moves:
            self.hook(f"expand {new.model}")
            self.life.step()
            assert old.model in self.catalog.views, "a view is expanded that does not exist"
            self.catalog.views[old.model] = Expanded(old, new)
            self.life.step()

    def settle(self, environment: Environment, models: Collection[str]) -> None:
        for model in models:
            self.hook(f"settle {model}")
            self.life.step()
            if model in environment.pointers:
                self.catalog.views[model] = environment.pointers[model]
            else:
                self.catalog.views.pop(model, None)
            self.life.step()
