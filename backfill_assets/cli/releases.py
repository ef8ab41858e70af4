"""How do releases look: all of them, one, or the difference between two?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.app.context import Context
from backfill_assets.cli.promotion import OPEN_ONE
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out, print_result, styled
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.releases import Difference, PointerMove, Release, compare, find_release, shown_at


def show_releases(context: Context, one: str | None, other: str | None, *, as_json: bool) -> None:
    """Print all releases, or one, or what is different between two."""
    known = context.control.releases.all(context.environment)
    if one is None:
        print_result(
            as_json, lambda: [release_json(r) for r in known], lambda: print_releases(known, context.environment)
        )
        return
    first = find_release(known, one)
    if other is None:
        print_result(as_json, lambda: release_json(first), lambda: print_release(first))
        return
    second = find_release(known, other)
    current = context.control.environments.read(context.environment).pointers
    cadences = {name: model.cadence for name, model in context.project.models.items()}
    found = compare(shown_at(current, known, first), shown_at(current, known, second), context.log, cadences)
    print_result(
        as_json,
        lambda: {"from": first.id, "to": second.id, "models": [difference_json(d) for d in found]},
        lambda: print_difference(first, second, found),
    )


def release_json(release: Release) -> dict[str, object]:
    """A release as plain values."""
    return {
        "id": release.id,
        "environment": release.environment,
        "at": release.at.isoformat(),
        "by": release.by,
        "back_to": release.back_to or None,
        "growth": release.growth,
        "rules": dict(release.rules),
        "evidence": dict(release.evidence),
        "compaction": release.compaction,
        "models": [
            {
                "model": m.model,
                "from": _pointer_json(m.before),
                "to": _pointer_json(m.after),
                "growth": m.growth,
            }
            for m in release.moves
        ],
    }


def print_releases(releases: Sequence[Release], environment: str) -> None:
    """A line a release, newest first."""
    console = out()
    if not releases:
        console.print(styled("Nothing was released to {} yet. Next: [bold]backfill promote[/]", environment))
        return
    table = grid(0)
    for release in reversed(releases):
        table.add_row(
            Text(release.id, style="bold"),
            f"{release.at:%Y-%m-%d %H:%M} UTC",
            release.by,
            _kind(release) + Text(", approvals off" * release.approvals_off, style="yellow"),
            ", ".join(_move_text(m) for m in release.moves),
        )
    console.print(table)


def print_release(release: Release) -> None:
    """Every move of one release."""
    console = out()
    head = f" of {release.environment}, {release.at:%Y-%m-%d %H:%M} UTC, by {release.by or 'nobody knows whom'}: "
    console.print(Text("Release ") + Text(release.id, style="bold") + Text(head) + _kind(release))
    if release.approvals_off:
        off = "Approvals were off (approvals.required: false): nobody had to approve it"
        console.print(Text(off, style="yellow"))
    table = grid(0)
    for move in release.moves:
        table.add_row(Text(f"  {move.model}", style="bold"), _side(move.before), "→", _side(move.after))
    console.print(table)


def print_difference(first: Release, second: Release, found: Sequence[Difference]) -> None:
    """What the second release shows otherwise than the first."""
    console = out()
    if not found:
        console.print(f"{first.id} and {second.id} show the same.")
        return
    console.print(f"From {first.id} to {second.id}")
    for difference in found:
        versions = " → ".join(dict.fromkeys(p.version if p else "nothing" for p in (difference.one, difference.other)))
        console.print(Text(f"  {difference.model}", style="bold") + Text(f"  {versions}"))
        for line in difference.lines(short):
            console.print(Text(f"    {line}"))


def difference_json(difference: Difference) -> dict[str, object]:
    """What is different, as plain values."""
    return {
        "model": difference.model,
        "from": _pointer_json(difference.one),
        "to": _pointer_json(difference.other),
        "changed": difference.changed.to_plain(),
        "gained": difference.gained.to_plain(),
        "lost": difference.lost.to_plain(),
        "columns_added": list(difference.added),
        "columns_removed": list(difference.removed),
    }


def _pointer_json(pointer: Pointer | None) -> dict[str, object] | None:
    return pointer and {
        "version": pointer.version,
        "covers": pointer.covers.to_plain(),
        "segments": [
            {"version": s.version, "commit": s.commit, "interval": s.interval.to_plain()} for s in pointer.segments
        ],
    }


def _kind(release: Release) -> Text:
    if release.back_to:
        return Text(f"rollback to {release.back_to}", style="yellow")
    if release.compaction:
        return Text("corrections joined", style="dim")
    if release.settling:
        return Text("late data", style="dim")
    return Text("new intervals", style="dim") if release.growth else Text("change", style="green")


def _move_text(move: PointerMove) -> str:
    if move.before is None or move.after is None:
        return f"{move.model} {'new' if move.before is None else 'gone'}"
    difference = move.difference
    said: list[str] = []
    if move.before.version != move.after.version:
        said.append(f"{move.before.version[:8]} → {move.after.version[:8]}")
    else:
        again, columns = difference.changed, difference.column_lines
        said += [f"{short(again)} {'copied' if move.compaction else 'again'}"] * bool(again)
        said += [f"({'; '.join(columns)})"] * bool(columns)
    said += [f"+{short(part)}" for part in (difference.gained,) if part]
    said += [f"-{short(part)}" for part in (difference.lost,) if part]
    return f"{move.model} {' '.join(said) or OPEN_ONE}"


def _side(pointer: Pointer | None) -> str:
    return f"{pointer.version} {short(pointer.covers)}" if pointer else "nothing"
