"""Does each row of this query belong to one day, whatever range of days is computed at once?

Both tools compute ranges of days that need not be those of a build here: a query is only known to give the same rows
when a day's rows depend on that day's input alone. That is shown here for joins, filters, groups and unions; a window
function, a LIMIT or a bound that is moved by some days is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.values import BOOLEAN, Reader, Value

MACRO = "bf__"
"""How the names begin that stand for a tool's bounds in the tree (`bf__start_ds`)."""
_LOW = ("start_ds", "start_date", "start_dt", "start_ts", "start_dtntz")
_HIGH = ("end_ds", "end_date", "end_dt", "end_ts", "end_dtntz")
_DATES = ("start_ds", "start_date", "end_ds", "end_date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a FROM may name. `dated`: its rows are of days, and its columns with `day` say which. `bounded`: of the
    wanted days only. `key` are the columns of its GROUP BY, when all of them are given."""

    columns: Mapping[str, Value]
    dated: bool = False
    bounded: bool = False
    key: tuple[str, ...] = ()


Lookup = Callable[[exp.Table], Relation]
"""What a table is that is no CTE. Raises Untranslatable when its columns are unknown."""


def read_query(tree: exp.Expr, dialect: str, lookup: Lookup) -> Relation:
    """What the query gives. Bounds in it (`c BETWEEN bf__start_ds AND bf__end_ds`) become `c >= :start AND c < :end`.

    Raises Untranslatable for the first construct that is not on the list.
    """
    return _Query(dialect=dialect, lookup=lookup).read(tree, {})


@dataclass(slots=True)
class _Part:
    """One relation of a FROM: what it is called, and whether its rows may be missing (LEFT JOIN)."""

    name: str
    relation: Relation
    optional: bool
    bounds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


_Member = tuple[str, str]
"""A part's name and a column of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """Two columns of one day. `joined`: the part of the LEFT JOIN whose ON says so; of other parts it says nothing."""

    one: _Member
    other: _Member
    joined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    dialect: str
    lookup: Lookup

    def read(self, tree: exp.Expr, known: Mapping[str, Relation]) -> Relation:
        if isinstance(tree, exp.Subquery) and set(_given(tree)) <= {"this"}:
            return self.read(tree.this, known)
        known = {**known, **self._ctes(tree, known)}
        if isinstance(tree, exp.Union):
            return self._union(tree, known)
        if type(tree) is not exp.Select:
            raise _refuse(tree, self.dialect)
        return self._select(tree, known)

    def _ctes(self, tree: exp.Expr, known: Mapping[str, Relation]) -> dict[str, Relation]:
        found: dict[str, Relation] = {}
        clause = tree.args.get("with_")
        if clause is None:
            return found
        if set(_given(clause)) - {"expressions"}:
            raise _refuse(clause, self.dialect, why="a recursive WITH")
        for cte in clause.expressions:
            if set(_given(cte)) - {"this", "alias"} or cte.args["alias"].args.get("columns"):
                raise _refuse(cte, self.dialect)
            name = cte.alias.lower()
            if name in found or name in known:
                raise _refuse(cte, self.dialect, why=f"two parts of the query are called {cte.alias}")
            found[name] = self.read(cte.this, {**known, **found})
        return found

    def _union(self, tree: exp.Union, known: Mapping[str, Relation]) -> Relation:
        if set(_given(tree)) - {"this", "expression", "distinct", "with_"}:
            raise _refuse(tree, self.dialect)
        left, right = self.read(tree.this, known), self.read(tree.expression, known)
        if len(left.columns) != len(right.columns):
            raise _refuse(tree, self.dialect, why="its sides have different numbers of columns")
        columns: dict[str, Value] = {}
        for (name, one), other in zip(left.columns.items(), right.columns.values(), strict=True):
            same = one.kind == other.kind and (one.scale, one.digits) == (other.scale, other.digits)
            if not (same or {one.kind, other.kind} <= {"integer"}):
                raise _refuse(tree, self.dialect, why=f"`{name}` is {one.kind} on one side, {other.kind} on the other")
            columns[name] = replace(one, day=one.day and other.day, text=None)
        dated = left.dated or right.dated
        if dated and not any(v.day for v in columns.values()):
            raise _refuse(tree, self.dialect, why="no column says on both sides which day a row belongs to")
        return Relation(columns=columns, dated=dated, bounded=left.bounded and right.bounded)

    def _select(self, tree: exp.Select, known: Mapping[str, Relation]) -> Relation:
        allowed = {"expressions", "from_", "joins", "where", "group", "having", "with_", "distinct", "order"}
        if odd := [key for key in _given(tree) if key not in allowed]:
            raise _refuse(tree, self.dialect, what=f"`{odd[0].rstrip('_').upper()}` in a SELECT")
        parts, conditions = self._parts(tree, known)
        look = _looker(parts, self.dialect)
        line = _line(tree)
        reader = Reader(dialect=self.dialect, look=look, line=line)
        links: list[_Link] = []
        for condition, joined in conditions:
            for conjunct in _conjuncts(condition):
                if _macros(conjunct):
                    if joined is not None:
                        raise _refuse(conjunct, self.dialect, why="a bound stands in ON; WHERE is where it is known")
                    self._bound(conjunct, parts, reader)
                    continue
                if reader.read(conjunct).kind != "boolean":
                    raise _refuse(conjunct, self.dialect, why="it is no condition")
                left_joined = joined.name if joined is not None and joined.optional else ""
                link = _link(conjunct, parts, left_joined)
                if link is not None and (not left_joined or left_joined in (link.one[0], link.other[0])):
                    links.append(link)
        dated = self._days(tree, parts, links)
        result = self._outputs(tree, parts, dated)
        if tree.args.get("order") is not None:
            tree.set("order", None)  # a table has no order
        return result

    def _parts(
        self, tree: exp.Select, known: Mapping[str, Relation]
    ) -> tuple[list[_Part], list[tuple[exp.Expr, _Part | None]]]:
        """The relations of the FROM, and the conditions of ON (with what it joins) and of WHERE."""
        parts: list[_Part] = []
        conditions: list[tuple[exp.Expr, _Part | None]] = []
        clause = tree.args.get("from_")
        if clause is not None:
            parts.append(self._part(clause.this, known, optional=False))
        for join in tree.args.get("joins") or []:
            if set(_given(join)) - {"this", "on", "side", "kind"}:
                raise _refuse(join, self.dialect)
            side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
            if side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER"):
                raise _refuse(join, self.dialect, why=f"a {side or kind} JOIN")
            parts.append(self._part(join.this, known, optional=side == "LEFT"))
            if (on := join.args.get("on")) is not None:
                conditions.append((on, parts[-1]))
        names = [p.name for p in parts]
        if len(set(names)) < len(names):
            raise _refuse(tree, self.dialect, why="two tables of one FROM are called the same")
        if (where := tree.args.get("where")) is not None:
            conditions.append((where.this, None))
        return parts, conditions

    def _part(self, node: exp.Expr, known: Mapping[str, Relation], *, optional: bool) -> _Part:
        if set(_given(node)) - {"this", "db", "catalog", "alias"} or not isinstance(node, exp.Table | exp.Subquery):
            raise _refuse(node, self.dialect)
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise _refuse(node, self.dialect, why="an alias that renames columns")
        if isinstance(node, exp.Subquery):
            return _Part(node.alias.lower(), self.read(node.this, known), optional)
        if not isinstance(node.this, exp.Identifier):
            raise _refuse(node, self.dialect)
        plain = not node.args.get("db")
        relation = known[node.name.lower()] if plain and node.name.lower() in known else self.lookup(node)
        return _Part(node.alias_or_name.lower(), relation, optional)

    def _bound(self, node: exp.Expr, parts: Sequence[_Part], reader: Reader) -> None:
        """Note what a condition with the tool's bounds says of a column, and write it as it is said here."""
        match node:
            case exp.Between() if set(_given(node)) <= {"this", "low", "high"}:
                said = [(exp.GTE, node.this, node.args["low"]), (exp.LTE, node.this, node.args["high"])]
            case exp.GTE() | exp.LTE():
                said = [(type(node), node.this, node.expression)]
            case _:
                why = "known are `c BETWEEN start AND end`, `c >= start` and `c <= end`, as both ends are within"
                raise _refuse(node, self.dialect, why=why)
        written: list[exp.Expr] = []
        for comparison, what, bound in said:
            name = bound.name.removeprefix(MACRO).lower() if isinstance(bound, exp.Column) else ""
            low = comparison is exp.GTE
            if name not in (_LOW if low else _HIGH):
                raise _refuse(node, self.dialect, why="it is not known to say which days are wanted")
            part, column = self._bounded_column(what, parts)
            value = reader.read(what)
            if value.kind not in ("date", "timestamp"):
                why = f"the column is {value.kind}: texts and numbers are compared otherwise"
                raise _refuse(node, self.dialect, why=why)
            if value.kind == "timestamp" and name in _DATES:
                why = f"`@{name}` is a date: of a timestamp all of the last day but its midnight is left out"
                raise _refuse(node, self.dialect, why=why)
            part.bounds.setdefault(column, set()).add("low" if low else "high")
            placeholder = exp.Placeholder(this="start" if low else "end")
            make = exp.GTE if low else exp.LT
            written.append(make(this=what.copy(), expression=placeholder))
        new = written[0] if len(written) == 1 else exp.And(this=written[0], expression=written[1])
        node.replace(new)

    def _bounded_column(self, node: exp.Expr, parts: Sequence[_Part]) -> tuple[_Part, str]:
        column = _day_column(node)
        if column is None:
            raise _refuse(node, self.dialect, why="a bound is known of a column, or of CAST(column AS DATE)")
        part = _part_of(column, parts, self.dialect)
        return part, column.name.lower()

    def _days(self, tree: exp.Select, parts: list[_Part], links: list[_Link]) -> bool:
        """Mark the columns that say which day a row belongs to; whether rows are of days at all."""
        for part in parts:
            if not part.bounds:
                continue
            for column, sides in part.bounds.items():
                if sides != {"low", "high"}:
                    why = f"`{column}` has one bound only: the rows depend on how many days are computed at once"
                    raise _refuse(tree, self.dialect, what="the WHERE", why=why)
            if len(part.bounds) > 1:
                raise _refuse(tree, self.dialect, what="the WHERE", why="several columns of one table are bounded")
            [column] = part.bounds
            if part.relation.dated and not part.relation.columns[column].day:
                why = f"rows of `{part.name}` are of days by another column than the bounded `{column}`"
                raise _refuse(tree, self.dialect, what="the WHERE", why=why)
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
        group: set[_Member] = set()
        for start in sorted(set().union(*members.values())):
            group = _connected(start, links, members)
            if all(group & members[p.name] for p in dated):
                break
        else:
            names = ", ".join(p.name or "a subquery" for p in dated)
            why = f"{names}: the join does not say that their rows are of the same day"
            raise _refuse(tree, self.dialect, what="the FROM", why=why, fix="join them by their day columns as well")
        for part in parts:
            columns = {
                c: replace(v, day=v.day or ((part.name, c) in group and v.kind in ("date", "timestamp")))
                for c, v in part.relation.columns.items()
            }
            if part.optional:
                columns = {c: replace(v, day=False) for c, v in columns.items()}
            part.relation = replace(part.relation, columns=columns)
        return True

    def _outputs(self, tree: exp.Select, parts: list[_Part], dated: bool) -> Relation:
        reader = Reader(dialect=self.dialect, look=_looker(parts, self.dialect), line=_line(tree))
        columns: dict[str, Value] = {}
        expressions: dict[str, exp.Expr] = {}
        for node in tree.expressions:
            for name, value, expression in self._output(node, parts, reader):
                if not name:
                    raise _refuse(node, self.dialect, why="it has no name: engines give it different ones", fix="AS …")
                if name in columns:
                    raise _refuse(node, self.dialect, why=f"two columns are called {name}")
                columns[name], expressions[name] = replace(value, text=None), expression
        group = tree.args.get("group")
        aggregated = group is not None or tree.args.get("having") is not None
        aggregated = aggregated or any(e.find(exp.AggFunc) for e in tree.expressions)
        keys = self._keys(tree, group, expressions, reader) if aggregated else []
        if dated and aggregated and not any(reader.read(k).day for k in keys):
            why = "no column of GROUP BY says which day a row belongs to"
            raise _refuse(group or tree, self.dialect, what="the GROUP BY", why=why, fix="group by the day as well")
        self._aliases(tree, expressions)
        if (having := tree.args.get("having")) is not None:
            if _macros(having.this):
                raise _refuse(having.this, self.dialect, why="bounds are known in WHERE only")
            if reader.read(having.this, aggregates=True) is not BOOLEAN:
                raise _refuse(having.this, self.dialect, why="it is no condition")
        if tree.args.get("distinct") is not None:
            if tree.args["distinct"].args.get("on") is not None:
                raise _refuse(tree, self.dialect, what="DISTINCT ON")
            if dated and not any(v.day for v in columns.values()):
                raise _refuse(tree, self.dialect, what="DISTINCT", why="no column says which day a row belongs to")
        given = {e.sql(dialect=self.dialect): name for name, e in expressions.items()}
        named = tuple(given.get(k.sql(dialect=self.dialect), "") for k in keys)
        return Relation(
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
                    raise _refuse(column, self.dialect, why="it is a column that is read, and the name of an output")

    def _output(self, node: exp.Expr, parts: Sequence[_Part], reader: Reader) -> Iterator[tuple[str, Value, exp.Expr]]:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if isinstance(star, exp.Star):
            if _given(star):
                raise _refuse(node, self.dialect, why="a star that leaves out or replaces columns")
            whose = node.args["table"].name.lower() if isinstance(node, exp.Column) else ""
            for part in parts:
                if not whose or part.name == whose:
                    for name, value in part.relation.columns.items():
                        yield name, value, exp.column(name, table=part.name or None)
            return
        expression = node.this if isinstance(node, exp.Alias) else node
        yield node.alias_or_name.lower(), reader.read(expression, aggregates=True), expression

    def _keys(
        self, tree: exp.Select, group: exp.Expr | None, expressions: Mapping[str, exp.Expr], reader: Reader
    ) -> list[exp.Expr]:
        """The expressions that rows are grouped by."""
        if group is None:
            return []
        if group.args.get("all") is True and set(_given(group)) <= {"all"}:
            return [e for e in expressions.values() if not e.find(exp.AggFunc)]
        if set(_given(group)) - {"expressions"}:
            raise _refuse(group, self.dialect, what="the GROUP BY", why="only columns and expressions are known")
        keys: list[exp.Expr] = []
        if any(isinstance(e, exp.Star) or isinstance(e.this, exp.Star) for e in tree.expressions):
            raise _refuse(tree, self.dialect, why="a star beside GROUP BY")
        for node in group.expressions:
            if isinstance(node, exp.Literal):
                number = int(node.this) if str(node.this).isdigit() else 0
                if not 1 <= number <= len(expressions):
                    raise _refuse(node, self.dialect, what="the GROUP BY")
                keys.append(list(expressions.values())[number - 1])
            elif isinstance(node, exp.Column) and not node.table and node.name.lower() in expressions:
                keys.append(self._alias(node, expressions[node.name.lower()], reader))
            else:
                keys.append(node)
        for key in keys:
            if key.find(exp.AggFunc):
                raise _refuse(key, self.dialect, what="the GROUP BY")
            reader.read(key)
        return keys

    def _alias(self, node: exp.Column, expression: exp.Expr, reader: Reader) -> exp.Expr:
        """What a name in GROUP BY means that is an output's as well: engines prefer the input's column."""
        if isinstance(expression, exp.Column) and expression.name.lower() == node.name.lower():
            return expression
        try:
            reader.look(node)
        except Untranslatable:
            return expression
        raise _refuse(node, self.dialect, why="it is the name of a column that is read and of another that is given")


def _looker(parts: Sequence[_Part], dialect: str) -> Callable[[exp.Column], Value]:
    def look(node: exp.Column) -> Value:
        if node.name.lower().startswith(MACRO):
            macro = node.name.lower().removeprefix(MACRO)
            raise Untranslatable(
                f"`@{macro}` outside of a condition `column BETWEEN start AND end` in WHERE",
                why="its value depends on how many days are computed at once",
                fix="filter by it, and give the day by a column",
                line=_line(node),
            )
        part = _part_of(node, parts, dialect)
        return part.relation.columns[node.name.lower()]

    return look


def _part_of(node: exp.Column, parts: Sequence[_Part], dialect: str) -> _Part:
    if node.args.get("db"):
        raise _refuse(node, dialect, why="a column with the schema of its table", fix="give the table an alias")
    name, table = node.name.lower(), node.table.lower()
    found = [p for p in parts if (not table or p.name == table) and name in p.relation.columns]
    if len(found) != 1:
        why = "several tables have a column of that name" if found else "no table that is read is known to have it"
        raise _refuse(node, dialect, why=why, fix="declare the columns of the source, or write its table's name before")
    return found[0]


def _day_column(node: exp.Expr) -> exp.Column | None:
    """The column of which this is the value or the day."""
    while True:
        match node:
            case exp.Column():
                return node
            case exp.Paren() | exp.Date() | exp.TsOrDsToDate():
                node = node.this
            case exp.Cast() if type(node) is exp.Cast and node.to.sql(dialect="spark").upper() == "DATE":
                node = node.this
            case _:
                return None


def _link(node: exp.Expr, parts: Sequence[_Part], joined: str) -> _Link | None:
    """The two columns of which an equality says that they are of the same day."""
    if not isinstance(node, exp.EQ):
        return None
    left, right = _day_column(node.this), _day_column(node.expression)
    if left is None or right is None:
        return None
    one, other = _part_of(left, parts, ""), _part_of(right, parts, "")
    kinds = {one.relation.columns[left.name.lower()].kind, other.relation.columns[right.name.lower()].kind}
    if not kinds <= {"date", "timestamp"}:
        return None
    return _Link(one=(one.name, left.name.lower()), other=(other.name, right.name.lower()), joined=joined)


def _connected(start: _Member, links: Sequence[_Link], days: Mapping[str, set[_Member]]) -> set[_Member]:
    """What is of the day of one column. A LEFT JOIN leads to what it joins only: a row without a match stays."""
    group, size = {start}, 0
    while size < len(group):
        size = len(group)
        for link in links:
            for here, there in ((link.one, link.other), (link.other, link.one)):
                if here in group and link.joined in ("", there[0]):
                    group.add(there)
        for own in days.values():  # the day columns of one relation are of one day
            if group & own:
                group |= own
    return group


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    elif isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    else:
        yield node


def _macros(node: exp.Expr) -> bool:
    return any(c.name.lower().startswith(MACRO) for c in node.find_all(exp.Column))


def _given(node: exp.Expr) -> list[str]:
    return [key for key, value in node.args.items() if value not in (None, False, []) and not key.startswith("_")]


def _line(node: exp.Expr) -> int:
    return min((i.meta_get("line") for i in node.find_all(exp.Identifier) if i.meta_get("line")), default=1)


def _refuse(node: exp.Expr, dialect: str, *, what: str = "", why: str = "", fix: str = "") -> Untranslatable:
    said = " ".join(node.sql(dialect=dialect or None, comments=False).split()).replace(MACRO, "@")
    return Untranslatable(
        what or f"`{said[:120]}`",
        why=why or "it is not on the list of what is known to mean the same here",
        fix=fix or "write the model's query for Spark yourself",
        line=_line(node),
    )
