"""What would a move do to published rows? Interval by interval, by the data files that are shown before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.state.replaced_rows import replaced, written_over
from backfill_assets.state.tables import TableLog


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRows:
    """Model → published intervals."""

    changed: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Whose rows would be others, or gone."""
    rewritten: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """The same, as far as the rows would be others in the table that shows them now."""
    idle: frozenset[str] = frozenset()
    """Models of which a move would show the same rows from another commit."""


def find_changed_rows(
    project: Project, facts: Facts, log: TableLog, pointers: Sequence[Pointer], removed: Sequence[str] = ()
) -> ChangedRows:
    """Compare pointers with what is shown, or was before a rollback took it out of sight. What was built while it was
    open is not published for good: rows of the same logic that replace it are growth. Raises StateError for a table
    that is shown and cannot be read.
    """
    changed: dict[str, Ranges] = {}
    rewritten: dict[str, Ranges] = {}
    idle: set[str] = set()
    for pointer in pointers:
        name, before = pointer.model, facts.environment.pointers.get(pointer.model)
        cadence = cadence_of(project, name)
        if before is None:
            if part := _since_last_shown(facts, pointer, log, cadence):
                changed[name] = part
            continue
        others = replaced(before, pointer, log, cadence) | _back_in_sight(facts, before, pointer, log, cadence)
        if not others and before.covers == pointer.covers and before.columns == pointer.columns:
            idle.add(name)
        state = facts.standing.get(name)
        grown = state.partial & _same_logic(before, pointer) if state else Ranges()
        if part := others - grown:
            changed[name] = part
        if over := part and part & written_over(before, pointer, log, cadence):
            rewritten[name] = over
    for name in removed:
        if (gone := facts.environment.pointers.get(name)) is not None:
            changed[name] = gone.covers
    return ChangedRows(changed=changed, rewritten=rewritten, idle=frozenset(idle))


def _back_in_sight(facts: Facts, before: Pointer, pointer: Pointer, log: TableLog, cadence: Cadence) -> Ranges:
    """What would be other rows than those that a rollback took out of sight, of a model that is shown. Rows of the
    logic that it went back to are growth of that, where those were of another one."""
    last = facts.past.out_of_sight.get(pointer.model)
    if last is None:
        return NOTHING
    back = _since_last_shown(facts, pointer, log, cadence) & pointer.covers
    went_back = Ranges.of(
        common
        for one, other, common in last.segments.meetings(pointer.segments)
        if other.logic == before.version and one.logic != before.version
    )
    return back - went_back


def _since_last_shown(facts: Facts, pointer: Pointer, log: TableLog, cadence: Cadence) -> Ranges:
    """What would be other rows than those that readers saw last of a model that is out of sight. Of a table that the
    janitor removed, or that cannot be read, nobody can tell: a new one counts its commits from 0 again."""
    last = facts.past.out_of_sight.get(pointer.model)
    if last is None:
        return NOTHING
    removed = Ranges.of(s.interval for s in last.segments if (last.model, s.version) in facts.environment.removals)
    try:
        return removed | replaced(last, pointer, log, cadence)
    except StateError:
        return last.covers


def cadence_of(project: Project, name: str) -> Cadence:
    """A model's; days where the loaded code does not know the model any more."""
    return project.models[name].cadence if name in project.models else Cadence.DAILY


def _same_logic(before: Pointer, after: Pointer) -> Ranges:
    """Where both show rows of one logic."""
    return Ranges.of(common for a, b, common in before.segments.meetings(after.segments) if a.logic == b.logic)
