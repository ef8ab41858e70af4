"""Who else is changing these models? A plan that is open has a lease on each version that prod does not show yet.

Nothing is stored for it: the leases follow from the open plans and from what the environment shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import lists
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.stages import AuditStage, Build, Plan, Promote, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, PlanTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """An open plan that builds other versions of these models, for the same environment: another person's, or an own
    one of another request, which no other replaces."""

    plan: PlanRecord
    models: tuple[str, ...]


class Again(StrEnum):
    """What the request of an open plan gives by the loaded code: the rest of that plan, one that replaces it, or one
    beside it (also where that would be refused)."""

    CONTINUES = "continues"
    REPLACES = "replaces"
    ANOTHER = "another"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPlan:
    """An open plan of the same versions by another request, or of other versions of some models: neither goes on with
    the other, nor ends it."""

    plan: PlanRecord
    request: Request
    moves: tuple[str, ...] = ()
    """Models of which it leads to other versions: a restatement of what is shown, beside newer code of the same."""
    again: Again = Again.ANOTHER
    """What its request gives now; `another` also where nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """How a plan stands to those that are open."""

    continues: PlanRecord | None = None
    """The open plan of the same request that leads to the same versions: this one is what is left of it."""
    supersedes: tuple[PlanRecord, ...] = ()
    """Older plans of the same person, which this one replaces: of older code, or of the same request."""
    beside: tuple[ParallelPlan, ...] = ()
    """What is open of the same versions, and stays as it is."""
    collisions: tuple[Collision, ...] = ()
    """Empty when the plan may be applied."""


def targets(plan: Plan) -> tuple[PlanTarget, ...]:
    """The versions that a plan builds, audits or moves, in its order of models."""
    versions: dict[str, str] = {}
    intervals: dict[str, Ranges] = {}
    for stage in plan.stages:
        if isinstance(stage, Promote):
            versions |= {one.model: one.version for one in stage.models}
        elif isinstance(stage, Build | AuditStage):
            versions[stage.model] = stage.version
            intervals[stage.model] = intervals.get(stage.model, Ranges()) | stage.intervals
    return tuple(
        PlanTarget(
            model=name,
            version=versions[name],
            intervals=intervals.get(name, Ranges()),
            columns=plan.views.get(name, ()),
        )
        for name in plan.models
        if name in versions
    )


Goal = tuple[str, tuple[str, ...]]
"""Where a plan leads a model: a version, and the columns of its view where the plan changes only these."""


def leases(versions: Sequence[PlanTarget], shown: Environment) -> dict[str, Goal]:
    """Where models are led that the environment does not show so: growth of what it shows is free for all."""
    return {t.model: _goal(t) for t in versions if not _shows(shown, t)}


def claim(
    plan: Plan,
    records: Sequence[PlanRecord],
    shown: Environment,
    *,
    by: str,
    request_of: Callable[[PlanRecord], Request],
    code: Mapping[str, str],
    patched: Callable[[PlanRecord], Mapping[str, Ranges]] = lambda _: {},
) -> Claim:
    """What applying the plan means for the plans that are open. `shown` is the plan's own environment, `request_of`
    says what somebody asked for when a stored plan was made: plans of different requests never continue one another.
    `code` is the version of each model in the loaded code: a plan of another one is not gone on with, as nobody could
    finish it by this code. `patched` are the intervals of a stored plan's patches: one of fewer is not gone on with, as
    it would never show the others.
    """
    mine = targets(plan)
    wanted, leased = {t.model: _goal(t) for t in mine}, leases(mine, shown)
    continues: list[PlanRecord] = []
    supersedes: list[PlanRecord] = []
    beside: list[ParallelPlan] = []
    collisions: list[Collision] = []
    for other in records:
        if not other.live or other.environment != plan.environment:
            continue
        taken = leases(other.targets, shown)
        theirs = {t.model: _goal(t) for t in other.targets}
        clash = tuple(name for name, lead in leased.items() if name in taken and _exclude(lead, taken[name]))
        if not clash and not wanted.items() & theirs.items():
            if both := tuple(name for name in leased if name in taken):
                beside.append(ParallelPlan(plan=other, request=request_of(other), moves=both))
            continue
        asked = request_of(other)
        if clash and other.by == by and (asked == plan.request or _other_logic(clash, leased, taken)):
            supersedes.append(other)
        elif clash and all(_of_two_logics(leased[name], taken[name]) for name in clash):
            beside.append(ParallelPlan(plan=other, request=asked, moves=clash))
        elif clash:
            collisions.append(Collision(plan=other, models=clash))
        elif asked != plan.request:
            beside.append(ParallelPlan(plan=other, request=asked))
        elif (ours := _is_of(other, code)) and wanted.items() <= theirs.items() and not _beyond(plan, patched(other)):
            continues.append(other)
        elif other.by == by and (not ours or theirs.items() <= wanted.items()):
            supersedes.append(other)
    same = next((r for r in continues if r.id == plan.id), None)
    return Claim(
        continues=same or (continues[0] if continues else None),
        supersedes=tuple(supersedes),
        beside=tuple(beside),
        collisions=tuple(collisions),
    )


def _beyond(plan: Plan, patched: Mapping[str, Ranges]) -> bool:
    """Whether the plan computes more of a model again than these intervals."""
    return any(patch.intervals - patched.get(name, patch.intervals) for name, patch in plan.patches.items())


def _is_of(record: PlanRecord, code: Mapping[str, str]) -> bool:
    """Whether the code has each model of a stored plan, and in that version."""
    return all(code.get(t.model) in (t.version, logic_of(t.version)) for t in record.targets)


def _other_logic(models: Sequence[str], one: Mapping[str, Goal], other: Mapping[str, Goal]) -> bool:
    """Whether the code of one of the models is another: two restatements of it are of the same code."""
    return any((logic_of(one[name][0]), one[name][1]) != (logic_of(other[name][0]), other[name][1]) for name in models)


def _of_two_logics(one: Goal, other: Goal) -> bool:
    """Whether both restate a model, and by other logic: then not the same days of what is shown."""
    logics = logic_of(one[0]), logic_of(other[0])
    return logics[0] != logics[1] and one[0] != logics[0] and other[0] != logics[1]


def _goal(target: PlanTarget) -> Goal:
    return target.version, target.columns


def _shows(shown: Environment, target: PlanTarget) -> bool:
    pointer = shown.pointers.get(target.model)
    if pointer is None or not lists(pointer, target.columns):
        return False
    return target.version in {pointer.version, *(s.version for s in pointer.segments)}


def _exclude(lead: Goal, taken: Goal) -> bool:
    """Whether an environment that shows one version cannot show the other. A restatement of what is shown and a new
    version can both be worked on: the new one replaces everything in any case.
    """
    (one, columns), (other, others) = lead, taken
    if one == other:
        return bool(columns and others) and columns != others
    return (one == logic_of(one)) == (other == logic_of(other))
