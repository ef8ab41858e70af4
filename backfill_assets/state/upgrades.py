"""What do versions of older releases count as by the rules of this one? They are signed again, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.core.segments import logic_of
from backfill_assets.project.algorithm import ALGORITHM, NAMED_BY, version_of
from backfill_assets.state.control import Control
from backfill_assets.state.versions import Version


def versions_by_this_release(control: Control, project: Project) -> dict[tuple[str, str], Version]:
    """Every version; those that some environment shows, or an open plan builds, have a signature of this release.

    What an older release built is signed by its own stored files, and recorded, so that it is done once. Where the
    record does not say enough the signature is unknown: any code is another version than that. Raises StateError.
    """
    known = control.versions.all()
    if all(v.algorithm == ALGORITHM for v in known.values()):
        return known
    old = [known[key] for key in _in_use(control) if key in known and known[key].algorithm < ALGORITHM]
    return known | _signed_again(control, known, old, project)[0] if old else known


def sign_again(control: Control, project: Project) -> dict[tuple[str, str], str]:
    """Try again what nothing could be proved of so far; why nothing can be, by model and version. Raises StateError."""
    versions_by_this_release(control, project)
    known = control.versions.all()
    old = [v for key in sorted(_in_use(control)) if (v := known.get(key)) and NAMED_BY in v.definition]
    return _signed_again(control, known, [v for v in old if v.signature == UNKNOWN], project)[1]


def _signed_again(
    control: Control, known: Mapping[tuple[str, str], Version], old: Sequence[Version], project: Project
) -> tuple[dict[tuple[str, str], Version], dict[tuple[str, str], str]]:
    from backfill_assets.project.upgrade import LoadedSettings, Unproved, signature_now

    stored = {
        key: {**v.definition, "upstream": _logic(v.upstream), "signed": v.signature if v.written is None else v.written}
        for key, v in known.items()
    }
    here = LoadedSettings.of(project)
    signed: dict[tuple[str, str], Version] = {}
    unproved: dict[tuple[str, str], str] = {}
    for v in old:
        key = (v.model, v.version)
        signature = UNKNOWN
        try:
            signature = signature_now(v.model, v.version, stored, here)
        except Unproved as error:
            unproved[key] = str(error)
        definition = {NAMED_BY: v.algorithm, **v.definition, "algorithm": ALGORITHM}
        written = v.signature if v.written is None else v.written
        signed[key] = replace(v, signature=signature, definition=definition, written=written)
    tried = {key for key, v in known.items() if v.algorithm == ALGORITHM}
    news = [v for key, v in signed.items() if key not in tried or v.signature != UNKNOWN]
    control.versions.sign_again(news)
    return signed, unproved


def _in_use(control: Control) -> set[tuple[str, str]]:
    """What an environment shows, and what an open plan leads to: models with the versions of their logic."""
    shown = {
        (pointer.model, segment.logic)
        for name in control.environments.names()
        for pointer in control.environments.read(name).pointers.values()
        for segment in pointer.segments
    }
    return shown | {(t.model, logic_of(t.version)) for plan in control.plans.all() if plan.live for t in plan.targets}


def under_known_names(project: Project, versions: Mapping[tuple[str, str], Version]) -> Project:
    """The project with the names that versions of older releases have, where they are what the code says, or where its
    author says so of one of which nothing is known."""
    names = {
        (v.model, version_of(v.signature)): v.version
        for v in versions.values()
        if v.version == logic_of(v.version) and v.algorithm == ALGORITHM and v.signature != UNKNOWN
    }
    for word in project.overrides.values():
        there = versions.get((word.model, word.version))
        if there is not None and there.signature == UNKNOWN:
            names[word.model, project.fingerprints[word.model]] = word.version
    found = {n: names.get((n, version), version) for n, version in project.fingerprints.items()}
    return project if found == project.fingerprints else replace(project, fingerprints=found)


def _logic(upstream: Mapping[str, str]) -> dict[str, str]:
    """A restatement reads what its logic's version reads."""
    return {name: logic_of(version) for name, version in upstream.items()}
