"""How does a packet look in a terminal? Where it is and the answers at a glance; what a check of it found."""

from __future__ import annotations

import webbrowser
from urllib.parse import urlsplit

from rich.text import Text

from backfill_assets.app.evidence import ReleaseEvidence
from backfill_assets.cli.terminal import err, out, styled
from backfill_assets.core.escaping import one_line
from backfill_assets.evidence.make import Evidence
from backfill_assets.evidence.verify import Verification
from backfill_assets.evidence.write import PAGE, RELEASE_PAGE


def print_evidence(made: Evidence) -> None:
    """Where it is, and the answers at a glance."""
    console, packet = out(), made.packet
    console.print(Text(f"Plan {packet.plan.id}: ", style="bold") + Text(packet.summary.headline))
    said = packet.summary
    if packet.plan.why:
        console.print(Text("  Why      ", style="bold") + Text(one_line(packet.plan.why)))
    for title, lines in (
        ("Changed", said.changed),
        ("Depends", said.depends),
        ("Tests", said.tests),
        ("Accepted", said.accepted),
        ("Mind", said.mind),
    ):
        for number, line in enumerate(lines):
            console.print(Text(f"  {'' if number else title:<9}", style="bold") + Text(line))
    console.print(f"{'Wrote' if made.changed else 'There already:'} {made.location}/{PAGE}", style="green")
    console.print(Text(f"  manifest {made.digest}", style="dim"))


def print_any(found: Evidence | ReleaseEvidence) -> None:
    """What a packet says at a glance, and where it is."""
    print_packet(found) if isinstance(found, ReleaseEvidence) else print_evidence(found)


def any_json(found: Evidence | ReleaseEvidence) -> dict[str, object]:
    """Either kind of packet as plain values."""
    return packet_json(found) if isinstance(found, ReleaseEvidence) else evidence_json(found)


def page_of(found: Evidence | ReleaseEvidence) -> str:
    """Where its page is."""
    return f"{found.location}/{RELEASE_PAGE if isinstance(found, ReleaseEvidence) else PAGE}"


def print_packet(found: ReleaseEvidence) -> None:
    """What it says at a glance, and where it is."""
    console, lines = out(), found.said["summary"]
    console.print(Text(f"Release {found.said['release']}: ", style="bold") + Text(one_line(lines[0])))
    for line in lines[1:]:
        console.print(Text(f"  {one_line(line)}"))
    console.print(Text(f"There: {found.location}/{RELEASE_PAGE}", style="green"))
    console.print(Text(f"  manifest {found.digest}", style="dim"))


def packet_json(found: ReleaseEvidence) -> dict[str, object]:
    """A release's packet as plain values."""
    return {
        "release": found.said["release"],
        "location": found.location,
        "page": page_of(found),
        "digest": found.digest,
        "changed": False,
        "plans": dict(found.said["plans"]),
        "summary": list(found.said["summary"]),
    }


def evidence_json(made: Evidence) -> dict[str, object]:
    """A plan's packet as plain values."""
    return {
        "plan": made.packet.plan.id,
        "location": made.location,
        "page": page_of(made),
        "digest": made.digest,
        "changed": made.changed,
        "summary": made.packet.summary.model_dump(mode="json"),
    }


def open_page(page: str) -> None:
    """Show the page in the browser; where there is none, or the page is not on this machine, say where it is."""
    here = urlsplit(page).scheme in ("", "file")
    if not here or not webbrowser.open(f"file://{urlsplit(page).path}"):
        why = "there is no browser on this machine" if here else "the warehouse is not on this machine"
        err().print(Text(f"--open: {why}; the page is {page}"), soft_wrap=True)


def print_verification(found: Verification) -> None:
    """That all is as it was, or everything that is not."""
    console = out()
    for problem in found.problems:
        console.print(Text("✗ ", style="red") + Text(problem))
    if not found.ok:
        console.print(
            styled("[bold red]Not verified:[/] {} problem{}", len(found.problems), "s" * (len(found.problems) != 1))
        )
        fix = "name a packet's folder, a plan or a release; what was changed or removed comes back from a backup"
        console.print(f"fix: {fix}", soft_wrap=True)
        for removed in found.removed:
            console.print(Text(removed, style="dim"), soft_wrap=True)
        return
    console.print(
        styled("[green]✓[/] The packet of {} {} is as it was written: {} files", found.kind, found.plan, found.files)
    )
    if found.signatures:
        many = f"{found.signatures} signature{'s' * (found.signatures != 1)}"
        console.print(styled("[green]✓[/] {} checked again with the keys that were in force", many))
    for other in found.rests_on:
        console.print(f"  It rests on an approval of plan {other}: backfill verify {other} says of which rows")
    if found.tables is None:
        console.print("  Its tables were not looked at: no warehouse is around this folder")
        return
    if found.kind == "release":
        console.print(
            styled(
                "[green]✓[/] {} table{} hold the commits, batches and rows that it names: {} files, compared by size",
                found.tables,
                "s" * (found.tables != 1),
                f"{found.data_files:,}",
            )
        )
        return
    how = "by content" if found.hashed == found.data_files else f"{found.hashed:,} by content, the others by size"
    console.print(
        styled(
            "[green]✓[/] {} table{} hold exactly the commits and files that it names: {} files, compared {}",
            found.tables,
            "s" * (found.tables != 1),
            f"{found.data_files:,}",
            how,
        )
    )
