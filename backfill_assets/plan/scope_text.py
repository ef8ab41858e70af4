"""How is it said which rows of restated days are computed again? A sentence a model."""

from __future__ import annotations

from backfill_assets.plan.patch import RowScope
from backfill_assets.plan.stages import Plan


def scope_words(plan: Plan) -> list[str]:
    """`orders: only rows with region = 'de' are computed again; …`, and why all of others are."""
    said = [
        f"{name}: {scope_text(patch.scope)}" if patch.scope else f"{name}: all rows are computed again: {patch.whole}"
        for name, patch in plan.patches.items()
        if patch.scope or patch.whole
    ]
    return [f"{one}." for one in said]


def scope_text(scope: RowScope) -> str:
    """What is done of a day: `only rows with region = 'de' are computed again; …`."""
    rows = f"only rows with {scope.where} are computed again"
    if scope.by_key:
        rows = f"only rows whose key has {scope.where}, in what is shown or in what is computed, are computed again"
    return f"{rows}; the others are copied as they are shown, and compared with that once they are written"
