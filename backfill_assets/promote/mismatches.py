"""Is a model shown beside what it was computed from? By the versions that its record names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from backfill_assets.plan.category import compare, same_for
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.snapshots.algorithm import version_of
from backfill_assets.snapshots.model import UNKNOWN, Project
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version


def mismatches(
    project: Project,
    environment: Environment,
    after: Mapping[str, str],
    versions: Mapping[tuple[str, str], Version],
    together: Mapping[str, str] = MappingProxyType({}),
) -> list[Obstacle]:
    """Models that would be shown beside a version of an upstream in which something that they read is different.

    `after` is model → version of all that the environment would show. What is shown that way already, or was in the
    release whose versions are `together`, is no news; nor is what the code proves, by the version that it gives the
    reader with this upstream, or its author's word.
    """
    before = {name: p.version for name, p in environment.pointers.items()}
    found: list[Obstacle] = []
    for name, version in after.items():
        if name in project.overrides and version == project.fingerprints.get(name):
            continue
        record = versions.get((name, version))
        for upstream, built_from in (record.upstream if record else {}).items():
            shown = after.get(upstream)
            if (version, shown) in ((m.get(name), m.get(upstream)) for m in (before, together)):
                continue
            if _by_code(project, name, version) and shown and _by_code(project, upstream, shown):
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


def _by_code(project: Project, model: str, version: str) -> bool:
    """Whether a version is what the code says by itself: of a reader, with its upstreams as the code has them."""
    signature = project.signatures.get(model, UNKNOWN)
    return project.fingerprints.get(model) == version and version_of(signature) == version


def _same_to(
    reader: Version | None, upstream: str, versions: Mapping[tuple[str, str], Version], built_from: str, shown: str
) -> bool:
    """Whether two versions of an upstream agree in all that a model reads of it."""
    one, other = versions.get((upstream, built_from)), versions.get((upstream, shown))
    if reader is None or one is None or other is None or UNKNOWN in (one.signature, other.signature):
        return False
    change = compare(one.signature, other.signature)
    before, after = ([name.lower() for name, _ in version.columns] for version in (one, other))
    return same_for(reader.signature, upstream, change, before, after)
