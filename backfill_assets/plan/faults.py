"""What is wrong with rows that are shown? Files that are damaged, tables that others wrote to, audits that turned red,
rows of before an upstream began.

None of it is missing: it stays as it is shown, until a restatement puts other rows beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.older_logic import computed_by_older_logic
from backfill_assets.plan.stale_inputs import StaleInput
from backfill_assets.state.environment import Environment
from backfill_assets.state.shown_state import ShownState


class FaultKind(StrEnum):
    """What happened to published rows."""

    DAMAGED = "damaged"
    """A file of them cannot be read."""
    FOREIGN = "foreign"
    """Somebody else wrote to their table since; readers are shown what was there before."""
    UNKNOWN = "unknown"
    """The ledger knows no batch of them."""
    RED = "red"
    """An audit has failed on them since they were published."""
    STALE = "stale"
    """They were computed before an upstream had what is shown of it by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Published intervals of a model with something wrong about them, and what to do about it."""

    kind: FaultKind
    model: str
    intervals: Ranges
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.model} {self.intervals}: {self.what}; it stays shown\n  fix: {self.remedy}"


def faults(
    project: Project,
    shown: Environment,
    standing: Mapping[str, ShownState],
    damaged: Mapping[str, Mapping[str, Ranges]],
) -> tuple[Fault, ...]:
    """All that is wrong with what an environment shows, in its order of models. `damaged` are, by model, the problems
    with files and the shown intervals that they are about."""
    found: list[Fault] = []
    for name, pointer in shown.pointers.items():
        for kind, what, intervals in _of(standing.get(name, ShownState()), damaged.get(name, {})):
            if part := intervals & pointer.covers:
                remedy = _remedy(project, shown, name, part)
                found.append(Fault(kind=kind, model=name, what=what, intervals=part, remedy=remedy))
    return tuple(found)


def stale_faults(project: Project, shown: Environment, found: Iterable[StaleInput]) -> tuple[Fault, ...]:
    """What was computed before an upstream began as early as it does: a fault for each pair of models."""
    pairs: dict[tuple[str, str], list[StaleInput]] = {}
    for each in found:
        pairs.setdefault((each.model, each.upstream), []).append(each)
    told: list[Fault] = []
    for (name, upstream), some in pairs.items():
        intervals = Ranges.of(i for each in some for i in each.intervals)
        lacked = Ranges.of(i for each in some for i in each.of)
        told.append(
            Fault(
                kind=FaultKind.STALE,
                model=name,
                intervals=intervals,
                what=f"was computed before {upstream} had {lacked}",
                remedy=_remedy(project, shown, name, intervals),
            )
        )
    return tuple(told)


def _of(state: ShownState, damaged: Mapping[str, Ranges]) -> Iterator[tuple[FaultKind, str, Ranges]]:
    lost = Ranges.of(i for part in damaged.values() for i in part)
    if lost:
        listed = "; ".join([*damaged][:3])
        yield FaultKind.DAMAGED, listed + (f" (and {len(damaged) - 3} more)" if len(damaged) > 3 else ""), lost
    for what, part in state.foreign.items():
        yield FaultKind.FOREIGN, f"{what}; readers are shown what was there before", part
    if left := state.unknown - lost:
        yield FaultKind.UNKNOWN, "the ledger knows no batch of these rows", left
    for reason, part in state.red.items():
        yield FaultKind.RED, reason, part


def _remedy(project: Project, shown: Environment, name: str, part: Ranges) -> str:
    pointer, model = shown.pointers[name], project.models.get(name)
    if model is None:
        return f"load the code of {name} that {shown.name} shows, and restate these days"
    if older := part & computed_by_older_logic(pointer):
        rest = f"; {_remedy(project, shown, name, left)}" if (left := part - older) else ""
        return f"backfill apply, which gives {name} {older} the newer logic with all that is of the older one{rest}"
    command = restate_command(restate_argument(name, part))
    if project.fingerprints.get(name) == pointer.version:
        return f"{command}, which computes these days again, with all that reads them"
    return f"promote the loaded code of {name}, which replaces all of it; or load {pointer.version}, then {command}"
