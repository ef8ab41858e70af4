"""Does the environment still show the logic that an open restatement computes again? Else it is put over nothing."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.errors import PlanError
from backfill_assets.core.segments import Segments, logic_of
from backfill_assets.core.wording import listed
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.stages import Plan
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord


def overtaken(shown: Environment, stored: Plan | None) -> Mapping[str, Patch]:
    """The models that a stored plan corrects, of which prod does not show what it corrects any more: where it would be
    put, or, of one that replaces rows of older logic, at all."""
    if stored is None:
        return {}
    again = bool(stored.request.restate)
    corrected = {name: patch for name, patch in stored.patches.items() if patch.version != logic_of(patch.version)}
    return {name: patch for name, patch in corrected.items() if not _fits(shown, name, patch, again=again)}


def _fits(shown: Environment, name: str, patch: Patch, *, again: bool) -> bool:
    pointer, logic = shown.pointers.get(name), logic_of(patch.version)
    if pointer is None or patch.intervals - pointer.covers:
        return False
    if not again:
        return pointer.version == logic
    return all(segment.logic == logic for segment in pointer.segments.cut(patch.intervals))


def why_overtaken(shown: Environment, record: PlanRecord, stored: Plan | None) -> str:
    """That it is, and what to do; "" where it is not."""
    if stored is None or not (found := overtaken(shown, stored)):
        return ""
    return f"{_restates(found)}, which {shown.name} does not show any more: {_anew(shown, record, stored, found)}"


def refuse_overtaken(shown: Environment, record: PlanRecord, stored: Plan | None) -> None:
    """Raise PlanError where a plan restates other logic than is shown by now."""
    if stored is None or not (found := overtaken(shown, stored)):
        return
    by_now = listed([f"{_logics(_there(shown, name, patch))} of {name}" for name, patch in found.items()])
    raise PlanError(
        f"plan {record.id} {_restates(found)}, and {shown.name} shows {by_now} there by now",
        why="a restatement computes published history again with the logic that is published",
        fix=_anew(shown, record, stored, found),
    )


def _restates(found: Mapping[str, Patch]) -> str:
    return f"restates {listed([f'{name} {logic_of(patch.version)}' for name, patch in found.items()])}"


def _there(shown: Environment, name: str, patch: Patch) -> Segments:
    pointer = shown.pointers.get(name)
    return pointer.segments.cut(patch.intervals) if pointer else Segments()


def _logics(there: Segments) -> str:
    return listed(list(dict.fromkeys(segment.logic for segment in there))) or "nothing"


def _anew(shown: Environment, record: PlanRecord, stored: Plan, found: Mapping[str, Patch]) -> str:
    ended = f"`backfill abandon {record.id}`"
    whole = all((pointer := shown.pointers.get(name)) and not pointer.older for name in found)
    if whole and stored.request.restate:
        return f"{ended}; then, with the code that {shown.name} shows, `{apply_command(stored.request)}`"
    return f"{ended}; then `backfill plan` says what can be computed again"
