"""Which rows fail an audit? A few of each interval in which it failed, by key and by what is wrong with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from backfill_assets.audits.compare import difference_query
from backfill_assets.audits.compile import INTERVAL, entities, key_columns, known_in, record_conditions
from backfill_assets.audits.masked import shown_outputs
from backfill_assets.audits.reads import other_table, records, tables_of, texts
from backfill_assets.audits.relations import Relations, Table
from backfill_assets.audits.rows import failing, looked_at, reference, reference_keys, wanted
from backfill_assets.audits.scan import comparable, compared_with, start_of
from backfill_assets.audits.text import hidden, interval_text, key_text, literal, names, quoted
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Audit, Model

SAMPLE_SIZE = 5


def sample_failures(model: Model, audit: Audit, intervals: Ranges, tables: Relations) -> dict[datetime, list[str]]:
    """Interval start → at most SAMPLE_SIZE failing keys. Nothing for an audit that is about whole intervals."""
    found: dict[datetime, list[str]] = defaultdict(list)
    starts = [unit.start for unit in intervals.split(model.cadence)]
    for query in _queries(model, audit, intervals, starts, tables):
        few = (
            f"SELECT {INTERVAL}, sample FROM (SELECT {INTERVAL}, sample, row_number() OVER (PARTITION BY {INTERVAL} "
            f"ORDER BY sample) AS bf_n FROM ({query})) WHERE bf_n <= {SAMPLE_SIZE} ORDER BY {INTERVAL}, sample"
        )
        for row in tables.ask(few):
            at = start_of(row[INTERVAL]) if row[INTERVAL] is not None else None
            for start in starts if at is None else [at]:
                if start in starts and len(found[start]) < SAMPLE_SIZE:
                    found[start].append(row["sample"])
    return found


def _queries(model: Model, audit: Audit, intervals: Ranges, starts: Sequence[datetime], tables: Relations) -> list[str]:
    """Queries of INTERVAL (NULL: any) and `sample`."""
    at, arguments = interval_text(model), audit.arguments
    other = other_table(audit.kind, arguments)
    views = {other: tables.table(other).view} if other is not None else {}
    if condition := failing(audit):
        join = f" {reference(audit, views[other])}" if other is not None else ""
        key: dict[str, str] = {}
        for name in (*model.grain, *looked_at(audit)):
            key.setdefault(name.lower(), name)
        shown = key_text(key.values(), model.mask)
        return [f"SELECT {at} AS {INTERVAL}, {shown} AS sample FROM {tables.rows()}{join} WHERE {condition}"]
    match audit.kind:
        case "unique_grain" | "unique":
            columns = texts(arguments.get("columns")) or model.grain
            where = f" WHERE {wanted(audit)}\n" if wanted(audit) is not None else ""
            return [
                f"SELECT {at} AS {INTERVAL}, {key_text(columns, model.mask)} AS sample FROM {tables.rows()}{where} "
                f"GROUP BY {at}, {names(columns)} HAVING count(*) > 1"
            ]
        case "null_rate" if arguments.get("max_percent") is not None:
            column = quoted(str(arguments["column"]))
            shown = key_text(model.grain, model.mask)
            return [f"SELECT {at} AS {INTERVAL}, {shown} AS sample FROM {tables.rows()} WHERE {column} IS NULL"]
        case "entities":
            column = str(arguments["column"])
            secret = hidden(model, column) or (
                other is not None and reference_keys(audit)[1][0].lower() in tables.table(other).mask
            )
            entity = literal(HIDDEN) if secret else "cast(e.bf_entity AS STRING)"
            units = " UNION ALL ".join(f"SELECT '{start:%Y-%m-%d %H:%M}' AS {INTERVAL}" for start in starts)
            there = f"SELECT DISTINCT {at} AS bf_at, {quoted(column)} AS bf_there FROM {tables.rows()}"
            return [
                f"SELECT u.{INTERVAL}, concat({literal(f'{column}=')}, {entity}) AS sample "
                f"FROM ({units}) AS u CROSS JOIN ({entities(audit, views)}) AS e "
                f"LEFT JOIN ({there}) AS t ON t.bf_at = u.{INTERVAL} AND t.bf_there = e.bf_entity WHERE t.bf_at IS NULL"
            ]
        case "known_records":
            known = known_in(model, audit)
            return [
                _record_query(model, audit, number, f"{start:%Y-%m-%d %H:%M}", tables.rows())
                for start in starts
                for number in known.get(start, ())
            ]
        case "reconcile":
            table = compared_with(audit, tables)
            able = table is not None and comparable(audit, table)
            return [difference_query(model, audit, tables.rows(), table)] if able and table is not None else []
        case "sql":
            given = tables.failures(audit, intervals.span or next(iter(intervals)))
            dated = model.time_column.lower() in given.columns
            when = at if dated else "CAST(NULL AS STRING)"
            shown = _row_text(model, audit, given, tables)
            return [f"SELECT {when} AS {INTERVAL}, {shown} AS sample FROM {given.view}"]
        case _:
            return []


def _row_text(model: Model, audit: Audit, given: Table, tables: Relations) -> str:
    """SQL for a row that the author's own query gives, without what it computes from masked columns of any table."""
    own = model.name.lower()
    others = {name.lower(): tables.table(name) for name in tables_of(audit) if name.lower() != own}
    masks = {name: table.mask for name, table in others.items()} | {own: [c.lower() for c in model.mask]}
    if not any(masks.values()):
        return "to_json(struct(*))"
    read = {name: table.columns for name, table in others.items()} | {own: tables.columns()}
    shown = shown_outputs(str(audit.arguments["query"]), given.columns, read, masks)
    if not shown:
        return literal(f"a row ({HIDDEN})")
    return key_text(given.columns, [c for c in given.columns if c not in shown])


def _record_query(model: Model, audit: Audit, number: int, interval: str, rows: str) -> str:
    """The row that a known record is about when it is not as expected, or that there is none."""
    record = records(audit)[number]
    key, rest = record_conditions(model, audit, record)
    keys = {name.lower() for name in key_columns(model)}
    name = ", ".join(
        f"{name}={HIDDEN if hidden(model, name) else value}" for name, value in record.items() if name.lower() in keys
    )
    missing = literal(f"no row {name}")
    return (
        f"SELECT '{interval}' AS {INTERVAL}, coalesce(max({key_text(record, model.mask)}), {missing}) AS sample "
        f"FROM {rows} WHERE {key} HAVING count_if({rest}) = 0"
    )
