"""Where does everything stand? The status of each model, for a person."""

from __future__ import annotations

from rich.text import Text

from backfill_assets.app.status import ProjectStatus, WindowStatus
from backfill_assets.cli.faults import print_faults
from backfill_assets.cli.pins import print_interrupted, print_pins
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out
from backfill_assets.core.wording import amount, amount_of


def print_status(status: ProjectStatus) -> None:
    """The status for a person."""
    console = out()
    console.print(f"{status.environment} at revision {max(status.revision, 0)}, as of {status.now:%Y-%m-%d %H:%M} UTC")
    table = grid(0, 1)
    for m in status.models:
        have, want = m.green.count(m.cadence), m.expected.count(m.cadence)
        if m.shown_version is None:
            shown = Text(
                "not in prod yet" if status.environment == "prod" else f"not in {status.environment} yet", style="dim"
            )
        elif m.shown_version == m.version:
            shown = Text(f"{status.environment} shows {short(m.shown)}", style="green")
        else:
            shown = Text(f"{status.environment} shows {m.shown_version}, {short(m.shown)}", style="yellow")
        table.add_row(
            Text(m.model, style="bold"),
            m.version,
            *([_meter(have, want)] if console.width >= WIDE else []),
            f"{have} of {amount_of(want, m.calendar)} green" + (f", {m.red.count(m.cadence)} red" if m.red else ""),
            shown,
        )
    console.print(table)
    for m in status.models:
        if m.provisional:
            console.print(f"provisional  {m.model} {m.provisional}: routine runs replace it as its sources change")
    for note in status.rules:
        console.print(Text(note, style="yellow"))
    for one in (*status.deleted, *status.left_out, *status.away):
        console.print(Text(f"{one.what}\n  why: {one.why}\n  fix: {one.fix}", style="yellow"))
    print_faults(status.faults)
    print_pins(status.pins, status.now.date())
    print_interrupted(status.interrupted)
    for writer in status.writers:
        console.print(Text(str(writer)))
    if status.windows:
        console.print(Text(f"windows  {_windows(status.windows)}"))
    for m in status.models:
        for entry in m.running:
            console.print(
                f"running  {m.model} {entry.interval}, attempt {entry.attempt}, since {entry.at:%H:%M:%S} UTC"
            )
        for dead in m.stopped[:_SHOWN]:
            e = dead.entry
            console.print(f"stopped  {m.model} {e.interval}, begun at {e.at:%Y-%m-%d %H:%M:%S} UTC: {dead.why}")
        if m.stopped:
            more = f"{len(m.stopped) - _SHOWN} more, and " if len(m.stopped) > _SHOWN else ""
            console.print(f"         {more}nothing to wait for: `backfill apply` goes on from there")
        if m.pace:
            left = f", about {m.pace.left:.0f} s left" if m.pace.left is not None else ""
            rate = m.pace.rows / m.pace.seconds
            console.print(f"pace     {m.model} {amount(m.pace.intervals, m.cadence)} done, {rate:,.0f} rows/s{left}")
        if m.last_failure:
            where = f"{m.model} {m.last_failure.interval}"
            reason = m.last_failure.reason.removeprefix(f"{where} ").replace("\n", "\n  ")
            console.print(Text(f"failed   {where}: {reason}", style="red"))
        if m.partial:
            console.print(f"open     {m.model} {short(m.partial)} is built as far as it got")
        if m.missing and m.green:
            console.print(f"missing  {m.model} {short(m.missing)}")


def _windows(found: WindowStatus) -> str:
    if not found.held:
        return f"{found.windows}: open until {found.open_until}"
    runs = f"; waiting: {', '.join(found.waiting)}" if found.waiting else ""
    return f"no batch of a heavy build begins: {found.held}{runs}"


WIDE = 110
"""Columns of a terminal that has room for a meter."""
_SHOWN = 5


def _meter(have: int, want: int) -> Text:
    full = round(16 * have / want) if want else 0
    return Text("█" * full, style="green") + Text("░" * (16 - full), style="dim")
