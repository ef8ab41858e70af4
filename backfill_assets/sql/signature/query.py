"""What decides a query's rows, and what each of its columns? One hash for the rows and one a column.

Two queries with equal row hashes give the same rows; where a column's hash is equal as well, the same values in it.
Hashes are made bottom up, SELECT by SELECT, and a reference to a column stands for the column's own hash: so CTEs,
aliases, formatting and the order of columns leave no trace, and a change shows in exactly what reads it. What is not
known to be harmless makes the query opaque.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from backfill_assets.core.model import ALL, Refs, Signature
from backfill_assets.sql.parsing import Sql
from backfill_assets.sql.signature.clauses import Body, FromItem, Nodes, Query, Select, SetOperation, read_query
from backfill_assets.sql.signature.expressions import ExpressionContext, value
from backfill_assets.sql.signature.marks import Mark, Opaque, mix
from backfill_assets.sql.signature.nodes import has_window, names_column
from backfill_assets.sql.signature.relations import ABSENT, Relation, Scope, Table, table_relation
from backfill_assets.sql.signature.select import Environment, Shaped, Subquery, read_select
from backfill_assets.sql.signature.tokens import Tok, TokenKind, nodes_of, split


def query_signature(sql: Sql, tables: Mapping[str, Table]) -> Signature:
    """The signature of a query; `tables` by lower-cased names as it has them. Raises Opaque, nothing else."""
    relation = _read(sql, _Queries(tables))
    names = [name.lower() for name, _ in relation.columns]
    if len(set(names)) < len(names) or not all(names):
        raise Opaque("columns without names of their own")
    return Signature(
        rows=relation.rows.text,
        columns={name.lower(): mark.text for name, mark in relation.columns},
        row_reads=_there(relation.rows.refs),
        column_reads={name.lower(): _there(mark.refs) for name, mark in relation.columns},
        would_read=_not_there(relation.rows.refs.union(*(mark.refs for _, mark in relation.columns))),
    )


def _there(refs: Refs) -> Refs:
    return frozenset(r for r in refs if r.column != ALL and not r.column.startswith(ABSENT))


def _not_there(refs: Refs) -> Refs:
    return frozenset(replace(r, column=r.column.removeprefix(ABSENT)) for r in refs - _there(refs))


def query_keys(sql: Sql, tables: Mapping[str, Table]) -> dict[int, frozenset[str]]:
    """Columns that no two rows of a SELECT share, by the offset of its SELECT; none for one where nobody knows."""
    queries = _Queries(tables)
    with suppress(Opaque):
        _read(sql, queries)
    return queries.keys


def _read(sql: Sql, queries: _Queries) -> Relation:
    try:
        return queries.query(read_query(nodes_of(sql)), {}, None, outermost=True).relation
    except Opaque:
        raise
    except Exception as error:  # also RecursionError: what judges a change must never be what stops a plan
        raise Opaque(f"{type(error).__name__}: {error}") from None


class _Queries:
    """Relations of the queries of one text."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self.keys: dict[int, frozenset[str]] = {}

    def query(self, query: Query, around: Environment, parent: Scope | None, *, outermost: bool = False) -> Shaped:
        seen = dict(around)
        for cte in query.ctes:
            try:
                relation = self.query(cte.query, dict(seen), None).relation  # not correlated: depth would be lost
                seen[cte.name] = _renamed(relation, cte.columns)
            except Opaque as opaque:
                seen[cte.name] = opaque
        shaped = self._body(query.body, seen, parent, outermost=outermost and not (query.limit or query.offset))
        if not (query.limit or query.offset) and (outermost or not query.order):  # `order of rows`
            return shaped
        order = self._order(query.order, shaped)
        counts = [_number(nodes) for nodes in (query.limit, query.offset)]
        rows = mix("limit", shaped.relation.rows, order, counts)
        return replace(shaped, relation=replace(shaped.relation, rows=rows, filtered=None))

    def _body(self, body: Body, seen: Environment, parent: Scope | None, *, outermost: bool) -> Shaped:
        match body:
            case Select():
                return read_select(body, self, seen, parent)
            case SetOperation():
                return self._set_operation(body, seen, parent)
            case Query():
                inner = self.query(body, seen, parent, outermost=outermost)
                return self._from_outside(inner.relation)

    def _from_outside(self, relation: Relation) -> Shaped:
        columns = tuple((n, m.seen_from_outside()) for n, m in relation.columns)
        context = ExpressionContext(scope=Scope(), subquery=lambda nodes, scope: _never())
        return Shaped(relation=replace(relation, columns=columns), context=context, outputs=columns)

    def _set_operation(self, node: SetOperation, seen: Environment, parent: Scope | None) -> Shaped:
        left, right = (self._body(side, seen, parent, outermost=False).relation for side in (node.left, node.right))
        if len(left.columns) != len(right.columns) or not (left.known and right.known):
            raise Opaque("a set operation on different columns")
        columns = tuple(
            (name, mix("either", mark, other).typed(mark.type if mark.type == other.type else None))
            for (name, mark), (_, other) in zip(left.columns, right.columns, strict=True)
        )
        everyone = node.kind == "UNION" and not node.distinct  # `columns of UNION ALL`
        values = [] if everyone else [mark for _, mark in columns]
        stars = left.stars | right.stars  # columns meet by their places
        rows = mix("set operation", node.kind, node.distinct, left.rows, right.rows, values).reading(stars)
        return self._from_outside(Relation(rows=rows, columns=columns, stars=stars))

    def _order(self, nodes: Nodes, shaped: Shaped) -> list[object]:
        found: list[object] = []
        words = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
        for part in split(nodes):
            first = part[0]
            if (
                isinstance(first, Tok)
                and first.kind is TokenKind.NUMBER
                and all(isinstance(n, Tok) and n.is_word(*words) for n in part[1:])
            ):
                mark = shaped.outputs[int(first.text) - 1][1] if 0 < int(first.text) <= len(shaped.outputs) else None
                if mark is None:
                    raise Opaque("an ordinal of no column")
                found.append([mark.reading(shaped.relation.stars), *[n.text for n in part[1:] if isinstance(n, Tok)]])
                continue
            if not (names_column(part) or has_window(part)):
                raise Opaque("an order by a constant")
            at = next((i for i, n in enumerate(part) if isinstance(n, Tok) and n.is_word(*words)), len(part))
            modifiers = [n.text for n in part[at:] if isinstance(n, Tok) and n.is_word(*words)]
            if len(modifiers) != len(part) - at:
                raise Opaque("an order")
            context = replace(shaped.context, outputs=_by_name(shaped.outputs), both=True)
            found.append([value(part[:at], context), *modifiers])
        return found

    # --- what a SELECT asks for ---------------------------------------------------------------------------------------

    def source(self, item: FromItem, seen: Environment, parent: Scope | None) -> Relation:
        if item.query is not None:
            relation = self.query(item.query, seen, parent).relation
        elif len(item.table) == 1 and item.table[0].lower() in seen:
            found = seen[item.table[0].lower()]
            if isinstance(found, Opaque):
                raise found
            relation = found
        else:
            table = self._tables.get(".".join(item.table).lower())
            if table is None:
                raise Opaque(f"the table {'.'.join(item.table)}")
            relation = table_relation(table)
        columns = tuple((n, m.seen_from_outside()) for n, m in relation.columns)
        return _renamed(replace(relation, columns=columns), item.columns)

    def subquery(self, seen: Environment) -> Subquery:
        def mark(nodes: Nodes, scope: Scope) -> Mark:
            relation = self.query(read_query(nodes), seen, scope).relation
            if not relation.known:
                raise Opaque("a subquery of unknown columns")
            only = relation.columns[0][1].type if len(relation.columns) == 1 else None
            return mix("subquery", relation.rows, [m for _, m in relation.columns]).reading(relation.stars).typed(only)

        return mark


def _never() -> Mark:
    raise Opaque("a subquery in the order of a set operation")


def _number(nodes: Nodes) -> str:
    """What LIMIT or OFFSET says: a bare number; nothing of none."""
    if not nodes:
        return ""
    if len(nodes) != 1 or not isinstance(nodes[0], Tok) or nodes[0].kind is not TokenKind.NUMBER:
        raise Opaque("a LIMIT that is computed")
    return nodes[0].text


def _renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """With other names, as in `t AS a(b, c)`: all of them; what is unique goes by the new ones."""
    if not names:
        return relation
    if len(names) != len(relation.columns) or not relation.known:
        raise Opaque("names for some columns")
    stars = relation.stars  # each name means a place
    columns = tuple((new, mark.reading(stars)) for new, (_, mark) in zip(names, relation.columns, strict=True))
    return Relation(rows=relation.rows.reading(stars), columns=columns, filtered=relation.filtered, stars=stars)


def _by_name(columns: Sequence[tuple[str, Mark]]) -> Callable[[str], Mark | None]:
    def found(name: str) -> Mark | None:
        marks = [mark for column, mark in columns if column.lower() == name]
        if len(marks) > 1:
            raise Opaque(f"two columns `{name}`")
        return marks[0] if marks else None

    return found
