"""What decides a query's rows, as records without a number hash it: from sqlglot's tree, scope by scope.

Kept as it was, to find out whether what such a record does not hold is as it was then: `proof.py`. Nothing is compared
by these hashes (decisions/0017).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.model import Signature
from backfill_assets.project.unnumbered.marks import (
    KNOWN,
    KNOWN_SET,
    Mark,
    Opaque,
    Place,
    Relation,
    Table,
    aggregates,
    conjuncts,
    generates,
    in_any_order,
    means,
    mix,
    present,
    unknown,
)  # fmt: skip
from backfill_assets.sql.parsing import WRITTEN_AS


def query_signature(scopes: Sequence[Scope], tables: Mapping[str, Table]) -> Signature:
    """The hashes of a qualified query.

    `scopes` are sqlglot's, the outermost last; tables are named `@key` for the keys of `tables`. Raises Opaque.
    """
    relation = _Query(scopes, tables).relation(scopes[-1], outermost=True)
    return Signature(rows=relation.rows, columns=relation.columns)


class _Query:
    """Relations of the scopes of one query, made when they are first asked for."""

    def __init__(self, scopes: Sequence[Scope], tables: Mapping[str, Table]) -> None:
        self._scopes = {id(scope.expression): scope for scope in scopes}
        self._tables = {f"@{key}": table for key, table in tables.items()}
        self._relations: dict[int, Relation] = {}
        self._places: dict[int, Place] = {}

    def relation(self, scope: Scope, *, outermost: bool = False) -> Relation:
        if id(scope) not in self._relations:
            match scope.expression:
                case exp.Select() as select:
                    made = self._select(select, scope, outermost)
                case exp.SetOperation() as operation:
                    made = self._set_operation(operation, scope, outermost)
                case exp.Subquery() as subquery if not present(subquery, {"this", "alias"}):
                    made = self._inner(subquery.unnest())
                case other:
                    raise Opaque(type(other).__name__)
            self._relations[id(scope)] = made
        return self._relations[id(scope)]

    def _inner(self, query: Any) -> Relation:
        scope = self._scopes.get(id(query))
        if scope is None:
            raise Opaque("a subquery of unknown scope")
        return self.relation(scope)

    # --- SELECT -------------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: Scope, outermost: bool) -> Relation:
        if odd := present(node, KNOWN):
            raise Opaque(", ".join(odd))
        place = self._places[id(scope)] = Place()
        skeleton: list[object] = self._sources(node, scope, place)
        laterals = [self._lateral(lateral, scope, place) for lateral in node.args.get("laterals") or []]
        where = self._conditions(node.args.get("where"), scope)
        projections = [self._projection(p, scope) for p in node.expressions]
        values = [value for _, _, value in projections]
        place.outputs = {name: value for name, _, value in projections}
        grouped = self._grouping(node, scope, projections)
        ordered = self._ordering(node, scope, outermost)
        generators = [mark for _, raw, mark in projections if generates(raw)]
        strange = sorted({name for _, raw, _ in projections for name in unknown(raw)}) if grouped is None else []
        rest: list[object] = [
            ["having", *self._conditions(node.args.get("having"), scope)] if node.args.get("having") else [],
            ["qualify", *self._conditions(node.args.get("qualify"), scope)] if node.args.get("qualify") else [],
            ["generators", *generators] if generators else [],
            ["may aggregate", *strange] if strange else [],
            ["distinct", *sorted(values)] if node.args.get("distinct") else [],
            ordered,
        ]
        columns = {name: value for name, _, value in projections}
        if not place.alone or where or laterals or grouped is not None or any(rest):
            rows = mix("select", skeleton, ["where", *where], laterals, grouped or [], grouped is not None, rest)
        else:  # one table, all of its rows: a mere renaming
            rows = next(relation.rows for position, relation in place.marks.values() if position == 0)
        key = self._key(node, scope, place, projections, grouped is not None, bool(laterals or generators))
        return Relation(rows, columns, key)

    def _sources(self, node: exp.Select, scope: Scope, place: Place) -> list[object]:
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
                place.marks[name] = (mix("left", relation.rows, on), relation)
                continue
            place.alone = number == 0
            position = sum(isinstance(p, int) for p, _ in place.marks.values())  # joins that keep the rows do not count
            place.marks[name] = (position, relation)
            if not number:
                parts.append(relation.rows)
                continue
            if odd := present(item, {"this", "side", "kind", "method", "on", "hint"}):
                raise Opaque(", ".join(odd))
            kind = [item.args.get(a) or "" for a in ("side", "kind", "method")]
            parts.append(["join", kind, relation.rows, *self._conditions(item.args.get("on"), scope)])
        return parts

    def _source(self, node: Any, source: Any) -> Relation:
        match node, source:
            case exp.Table(), exp.Table() if node.name in self._tables:
                if odd := present(node, {"this", "alias", "db", "catalog"}):
                    raise Opaque(f"a table with {', '.join(odd)}")
                table = self._tables[node.name]
                relation = Relation(table.signature.rows, dict(table.signature.columns), table.key, table)
            case ((exp.Table() | exp.Subquery()), Scope()):
                if odd := present(node, {"this", "alias", "db", "catalog"}):
                    raise Opaque(f"a table with {', '.join(odd)}")
                relation = self.relation(source)
            case _:
                raise Opaque(f"{type(node).__name__} as a table")
        aliases = [a.lower() for a in node.alias_column_names]
        if aliases:
            if len(aliases) != len(relation.columns):
                raise Opaque("names for some columns")
            return Relation(relation.rows, dict(zip(aliases, relation.columns.values(), strict=True)))
        return relation

    def _keeps_rows(self, join: exp.Join, name: str, right: Relation) -> bool:
        """Whether every row of the left side comes out exactly once: a LEFT JOIN on a key of the right side."""
        if join.side != "LEFT" or join.kind not in ("", "OUTER") or join.method or right.key is None:
            return False
        if not join.args.get("on") or present(join, {"this", "side", "kind", "on", "hint"}):
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

    def _lateral(self, node: exp.Lateral, scope: Scope, place: Place) -> Mark:
        """LATERAL VIEW: its generator makes rows, its columns are the generator's."""
        if odd := present(node, {"this", "view", "outer", "alias", "cross_apply", "ordinality"}):
            raise Opaque(", ".join(odd))
        mark = mix("lateral", bool(node.args.get("outer")), self._expression(node.this, scope))
        names = [n.lower() for n in node.alias_column_names]
        columns = {n: mix("generated", mark, i) for i, n in enumerate(names)}
        place.marks[node.alias_or_name] = ("generated", Relation(mark, columns))
        place.alone = False
        return mark

    def _projection(self, node: exp.Expr, scope: Scope) -> tuple[str, exp.Expr, Mark]:
        if node.is_star or isinstance(node, exp.Aliases):
            raise Opaque("columns without names")
        raw = node.unalias() if isinstance(node, exp.Alias) else node
        value = self._expression(raw, scope)
        if windows := scope.expression.args.get("windows"):
            value = mix("windows", value, [self._expression(w, scope) for w in windows])
        return node.alias_or_name.lower(), raw, value

    def _grouping(self, node: exp.Select, scope: Scope, projections: Sequence[tuple[str, exp.Expr, Mark]]) -> Any:
        """What the rows are grouped by; None when they are not."""
        group = node.args.get("group")
        if group is None:
            return ["all rows"] if any(aggregates(raw) for _, raw, _ in projections) else None
        if group.args.get("all"):
            keys = [mark for _, raw, mark in projections if not aggregates(raw)]
            return ["by", *in_any_order(keys)]
        others = {name: value for name, value in group.args.items() if name != "expressions" and value}
        keys = [self._expression(e, scope) for e in group.expressions]
        if others:
            return ["by", *keys, [[name, self._generic(value, scope)] for name, value in sorted(others.items())]]
        return ["by", *in_any_order(keys)]

    def _ordering(self, node: exp.Expr, scope: Scope, outermost: bool) -> list[object]:
        limited = node.args.get("limit") or node.args.get("offset")
        names = ("order", "sort", "cluster", "distribute", "limit", "offset")
        if outermost and not limited:
            return []
        return [[n, self._generic(node.args[n], scope)] for n in names if node.args.get(n)]

    def _key(
        self, node: exp.Select, scope: Scope, place: Place, projections: Sequence[tuple[str, exp.Expr, Mark]],
        grouped: bool, multiplied: bool,
    ) -> frozenset[str] | None:  # fmt: skip
        if multiplied:
            return None
        by_mark = {mark: name for name, _, mark in reversed(projections)}
        group = node.args.get("group")
        if group is None and grouped:
            return frozenset()
        if group is not None:
            plain = not any(value for name, value in group.args.items() if name != "expressions")
            keys = [self._expression(e, scope) for e in group.expressions] if plain else []
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

    def _set_operation(self, node: exp.SetOperation, scope: Scope, outermost: bool) -> Relation:
        if odd := present(node, KNOWN_SET):
            raise Opaque(", ".join(odd))
        left, right = (self._inner(side.unnest()) for side in (node.this, node.expression))
        by_name = bool(node.args.get("by_name"))
        pairs = [
            (name, mark, right.columns.get(name) if by_name else list(right.columns.values())[index])
            for index, (name, mark) in enumerate(left.columns.items())
        ]
        if len(left.columns) != len(right.columns) or any(other is None for _, _, other in pairs):
            raise Opaque("a set operation on different columns")
        columns = {name: mix("either", mark, other) for name, mark, other in pairs}
        distinct = bool(node.args.get("distinct")) or not isinstance(node, exp.Union)
        values = list(columns.values()) if distinct else []
        self._places[id(scope)] = Place(outputs=columns)
        ordered = [] if outermost and not node.args.get("limit") else self._ordering(node, scope, outermost)
        rows = mix(
            type(node).__name__, distinct, bool(node.args.get("distinct")), left.rows, right.rows, values, ordered
        )
        return Relation(rows, columns)

    # --- expressions --------------------------------------------------------------------------------------------------

    def _conditions(self, node: Any, scope: Scope) -> list[Mark]:
        """The marks of what AND joins, in any order."""
        if node is None:
            return []
        return in_any_order([self._expression(c, scope) for c in conjuncts(node)])

    def _expression(self, node: exp.Expr, scope: Scope) -> Mark:
        match node:
            case exp.Column():
                return self._column(node, scope)
            case exp.Paren() | exp.Alias():
                return self._expression(node.this, scope)
            case exp.Query():
                relation = self._inner(node.unnest())
                return mix("subquery", relation.rows, list(relation.columns.values()))
            case exp.Identifier():
                return mix("name", node.name.lower())
            case exp.Literal():
                return mix("literal", node.is_string, node.name)
            case exp.Star():
                if present(node, set()):
                    raise Opaque("a star")
                return mix("star")
            case _:
                arguments = [[n, self._generic(v, scope)] for n, v in sorted(node.args.items()) if means(v)]
                return mix(type(node).__name__, node.meta_get(WRITTEN_AS) or "", arguments)

    def _generic(self, value: Any, scope: Scope) -> object:
        if isinstance(value, exp.Expr):
            return self._expression(value, scope)
        if isinstance(value, list):
            return [self._generic(v, scope) for v in value]
        return str(value)

    def _column(self, node: exp.Column, scope: Scope) -> Mark:
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
                return mix("of", level, position, mark)
            around, level = around.parent, level + 1
        raise Opaque(f"column {node.table}.{node.name} of an unknown table")
