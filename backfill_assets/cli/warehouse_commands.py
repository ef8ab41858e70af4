"""Commands for the warehouse as a whole: whose it is, how far it has come, and its way to a new release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backfill_assets.cli.base import INCOMPLETE, AsJson, app, open_context, root_folder
from backfill_assets.cli.request import typed
from backfill_assets.cli.terminal import err, out, print_json
from backfill_assets.plan.request_options import BACKUP_TO, WITH_DATA


@app.command()
def warehouse(
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take it for this project's, with the records as they are now.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remember nothing of it: it was deleted or replaced on purpose.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Set aside newest log entries that a loss of power damaged, if unused.")
    ] = False,
    why: Annotated[str, typer.Option(metavar="REASON", help="Why it is adopted; kept in its history.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say whose warehouse this is, and whether its records are complete.

    Code 1 when something is wrong. `--adopt` goes on with records that are older than they were, or that belonged to
    this project under another name: what came after them is lost. `--repair` refuses when an entry was acknowledged:
    that one is in a backup only. Needs no Spark.
    """
    from backfill_assets.app.warehouse import Accepting, accept_warehouse

    done = accept_warehouse(root_folder(), Accepting(adopt=adopt, forget=forget, repair=repair, why=why))
    for one in done.set_aside:
        err().print(Text(f"set aside: {one.what} {one.commit} of {one.table}, now {one.place}"))
    found = done.status
    if as_json:
        print_json(found.to_json())
    else:
        said = found.to_json()
        console = out()
        for name in ("location", "project", "warehouse", "format", "generation", "control_tables"):
            console.print(Text(f"{name:<15}", style="bold") + Text(str(said[name] if said[name] is not None else "-")))
        if found.identity is not None and (last := found.identity.release) is not None:
            console.print(Text(f"{'last release':<15}", style="bold") + Text(f"{last.id} of {last.environment}"))
        for line in found.identity.history if found.identity else ():
            console.print(Text("  " + " ".join(line.values()), style="dim"))
        if found.problem is not None:
            console.print(Text(str(found.problem), style="red"))
        elif found.old:
            console.print(Text("made by an older release: run `backfill migrate` once", style="yellow"))
    if found.problem is not None:
        raise typer.Exit(1)


@app.command()
def migrate(as_json: AsJson = False) -> None:
    """Make an older release's warehouse one of this release.

    Writes its identity, and what the versions that are in use count as by this release's rules; where nothing proves
    that, it says why, model by model, and what to do. Nothing is built or audited again, and a second time is
    harmless. Needs no Spark.
    """
    from backfill_assets.app.migrate import migrate as migrate_it

    done = migrate_it(root_folder())
    if as_json:
        print_json(done.to_json())
        return
    out().print(Text(f"{done.warehouse}: " + ("migrated" if done.made else "nothing to do")))
    for one in done.unproved:
        what = f"nothing proves that version {one.version} of {one.model}, which is in use, is what its code says"
        out().print(Text(f"{what}\n  why: {one.why}\n  fix: {one.fix}", style="yellow"), soft_wrap=True)


@app.command()
def backup(
    target: Annotated[Path, typed(BACKUP_TO)],
    data: Annotated[bool, typed(WITH_DATA)] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the warehouse's records while others work.

    Ledger, releases, approvals, plans and evidence packets as they are at one instant; every file is compared with what
    was read. A copy without backup.json was not finished: run it again. Needs no Spark.
    """
    from backfill_assets.app.warehouse import back_up_warehouse

    done = back_up_warehouse(root_folder(), target, data=data)
    made = done.manifest
    if as_json:
        said = {k: v for k, v in made.to_json().items() if k != "files"}
        print_json(said | {"files": len(made.files), "missing": done.missing})
        return
    last = f"release {made.release}" if made.release else "no release yet"
    out().print(Text(f"{target}: {len(made.files):,} files, {made.bytes / 1e6:,.1f} MB, {last}"))
    for line in done.missing:
        out().print(Text(f"  missing, and in no backup: {line}", style="yellow"))


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A folder that `backfill backup` made.")],
    over_newer: Annotated[
        bool, typer.Option("--replace", help="Also when something that is there now is not in the backup.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the warehouse back from a backup.

    Checks every file first. Refuses to lose releases or records that came later, unless told to; what was there is kept
    beside it. Code 3 when prod shows tables that are not there. Needs no Spark.
    """
    from backfill_assets.app.warehouse import restore_warehouse

    brought = restore_warehouse(root_folder(), source, over_newer=over_newer)
    done = brought.restored
    if as_json:
        said = {"at": done.manifest.at, "release": done.manifest.release, "lost": done.lost}
        print_json(said | {"aside": done.aside, "missing": done.missing})
    else:
        console = out()
        console.print(
            Text(f"{brought.warehouse}: as it was at {done.manifest.at}, release {done.manifest.release or '-'}")
        )
        for line in done.lost:
            console.print(Text(f"  lost: {line}", style="yellow"))
        if done.aside:
            console.print(Text(f"  what was there is in {done.aside}", style="dim"))
        for line in done.missing:
            console.print(Text(f"  missing: {line}", style="red"))
    if done.missing:
        raise typer.Exit(INCOMPLETE)


def print_integrity(*, every_file: bool, as_json: bool) -> None:
    """Look at everything that the warehouse holds, and say what is damaged. Exits with 1 when anything is."""
    from backfill_assets.app.warehouse import check_warehouse
    from backfill_assets.core.codec import to_plain
    from backfill_assets.project.object_store import way_back

    context = open_context()
    found, back = check_warehouse(context, every_file=every_file), way_back(context.warehouse).strip("`")
    if as_json:
        print_json(to_plain(found))
    else:
        console = out()
        for problem in found.problems:
            console.print(Text("✗ ", style="red") + Text(problem))
        how = "every file" if every_file else "a few files of each table"
        said = f"{found.records:,} records, {found.pointers:,} pointers, {found.files:,} files with {found.rows:,} rows"
        console.print(Text(f"{said} were read: {how}; {len(found.problems)} problems"))
        if found.problems:
            console.print(Text(f"fix: {back}, or backfill rollback to a release that is whole"))
    if found.problems:
        raise typer.Exit(1)
