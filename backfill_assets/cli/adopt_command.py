"""Commands for a team that has tables already: adopt one as a model's first version."""

from __future__ import annotations

from typing import Annotated

import typer

from backfill_assets.cli.base import CLOSED, INCOMPLETE, AsJson, app, open_context
from backfill_assets.cli.terminal import print_result
from backfill_assets.core.errors import UsageError
from backfill_assets.plan.request_options import ADOPTING, COPY, TABLE


@app.command()
def adopt(
    model: Annotated[str | None, typer.Argument(metavar=ADOPTING.metavar, help=ADOPTING.help)] = None,
    table: Annotated[str | None, typer.Option("--table", metavar=TABLE.metavar, help=TABLE.help)] = None,
    copy: Annotated[bool, typer.Option("--copy", help=COPY.help)] = False,
    every: Annotated[
        str | None,
        typer.Option("--all", metavar="WHERE", help="Write a draft of a model for each table of a folder or schema."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a table that is there a model's first published version.

    A Delta table is adopted in place, at its newest commit: nothing is copied, and nothing is ever written to it or
    deleted from it. The model's query takes over after its last interval. Code 3 when audits fail, 4 when the gate is
    closed. `--all` adopts nothing: it writes drafts/models/NAME.sql and drafts/sources.yml, over no file, with what the
    data lets one guess.
    """
    if every is not None:
        from backfill_assets.app.drafts import draft_models
        from backfill_assets.cli.adopt import drafted_json, print_drafted

        made = draft_models(open_context(), every)
        print_result(as_json, lambda: drafted_json(made), lambda: print_drafted(made))
        return
    if model is None or table is None:
        raise UsageError(
            "nothing says what is adopted",
            why="an adoption names a model, and the table that has its rows",
            fix="backfill adopt MODEL --table /data/old_table; or drafts of models: backfill adopt --all /data",
        )
    from backfill_assets.app.adopt import Adoption
    from backfill_assets.app.adopt import adopt as adopt_it
    from backfill_assets.cli.adopt import adopted_json, print_adopted

    context = open_context()
    done = adopt_it(context, Adoption(model=model, table=table, copy=copy))
    print_result(as_json, lambda: adopted_json(done), lambda: print_adopted(done, context.environment))
    if not done.shown:
        raise typer.Exit(INCOMPLETE if done.red else CLOSED)
