"""Which columns does a query give and read, and of which types are they, as far as that can be told?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from backfill_assets.importing.bounds import MACRO

_TEMPORAL = ("date", "timestamp", "timestamp_ntz")
_LATER = re.compile(r"(^|_)(at|ts|time|timestamp|datetime)$")
_DAY = re.compile(r"(^|_)(date|day|ds|dt)$|^date_")


def qualified(tree: exp.Query, tables: Mapping[str, Mapping[str, str]]) -> exp.Query | None:
    """A copy in which columns have their tables, stars are written out as far as they can be, and types are known.

    `tables` by lower-cased dotted names as the query has them; in the copy their names are `flat`. None when sqlglot
    cannot tell.
    """
    copy = tree.copy()
    for table in copy.find_all(exp.Table):
        if table.args.get("db"):
            name = flat(".".join(p.name for p in table.parts))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
            table.set("this", exp.to_identifier(name))
            table.set("db", None)
            table.set("catalog", None)
    schema = MappingSchema(normalize=False, dialect="spark")
    for name, columns in tables.items():
        if columns:
            # As a text a name would be parsed: up to a semicolon.
            names = {c: exp.to_identifier(c.lower(), quoted=True) for c in columns}
            kinds = {names[c]: exp.DataType.build(t or "unknown", dialect="spark") for c, t in columns.items()}
            schema.add_table(flat(name), cast(Any, kinds), match_depth=False)
    try:
        found = qualify(
            copy, schema=schema, dialect="spark", validate_qualify_columns=False, quote_identifiers=False,
            identify=False,
        )  # fmt: skip
        found = annotate_types(found, schema=schema, dialect="spark")
    except (SqlglotError, RecursionError, KeyError, ValueError, TypeError, AttributeError, AssertionError):
        return None
    return found


def flat(name: str) -> str:
    """A table's name of letters, digits and _ alone."""
    return re.sub(r"\W", "_", name.lower().replace(".", "__"))


def outputs(tree: exp.Query) -> dict[str, str] | None:
    """The columns of a qualified query by name, with Spark types (empty where unknown); None for an unknown star."""
    found: dict[str, str] = {}
    for node in tree.selects:
        if node.is_star or not node.alias_or_name:
            return None
        found[node.alias_or_name] = spark_name(node.type)
    return found


def spark_name(kind: exp.DataType | None) -> str:
    """A type as Spark writes it; empty for one that is not known."""
    if kind is None or kind.this in (exp.DType.UNKNOWN, exp.DType.NULL):
        return ""
    text = kind.sql(dialect="spark").lower()
    return {"timestamp_ntz": "timestamp", "timestamp_ltz": "timestamp", "decimal": "decimal(38,9)"}.get(text, text)


def temporal(kind: str) -> bool:
    """Whether a Spark type says a day."""
    return kind in _TEMPORAL


def used(tree: exp.Query, unknown: set[str], known: Mapping[str, Collection[str]]) -> dict[str, dict[str, str]]:
    """The columns that a query reads of tables whose columns are unknown, with guessed Spark types.

    `unknown` are lower-cased dotted names, `known` the lower-cased columns of others. A table is left out when not all
    of its columns can be told.
    """
    seen = see_through(tree, unknown)
    try:
        found = qualify(
            seen, dialect=None, validate_qualify_columns=False, quote_identifiers=False, identify=False,
            expand_stars=False,
        )  # fmt: skip
        scopes = traverse_scope(found)
    except (SqlglotError, RecursionError, KeyError, ValueError, TypeError, AttributeError, AssertionError):
        return {}
    columns: dict[str, dict[str, str]] = {}
    lost: set[str] = set()
    for scope in scopes:
        names: dict[str, str] = {}
        given: set[str] = set()
        open_parts = False
        for alias, source in scope.sources.items():
            if isinstance(source, exp.Table):
                names[alias] = ".".join(p.name for p in source.parts).lower()
                given |= set(known.get(names[alias], ()))
            elif isinstance(source.expression, exp.Query):
                given |= {n.lower() for n in source.expression.named_selects}
                open_parts = open_parts or source.expression.is_star
        mine = [n for n in names.values() if n in unknown]
        for alias, name in names.items():
            if name in unknown:
                columns.setdefault(name, {})
                if _star(scope, alias):
                    lost.add(name)
        outputs_here = {n.lower() for n in _aliases(scope)}
        for column in scope.columns:
            if isinstance(column.this, exp.Star) or not mine or column.name.lower().startswith(MACRO):
                continue
            name = names.get(column.table, "") if column.table else ""
            if not column.table and column.name.lower() not in given:
                if column.name.lower() in outputs_here:
                    continue  # an output of the same SELECT
                if len(set(mine)) > 1 or open_parts:
                    lost |= set(mine)
                    continue
                name = mine[0]
            if name in unknown:
                columns[name].setdefault(column.name, guessed(column))
    return {name: found for name, found in columns.items() if found and name not in lost}


def guessed(column: exp.Column) -> str:
    """A column's type from its name and its use: a guess, to be corrected by people."""
    name, parent = column.name.lower(), column.parent
    while isinstance(parent, exp.Paren | exp.Distinct):
        parent = parent.parent
    if type(parent) is exp.Cast and temporal(spark_name(parent.to)):
        return spark_name(parent.to)
    if _LATER.search(name):
        return "timestamp"
    if _DAY.search(name):
        return "date"
    if isinstance(parent, exp.Sum | exp.Avg | exp.Mul | exp.Div | exp.Add | exp.Sub):
        return "double"
    return "string"


def see_through(tree: exp.Query, unknown: set[str]) -> exp.Query:
    """A copy in which `WITH c AS (SELECT * FROM t)` is read as `t`, for tables whose columns are unknown."""
    tree = tree.copy()
    changed = True
    while changed:
        changed = False
        for cte in list(tree.find_all(exp.CTE)):
            inner = cte.this
            if not isinstance(inner, exp.Select) or len(inner.expressions) != 1 or not inner.is_star:
                continue
            if any(inner.args.get(k) for k in ("joins", "where", "group", "distinct", "with_", "laterals")):
                continue
            clause = inner.args.get("from_")
            table = clause.this if clause is not None else None
            if not isinstance(table, exp.Table) or table.args.get("joins"):
                continue
            if ".".join(p.name for p in table.parts).lower() not in unknown:
                continue
            readers = [
                t for t in tree.find_all(exp.Table)
                if t is not table and not t.args.get("db") and t.name.lower() == cte.alias.lower()
            ]  # fmt: skip
            if not readers:
                continue
            for reader in readers:
                alias = reader.alias_or_name
                new = table.copy()
                new.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
                if reader.args.get("joins"):
                    new.set("joins", reader.args["joins"])
                reader.replace(new)
            clause_with = cte.parent
            rest = [c for c in clause_with.expressions if c is not cte] if clause_with is not None else []
            if clause_with is not None and clause_with.parent is not None:
                if rest:
                    clause_with.set("expressions", rest)
                else:
                    clause_with.parent.set("with_", None)
            changed = True
            break
    return tree


def _star(scope: Scope, alias: str) -> bool:
    """Whether all columns of one source of a scope come out."""
    for node in _selects(scope):
        if isinstance(node, exp.Star):
            return True
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) and node.table == alias:
            return True
    return False


def _aliases(scope: Scope) -> list[str]:
    """Outputs that have another name than all that they are computed from."""
    named = [n for n in _selects(scope) if isinstance(n, exp.Alias)]
    return [n.alias for n in named if all(c.name.lower() != n.alias.lower() for c in n.this.find_all(exp.Column))]


def _selects(scope: Scope) -> Iterator[exp.Expr]:
    if isinstance(scope.expression, exp.Select):
        yield from scope.expression.expressions
