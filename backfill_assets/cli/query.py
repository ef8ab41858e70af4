"""What do the views say? A query or a prompt over an environment, all of one release."""

from __future__ import annotations

import sys

from rich.table import Table

from backfill_assets.app.context import Context
from backfill_assets.app.query import query_views, show_views
from backfill_assets.cli.terminal import out, print_json
from backfill_assets.core.errors import UsageError


def read_query() -> str:
    """The query on standard input. Raises UsageError for what is no text."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is no UTF-8", why=str(error), fix="save the query as UTF-8") from None


def run_query(context: Context, query: str, *, environment: str | None, limit: int, as_json: bool) -> None:
    """Run a query and print its rows. Raises BuildError with Spark's reason when it is not valid."""
    found = query_views(context, query, environment=environment, limit=limit)
    if as_json:
        print_json([row.asDict(recursive=True) for row in found.rows])
        return
    table = Table(*found.columns, header_style="bold", row_styles=["", "dim"])
    for row in found.rows:
        table.add_row(*("NULL" if v is None else str(v) for v in row))
    console = out()
    console.print(table)
    if found.more:
        console.print(f"the first {limit} rows; --limit shows more")


def run_shell(context: Context, *, environment: str | None) -> None:
    """A Python prompt with the environment's views in `spark`."""
    import code

    import backfill_assets

    shown = show_views(context, environment=environment)
    spark, views = shown.spark, ", ".join(shown.views) or "none yet"
    banner = (
        f"spark, sql(query): a Spark session with the views {views} (revision {max(shown.revision, 0)})\n"
        "read(model): Arrow, without Spark"
    )
    code.interact(banner=banner, local={"spark": spark, "read": backfill_assets.read, "sql": spark.sql}, exitmsg="")
