"""Is a model shown beside what it was computed from? By the versions that its record names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.plan.category import change_between, same_for
from backfill_assets.project.algorithm import version_of
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A version of a model that was built from one version of an upstream, beside another one that is shown."""

    model: str
    version: str
    upstream: str
    built_from: str
    shown: str


def mismatches(
    project: Project,
    environment: Environment,
    after: Mapping[str, str],
    versions: Mapping[tuple[str, str], Version],
    together: Mapping[str, str] = MappingProxyType({}),
    *,
    remedy: Callable[[Mismatch], str],
) -> list[Obstacle]:
    """Models that would be shown beside a version of an upstream in which something that they read is different
    (`mismatched`), each with its `remedy`."""
    return [
        Obstacle(
            model=m.model,
            what=f"was built from {m.upstream} {m.built_from}, but {environment.name} would show {m.shown}",
            remedy=remedy(m),
        )
        for m in mismatched(project, environment.versions, after, versions, together)
    ]


def mismatched(
    project: Project,
    before: Mapping[str, str],
    after: Mapping[str, str],
    versions: Mapping[tuple[str, str], Version],
    together: Mapping[str, str] = MappingProxyType({}),
) -> list[Mismatch]:
    """Models that would be shown beside a version of an upstream in which something that they read is different.

    `before` and `after` are model → version of all that the environment shows and would show. What is shown that way
    already, or was in the release whose versions are `together`, is no news; nor is what the code proves, by the
    version that it gives the reader with this upstream, or its author's word.
    """
    found: list[Mismatch] = []
    versions = beside(versions, after)
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
                    Mismatch(model=name, version=version, upstream=upstream, built_from=built_from, shown=shown)
                )
    return found


def shown_apart(
    project: Project, environment: Environment, versions: Mapping[tuple[str, str], Version]
) -> list[Mismatch]:
    """The same of what is shown already, whenever that began."""
    return mismatched(project, {}, environment.versions, versions)


def pairs_apart(project: Project, pair: Mismatch, versions: Mapping[tuple[str, str], Version]) -> list[Mismatch]:
    """The pair itself, if its two versions do not belong together."""
    return mismatched(project, {}, {pair.model: pair.version, pair.upstream: pair.shown}, versions)


def _by_code(project: Project, model: str, version: str) -> bool:
    """Whether a version is what the code says by itself: of a reader, with its upstreams as the code has them."""
    signature = project.signatures.get(model, UNKNOWN)
    return project.fingerprints.get(model) == version and version_of(signature) == version


def may_differ(
    versions: Mapping[tuple[str, str], Version], reader: tuple[str, str], upstream: str, one: str, other: str
) -> bool:
    """Whether two versions of an upstream may give a model's version other rows."""
    return not _same_to(versions.get(reader), upstream, versions, one, other)


def _same_to(
    reader: Version | None, upstream: str, versions: Mapping[tuple[str, str], Version], built_from: str, shown: str
) -> bool:
    """Whether two versions of an upstream agree in all that a model reads of it."""
    one, other = versions.get((upstream, built_from)), versions.get((upstream, shown))
    if reader is None or one is None or other is None or UNKNOWN in (one.signature, other.signature):
        return False
    change = change_between(one.signature, other.signature)
    before, after = ([name.lower() for name, _ in version.columns] for version in (one, other))
    return same_for(reader.signature, upstream, change, before, after)
