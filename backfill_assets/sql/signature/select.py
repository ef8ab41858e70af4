"""What decides the rows of one SELECT, and its columns? Clause by clause, in the order in which they take effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from backfill_assets.core.model import Refs
from backfill_assets.sql.signature.clauses import FromItem, LateralView, Nodes, Projection, Select
from backfill_assets.sql.signature.expressions import ExpressionContext, conditions, value
from backfill_assets.sql.signature.functions import GENERATORS
from backfill_assets.sql.signature.joins import keeps_rows
from backfill_assets.sql.signature.marks import Mark, Opaque, in_any_order, mix
from backfill_assets.sql.signature.nodes import aggregates, has_window, names_column
from backfill_assets.sql.signature.relations import Placed, Relation, Scope
from backfill_assets.sql.signature.rewrites import Item
from backfill_assets.sql.signature.together import together
from backfill_assets.sql.signature.tokens import Tok, TokenGroup, TokenKind, split

Environment = Mapping[str, Relation | Opaque]
"""CTEs in scope, by lower-cased name; what is opaque of one shows where it is read."""
Columns = tuple[tuple[str, Mark], ...]
Subquery = Callable[[Nodes, Scope], Mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """A query's relation, and where its ORDER BY looks names up."""

    relation: Relation
    context: ExpressionContext
    outputs: Columns


class Queries(Protocol):
    """What a SELECT asks of the query that it is in."""

    keys: dict[int, frozenset[str]]

    def source(self, item: FromItem, seen: Environment, parent: Scope | None) -> Relation: ...

    def subquery(self, seen: Environment) -> Subquery: ...


def read_select(node: Select, queries: Queries, seen: Environment, parent: Scope | None) -> Shaped:
    """The relation of a SELECT. Raises Opaque."""
    return _Reader(node, queries, seen, parent).shaped()


class _Reader:
    def __init__(self, node: Select, queries: Queries, seen: Environment, parent: Scope | None) -> None:
        self._node, self._queries, self._seen = node, queries, seen
        self._scope = Scope(parent=parent)
        self._context = ExpressionContext(scope=self._scope, subquery=queries.subquery(seen), windows=node.windows)
        self._stars: Refs = frozenset()
        self._grouped = bool(node.group) or any(aggregates(p.nodes) for p in node.projections)

    def shaped(self) -> Shaped:
        node = self._node
        rows, filtered = self._rows()
        if node.having and not node.group:
            raise Opaque("HAVING without GROUP BY")
        keys: list[Mark] | None = None
        if self._grouped:
            keys = self._group() if node.group else None
            rows = mix("group", rows, keys if keys is not None else "all rows")
            self._context = replace(self._context, groups=rows)
        if node.having:
            context = replace(self._context, outputs=self._output_named, both=True)
            rows = mix("having", rows, in_any_order(together(c) for c in conditions(node.having, context)))
        generator = self._generator()
        self._context = replace(self._context, window=None if generator else rows)
        if node.qualify:
            context = replace(self._context, outputs=self._output_named, both=True)
            before = rows
            rows = mix("qualify", before, in_any_order(together(c) for c in conditions(node.qualify, context)))
        if generator:
            if self._grouped or node.qualify:
                raise Opaque("a generator of groups")
            rows = mix("generator", rows, generator[0].upper(), *self._arguments(generator[1]))
        columns = self._columns(rows)
        if node.distinct:
            rows = mix("distinct", rows, in_any_order(mark for _, mark in columns)).reading(self._stars)
        plain = not (self._grouped or generator or node.qualify or node.distinct or node.laterals)
        key = self._key(columns, keys, multiplied=bool(generator or node.laterals))
        if key is not None:
            self._queries.keys[node.start] = key
        columns = tuple((name, mark.seen_from_outside()) for name, mark in columns)
        relation = Relation(
            rows=rows, columns=columns, key=key, filtered=filtered if plain else None, stars=self._stars
        )
        # ORDER BY comes behind QUALIFY: a window in it sees other rows than one in the SELECT list.
        context = replace(self._context, window=None) if node.qualify else self._context
        return Shaped(relation=relation, context=context, outputs=columns)

    # --- FROM and WHERE -----------------------------------------------------------------------------------------------

    def _rows(self) -> tuple[Mark, tuple[Mark, tuple[Mark, ...]] | None]:
        """The rows that pass WHERE, and what they are a mere filter of."""
        node = self._node
        self._scope.joined_by = tuple(item.using for item in node.items)
        outer = any(i.kind in ("RIGHT", "FULL") for i in node.items)
        inner = all(i.kind in ("", "INNER", "LEFT") for i in node.items)
        parts: list[list[object]] = []
        counted: list[Relation] = []
        on: list[Mark] = []
        for number, item in enumerate(node.items):
            relation = self._queries.source(item, self._seen, self._scope.parent)
            placed = self._place(item, relation, number)
            if not number:
                counted.append(relation)
                parts.append(["FROM", relation.rows])
                continue
            conditions_ = self._conditions(item, number)
            if item.kind == "LEFT" and not outer and keeps_rows(conditions_, number, relation):
                placed.place = mix("left", relation.rows, in_any_order(map(together, conditions_)))
                self._merge(item, number)
                continue
            self._scope.alone = False
            placed.place = len(counted)
            marks = in_any_order(map(together, self._conditions(item, number)))
            counted.append(relation)
            inner = inner and item.kind == "INNER"
            on += marks
            parts.append([item.kind, relation.rows, marks])
            self._merge(item, number)
            placed.hidden = item.kind in ("SEMI", "ANTI")
        if len(counted) == 1:
            base, before = counted[0].filtered or (counted[0].rows, ())
        elif inner:
            base, before = mix("product", [r.rows for r in counted]), tuple(on)
        else:
            base, before = mix("joins", *parts), ()
        for view in node.laterals:
            base, before = self._lateral(view, _filtered(base, before)), ()
        where = [together(c) for c in conditions(node.where, self._context)] if node.where else []
        found = (base, tuple(in_any_order([*before, *where])))
        return _filtered(*found), found if len(counted) == 1 else None

    def _place(self, item: FromItem, relation: Relation, number: int) -> Placed:
        dotted = ".".join(item.table).lower()
        names = {item.alias} if item.alias else {dotted, dotted.rpartition(".")[2]} - {""}
        if any(names & p.names for p in self._scope.placed):
            raise Opaque("two tables of one name")
        placed = Placed(names=frozenset(names), relation=relation, place="itself" if number else 0)
        self._scope.placed.append(placed)
        return placed

    def _conditions(self, item: FromItem, number: int) -> list[list[Item]]:
        if not item.using:
            return conditions(item.on, self._context) if item.on else []
        if item.kind not in ("INNER", "LEFT"):
            raise Opaque("USING of such a join")
        found: list[list[Item]] = []
        right = self._scope.placed[number]
        for name in item.using:
            right.hidden = True
            left = self._scope.find([name])
            right.hidden = False
            marks = right.relation.find(name)
            if left is None or len(marks) != 1:
                raise Opaque(f"USING ({name})")
            found.append([left[0], "=", self._scope.at(number, name, marks[0])])
        return found

    def _merge(self, item: FromItem, number: int) -> None:
        """USING makes one column of two: the left one, for these joins."""
        for name in item.using:
            right = self._scope.placed[number]
            right.hidden = True
            left = self._scope.find([name])
            right.hidden = False
            assert left is not None
            self._scope.merged[name] = left[0]

    def _lateral(self, view: LateralView, rows: Mark) -> Mark:
        """LATERAL VIEW comes before WHERE, which may read what it makes: a row becomes several, or none."""
        if view.function not in GENERATORS:
            raise Opaque(f"LATERAL VIEW {view.function.lower()}")
        rows = mix("lateral view", view.outer, view.function, rows, self._arguments(view.arguments))
        columns = tuple((name, mix("generated", rows, number)) for number, name in enumerate(view.columns))
        relation = Relation(rows=rows, columns=columns)
        if any(view.alias in p.names for p in self._scope.placed):
            raise Opaque("two tables of one name")
        self._scope.alone = False
        place = ["lateral", len(self._scope.placed)]
        self._scope.placed.append(Placed(names=frozenset({view.alias}), relation=relation, place=place))
        return rows

    # --- groups -------------------------------------------------------------------------------------------------------

    def _group(self) -> list[Mark]:
        """What the rows are grouped by."""
        node = self._node
        only = node.group[0] if len(node.group) == 1 else None
        if isinstance(only, Tok) and only.is_word("ALL"):
            return self._by_all()
        keys: list[Mark] = []
        for part in split(node.group):
            if len(part) == 1 and isinstance(part[0], Tok) and part[0].kind is TokenKind.NUMBER:  # `ordinals`
                at = int(part[0].text) - 1
                if not 0 <= at < len(node.projections) or any(_star(p) for p in node.projections[: at + 1]):
                    raise Opaque("an ordinal of no column")
                if not names_column(node.projections[at].nodes):
                    raise Opaque("a group by a constant")
                keys.append(self._output(at))
                continue
            if not names_column(part):
                raise Opaque("a group by a constant")
            keys.append(value(part, replace(self._context, outputs=self._key_named)))  # `aliases in GROUP BY`
        return in_any_order(keys)

    def _by_all(self) -> list[Mark]:
        projections = self._node.projections
        if any(_star(p) for p in projections):
            raise Opaque("a star under GROUP BY ALL")
        plain = [i for i, p in enumerate(projections) if not aggregates(p.nodes)]
        variable = [i for i in plain if names_column(projections[i].nodes)]
        if len(variable) < len(plain) and not variable:
            raise Opaque("groups by constants")
        if any(not _literal(projections[i]) for i in plain if i not in variable):
            raise Opaque("a group by a constant")
        if not variable:
            return []
        return in_any_order(self._output(i) for i in variable)  # `constants under GROUP BY ALL`

    # --- columns ------------------------------------------------------------------------------------------------------

    def _columns(self, rows: Mark) -> Columns:
        columns: list[tuple[str, Mark]] = []
        for number, projection in enumerate(self._node.projections):
            if (star := _star(projection)) is not None:
                columns += self._star(star)
            elif _generated(projection):
                columns.append((projection.alias or "", mix("generated", rows)))
            else:
                columns.append((_name(projection), self._output(number)))
        return tuple(columns)

    def _output(self, number: int) -> Mark:
        """The mark of one entry of the SELECT list: it may name an earlier one that FROM does not know."""

        def earlier(name: str) -> Mark | None:
            found = [i for i in range(number) if self._named(i) == name]
            if len(found) > 1:
                raise Opaque(f"two columns `{name}`")
            return self._output(found[0]) if found else None

        projection = self._node.projections[number]
        if _generated(projection):
            raise Opaque("a generator beside what reads it")
        return value(projection.nodes, replace(self._context, outputs=earlier))

    def _named(self, number: int) -> str:
        projection = self._node.projections[number]
        return projection.alias.lower() if projection.alias else ""

    def _output_named(self, name: str) -> Mark | None:
        """The output that HAVING or QUALIFY means by a name."""
        found = [i for i, _ in enumerate(self._node.projections) if self._named(i) == name]
        if len(found) > 1:
            raise Opaque(f"two columns `{name}`")
        return self._output(found[0]) if found else None

    def _key_named(self, name: str) -> Mark | None:
        found = [i for i, _ in enumerate(self._node.projections) if self._named(i) == name]
        if any(not names_column(self._node.projections[i].nodes) for i in found):
            raise Opaque("a group by a constant")
        return self._output_named(name)

    def _star(self, star: tuple[tuple[str, ...], frozenset[str]]) -> list[tuple[str, Mark]]:
        if self._grouped:
            raise Opaque("a star of groups")
        of, but = star
        found = self._scope.everything(of)
        self._stars |= self._scope.stars(of)
        if not but <= {name.lower() for name, _ in found}:
            raise Opaque("EXCEPT of no column")
        return [(name, mark) for name, mark in found if name.lower() not in but]

    def _generator(self) -> tuple[str, Nodes] | None:
        found = [g for p in self._node.projections if (g := _generated(p)) is not None]
        if len(found) > 1 or (found and any(has_window(p.nodes) for p in self._node.projections)):
            raise Opaque("generators beside others")
        if found and not found[0][0].startswith("EXPLODE"):
            raise Opaque("a generator of several columns")
        return found[0] if found else None

    def _arguments(self, nodes: Nodes) -> list[Mark]:
        return [value(part, self._context) for part in split(nodes)]

    # --- keys ---------------------------------------------------------------------------------------------------------

    def _key(self, columns: Columns, keys: list[Mark] | None, *, multiplied: bool) -> frozenset[str] | None:
        """Columns that no two rows share."""
        names = [name.lower() for name, _ in columns]
        if multiplied or len(set(names)) < len(names) or not all(names):
            return None
        by_mark = {mark.text: name.lower() for name, mark in reversed(columns)}
        if self._grouped:
            marks = [k.text for k in keys] if keys is not None else []
            return frozenset(by_mark[k] for k in marks) if all(k in by_mark for k in marks) else None
        if self._node.distinct:
            return frozenset(names)
        first = self._scope.placed[0].relation
        if not self._scope.alone or first.key is None:
            return None
        passed = {
            mark.origin[1]: name.lower() for name, mark in reversed(columns) if mark.origin and not mark.origin[0]
        }
        return frozenset(passed[k] for k in first.key) if all(k in passed for k in first.key) else None


def _filtered(base: Mark, conditions_: Sequence[Mark]) -> Mark:
    """`filters in turn`, `conditions of inner joins`: all conditions at once, in any order."""
    return mix("filter", base, in_any_order(conditions_)) if conditions_ else base


def _name(projection: Projection) -> str:
    """What a column is called: its alias, or the last name of a mere column."""
    if projection.alias:
        return projection.alias
    first, last = projection.nodes[0], projection.nodes[-1]
    mere = isinstance(first, Tok) and first.kind is TokenKind.COLUMN and len(projection.nodes) == 2 * first.parts - 1
    return last.name if mere and isinstance(last, Tok) else ""


def _star(projection: Projection) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """Of which table `*` is all, and what it leaves out."""
    nodes, but = projection.nodes, frozenset[str]()
    last = nodes[-1]
    if len(nodes) > 2 and isinstance(last, TokenGroup) and isinstance(nodes[-2], Tok) and nodes[-2].is_word("EXCEPT"):
        parts = split(last.nodes)
        if any(len(p) != 1 or not isinstance(p[0], Tok) or not p[0].name for p in parts):
            raise Opaque("EXCEPT of something else than columns")
        but = frozenset(p[0].name.lower() for p in parts if isinstance(p[0], Tok))
        nodes = nodes[:-2]
    names, star = nodes[:-1], nodes[len(nodes) - 1]
    if not isinstance(star, Tok) or not star.is_symbol("*") or projection.alias:
        return None
    if not all(isinstance(n, Tok) and (n.is_symbol(".") if i % 2 else n.name) for i, n in enumerate(names)):
        raise Opaque("a star of something else than a table")
    return tuple(n.name for n in names[::2] if isinstance(n, Tok)), but


def _generated(projection: Projection) -> tuple[str, Nodes] | None:
    """The generator that an entry of the SELECT list is, and what it is given."""
    match projection.nodes:
        case (Tok() as name, TokenGroup(opened="(") as group) if (
            name.text in GENERATORS and name.kind is TokenKind.WORD
        ):
            return name.text, group.nodes
        case _:
            return None


def _literal(projection: Projection) -> bool:
    return len(projection.nodes) == 1 and isinstance(projection.nodes[0], Tok)
