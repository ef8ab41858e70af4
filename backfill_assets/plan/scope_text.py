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


def scopes(plan: Plan) -> dict[str, str]:
    """By model: which rows of its days are computed again, where not all are."""
    found = {name: patch.scope for name, patch in plan.patches.items()}
    return {name: scope_rows(scope.where, by_key=scope.by_key) for name, scope in found.items() if scope}


def scope_text(scope: RowScope) -> str:
    """What is done of a day: `only rows with region = 'de' are computed again; …`."""
    rows = scope_rows(scope.where, by_key=scope.by_key)
    others = "the others are copied as they are shown, and compared with that once they are written"
    columns = ", ".join(scope.columns)
    known = f"a row whose {columns} itself was corrected leaves the old value and does not come into the new: name both"
    return f"only {rows} are computed again; {others}{'' if scope.by_key else f'; {known}'}"


def scope_rows(where: str, *, by_key: bool) -> str:
    """Which rows these are: `rows with region = 'de'`."""
    return f"rows whose key has {where}, before or after," if by_key else f"rows with {where}"
