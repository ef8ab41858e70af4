"""What is found of the environment and its sources since the last release?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from backfill_assets.adapters.foreign_table import adopted_tables
from backfill_assets.app.context import Context
from backfill_assets.audits.digest import audits_digest
from backfill_assets.contracts.publish import promoted_headers
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, logic_of
from backfill_assets.plan.away import find_away, not_extended
from backfill_assets.plan.commands import apply_command, withdraw_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Build, Plan
from backfill_assets.plan.versions import shown_segments
from backfill_assets.promote.interrupted_pins import interrupted_pins
from backfill_assets.promote.rehearsal import rehearse
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import pinned_consumers
from backfill_assets.watch.conclusion import Watched, conclude
from backfill_assets.watch.facts import PinFacts, WatchFacts
from backfill_assets.watch.late import late_intervals, late_sources, unsettled
from backfill_assets.watch.notice import Notice, NoticeKind
from backfill_assets.watch.watch import read_source_facts, read_watch_facts, watch

if TYPE_CHECKING:
    from backfill_assets.adapters.spark_views import SparkViews


def watch_environment(context: Context) -> Watched:
    """What is found of the environment and its sources. Opens a session only where a shared catalog has views.

    Raises StateError, PlanError when what is shown cannot be read as a project.
    """
    views = context.shared_views()
    unfinished = interrupted_pins(context.control, context.environment, now=datetime.now(UTC))
    found = look_at_sources(context)
    found = read_watch_facts(found, context.control, context.log, context.storage, context.source_changes)
    shown = found.environment
    ready_for_both = shown.promotion is not None  # the views are, and say so
    found = replace(
        found,
        adopted=adopted_tables(context.warehouse, shown),
        views={} if views is None or ready_for_both else views.drifted(shown),
        pins=_pins(context, views),
        interrupted=unfinished,
    )
    notices = watch(found)
    return Watched(environment=shown.name, notices=notices, closing=conclude(found, notices))


def find_late(context: Context, facts: Facts) -> tuple[Notice, ...]:
    """What is shown and was built before its sources changed; no session. `facts` were read just now.

    Raises StateError, PlanError when what is shown cannot be read as a project.
    """
    return tuple(notice for notice in late_sources(look_at_sources(context, facts)) if notice.finding)


def find_late_moves(
    context: Context, facts: Facts, moved: Environment, newly: Mapping[str, Ranges]
) -> tuple[Notice, ...]:
    """What an environment shows `newly` of models of the loaded code, and was built before its sources changed. Nothing
    where nobody can tell. `facts` were read before it moved."""
    shown = replace(moved, pointers={n: p for n, p in moved.pointers.items() if n in newly})
    with suppress(BackfillError, OSError):
        look = _read_sources(context, not_extended(context.project, facts.sources.away), shown, facts)
        look = replace(look, beside={n: v for n, v in moved.versions.items() if n not in newly})
        return tuple(n for n in late_sources(look) if n.finding and n.intervals & newly.get(n.model, NOTHING))
    return ()


def find_unsettled(context: Context) -> Mapping[str, Ranges]:
    """Model → the provisional intervals that its sources changed since they were built; no session.

    Raises StateError, PlanError when what is shown cannot be read as a project.
    """
    return unsettled(look_at_sources(context))


def find_outdated(context: Context, facts: Facts) -> dict[str, Ranges]:
    """Model → what is built of the version that is shown of it, itself shown nowhere yet, and of which the sources
    changed since; no session. `facts` were read just now.

    What is shown would be late data, and is told by `find_late`; of what is not, nobody has seen a row. What a
    correction is shown instead of was shown before: a rollback shows it again.
    """
    seen: dict[tuple[str, str], Ranges] = {}
    for (name, version), segments in shown_segments(context.control.lasting()).items():
        key = name, logic_of(version)
        seen[key] = seen.get(key, NOTHING) | segments.covers
    hidden = {
        name: facts.tables.coverage[name].built - seen.get((name, version), NOTHING)
        for name, version in facts.environment.versions.items()
        if context.project.fingerprints.get(name) == version
    }
    return _built_before(context, facts, hidden)


def find_older_moves(context: Context, facts: Facts, plan: Plan) -> tuple[Notice, ...]:
    """What a plan would show in the place of other rows, or anew, as it was built before its sources changed: whoever
    promotes it brings back a table of before, or one that waited. Nothing where nobody can tell, which `watch` says.
    `facts` were read just now."""
    other = [
        name
        for name, version in plan.moves
        if name in facts.tables.coverage
        and facts.environment.versions.get(name) != version
        and name not in plan.patches
        and name not in plan.copies
    ]
    building = {stage.model: stage.intervals for stage in plan.work if isinstance(stage, Build)}
    built = {n: facts.tables.coverage[n].built - building.get(n, NOTHING) for n in other}
    late: Mapping[str, Ranges] = {}
    with suppress(BackfillError, OSError):
        late = _built_before(context, facts, built)
    return tuple(
        Notice(
            kind=NoticeKind.LATE,
            model=name,
            intervals=part,
            what="was built before its sources changed, and would be shown so",
            remedy=f"{withdraw_command(name, part)}, then {apply_command(plan.request)} reads them as they are",
        )
        for name, part in late.items()
    )


def _built_before(context: Context, facts: Facts, built: Mapping[str, Ranges]) -> dict[str, Ranges]:
    """Model → what of these intervals of the code's versions was built before its sources changed."""
    waiting: dict[str, Pointer] = {}
    for name, part in built.items():
        model = context.project.models[name]
        if part and any(u.name in context.project.sources for u in model.upstreams):
            segments = Segments.of_table(context.project.fingerprints[name], facts.tables.heads[name], part)
            waiting[name] = Pointer(
                model=name, time_column=model.time_column, timestamps=False, columns=(), segments=segments
            )
    if not waiting:
        return {}
    look = _read_sources(context, context.project, replace(facts.environment, pointers=waiting), facts)
    return {name: late for name in waiting if (late := late_intervals(look, name))}


def _pins(context: Context, views: SparkViews | None) -> list[PinFacts]:
    return [
        PinFacts(
            pin=pin,
            proofs=rehearse(list(pin.pointers.values()), context.storage, context.log, context.control.ledger),
            known=pin.consumer in context.project.consumers,
            views=views.drifted(context.control.environments.read(pin.home)) if views is not None else {},
        )
        for pin in pinned_consumers(context.control, context.environment)
    ]


def look_at_sources(context: Context, facts: Facts | None = None) -> WatchFacts:
    """What tells which shown rows were built before their sources changed; no session. `facts` were read just now.

    Raises StateError, PlanError when what is shown cannot be read as a project.
    """
    shown = context.control.environments.read(context.environment)
    records = context.control.versions.all()
    recorded = all((name, pointer.version) in records for name, pointer in shown.pointers.items())
    versions = shown.versions
    headers = promoted_headers(context.control, context.environment)
    as_shown = replace(context.project, fingerprints={**context.project.fingerprints, **versions})
    # a missing record is a finding
    project = published(context.project, shown, records, headers) if recorded else as_shown
    away = facts.sources.away if facts else find_away(project, context.pins)
    return _read_sources(context, not_extended(project, away), shown, facts)


def _read_sources(context: Context, project: Project, shown: Environment, facts: Facts | None) -> WatchFacts:
    """What tells it of what this environment shows, as a project."""
    return read_source_facts(
        project,
        context.control,
        context.log,
        context.source_changes,
        environment=shown,
        fingerprints=context.project.fingerprints,
        digests={
            name: audits_digest(context.project.models[name])
            for name, version in shown.versions.items()
            if context.project.fingerprints.get(name) == version
        },
        now=context.now(),
        at=datetime.now(UTC),
        lasts=timedelta(hours=context.project.settings.watch_hours),
        loaded=facts.standing if facts and facts.environment == shown else None,
        entries=facts.tables.entries if facts else None,
    )
