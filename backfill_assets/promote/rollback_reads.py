"""Which days that stay would be shown beside other rows than they were computed from, if an environment went back?

A restatement replaces rows together with all that reads them, and going back puts those together again. Days that came
since read the restated rows: with a lookback they read some of the very days that go back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.reach import reach
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.stale_inputs import CameBetween, stale_inputs
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, EntriesByVersion, Ledger, by_version


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadApart:
    """Intervals that were computed from rows of an upstream model that would be out of sight."""

    model: str
    upstream: str
    intervals: Ranges
    command: str
    """Computes them again."""

    @property
    def loss(self) -> Obstacle:
        return Obstacle(
            model=self.model,
            what=f"computed from rows of {self.upstream} that would be out of sight:",
            intervals=self.intervals,
            remedy="--now goes back and shows these as they are; compute them again after that, by the code that is "
            f"shown then: {self.command}",
        )


def apart_after(
    project: Project,
    ledger: Ledger,
    known: EntriesByVersion,
    seen: Environment,
    after: Environment,
    then: Mapping[str, Ranges],
    came: CameBetween,
) -> list[ReadApart]:
    """What stays and read rows that would go out of sight. `project` as the older release shows it; `known`: all that
    decides in the ledger of some models, which were read; `then`: what the release showed of each model that moves,
    which is as it was then; `came` says what was built anew from a newer state of a source."""
    readers = [m for m in project.models.values() if {m.name, *(u.name for u in m.upstreams)} & then.keys()]
    names = {name for m in readers for name in (m.name, *(u.name for u in m.upstreams))} & after.pointers.keys()
    above = reach(names, lambda n: upstream_models(project, project.models[n]) if n in project.models else ())
    others = names.union(above) - {name for name, _ in known}
    entries = {**known, **by_version(ledger.entries(sorted(others), kinds=DECIDING))} if others else known

    def stale(environment: Environment) -> dict[tuple[str, str], Ranges]:
        found: dict[tuple[str, str], Ranges] = {}
        for each in stale_inputs(project, environment, entries, came):
            key = each.model, each.upstream
            found[key] = found.get(key, NOTHING) | each.intervals
        return found

    now = stale(_only(seen, names))
    return [
        ReadApart(
            model=model,
            upstream=upstream,
            intervals=days,
            command=restate_command(restate_argument(model, days)),
        )
        for (model, upstream), found in stale(_only(after, names)).items()
        if (days := found - then.get(model, NOTHING) - now.get((model, upstream), NOTHING))
    ]


def _only(environment: Environment, names: Collection[str]) -> Environment:
    return replace(environment, pointers={n: p for n, p in environment.pointers.items() if n in names})
