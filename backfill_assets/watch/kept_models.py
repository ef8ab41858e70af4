"""Which models were kept beside another version of what they were built from, with a proof or an owner's acceptance?

A release that brought the two together says which plans it rests on. Such a plan says that the reader is unchanged, or
that the upstream's author gave a word for it, and its proof compared the data: it found nothing, or an owner accepted
what it found. It is a proof against what was shown before; so that must have been right as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from backfill_assets.core.segments import Segment
from backfill_assets.plan.category import Category
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.stale_inputs import StaleInput
from backfill_assets.plan.stored import stored_plan
from backfill_assets.promote.mismatches import Mismatch
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.proofs import KEPT, newest_proofs
from backfill_assets.state.releases import PointerMove, Release


def kept_models(
    control: Control, releases: Sequence[Release], found: Sequence[Mismatch], apart: Callable[[Mismatch], bool]
) -> frozenset[Mismatch]:
    """Those of the mismatches that somebody proved or accepted. `releases` of the environment, oldest first; `apart`
    says whether a reader and a version of its upstream do not agree by their records."""
    return frozenset(m for m in found if _is_kept(control, releases, m, apart))


def is_kept_beside(control: Control, releases: Sequence[Release], environment: Environment, older: StaleInput) -> bool:
    """The same of a model that was computed from other rows of one version of its upstream: whether the release that
    showed the present ones rests on such a plan."""
    reader = environment.pointers[older.model].version
    pairs = [
        Mismatch(
            model=older.model, version=reader, upstream=older.upstream, built_from=older.shown.logic, shown=version
        )
        for version in (older.shown.version, older.shown.logic)
    ]
    return any(
        _vouches(control, plan, pair)
        for release in releases
        if any(m.model == older.upstream and _brings(m, older.shown) for m in release.moves)
        for plan in release.evidence
        for pair in pairs
    )


def _brings(move: PointerMove, shown: Segment) -> bool:
    before, after = (
        {(s.version, s.commit) for s in (pointer.segments if pointer else ())} for pointer in (move.before, move.after)
    )
    return (shown.version, shown.commit) in after - before


def _is_kept(control: Control, releases: Sequence[Release], m: Mismatch, apart: Callable[[Mismatch], bool]) -> bool:
    for number, release, before in _together(releases, m):
        if not any(_vouches(control, plan, m) for plan in release.evidence):
            continue
        then = replace(m, shown=before)
        if before == m.built_from or not apart(then) or _is_kept(control, releases[:number], then, apart):
            return True
    return False


def _together(releases: Sequence[Release], m: Mismatch) -> Iterator[tuple[int, Release, str]]:
    """The releases that put the upstream's version beside the reader, and the version that was there before."""
    shown: dict[str, str] = {}
    for number, release in enumerate(releases):
        before = dict(shown)
        for move in release.moves:
            if move.after is None:
                shown.pop(move.model, None)
            else:
                shown[move.model] = move.after.version
        after, was = (shown.get(m.model), shown.get(m.upstream)), before.get(m.upstream, "")
        if after == (m.version, m.shown) and before.get(m.model) == m.version and was != m.shown:
            yield number, release, was


def _vouches(control: Control, plan: str, m: Mismatch) -> bool:
    """Whether a plan led the upstream there, kept the reader, and was proved."""
    said = stored_plan(control, plan)
    if said is None or not _leads(said, m) or not _keeps(said, m):
        return False
    proof = newest_proofs(control.proofs.of(plan)).get(KEPT)
    if proof is None:
        return False
    accepted = {name for approval in control.approvals.of([plan]) for name in approval.accepted}
    return all(f.name in accepted for f in proof.findings if f.model == m.upstream)


def _leads(said: Plan, m: Mismatch) -> bool:
    return (m.upstream, m.shown) in said.moves


def _keeps(said: Plan, m: Mismatch) -> bool:
    """By what the plan found the reader to be, or by its author's word about the upstream."""
    change = said.changes.get(m.model)
    words = [w for w in said.overrides if w.model == m.upstream and m.model in w.reaches]
    return bool(change and change.category is Category.UNCHANGED) or bool(words)
