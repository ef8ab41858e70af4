"""The command for readers without Spark: `backfill export views`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from backfill_assets.cli.base import AsJson, EnvironmentName, app, open_context
from backfill_assets.cli.terminal import echo, err, print_json, styled


class What(StrEnum):
    VIEWS = "views"


class ExportEngine(StrEnum):
    DUCKDB = "duckdb"
    TRINO = "trino"


@app.command()
def export(
    what: Annotated[What, typer.Argument(help="What is exported.", show_default=False)],
    dialect: Annotated[ExportEngine, typer.Option(help="The engine that is to read them.", show_default=False)],
    environment: EnvironmentName = None,
    release: Annotated[
        str | None, typer.Option(metavar="RELEASE", help="As an older release showed them; default: as they are now.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="A folder, in which the file is ENVIRONMENT.DIALECT.sql; default: it is printed.",
            show_default=False,
        ),
    ] = None,
    catalog: Annotated[str, typer.Option(metavar="NAME", help="Of Trino's Delta connector.")] = "delta",
    as_json: AsJson = False,
) -> None:
    """Write prod's views as SQL for DuckDB or Trino.

    The script shows exactly the rows of one release, says which, and does not move by itself: write it again after each
    release, in the place of the old one. DuckDB reads the data files that the release pins. Needs no Spark.
    """
    from backfill_assets.app.export import ExportRequest, export_views
    from backfill_assets.promote.trino_views import TrinoPlace

    assert what is What.VIEWS
    context = open_context()
    request = ExportRequest(
        dialect=dialect.value,
        environment=environment,
        release=release,
        folder=folder,
        trino=TrinoPlace(catalog=catalog, tables="backfill_tables"),
    )
    done = export_views(context, request)
    of = done.shown.release.id if done.shown.release else None
    if as_json:
        file = str(done.file) if done.file else None
        print_json({"release": of, "models": sorted(done.shown.pointers), "file": file, "script": done.script})
    elif done.file is None:
        echo(done.script.rstrip())
    else:
        err().print(
            styled("[green]wrote[/] {}: {} views of release {}", done.file, len(done.shown.pointers), of or "-")
        )
