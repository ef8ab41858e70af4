"""Commands to begin with, to look and to ask: a project, a query, a shell, the UI, the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backfill_assets.cli.base import AsJson, EnvironmentName, app, open_context, root_folder
from backfill_assets.cli.terminal import err, print_result, styled


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="A Spark SQL query; `-` reads it from standard input.")],
    environment: EnvironmentName = None,
    limit: Annotated[int, typer.Option(help="Show at most this many rows.", min=1, max=1_000_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Run a Spark SQL query over prod's views; nothing that writes.

    All views are of one release: backfill sql "SELECT * FROM prod.campaign_performance".
    """
    from backfill_assets.cli.query import read_query, run_query

    text = read_query() if query == "-" else query
    run_query(open_context(), text, environment=environment, limit=limit, as_json=as_json)


@app.command()
def shell(environment: EnvironmentName = None) -> None:
    """Open a Python prompt with the views in Spark.

    `spark` has the environment's views, `sql(query)` runs a query, `read(model)` gives Arrow tables without Spark.
    """
    from backfill_assets.cli.query import run_shell

    run_shell(open_context(), environment=environment)


@app.command()
def session(
    minutes: Annotated[int, typer.Option(help="End when no command used it for so long.", min=1, max=1440)] = 30,
) -> None:
    """Keep a Spark session, so that commands of this project need not wait for one.

    While it runs, sql, diff, apply and others take it, one at a time: backfill session &
    """
    from backfill_assets.app.session import keep_session

    context = open_context()
    said = "Spark is ready: commands of this project use it until nobody did for {} minutes. Ctrl-C ends it."
    why = keep_session(context, minutes=minutes, ready=lambda: err().print(styled(said, minutes)))
    err().print(styled("The session ended: {}", why))


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Where the Dagster UI listens.", min=1, max=65535)] = 3000,
    host: Annotated[str, typer.Option(help="The address that it listens on.")] = "127.0.0.1",
    review_port: Annotated[
        int, typer.Option(help="Where the reviewer's page is served; 0: nowhere.", min=0, max=65535)
    ] = 3070,
) -> None:
    """Start Dagster, UI and daemon, for this project.

    The reviewer's page (`backfill review`) is served beside it, and assets and checks link to it.
    """
    from backfill_assets.defs.dagster_home import run_ui

    raise typer.Exit(run_ui(root_folder(), host=host, port=port, review_port=review_port))


@app.command()
def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Instead: read all records, and a few files of each table that is shown.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine and this project.

    Java, jars, disk, configuration, files and state; says how to mend what is wrong.
    """
    if deep:
        from backfill_assets.cli.warehouse_commands import print_integrity

        print_integrity(every_file=False, as_json=as_json)
        return
    from backfill_assets.cli.doctor import examine, print_checks

    checks = examine(root_folder())
    print_result(as_json, lambda: [c.to_json() for c in checks], lambda: print_checks(checks))
    if any(not c.ok for c in checks):
        raise typer.Exit(1)


@app.command()
def docs(
    page: Annotated[
        str | None,
        typer.Argument(help="Its name, as `settings` or `how-to/restate`; none: list them.", show_default=False),
    ] = None,
) -> None:
    """Read the documentation of this release.

    A page as the Markdown that it is, on a terminal in a pager: backfill docs settings
    """
    from backfill_assets.cli.doc_pages import print_docs

    print_docs(page)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that does not exist, or is empty.")],
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A worked example: events, fact_orders_daily, customer_days, fact_order_items."
        ),
    ] = None,
) -> None:
    """Make a new project from a template.

    Settings, a source with data, two models and a consumer that work, to be replaced by yours.
    """
    from backfill_assets.cli.init import init_project

    init_project(folder, example)


@app.command()
def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="A new folder for a copy, whose models are yours to edit.", show_default=False
        ),
    ] = None,
    events: Annotated[
        int, typer.Option(help="How many ad events to generate.", min=10_000, max=1_000_000_000)
    ] = 2_000_000,
) -> None:
    """Run the whole demo, from nothing to prod.

    Generates 540 days of ad events, builds and audits three models, promotes them and queries prod. What is
    done already is not done again.
    """
    from backfill_assets.cli.demo import copy_demo, run_demo

    run_demo(events, copy_demo(folder) if folder else None)
