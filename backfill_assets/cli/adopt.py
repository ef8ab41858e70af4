"""How does an adoption look: what was taken, what it holds, what is missing of it, and what comes next?"""

from __future__ import annotations

from rich.text import Text

from backfill_assets.app.adopt import Adopted
from backfill_assets.app.drafts import Drafted
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import out
from backfill_assets.core.wording import amount
from backfill_assets.plan.commands import restate_argument, restate_command


def print_adopted(done: Adopted, environment: str) -> None:
    """The adoption in words."""
    console, found = out(), done.contained
    count = amount(found.intervals.count(done.cadence), done.cadence)
    rows = f"{sum(found.rows.values()):,} rows"
    how = f"commit {done.origin.commit}, in place" if done.origin else "copied, and compared"
    console.print(Text(done.model, style="bold") + Text(f"  {count}, {rows}: {short(found.intervals)}"))
    console.print(Text(f"  from {done.place.location or done.place.table} ({done.place.format}), {how}"))
    if found.gaps:
        console.print(Text(f"  no rows in {short(found.gaps)}: the model's query builds them", style="yellow"))
    if found.later:
        console.print(Text(f"  {found.later:,} rows of intervals that are not over are left out", style="yellow"))
    if done.red:
        console.print(Text(f"  red, {environment} was not moved: {short(done.red)}", style="red"))
        for line in done.failed[:10]:
            console.print(Text(f"    {line}", style="red"))
        console.print("  A warning does not stop it: say `severity: warn` for an audit that old rows need not pass,")
        console.print("  and run this again.")
    elif not done.shown:
        console.print(Text(f"  the gate is closed, {environment} was not moved:", style="red"))
        for obstacle in done.verdict.obstacles if done.verdict else ():
            console.print(Text(f"    {obstacle}", style="red"))
    else:
        console.print(Text(f"  {environment} shows them, by release {done.release}", style="green"))
        again = restate_command(restate_argument(done.model, found.intervals))
        console.print(Text(f"  Next: `backfill plan` says what comes after them; {again} computes them beside."))


def adopted_json(done: Adopted) -> dict[str, object]:
    """What was adopted as plain values; ends of intervals are exclusive."""
    return {
        "model": done.model,
        "version": done.version,
        "format": done.place.format,
        "location": done.place.location or None,
        "table": done.place.table or None,
        "commit": done.origin.commit if done.origin else None,
        "table_id": done.origin.table if done.origin else None,
        "copied": done.origin is None,
        "intervals": done.contained.intervals.to_plain(),
        "rows": {at.isoformat(): rows for at, rows in sorted(done.contained.rows.items())},
        "gaps": done.contained.gaps.to_plain(),
        "rows_left_out": done.contained.later,
        "red": done.red.to_plain(),
        "failed": list(done.failed),
        "obstacles": [str(o) for o in done.verdict.obstacles] if done.verdict else [],
        "release": done.release or None,
    }


def print_drafted(done: Drafted) -> None:
    """Which drafts were written, and what each is guessed to be."""
    console = out()
    for path in done.written:
        console.print(Text("wrote  ", style="green") + Text(path))
    for path, why in done.left:
        console.print(Text("left   ", style="yellow") + Text(f"{path}: {why}"))
    for said in done.guesses:
        time = f"by {said.time_column} from {said.first}" if said.time_column else "no time column is likely"
        grain = ", ".join(said.grain) or "nothing else"
        sure = "" if said.unique else " (not unique in a sample)"
        console.print(Text(said.name, style="bold") + Text(f"  {time}; grain: that and {grain}{sure}"))
    console.print("All of this is guessed: look at it, then move the files to models/, and the entries to sources.yml.")


def drafted_json(done: Drafted) -> dict[str, object]:
    """A drafted model as plain values."""
    return {
        "written": list(done.written),
        "left": [{"file": path, "why": why} for path, why in done.left],
        "guesses": [
            {
                "name": g.name,
                "time_column": g.time_column or None,
                "first": g.first or None,
                "grain": list(g.grain),
                "unique_in_sample": g.unique,
            }
            for g in done.guesses
        ],
    }
