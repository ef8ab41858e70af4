"""Which days are shown that the code leaves out, because a `start:` begins after them or an `end:` before them?

No plan takes them out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Model, Project, Source
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import day_text
from backfill_assets.plan.changes import other_days
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.stages import PlanWarning, Request

_Key: TypeAlias = Literal["start", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A model whose `start:` or `end:` (`key`), said at `place`, leaves out `days` that an environment shows."""

    model: str
    key: _Key
    place: str
    cadence: Cadence
    at: datetime
    bound: datetime
    """Where the first whole interval begins, or the last one ends."""
    days: Ranges

    def __str__(self) -> str:
        return f"`{self.key}: {day_text(self.at)}` ({self.place})"

    @property
    def mended(self) -> str:
        """How the model has all of these days: by whole intervals of its own."""
        if self.key == "start":
            return f"put `start: {day_text(self.cadence.floor(self.days.intervals[0].start))}` in {self.place}"
        end = self.cadence.ceil(self.days.intervals[-1].end)
        return f"put `end: {day_text(end)}` in {self.place}, or take its `end:` out"

    def of(self, lost: Ranges) -> Ranges:
        """The part of `lost` that lies before this `start:`, or after this `end:`."""
        return lost.until(self.bound) if self.key == "start" else lost - lost.until(self.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What would be lost because a model begins later, or ends earlier."""

    cause: LeftOut
    lost: Ranges


def left_out(project: Project, facts: Facts, name: str) -> tuple[LeftOut, ...]:
    """What an environment shows of a model from before its `start:` and after its `end:`. `project` is not bounded by
    what its sources have."""
    model, pointer = project.models.get(name), facts.environment.pointers.get(name)
    if model is None or pointer is None or other_days(project, facts, name):
        return ()
    found: list[LeftOut] = []
    bounds: dict[_Key, tuple[datetime, datetime]] = {"start": (model.start, model.cadence.ceil(model.start))}
    if model.end is not None:
        bounds["end"] = model.end, model.cadence.floor(model.end)
    for key, (at, bound) in bounds.items():
        early = pointer.covers.until(bound)
        if days := early if key == "start" else pointer.covers - early:
            found.append(
                LeftOut(
                    model=name,
                    key=key,
                    place=_place(project, model, key),
                    cadence=model.cadence,
                    at=at,
                    bound=bound,
                    days=days,
                )
            )
    return tuple(found)


def causes_of_loss(project: Project, facts: Facts, name: str, lost: Ranges) -> tuple[Loss, ...]:
    """The `start:` and `end:`, of the model or of those that it reads, that leave out days that would be lost: each of
    its own days, the nearest model's first."""
    found: list[Loss] = []
    for each in (name, *reach([name], lambda n: upstream_models(project, project.models[n]))):
        for cause in left_out(project, facts, each):
            if part := cause.of(lost):
                found.append(Loss(cause=cause, lost=part))
                lost = lost - part
    return tuple(found)


def sources_not_ready(project: Project, facts: Facts, name: str, lost: Ranges) -> tuple[tuple[Source, Ranges], ...]:
    """The sources, of the model or of those that it reads, that say of days which would be lost that not all of their
    rows are there, each with these: by now nothing computes them."""
    found: list[tuple[Source, Ranges]] = []
    calendar = project.models[name].calendar
    for each in (name, *reach([name], lambda n: upstream_models(project, project.models[n]))):
        for source in (project.sources[u.name] for u in project.models[each].upstreams if u.name in project.sources):
            until = facts.sources.ready_until.get(source.name)
            if until is None:
                continue
            if part := lost - lost.until(calendar.cadence.floor(calendar.days_over(until))):
                found.append((source, part))
                lost = lost - part
    return tuple(found)


def sources_without(
    project: Project, facts: Facts, name: str, lost: Ranges
) -> tuple[tuple[tuple[str, ...], Ranges], ...]:
    """The sources, of the model or of those that it reads, that have no rows of days which would be lost, with these:
    nothing can compute them by now."""
    found: list[tuple[tuple[str, ...], Ranges]] = []
    for each in (name, *reach([name], lambda n: upstream_models(project, project.models[n]))):
        timed = [u.name for u in project.models[each].upstreams if u.name in project.sources]
        timed = [source for source in timed if project.sources[source].time_column]
        if not timed or any(source not in facts.sources.extents for source in timed):
            continue
        there = Ranges.of(Cadence.DAILY.cover(e) for source in timed if (e := facts.sources.extents[source]))
        if part := lost - there:
            found.append((tuple(timed), part))
            lost = lost - part
    return tuple(found)


def begin_later(project: Project, name: str, lost: Ranges) -> tuple[tuple[Model, Ranges], ...]:
    """The models that a model reads, directly or not, and that begin after intervals which would be lost, each with
    these: a week is shown whole whose first days they do not have, and as days these cannot be computed."""
    cadence = project.models[name].cadence
    found: list[tuple[Model, Ranges]] = []
    for each in reach([name], lambda n: upstream_models(project, project.models[n])):
        model = project.models[each]
        if each != name and (part := lost.until(cadence.floor(model.start))):
            found.append((model, part))
            lost = lost - part
    return tuple(found)


def ways_on(found: LeftOut, request: Request) -> str:
    """What can be done where new logic would lose the days. No command takes single days out of what is shown."""
    if found.key == "end":
        return found.mended
    since = replace(request, forward_only=found.bound, start=None, end=None, strategies=())
    return f"{found.mended}; or leave these days as they are shown: {apply_command(since)}"


def warn_of_left_out(project: Project, facts: Facts, models: Sequence[str]) -> tuple[PlanWarning, ...]:
    """A warning for each model whose code is what is shown but for a later `start:` or an earlier `end:`: nothing else
    says so. Days that new logic left as they were (--forward-only) are meant to stay."""
    found: list[PlanWarning] = []
    for name in models:
        pointer = facts.environment.pointers.get(name)
        if pointer is None or pointer.version != project.fingerprints.get(name):
            continue
        older = pointer.segments.of_other_logic(pointer.version).covers
        for each in left_out(project, facts, name):
            if not (left := each.days - older):
                continue
            side, moved = ("before", "a later start") if each.key == "start" else ("after", "an earlier end")
            found.append(
                PlanWarning(
                    model=name,
                    place=each.place,
                    what=f"{facts.environment.name} shows {name} {left}, {side} its `{each.key}: {day_text(each.at)}`",
                    why=f"{moved} takes nothing out of sight, and no command takes single days: readers go on "
                    "seeing them, and no plan builds or audits them again",
                    fix=f"{each.mended}; else tell their readers that nobody looks after these days",
                )
            )
    return tuple(found)


def _place(project: Project, model: Model, key: str) -> str:
    """The file, and the line of its header that says it."""
    file = model.path.relative_to(project.root).as_posix()
    says = re.compile(rf"\W*{key}\W*[:=]")
    lines = model.files.get(file, "").splitlines()
    line = next((number for number, text in enumerate(lines, 1) if says.match(text)), 0)
    return f"{file}:{line}" if line else file
