"""Which shown intervals do not read what a model gains by a plan? It begins earlier by now than when they were built.

No plan computes them again: what is shown of the same logic is replaced by a restatement only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stages import Build, PlanWarning, Stage


def unread_gains(project: Project, facts: Facts, stages: Iterable[Stage]) -> Iterator[PlanWarning]:
    """A warning for each reader that stays as it is shown, with the restatement that makes up for it."""
    shown, readers_of = facts.environment.pointers, project.readers()
    building = {s.model: s.intervals for s in stages if isinstance(s, Build)}
    for name, intervals in building.items():
        model, gained = project.models[name], intervals - (shown[name].covers if name in shown else intervals)
        for reader in readers_of.get(name, ()) if gained else ():
            below, state = project.models[reader], facts.standing.get(reader)
            over = Ranges.of(affected_interval(below, model, part) for part in gained)
            stays = over & (shown[reader].covers if reader in shown else NOTHING) - building.get(reader, NOTHING)
            if stays := stays - (state.partial if state else NOTHING):
                yield PlanWarning(
                    model=reader,
                    place=below.path.relative_to(project.root).as_posix(),
                    what=f"{reader} {stays} was computed before {name} had {gained}, and stays as it is",
                    why=f"it reads that, as {name} begins earlier now; no plan computes again what is shown already",
                    fix=f"once this is promoted: {restate_command(restate_argument(reader, stays))}",
                )
