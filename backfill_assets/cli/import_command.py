"""The command for a team that has another tool's project: `backfill import`."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from backfill_assets.cli.base import INCOMPLETE, AsJson, app, root_folder
from backfill_assets.cli.progress import counting
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
    start: Annotated[
        str | None, typer.Option(metavar="DAY", help="The first day of models that say none.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the models of a SQLMesh or dbt project, and a report of what to check.

    Nothing of it is executed. No file is written over but import_report.md, which says of each model whether its rows
    are known to be the same, or what of it has to be checked, by file and line; and what was not translated: code 3
    then.
    """
    from backfill_assets.app.import_project import REPORT, import_project
    from backfill_assets.importing.report import Imported

    root = root_folder()
    with counting("models are looked at") as looked_at:
        done = import_project(root, tool.value, origin, _day(start), looked_at)

    def tell(done: Imported = done) -> None:
        console = out()
        for path in done.written:
            console.print(styled("[green]wrote[/]  {}", path))
        for path, why in done.kept:
            console.print(styled("[yellow]kept[/]   {}: {}", path, why))
        for model in done.to_check:
            console.print(styled("[yellow]check[/]  {}: {} places", model.name, len(model.checks)))
        for left in done.left:
            said = f"{left.what}: {left.why}" if left.why else left.what
            console.print(styled("[red]left[/]   {}: {}", left.place, said))
        console.print(
            styled(
                "{} same rows known, {} translated and to be checked, {} not translated: see {}",
                len(done.same), len(done.to_check), len(done.left), root / REPORT,
            )
        )  # fmt: skip
        if done.written:
            console.print(styled("Next: look at [bold]sources.yml[/] and the report, then [bold]backfill plan[/]"))

    def value() -> object:
        return {
            "written": list(done.written),
            "kept": [{"file": path, "why": why} for path, why in done.kept],
            "same": [m.name for m in done.same],
            "to_check": [
                {"model": m.name, "checks": [{"place": c.place, "what": c.what, "why": c.why} for c in m.checks]}
                for m in done.to_check
            ],
            "checks": [{"model": c.model, "place": c.place, "what": c.what, "why": c.why} for c in done.checks],
            "within": dict(done.within),
            "left": [
                {"model": x.model, "place": x.place, "what": x.what, "why": x.why, "fix": x.fix} for x in done.left
            ],
            "remarks": [{"model": x.model, "place": x.place, "what": x.what} for x in done.remarks],
            "report": REPORT,
        }

    print_result(as_json, value, tell)
    if done.left:
        raise typer.Exit(INCOMPLETE)


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day such as 2024-01-01", param_hint="--start") from None
