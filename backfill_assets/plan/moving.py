"""What does a plan move once it is built, and whose approval does that need?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Approve, ModelVersion, Owned, Promote, Stage
from backfill_assets.plan.strategy import Strategy
from backfill_assets.state.required_approvals import merged_roles, needed_from
from backfill_assets.state.rules import declared_rules


def move_stages(
    project: Project,
    facts: Facts,
    moves: tuple[tuple[str, str], ...],
    patches: Mapping[str, Patch],
    cut: Collection[str] = (),
    building: Mapping[str, Ranges] = MappingProxyType({}),
) -> list[Stage]:
    """The move, and before it the question to the owners of models whose published rows change or lose columns, or were
    shown otherwise when they were shown last. `building`: model → what is built first."""
    shown, rules = facts.environment, facts.rules_for(project)
    files = declared_rules(project, beside=rules)
    asked: dict[str, list[str]] = {}
    roles: dict[str, tuple[str, ...]] = {}
    for name, version in moves:
        if pointer := shown.pointers.get(name):
            others = pointer.covers if name in cut else rewrites(pointer, version, patches.get(name))
        elif last := facts.past.out_of_sight.get(name):
            others = last.segments.in_other_tables(version).covers | last.covers & building.get(name, NOTHING)
        else:
            others = NOTHING
        if others:
            needed_here = needed_from(rules, files, name)
            roles = merged_roles([*roles.items(), *needed_here.items()])
            for owner in needed_here:
                asked.setdefault(owner, []).append(name)
    promote = Promote(environment=shown.name, models=tuple(ModelVersion(model=m, version=v) for m, v in moves))
    if not asked or not rules.approvals.required:
        return [promote]
    owners = (Owned(owner=owner, models=tuple(names), roles=roles[owner]) for owner, names in sorted(asked.items()))
    return [Approve(owners=tuple(owners)), promote]


def held_back(project: Project, ways: Mapping[str, Strategy]) -> tuple[str, ...]:
    """What a dual run does not move: its model, and what was built from that."""
    dual = [f"{name}+" for name, way in ways.items() if way is Strategy.DUAL_RUN]
    return select_models(project, dual) if dual else ()


def rewrites(pointer: Pointer, version: str, patch: Patch | None = None) -> Ranges:
    """The published intervals that come from another table afterwards: within one they are never written again."""
    if patch is not None:
        return pointer.segments.in_other_tables(version).covers & patch.intervals
    return pointer.covers if pointer.version != version else NOTHING
