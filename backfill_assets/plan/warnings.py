"""Of what does a plan warn? Authors' overrides that it relies on, doubtful code, and models without any rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Override, Project
from backfill_assets.core.segments import logic_of
from backfill_assets.core.wording import did_you_mean, listed
from backfill_assets.plan.category import Category
from backfill_assets.plan.changed_texts import remedy
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan, PlanWarning
from backfill_assets.sql.types import in_yaml, same_type

_MOST = 20
"""Columns that are listed where none is close to the one that is not there."""


def overrides(project: Project, models: Collection[str]) -> tuple[Override, ...]:
    """Those that make a difference to these models; they may be of models upstream of them."""
    return tuple(
        replace(o, reaches=tuple(n for n in o.reaches if n in models))
        for o in project.overrides.values()
        if not {o.model, *o.reaches}.isdisjoint(models)
    )


def warnings(project: Project, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """The warnings about these models."""
    return tuple(
        PlanWarning(model=name, place=w.place(project.root), what=w.what, why=w.why, fix=w.fix)
        for name in project.models
        if name in models
        for w in project.warnings.get(name, ())
    )


def parted(plan: Plan, project: Project) -> tuple[list[PlanWarning], list[PlanWarning]]:
    """The warnings of a plan, and apart those about the code of models which it leaves as they are, to the last column
    and in prod, where nobody selected these: every plan would tell them again."""
    if plan.request.select:
        return [*plan.warnings], []
    moved = {name for name, _ in plan.moves} | plan.views.keys() | plan.reverts.keys() | {*plan.held}
    moved |= {name for name, change in plan.changes.items() if change.category is not Category.UNCHANGED}
    about = warnings(project, plan.kept.keys() - moved)
    return [w for w in plan.warnings if w not in about], [w for w in plan.warnings if w in about]


def wider_tolerances(project: Project, facts: Facts, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each of these models that changes, and whose header lets floats be further apart than before."""
    return tuple(
        PlanWarning(
            model=name,
            place=_place(project, name),
            what=f"{name} is compared within {then:g}, as what is shown was, and not within the {now:g} of its header",
            why="a change is held against what was agreed on before it",
            fix=f"nothing, if that is meant: {now:g} holds for comparisons with what this plan shows",
        )
        for name, then in facts.shown.tolerances.items()
        if name in models
        and facts.environment.versions[name] != project.fingerprints[name]
        and (now := project.models[name].tolerance) > then
    )


def split_intervals(project: Project, facts: Facts, changed: Collection[str], first: datetime) -> list[PlanWarning]:
    """A warning for each shown interval that new logic from a day on begins within, and that reads what begins there:
    it stays as it is."""
    found: list[PlanWarning] = []
    for name in changed:
        cadence, pointer = project.models[name].cadence, facts.environment.pointers.get(name)
        above = [u.name for u in project.models[name].upstreams if u.name in changed]
        split = (
            Ranges((Interval(cadence.floor(first), cadence.ceil(first)),)) if cadence.floor(first) < first else NOTHING
        )
        if not (above and pointer and pointer.covers & split):
            continue
        day = f"{first:%Y-%m-%d}"
        found.append(
            PlanWarning(
                model=name,
                place=_place(project, name),
                what=f"{name} {split} stays as it is, and {listed(above)} beside it is of the new logic from {day} on",
                why=f"the new logic of {name} begins with its first {cadence.value} interval after that day",
                fix=f"begin where such an interval does: --forward-only {cadence.floor(first):%Y-%m-%d} or "
                f"{cadence.ceil(first):%Y-%m-%d}; or compute it again once this is promoted: backfill apply",
            )
        )
    return found


def refuted_texts(project: Project, facts: Facts, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each of these models whose text counts as unchanged, and was found to give other rows."""
    return tuple(
        PlanWarning(
            model=check.model,
            place=_place(project, check.model),
            what=f"{check.model} counts as unchanged, and its text gives other rows than version {check.version}",
            why=f"compared in {check.intervals}, it differs in {check.differ}; nothing is built by it",
            fix=remedy(project, check.model),
        )
        for check in facts.texts.refuted
        if check.model in models and not check.error
    )


def empty_models(project: Project, facts: Facts, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each of these models whose version, which is not shown as it is, was built without any row."""
    return tuple(
        PlanWarning(
            model=name,
            place=_place(project, name),
            what=f"{name} gave no row at all in {part}",
            why="nothing fails where nobody said that there must be some; readers would find an empty table",
            fix="correct the query or its sources, or add `audits: [completeness]`, which fails on days without rows",
        )
        for name in project.models
        if name in models and (part := _without_rows(project, facts, name))
    )


def other_types(project: Project, facts: Facts, models: Collection[str]) -> Iterator[PlanWarning]:
    """A warning for each column that is shown of these models with another type than its header declares: the table was
    made by a release that did not look. Of others, whoever reads or builds them says it."""
    for name in models:
        pointer = facts.environment.pointers.get(name)
        if pointer is None or logic_of(pointer.version) != project.fingerprints[name]:
            continue
        shown = {column.lower(): type_ for column, type_ in pointer.columns}
        for column, declared in project.models[name].promised.items():
            type_ = shown.get(column.lower(), declared)
            if not same_type(type_, declared):
                yield PlanWarning(
                    model=name,
                    place=_place(project, name),
                    what=f"column {column} of {name} is declared {declared}, and is {type_}",
                    why="plans go by the types of columns where they say that a change of a reader leaves its rows as "
                    "they are",
                    fix=f"write `type: {in_yaml(type_)}`",
                )


def unknown_columns(project: Project, facts: Facts, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each column that a consumer says it reads of one of these models, and that neither the code nor
    what is shown has: nobody would be told of a change to the one that is meant."""
    asked = set(models)
    return tuple(
        PlanWarning(
            model=name,
            place=f"{consumer.file.relative_to(project.root).as_posix()}:{consumer.line}",
            what=f"{consumer.name} reads {name}.{column}, which there is not",
            why="its owner would not be told of a change to the column that is meant",
            fix=did_you_mean(column, known.values(), f"it has {_first(known.values())}", quote=""),
        )
        for consumer in project.consumers.values()
        for name in consumer.reads
        if name in asked and (known := _known_columns(project, facts, name))
        for column in consumer.use(name).columns
        if column.lower() not in known
    )


def _place(project: Project, name: str) -> str:
    return project.models[name].path.relative_to(project.root).as_posix()


def _known_columns(project: Project, facts: Facts, name: str) -> dict[str, str]:
    """The columns of a model in the code and as it is shown, by their lower-cased names; none where the code's are not
    known."""
    code, pointer = [column.name for column in project.columns.get(name, ())], facts.environment.pointers.get(name)
    shown = [column for column, _ in pointer.columns] if pointer else []
    return {column.lower(): column for column in (*code, *shown)} if code else {}


def _first(names: Collection[str]) -> str:
    return f"{', '.join([*names][:_MOST])}{', …' * (len(names) > _MOST)}"


def _without_rows(project: Project, facts: Facts, name: str) -> Ranges:
    have, pointer = facts.tables.coverage[name], facts.environment.pointers.get(name)
    if not have.hollow:
        return NOTHING
    if pointer is None or pointer.version != project.fingerprints[name]:
        return have.built
    return have.built if have.built - pointer.covers else NOTHING
