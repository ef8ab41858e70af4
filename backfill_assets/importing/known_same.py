"""Is a model's translation known to give the same rows? Then it is one that was compared construct by construct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from backfill_assets.importing.foreign import Foreign, ForeignKind
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.inferred_types import ROUNDED, stored_otherwise
from backfill_assets.importing.query import DIALECTS, ImportedTable, TranslatedQuery, parse, table_names, translate
from backfill_assets.importing.resolve import Known
from backfill_assets.importing.tolerant import WrittenQuery
from backfill_assets.importing.values import of_type

_MOST_TRIES = 200


def known_same(model: Foreign, look: Callable[[str, int], Known]) -> WrittenQuery:
    """The model's query when every construct of it is known to mean the same in Spark. Raises Untranslatable with what
    is not."""
    line = model.query_line
    if model.dialect.lower() not in DIALECTS:
        why = f"queries of {', '.join(DIALECTS)} are compared with Spark's, construct by construct"
        raise Untranslatable(f"the dialect {model.dialect or '(none)'}", why=why, line=model.line)
    if model.kind not in (ForeignKind.INTERVALS, ForeignKind.FILTERED):
        why = "there each run computes all rows anew; here a day is computed once, and again when it is restated"
        raise Untranslatable(f"it is a {model.kind} there", why=why, line=model.line)
    if not model.time_column or model.cadence != "daily":
        raise Untranslatable("its intervals", why="known are days that the tool tells by a column", line=model.line)
    tables: dict[str, ImportedTable] = {}
    for name in table_names(model.query, line, model.dialect):
        known = look(name, line)
        if known.unsure or not known.columns or not all(known.columns.values()):
            why = "its columns or types are guessed, or it has places to be checked itself"
            raise Untranslatable(f"`{known.name}` is read", why=why, line=line)
        columns = {c: replace(of_type(t), day=c in known.days) for c, t in known.columns.items()}
        if (event := model.cut.get(name.lower())) is not None and event.lower() in columns:
            columns[event.lower()] = replace(columns[event.lower()], day=True)
        elif model.cut and known.days:
            raise Untranslatable(
                f"`{known.name}` has no event_time", why="dbt reads all of it in each batch", line=line
            )
        tables[name.lower()] = ImportedTable(name=known.name, columns=columns)
    first: Untranslatable | None = None
    for one in _tries(tables, guess=model.kind is ForeignKind.FILTERED):
        try:
            found = translate(
                model.query, model.query_line, dialect=model.dialect, tables=one, time_column=model.time_column,
                own=model.key,
            )  # fmt: skip
        except Untranslatable as error:
            first = first or error
        else:
            _as_stored(model, one, found)
            return _written(found, model)
    assert first is not None
    raise first


def _as_stored(model: Foreign, tables: Mapping[str, ImportedTable], found: TranslatedQuery) -> None:
    """Refuse what the tool stores in another type."""
    line = model.query_line
    tree = parse("\n" * (line - 1) + model.query, line, model.dialect) if model.inferred else None
    if not isinstance(tree, exp.Query):
        return
    types = {name: {c: v.spark() for c, v in t.columns.items()} for name, t in tables.items()}
    if other := stored_otherwise(tree, types, found.columns):
        said = ", ".join(f"`{name}` is {there or 'of no known type'} there" for name, there in other)
        raise Untranslatable(said, why=ROUNDED, line=line)


def _tries(tables: Mapping[str, ImportedTable], *, guess: bool) -> list[Mapping[str, ImportedTable]]:
    """The tables as they are, and (`guess`) with one column of one of them as the day of its rows."""
    tries: list[Mapping[str, ImportedTable]] = [tables]
    for name, table in tables.items() if guess else ():
        if any(v.day for v in table.columns.values()):
            continue
        for column, value in table.columns.items():
            if value.kind in ("date", "timestamp"):
                marked = ImportedTable(name=table.name, columns={**table.columns, column: replace(value, day=True)})
                tries.append({k: marked if k == name else t for k, t in tables.items()})
    return tries[:_MOST_TRIES]


def _written(found: TranslatedQuery, model: Foreign) -> WrittenQuery:
    kinds = {n: v.spark() for n, v in found.columns.items()}
    return WrittenQuery(
        text=found.text, cadence="daily", time_column=found.time_column, original=model.time_column, columns=kinds,
        reads=found.reads, inlined=(), key=found.key, one_by_one=False, lookback=0, by_day=True, clock=(), checks=(),
    )  # fmt: skip
