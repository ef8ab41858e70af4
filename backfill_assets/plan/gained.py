"""Which shown intervals do not read what a model gains by a plan, or has gained? It begins earlier by now than when
they were built.

No plan computes them again: what is shown of the same logic is replaced by a restatement only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stages import Build, PlanWarning, Stage
from backfill_assets.plan.stale_inputs import StaleInput, stale_inputs
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion
from backfill_assets.state.releases import Release


def unread_gains(project: Project, facts: Facts, stages: Iterable[Stage]) -> Iterator[PlanWarning]:
    """A warning for each reader that stays as it is shown, with the restatement that makes up for it."""
    shown, readers_of = facts.environment.pointers, project.readers()
    building = {s.model: s.intervals for s in stages if isinstance(s, Build)}
    for name, intervals in building.items():
        model, gained = project.models[name], intervals - (shown[name].covers if name in shown else intervals)
        for reader in readers_of.get(name, ()) if gained else ():
            below, state = project.models[reader], facts.standing.get(reader)
            stays = _over(below, model, gained) & (shown[reader].covers if reader in shown else NOTHING) - building.get(
                reader, NOTHING
            )
            if stays := stays - (state.partial if state else NOTHING):
                yield PlanWarning(
                    model=reader,
                    place=below.path.relative_to(project.root).as_posix(),
                    what=f"{reader} {stays} was computed before {name} had {gained}, and stays as it is",
                    why=f"it reads that, as {name} begins earlier now; no plan computes again what is shown already",
                    fix=f"once this is promoted: {restate_command(restate_argument(reader, stays))}",
                )


def unread_since(
    project: Project, environment: Environment, releases: Sequence[Release], entries: EntriesByVersion
) -> tuple[StaleInput, ...]:
    """What is shown of the loaded code's versions that was computed before an upstream began as early as it does: of
    others the loaded code does not say what they read. Only what may read these days is looked at."""
    mine = {n: p for n, p in environment.pointers.items() if project.fingerprints.get(n) == p.version}
    earlier = {name: days for name, days in begun_earlier(releases).items() if name in mine}
    if not earlier:
        return ()
    readers_of, near = project.readers(), dict[str, Ranges]()
    for name, days in earlier.items():
        for reader in readers_of.get(name, ()):
            over = _over(project.models[reader], project.models[name], days)
            near[reader] = near.get(reader, NOTHING) | over
    some = {
        name: pointer
        if name in earlier
        else replace(pointer, segments=pointer.segments.without(pointer.covers - near[name]))
        for name, pointer in mine.items()
        if name in earlier or name in near
    }
    found = stale_inputs(project, replace(environment, pointers=some), entries, gained=True)
    return tuple(o for o in found if o.upstream in earlier)


def _over(reader: Model, upstream: Model, days: Ranges) -> Ranges:
    """The intervals of a reader that read any of these of an upstream."""
    return Ranges.of(affected_interval(reader, upstream, part) for part in days)


def begun_earlier(releases: Sequence[Release]) -> dict[str, Ranges]:
    """The models that were shown from a later day on once than they were after that, each with the days between."""
    last, found = dict[str, datetime](), dict[str, Ranges]()
    for move in (move for release in releases for move in release.moves):
        if move.after is None or (span := move.after.covers.span) is None:
            continue
        if span.start < (before := last.get(move.model, span.start)):
            found[move.model] = found.get(move.model, NOTHING) | Ranges((Interval(span.start, before),))
        last[move.model] = span.start
    return found
