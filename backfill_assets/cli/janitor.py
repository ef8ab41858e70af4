"""How does the janitor's work look: what goes and why, what is kept by what, how many bytes that frees?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date

from rich.text import Text

from backfill_assets.app.janitor import Cleared, Housework
from backfill_assets.cli.estimates import BYTES, quantity
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out, styled
from backfill_assets.promote.janitor import Cleanup, KeptTable
from backfill_assets.state.tables import StoredTable


def print_janitor(done: Cleared, days: int, today: date | None = None) -> None:
    """What there is to do, and what was done; `days` is the retention, `today` the date that somebody confirmed."""
    found = done.found
    print_housework(found, days)
    if done.swept:
        print_cleared(found, done.swept, done.joined, done.rewritten)
    elif found.rounds.goes or found.caches or found.packets or found.rounds.unfinished or found.crowds:
        confirmed = f" --today {today}" if today else ""
        out().print(styled("Nothing was changed. To do it: [bold]backfill janitor{} --apply[/]", confirmed))


def print_housework(found: Housework, days: int) -> None:
    """What goes, what stays, what is nobody's."""
    console, rounds = out(), found.rounds
    if rounds.goes or found.caches or found.packets:
        console.print(f"Not needed, and not used for {days} days:")
    table = grid(0)
    for goes in rounds.goes:
        table.add_row(Text("  go", style="red"), *_row(goes.table), f"last used {goes.since:%Y-%m-%d}; {goes.why}")
    if found.caches:
        size = quantity(sum(c.bytes for c in found.caches), BYTES)
        table.add_row(Text("  go", style="red"), Text("cache", style="bold"), "", size, f"{len(found.caches)} files")
    for packet in found.packets:
        why = f"written {packet.written:%Y-%m-%d}; its release did not happen: another one was first, or it was killed"
        size = quantity(packet.bytes, BYTES)
        table.add_row(Text("  go", style="red"), Text("evidence", style="bold"), packet.name, size, why)
    for removal in rounds.unfinished:
        why = f"its removal, begun {removal.at:%Y-%m-%d %H:%M} UTC by {removal.by}, was interrupted"
        table.add_row(
            Text("  go", style="red"),
            Text(removal.model, style="bold"),
            removal.version,
            quantity(removal.bytes, BYTES),
            why,
        )
    if rounds.goes or found.caches or found.packets or rounds.unfinished:
        console.print(table)
    else:
        console.print(f"Nothing can go: all is needed, or was used within {days} days.")
    for crowd in found.crowds:
        what = f"{crowd.tables} tables of corrections, {short(crowd.intervals)}: each view opens all of them"
        console.print(Text("  join  ", style="yellow") + Text(crowd.pointer.model, style="bold") + f"  {what}")
    kept = grid(0)
    groups: dict[str, list[KeptTable]] = defaultdict(list)
    for each in rounds.kept:
        groups[each.why + (f"; can go from {each.until:%Y-%m-%d} on" if each.until else "")].append(each)
    for why, tables in groups.items():
        size = quantity(sum(k.table.bytes for k in tables), BYTES)
        names = ", ".join(f"{k.table.model} {k.table.version}" for k in tables)
        kept.add_row(Text("  keep", style="green"), size, names, Text(why, style="dim"))
    console.print(kept)
    for stored in rounds.unknown:
        console.print(styled("[yellow]No record knows {}/{}:[/] it is left alone", stored.model, stored.version))


def print_cleared(found: Housework, swept: Cleanup, joined: Mapping[str, str], rewritten: Sequence[str]) -> None:
    """What was really deleted and joined."""
    freed = sum(r.bytes for r in swept.removed) + sum(c.bytes for c in (*found.caches, *found.packets))
    files = len(found.caches) + sum(len(p.files) for p in found.packets)
    out().print(f"Removed {len(swept.removed)} tables and {files} files: {quantity(freed, BYTES)} are free")
    for model, problem in joined.items():
        said = f"{model}: its tables of corrections are one now; no row changed"
        out().print(Text(problem, style="yellow") if problem else said)
    if rewritten:
        out().print(f"Written again: {', '.join(rewritten)}")
    for removal in swept.unmarked:
        out().print(f"{removal.model} {removal.version} stays: it is needed again")


def janitor_json(done: Cleared) -> dict[str, object]:
    """What a janitor found as plain values; `removed`, and what came of joining tables, is null for a dry run."""
    found, rounds, swept = done.found, done.found.rounds, done.swept
    return {
        "goes": [_table_json(g.table) | {"why": g.why, "since": g.since.isoformat()} for g in rounds.goes],
        "kept": [_table_json(k.table) | {"why": k.why, "until": k.until and k.until.isoformat()} for k in rounds.kept],
        "unknown": [_table_json(t) for t in rounds.unknown],
        "unfinished": [{"model": r.model, "version": r.version} for r in rounds.unfinished],
        "joins": [
            {
                "model": c.pointer.model,
                "tables": c.tables,
                "intervals": c.intervals.to_plain(),
                "done": swept and not done.joined[c.pointer.model],
                "problem": (swept and done.joined[c.pointer.model]) or None,
            }
            for c in found.crowds
        ],
        "packets": [{"name": p.name, "bytes": p.bytes, "written": p.written.isoformat()} for p in found.packets],
        "caches": [{"path": str(c.path), "bytes": c.bytes} for c in found.caches],
        "removed": swept and [{"model": r.model, "version": r.version, "bytes": r.bytes} for r in swept.removed],
        "rewritten": swept and list(done.rewritten),
        "pardoned": swept and [{"model": r.model, "version": r.version} for r in swept.unmarked],
    }


def _table_json(stored: StoredTable) -> dict[str, object]:
    return {"model": stored.model, "version": stored.version, "files": stored.files, "bytes": stored.bytes}


def _row(stored: StoredTable) -> tuple[Text, str, str]:
    return Text(stored.model, style="bold"), stored.version, quantity(stored.bytes, BYTES)
