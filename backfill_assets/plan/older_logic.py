"""What is shown of older logic, since a change was made forward only: what replaces it, and what must leave it alone?

All of it is replaced in one plan, with every interval that reads it: as by a restatement, in revisions. A day of it by
itself is never computed again: it alone would have the newer logic among older ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from backfill_assets.core.digest import digest
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import revision_of
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import Patch, affected_interval
from backfill_assets.plan.stages import Blocked
from backfill_assets.state.environment import Environment


def computed_by_older_logic(pointer: Pointer | None) -> Ranges:
    """What a pointer shows by other logic than its newest. Adopted rows are not among it: no code computed them.

    >>> str(computed_by_older_logic(None))
    'nothing'
    """
    return pointer.older.covers - pointer.older.adopted.covers if pointer else NOTHING


def completion(
    project: Project,
    environment: Environment,
    selected: Collection[str],
    now: datetime,
    lapsed: Mapping[str, Ranges],
) -> dict[str, Patch]:
    """The newer logic for all that the selected models show of an older one, and for what of any model reads that: by
    its lookback, or by a month that a boundary cuts.

    What reads it and is about to get another version is no part of it: that is built whole, from these. A revision's
    name follows from what it replaces, so that days that are added meanwhile change nothing. Adopted intervals are
    left out, and open and `lapsed` ones: they are built again in any case. Raises PlanError for a reader of another
    version that is not selected.
    """
    again: dict[str, Ranges] = {}
    patches: dict[str, Patch] = {}
    for name, model in project.models.items():
        if (pointer := environment.pointers.get(name)) is None:
            continue
        known = pointer.version == project.fingerprints[name]
        reads = Ranges.of(
            affected_interval(model, project.models[u.name], part)
            for u in model.upstreams
            for part in again.get(u.name, NOTHING)
        )
        own = computed_by_older_logic(pointer) if known and name in selected else NOTHING
        part = ((own | reads) & pointer.covers & model.expected(now)) - lapsed.get(name, NOTHING)
        if not (part := part - pointer.segments.adopted.covers):
            continue
        again[name] = part
        if known:
            above = [patches[u.name].version for u in model.upstreams if u.name in patches]
            beside = pointer.segments.in_other_tables(pointer.version).cut(part)
            version = revision_of(pointer.version, digest("older logic", beside.to_plain(), above)[:8])
            patches[name] = Patch(version=version, intervals=part, below=pointer.segments)
        elif name not in selected:
            raise _not_selected(project, environment, name, part, [u for u in again if u != name])
    return patches


def to_come(model: Model, shown: Pointer, lapsed: Ranges, now: datetime) -> Ranges:
    """What of a model is over and not shown as that: a plan that replaces its older logic leaves it to the next one,
    else revisions would hold what was computed beside rows that a routine run replaces meanwhile."""
    return model.expected(now) - (shown.covers - lapsed)


def refuse_waiting(
    project: Project, environment: Environment, later: Mapping[str, Ranges], blocked: Sequence[Blocked]
) -> None:
    """Raise PlanError where a shown reader of other code waits for days that are left to the next plan: nothing of it
    could be promoted, and what is shown of it would stay beside rows that it was not computed from."""
    for each in blocked:
        if each.model not in environment.pointers or not (days := each.needs & later.get(each.upstream, NOTHING)):
            continue
        form = "%Y-%m-%dT%H:%M" if project.models[each.upstream].cadence is Cadence.HOURLY else "%Y-%m-%d"
        since = next(iter(days)).start.strftime(form)
        raise PlanError(
            f"{each.model} {each.intervals} waits for {each.upstream} {days}, which this plan leaves to the next one",
            why=f"it replaces what {environment.name} shows of {each.upstream} by older logic, and new days come with "
            f"another plan; {each.model} has other code than what is shown, and is promoted as a whole",
            fix=f"publish the new days first: backfill routine; or backfill apply --promote --select {each.upstream} "
            f"--start {since}; then this",
        )


def _not_selected(
    project: Project, environment: Environment, name: str, part: Ranges, replaced: Collection[str]
) -> PlanError:
    shown = environment.pointers[name].version
    return PlanError(
        f"{name} {part} reads older logic of {', '.join(replaced)} that would be replaced, and is not selected",
        why=f"{environment.name} shows {shown} of {name}, and the code says {project.fingerprints[name]}: what is "
        "shown would stay beside other rows than it was computed from",
        fix=f"select it as well: --select {name}; or take back its newer code",
    )


def held_by_older(project: Project, environment: Environment) -> dict[str, Ranges]:
    """Model → the shown intervals that cannot be computed again by themselves: they are of older logic, or intervals
    that are read them. `project` as the environment shows it."""
    held: dict[str, Ranges] = {}
    if not any(pointer.older for pointer in environment.pointers.values()):
        return held
    for name in reversed(list(project.models)):
        if (pointer := environment.pointers.get(name)) is None:
            continue
        model = project.models[name]
        read = Ranges.of(
            interval
            for reader in project.models.values()
            if any(u.name == name for u in reader.upstreams)
            for part in held.get(reader.name, NOTHING)
            for interval in needed(reader, model, part)
        )
        if found := (computed_by_older_logic(pointer) | read) & pointer.covers:
            held[name] = found
    return held


def refuse_mixing(
    project: Project, environment: Environment, patches: Mapping[str, Patch], asked: Collection[str]
) -> None:
    """Raise PlanError for a restatement that reaches intervals of older logic: they alone would get the newer one."""
    for name, patch in patches.items():
        older = computed_by_older_logic(environment.pointers[name])
        if not (part := patch.intervals & older):
            continue
        what, first = ", ".join(asked), _first_free(project, environment, asked)
        raise PlanError(
            f"{name} {part} cannot be computed again: {environment.name} shows older logic there"
            if name in asked
            else f"{what} cannot be restated: {name} {part} reads it, and {environment.name} shows older logic there",
            why="a restatement computes by the newest logic that is shown: these intervals alone would get it, "
            f"among the others of {older}",
            fix="give all of them the newer logic first, from the sources as they are now: backfill apply"
            + (f"; or restate {what} from {first:%Y-%m-%d} on" if first else ""),
        )


def refuse_parts(project: Project, pointer: Pointer | None, name: str, interval: Interval) -> None:
    """Raise PlanError for intervals that a `pointer` to the code's version shows by older logic: rows of them in the
    version's own table would never be shown."""
    if pointer is None or pointer.version != project.fingerprints[name]:
        return
    if part := Ranges((interval,)) & computed_by_older_logic(pointer):
        raise PlanError(
            f"{name} {part} is not built by itself: it is shown by older logic",
            why="a change was made forward only; these intervals alone would get the newer logic",
            fix="give it to all of them, and to what reads them: backfill apply",
        )


def _first_free(project: Project, environment: Environment, asked: Collection[str]) -> datetime | None:
    """The day from which on all that is asked about can be restated; None where there is none."""
    held = held_by_older(project, environment)
    ends = [span.end for name in asked if (span := held.get(name, NOTHING).span)]
    first = max(ends, default=None)
    shown = [span for name in asked if (span := environment.pointers[name].covers.span)]
    return Cadence.DAILY.ceil(first) if first and all(first < span.end for span in shown) else None
