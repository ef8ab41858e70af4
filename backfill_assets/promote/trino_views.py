"""What does the view of a model say in Trino? SQL over tables that it knows by name, at their commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.view_columns import ViewColumn, view_columns
from backfill_assets.sql.other_engines import name_text, type_text, value_text, within_text
from backfill_assets.state.table_names import table_name
from backfill_assets.state.versions import table_path


@dataclass(frozen=True, slots=True, kw_only=True)
class TrinoPlace:
    """Where Trino keeps what is named: a catalog of the Delta connector, and the schema of the tables of versions."""

    catalog: str
    tables: str


def trino_registrations(pointers: list[Pointer], warehouse: str, place: TrinoPlace) -> list[str]:
    """A statement for each table that the pointers show, which gives it its name. Trino refuses one that has it."""
    shown = sorted({(p.model, s.version) for p in pointers for s in p.segments})
    location = warehouse if "://" in warehouse else f"file://{warehouse}"
    return [
        f"CALL {name_text(place.catalog)}.system.register_table(schema_name => {value_text(place.tables)}, "
        f"table_name => {value_text(table_name(model, version))}, "
        f"table_location => {value_text(table_path(location, model, version))})"
        for model, version in shown
    ]


def trino_view(pointer: Pointer, place: TrinoPlace) -> str:
    """The view's query. Raises PromotionError for a type that Trino has no equal of."""
    return "\nUNION ALL\n".join(_branches(pointer, place))


def _branches(pointer: Pointer, place: TrinoPlace) -> Iterator[str]:
    for segment, parts in pointer.segments.tables():
        columns = view_columns(pointer, pointer.columns, segment)
        selected = ", ".join(f"{_value(pointer, c)} AS {name_text(c.name)}" for c in columns)
        table = ".".join(map(name_text, (place.catalog, place.tables, table_name(pointer.model, segment.version))))
        within = within_text(name_text(pointer.time_column), parts, "trino", timestamps=pointer.timestamps)
        yield f"SELECT {selected}\nFROM {table} FOR VERSION AS OF {segment.commit}\nWHERE {within}"


def _value(pointer: Pointer, column: ViewColumn) -> str:
    name = name_text(column.stored)
    try:
        kind = type_text(column.kind, "trino")
    except ValueError:
        raise PromotionError(
            f"column {column.name} of {pointer.model} cannot be shown in Trino",
            why=f"it is {column.kind}, which Trino has no equal of",
            fix="give the model a column of another type beside it, or read this one with Spark",
        ) from None
    if not column.stored:
        return f"CAST(NULL AS {kind})"
    if column.stored_kind == column.kind:
        return name
    if (column.stored_kind, column.kind) == ("date", "timestamp"):  # its midnight in UTC, whatever the session's zone
        return f"with_timezone(CAST({name} AS TIMESTAMP), 'UTC')"
    return f"CAST({name} AS {kind})"
