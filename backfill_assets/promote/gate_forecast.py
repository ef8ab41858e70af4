"""What will stand in a plan's way when all of it is built and green? The gate's rules, asked before anything is built.

So that nobody builds for hours what cannot be shown. What only the new rows can tell is asked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen import Frozen
from backfill_assets.plan.missing import needed, upstream_models
from backfill_assets.plan.stages import Plan
from backfill_assets.promote.case import Case
from backfill_assets.promote.gate import (
    Rule,
    accepted,
    approved,
    as_declared,
    as_expected,
    audited,
    built,
    compared,
    copied_as_shown,
    fits_together,
    from_rows,
    gate,
    known,
    legible,
    not_in_place,
    nothing_lost,
    of_known_sources,
    of_newest_rows,
    of_one_type,
    of_shown_rows,
    only_more,
    scopes_as_shown,
    texts_hold,
    way_back,
    with_rows,
)
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.older_reads import Building, OlderReads
from backfill_assets.promote.proposal import propose
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import Version

RULES_BEFORE_BUILDING: tuple[Rule, ...] = (
    built,
    audited,
    with_rows,
    from_rows,
    of_shown_rows,
    of_newest_rows,
    of_known_sources,
    nothing_lost,
    of_one_type,
    as_declared,
    fits_together,
    texts_hold,
    not_in_place,
    copied_as_shown,
    scopes_as_shown,
    known,
)
"""What can be judged before building."""
RULES_AFTER_BUILDING: Mapping[Rule, str] = {
    compared: "`apply` compares when all is built",
    approved: "the plan names whose approval it needs; they approve rows that are there",
    accepted: "findings are about rows that are there",
    as_expected: "as are expectations",
    legible: "nobody has approved rows that are not there",
    way_back: "of rollbacks, which look before they build",
    only_more: "of routine runs and copies, which no plan is made for",
}
"""What cannot, and why."""


OlderOf = Callable[[Facts, Sequence[Pointer], Sequence[Frozen], Building], OlderReads]
"""What of pointers that would move, and of what a plan froze, is older than what is shown (`Cases.older_reads`)."""


def forecast_obstacles(case: Case, plan: Plan, older: OlderOf) -> tuple[Obstacle, ...]:
    """What the gate will refuse the plan for, if all that it builds is built and passes its audits.

    `case` is what the gate would be asked now. What is built already is judged although other days are missing.
    """
    facts = _as_built(case.facts, case.project, plan)
    versions = {**_to_come(case, plan), **case.versions}
    waits = {b.model for b in plan.blocked}
    models = [name for name in plan.models if name not in waits.union(plan.held)]
    wanted = propose(facts.bounded(case.project), facts, versions, case.request, models, plan.patches)
    building = {(stage.model, stage.version): stage.intervals for stage in plan.work}
    reads = older(facts, wanted.pointers, plan.continued.frozen, building)
    then = replace(case, facts=facts, versions=versions, wanted=wanted, older=reads)
    return (
        *gate(then, RULES_BEFORE_BUILDING).obstacles,
        *_from_nothing(case, plan),
        *_as_frozen(then, plan),
    )


def _as_built(facts: Facts, project: Project, plan: Plan) -> Facts:
    """The facts when the plan's work is done. A text that is not tried yet counts as equal."""
    coverage, patched = dict(facts.tables.coverage), dict(facts.tables.patched)
    for stage in plan.work:
        of = coverage if stage.version == project.fingerprints[stage.model] else patched
        key = stage.model if of is coverage else stage.version
        have = of.get(key, Coverage())
        of[key] = replace(have, green=have.green | stage.intervals, unaudited=have.unaudited - stage.intervals)
    wrong = {(c.model, c.version) for c in facts.texts.refuted if not c.error}
    changed = tuple(r for r in facts.texts.changed if (r.model, r.version) in wrong)
    heads = {**{s.version: 0 for s in plan.work}, **facts.tables.patched_heads}
    tables = replace(facts.tables, coverage=coverage, patched=patched, patched_heads=heads)
    return replace(facts, tables=tables, texts=replace(facts.texts, changed=changed))


def _to_come(case: Case, plan: Plan) -> dict[tuple[str, str], Version]:
    """Records of the versions that the plan builds, as their builds will write them."""
    project = case.project
    return {
        (stage.model, stage.version): Version(
            model=stage.model,
            version=stage.version,
            upstream={
                name: project.fingerprints[name] for name in upstream_models(project, project.models[stage.model])
            },
            columns=_columns(case, stage.model, stage.version),
            definition={},
            signature=project.signatures.get(stage.model, UNKNOWN),
            created=case.facts.now,
        )
        for stage in plan.work
    }


def _columns(case: Case, model: str, version: str) -> tuple[tuple[str, str], ...]:
    """The columns that a build will make; "" where nobody knows a type yet. Those of the same logic are what its table
    has, and so is a column that is computed as it is in what is shown."""
    if same := case.versions.get((model, logic_of(version))):
        return same.columns
    pointer = case.environment.pointers.get(model)
    record = case.versions.get((model, pointer.version)) if pointer else None
    old = record.signature.columns if record else {}
    new = case.project.signatures.get(model, UNKNOWN).columns
    there = {name.lower(): kind for name, kind in record.columns} if record else {}
    kept = {name: there[name] for name in there if name in new and new[name] == old.get(name)}
    return tuple((c.name, kept.get(c.name.lower(), c.type or "")) for c in case.project.columns.get(model, ()))


def _from_nothing(case: Case, plan: Plan) -> list[Obstacle]:
    """What would be computed from intervals that are declared complete without rows."""
    found: list[Obstacle] = []
    for stage in plan.work:
        model = case.project.models[stage.model]
        for name, upstream in upstream_models(case.project, model).items():
            empty = case.facts.tables.coverage[name].empty
            units = stage.intervals.split(model.cadence) if empty and stage.model not in plan.patches else ()
            if hollow := Ranges.of(unit for unit in units if needed(model, upstream, unit) & empty):
                what = f"intervals will be computed from declared-empty ones of {name}:"
                remedy = f"backfill withdraw {name}:{empty.intervals[0]}, then backfill apply"
                found.append(Obstacle(model=stage.model, what=what, intervals=hollow, remedy=remedy))
    return found


def _as_frozen(then: Case, plan: Plan) -> list[Obstacle]:
    """What an open plan froze, and would be read of older rows of a source than are shown by now."""
    return [
        Obstacle(
            model=each.model,
            what=f"will be computed from older rows of source {each.source} than {then.environment.name} shows:",
            intervals=each.intervals,
            remedy=f"{'; '.join(f'backfill abandon {id}' for id in _freezing(plan, each.model))}, then "
            f"{apply_command(then.request)}: what is left reads the source as it is now",
        )
        for each in then.older.to_come
    ]


def _freezing(plan: Plan, model: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.plan for f in plan.continued.frozen if f.model == model))
