"""Which open intervals stay as they are shown, and read what a restatement computes again, or a rollback takes back?

Both leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stages import PlanWarning, Request


def left_open(
    project: Project, facts: Facts, again: Mapping[str, Ranges], happens: str = "is computed again"
) -> Iterator[PlanWarning]:
    """A warning for each model of which that is so, directly or through others. `again`: model → what other rows are
    shown of, and what `happens` with it."""
    command, again = apply_command(Request(ignore_cron=True)), dict(again)
    for name, model in project.models.items():
        state, own = facts.standing.get(name), again.get(name, NOTHING)
        above = [u.name for u in model.upstreams if u.name in again]
        reads = Ranges.of(affected_interval(model, project.models[u], part) for u in above for part in again[u])
        if left := reads & (state.partial if state else NOTHING) - model.expected(facts.now) - own:
            again[name] = own | left
            yield PlanWarning(
                model=name,
                place=model.path.relative_to(project.root).as_posix(),
                what=f"{name} {left} is open, reads what {happens} of {', '.join(above)}, and stays as it is",
                why="an open interval is computed whole once it is over",
                fix=f"to have it sooner, after that: {command}, then backfill promote --ignore-cron",
            )
