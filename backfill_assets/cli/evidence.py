"""How does a packet look in a terminal? Where it is and the answers at a glance; what a check of it found."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import typer
from rich.text import Text

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import (
    ReleaseEvidence,
    evidence_folder,
    read_release_evidence,
    release_folder,
    write_evidence,
)
from backfill_assets.cli.terminal import out, print_json, styled
from backfill_assets.core.inert import one_line
from backfill_assets.evidence.make import Evidence
from backfill_assets.evidence.release_tables import Tables
from backfill_assets.evidence.verify import Verification, verify
from backfill_assets.evidence.write import MANIFEST, PAGE, RELEASE_PAGE
from backfill_assets.promote.lifecycle import meant_plan
from backfill_assets.state.releases import find_release


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


def tell(place: Context, name: str | None, *, show: bool, as_json: bool) -> None:
    """Write the packet of a plan, or find that of a release, and say what is in it."""
    if name is not None and is_release(place, name):
        found = read_release_evidence(place, name)
        values, tell_it = release_json(found), partial(print_release, found)
    else:
        made = write_evidence(place, name)
        values, tell_it = evidence_json(made), partial(print_evidence, made)
    print_json(values) if as_json else tell_it()
    if show:
        open_page(str(values["page"]))


def is_release(place: Context, name: str) -> bool:
    """Whether somebody means a release and no plan: ids of plans have no `r`."""
    if re.match(r"r\d", name):
        return True
    if any(p.id.startswith(name.removeprefix("plan-")) for p in place.control.plans.all()):
        return False
    return any(r.id.endswith(name) for r in place.control.releases.all(place.environment))


def print_release(found: ReleaseEvidence) -> None:
    """What it says at a glance, and where it is."""
    console, lines = out(), found.said["summary"]
    console.print(Text(f"Release {found.said['release']}: ", style="bold") + Text(one_line(lines[0])))
    for line in lines[1:]:
        console.print(Text(f"  {one_line(line)}"))
    console.print(Text(f"There: {found.location}/{RELEASE_PAGE}", style="green"))
    console.print(Text(f"  manifest {found.digest}", style="dim"))


def release_json(found: ReleaseEvidence) -> dict[str, object]:
    """The same as plain values."""
    return {
        "release": found.said["release"],
        "location": found.location,
        "page": f"{found.location}/{RELEASE_PAGE}",
        "digest": found.digest,
        "changed": False,
        "plans": dict(found.said["plans"]),
        "summary": list(found.said["summary"]),
    }


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


def open_page(page: str) -> None:
    """Show the page in the browser, if it is on this machine."""
    if urlsplit(page).scheme in ("", "file"):
        typer.launch(f"file://{urlsplit(page).path}")


def tables_of(warehouse: str) -> Tables:
    """The tables that a release's packet is held against."""
    return Tables(log=DeltaTableLog(warehouse), storage=DeltaTableStorage(warehouse))


def check(target: str | None) -> Verification:
    """Verify a folder, with nothing but it where no warehouse is around it; or else a plan or a release."""
    if target is not None and (Path(target, MANIFEST).exists() or Path(target).is_dir() or "/" in target):
        folder = Path(target).resolve() if "://" not in target else None
        warehouse = folder.parent.parent if folder else None
        at_home = warehouse is not None and (warehouse / "_control").is_dir()
        tables = DeltaTableFiles(str(warehouse)) if at_home else None
        pointed = tables_of(str(warehouse)) if at_home else None
        return verify(ArrowFolder(str(folder or target)), tables, pointed=pointed, genuine=not_genuine)
    place = Context.open()
    if target is not None and is_release(place, target):
        release = find_release(place.control.releases.all(place.environment), target)
        digest, pointed = release.evidence.get(release.id, ""), tables_of(place.warehouse)
        return verify(release_folder(place, release.id), None, pointed=pointed, expected=digest)
    record = meant_plan(place.control, target)
    folder, expected = evidence_folder(place, record)
    return verify(folder, DeltaTableFiles(place.warehouse), expected=expected, genuine=not_genuine)


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
        return
    console.print(
        styled("[green]✓[/] The packet of {} {} is as it was written: {} files", found.kind, found.plan, found.files)
    )
    if found.signatures:
        many = f"{found.signatures} signature{'s' * (found.signatures != 1)}"
        console.print(styled("[green]✓[/] {} checked again with the keys that were in force", many))
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
