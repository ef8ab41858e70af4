"""Which published rows may a routine run replace without an approval? The rule of the settling window.

The owner's consent is the window in the rules in force. It covers an interval that is provisional, that nobody has
gone back to, that keeps its logic, and whose sources changed since it was built; and what reads it, where that is
provisional itself. What belongs together is covered together, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.reach import reach
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import Patch, affected_interval, restatement
from backfill_assets.plan.stages import Request
from backfill_assets.project.stored import PUT_BACK
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.proposal import moved_meanwhile
from backfill_assets.state.environment import Environment
from backfill_assets.state.settling import Settling
from backfill_assets.state.shown_state import ShownState


def consented(
    project: Project,
    facts: Facts,
    changed: Mapping[str, Ranges],
    pointers: Mapping[str, Pointer],
    late: Mapping[str, Ranges],
) -> dict[str, Ranges]:
    """Model → what of the published intervals that would change is covered by its settling window.

    `pointers` would move; `late` are the intervals whose sources changed since they were built. Nothing is, where the
    environment shows another version of some model than `project`: it may read what would change.
    """
    if any(moved_meanwhile(project, *shown) for shown in facts.environment.pointers.items()):
        return {}
    may = {name: part & _open(project, facts, name, pointers.get(name)) for name, part in changed.items()}
    while True:
        found: dict[str, Ranges] = {}
        for name, model in project.models.items():
            above = Ranges.of(
                affected_interval(model, project.models[u.name], i)
                for u in model.upstreams
                for i in found.get(u.name, NOTHING)
            )
            if part := may.get(name, NOTHING) & (late.get(name, NOTHING) | above):
                found[name] = part
        again = {name: _with_readers(project, facts, found, name) for name in found}
        if again == found:
            return found
        may = again


@dataclass(frozen=True, slots=True, kw_only=True)
class Settleable:
    """What a routine run does about intervals whose sources changed since they were built."""

    request: Request | None
    """Computes again what may change together with all that reads it; None: nothing."""
    held: tuple[Obstacle, ...]
    """What stays as it is, as something that reads it stays: of a week, what reads its first days is settled."""


def settleable(project: Project, facts: Facts, late: Mapping[str, Ranges]) -> Settleable:
    """What of `late` may be computed again without an approval, and what not."""
    asked = {name: ranges - _lapsed(facts, name) for name, ranges in late.items() if name not in project.redeclared}
    stays = what_stays(project, facts, patches := _patches(project, facts, asked))
    parts = tuple(
        (name, part)
        for name in asked
        if name in patches
        for part in asked[name] & patches[name].intervals - stays[name]
    )
    return Settleable(
        request=Request(restate=parts) if parts else None, held=tuple(_held(project, facts, asked, stays))
    )


def what_stays(project: Project, seen: ShownFacts, patches: Mapping[str, Patch]) -> dict[str, Ranges]:
    """Model → what of patches no routine run replaces: it may not change by itself, or what belongs to it may not."""
    may = {name: patch.intervals & may_change(project, seen, name) for name, patch in patches.items()}
    left = _together(project, seen, patches, may)
    return {name: patch.intervals - left[name] for name, patch in patches.items()}


def _held(
    project: Project, facts: Facts, asked: Mapping[str, Ranges], stays: Mapping[str, Ranges]
) -> Iterator[Obstacle]:
    """What is `asked` for and held back by readers that stay, direct or not, of what `stays` of all that it would
    change; or by what is read beside it, which stays as somebody else reads it."""
    closed = {name: over for name, part in stays.items() if (over := part - may_change(project, facts, name))}
    readers_of = project.readers()
    for name in asked:
        part = asked[name] & _open(project, facts, name) & stays.get(name, NOTHING)
        own = [reader for reader in reach([name], lambda n: readers_of.get(n, ())) if reader in closed]
        if part and (blame := own or list(closed)):
            readers = "; ".join(why_it_stays(project, facts, reader, closed[reader]) for reader in blame)
            again = restate_command(restate_argument(name, part))
            yield Obstacle(
                model=name,
                what=f"is not built again, though its sources changed, as what belongs to it stays ({readers}):",
                intervals=part,
                remedy=f"{again}, then backfill promote PLAN, which it names",
            )


class ShownFacts(Protocol):
    """What an environment shows, and what is known of it."""

    @property
    def environment(self) -> Environment: ...

    @property
    def settling(self) -> Settling | None: ...

    @property
    def standing(self) -> Mapping[str, ShownState]: ...


def may_change(project: Project, seen: ShownFacts, name: str) -> Ranges:
    """What routine runs build again of a model that is shown, if its sources change: what may be replaced, and what was
    open when it was built."""
    state = seen.standing.get(name)
    return _open(project, seen, name) | (state.partial if state else NOTHING)


def why_it_stays(project: Project, seen: ShownFacts, name: str, part: Ranges) -> str:
    """A part of a reader that no routine run builds again, and why."""
    shown, settling = seen.environment.pointers[name].covers, seen.settling
    provisional = settling.provisional(name, project.models[name].calendar, shown) if settling else NOTHING
    if name in project.redeclared:
        why = "otherwise declared by now"
    elif settling and part & settling.went_back.get(name, NOTHING):
        why = "gone back to"
    else:
        why = "settled" if part - provisional else "of older logic, or adopted"
    return f"{name} {part}, {why}"


def redeclared(project: Project, facts: Facts, late: Mapping[str, Ranges]) -> tuple[Obstacle, ...]:
    """What of `late` no window covers, as the code would read something else for it than what was published."""
    return tuple(
        Obstacle(
            model=name,
            what=f"is not built again, though its sources changed: {project.redeclared[name]}. What "
            f"{facts.environment.name} shows stays as it was:",
            intervals=part,
            remedy=PUT_BACK,
        )
        for name, ranges in late.items()
        if name in project.redeclared and (part := ranges - _lapsed(facts, name))
    )


def green_part(project: Project, facts: Facts, patches: Mapping[str, Patch]) -> dict[str, Patch]:
    """The patches, without what is not green, or may not change by now, and without what does not fit beside that."""
    green = {
        name: patch.intervals & _open(project, facts, name) & facts.tables.of(name, patch.version).green
        for name, patch in patches.items()
    }
    left = _together(project, facts, patches, green)
    return {name: replace(patch, intervals=left[name]) for name, patch in patches.items() if left[name]}


def _open(project: Project, facts: ShownFacts, name: str, after: Pointer | None = None) -> Ranges:
    """The shown intervals of a model that may change: in the logic that its pointer names, also `after` it moves."""
    shown, model = facts.environment.pointers.get(name), project.models.get(name)
    if facts.settling is None or shown is None or model is None or name in project.redeclared:
        return NOTHING
    own = shown.segments.of_logic(shown.version).covers - shown.segments.adopted.covers  # no code made adopted rows
    if after is not None:
        same = (shown.version, shown.columns) == (after.version, after.columns)
        own = own & after.segments.of_logic(shown.version).covers if same else NOTHING
    return facts.settling.open_to_change(name, model.calendar, shown.covers) & own


def _with_readers(project: Project, facts: ShownFacts, found: Mapping[str, Ranges], name: str) -> Ranges:
    """What of a model's part moves together with all that reads it and is shown, also where code expects it no more."""
    model, left = project.models[name], found[name]
    for name_of_reader in project.downstream(name):
        shown = facts.environment.pointers.get(name_of_reader)
        if shown is None:
            continue
        reader, state = project.models[name_of_reader], facts.standing.get(name_of_reader)
        reads = Ranges.of(affected_interval(reader, model, part) for part in found[name]) & shown.covers
        stays = reads - (state.partial if state else NOTHING) - found.get(name_of_reader, NOTHING)
        left = left - Ranges.of(i for part in stays.split(reader.cadence) for i in needed(reader, model, part))
    return left


def _together(
    project: Project, facts: ShownFacts, patches: Mapping[str, Patch], left: Mapping[str, Ranges]
) -> Mapping[str, Ranges]:
    """What is left of the patches: a reader's interval with all that it was computed from, or none of it."""
    while True:
        again = {name: _beside(project, facts, patches, left, name) for name in patches}
        if again == left:
            return left
        left = again


def _beside(
    project: Project, facts: ShownFacts, patches: Mapping[str, Patch], left: Mapping[str, Ranges], name: str
) -> Ranges:
    model, found = project.models[name], _with_readers(project, facts, left, name)
    for upstream in model.upstreams:
        if upstream.name in patches:
            stays = patches[upstream.name].intervals - left[upstream.name]
            found = found - Ranges.of(affected_interval(model, project.models[upstream.name], part) for part in stays)
    for reader in project.downstream(name):
        if reader in patches:
            below, stays = project.models[reader], patches[reader].intervals - left[reader]
            found = found - Ranges.of(i for part in stays.split(below.cadence) for i in needed(below, model, part))
    return found


def _patches(project: Project, facts: Facts, asked: Mapping[str, Ranges]) -> Mapping[str, Patch]:
    parts = [(name, part) for name, ranges in asked.items() for part in ranges]
    return restatement(
        facts.with_shown_whole(project), facts.environment, parts, facts.sources.pins, facts.now, facts.tables.lapsed
    )


def _lapsed(facts: Facts, name: str) -> Ranges:
    return facts.tables.coverage[name].lapsed if name in facts.tables.coverage else NOTHING
