"""The command for a team that has another tool's project: `backfill import`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from backfill_assets.cli.base import INCOMPLETE, AsJson, app, root_folder
from backfill_assets.cli.terminal import out, print_result, styled


class Tool(StrEnum):
    SQLMESH = "sqlmesh"
    DBT = "dbt"


@app.command(name="import")
def import_(
    tool: Annotated[Tool, typer.Argument(help="Whose project it is.", show_default=False)],
    origin: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="SQLMesh's folder, or dbt's target/manifest.json.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Write the models of a SQLMesh or dbt project that are known to give the same rows here.

    Nothing of it is executed. No file is written over. What is not translated is named in import_report.md, with file
    and line, and no model is written for it: code 3 then.
    """
    from backfill_assets.app.import_project import REPORT, Imported, import_project

    root = root_folder()
    done = import_project(root, tool.value, origin)

    def tell(done: Imported = done) -> None:
        console = out()
        for path in done.written:
            console.print(styled("[green]wrote[/]  {}", path))
        for path, why in done.kept:
            console.print(styled("[yellow]kept[/]   {}: {}", path, why))
        for left in done.left:
            said = f"{left.what}: {left.why}" if left.why else left.what
            console.print(styled("[red]left[/]   {}: {}", left.place, said))
        console.print(styled("{} not translated: see {}", len(done.left), root / REPORT))
        if done.written:
            console.print(styled("Next: look at [bold]sources.yml[/] and the models, then [bold]backfill plan[/]"))

    def value() -> object:
        return {
            "written": list(done.written),
            "kept": [{"file": path, "why": why} for path, why in done.kept],
            "left": [
                {"model": x.model, "place": x.place, "what": x.what, "why": x.why, "fix": x.fix} for x in done.left
            ],
            "remarks": [{"model": x.model, "place": x.place, "what": x.what} for x in done.remarks],
            "report": REPORT,
        }

    print_result(as_json, value, tell)
    if done.left:
        raise typer.Exit(INCOMPLETE)
