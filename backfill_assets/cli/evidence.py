"""How does a packet look in a terminal? Where it is and the answers at a glance; what a check of it found."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from rich.text import Text

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.adapters.workspace import Workspace
from backfill_assets.cli.terminal import out, styled
from backfill_assets.evidence.make import Evidence
from backfill_assets.evidence.verify import Verification, verify
from backfill_assets.evidence.write import MANIFEST, PAGE
from backfill_assets.inert import one_line
from backfill_assets.promote.lifecycle import meant_plan


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


def evidence_json(made: Evidence) -> dict[str, object]:
    """The same as plain values."""
    return {
        "plan": made.packet.plan.id,
        "location": made.location,
        "page": f"{made.location}/{PAGE}",
        "digest": made.digest,
        "changed": made.changed,
        "summary": made.packet.summary.model_dump(mode="json"),
    }


def open_page(made: Evidence) -> None:
    """Show the page in the browser, if it is on this machine."""
    import typer

    if urlsplit(made.location).scheme in ("", "file"):
        typer.launch(f"file://{urlsplit(made.location).path}/{PAGE}")


def check(target: str | None) -> Verification:
    """Verify a folder, with nothing but it where no warehouse is around it; or else a plan of the project."""
    if target is not None and (Path(target, MANIFEST).exists() or Path(target).is_dir() or "/" in target):
        folder = Path(target).resolve() if "://" not in target else None
        warehouse = folder.parent.parent if folder else None
        at_home = warehouse is not None and (warehouse / "_control").is_dir()
        tables = DeltaTableFiles(str(warehouse)) if at_home else None
        return verify(ArrowFolder(str(folder or target)), tables, genuine=not_genuine)
    place = Workspace.open()
    record = meant_plan(place.control, target)
    releases = place.control.releases.all(record.environment)
    expected = next((r.evidence[record.id] for r in reversed(releases) if record.id in r.evidence), "")
    return verify(
        place.evidence_folder(record.id), DeltaTableFiles(place.warehouse), expected=expected, genuine=not_genuine
    )


def print_verification(found: Verification) -> None:
    """That all is as it was, or everything that is not."""
    console = out()
    for problem in found.problems:
        console.print(Text("✗ ", style="red") + Text(problem))
    if not found.ok:
        console.print(
            styled("[bold red]Not verified:[/] {} problem{}", len(found.problems), "s" * (len(found.problems) != 1))
        )
        return
    console.print(styled("[green]✓[/] The packet of plan {} is as it was written: {} files", found.plan, found.files))
    if found.signatures:
        many = f"{found.signatures} signature{'s' * (found.signatures != 1)}"
        console.print(styled("[green]✓[/] {} checked again with the keys that were in force", many))
    if found.tables is None:
        console.print("  Its tables were not looked at: no warehouse is around this folder")
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
