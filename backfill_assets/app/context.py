"""One project with its state, its machine and its Spark session, in one hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.account import account
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.heartbeat import (
    check_heard,
    machine_name,
    read_heartbeats,
    sending_heartbeats,
)
from backfill_assets.adapters.known_days import KnownDays
from backfill_assets.adapters.known_files import KnownFiles
from backfill_assets.adapters.known_logs import KnownLogs
from backfill_assets.adapters.known_rows import KnownRowsFile
from backfill_assets.adapters.signatures import read_signers
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_columns import file_columns
from backfill_assets.adapters.source_days import SourceDays
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.source_ready import ready_until
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.adapters.turn_lock import only_builder
from backfill_assets.adapters.warehouse import open_store
from backfill_assets.adapters.writer_lease import writing
from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Engine
from backfill_assets.build.events import Listener, silence
from backfill_assets.build.hold import Hold, real_clock
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import BackfillError, ProjectError, SettingsError, StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.masking import with_faults_masked
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.processes import is_running
from backfill_assets.files.untrusted import UNTRUSTED
from backfill_assets.plan.dropped_columns import with_hidden_columns, with_stored_definitions
from backfill_assets.plan.facts import Facts, bounded_now, read_facts
from backfill_assets.plan.faulty import columns_before, refuse_edited, with_versions_of
from backfill_assets.plan.frozen import Frozen
from backfill_assets.plan.odd_files import FileColumns
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.source_bytes import TimedFile
from backfill_assets.project.loader import load_project, load_with_columns
from backfill_assets.project.records import Records
from backfill_assets.project.settings import cache_folder, project_root
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, refuse_other_letters
from backfill_assets.state.heartbeats import routine_at_work
from backfill_assets.state.ledger import new_id
from backfill_assets.state.provisional import provisional_parts
from backfill_assets.state.read_only import ReadOnlyStore
from backfill_assets.state.releases import refuse_lost
from backfill_assets.state.rules import RulesInForce, declared_rules
from backfill_assets.state.settling import Settling, settling, settling_by
from backfill_assets.state.store import Store
from backfill_assets.state.upgrades import under_known_names, versions_by_this_release
from backfill_assets.state.versions import VersionRecords, columns_ever

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from backfill_assets.adapters.spark_views import SparkViews


UNTRUSTED_WHY = f"the change is untrusted ({UNTRUSTED}, --untrusted or `untrusted:`): its code is not executed"


def _records(warehouse: str) -> Records:
    return Control.over(DeltaStore(warehouse)).versions.records()


def _by_columns_before(project: Project, shown: Environment, versions: VersionRecords) -> Project:
    """The project, its models that cannot be computed as their sources are by now by the versions that they were built
    as, where the code is what it was."""
    if columns := columns_before(project, shown.versions, versions):
        with suppress(ProjectError):  # as with another column that the code reads since
            return with_versions_of(project, load_with_columns(project, columns, _records))
    return project


def _own_cache(project: Project) -> Path | None:
    """The folder of what can be made again; None where a stranger may have put one into the project's folder."""
    return None if project.settings.untrusted else cache_folder(project.root)


def _known_logs(project: Project, cache: Path) -> KnownLogs:
    return KnownLogs(cache / "logs" / f"{digest(project.settings.warehouse)}.json")


@dataclass(kw_only=True)
class Context:
    """A loaded project and where it lives. Nothing that needs a JVM is opened before it is used."""

    project: Project
    control: Control
    log: DeltaTableLog
    pins: FilePins = field(default_factory=FilePins)
    days: SourceDays = field(default_factory=SourceDays)
    shown: Mapping[str, Pointer] | None = None
    """What builds find corrections of their inputs in; None: what the environment shows."""
    keeps_older: bool = False
    """Whether what the environment shows of older logic stays, as in routine runs."""
    acting: str = ""
    """The account that launched this, where a deployment asserts it; empty: the system's user."""
    clock: Callable[[], datetime] = real_clock
    """The clock on the wall, by which windows are, also where that of the project is fixed."""
    long: bool = False
    """Whether what is to be done takes minutes: the session is opened for that."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _engine: Engine | None = field(default=None, repr=False)

    @classmethod
    def open(cls, project: str | Path | None = None) -> Context:
        """Load the project (the argument, BACKFILL_PROJECT, or the demo).

        Raises ProjectError, SettingsError, and StateError when its warehouse is not the one that it should be.
        """
        loaded = load_project(project_root(project), _records)
        store: Store = open_store(loaded.settings, loaded.root)
        if loaded.settings.untrusted:
            store = ReadOnlyStore(store, UNTRUSTED_WHY)
        cache = _own_cache(loaded)
        control = Control.over(store, KnownRowsFile(cache / "ledger" / "rows.arrow") if cache else None)
        versions: VersionRecords = {}
        with suppress(StateError):  # whoever needs the records says what is wrong with them
            versions = versions_by_this_release(control, loaded)
            if loaded.faults:
                loaded = _by_columns_before(loaded, control.environments.read(loaded.settings.environment), versions)
            loaded = under_known_names(loaded, versions)
            loaded = with_faults_masked(loaded, columns_ever(versions)) if loaded.faults else loaded
            if versions:
                loaded = with_hidden_columns(loaded, control.environments.read(loaded.settings.environment), versions)
        refuse_edited(loaded, versions)
        days = SourceDays(KnownDays(cache / "sources") if cache else None)
        log = DeltaTableLog(loaded.settings.warehouse, _known_logs(loaded, cache) if cache else None)
        return cls(project=loaded, control=control, log=log, days=days)

    @property
    def warehouse(self) -> str:
        return self.project.settings.warehouse

    @property
    def environment(self) -> str:
        """The environment that plans are about."""
        return self.project.settings.environment

    @property
    def user(self) -> str:
        """The account that acts, as the records name it: the system's, or what the deployment says who launched."""
        return self.acting or account()

    def rules(self, facts: Facts | None = None) -> RulesInForce:
        """The rules that decide whose approval counts, and what the project's files say: as read with the facts, if
        they were. Raises StateError."""
        if facts and facts.rules:
            return facts.rules
        declared = declared_rules(self.project, read_signers(self.project.root))
        found = self.control.rules.in_force(self.environment, declared)
        if not found.number:
            refuse_lost(self.control.releases.all(self.environment))
        return found

    def settling(self) -> Settling:
        """Which intervals of what is shown are provisional. Raises StateError."""
        return settling(self.control, self.environment, self.now())

    def provisional(self, environment: Environment) -> dict[str, Ranges]:
        """Model → what of it an environment shows provisionally, of all that have a window there. Raises StateError."""
        return provisional_parts(self.control, environment, self.now())

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
        self.log.remember()
        self.control.environments.refuse_twin(facts.environment)
        refuse_other_letters(facts.environment.name, facts.environment.pointers, self.project.models)
        pins = facts.sources.pins
        return replace(
            facts,
            sources=replace(facts.sources, extents=self._extents(pins), ready_until=self._ready_until(pins)),
            rules=self.rules(),
            settling=settling_by(self.control.rules.of(self.environment), facts.past.releases, facts.now),
            keeps_older=self.keeps_older,
        )

    def source_days(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Ranges]:
        """For which time each source, frozen as `pins` say, has rows; not of those whose files do not tell."""
        known = {n: self.days.of(self.project.sources[n], pin) for n, pin in pins.items() if n in self.project.sources}
        return {name: days for name, days in known.items() if days is not None}

    def source_parts(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, list[TimedFile]]:
        """The files of each source, frozen as `pins` say; not of those whose files nobody can list, or not now: who
        reads them says why."""
        found: dict[str, list[TimedFile]] = {}
        for name in (n for n in pins if n in self.project.sources):
            with suppress(BackfillError, OSError):
                if (parts := self.days.parts(self.project.sources[name], pins[name])) is not None:
                    found[name] = parts
        return found

    def file_columns(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, list[FileColumns]]:
        """What the files of each source have, frozen as `pins` say; not of those whose files do not tell, or not now:
        who reads them says why."""
        found: dict[str, list[FileColumns]] = {}
        for name in (n for n in pins if n in self.project.sources):
            source = self.project.sources[name]
            with suppress(BackfillError, OSError):
                if there := file_columns(source, pins[name], lambda s=source, n=name: self.days.parts(s, pins[n])):
                    found[name] = there
        return found

    @property
    def source_changes(self) -> SourceChanges:
        """What came to the sources."""
        return SourceChanges(self.days.known)

    def _extents(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Interval | None]:
        """From the first row to the last of the sources that bound what reads them; None of those without rows."""
        sources = self.project.sources
        days = self.source_days({n: pin for n, pin in pins.items() if n in sources and sources[n].cut_off})
        return {name: there.span for name, there in days.items()}

    def _ready_until(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, datetime]:
        """How far the sources that say it are ready. Rows are looked at as pinned; files that say it come after those
        that they are about, and a plan is refused that pinned less."""
        said = {n: source for n, source in self.project.sources.items() if n in pins and source.ready}
        days = self.source_days({n: pins[n] for n in said})
        return {n: ready_until(s, s.ready, days.get(n)) for n, s in said.items() if s.ready}

    def bench(
        self,
        pins: Mapping[str, Mapping[str, object]] | None = None,
        *,
        patches: Mapping[str, Patch] | None = None,
        frozen: tuple[Frozen, ...] = (),
        run: str = "",
        listen: Listener = silence,
    ) -> Workbench:
        """What a build works with. `pins` are frozen sources (None: as they are now), `patches` a plan's revisions,
        `frozen` what is left of an older plan."""
        now, run = self.now(), run or new_id()
        if pins is None:
            pins = {name: self.pins.pin(source) for name, source in self.project.sources.items()}
        project = (
            with_stored_definitions(self.project, self.control.versions.all()) if self.project.hidden else self.project
        )
        return Workbench(
            project=bounded_now(
                project,
                self.control,
                self.log,
                self._extents(pins),
                now,
                self._ready_until(pins),
                environment=self.environment,
            ),
            declared=project.models,
            control=self.control,
            log=self.log,
            engine=self.engine,
            forget=self.forget,
            pins=pins,
            run=run,
            beating=partial(sending_heartbeats, self.warehouse, run),
            heard=partial(check_heard, self.warehouse, run),
            only_builder=partial(only_builder, self.warehouse),
            lease=partial(writing, self.warehouse, self.control.writer_leases, run),
            environment=self.environment,
            now=now,
            patches=patches or {},
            frozen=frozen,
            shown=self.shown,
            listen=listen,
        )

    def hold(self, *, regardless: str = "", waits: bool = True) -> Hold:
        """What holds heavy builds up between their batches: the windows of the settings, and where there are any,
        routine runs."""

        def routine() -> str:
            with suppress(OSError):  # who goes first decides nothing about rows
                return routine_at_work(read_heartbeats(self.warehouse), home=machine_name(), alive=is_running)
            return ""

        return Hold(
            windows=self.project.settings.windows, regardless=regardless, waits=waits, routine=routine, now=self.clock
        )

    def engine(self) -> Engine:
        """The engine over the process's Spark session, opened by the first call."""
        with self._lock:
            if self._engine is None:
                from backfill_assets.adapters.engine import SparkEngine

                self._engine = SparkEngine(self.spark, warehouse=self.warehouse, root=self.project.root)
            return self._engine

    def forget(self, engine: Engine) -> None:
        """Let go of an engine whose JVM died: the next one is opened in another."""
        with self._lock:
            if self._engine is engine:
                from backfill_assets.adapters.jvm import forget_session

                forget_session()
                self.__dict__.pop("spark", None)
                self._engine = None

    @cached_property
    def spark(self) -> SparkSession:
        """The process's Spark session."""
        if self.project.settings.untrusted:
            fix = "run it where the change is trusted"
            raise SettingsError("no Spark session is opened", why=UNTRUSTED_WHY, fix=fix)
        from backfill_assets.adapters.session import engine_session

        return engine_session(self.project.root, self.project.settings, long=self.long)

    def spark_conf(self) -> dict[str, str]:
        """What the configuration's folder and the project's settings say of its session. Opens none."""
        from backfill_assets.adapters.machine import spark_conf

        return spark_conf(self.project.root, self.project.settings)

    @property
    def storage(self) -> DeltaTableStorage:
        """The folders of the version tables."""
        cache = _own_cache(self.project)
        return DeltaTableStorage(self.warehouse, KnownFiles(cache / "files") if cache else None)

    @property
    def retention(self) -> timedelta:
        """How long what was superseded stays, so that it can be gone back to."""
        return timedelta(days=self.project.settings.retention_days)

    def shared_views(self) -> SparkViews | None:
        """The shared catalog's views when the Spark configuration has one, or that of the server that is used. Opens a
        session only then, and to ask a server."""
        from backfill_assets.adapters.machine import server_of

        settings, conf = self.project.settings, self.spark_conf()
        if conf.get("spark.sql.catalogImplementation") != "hive" and server_of(conf) is None:
            return None
        from backfill_assets.adapters.named_tables import NamedTables
        from backfill_assets.adapters.spark_views import SparkViews, is_shared_catalog

        if not is_shared_catalog(self.spark):
            return None
        grace = timedelta(seconds=settings.cutover_grace)
        named = NamedTables(self.spark, self.warehouse, settings.tables) if settings.tables else None
        return SparkViews(self.spark, self.warehouse, grace, self.provisional, named)
