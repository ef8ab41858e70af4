"""How does each model differ from what an environment shows of it? And is that what it showed once before?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.plan.category import Category, TableChange, change_between
from backfill_assets.plan.dropped_columns import view_changes
from backfill_assets.plan.facts import Facts


def changes_of(project: Project, facts: Facts) -> dict[str, TableChange]:
    """How each model differs from what the environment shows of it."""
    changes: dict[str, TableChange] = {}
    for name in project.models:
        pointer = facts.environment.pointers.get(name)
        if pointer is None:
            changes[name] = TableChange(category=Category.NEW)
        elif pointer.version == project.fingerprints[name]:
            known = tuple(facts.shown.signature(name).columns)
            added, removed = view_changes(project, pointer, known if pointer.columns else ())
            kind = Category.REMOVAL if removed else Category.ADDITIVE if added else Category.UNCHANGED
            changes[name] = TableChange(category=kind, added=added, removed=removed)
        elif UNKNOWN not in (facts.shown.signature(name), project.signatures.get(name, UNKNOWN)):
            there = [column for column, _ in pointer.columns]
            changes[name] = change_between(facts.shown.signatures[name], project.signatures[name], there)
        else:
            changes[name] = TableChange(category=Category.BREAKING, rows=True)
    return changes


def unproved(project: Project, facts: Facts, name: str) -> tuple[str, ...]:
    """Why a model counts as changed where nobody knows what its shown version is made of; nothing otherwise."""
    pointer = facts.environment.pointers.get(name)
    if pointer is None or pointer.version == project.fingerprints[name] or facts.shown.signature(name) != UNKNOWN:
        return ()
    return (
        f"nothing proves that {pointer.version}, which is shown, is what the code says: an earlier release recorded it"
        " without its files, or this release cannot read them; `backfill migrate` says which, and what to do",
    )


def other_days(project: Project, facts: Facts, name: str) -> tuple[str, ...]:
    """One sentence where the model's time zone is another than the shown version's; none otherwise."""
    then, now = facts.shown.zones.get(name, project.models[name].time_zone), project.models[name].time_zone
    if then == now:
        return ()
    return (f"its days are those of {now or 'UTC'}; {facts.environment.name} shows it by those of {then or 'UTC'}",)


def without_days(project: Project, facts: Facts, name: str) -> tuple[str, ...]:
    """The same, and what is shown of days that are not there yet by the new ones."""
    said, model = other_days(project, facts, name), project.models[name]
    if gone := days_gone(project, facts, name, model.expected(facts.now)):
        then, now = facts.shown.zones[name] or "UTC", model.time_zone or "UTC"
        by = f"by days of {then} is shown no more: by those of {now}"
        if not said:
            whole = f"a {facts.shown.cadences[name].value} interval that is not over"
            by = f"of {whole} is shown no more: {model.cadence.value}"
        said += (f"{gone} {by} it is not over, or not loaded, yet",)
    return said


def days_gone(project: Project, facts: Facts, name: str, publish: Ranges) -> Ranges:
    """Of a model whose zone changed: what is shown by its old days of those that its new ones do not have yet. They
    have hours in common with what is to be published; by the new days the rest of them is not over, or not loaded. Of
    one whose cadence changed: what it does not have yet of an interval that is shown in part."""
    pointer, model = facts.environment.pointers.get(name), project.models[name]
    if pointer is None:
        return NOTHING
    if not other_days(project, facts, name):
        if facts.shown.cadences.get(name, model.cadence) == model.cadence or name not in facts.standing:
            return NOTHING
        return facts.standing[name].partial - publish - model.expected(facts.now)
    then = replace(model.calendar, time_zone=facts.shown.zones[name])
    meeting = Ranges.of(seen for part in publish if (seen := then.seen_from(model.calendar, part)))
    return (pointer.covers & meeting) - publish - model.expected(facts.now)


def asked_about(project: Project, facts: Facts, models: Iterable[str]) -> str:
    """What the owners of these models are asked about: `a change`, or that it is none that breaks anything."""
    changes = changes_of(project, facts)
    kinds = {changes[name].category if name in changes else None for name in models}
    return f"an {Category.ADDITIVE.said} change" if kinds == {Category.ADDITIVE} else "a change"


def views(project: Project, facts: Facts, changes: Mapping[str, TableChange]) -> dict[str, tuple[str, ...]]:
    """The models of which only the view changes, with the columns (lower-cased) that it will list."""
    found: dict[str, tuple[str, ...]] = {}
    for name, change in changes.items():
        pointer = facts.environment.pointers.get(name)
        if pointer and pointer.version == project.fingerprints[name] and change.category is not Category.UNCHANGED:
            now = [column.lower() for column, _ in pointer.columns]
            found[name] = tuple(c for c in (*now, *change.added) if c not in change.removed)
    return found


def reverts(project: Project, facts: Facts, name: str) -> str:
    """The newest release that showed what the code says, where another version is shown by now; "" otherwise."""
    pointer, version = facts.environment.pointers.get(name), project.fingerprints[name]
    if pointer is None or pointer.version == version:
        return ""
    return facts.past.released.get(name, {}).get(version, "")
