"""What does the view of a model say? SQL over pinned segments, plain or ready to flip with the environment's commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backfill_assets.core.pointer import Pointer
from backfill_assets.core.settings import TableNames
from backfill_assets.promote.view_columns import ViewColumn, view_columns
from backfill_assets.sql.text import quoted, within
from backfill_assets.state.environment import ENVIRONMENTS
from backfill_assets.state.table_names import table_name
from backfill_assets.state.versions import table_path


def view_name(environment: str, model: str) -> str:
    """The view's qualified name."""
    return f"{quoted(environment)}.{quoted(model)}"


def plain_view(pointer: Pointer, warehouse: str, names: TableNames | None = None) -> str:
    """The view's query: the union of the pointer's tables, each pinned to its commit and cut to its segments' days.

    Tables are called by their paths, or by their `names`."""
    return _UNION.join(_branches(pointer, pointer.columns, warehouse, names))


def expanded_view(
    old: Pointer,
    new: Pointer,
    environment: str,
    warehouse: str,
    names: TableNames | None = None,
    *,
    cutover: datetime,
) -> str:
    """The view's query while a promotion is under way: the old rows until the cutover, then what the environment says.

    The cutover lies after the environment's commit. A query has one `current_timestamp()`, for all views that it reads;
    each view's look at the environment's table is a subquery of its own, and a commit may fall between two of them.
    Whoever resolved the view and reads it after further releases gets the old rows where these went back, else the new.

    It keeps the old columns: new ones are cast to them, removed ones are NULL. Raises PromotionError when a cast could
    lose values. The branch that is off reads no files: the check becomes a partition filter.
    """
    table = table_text(*ENVIRONMENTS_TABLE, warehouse, names)
    where = f"environment = '{environment}' AND model = '{old.model}'"
    now = f"(SELECT coalesce(max(pointer_id), '') FROM {table} WHERE {where})"
    at = f"TIMESTAMP '{cutover:%Y-%m-%d %H:%M:%S.%f}Z'"
    still = f"(current_timestamp() < {at} OR {now} = '{old.id}')"
    already = f"current_timestamp() >= {at} AND {now} <> '{old.id}'"
    before = [f"{branch} AND {still}" for branch in _branches(old, old.columns, warehouse, names)]
    after = [f"{branch} AND {already}" for branch in _branches(new, old.columns, warehouse, names)]
    return _UNION.join([*before, *after])


ENVIRONMENTS_TABLE = ("_control", ENVIRONMENTS.name)
"""The table that expanded views ask, as if it were a version of a model: so it is called."""
_UNION = "\nUNION ALL\n"


def table_text(model: str, version: str, warehouse: str, names: TableNames | None) -> str:
    """How a view calls the table of a version.

    >>> table_text("orders", "v1.adopted-1f", "/w", None), table_text("orders", "v1", "/w", TableNames(schema="t"))
    ('delta.`/w/orders/v1.adopted-1f`', '`spark_catalog`.`t`.`orders__v1`')
    """
    if names is None:
        return f"delta.`{table_path(warehouse, model, version)}`"
    return ".".join(map(quoted, (names.catalog, names.schema, table_name(model, version))))


def _branches(
    pointer: Pointer, wanted: Sequence[tuple[str, str]], warehouse: str, names: TableNames | None
) -> list[str]:
    """A query for each table that the pointer shows, which ends in a condition."""
    return [
        f"SELECT {', '.join(map(_selected, view_columns(pointer, wanted, segment)))} FROM "
        f"{table_text(pointer.model, segment.version, warehouse, names)} VERSION AS OF {segment.commit} "
        f"WHERE {within(pointer.time_column, parts, timestamps=pointer.timestamps)}"
        for segment, parts in pointer.segments.tables()
    ]


def _selected(column: ViewColumn) -> str:
    """An item of the select list."""
    name = quoted(column.name)
    if not column.stored:
        return f"CAST(NULL AS {column.kind}) AS {name}"
    if column.stored_kind != column.kind:
        return f"CAST({quoted(column.stored)} AS {column.kind}) AS {name}"
    return name if column.stored == column.name else f"{quoted(column.stored)} AS {name}"
