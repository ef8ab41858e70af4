"""What is known before a migration begins, and what is missing? Sheets and findings for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.terminal import grid, out
from backfill_assets.contracts.inventory import Sheet
from backfill_assets.contracts.preflight import Gap
from backfill_assets.plan.stages import Plan


def print_preflight(plan: Plan, sheets: Sequence[Sheet], findings: Sequence[Gap]) -> None:
    """A sheet a model, then what blocks, then what is asked for."""
    console = out()
    if not sheets:
        console.print(f"Plan {plan.id} changes nothing.")
    for sheet in sheets:
        console.print(Text(sheet.model, style="bold"))
        table = grid(0)
        for line in sheet.lines:
            said = Text(f"not said: add {line.ask}", style="yellow") if line.missing else Text(line.said)
            table.add_row(Text(f"  {line.topic}", style="dim"), said)
        console.print(table)
    print_findings(findings)


def print_findings(findings: Sequence[Gap]) -> None:
    """What blocks is red; nothing missing is said as well."""
    console = out()
    for finding in findings:
        word, style = ("blocks", "red") if finding.blocking else ("asked for", "yellow")
        console.print(Text(f"{word}  ", style=style) + Text(str(finding)))
    if not findings:
        console.print("Nothing is missing.")


def hint(findings: Sequence[Gap]) -> str:
    """One line below a plan; empty when nothing blocks."""
    blocking = sum(f.blocking for f in findings)
    things = "1 thing that has" if blocking == 1 else f"{blocking} things that have"
    return f"Preflight finds {things} to mend before this can be promoted: backfill preflight" if blocking else ""
