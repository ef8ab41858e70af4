"""How does a promotion look, or what is in its way? On a screen, and as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.app.promote import WaitingMove
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out, styled
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import PointerMove

OPEN_ONE = "its open interval built further"
"""What a release did where nothing else can be told of it: no interval that was over changed."""


def print_promotion(
    before: Environment, after: Environment, verdict: Verdict, waiting: Sequence[WaitingMove] = ()
) -> None:
    """What moved, or everything that is in the way; and which plans are `waiting` where nothing moved."""
    console = out()
    if not verdict.open:
        count = len(verdict.obstacles)
        things = "1 thing is" if count == 1 else f"{count} things are"
        console.print(styled("[bold red]Not promoted:[/] {} in the way of {}", things, after.name))
        for obstacle in verdict.obstacles:
            console.print(Text(f"  {obstacle}".replace("\n", "\n  ")))
        return
    if not verdict.pointers:
        console.print(f"{after.name} shows all that is built of it: nothing to promote.")
        for one in waiting:
            console.print(Text(one.waits(f"backfill promote {one.plan}")))
        return
    release = after.releases[verdict.pointers[0].model]
    console.print(
        Text("Promoted ")
        + Text(f"{len(verdict.pointers)} model{'s' * (len(verdict.pointers) != 1)}", style="bold")
        + Text(f" to {after.name} in one commit ({release})")
    )
    table = grid(0)
    for pointer in verdict.pointers:
        old = before.pointers.get(pointer.model)
        move = PointerMove(model=pointer.model, before=old, after=pointer, changed=verdict.changed.get(pointer.model))
        was = _was(move)
        table.add_row(f"  {after.name}.{pointer.model}", pointer.version, short(pointer.covers), Text(was, style="dim"))
    console.print(table)


def _was(move: PointerMove) -> str:
    """What a promotion did to a model: what came, and what has other rows by now."""
    if move.before is None or move.after is None:
        return "new"
    if move.before.version != move.after.version:
        return f"was {move.before.version}"
    difference = move.difference
    said = [f"{short(part)} restated" for part in (difference.changed,) if part]
    said += [f"{short(part)} more" for part in (difference.gained,) if part]
    said += difference.column_lines
    return f"same version, {', '.join(said) or OPEN_ONE}"


def promotion_json(before: Environment, after: Environment, verdict: Verdict) -> dict[str, object]:
    """A promotion, or the closed gate, as plain values."""
    return {
        "environment": after.name,
        "open": verdict.open,
        "revision": {"before": before.revision, "after": after.revision},
        "promoted": [
            {
                "model": p.model,
                "version": p.version,
                "release": after.releases.get(p.model),
                "covers": p.covers.to_plain(),
            }
            for p in verdict.pointers
            if verdict.open
        ],
        "in_the_way": obstacles_json(verdict.obstacles),
    }


def obstacles_json(found: Sequence[Obstacle]) -> list[dict[str, object]]:
    """What is in the way, as plain values."""
    return [{"model": o.model, "what": o.what, "intervals": o.intervals.to_plain(), "remedy": o.remedy} for o in found]
