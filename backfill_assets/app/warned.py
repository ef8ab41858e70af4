"""Of which audits did rows only give a warning? Told after something is recorded, which stays so if nobody can tell."""

from __future__ import annotations

from contextlib import suppress

from backfill_assets.app.context import Context
from backfill_assets.core.errors import BackfillError
from backfill_assets.state.warned import Parts, Warned, find_warned


def warned_of(context: Context, parts: Parts) -> tuple[Warned, ...]:
    """The audits that warn of these intervals; none where the results cannot be read."""
    with suppress(BackfillError):
        return find_warned(context.control.results, context.project.models, parts)
    return ()
