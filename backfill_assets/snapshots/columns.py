"""Which columns does this query give, of which types, and from which upstream columns?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from backfill_assets.snapshots.documents import did_you_mean
from backfill_assets.snapshots.expression_types import Known, expression_type
from backfill_assets.snapshots.model import Column, ColumnRef
from backfill_assets.snapshots.sql import SPARK, Sql

Refs = frozenset[ColumnRef]
Outputs = dict[str, tuple[str | None, Refs]]
_USER_ERRORS = re.compile(r"(Alias already used|Unknown table|Cannot automatically join|Unknown output column): (.*)")
_MEANINGS = {
    "Alias already used": ("two tables are called `{}` in one FROM", "give each its own alias"),
    "Unknown table": ("no table or alias named `{}`", "use a name or alias of the FROM clause"),
    "Cannot automatically join": ("the tables do not share the column `{}` of USING", "write `ON` instead"),
    "Unknown output column": ("there is no output column number {}", "count the columns of the SELECT, from 1"),
}
_NOTHING: Refs = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with the query; `line` counts from 1 within its text."""

    line: int
    what: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """`columns` in the query's order, None when they cannot be known; `lineage`: what each reads of the upstreams."""

    columns: tuple[Column, ...] | None
    lineage: Mapping[str, tuple[ColumnRef, ...]] = field(default_factory=dict[str, tuple[ColumnRef, ...]])
    findings: tuple[Finding, ...] = ()


def resolve(sql: Sql, upstreams: Mapping[str, tuple[str, tuple[Column, ...]]]) -> Resolved:
    """Resolve a single query's output columns. Changes the trees in `sql`.

    `upstreams` maps each lower-cased reference to the upstream's name and its columns (none: unknown).
    """
    tree = sql.statements[0]
    names = _output_names(tree)
    if isinstance(names, Finding):
        return Resolved(columns=None, findings=(names,))
    for qualifier in sql.qualifiers:
        _drop_qualifier(qualifier.node, qualifier.dropped)
    for reference in sql.references:
        _isolate(reference.node, reference.key)
    schema = MappingSchema(normalize=False, dialect=SPARK)
    for key, (_, columns) in upstreams.items():
        if columns:
            schema.add_table(
                exp.Table(this=exp.to_identifier(f"@{key}", quoted=True)),
                {c.name.lower(): c.type or "unknown" for c in columns},
                match_depth=False,
            )  # fmt: skip
    try:
        tree = qualify(
            tree, dialect=SPARK, schema=schema, allow_partial_qualification=True,
            validate_qualify_columns=False, quote_identifiers=False,
        )  # fmt: skip
        scopes = traverse_scope(tree)
        findings = list(_Checker(scopes, schema).findings())
        if findings:
            return Resolved(columns=None, findings=tuple(findings))
        outputs = _Outputs(upstreams).of(scopes)
    except OptimizeError as error:
        found = _USER_ERRORS.search(str(error))
        return Resolved(columns=None, findings=(_user_error(tree, found),) if found else ())
    except (SqlglotError, KeyError, AttributeError, ValueError, IndexError):
        # What sqlglot cannot follow, Spark may: the columns stay unknown.
        return Resolved(columns=None)
    if outputs is None:
        return Resolved(columns=None)
    if isinstance(outputs, Finding):
        return Resolved(columns=None, findings=(outputs,))
    return _named(names, outputs)


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


def _output_names(tree: exp.Expr) -> list[tuple[str, int] | None] | Finding:
    """The names that the outermost SELECT writes, with lines (None: a star); a finding when one is missing or twice."""
    names: list[tuple[str, int] | None] = []
    seen: dict[str, int] = {}
    for position, projection in enumerate(_selects(tree), start=1):
        line = line_of(projection)
        if projection.is_star:
            names.append(None)
            continue
        if isinstance(projection, exp.Aliases):
            found = [a.name for a in projection.aliases]
        else:
            found = [projection.output_name if not isinstance(projection, exp.Literal) else ""]
        for name in found:
            if not name:
                text = projection.sql("spark", comments=False)
                what = f"column {position} (`{text if len(text) < 60 else text[:57] + '…'}`) has no name"
                why = "the columns of a table need names"
                return Finding(line=line, what=what, why=why, fix="add an alias: `… AS name`")
            if name.lower() in seen:
                what = f"two columns are named `{name}`"
                return Finding(line=line, what=what, fix="rename one with `AS`, or remove it")
            seen[name.lower()] = line
            names.append((name, line))
    return names


def _selects(tree: exp.Expr) -> list[exp.Expr]:
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree.expressions


def _duplicate(tree: exp.Expr) -> Finding | None:
    """A name that comes twice once stars are expanded."""
    seen: set[str] = set()
    for projection in _selects(tree):
        if (name := projection.alias_or_name.lower()) in seen and not projection.is_star:
            fix = "name the columns instead of `*`, or leave it out: `* EXCEPT (…)`"
            what = f"two columns are named `{name}`"
            return Finding(line=line_of(tree), what=what, why="a `*` brings it from two tables", fix=fix)
        seen.add(name)
    return None


def _user_error(tree: exp.Expr, found: re.Match[str]) -> Finding:
    what, fix = _MEANINGS[found[1]]
    lines = [n.meta_get("line") for n in tree.find_all(exp.Identifier) if n.name == found[2] and n.meta_get("line")]
    return Finding(line=max(lines, default=1), what=what.format(found[2]), fix=fix)


def line_of(node: exp.Expr) -> int:
    """The line of the first name in a tree that has a position (1 when none has)."""
    for inner in node.walk(bfs=False):
        if (line := inner.meta_get("line")) is not None:
            return line
    sibling = node.parent
    return next((n.meta_get("line") for n in sibling.walk() if n.meta_get("line")), 1) if sibling else 1


def _drop_qualifier(column: exp.Column, dropped: int) -> None:
    parts = column.parts[dropped:]
    for arg, part in zip(("this", "table", "db", "catalog"), [*reversed(parts), None, None, None], strict=False):
        column.set(arg, part)


def _isolate(table: exp.Table, key: str) -> None:
    """Give an upstream a name that no CTE can have, and its last part as its alias."""
    if not table.alias:
        alias = table.args.get("alias") or exp.TableAlias()
        alias.set("this", exp.to_identifier(table.name, quoted=True))
        table.set("alias", alias)
    table.set("this", exp.to_identifier(f"@{key}", quoted=True))
    table.set("db", None)
    table.set("catalog", None)


class _Checker:
    """Finds columns that no table in scope has, or more than one."""

    def __init__(self, scopes: list[Scope], schema: MappingSchema) -> None:
        self._scopes = scopes
        self._resolvers = {id(s): Resolver(s, schema) for s in scopes}

    def findings(self) -> Iterator[Finding]:
        seen: set[int] = set()
        inner: dict[int, dict[str, list[str]]] = {}
        for scope in self._scopes:
            if not isinstance(scope.expression, exp.Select) or scope.pivots:
                continue
            visible: dict[str, list[str]] | None = None
            for column in scope.columns:
                if id(column) in seen or isinstance(column.this, exp.Star):
                    continue
                if visible is None:
                    visible = self._visible(scope)
                if column.table in visible:
                    known = visible[column.table]
                    if not known or "*" in known or column.name in known:
                        continue
                elif scope.can_be_correlated:
                    inner[id(column)] = visible | inner.get(id(column), {})
                    continue  # the scope around it looks again
                seen.add(id(column))
                if (finding := self._finding(column, visible | inner.get(id(column), {}))) is not None:
                    yield finding

    def _visible(self, scope: Scope) -> dict[str, list[str]]:
        """Names of the tables in scope, with the columns of those that are known."""
        names = {name for name, _ in scope.references} | set(scope.lateral_sources) | scope.semi_or_anti_join_tables
        resolver = self._resolvers[id(scope)]
        return {n: [c for c in resolver.get_source_columns(n) if c] for n in names if n in scope.sources}

    def _finding(self, column: exp.Column, visible: dict[str, list[str]]) -> Finding | None:
        name = column.name
        line = column.this.meta_get("line") or 1
        if column.table in visible:
            known = visible[column.table]
            what, where = f"`{column.table}` has no column `{name}`", f"`{column.table}` has: {', '.join(known)}"
            return Finding(line=line, what=what, why=where, fix=_remedy(name, known))
        if any(not known or "*" in known for known in visible.values()) or name == "_metadata":
            return None
        tables = ", ".join(f"`{v}`" for v in sorted(visible)) or "none"
        if column.table:
            if column.table == "_metadata":
                return None
            what = f"no table or alias named `{column.table}` for column `{column.table}.{name}`"
            fix = did_you_mean(column.table, sorted(visible), "use one of the names in scope")
            return Finding(line=line, what=what, why=f"tables in scope: {tables}", fix=fix)
        owners = sorted(t for t, known in visible.items() if name in known)
        if len(owners) > 1:
            which = " and ".join(f"`{o}`" for o in owners)
            fix = f"say which one: `{owners[0]}.{name}` or `{owners[1]}.{name}`"
            return Finding(line=line, what=f"column `{name}` is ambiguous", why=f"{which} both have it", fix=fix)
        if owners:
            return None
        everything = sorted({c for known in visible.values() for c in known})
        why = f"tables in scope: {tables}"
        return Finding(line=line, what=f"no column `{name}`", why=why, fix=_remedy(name, everything))


def _remedy(name: str, known: list[str]) -> str:
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return did_you_mean(name, known, f"use one of: {shown}" if known else "declare the table's columns")


class _Outputs:
    """Types and lineage of every scope's outputs, inner scopes first."""

    def __init__(self, upstreams: Mapping[str, tuple[str, tuple[Column, ...]]]) -> None:
        self._tables: dict[str, Outputs] = {
            f"@{key}": {
                c.name.lower(): (_as_read(c.type), frozenset((ColumnRef(table=name, column=c.name),))) for c in columns
            }
            for key, (name, columns) in upstreams.items()
        }
        self._names = {f"@{key}": name for key, (name, _) in upstreams.items()}
        self._done: dict[int, Outputs | None] = {}

    def of(self, scopes: list[Scope]) -> Outputs | Finding | None:
        """The outputs of the outermost scope; None when they are unknown (a star over an unknown table)."""
        result: Outputs | None = None
        for scope in scopes:
            result = self._scope(scope)
            self._done[id(scope.expression)] = result
        return _duplicate(scopes[-1].expression) or result

    def _scope(self, scope: Scope) -> Outputs | None:
        node = scope.expression
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node)
            case exp.Subquery():
                return self._done.get(id(node.unnest()))
            case exp.Lateral() if isinstance(node.this, exp.Query):
                return self._done.get(id(node.this.unnest()))
            case exp.UDTF():
                refs = self._refs(node, scope)
                return {name.lower(): (None, refs) for name in (*node.alias_column_names, "*")}
            case _:
                return None

    def _select(self, node: exp.Select, scope: Scope) -> Outputs | None:
        outputs: Outputs = {}
        known: Known = lambda column: self._column(column, scope)[0]  # noqa: E731
        for projection in node.expressions:
            if projection.is_star:
                return None
            value = projection.unalias() if isinstance(projection, exp.Alias) else projection
            refs = self._refs(value, scope)
            if isinstance(projection, exp.Aliases):
                outputs.update({a.name.lower(): (None, refs) for a in projection.aliases})
                continue
            if isinstance(value, exp.Subquery):
                inner = self._done.get(id(value.unnest()))
                type_ = next(iter(inner.values()))[0] if inner else None
            else:
                type_ = expression_type(value, known)
            outputs[projection.alias_or_name.lower()] = (type_, refs)
        return outputs

    def _set_operation(self, node: exp.SetOperation) -> Outputs | None:
        left, right = (self._done.get(id(side.unnest())) for side in (node.this, node.expression))
        if left is None or right is None:
            return None
        by_name = bool(node.args.get("by_name"))
        rights = list(right.values())
        outputs: Outputs = {}
        for index, (name, (type_, refs)) in enumerate(left.items()):
            other = right.get(name) if by_name else rights[index] if index < len(rights) else None
            other_type, other_refs = other or (None, _NOTHING)
            outputs[name] = (type_ if type_ == other_type else None, refs | other_refs)
        return outputs

    def _refs(self, node: exp.Expr, scope: Scope) -> Refs:
        """The upstream columns an expression reads; of a subquery, those that its outputs read."""
        refs: set[ColumnRef] = set()
        stack: list[Any] = [node]
        while stack:
            inner = stack.pop()
            if isinstance(inner, exp.Column):
                refs |= self._column(inner, scope)[1]
            elif isinstance(inner, exp.Query) and not isinstance(inner, exp.Subquery):
                for _, inner_refs in (self._done.get(id(inner)) or {}).values():
                    refs |= inner_refs
            else:
                stack.extend(inner.iter_expressions())
        return frozenset(refs)

    def _column(self, column: exp.Column, scope: Scope) -> tuple[str | None, Refs]:
        around: Scope | None = scope
        if not column.table:
            return None, self._unqualified(column, scope)
        while around is not None:
            source = around.sources.get(column.table)
            if source is None:
                pivoted = [p for p in around.pivots if p.alias_or_name == column.table]
                if pivoted:
                    return None, self._pivoted(column, pivoted[-1].parent, around)
            if isinstance(source, exp.Table):
                if source.args.get("pivots"):
                    return None, self._pivoted(column, source, around)
                columns = self._tables.get(source.name)
                if not columns:
                    return None, self._unknown(column, source)
                return columns.get(_physical(column, source, columns), (None, _NOTHING))
            if isinstance(source, Scope):
                outputs = self._done.get(id(source.expression)) or {}
                name = _physical(column, _node(around, column.table), outputs)
                return outputs.get(name) or outputs.get("*") or (None, _NOTHING)
            around = around.parent
        return None, _NOTHING

    def _unqualified(self, column: exp.Column, scope: Scope) -> Refs:
        """A column that only a table of unknown columns can have: of all such tables in scope."""
        refs: set[ColumnRef] = set()
        for name, _ in scope.references:
            source = scope.sources.get(name)
            if isinstance(source, exp.Table) and not self._tables.get(source.name):
                refs |= self._unknown(column, source)
            elif isinstance(source, Scope):
                refs |= (self._done.get(id(source.expression)) or {}).get("*", (None, _NOTHING))[1]
        return frozenset(refs)

    def _unknown(self, column: exp.Column, table: exp.Table) -> Refs:
        """A column of an upstream whose columns nobody knows: taken at its word."""
        name = self._names.get(table.name)
        return frozenset((ColumnRef(table=name, column=column.name),)) if name else _NOTHING

    def _pivoted(self, column: exp.Column, table: Any, scope: Scope) -> Refs:
        """A pivoted table's column: itself when the table has it, else everything that the pivot reads."""
        source = scope.sources.get(table.alias_or_name)
        columns: Outputs = {}
        if isinstance(table, exp.Table):
            columns = self._tables.get(table.name, {})
        elif isinstance(source, Scope):
            columns = self._done.get(id(source.expression)) or {}
        if column.name in columns:
            return columns[column.name][1]
        read = {c.name for pivot in table.args.get("pivots") or [] for c in pivot.find_all(exp.Column)}
        return frozenset(ref for name in read if name in columns for ref in columns[name][1])


def _node(scope: Scope, name: str) -> exp.Expr | None:
    return next((node for n, node in scope.references if n == name), None)


def _physical(column: exp.Column, node: exp.Expr | None, columns: Mapping[str, object]) -> str:
    """The name that a column has within its table: `FROM t AS x(a, b)` renames columns by position."""
    aliases = node.alias_column_names if isinstance(node, exp.Table) else []
    if column.name in aliases:
        position = aliases.index(column.name)
        if position < len(columns):
            return list(columns)[position]
    return column.name


def _as_read(type_: str | None) -> str | None:
    """Spark reads char(n) and varchar(n) columns as strings."""
    return "string" if type_ and type_.startswith(("char", "varchar")) else type_
