"""Is a model shown beside what it was computed from? By the versions that its record names."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.plan.category import affects, compare
from backfill_assets.plan.why import reads_of
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.snapshots.model import UNKNOWN, Project
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version


def mismatches(
    project: Project,
    environment: Environment,
    after: Mapping[str, str],
    versions: Mapping[tuple[str, str], Version],
) -> list[Obstacle]:
    """Models that would be shown beside a version of an upstream in which something that they read is different.

    `after` is model → version of all that the environment would show. What is shown that way already, and what is the
    same by its author's word, is no news.
    """
    before = {name: p.version for name, p in environment.pointers.items()}
    found: list[Obstacle] = []
    for name, version in after.items():
        if name in project.overrides and version == project.fingerprints.get(name):
            continue
        record = versions.get((name, version))
        for upstream, built_from in (record.upstream if record else {}).items():
            shown = after.get(upstream)
            if (before.get(name), before.get(upstream)) == (version, shown):
                continue
            if shown and shown != built_from and not _same_to(record, upstream, versions, built_from, shown):
                found.append(
                    Obstacle(
                        model=name,
                        what=f"was built from {upstream} {built_from}, but {environment.name} would show {shown}",
                        remedy=f"promote both together: backfill promote --select {upstream}+",
                    )
                )
    return found


def _same_to(
    reader: Version | None, upstream: str, versions: Mapping[tuple[str, str], Version], built_from: str, shown: str
) -> bool:
    """Whether two versions of an upstream agree in all that a model reads of it."""
    one, other = versions.get((upstream, built_from)), versions.get((upstream, shown))
    reads = frozenset(reads_of(reader.signature, upstream)) if reader else frozenset[str]()
    if one is None or other is None or not reads or UNKNOWN in (one.signature, other.signature):
        return False
    return not affects(compare(one.signature, other.signature), reads)
