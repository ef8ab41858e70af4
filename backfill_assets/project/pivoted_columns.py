"""Does a Python model have the same columns in each batch? Not where it pivots by whatever values the batch has."""

from __future__ import annotations

from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.project.draft import Draft


def columns_by_values(draft: Draft, root: Path) -> list[Problem]:
    """A warning for each pivot that does not name its values."""
    return [
        Problem(
            file=root / pivot.file if pivot.file else draft.path,
            line=pivot.line,
            what=f"the columns of `{draft.name}` follow the values of each batch: `.pivot({pivot.pivoted})` names none",
            why="its table has the columns of the first batch, and a batch whose values give others is refused",
            fix=f'name the values: `.pivot({pivot.pivoted}, ["a", "b"])`',
        )
        for pivot in dict.fromkeys(draft.open_pivots)
    ]
