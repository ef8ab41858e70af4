"""Which version tables does anybody still need? Those that an environment shows, that open plans build, or read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.versions import Version

Table = tuple[str, str]
"""Model and version."""


def reachable(
    environments: Iterable[Environment], plans: Iterable[PlanRecord], versions: Mapping[Table, Version]
) -> set[Table]:
    """The tables that environments point at or that open plans lead to, and all that those were built from."""
    todo = [(p.model, s.version) for e in environments for p in e.pointers.values() for s in p.segments]
    todo += [(t.model, t.version) for plan in plans if plan.live for t in plan.targets]
    found: set[Table] = set()
    while todo:
        table = todo.pop()
        if table not in found:
            found.add(table)
            todo += list(versions[table].upstream.items()) if table in versions else []
    return found
