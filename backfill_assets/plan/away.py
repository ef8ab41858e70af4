"""What of a plan cannot be done while a source cannot be looked at: no files at its path, a bucket that says nothing?

What is to be computed from it, or held against it, waits. All else is planned, built and promoted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from backfill_assets.audits.reads import tables_read
from backfill_assets.core.errors import BackfillError, Problem
from backfill_assets.core.model import Model, Project
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import listed
from backfill_assets.plan.facts import Facts, SourcePins, pinned
from backfill_assets.plan.stages import Plan, PlanWarning


def source_away(model: Model, facts: Facts) -> str:
    """A source that the model, or an audit of it, reads and that cannot be looked at; "" where there is none."""
    return next((name for name in tables_read(model) if name in facts.sources.away), "") if facts.sources.away else ""


def waiting_models(project: Project, facts: Facts) -> set[str]:
    """The models that cannot be computed now as a source cannot be looked at, and all that reads them."""
    stuck = [name for name, model in project.models.items() if source_away(model, facts)]
    return {*stuck, *reach(stuck, project.downstream)}


def find_away(project: Project, pins: SourcePins) -> Mapping[str, BackfillError]:
    """Why sources that models, or their audits, read cannot be looked at; of those that cannot."""
    read = {table for model in project.models.values() for table in tables_read(model)}
    _, away = pinned(pins, [source for name, source in project.sources.items() if name in read])
    return away


def not_extended(project: Project, away: Mapping[str, BackfillError]) -> Project:
    """The project as an environment shows it, with the models that are not extended as a source that they, or their
    audits, read is away (`Project.redeclared`)."""
    stuck = {
        name: f"its source {table} is away: {away[table].why}"
        for name, model in project.models.items()
        for table in tables_read(model)
        if table in away
    }
    return replace(project, redeclared={**project.redeclared, **stuck})


def refuse_away(plan: Plan, facts: Facts) -> None:
    """Raise why a source cannot be looked at where all of a plan waits for such ones."""
    waits = [each.upstream for each in plan.blocked if each.upstream in facts.sources.away]
    if waits and not plan.stages:
        raise facts.sources.away[waits[0]]


def away_sources(project: Project, facts: Facts, models: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each source that cannot be looked at and that one of these models, or an audit of it, reads."""
    found: list[PlanWarning] = []
    for name, error in facts.sources.away.items():
        source = project.sources[name]
        if readers := [m for m in project.models if m in models and name in tables_read(project.models[m])]:
            found.append(
                PlanWarning(
                    model=readers[0],
                    place=Problem(file=source.file, line=source.line, what=error.what).place(project.root),
                    what=error.what,
                    why=f"{error.why}; what {listed(readers)} {'lack' if len(readers) > 1 else 'lacks'} waits for it",
                    fix=error.fix,
                )
            )
    return tuple(found)


def away_words(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """A line a model of a plan that waits for a source which cannot be looked at."""
    return tuple(
        f"{each.model} waits for {each.upstream} {each.needs}: {facts.sources.away[each.upstream].why}"
        for each in plan.blocked
        if each.upstream in facts.sources.away
    )
