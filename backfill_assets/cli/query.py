"""What do the views say? A query or a prompt over an environment, all of one release."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from rich.table import Table

from backfill_assets.adapters.spark_views import schema_name, show_environment
from backfill_assets.app.context import Context
from backfill_assets.cli.terminal import out, print_json
from backfill_assets.core.errors import UsageError


def read_query() -> str:
    """The query on standard input. Raises UsageError for what is no text."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is no UTF-8", why=str(error), fix="save the query as UTF-8") from None


def run_query(place: Context, query: str, *, environment: str | None, limit: int, as_json: bool) -> None:
    """Run a query and print its rows. Raises BuildError with Spark's reason when it is not valid."""
    from backfill_assets.adapters.query import first_rows

    name = environment or place.environment
    shown = place.control.environments.read(name)
    environments = place.control.environments.names()
    query = _in_schemas(query, environments)
    spark = show_environment(place.spark, shown, place.warehouse, _mentioned(query, name))
    for other in environments:
        if other != name and (models := _mentioned(query, other)):
            show_environment(spark, place.control.environments.read(other), place.warehouse, models)
    views = [f"{schema_name(name)}.{model}" for model in sorted(shown.pointers)]
    names, rows = first_rows(spark, query, at_most=limit + 1, views=views)
    if as_json:
        print_json([row.asDict(recursive=True) for row in rows[:limit]])
        return
    table = Table(*names, header_style="bold", row_styles=["", "dim"])
    for row in rows[:limit]:
        table.add_row(*("NULL" if v is None else str(v) for v in row))
    console = out()
    console.print(table)
    if len(rows) > limit:
        console.print(f"the first {limit} rows; --limit shows more")


def run_shell(place: Context, *, environment: str | None) -> None:
    """A Python prompt with the environment's views in `spark`."""
    import code

    import backfill_assets

    name = environment or place.environment
    shown = place.control.environments.read(name)
    spark = show_environment(place.spark, shown, place.warehouse)
    views = ", ".join(f"{schema_name(name)}.{m}" for m in shown.pointers) or "none yet"
    banner = (
        f"spark, sql(query): a Spark session with the views {views} (revision {max(shown.revision, 0)})\n"
        "read(model): Arrow, without Spark"
    )
    code.interact(banner=banner, local={"spark": spark, "read": backfill_assets.read, "sql": spark.sql}, exitmsg="")


def _mentioned(query: str, environment: str) -> list[str] | None:
    """The models that a query may mean, so that only their views are made; None when that cannot be told."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(query, dialect="spark")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Query):
        return None
    return [t.name for t in tree.find_all(exp.Table) if t.db.lower() == schema_name(environment).lower()]


def _in_schemas(query: str, environments: Sequence[str]) -> str:
    """The query with the schemas of candidate environments for their names: `plan-1f3a`.m is the view plan_1f3a.m."""
    for name in environments:
        if name != schema_name(name):
            query = re.sub(rf"(?<![\w-])`?{re.escape(name)}`?\.(?=[\w`])", f"{schema_name(name)}.", query)
    return query
