"""What is the situation right now? Everything that a plan is made from, read in one go and without a JVM."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Protocol

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.reads import tables_read
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import UNKNOWN, Model, Project, Signature, Source
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, logic_of
from backfill_assets.plan.bounds import Bounded, bounded
from backfill_assets.plan.changed_texts import Texts, changed_texts
from backfill_assets.plan.followed import ReadByNow, followed, read_by_now
from backfill_assets.plan.lineage_changes import ColumnTexts, written_then
from backfill_assets.plan.own_change import OwnChange, own_changes
from backfill_assets.plan.shown_whole import with_shown_whole
from backfill_assets.plan.versions import BuiltVersion, invalidated, shown_segments
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.history import History
from backfill_assets.state.ledger import Coverage, EntriesByVersion, Entry
from backfill_assets.state.releases import Release, TakenOut, out_of_sight, taken_out
from backfill_assets.state.rules import Rules, RulesInForce, declared_rules
from backfill_assets.state.settling import Settling
from backfill_assets.state.shown_state import ShownState, as_shown, shown_state
from backfill_assets.state.tables import OneLook, TableLog, known_coverage, version_coverage
from backfill_assets.state.versions import Version, VersionKey, beside

_AT_ONCE = 8
"""Tables that are looked at side by side: in an object store each look waits for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What there is of the versions that the code says, and of the models' revisions."""

    coverage: Mapping[str, Coverage]
    """Of the version that the code says, for every model."""
    heads: Mapping[str, int]
    """The table commit that each coverage was seen at; -1 where there is no table."""
    patched: Mapping[str, Coverage] = field(default_factory=dict[str, Coverage])
    """Of revisions, by their version; with `patched_heads`."""
    patched_heads: Mapping[str, int] = field(default_factory=dict[str, int])
    entries: EntriesByVersion = field(default_factory=dict[tuple[str, str], list[Entry]])
    """What the ledger says of the tables of all models; but that batches began."""
    spelled: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict[tuple[str, str], tuple[str, ...]])
    """The names of the columns of each version's table, as it writes them."""
    seen: Mapping[VersionKey, int] = field(default_factory=dict[VersionKey, int])
    """The newest commit of each table that was looked at; -1 where there is none."""

    def look(self, log: TableLog) -> OneLook:
        """The logs, with the newest commits as they were seen."""
        return OneLook(log, dict(self.seen))

    @property
    def lapsed(self) -> dict[str, Ranges]:
        """By model: what was built of the code's version before it was over."""
        return {name: have.lapsed for name, have in self.coverage.items()}

    def of(self, model: str, version: str) -> Coverage:
        """What a revision, or else the model's version of the code, amounts to."""
        known = self.coverage[model] if version == logic_of(version) else Coverage()
        return self.patched.get(version, known)

    def head(self, model: str, version: str) -> int:
        """The table commit at which that was seen."""
        return self.patched_heads.get(version, self.heads[model])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the sources were when somebody looked."""

    pins: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """What each source is; of those that can be looked at."""
    away: Mapping[str, BackfillError] = field(default_factory=dict[str, BackfillError])
    """Why the others cannot: nothing is computed from these now."""
    extents: Mapping[str, Interval | None] = field(default_factory=dict[str, Interval | None])
    """From the first row to the last of the sources that bound what is expected of models."""
    ready_until: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """How far sources say that all their rows are there; of those that say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is recorded of the versions that the environment's pointers show, by model; of those that are known."""

    signatures: Mapping[str, Signature] = field(default_factory=dict[str, Signature])
    algorithms: Mapping[str, int] = field(default_factory=dict[str, int])
    """By which rules that signature was made."""
    zones: Mapping[str, str] = field(default_factory=dict[str, str])
    """The time zone of its days; empty: UTC."""
    cadences: Mapping[str, Cadence] = field(default_factory=dict[str, Cadence])
    tolerances: Mapping[str, float] = field(default_factory=dict[str, float])
    """How far apart floats may be in comparisons with it; of those whose record says it."""
    written: Mapping[str, ColumnTexts] = field(default_factory=dict[str, ColumnTexts])
    """What was written about its columns."""
    own_changes: Mapping[str, OwnChange] = field(default_factory=dict[str, OwnChange])
    """What, besides upstream models, is other than in it; of models whose code is another."""
    reads: ReadByNow = field(default_factory=ReadByNow)
    """What these models read by now."""

    def signature(self, model: str) -> Signature:
        """UNKNOWN where nobody knows."""
        return self.signatures.get(model, UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the environment's releases did."""

    releases: Sequence[Release] = ()
    """All, oldest first. They grow with the years, and are read once."""
    released: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Model → versions that they showed, each with the newest of these; of models whose code is not what is shown."""
    out_of_sight: Mapping[str, Pointer] = field(default_factory=dict[str, Pointer])
    """What a rollback took out of sight, as it was shown last: models, and intervals of models."""
    taken_out: Mapping[str, TakenOut] = field(default_factory=dict[str, TakenOut])
    """The whole models among these, with the release that did it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a plan is made from, besides the project: all read at one moment, before the plan is made."""

    now: datetime
    environment: Environment
    standing: Mapping[str, ShownState] = field(default_factory=dict[str, ShownState])
    """What is known of the rows that the environment shows of each model."""
    shown: Shown = Shown()
    tables: Tables
    sources: Sources = Sources()
    texts: Texts = field(default_factory=Texts)
    past: Past = Past()
    versions: Mapping[tuple[str, str], BuiltVersion] = field(default_factory=dict[tuple[str, str], BuiltVersion])
    """Every version that was ever built. Only looked up for a restatement of all versions; with `published`."""
    published: Mapping[tuple[str, str], Segments] = field(default_factory=dict[tuple[str, str], Segments])
    """What environments (other than those of plans) show of each version's table."""
    rules: RulesInForce | None = None
    """What decides whose approval counts; None: nobody looked."""
    settling: Settling | None = None
    """Which published intervals are provisional; None: nobody looked."""
    keeps_older: bool = False
    """Whether older logic that the environment shows stays: routine runs extend what is shown."""
    _bounded: dict[int, tuple[Project, Bounded]] = field(
        default_factory=dict[int, tuple[Project, Bounded]], init=False, compare=False, repr=False
    )
    """By which project, as it is asked many times a command."""

    def rules_for(self, project: Project) -> Rules:
        """The rules in force; what the project's files say where nobody looked."""
        return self.rules.effective if self.rules else declared_rules(project)

    def with_pins(self, pins: Mapping[str, Mapping[str, object]]) -> Facts:
        """The facts, as if the sources were these."""
        return replace(self, sources=replace(self.sources, pins=pins))

    def bounded(self, project: Project) -> Bounded:
        """The project, its models bounded by what they read."""
        if id(project) not in self._bounded:
            whole = self.with_shown_whole(project)
            have = {name: coverage.built | coverage.empty for name, coverage in self.tables.coverage.items()}
            found = bounded(whole, self.sources.extents, self.now, have, self.sources.ready_until)
            self._bounded[id(project)] = project, found
        return self._bounded[id(project)][1]

    def provisional(self, model: Model) -> Ranges:
        """What of a model is shown provisionally, by the days that are shown."""
        pointer = self.environment.pointers.get(model.name)
        if pointer is None or self.settling is None:
            return NOTHING
        calendar = replace(model.calendar, time_zone=self.shown.zones.get(model.name, model.time_zone))
        return self.settling.provisional(model.name, calendar, pointer.covers)

    def with_shown_whole(self, project: Project) -> Project:
        """The project, its models over where the environment shows them whole."""
        return with_shown_whole(project, self.environment.pointers, self.standing, self.shown.zones)


class SourcePins(Protocol):
    """Says what a source is at this moment."""

    def pin(self, source: Source) -> Mapping[str, object]:
        """What identifies its content: `{"commit": 7, "table": id}`, `{"files": digest, …}`, or `{"unpinned": why}`."""
        ...


def read_facts(
    project: Project,
    control: Control,
    log: TableLog,
    pins: SourcePins,
    *,
    now: datetime,
    environment: str,
    every_version: bool = False,
) -> Facts:
    """The facts for the project's versions, and about `every_version` there is.

    The environment is read first: a table that the janitor removes afterwards cannot be pointed at by these facts.
    """
    shown, log = control.environments.read(environment), OneLook(log)
    names = list(project.models)
    groups = History(control.ledger)
    states = shown_states(project, shown.pointers, groups, log)
    versions = beside(control.versions.all(), shown.versions) if groups else {}
    recorded = _recorded(shown.pointers, versions)
    zones = _zones(recorded)
    project = with_shown_whole(project, shown.pointers, states, zones)
    seen = _coverages(project, groups, log, names, now)
    read = {table for name in names for table in tables_read(project.models[name])}
    sources, away = pinned(pins, [source for name, source in project.sources.items() if name in read])
    revisions = [key for key in groups if key[1] != logic_of(key[1]) and groups[key] and key[0] in names]
    patched = {key[1]: _covered(project, groups, log, key, now) for key in revisions}
    coverage = {
        name: as_shown(covered, project.fingerprints[name], shown.pointers.get(name), states.get(name))
        for name, (covered, _) in seen.items()
    }
    heads = {name: head for name, (_, head) in seen.items()}
    others = changed_texts(project, versions, coverage, heads)
    checks = control.text_checks.all() if others else {}
    releases = control.releases.all(environment)
    last = out_of_sight(releases)
    facts = Facts(
        now=now,
        environment=shown,
        standing=states,
        shown=Shown(
            signatures={name: record.signature for name, record in recorded.items()},
            algorithms={name: record.algorithm for name, record in recorded.items()},
            zones=zones,
            cadences={name: Calendar.of_definition(each.definition).cadence for name, each in recorded.items()},
            tolerances={n: said for n, each in recorded.items() if (said := each.tolerance) is not None},
            written={name: written_then(record.definition) for name, record in recorded.items()},
            own_changes=own_changes(project, shown, recorded),
            reads=read_by_now(project, shown, versions, followed(project, shown, versions, checks)),
        ),
        tables=Tables(
            coverage=coverage,
            heads=heads,
            patched={version: covered for version, (covered, _) in patched.items()},
            patched_heads={version: head for version, (_, head) in patched.items()},
            entries=groups,
            spelled={key: tuple(c for c, _ in record.columns) for key, record in versions.items() if key[0] in names},
            seen=log.heads,
        ),
        sources=Sources(pins=sources, away=away),
        texts=Texts(changed=others, checks=checks),
        past=Past(
            releases=releases,
            released=_released(project, shown, releases, names),
            out_of_sight=last,
            taken_out=taken_out(releases, last, shown.removals),
        ),
    )
    if not every_version:
        return facts
    known: dict[tuple[str, str], BuiltVersion] = {}
    for key, record in control.versions.all().items():
        entries, over = groups.get(key, []), _over(project, key[0], now)
        have, _ = version_coverage(entries, log, model=key[0], version=key[1], audits="", over=over)
        known[key] = BuiltVersion(record=record, have=have, invalidated=invalidated(entries))
    return replace(facts, versions=known, published=shown_segments(control.lasting()))


def pinned(
    pins: SourcePins, sources: Sequence[Source]
) -> tuple[dict[str, Mapping[str, object]], dict[str, BackfillError]]:
    """What each source is now, and why some cannot be looked at."""

    def one(source: Source) -> Mapping[str, object] | BackfillError:
        try:
            return pins.pin(source)
        except BackfillError as error:
            return error

    with ThreadPoolExecutor(max_workers=8) as pool:
        found = dict(zip((source.name for source in sources), pool.map(one, sources), strict=True))
    there = {name: pin for name, pin in found.items() if not isinstance(pin, BackfillError)}
    return there, {name: error for name, error in found.items() if isinstance(error, BackfillError)}


def _over(project: Project, name: str, now: datetime) -> datetime:
    """Where the last interval of a model ends that counts as over; of one that is gone, every end before `now` does."""
    return project.models[name].over(now) if name in project.models else now


def _recorded(pointers: Mapping[str, Pointer], versions: Mapping[VersionKey, Version]) -> dict[str, Version]:
    """The records of what these show; of those whose version is known."""
    return {n: versions[n, p.version] for n, p in pointers.items() if (n, p.version) in versions}


def _zones(recorded: Mapping[str, Version]) -> dict[str, str]:
    """The time zone of the days that each version has."""
    return {name: Calendar.of_definition(record.definition).time_zone for name, record in recorded.items()}


def _released(
    project: Project, shown: Environment, releases: Sequence[Release], names: Collection[str]
) -> dict[str, dict[str, str]]:
    """What earlier releases showed of the models whose code says something else than is shown by now."""
    other = {n for n in names if (p := shown.pointers.get(n)) and p.version != project.fingerprints[n]}
    found: dict[str, dict[str, str]] = {}
    for release in releases if other else ():
        for move in release.moves:
            if move.model in other and move.after is not None:
                found.setdefault(move.model, {})[move.after.version] = release.id
    return found


def bounded_now(
    project: Project,
    control: Control,
    log: TableLog,
    extents: Mapping[str, Interval | None],
    now: datetime,
    ready_until: Mapping[str, datetime] | None = None,
    *,
    environment: str,
) -> Project:
    """The project as plans see it (`Facts.bounded`), for a build: what a plan asks for is in its bounds.

    `extents`: from a source's first row to its last; `ready_until`: how far some are ready. The ledger is looked at
    only when they cut anything off, or a model has a `ready`.
    """
    waiting = {name for name, model in project.models.items() if model.waits}
    history = cache(lambda: History(control.ledger))
    if waiting:
        pointers = {n: p for n, p in control.environments.read(environment).pointers.items() if n in waiting}
        others = {n: p for n, p in pointers.items() if p.version != project.fingerprints[n]}
        zones = _zones(_recorded(others, control.versions.all())) if others else {}
        project = with_shown_whole(project, pointers, shown_states(project, pointers, history(), log), zones)
    cut = bounded(project, extents, now, ready_until=ready_until)
    if cut.models == project.models:
        return project
    seen = _coverages(project, history(), log, list(project.models), now)
    return bounded(
        project, extents, now, {name: covered.built | covered.empty for name, (covered, _) in seen.items()}, ready_until
    )


def shown_states(
    project: Project, pointers: Mapping[str, Pointer], groups: EntriesByVersion, log: TableLog
) -> dict[str, ShownState]:
    """What is known of what is shown: by the audits of the code where that is what the code says; else by those that
    were there."""

    def one(pointer: Pointer) -> ShownState:
        model, fingerprint = project.models.get(pointer.model), project.fingerprints.get(pointer.model)
        audits = audits_digest(model) if model and fingerprint == pointer.version else None
        return shown_state(pointer, groups, log, audits=audits)

    return {name: one(pointer) for name, pointer in pointers.items()}


def _coverages(
    project: Project,
    groups: EntriesByVersion,
    log: TableLog,
    names: Sequence[str],
    now: datetime,
) -> dict[str, tuple[Coverage, int]]:
    """What there is of each model's version of the code, and the table commit that this was seen at."""

    def some(names: Sequence[str]) -> dict[str, tuple[Coverage, int]]:
        return {name: _covered(project, groups, log, (name, project.fingerprints[name]), now) for name in names}

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found = pool.map(some, [names[at::_AT_ONCE] for at in range(_AT_ONCE)])
        by_name = {name: each for part in found for name, each in part.items()}
    return {name: by_name[name] for name in names}


def _covered(
    project: Project, groups: EntriesByVersion, log: TableLog, key: VersionKey, now: datetime
) -> tuple[Coverage, int]:
    entries, model = groups.get(key, []), project.models[key[0]]
    if not entries:
        return Coverage(), -1
    return known_coverage(entries, log, model=key[0], version=key[1], audits=audits_digest(model), over=model.over(now))
