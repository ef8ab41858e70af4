"""Is anything wrong with what an environment shows, or about to be? All that the watch finds, worst first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.errors import BackfillError, StateError
from backfill_assets.core.model import Project, Source
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.facts import shown_states
from backfill_assets.plan.older_sources import came_between
from backfill_assets.plan.shown_whole import with_shown_whole
from backfill_assets.plan.source_history import SourceHistory
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.promote.mismatches import may_differ, pairs_apart, shown_apart
from backfill_assets.promote.rehearsal import rehearse
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.history import History
from backfill_assets.state.ledger import EntriesByVersion
from backfill_assets.state.read_inputs import ReadInputs
from backfill_assets.state.settling import settling_by
from backfill_assets.state.shown_state import ShownState, shown_state
from backfill_assets.state.tables import TableLog, TableStorage, rows_of
from backfill_assets.watch.adopted_tables import changed_adopted_tables as notices_of_adopted
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.freshness import freshness, sources_of_what_lacks
from backfill_assets.watch.integrity import integrity
from backfill_assets.watch.kept_models import is_kept_beside, kept_models
from backfill_assets.watch.late import late_sources
from backfill_assets.watch.notice import Notice
from backfill_assets.watch.pinned import pins
from backfill_assets.watch.rows import row_counts


class SourceReader(Protocol):
    """Says what happened to sources, without reading rows."""

    def history(self, source: Source, since: int) -> SourceHistory:
        """What changed it: a Delta table's commits after `since`, or all files."""
        ...

    def newest(self, source: Source) -> datetime | None:
        """The instant after its newest row; None when nobody can tell."""
        ...

    def ready_until(self, source: Source) -> datetime | None:
        """Until when it says that all of its rows are there; None where it does not say, or nobody can tell."""
        ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """The same; of a source that cannot be looked at, that nobody can tell."""

    sources: SourceReader

    def history(self, source: Source, since: int) -> SourceHistory:
        try:
            return self.sources.history(source, since)
        except BackfillError as error:
            return SourceHistory(unwatched=error.why or error.what)

    def newest(self, source: Source) -> datetime | None:
        try:
            return self.sources.newest(source)
        except BackfillError:
            return None

    def ready_until(self, source: Source) -> datetime | None:
        try:
            return self.sources.ready_until(source)
        except BackfillError:
            return None


def watch(look: WatchFacts) -> tuple[Notice, ...]:
    """Everything that is found: what is broken, what is late, what is behind, what is odd; then what cannot be told."""
    found = [
        *integrity(look),
        *late_sources(look),
        *notices_of_adopted(look),
        *pins(look),
        *freshness(look),
        *row_counts(look),
    ]
    return tuple(sorted(found, key=lambda n: not n.finding))


def read_source_facts(
    project: Project,
    control: Control,
    log: TableLog,
    sources: SourceReader,
    *,
    environment: Environment,
    fingerprints: Mapping[str, str],
    digests: Mapping[str, str],
    now: datetime,
    at: datetime,
    lasts: timedelta,
    loaded: Mapping[str, ShownState] | None = None,
    entries: EntriesByVersion | None = None,
) -> WatchFacts:
    """Read what tells which rows are shown that were built before their sources changed. `project` is as the
    environment shows it, with the audits that were promoted; `fingerprints` are of the loaded code, and `digests` of
    its audits, where the environment shows it. `loaded`: what is known of all that is shown, by these digests, and
    `entries` of the ledger, where somebody looked just now."""
    pointers = environment.pointers
    entries = (History(control.ledger) if entries is None else entries) if pointers else {}
    standing = _standing(project, pointers, entries, log, digests, loaded or {})
    project = with_shown_whole(project, pointers, standing, {})
    wanted = _read(project, pointers)
    reads = ReadInputs.of(control.ledger, [name for name in pointers if _of_sources(project, name)])
    oldest = _oldest_commits(pointers, reads)
    releases = control.releases.all(environment.name)
    with ThreadPoolExecutor(max_workers=8) as pool:
        histories = pool.map(lambda s: _Seen(sources).history(s, oldest.get(s.name, 0)), wanted)
        return WatchFacts(
            now=now,
            at=at,
            lasts=lasts,
            project=project,
            fingerprints=fingerprints,
            environment=environment,
            releases=releases,
            entries=entries,
            reads=reads,
            histories=dict(zip((s.name for s in wanted), histories, strict=True)),
            settling=settling_by(control.rules.of(environment.name), releases, now),
            standing=standing,
            restating={
                target.model: record.id
                for record in control.plans.all()
                if record.live and record.environment == environment.name
                for target in record.targets
                if target.version != logic_of(target.version)
            },
        )


def read_watch_facts(
    look: WatchFacts, control: Control, log: TableLog, storage: TableStorage, sources: SourceReader
) -> WatchFacts:
    """With everything else that the watch looks at: every file that is shown, rows, and what reads what."""
    project, environment, releases = look.project, look.environment, look.releases
    pointers = environment.pointers
    behind = sources_of_what_lacks(look)
    wanted = [source for source in _read(project, pointers) if source.freshness_hours or source.name in behind]
    with ThreadPoolExecutor(max_workers=8) as pool:
        newest = pool.map(_Seen(sources).newest, wanted)
        ready = pool.map(_Seen(sources).ready_until, wanted)
        rows = pool.map(lambda p: _rows(p, log), pointers.values())
        proofs = rehearse(list(pointers.values()), storage, log, control.ledger)
        versions = control.versions.all()
        apart = shown_apart(project, environment, versions)
        came = came_between(project, _Seen(sources).history, look.settling.reach if look.settling else {})
        unlike = partial(may_differ, versions)
        return replace(
            look,
            newest={s.name: found for s, found in zip(wanted, newest, strict=True) if found is not None},
            ready={s.name: found for s, found in zip(wanted, ready, strict=True) if found is not None},
            rows={name: counts for name, counts in zip(pointers, rows, strict=True) if counts is not None},
            proofs=proofs,
            versions=versions,
            older=[
                o
                for o in stale_inputs(project, environment, look.entries, came, gained=True, unlike=unlike)
                if not is_kept_beside(control, releases, environment, o)
            ],
            kept=kept_models(control, releases, apart, lambda m: m in pairs_apart(project, m, versions)),
        )


def _read(project: Project, pointers: Collection[str]) -> list[Source]:
    """The sources that what is shown was built from."""
    read = {u.name for name in pointers if name in project.models for u in project.models[name].upstreams}
    return [source for name, source in project.sources.items() if name in read]


def _standing(
    project: Project,
    pointers: Mapping[str, Pointer],
    entries: EntriesByVersion,
    log: TableLog,
    digests: Mapping[str, str],
    loaded: Mapping[str, ShownState],
) -> dict[str, ShownState]:
    """What is known of what is shown: red by the audits that were promoted, or by those that are loaded."""
    by_loaded = {
        name: loaded.get(name) or shown_state(pointers[name], entries, log, audits=digest)
        for name, digest in digests.items()
        if name in pointers
    }
    same = {
        name
        for name, digest in digests.items()
        if name in project.models
        and project.fingerprints.get(name) == pointers[name].version
        and audits_digest(project.models[name]) == digest
    }
    others = shown_states(project, {n: p for n, p in pointers.items() if n not in same}, entries, log)
    found = {name: by_loaded[name] if name in same else others[name] for name in pointers}
    return {
        name: replace(state, red={**state.red, **by_loaded[name].red}) if name in by_loaded else state
        for name, state in found.items()
    }


def _of_sources(project: Project, name: str) -> bool:
    """Whether a model reads a source itself."""
    return name in project.models and any(u.name in project.sources for u in project.models[name].upstreams)


def _oldest_commits(pointers: Mapping[str, Pointer], reads: ReadInputs) -> dict[str, int]:
    """Source → the oldest of its Delta commits that something shown may have been built from."""
    oldest: dict[str, int] = {}
    for name, pointer in pointers.items():
        for version in {s.version for s in pointer.segments}:
            for source, commit in reads.oldest((name, version)):
                oldest[source] = min(commit, oldest.get(source, commit))
    return oldest


def _rows(pointer: Pointer, log: TableLog) -> dict[datetime, int] | None:
    """Rows shown of each interval, from file statistics; None when a table is gone or damaged: a notice says so."""
    try:
        return rows_of(log, pointer.model, pointer.segments)
    except StateError:
        return None
