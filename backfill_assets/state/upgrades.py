"""What do versions of older releases count as by the rules of this one? They are signed again, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.snapshots.algorithm import ALGORITHM, version_of
from backfill_assets.snapshots.model import UNKNOWN, Project
from backfill_assets.state.control import Control
from backfill_assets.state.versions import NAMED_BY, Version, logic_of


def versions_by_this_release(control: Control) -> dict[tuple[str, str], Version]:
    """Every version; those that some environment shows have a signature of this release.

    What an older release built is signed by its own stored files, and recorded, so that it is done once. Where the
    record does not say enough the signature is unknown: any code is another version than that. Raises StateError.
    """
    known = control.versions.all()
    if all(v.algorithm == ALGORITHM for v in known.values()):
        return known
    shown = {
        (pointer.model, logic_of(segment.version))
        for name in control.environments.names()
        for pointer in control.environments.read(name).pointers.values()
        for segment in pointer.segments
    }
    old = [v for key, v in known.items() if key in shown and v.algorithm < ALGORITHM]
    if not old:
        return known
    from backfill_assets.snapshots.upgrade import signature_now

    stored = {key: {**v.definition, "upstream": _logic(v.upstream)} for key, v in known.items()}
    signed = [
        replace(
            v,
            signature=signature_now(v.model, v.version, stored) or UNKNOWN,
            definition={NAMED_BY: v.algorithm, **v.definition, "algorithm": ALGORITHM},
        )
        for v in old
    ]
    control.versions.sign_again(signed)
    return known | {(v.model, v.version): v for v in signed}


def under_known_names(project: Project, versions: Mapping[tuple[str, str], Version]) -> Project:
    """The project with the names that versions of older releases have, where they are what the code says."""
    names = {
        (v.model, version_of(v.signature)): v.version
        for v in versions.values()
        if v.version == logic_of(v.version) and v.algorithm == ALGORITHM and v.signature != UNKNOWN
    }
    found = {n: names.get((n, version), version) for n, version in project.fingerprints.items()}
    return project if found == project.fingerprints else replace(project, fingerprints=found)


def _logic(upstream: Mapping[str, str]) -> dict[str, str]:
    """A restatement reads what its logic's version reads."""
    return {name: logic_of(version) for name, version in upstream.items()}
