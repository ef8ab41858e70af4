"""What did `apply --empty` and `withdraw` record? In words, and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backfill_assets.build.ledger_edits import Withdrawn
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import out, print_json, styled
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount
from backfill_assets.plan.stages import Request

if TYPE_CHECKING:
    from backfill_assets.app.context import Context


def apply_empty(context: Context, request: Request, *, as_json: bool) -> None:
    """Declare the request's missing intervals empty and say which."""
    from backfill_assets.app.ledger_edits import declare_empty

    found = declare_empty(context, request)
    if as_json:
        print_json({"declared_empty": {name: r.to_plain() for name, r in found.items()}})
        return
    console = out()
    for name, ranges in found.items():
        count = amount(ranges.count(context.project.models[name].cadence), context.project.models[name].cadence)
        console.print(styled("[bold]{}[/] {} declared complete without rows: {}", name, count, short(ranges)))
    if found:
        first = next(iter(found))
        console.print(f"Nothing was computed, and {context.environment} will not show them.")
        console.print(f"To build them after all: backfill withdraw {first}:{found[first].intervals[0]}")
    else:
        console.print("Nothing is missing: nothing was recorded.")


def print_withdrawn(done: Sequence[Withdrawn], project: Project) -> None:
    """Which intervals are missing again."""
    console = out()
    for part in done:
        count = amount(part.intervals.count(project.models[part.model].cadence), project.models[part.model].cadence)
        why = "" if part.named else ", built from these"
        console.print(styled("[bold]{}[/] {} withdrawn{}: {}", part.model, count, why, short(part.intervals)))
        if part.replaced:
            console.print(
                f"  {short(part.replaced)} is shown with other rows, restated or settled since: these stay, and "
                "releases that showed the withdrawn ones cannot be gone back to"
            )
    if any(part.intervals - part.replaced for part in done):
        console.print(styled("They are missing now. Next: [bold]backfill apply[/]"))
    elif done:
        console.print("Nothing is missing.")
    else:
        console.print("Nothing to withdraw: all of it is missing already.")


def withdrawn_json(done: Sequence[Withdrawn]) -> dict[str, object]:
    """What was withdrawn as plain values."""
    return {
        "withdrawn": [
            {"model": d.model, "version": d.version, "named": d.named, "intervals": d.intervals.to_plain()}
            | ({"replaced": d.replaced.to_plain()} if d.replaced else {})
            for d in done
        ]
    }
