"""How does a watch look: what is found, what to do about it, and where the watch stands?"""

from __future__ import annotations

from rich.text import Text

from backfill_assets.cli.terminal import out
from backfill_assets.plan.commands import restate_command
from backfill_assets.watch.conclusion import Conclusion, Watched
from backfill_assets.watch.notice import Notice


def print_watch(found: Watched) -> None:
    """Findings with their remedies, then what cannot be told, then the verdict."""
    console = out()
    for notice in found.notices:
        _print(notice)
    late = [n for n in found.notices if n.restate]
    now = [n for n in late if not n.waits]
    if len(now) > 1:
        which = "all" if now == late else "the other"
        console.print(Text(f"{which} late data in one plan: ") + Text(restate_command(found.restate), style="bold"))
    for line in _seams(found.closing):
        console.print(Text(line, style="dim"))
    style = "yellow" if found.findings else "green"
    console.print(Text(f"{found.environment}: ", style="bold") + Text(found.closing.sentence, style=style))


def _print(notice: Notice) -> None:
    console = out()
    style = "yellow" if notice.finding else "dim"
    days = f" {notice.intervals}" if notice.intervals else ""
    head = Text(f"{notice.kind.value.replace('_', ' ')}: ", style=style) + Text(notice.model, style="bold")
    console.print(head + Text(f"{days}: {notice.what}"))
    for name, ranges in notice.downstream.items():
        console.print(Text(f"  with it {name} {ranges}", style="dim"))
    if notice.remedy:
        console.print(Text(f"  fix: {notice.remedy}"))


def _seams(closing: Conclusion) -> list[str]:
    """Which models a routine run has extended since the release, and when the others are due."""
    gone_on = [f"{s.model} ({s.extended_by})" for s in closing.seams if s.extended_by]
    waiting = [f"{s.model} by {s.due:%Y-%m-%d %H:%M} UTC" for s in closing.seams if not s.extended_by and s.due]
    lines: list[str] = []
    if gone_on:
        lines.append(f"extended since: {', '.join(gone_on)}")
    if waiting:
        lines.append(f"not extended yet, due: {', '.join(waiting)}")
    return lines
