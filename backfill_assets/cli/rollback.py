"""How does a rollback look on the terminal: what would move, what it lacks, whether it can be read, how it ended?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.app.context import Context
from backfill_assets.app.rollback import roll_back
from backfill_assets.cli.base import CLOSED, INCOMPLETE, following
from backfill_assets.cli.outcomes import outcomes_json, print_outcomes
from backfill_assets.cli.plan_text import print_warnings
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out, print_json, styled
from backfill_assets.core.codec import to_plain
from backfill_assets.core.wording import amount
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rehearsal import Readability
from backfill_assets.promote.rollback import ProposedRollback
from backfill_assets.promote.rollback_run import RolledBack
from backfill_assets.promote.rollback_step import RollbackStep


def run_rollback(
    context: Context,
    release: str | None,
    select: Sequence[str],
    *,
    at_once: bool,
    dry_run: bool,
    as_json: bool,
    reason: str = "",
) -> int:
    """Go back, or (`dry_run`) only prove that one could. Returns the exit code."""

    def tell(found: ProposedRollback, proofs: Sequence[Readability]) -> None:
        if not as_json:
            print_look(found, proofs, at_once=at_once)

    done = roll_back(
        context,
        release,
        select,
        at_once=at_once,
        dry_run=dry_run,
        reason=reason,
        tell=tell,
        follow=following(quiet=as_json),
    )
    ended = done.ended
    if as_json:
        ending = {"moved": ended.moved is not None, "release": _made(ended), "models": outcomes_json(done.outcomes)}
        look = rollback_json(ended.found, ended.proofs, ended.obstacles) | {"left_open": to_plain(done.left_open)}
        print_json(look | ({} if dry_run else ending))
    elif dry_run:
        print_obstacles(ended.obstacles)
        print_warnings(done.left_open)
        can = "" if ended.found.done else " It would be refused." if ended.obstacles else " It can be done."
        out().print(f"Nothing was changed.{can}")
    else:
        for carried in done.carried:
            if not carried.ok:
                print_outcomes(carried.plan, carried.outcomes, carried.project)
        print_end(ended, at_once=at_once)
        print_warnings(done.left_open)
    if ended.obstacles:
        return CLOSED
    return INCOMPLETE if not dry_run and ended.moved is None and ended.found.steps else 0


def print_look(found: ProposedRollback, proofs: Sequence[Readability], *, at_once: bool) -> None:
    """What would move, and what the older version lacks."""
    console, to = out(), found.release
    if found.done:
        when = f"{found.done.at:%Y-%m-%d %H:%M} UTC, by {found.done.by or 'nobody knows whom'}"
        console.print(f"{found.environment.name} was rolled back already: {found.done.id} ({when})")
        console.print(styled("To undo that: [bold]backfill rollback {}[/]", found.undo))
        console.print(styled("To go further back name a release: [bold]backfill releases[/]"))
        return
    if to.shows_nothing:
        console.print(Text(f"Out of {found.environment.name}: its rows stay until the janitor comes"))
    else:
        console.print(
            Text(f"Back to {found.environment.name} as it was after ")
            + Text(to.id, style="bold")
            + Text(f" ({to.at:%Y-%m-%d %H:%M} UTC, by {to.by or 'nobody knows whom'})")
        )
    if not found.steps:
        console.print("It shows that already, and intervals that came since: nothing to go back to.")
        return
    table = grid(0)
    for step in found.steps:
        was, then = (p.version if p else "nothing" for p in (step.shown, step.older))
        again = "earlier rows of " if was == then else ""
        table.add_row(Text(f"  {step.model}", style="bold"), was, "→", f"{again}{then}", _newer(step, at_once=at_once))
    console.print(table)
    if found.settled:
        console.print(Text(f"Stays, with the late rows that routine runs brought: {', '.join(found.settled)}"))
    if not proofs:
        return
    files, rows = sum(p.files for p in proofs), sum(p.rows for p in proofs)
    bad = sum(len(p.broken) for p in proofs)
    console.print(
        Text("Not readable in full", style="red")
        if bad
        else f"Readable in full: {files:,} files with {rows:,} rows, each looked at"
    )


def print_obstacles(obstacles: Sequence[Obstacle]) -> None:
    """All that is in the way."""
    for obstacle in obstacles:
        out().print(Text(f"  {obstacle}".replace("\n", "\n  ")))


def print_end(ended: RolledBack, *, at_once: bool) -> None:
    """What has moved, or why nothing has."""
    console, found = out(), ended.found
    if ended.obstacles:
        count = len(ended.obstacles)
        things = "1 thing is" if count == 1 else f"{count} things are"
        console.print(styled("[bold red]Not rolled back:[/] {} in the way", things))
        print_obstacles(ended.obstacles)
    elif ended.moved is None and found.steps:
        lacking = "; ".join(f"{s.model} {short(s.lacks)}" for s in found.steps if s.lacks)
        console.print(styled("[bold red]Not rolled back:[/] could not be built: {}", lacking))
        console.print(styled("After mending the cause run it again, or go back without them: [bold]--now[/]"))
    elif ended.moved is not None:
        begins, of = ("Took", "out of") if found.release.shows_nothing else ("Rolled back", "of")
        console.print(
            Text(f"{begins} ")
            + Text(f"{len(found.steps)} {'model' if len(found.steps) == 1 else 'models'}", style="bold")
            + Text(f" {of} {found.environment.name} in one commit ({_made(ended) or 'views went'}). To undo it: ")
            + Text(f"backfill rollback {found.undo}", style="bold")
        )
        for each in found.apart if at_once else ():
            what = f"{each.model} {short(each.intervals)}: computed from rows of {each.upstream} that are out of sight"
            console.print(
                styled("[yellow]Shown as it was:[/] {}. To compute it again: [bold]{}[/]", what, each.command)
            )
        if behind := [s.model for s in found.steps if s.behind]:
            console.print(
                styled("What came since they were shown: [bold]backfill routine[/] builds it ({})", ", ".join(behind))
            )
        missing = [f"{s.model} {short(s.lacks | s.early)}" for s in found.steps if s.lacks | s.early]
        never = [f"{s.model} {short(s.never - s.early)}" for s in found.steps if s.never - s.early]
        if at_once and missing:
            console.print(
                styled("[yellow]Missing now:[/] {}. To build them: [bold]backfill routine[/]", "; ".join(missing))
            )
        if at_once and never:
            console.print(
                styled("[yellow]Not shown any more:[/] {}, which older versions do not have", "; ".join(never))
            )


def rollback_json(
    found: ProposedRollback, proofs: Sequence[Readability], obstacles: Sequence[Obstacle]
) -> dict[str, object]:
    """A rollback as plain values."""
    proven = {p.model: p for p in proofs}
    return {
        "environment": found.environment.name,
        "back_to": found.release.id,
        "done": found.done.id if found.done else None,
        "steps": [
            {
                "model": s.model,
                "from": s.shown and s.shown.version,
                "to": s.older and s.older.version,
                "lacks": s.lacks.to_plain(),
                "never": s.never.to_plain(),
                "behind": s.behind.to_plain(),
                "covers": p.covers.to_plain() if (p := s.pointer) else [],
            }
            for s in found.steps
        ],
        "settled": list(found.settled),
        "readable": [
            {
                "model": p.model,
                "segments": p.segments,
                "files": p.files,
                "rows": p.rows,
                "bytes": p.bytes,
                "broken": list(p.broken),
                "red": p.red.to_plain(),
            }
            for p in proven.values()
        ],
        "in_the_way": [
            {"model": o.model, "what": o.what, "intervals": o.intervals.to_plain(), "remedy": o.remedy}
            for o in obstacles
        ],
    }


def _newer(step: RollbackStep, *, at_once: bool) -> Text:
    if step.older is None:
        return Text("the view goes", style="yellow")
    if step.behind:
        return Text(f"comes back with {short(step.older.covers)}; backfill routine builds what came since", "yellow")
    if not step.lacks:
        return Text("")
    how = "will be missing" if at_once else "built first"
    return Text(f"lacks {short(step.lacks)} ({amount(step.lacks.count(step.cadence), step.cadence)}): {how}", "yellow")


def _made(ended: RolledBack) -> str | None:
    """The release that the rollback is."""
    if ended.moved is None:
        return None
    return next((ended.moved.releases[p.model] for p in ended.found.pointers), None)
