"""How does a query of another tool read here? Its bounds, its tables, its dialect; shown to be one day's rows a day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from backfill_assets.importing.bounds import MACRO
from backfill_assets.importing.days import read_query
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.relations import NamedRelation
from backfill_assets.importing.values import Value
from backfill_assets.sql.text import quoted

DIALECTS = ("spark", "databricks", "duckdb")
"""Those whose constructs are compared with Spark's."""
_LARGEST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTable:
    """What a name in a query stands for: a model or source here, and its columns. Those with `day` say the day of a
    row: of a model's rows, and of inputs that the tool cuts to the interval."""

    name: str
    columns: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedQuery:
    """A query for Spark. `time_column` is a DATE of the output; `columns` are kinds of value by name."""

    text: str
    time_column: str
    columns: Mapping[str, Value]
    reads: tuple[str, ...]
    key: tuple[str, ...]


def translate(
    text: str, line: int, *, dialect: str, tables: Mapping[str, ImportedTable], time_column: str, own: str
) -> TranslatedQuery:
    """The query at a line of a file (bounds as columns `bf__…`), whose rows are of days by `time_column`.

    `tables` by lower-cased names as written. Raises Untranslatable.
    """
    if len(text) > _LARGEST:
        raise Untranslatable("the query is too large", why=f"it has {len(text):,} characters", line=line)
    tree = parse("\n" * (line - 1) + text, line, dialect)
    reads: dict[str, None] = {}

    def lookup(node: exp.Table) -> NamedRelation:
        written = ".".join(p.name for p in node.parts)
        table = tables.get(written.lower())
        at = min((i.meta_get("line") or line for i in node.find_all(exp.Identifier)), default=line)
        if written.lower() == own.lower():
            raise Untranslatable(
                f"the model reads itself, `{node.name}`", why="a day's rows would depend on others", line=at
            )
        if table is None:
            fix = "declare it in sources.yml with its columns, or translate it yourself; then import again"
            why = "no model that is translated, and no source with columns, has that name"
            raise Untranslatable(f"`{written}` is read", why=why, fix=fix, line=at)
        reads[table.name] = None
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        for key in ("catalog", "db"):
            node.set(key, None)
        parts = table.name.split(".")
        node.set("this", exp.to_identifier(parts[-1]))
        for key, part in zip(("db", "catalog"), reversed(parts[:-1]), strict=False):
            node.set(key, exp.to_identifier(part))
        columns = {name.lower(): value for name, value in table.columns.items()}
        return NamedRelation(columns=columns, dated=any(v.day for v in columns.values()))

    try:
        found = read_query(tree, dialect, lookup)
        named = [c.alias.lower() for c in tree.find_all(exp.CTE)]
        ctes = set(named)
        if len(named) > len(ctes):
            raise Untranslatable(
                "two parts of the query have one name", why="Spark has them all in one WITH", line=line
            )
        if clash := sorted(ctes & {name.lower() for name in reads}):
            raise Untranslatable(
                f"a part of the query is called {clash[0]}, as a model that is read is here", line=line
            )
        inner = tree.sql(dialect="spark", pretty=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    except RecursionError:
        raise Untranslatable("the query is nested too deeply", line=line) from None
    except SqlglotError as error:
        raise Untranslatable("the query cannot be written for Spark", why=_first(error), line=line) from None
    return _finished(inner, found, time_column, tuple(reads), line)


def _finished(inner: str, found: NamedRelation, time_column: str, reads: tuple[str, ...], line: int) -> TranslatedQuery:
    """The query, cut to the wanted days where it is not, with a DATE to tell them by."""
    value = found.columns.get(time_column.lower())
    if value is None:
        given = ", ".join(found.columns)
        raise Untranslatable(f"the query gives no column `{time_column}`", why=f"it gives {given}", line=line)
    if not value.day or value.kind not in ("date", "timestamp"):
        why = "it is not shown to be the day of the input that a row is computed from: rows could be of other days"
        fix = "filter what is read by the column that becomes the time column, and join and group by it"
        raise Untranslatable(f"the time column `{time_column}`", why=why, fix=fix, line=line)
    columns, key = dict(found.columns), found.key
    day, text = time_column, inner
    if value.kind == "timestamp":
        day = "ds"
        if day in columns:
            raise Untranslatable(
                "the column `ds` is taken", why="a day column would be added under that name", line=line
            )
        columns[day] = Value(kind="date", day=True)
    names = ",\n  ".join(quoted(n) for n in found.columns)
    if day != time_column:
        names += f",\n  CAST({quoted(time_column)} AS DATE) AS {day}"
    if not found.bounded or day != time_column:
        at = quoted(time_column)
        body = "\n".join(f"  {one}" if one else one for one in inner.splitlines())
        text = f"SELECT\n  {names}\nFROM (\n{body}\n) AS rows_of_days\nWHERE {at} >= :start AND {at} < :end"
    return TranslatedQuery(text=text, time_column=day, columns=columns, reads=reads, key=key)


def parse(text: str, line: int, dialect: str) -> exp.Expr:
    """The one query of a text. Raises Untranslatable."""
    try:
        trees = sqlglot.parse(text, read=dialect, error_level=ErrorLevel.RAISE)
    except RecursionError:
        raise Untranslatable("the query is nested too deeply", line=line) from None
    except SqlglotError as error:
        raise Untranslatable("the query cannot be read", why=_first(error), line=line) from None
    except Exception as error:  # the parser's own mistakes, over text that is no SQL
        raise Untranslatable("the query cannot be read", why=type(error).__name__, line=line) from None
    statements = [t for t in trees if t is not None and not isinstance(t, exp.Semicolon)]
    if len(statements) != 1:
        raise Untranslatable(f"there are {len(statements)} statements", why="a model is one query", line=line)
    if statements[0].find(exp.Placeholder, exp.Parameter):
        raise Untranslatable("a parameter in the query", why="nobody gives it a value here", line=line)
    return statements[0]


def _first(error: Exception) -> str:
    return re.sub(r"\x1b\[\d*m", "", str(error)).strip().splitlines()[0][:200]


def no_macro_names(text: str, line: int) -> None:
    """Refuse a text in which something has the names that stand for bounds."""
    if (at := text.lower().find(MACRO)) >= 0:
        raise Untranslatable(f"`{MACRO}` in a name", line=line + text.count("\n", 0, at))


def table_names(text: str, line: int, dialect: str) -> list[str]:
    """The names of tables in a query as written, but for those of its own parts. Raises Untranslatable."""
    tree = parse("\n" * (line - 1) + text, line, dialect)
    own = {c.alias.lower() for c in tree.find_all(exp.CTE)}
    names = [".".join(p.name for p in t.parts) for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
    return [n for n in dict.fromkeys(names) if n.lower() not in own]
