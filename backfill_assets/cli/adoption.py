"""Commands for a team that has tables already: adopt one as a model's first version."""

from __future__ import annotations

from typing import Annotated

import typer

from backfill_assets.cli.base import CLOSED, INCOMPLETE, AsJson, app, open_place
from backfill_assets.cli.terminal import print_json


@app.command()
def adopt(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that is not shown yet.")],
    table: Annotated[str, typer.Option("--table", metavar="TABLE", help="A folder, or a catalog's name: db.table.")],
    copy: Annotated[
        bool, typer.Option("--copy", help="Copy its rows, once and compared: of any format, and with safe casts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a table that is there a model's first published version.

    A Delta table is adopted in place, at its newest commit: nothing is copied, and nothing is ever written to it or
    deleted from it. The model's query takes over after its last interval. Code 3 when audits fail, 4 when the gate is
    closed.
    """
    from backfill_assets.app.adopt import Adoption
    from backfill_assets.app.adopt import adopt as adopt_it
    from backfill_assets.cli.adopt import adopted_json, print_adopted

    place = open_place()
    done = adopt_it(place, Adoption(model=model, table=table, copy=copy))
    if as_json:
        print_json(adopted_json(done))
    else:
        print_adopted(done, place.environment)
    if not done.shown:
        raise typer.Exit(INCOMPLETE if done.red else CLOSED)
