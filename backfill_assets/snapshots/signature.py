"""What decides a query's rows, and what each of its columns? One hash for the rows and one a column.

Two queries with equal row hashes give the same rows; where a column's hash is equal as well, the same values in it.
Hashes are made bottom up, scope by scope, and a reference to a column stands for the column's own hash: so CTEs,
aliases, formatting and the order of columns leave no trace, and a change shows in exactly what reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.model import ColumnRef, Refs, Signature
from backfill_assets.snapshots.sql import WRITTEN_AS


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A model or source as a query reads it. `key`: columns that no two rows share; None: nobody vouches for any."""

    name: str
    signature: Signature
    key: frozenset[str] | None = None


class Opaque(Exception):
    """The query holds something that cannot be taken apart; what it is."""


def query_signature(scopes: Sequence[Scope], tables: Mapping[str, Table]) -> Signature:
    """The signature of a qualified query.

    `scopes` are sqlglot's, the outermost last; tables are named `@key` for the keys of `tables`. Raises Opaque.
    """
    relation = _Query(scopes, tables).relation(scopes[-1], outermost=True)
    return Signature(
        rows=relation.rows.text,
        columns={name: mark.text for name, mark in relation.columns.items()},
        row_reads=relation.rows.refs,
        column_reads={name: mark.refs for name, mark in relation.columns.items()},
    )


def query_keys(scopes: Sequence[Scope], tables: Mapping[str, Table]) -> dict[int, frozenset[str]]:
    """Columns that no two rows of a scope share, by the id of its expression; none for a scope where nobody knows."""
    query = _Query(scopes, tables)
    found: dict[int, frozenset[str]] = {}
    for scope in scopes:
        with suppress(Opaque):
            if (key := query.relation(scope).key) is not None:
                found[id(scope.expression)] = key
    return found


def version_of(signature: Signature) -> str:
    """The name of the version: tables of the same name are the same table."""
    by_word = [signature.code] if signature.code else []
    return digest("version", signature.rows, sorted(signature.columns.items()), *by_word)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A hash, and the upstream columns that went into it."""

    text: str
    refs: Refs = frozenset()


def _mix(*parts: object) -> _Mark:
    """The mark of a structure of marks and plain values."""
    refs: set[ColumnRef] = set()

    def plain(part: object) -> object:
        match part:
            case _Mark():
                refs.update(part.refs)
                return part.text
            case list() | tuple():
                return [plain(p) for p in part]
            case _:
                return part

    text = digest(*[plain(p) for p in parts])
    return _Mark(text, frozenset(refs))


@dataclass(frozen=True, slots=True)
class _Relation:
    """Rows, columns in order, and a set of columns that is unique. `any_column` makes the mark of one not listed."""

    rows: _Mark
    columns: dict[str, _Mark]
    key: frozenset[str] | None = None
    table: Table | None = None

    def column(self, name: str) -> _Mark:
        found = self.columns.get(name)
        if found is not None:
            return found
        if self.table is None or self.table.signature.columns:
            raise Opaque(f"column {name} is not known")
        ref = ColumnRef(table=self.table.name, column=name)
        return _Mark(digest("unknown", self.table.signature.rows, name), frozenset((ref,)))


@dataclass(slots=True)
class _Place:
    """How a scope's tables are told apart: by position, or (a join that keeps the rows) by what the join is."""

    marks: dict[str, tuple[object, _Relation]] = field(default_factory=dict[str, tuple[object, _Relation]])
    alone: bool = True
    outputs: dict[str, _Mark] = field(default_factory=dict[str, _Mark])
    """The scope's own columns, once they are known: ORDER BY may name them."""


_KNOWN = frozenset({
    "with_", "from_", "joins", "laterals", "where", "group", "having", "windows", "qualify", "distinct", "order",
    "limit", "offset", "sort", "cluster", "distribute", "hint", "expressions", "kind", "operation_modifiers",
})  # fmt: skip
_KNOWN_SET = frozenset({
    "with_", "this", "expression", "expressions", "distinct", "by_name", "order", "limit", "offset", "sort", "cluster",
    "distribute",
})  # fmt: skip
_GENERATORS = (exp.UDTF, exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline)
_GENERATORS_BY_NAME = frozenset({"stack", "json_tuple", "inline_outer", "variant_explode", "variant_explode_outer"})


class _Query:
    """Relations of the scopes of one query, made when they are first asked for."""

    def __init__(self, scopes: Sequence[Scope], tables: Mapping[str, Table]) -> None:
        self._scopes = {id(scope.expression): scope for scope in scopes}
        self._tables = {f"@{key}": table for key, table in tables.items()}
        self._relations: dict[int, _Relation] = {}
        self._places: dict[int, _Place] = {}

    def relation(self, scope: Scope, *, outermost: bool = False) -> _Relation:
        if id(scope) not in self._relations:
            match scope.expression:
                case exp.Select() as select:
                    made = self._select(select, scope, outermost)
                case exp.SetOperation() as operation:
                    made = self._set_operation(operation, scope, outermost)
                case exp.Subquery() as subquery if not _present(subquery, {"this", "alias"}):
                    made = self._inner(subquery.unnest())
                case other:
                    raise Opaque(type(other).__name__)
            self._relations[id(scope)] = made
        return self._relations[id(scope)]

    def _inner(self, query: Any) -> _Relation:
        scope = self._scopes.get(id(query))
        if scope is None:
            raise Opaque("a subquery of unknown scope")
        return self.relation(scope)

    # --- SELECT -------------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: Scope, outermost: bool) -> _Relation:
        if odd := _present(node, _KNOWN):
            raise Opaque(", ".join(odd))
        place = self._places[id(scope)] = _Place()
        skeleton: list[object] = self._sources(node, scope, place)
        laterals = [self._lateral(lateral, scope, place) for lateral in node.args.get("laterals") or []]
        where = self._conditions(node.args.get("where"), scope)
        projections = [self._projection(p, scope) for p in node.expressions]
        values = [value for _, _, value in projections]
        place.outputs = {name: value for name, _, value in projections}
        grouped = self._grouping(node, scope, projections)
        ordered = self._ordering(node, scope, outermost)
        generators = [mark for _, raw, mark in projections if _generates(raw)]
        unknown = sorted({name for _, raw, _ in projections for name in _unknown(raw)}) if grouped is None else []
        rest: list[object] = [
            ["having", *self._conditions(node.args.get("having"), scope)] if node.args.get("having") else [],
            ["qualify", *self._conditions(node.args.get("qualify"), scope)] if node.args.get("qualify") else [],
            ["generators", *generators] if generators else [],
            ["may aggregate", *unknown] if unknown else [],
            ["distinct", *sorted(values, key=lambda m: m.text)] if node.args.get("distinct") else [],
            ordered,
        ]
        columns = {name: value for name, _, value in projections}
        if not place.alone or where or laterals or grouped is not None or any(rest):
            rows = _mix("select", skeleton, ["where", *where], laterals, grouped or [], grouped is not None, rest)
        else:  # one table, all of its rows: a mere renaming
            rows = next(relation.rows for position, relation in place.marks.values() if position == 0)
        key = self._key(node, scope, place, projections, grouped is not None, bool(laterals or generators))
        return _Relation(rows, columns, key)

    def _sources(self, node: exp.Select, scope: Scope, place: _Place) -> list[object]:
        """The marks of FROM and the joins that decide rows; fills the place."""
        first = node.args.get("from_")
        if first is None:
            raise Opaque("no FROM")
        here = {name: source for name, (_, source) in scope.selected_sources.items()}
        parts: list[object] = []
        items: list[Any] = [first, *(node.args.get("joins") or [])]
        for number, item in enumerate(items):
            table = item.this
            name = table.alias_or_name
            relation = self._source(table, here.get(name) or scope.sources.get(name))  # semi joins select nothing
            if number and self._keeps_rows(item, name, relation):
                place.marks[name] = ("self", relation)
                on = self._conditions(item.args["on"], scope)
                place.marks[name] = (_mix("left", relation.rows, on), relation)
                continue
            place.alone = number == 0
            position = sum(isinstance(p, int) for p, _ in place.marks.values())  # joins that keep the rows do not count
            place.marks[name] = (position, relation)
            if not number:
                parts.append(relation.rows)
                continue
            if odd := _present(item, {"this", "side", "kind", "method", "on", "hint"}):
                raise Opaque(", ".join(odd))
            kind = [item.args.get(a) or "" for a in ("side", "kind", "method")]
            parts.append(["join", kind, relation.rows, *self._conditions(item.args.get("on"), scope)])
        return parts

    def _source(self, node: Any, source: Any) -> _Relation:
        match node, source:
            case exp.Table(), exp.Table() if node.name in self._tables:
                if odd := _present(node, {"this", "alias", "db", "catalog"}):
                    raise Opaque(f"a table with {', '.join(odd)}")
                table = self._tables[node.name]
                columns = {
                    name: _Mark(text, frozenset((ColumnRef(table=table.name, column=name),)))
                    for name, text in table.signature.columns.items()
                }
                relation = _Relation(_Mark(table.signature.rows), columns, table.key, table)
            case ((exp.Table() | exp.Subquery()), Scope()):
                if odd := _present(node, {"this", "alias", "db", "catalog"}):
                    raise Opaque(f"a table with {', '.join(odd)}")
                relation = self.relation(source)
            case _:
                raise Opaque(f"{type(node).__name__} as a table")
        aliases = [a.lower() for a in node.alias_column_names]
        if aliases:
            if len(aliases) != len(relation.columns):
                raise Opaque("names for some columns")
            return _Relation(relation.rows, dict(zip(aliases, relation.columns.values(), strict=True)))
        return relation

    def _keeps_rows(self, join: exp.Join, name: str, right: _Relation) -> bool:
        """Whether every row of the left side comes out exactly once: a LEFT JOIN on a key of the right side."""
        if join.side != "LEFT" or join.kind not in ("", "OUTER") or join.method or right.key is None:
            return False
        if not join.args.get("on") or _present(join, {"this", "side", "kind", "on", "hint"}):
            return False
        fixed: set[str] = set()
        for condition in conjuncts(join.args["on"]):
            if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
                continue
            for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
                theirs = other.find(exp.Query) is None and all(
                    c.table not in (name, "") for c in other.find_all(exp.Column)
                )
                if theirs and isinstance(one, exp.Column) and one.table == name:
                    fixed.add(one.name)
        return right.key <= fixed

    def _lateral(self, node: exp.Lateral, scope: Scope, place: _Place) -> _Mark:
        """LATERAL VIEW: its generator makes rows, its columns are the generator's."""
        if odd := _present(node, {"this", "view", "outer", "alias", "cross_apply", "ordinality"}):
            raise Opaque(", ".join(odd))
        mark = _mix("lateral", bool(node.args.get("outer")), self._expression(node.this, scope))
        names = [n.lower() for n in node.alias_column_names]
        columns = {n: _mix("generated", mark, i) for i, n in enumerate(names)}
        place.marks[node.alias_or_name] = ("generated", _Relation(mark, columns))
        place.alone = False
        return mark

    def _projection(self, node: exp.Expr, scope: Scope) -> tuple[str, exp.Expr, _Mark]:
        if node.is_star or isinstance(node, exp.Aliases):
            raise Opaque("columns without names")
        raw = node.unalias() if isinstance(node, exp.Alias) else node
        value = self._expression(raw, scope)
        if windows := scope.expression.args.get("windows"):
            value = _mix("windows", value, [self._expression(w, scope) for w in windows])
        return node.alias_or_name.lower(), raw, value

    def _grouping(self, node: exp.Select, scope: Scope, projections: Sequence[tuple[str, exp.Expr, _Mark]]) -> Any:
        """What the rows are grouped by; None when they are not."""
        group = node.args.get("group")
        if group is None:
            return ["all rows"] if any(_aggregates(raw) for _, raw, _ in projections) else None
        if group.args.get("all"):
            keys = [mark for _, raw, mark in projections if not _aggregates(raw)]
            return ["by", *_in_any_order(keys)]
        others = {name: value for name, value in group.args.items() if name != "expressions" and value}
        keys = [self._expression(e, scope) for e in group.expressions]
        if others:
            return ["by", *keys, [[name, self._generic(value, scope)] for name, value in sorted(others.items())]]
        return ["by", *_in_any_order(keys)]

    def _ordering(self, node: exp.Expr, scope: Scope, outermost: bool) -> list[object]:
        limited = node.args.get("limit") or node.args.get("offset")
        names = ("order", "sort", "cluster", "distribute", "limit", "offset")
        if outermost and not limited:
            return []
        return [[n, self._generic(node.args[n], scope)] for n in names if node.args.get(n)]

    def _key(
        self, node: exp.Select, scope: Scope, place: _Place, projections: Sequence[tuple[str, exp.Expr, _Mark]],
        grouped: bool, multiplied: bool,
    ) -> frozenset[str] | None:  # fmt: skip
        if multiplied:
            return None
        by_mark = {mark.text: name for name, _, mark in reversed(projections)}
        group = node.args.get("group")
        if group is None and grouped:
            return frozenset()
        if group is not None:
            plain = not any(value for name, value in group.args.items() if name != "expressions")
            keys = [self._expression(e, scope).text for e in group.expressions] if plain else []
            if not keys or any(k not in by_mark for k in keys):
                return None
            return frozenset(by_mark[k] for k in keys)
        if node.args.get("distinct"):
            return frozenset(name for name, _, _ in projections)
        if not place.alone:
            return None
        alias, relation = next((a, r) for a, (position, r) in place.marks.items() if position == 0)
        if relation.key is None:
            return None
        passed = {raw.name: name for name, raw, _ in reversed(projections)
                  if isinstance(raw, exp.Column) and raw.table == alias}  # fmt: skip
        return frozenset(passed[k] for k in relation.key) if all(k in passed for k in relation.key) else None

    # --- set operations -----------------------------------------------------------------------------------------------

    def _set_operation(self, node: exp.SetOperation, scope: Scope, outermost: bool) -> _Relation:
        if odd := _present(node, _KNOWN_SET):
            raise Opaque(", ".join(odd))
        left, right = (self._inner(side.unnest()) for side in (node.this, node.expression))
        by_name = bool(node.args.get("by_name"))
        pairs = [
            (name, mark, right.columns.get(name) if by_name else list(right.columns.values())[index])
            for index, (name, mark) in enumerate(left.columns.items())
        ]
        if len(left.columns) != len(right.columns) or any(other is None for _, _, other in pairs):
            raise Opaque("a set operation on different columns")
        columns = {name: _mix("either", mark, other) for name, mark, other in pairs}
        distinct = bool(node.args.get("distinct")) or not isinstance(node, exp.Union)
        values = list(columns.values()) if distinct else []
        self._places[id(scope)] = _Place(outputs=columns)
        ordered = [] if outermost and not node.args.get("limit") else self._ordering(node, scope, outermost)
        rows = _mix(
            type(node).__name__, distinct, bool(node.args.get("distinct")), left.rows, right.rows, values, ordered
        )
        return _Relation(rows, columns)

    # --- expressions --------------------------------------------------------------------------------------------------

    def _conditions(self, node: Any, scope: Scope) -> list[_Mark]:
        """The marks of what AND joins, in any order."""
        if node is None:
            return []
        return _in_any_order([self._expression(c, scope) for c in conjuncts(node)])

    def _expression(self, node: exp.Expr, scope: Scope) -> _Mark:
        match node:
            case exp.Column():
                return self._column(node, scope)
            case exp.Paren() | exp.Alias():
                return self._expression(node.this, scope)
            case exp.Query():
                relation = self._inner(node.unnest())
                return _mix("subquery", relation.rows, list(relation.columns.values()))
            case exp.Identifier():
                return _mix("name", node.name.lower())
            case exp.Literal():
                return _mix("literal", node.is_string, node.name)
            case exp.Star():
                if _present(node, set()):
                    raise Opaque("a star")
                return _mix("star")
            case _:
                arguments = [[n, self._generic(v, scope)] for n, v in sorted(node.args.items()) if _means(v)]
                return _mix(type(node).__name__, node.meta_get(WRITTEN_AS) or "", arguments)

    def _generic(self, value: Any, scope: Scope) -> object:
        if isinstance(value, exp.Expr):
            return self._expression(value, scope)
        if isinstance(value, list):
            return [self._generic(v, scope) for v in value]
        return str(value)

    def _column(self, node: exp.Column, scope: Scope) -> _Mark:
        if not node.table:
            here = self._places.get(id(scope))
            if here and node.name in here.outputs:
                return here.outputs[node.name]
            raise Opaque(f"column {node.name} of an unknown table")
        around: Scope | None = scope
        level = 0
        while around is not None:
            place = self._places.get(id(around))
            if place and node.table in place.marks:
                position, relation = place.marks[node.table]
                mark = relation.column(node.name)
                if position == 0 and place.alone and not level:
                    return mark
                return _mix("of", level, position, mark)
            around, level = around.parent, level + 1
        raise Opaque(f"column {node.table}.{node.name} of an unknown table")


def conjuncts(node: exp.Expr) -> Iterable[exp.Expr]:
    """What AND joins."""
    if isinstance(node, exp.Where | exp.Having | exp.Qualify | exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def _in_any_order(marks: Iterable[_Mark]) -> list[_Mark]:
    return sorted({m.text: m for m in marks}.values(), key=lambda m: m.text)


def _present(node: exp.Expr, known: Iterable[str]) -> list[str]:
    """The arguments of a node that are set and not among the known ones."""
    return [name for name, value in node.args.items() if name not in set(known) and _means(value)]


def _means(value: object) -> bool:
    return value is not None and value is not False and value != []


def _aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates the rows of its own SELECT."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):  # its function does not, what that is given may: `sum(sum(x)) OVER ()`
        function = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
        rest = [v for name, v in node.args.items() if name != "this" and isinstance(v, exp.Expr | list)]
        return any(_aggregates(e) for e in [*function.iter_expressions(), *_flat(rest)])
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Any) and not isinstance(node.this, exp.Query)):
        return True
    return any(_aggregates(child) for child in node.iter_expressions())


def _flat(values: Iterable[Any]) -> Iterable[exp.Expr]:
    for value in values:
        yield from (v for v in value if isinstance(v, exp.Expr)) if isinstance(value, list) else (value,)


def _generates(node: exp.Expr) -> bool:
    """Whether an expression makes several rows of one."""
    return node.find(*_GENERATORS) is not None or not _GENERATORS_BY_NAME.isdisjoint(_unknown(node))


def _unknown(node: exp.Expr) -> set[str]:
    """The functions that sqlglot does not know: each may aggregate, for all that can be told."""
    return {f.name.lower() for f in node.find_all(exp.Anonymous)}
