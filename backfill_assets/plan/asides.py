"""What should a reader of the plan know beside its stages? Authors' words that it stands on, and what looks odd."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from backfill_assets.core.model import Override, Project
from backfill_assets.plan.stages import PlanWarning


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
