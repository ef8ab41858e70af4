"""What is recorded of versions whose models were renamed: by which code, and from which models, they go on."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.app.context import Context
from backfill_assets.app.watch import look_at_sources
from backfill_assets.core.errors import BackfillError
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.followed import followed
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, beside
from backfill_assets.watch.followed_rows import other_rows


def record_followed(context: Context, shown: Environment) -> None:
    """After a promotion: what is shown and read by the code from other models goes on from these, where its rows are
    as if they had been computed from them. Of the rest whoever takes out what it was computed from is told."""
    records = context.control.versions
    found = followed(context.project, shown, beside(records.all(), shown.versions), context.control.text_checks.all())
    beside_old = {name: version for name, version in found.items() if _left(version) & shown.pointers.keys()}
    # The gate has compared what comes back when its upstream is out of sight already; until it is recorded to read
    # another one, what is shown cannot be read as a project.
    records.follow([version for name, version in found.items() if name not in beside_old])
    apart = {o.model for o in rows_apart(context, tuple(beside_old.values()))}
    records.follow([version for name, version in beside_old.items() if name not in apart])


def _left(version: Version) -> set[str]:
    """What a version reads no more."""
    return set(version.before.upstream if version.before else ()) - version.upstream.keys()


def rows_apart(context: Context, follows: Sequence[Version]) -> list[Obstacle]:
    """Rows that stay, and were computed from others than those that stay beside them."""
    if not follows:
        return []
    try:
        look = look_at_sources(context)
    except BackfillError as error:
        return [Obstacle(model=v.model, what=f"{error.what}: {error.why}", remedy=error.fix) for v in follows]
    found = {v.model: days for v in follows if (days := other_rows(look, v))}
    return [
        Obstacle(
            model=name,
            what=f"was computed from other rows than {context.environment} would show beside it:",
            intervals=days,
            remedy=f"{restate_command(restate_argument(name, days))}, then backfill "
            "promote PLAN, which it names; then this",
        )
        for name, days in found.items()
    ]
