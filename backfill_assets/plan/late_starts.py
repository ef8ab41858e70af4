"""Which days are shown that the code leaves out, because a `start:` begins after them? No plan takes them out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import day_text
from backfill_assets.plan.changes import other_days
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.stages import PlanWarning, Request

_START = re.compile(r"\W*start\W*[:=]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateStart:
    """A model whose `start:`, said at `place`, leaves out the days `before` it that an environment shows."""

    model: str
    place: str
    start: datetime
    before: Ranges

    def __str__(self) -> str:
        return f"`start: {day_text(self.start)}` ({self.place})"

    @property
    def put_back(self) -> str:
        """How its days are its own again."""
        return f"put `start: {day_text(self.before.intervals[0].start)}` back in {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What would be lost because a model begins later."""

    begins: LateStart
    lost: Ranges


def late_start(project: Project, facts: Facts, name: str) -> LateStart | None:
    """What an environment shows of a model from before its `start:`; None where that is nothing. `project` is not
    bounded by what its sources have."""
    model, pointer = project.models.get(name), facts.environment.pointers.get(name)
    if model is None or pointer is None or other_days(project, facts, name):
        return None
    before = pointer.covers.until(model.cadence.ceil(model.start))
    if not before or before.intervals[0].start >= model.start:  # of another cadence, whose first interval begins later
        return None
    return LateStart(model=name, place=_place(project, model), start=model.start, before=before)


def cause_of_loss(project: Project, facts: Facts, name: str, lost: Ranges) -> Loss | None:
    """The `start:`, of the model or of one that it reads, that begins after days that would be lost."""
    for each in (name, *reach([name], lambda n: upstream_models(project, project.models[n]))):
        if (found := late_start(project, facts, each)) and (
            part := lost.until(project.models[each].cadence.ceil(found.start))
        ):
            return Loss(begins=found, lost=part)
    return None


def ways_on(found: LateStart, request: Request) -> str:
    """What can be done where new logic would lose the days. No command takes single days out of what is shown."""
    since = replace(request, forward_only=found.start, start=None, end=None, strategies=())
    return f"{found.put_back}; or leave these days as they are shown: {apply_command(since)}"


def late_starts(project: Project, facts: Facts, models: Sequence[str]) -> tuple[PlanWarning, ...]:
    """A warning for each model whose code is what is shown but for a later `start:`: nothing else says so. Days that
    new logic left as they were (--forward-only) are meant to stay."""
    found: list[PlanWarning] = []
    for name in models:
        pointer, late = facts.environment.pointers.get(name), late_start(project, facts, name)
        if pointer is None or late is None or pointer.version != project.fingerprints[name]:
            continue
        older = pointer.segments.of_other_logic(pointer.version).covers
        if left := late.before - older:
            found.append(
                PlanWarning(
                    model=name,
                    place=late.place,
                    what=f"{facts.environment.name} shows {name} {left}, before its `start: {day_text(late.start)}`",
                    why="a later start takes nothing out of sight, and no command takes single days: readers go on "
                    "seeing them, and no plan builds or audits them again",
                    fix=f"{late.put_back}; else tell their readers that nobody looks after these days",
                )
            )
    return tuple(found)


def _place(project: Project, model: Model) -> str:
    """The file, and the line of its header that says `start`."""
    file = model.path.relative_to(project.root).as_posix()
    lines = model.files.get(file, "").splitlines()
    line = next((number for number, text in enumerate(lines, 1) if _START.match(text)), 0)
    return f"{file}:{line}" if line else file
