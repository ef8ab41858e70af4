"""How does it look what waits for somebody's approval?"""

from __future__ import annotations

from rich.text import Text

from backfill_assets.app.waiting import Waiting
from backfill_assets.cli.impact import impact_lines
from backfill_assets.cli.plans import plan_json
from backfill_assets.cli.rules import print_change, rules_change_json
from backfill_assets.cli.terminal import out
from backfill_assets.core.escaping import one_line


def waiting_json(found: Waiting) -> dict[str, object]:
    """As plain values."""
    return {
        "plans": [plan.to_json() for plan in found.plans],
        "rules": [rules_change_json(change) for change in found.changes],
        "other_code": [plan_json(record) for record in found.other_code],
        "overtaken": [plan_json(record) for record in found.overtaken],
    }


def print_waiting(found: Waiting, who: str) -> None:
    """A few lines a plan: what it is for, what it lacks with the command, and which consumers are to be told."""
    console = out()
    for waiting in found.plans:
        plan = waiting.plan
        console.print(
            Text(f"Plan {plan.id}", style="bold") + Text(one_line(f" by {plan.by}, {plan.created:%Y-%m-%d %H:%M} UTC"))
        )
        if waiting.why:
            console.print(Text(f"  for: {one_line(waiting.why)}"))
        for sentence in waiting.amendment.words:
            console.print(Text(f"  {one_line(sentence)}", style="yellow"))
        for one in waiting.lacking:
            console.print(Text(one_line(f"  {one.text}")))
            if waiting.built:
                console.print(Text("    ") + Text(one_line(one.command), style="bold"))
        if waiting.lacking and not waiting.built:
            console.print(Text("  not all of it is built yet: approvals are about rows that are there", style="dim"))
        for notice in waiting.notices:
            level = f": {notice.level.said}" if notice.level else ""
            console.print(Text(one_line(f"  notice: {notice.consumer.name}{level}"), style="yellow"))
            for line in impact_lines(notice):
                console.print(Text(one_line(f"    {line}")))
    for change in found.changes:
        print_change(change)
    if not found.plans and not found.changes:
        console.print(Text(one_line(f"Nothing waits for {who or 'anybody'}.")))
    if found.other_code:
        names = ", ".join(record.id for record in found.other_code)
        console.print(Text(f"Made from other code than the loaded, so it cannot be told here: {names}", style="dim"))
    for record in found.overtaken:
        ended = f"backfill abandon {record.id}"
        console.print(
            Text(f"Restates what is not shown any more, so nobody promotes it: {record.id}; {ended}", style="dim")
        )
