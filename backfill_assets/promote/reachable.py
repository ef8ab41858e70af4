"""Which version tables does anybody still need, and who? Whatever is not in the answer is free to go."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from backfill_assets.core.pointer import Pointer
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release
from backfill_assets.state.versions import Version, VersionKey, built_from


def reachable(
    environments: Iterable[Environment],
    plans: Iterable[PlanRecord],
    versions: Mapping[VersionKey, Version],
    releases: Iterable[Release] = (),
) -> dict[VersionKey, str]:
    """The tables that environments point at, that open plans lead to, or that one could go back to by these releases;
    and all that those were built from. Each with what keeps it.
    """
    todo = deque[tuple[VersionKey, str]]()
    for environment in environments:
        todo += _pointed(environment.pointers.values(), f"{environment.name} shows it")
    for plan in plans:
        if plan.live:
            todo += [((t.model, t.version), f"plan {plan.id} is open") for t in plan.targets]
    for release in sorted(releases, key=lambda r: r.revision, reverse=True):
        both = [p for m in release.moves for p in (m.before, m.after) if p is not None]
        todo += _pointed(both, f"release {release.id} of {release.environment} can be gone back to, or undone")
    found: dict[VersionKey, str] = {}
    while todo:
        table, why = todo.popleft()
        if table not in found:
            found[table] = why
            if table in versions:
                todo += [(up, f"{table[0]} {table[1]} was built from it") for up in built_from(versions[table])]
    return found


def _pointed(pointers: Iterable[Pointer], why: str) -> list[tuple[VersionKey, str]]:
    return [((p.model, s.version), why) for p in pointers for s in p.segments]
