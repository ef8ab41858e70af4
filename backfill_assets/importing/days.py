"""Does each row of this query belong to one day, whatever range of days is computed at once?

Both tools compute ranges of days that need not be those of a build here: a query is only known to give the same rows
when a day's rows depend on that day's input alone. That is shown here for joins, filters, groups and unions; a window
function, a LIMIT or a bound that is moved by some days is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from backfill_assets.importing.bounds import DATES, HIGH, LOW, MACRO
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.numbers import whole
from backfill_assets.importing.relations import (
    JoinedRelation,
    Link,
    Member,
    NamedRelation,
    connected,
    day_column,
    first_line,
    has_bounds,
    link_of,
    looker,
    part_of,
    refuse,
)
from backfill_assets.importing.values import BOOLEAN, ExpressionReader, Value, filled
from backfill_assets.sql.select_parts import conjuncts

Lookup = Callable[[exp.Table], NamedRelation]
"""What a table is that is no CTE. Raises Untranslatable when its columns are unknown."""


def read_query(tree: exp.Expr, dialect: str, lookup: Lookup) -> NamedRelation:
    """What the query gives. Bounds in it (`c BETWEEN bf__start_ds AND bf__end_ds`) become `c >= :start AND c < :end`.

    Raises Untranslatable for the first construct that is not on the list.
    """
    return _Query(dialect=dialect, lookup=lookup).read(tree, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    dialect: str
    lookup: Lookup

    def read(self, tree: exp.Expr, known: Mapping[str, NamedRelation]) -> NamedRelation:
        if isinstance(tree, exp.Subquery) and set(filled(tree)) <= {"this"}:
            return self.read(tree.this, known)
        known = {**known, **self._ctes(tree, known)}
        if isinstance(tree, exp.Union):
            return self._union(tree, known)
        if type(tree) is not exp.Select:
            raise refuse(tree, self.dialect)
        return self._select(tree, known)

    def _ctes(self, tree: exp.Expr, known: Mapping[str, NamedRelation]) -> dict[str, NamedRelation]:
        found: dict[str, NamedRelation] = {}
        clause = tree.args.get("with_")
        if clause is None:
            return found
        if set(filled(clause)) - {"expressions"}:
            raise refuse(clause, self.dialect, why="a recursive WITH")
        for cte in clause.expressions:
            if set(filled(cte)) - {"this", "alias"} or cte.args["alias"].args.get("columns"):
                raise refuse(cte, self.dialect)
            name = cte.alias.lower()
            if name in found or name in known:
                raise refuse(cte, self.dialect, why=f"two parts of the query are called {cte.alias}")
            found[name] = self.read(cte.this, {**known, **found})
        return found

    def _union(self, tree: exp.Union, known: Mapping[str, NamedRelation]) -> NamedRelation:
        if set(filled(tree)) - {"this", "expression", "distinct", "with_"}:
            raise refuse(tree, self.dialect)
        left, right = self.read(tree.this, known), self.read(tree.expression, known)
        if len(left.columns) != len(right.columns):
            raise refuse(tree, self.dialect, why="its sides have different numbers of columns")
        columns: dict[str, Value] = {}
        for (name, one), other in zip(left.columns.items(), right.columns.values(), strict=True):
            same = one.kind == other.kind and (one.scale, one.digits) == (other.scale, other.digits)
            if not (same or {one.kind, other.kind} <= {"integer"}):
                raise refuse(tree, self.dialect, why=f"`{name}` is {one.kind} on one side, {other.kind} on the other")
            columns[name] = replace(one, day=one.day and other.day, text=None)
        dated = left.dated or right.dated
        if dated and not any(v.day for v in columns.values()):
            raise refuse(tree, self.dialect, why="no column says on both sides which day a row belongs to")
        return NamedRelation(columns=columns, dated=dated, bounded=left.bounded and right.bounded)

    def _select(self, tree: exp.Select, known: Mapping[str, NamedRelation]) -> NamedRelation:
        allowed = {"expressions", "from_", "joins", "where", "group", "having", "with_", "distinct", "order"}
        if odd := [key for key in filled(tree) if key not in allowed]:
            raise refuse(tree, self.dialect, what=f"`{odd[0].rstrip('_').upper()}` in a SELECT")
        parts, conditions = self._parts(tree, known)
        look = looker(parts, self.dialect)
        line = first_line(tree)
        reader = ExpressionReader(dialect=self.dialect, look=look, line=line)
        links: list[Link] = []
        for condition, joined in conditions:
            for conjunct in conjuncts(condition):
                if has_bounds(conjunct):
                    if joined is not None:
                        raise refuse(conjunct, self.dialect, why="a bound stands in ON; WHERE is where it is known")
                    self._bound(conjunct, parts, reader)
                    continue
                if reader.read(conjunct).kind != "boolean":
                    raise refuse(conjunct, self.dialect, why="it is no condition")
                left_joined = joined.name if joined is not None and joined.optional else ""
                link = link_of(conjunct, parts, left_joined)
                if link is not None and (not left_joined or left_joined in (link.one[0], link.other[0])):
                    links.append(link)
        dated = self._days(tree, parts, links)
        result = self._outputs(tree, parts, dated)
        if tree.args.get("order") is not None:
            tree.set("order", None)  # a table has no order
        return result

    def _parts(
        self, tree: exp.Select, known: Mapping[str, NamedRelation]
    ) -> tuple[list[JoinedRelation], list[tuple[exp.Expr, JoinedRelation | None]]]:
        """The relations of the FROM, and the conditions of ON (with what it joins) and of WHERE."""
        parts: list[JoinedRelation] = []
        conditions: list[tuple[exp.Expr, JoinedRelation | None]] = []
        clause = tree.args.get("from_")
        if clause is not None:
            parts.append(self._part(clause.this, known, optional=False))
        for join in tree.args.get("joins") or []:
            if set(filled(join)) - {"this", "on", "side", "kind"}:
                raise refuse(join, self.dialect)
            side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
            if side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER"):
                raise refuse(join, self.dialect, why=f"a {side or kind} JOIN")
            parts.append(self._part(join.this, known, optional=side == "LEFT"))
            if (on := join.args.get("on")) is not None:
                conditions.append((on, parts[-1]))
        names = [p.name for p in parts]
        if len(set(names)) < len(names):
            raise refuse(tree, self.dialect, why="two tables of one FROM are called the same")
        if (where := tree.args.get("where")) is not None:
            conditions.append((where.this, None))
        return parts, conditions

    def _part(self, node: exp.Expr, known: Mapping[str, NamedRelation], *, optional: bool) -> JoinedRelation:
        if set(filled(node)) - {"this", "db", "catalog", "alias"} or not isinstance(node, exp.Table | exp.Subquery):
            raise refuse(node, self.dialect)
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise refuse(node, self.dialect, why="an alias that renames columns")
        if isinstance(node, exp.Subquery):
            return JoinedRelation(node.alias.lower(), self.read(node.this, known), optional)
        if not isinstance(node.this, exp.Identifier):
            raise refuse(node, self.dialect)
        plain = not node.args.get("db")
        relation = known[node.name.lower()] if plain and node.name.lower() in known else self.lookup(node)
        return JoinedRelation(node.alias_or_name.lower(), relation, optional)

    def _bound(self, node: exp.Expr, parts: Sequence[JoinedRelation], reader: ExpressionReader) -> None:
        """Note what a condition with the tool's bounds says of a column, and write it as it is said here."""
        match node:
            case exp.Between() if set(filled(node)) <= {"this", "low", "high"}:
                said = [(exp.GTE, node.this, node.args["low"]), (exp.LTE, node.this, node.args["high"])]
            case exp.GTE() | exp.LTE():
                said = [(type(node), node.this, node.expression)]
            case _:
                why = "known are `c BETWEEN start AND end`, `c >= start` and `c <= end`, as both ends are within"
                raise refuse(node, self.dialect, why=why)
        written: list[exp.Expr] = []
        for comparison, what, bound in said:
            name = bound.name.removeprefix(MACRO).lower() if isinstance(bound, exp.Column) else ""
            low = comparison is exp.GTE
            if name not in (LOW if low else HIGH):
                raise refuse(node, self.dialect, why="it is not known to say which days are wanted")
            part, column = self._bounded_column(what, parts)
            value = reader.read(what)
            if value.kind not in ("date", "timestamp"):
                why = f"the column is {value.kind}: texts and numbers are compared otherwise"
                raise refuse(node, self.dialect, why=why)
            if value.kind == "timestamp" and name in DATES:
                why = f"`@{name}` is a date: of a timestamp all of the last day but its midnight is left out"
                raise refuse(node, self.dialect, why=why)
            part.bounds.setdefault(column, set()).add("low" if low else "high")
            placeholder = exp.Placeholder(this="start" if low else "end")
            make = exp.GTE if low else exp.LT
            written.append(make(this=what.copy(), expression=placeholder))
        new = written[0] if len(written) == 1 else exp.And(this=written[0], expression=written[1])
        node.replace(new)

    def _bounded_column(self, node: exp.Expr, parts: Sequence[JoinedRelation]) -> tuple[JoinedRelation, str]:
        column = day_column(node)
        if column is None:
            raise refuse(node, self.dialect, why="a bound is known of a column, or of CAST(column AS DATE)")
        part = part_of(column, parts, self.dialect)
        return part, column.name.lower()

    def _days(self, tree: exp.Select, parts: list[JoinedRelation], links: list[Link]) -> bool:
        """Mark the columns that say which day a row belongs to; whether rows are of days at all."""
        for part in parts:
            if not part.bounds:
                continue
            for column, sides in part.bounds.items():
                if sides != {"low", "high"}:
                    why = f"`{column}` has one bound only: the rows depend on how many days are computed at once"
                    raise refuse(tree, self.dialect, what="the WHERE", why=why)
            if len(part.bounds) > 1:
                raise refuse(tree, self.dialect, what="the WHERE", why="several columns of one table are bounded")
            [column] = part.bounds
            if part.relation.dated and not part.relation.columns[column].day:
                why = f"rows of `{part.name}` are of days by another column than the bounded `{column}`"
                raise refuse(tree, self.dialect, what="the WHERE", why=why)
            bounded = {c: replace(v, day=v.day or c in part.bounds) for c, v in part.relation.columns.items()}
            if part.optional:
                part.optional = False  # a condition in WHERE drops the rows that the join has no match for
            part.relation = replace(part.relation, columns=bounded, dated=True, bounded=True)
        dated = [p for p in parts if p.relation.dated]
        if not dated:
            return False
        members = {p.name: {(p.name, c) for c, v in p.relation.columns.items() if v.day} for p in parts}
        optional = {p.name for p in parts if p.optional}
        links = [ln if ln.joined in optional else replace(ln, joined="") for ln in links]
        group: set[Member] = set()
        for start in sorted(set().union(*members.values())):
            group = connected(start, links, members)
            if all(group & members[p.name] for p in dated):
                break
        else:
            names = ", ".join(p.name or "a subquery" for p in dated)
            why = f"{names}: the join does not say that their rows are of the same day"
            raise refuse(tree, self.dialect, what="the FROM", why=why, fix="join them by their day columns as well")
        for part in parts:
            columns = {
                c: replace(v, day=v.day or ((part.name, c) in group and v.kind in ("date", "timestamp")))
                for c, v in part.relation.columns.items()
            }
            if part.optional:
                columns = {c: replace(v, day=False) for c, v in columns.items()}
            part.relation = replace(part.relation, columns=columns)
        return True

    def _outputs(self, tree: exp.Select, parts: list[JoinedRelation], dated: bool) -> NamedRelation:
        reader = ExpressionReader(dialect=self.dialect, look=looker(parts, self.dialect), line=first_line(tree))
        columns: dict[str, Value] = {}
        expressions: dict[str, exp.Expr] = {}
        for node in tree.expressions:
            for name, value, expression in self._output(node, parts, reader):
                if not name:
                    raise refuse(node, self.dialect, why="it has no name: engines give it different ones", fix="AS …")
                if name in columns:
                    raise refuse(node, self.dialect, why=f"two columns are called {name}")
                columns[name], expressions[name] = replace(value, text=None), expression
        group = tree.args.get("group")
        aggregated = group is not None or tree.args.get("having") is not None
        aggregated = aggregated or any(e.find(exp.AggFunc) for e in tree.expressions)
        keys = self._keys(tree, group, expressions, reader) if aggregated else []
        if dated and aggregated and not any(reader.read(k).day for k in keys):
            why = "no column of GROUP BY says which day a row belongs to"
            raise refuse(group or tree, self.dialect, what="the GROUP BY", why=why, fix="group by the day as well")
        self._aliases(tree, expressions)
        if (having := tree.args.get("having")) is not None:
            if has_bounds(having.this):
                raise refuse(having.this, self.dialect, why="bounds are known in WHERE only")
            if reader.read(having.this, aggregates=True) is not BOOLEAN:
                raise refuse(having.this, self.dialect, why="it is no condition")
        if tree.args.get("distinct") is not None:
            if tree.args["distinct"].args.get("on") is not None:
                raise refuse(tree, self.dialect, what="DISTINCT ON")
            if dated and not any(v.day for v in columns.values()):
                raise refuse(tree, self.dialect, what="DISTINCT", why="no column says which day a row belongs to")
        given = {e.sql(dialect=self.dialect): name for name, e in expressions.items()}
        named = tuple(given.get(k.sql(dialect=self.dialect), "") for k in keys)
        return NamedRelation(
            columns=columns,
            dated=dated,
            bounded=dated and any(p.relation.bounded and not p.optional for p in parts),
            key=named if named and all(named) else (),
        )

    def _aliases(self, tree: exp.Select, expressions: Mapping[str, exp.Expr]) -> None:
        """Refuse names in the outputs and in HAVING that may mean another output: engines do not agree."""
        having = tree.args.get("having")
        for node in [*tree.expressions, *([having] if having is not None else [])]:
            own = node.alias.lower() if isinstance(node, exp.Alias) else ""
            for column in node.find_all(exp.Column):
                name = column.name.lower()
                meant = expressions.get(name)
                if column.table or meant is None or (own == name and node is not having):
                    continue
                if not (isinstance(meant, exp.Column) and meant.name.lower() == name):
                    raise refuse(column, self.dialect, why="it is a column that is read, and the name of an output")

    def _output(
        self, node: exp.Expr, parts: Sequence[JoinedRelation], reader: ExpressionReader
    ) -> Iterator[tuple[str, Value, exp.Expr]]:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if isinstance(star, exp.Star):
            if filled(star):
                raise refuse(node, self.dialect, why="a star that leaves out or replaces columns")
            whose = node.args["table"].name.lower() if isinstance(node, exp.Column) else ""
            for part in parts:
                if not whose or part.name == whose:
                    for name, value in part.relation.columns.items():
                        yield name, value, exp.column(name, table=part.name or None)
            return
        expression = node.this if isinstance(node, exp.Alias) else node
        yield node.alias_or_name.lower(), reader.read(expression, aggregates=True), expression

    def _keys(
        self, tree: exp.Select, group: exp.Expr | None, expressions: Mapping[str, exp.Expr], reader: ExpressionReader
    ) -> list[exp.Expr]:
        """The expressions that rows are grouped by."""
        if group is None:
            return []
        if group.args.get("all") is True and set(filled(group)) <= {"all"}:
            return [e for e in expressions.values() if not e.find(exp.AggFunc)]
        if set(filled(group)) - {"expressions"}:
            raise refuse(group, self.dialect, what="the GROUP BY", why="only columns and expressions are known")
        keys: list[exp.Expr] = []
        if any(isinstance(e, exp.Star) or isinstance(e.this, exp.Star) for e in tree.expressions):
            raise refuse(tree, self.dialect, why="a star beside GROUP BY")
        for node in group.expressions:
            if isinstance(node, exp.Literal):
                number = whole(str(node.this)) or 0
                if not 1 <= number <= len(expressions):
                    raise refuse(node, self.dialect, what="the GROUP BY")
                keys.append(list(expressions.values())[number - 1])
            elif isinstance(node, exp.Column) and not node.table and node.name.lower() in expressions:
                keys.append(self._alias(node, expressions[node.name.lower()], reader))
            else:
                keys.append(node)
        for key in keys:
            if key.find(exp.AggFunc):
                raise refuse(key, self.dialect, what="the GROUP BY")
            reader.read(key)
        return keys

    def _alias(self, node: exp.Column, expression: exp.Expr, reader: ExpressionReader) -> exp.Expr:
        """What a name in GROUP BY means that is an output's as well: engines prefer the input's column."""
        if isinstance(expression, exp.Column) and expression.name.lower() == node.name.lower():
            return expression
        try:
            reader.look(node)
        except Untranslatable:
            return expression
        raise refuse(node, self.dialect, why="it is the name of a column that is read and of another that is given")
