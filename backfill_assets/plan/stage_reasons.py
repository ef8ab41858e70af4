"""Why does a plan build a model, or leave it as it is? In words, as plans print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.plan.adoption import adopted_note
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.changes import reverts, unproved, without_days
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.older_logic import computed_by_older_logic
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.reasons import reasons
from backfill_assets.project.whole_intervals import holds_nothing
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.shown_state import ShownState


def build_reason(project: Project, facts: Facts, name: str, have: Coverage, missing: Ranges) -> str:
    """Why these intervals of a model are built."""
    pointer, version = facts.environment.pointers.get(name), project.fingerprints[name]
    if missing and not missing - have.lapsed:
        return "was built before it was over"
    if release := reverts(project, facts, name):
        return f"a revert to the code of release {release}: this is not in its tables"
    if why := dict.fromkeys(reason for part, reason in have.refused if missing & Ranges((part,))):
        return f"was built and does not count: {'; '.join(why)}"
    if have.built or have.empty:
        return "intervals are missing"
    if pointer is None:
        return shown_before(facts, name) or f"new in {facts.environment.name}"
    if pointer.version == version:
        return "intervals are missing"
    return f"changed: {facts.environment.name} shows {pointer.version}"


def shown_before(facts: Facts, name: str) -> str:
    """That a model was shown until a release took it out of sight; "" where it is shown, or never was."""
    out = facts.past.taken_out.get(name)
    return f"shown before, until release {out.release} (taken out of {facts.environment.name})" if out else ""


def nothing_over(model: Model, now: datetime) -> str:
    """Why nothing is built of a model (as its header says it, whatever there is to read) that has nothing to build."""
    if holds_nothing(model):
        return f"its start and end hold no whole {model.cadence.unit}"
    return "what it reads has no rows of it" if model.expected(now) else "no interval of it is over yet"


_RED, _OLDER = "is red", "still has rows of the previous logic"
_EMPTY = "is declared empty"
"""What there is to know of a model of which nothing is missing."""


def replaced_reason(facts: Facts, model: Model, patches: Mapping[str, Patch]) -> str:
    """Why what is shown of a model is computed again beside: it is of older logic, or was computed from such rows.
    `patches` are of all that is computed again so."""
    older = computed_by_older_logic(facts.environment.pointers[model.name])
    above = ", ".join(u.name for u in model.upstreams if u.name in patches)
    shown = [f"{facts.environment.name} shows older logic in {older}"] if older else []
    reads = [f"{'the rest ' if shown else ''}reads what is computed again of {above}"]
    return "; ".join([*shown, *(reads if above and patches[model.name].intervals - older else [])])


def kept_reason(project: Project, facts: Facts, name: str, change: TableChange, empty: Ranges) -> str:
    """Why nothing of a model is built; what of it is declared `empty` counts as complete."""
    about = [o.model for o in project.overrides.values() if name in (o.model, *o.reaches)]
    if about and change.category is Category.UNCHANGED:
        return f"declared equivalent (same_as{f' of {about[0]}' if about[0] != name else ''})"
    if empty:
        return f"complete; {empty} {_EMPTY}, and is never published"
    pointer = facts.environment.pointers.get(name)
    if change.category in (Category.NEW, Category.UNCHANGED):
        adopted = pointer.segments.adopted.covers if pointer else NOTHING
        older = computed_by_older_logic(pointer) if pointer and not facts.keeps_older else NOTHING
        failed = facts.standing.get(name, ShownState()).failed
        said = [adopted_note(project.models[name], adopted)] if adopted else []
        said += [f"{older} {_OLDER}: a plan without --start and --end replaces it as a whole"] if older else []
        said += [f"{failed} {_RED}, and stays shown"] if failed else []
        return "; ".join(("complete", *said)) if said else "complete and audited"
    if pointer and pointer.version == project.fingerprints[name]:
        return "only its view changes: the tables stay, nothing to compute"
    if release := reverts(project, facts, name):
        said = f"a revert to the code of release {release}: its tables are used again, nothing to compute"
        if left := _corrected(project, facts, name, release):
            said += f"; not what was corrected of them by then ({left}): backfill rollback {release} shows that too"
        return said
    return "its code is that of a version that was built before: nothing to compute"


def noted_of_complete(kept: Mapping[str, str]) -> list[str]:
    """Of models that are complete, what their reason says besides: red days, older logic, declared empty."""
    marks = (_RED, _OLDER, _EMPTY)
    return [f"{name}: {reason}" for name, reason in kept.items() if any(mark in reason for mark in marks)]


def _corrected(project: Project, facts: Facts, name: str, release: str) -> Ranges:
    """What a release showed of a model in other tables than that of the loaded version: restated, or settled."""
    moves = [move for each in facts.past.releases if each.id == release for move in each.moves if move.model == name]
    shown = [move.after.segments for move in moves if move.after]
    return shown[0].in_other_tables(project.fingerprints[name]).covers if shown else NOTHING


def because(
    project: Project, facts: Facts, names: Iterable[str], changes: Mapping[str, TableChange]
) -> dict[str, tuple[str, ...]]:
    """Model → what of it, or of what it reads, made it change; of those of which there is something to say."""
    found = {
        name: without_days(project, facts, name)
        or unproved(project, facts, name)
        or reasons(project, name, changes, facts.shown.own_changes.get(name))
        for name in names
    }
    return {name: said for name, said in found.items() if said}


def extent(model: Model, now: datetime) -> str:
    """Which time a model is of, for whoever asked for another."""
    expected = model.expected(now).span
    lacks = "nothing over yet" if model.end is None or model.end > model.start else "nothing to read yet"
    said = f"{expected}" if expected else f"starts {model.start:%Y-%m-%d}, {lacks}"
    over = model.calendar.over(now)
    ended = [unit for unit in model.begun(now).split(model.cadence) if model.over(now) < unit.end <= over]
    return f"{said}; {ended[0]} counts as over at {model.over_from(ended[0].end):%Y-%m-%d %H:%M} UTC" if ended else said
