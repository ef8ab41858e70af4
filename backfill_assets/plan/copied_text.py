"""How is it said that a plan copies rows instead of computing them? A sentence a model."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.wording import amount
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.stages import Build, Plan


def copied_words(plan: Plan, models: Mapping[str, Model]) -> list[str]:
    """`daily: 540 days are copied from version 1f3a under the new names (total is called amount now); nothing is
    computed`."""
    built = {stage.model: stage.intervals for stage in plan.stages if isinstance(stage, Build)}
    return [
        f"{name}: {copied_text(models[name], copied.cut(built[name]), built[name] - copied.covers)}"
        for name, copied in plan.copies.items()
        if built.get(name, Ranges()) & copied.covers
    ]


def copied_text(model: Model, copied: Copied, computed: Ranges) -> str:
    """What is done: `540 days are copied from version 1f3a under the new names (total is called amount now); nothing is
    computed`."""
    names = ", ".join(f"{old} is called {new} now" for old, new in copied.renamed)
    versions = ", ".join(dict.fromkeys(s.version for s in copied.segments))
    rest = f"{_are(model, computed)} computed" if computed else "nothing is computed"
    return f"{_are(model, copied.covers)} copied from version {versions} under the new names ({names}); {rest}"


def _are(model: Model, intervals: Ranges) -> str:
    count = intervals.count(model.cadence)
    return f"{amount(count, model.cadence)} {'are' if count > 1 else 'is'}"
