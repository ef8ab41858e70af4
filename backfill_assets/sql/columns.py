"""Which columns does this query give, of which types, and from which upstream columns?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from backfill_assets.core.model import Column, ColumnRef
from backfill_assets.sql.column_check import ColumnProblem, column_findings
from backfill_assets.sql.lineage import Outputs, query_outputs
from backfill_assets.sql.output_names import first_select, names_itself, output_names, prepare
from backfill_assets.sql.parsing import SPARK, Sql
from backfill_assets.sql.places import line_of

_USER_ERRORS = re.compile(r"(Alias already used|Unknown table|Cannot automatically join|Unknown output column): (.*)")
_MEANINGS = {
    "Alias already used": ("two tables are called `{}` in one FROM", "give each its own alias"),
    "Unknown table": ("no table or alias named `{}`", "use a name or alias of the FROM clause"),
    "Cannot automatically join": ("the tables do not share the column `{}` of USING", "write `ON` instead"),
    "Unknown output column": ("there is no output column number {}", "count the columns of the SELECT, from 1"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """`columns` in the query's order, None when they cannot be known; `lineage`: what each reads of the upstreams.

    `scopes` are sqlglot's of the qualified query: what its signature is made from.
    """

    columns: tuple[Column, ...] | None
    lineage: Mapping[str, tuple[ColumnRef, ...]] = field(default_factory=dict[str, tuple[ColumnRef, ...]])
    findings: tuple[ColumnProblem, ...] = ()
    scopes: tuple[Scope, ...] = ()


def resolve(sql: Sql, upstreams: Mapping[str, tuple[str, tuple[Column, ...]]], *, named: bool = True) -> Resolved:
    """Resolve a single query's output columns.

    `upstreams` maps each lower-cased reference to the upstream's name and its columns (none: unknown). `named`: the
    query is to be a table, so that each column needs a name of its own.
    """
    tree = sql.statements[0]
    if not sql.columns_known or any(map(_beyond, tree.find_all(exp.Star, exp.Anonymous))):
        return Resolved(columns=None)
    if any(names_itself(p) for select in tree.find_all(exp.Select) for p in select.expressions):
        return Resolved(columns=None)
    names = output_names(tree)
    if isinstance(names, ColumnProblem):
        if named:
            return Resolved(columns=None, findings=(names,))
        names = []
    sql = sql.copied()  # what follows changes the trees
    tree = sql.statements[0]
    nameless = prepare(tree)
    for qualifier in sql.qualifiers:
        _drop_qualifier(qualifier.node, qualifier.dropped)
    if not all(map(_in_front, tree.find_all(exp.Select))):
        return Resolved(columns=None)
    for reference in sql.references:
        _isolate(reference.node, reference.key)
    schema = MappingSchema(normalize=False, dialect=SPARK)
    for key, (_, columns) in upstreams.items():
        if columns:
            schema.add_table(
                exp.Table(this=exp.to_identifier(f"@{key}", quoted=True)),
                # As a text it would be parsed: up to a semicolon.
                cast(Any, {exp.to_identifier(c.name.lower(), quoted=True): c.type or "unknown" for c in columns}),
                match_depth=False,
            )  # fmt: skip
    try:
        tree = qualify(
            tree, dialect=SPARK, schema=schema, allow_partial_qualification=True,
            validate_qualify_columns=False, quote_identifiers=False,
        )  # fmt: skip
        scopes = traverse_scope(tree)
        if findings := column_findings(scopes, schema):
            return Resolved(columns=None, findings=tuple(findings))
        outputs = query_outputs(scopes, upstreams)
        duplicate = _duplicate(scopes[-1].expression)
    except OptimizeError as error:
        found = _USER_ERRORS.search(str(error))
        return Resolved(columns=None, findings=(_user_error(tree, found),) if found else ())
    except Exception:
        # What sqlglot cannot follow, in whichever way it says so, Spark may: the columns stay unknown.
        return Resolved(columns=None)
    if outputs is None:
        return Resolved(columns=None)
    if duplicate is not None and named:
        return Resolved(columns=None, findings=(duplicate,))
    if named and (unnamed := [nameless[name] for name in outputs if name in nameless]):
        return Resolved(columns=None, findings=tuple(unnamed))
    return replace(_named(names, outputs), scopes=tuple(scopes))


def _beyond(node: exp.Expr) -> bool:
    """What sqlglot tells wrong columns of: a field left out of `*`, the column that grouping by a window makes, and
    what is named by a text."""
    if isinstance(node, exp.Star):
        return any(isinstance(c, exp.Column) and c.table for c in node.args.get("except_") or [])
    return node.name.lower() in ("window", "session_window", "identifier")


def _named(names: list[tuple[str, int] | None], outputs: Outputs) -> Resolved:
    """Give each output its spelling: the query's own, or (behind a star) the upstream's."""
    spelled = {n[0].lower(): n[0] for n in names if n}
    columns: list[Column] = []
    lineage: dict[str, tuple[ColumnRef, ...]] = {}
    for name, (type_, refs) in outputs.items():
        spelling = spelled.get(name) or min((r.column for r in refs if r.column.lower() == name), default=name)
        columns.append(Column(name=spelling, type=type_))
        lineage[spelling] = tuple(sorted(refs, key=lambda r: (r.table, r.column)))
    return Resolved(columns=tuple(columns), lineage=lineage)


def _duplicate(tree: exp.Expr) -> ColumnProblem | None:
    """A name that comes twice once stars are expanded."""
    seen: set[str] = set()
    for projection in first_select(tree).expressions:
        if (name := projection.alias_or_name.lower()) in seen and not projection.is_star:
            fix = "name the columns instead of `*`, or leave it out: `* EXCEPT (…)`"
            what = f"two columns are named `{name}`"
            return ColumnProblem(line=line_of(tree), what=what, why="a `*` brings it from two tables", fix=fix)
        seen.add(name)
    return None


def _user_error(tree: exp.Expr, found: re.Match[str]) -> ColumnProblem:
    what, fix = _MEANINGS[found[1]]
    lines = [n.meta_get("line") for n in tree.find_all(exp.Identifier) if n.name == found[2] and n.meta_get("line")]
    return ColumnProblem(line=max(lines, default=1), what=what.format(found[2]), fix=fix)


def _drop_qualifier(column: exp.Column, dropped: int) -> None:
    parts = column.parts[dropped:]
    for arg, part in zip(("this", "table", "db", "catalog"), [*reversed(parts), None, None, None], strict=False):
        column.set(arg, part)


def _in_front(select: exp.Select) -> bool:
    """Bring the columns of USING to the front of `t.*`, where Spark has them and sqlglot does not; whether it is known
    which ones are."""
    joins: list[exp.Join] = select.args.get("joins") or []
    using = [tuple(i.name.lower() for i in join.args.get("using") or ()) for join in joins]
    natural = any(join.method for join in joins)
    if not (natural or any(using)) or not any(map(_is_star_of_one, select.expressions)):
        return True
    names = using[0]
    if natural or not names or any(found and found != names for found in using):
        return False
    tables = (select.args["from_"].this, *(join.this for join in joins))
    joined = {table.alias_or_name.lower() for table, by in zip(tables, (names, *using), strict=True) if by}
    projections: list[exp.Expr] = []
    for projection in select.expressions:
        if _is_star_of_one(projection) and projection.table.lower() in joined:
            without = list(projection.this.args.get("except_") or ())
            left = [name for name in names if name not in {column.name.lower() for column in without}]
            for name in left:
                projections.append(projection.copy())
                projections[-1].set("this", exp.to_identifier(name))
            projection.this.set("except_", [*without, *map(exp.to_identifier, left)])
        projections.append(projection)
    select.set("expressions", projections)
    return True


def _is_star_of_one(projection: exp.Expr) -> bool:
    return isinstance(projection, exp.Column) and projection.is_star and bool(projection.table)


def _isolate(table: exp.Table, key: str) -> None:
    """Give an upstream a name that no CTE can have, and its last part as its alias."""
    if not table.alias:
        alias = table.args.get("alias") or exp.TableAlias()
        alias.set("this", table.this.copy())  # with its position
        table.set("alias", alias)
    table.set("this", exp.to_identifier(f"@{key}", quoted=True))
    table.set("db", None)
    table.set("catalog", None)
