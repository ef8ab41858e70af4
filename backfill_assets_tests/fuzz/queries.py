"""Random queries: SELECTs over joins, subqueries and CTEs, set operations, parentheses, pipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from backfill_assets_tests.fuzz.case import TableSpec
from backfill_assets_tests.fuzz.expressions import Col, Expressions, Scope
from backfill_assets_tests.fuzz.tree import Node, listed, seq

Columns = Mapping[str, str]
"""Name → type."""
NAMES = ("a", "b", "c", "d", "e")
TYPES = ("int", "int", "string", "date")


@dataclass(slots=True)
class Queries:
    """`tables`: what may be read. Every query gives columns of the names and types that it is asked for."""

    random: Random
    spark: bool
    tables: dict[str, TableSpec]
    ex: Expressions = field(init=False)
    _aliases: int = 0
    _ctes: list[tuple[str, Columns]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ex = Expressions(self.random, self.spark, self._scalar, self._members)

    def columns(self) -> Columns:
        """What a query may be asked for."""
        count = self.random.randint(1, 4)
        return {name: self.random.choice(TYPES) for name in NAMES[:count]}

    def model(self, want: Columns) -> Node:
        """A whole query, with its WITH."""
        ctes: list[Node] = []
        for number in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            columns = self.columns()
            name = f"q{number}"
            ctes.append(seq(f"{name} AS (", self.query(columns, self.random.choice([0, 1])), ")"))
            self._ctes.append((name, columns))
        body = self.query(want, self.random.choice([0, 1, 1, 2]))
        self._ctes.clear()
        return seq("WITH ", listed(ctes), " ", body) if ctes else body

    def query(self, want: Columns, depth: int) -> Node:
        """A query that gives these columns, in this order."""

        def make() -> Node:
            roll = self.random.random()
            if depth > 0 and roll < 0.2:
                return self._set_operation(want, depth - 1)
            if depth > 0 and roll < 0.25:
                inner = self.query(want, depth - 1)
                return seq(
                    "SELECT ",
                    self.ex.pick("*", ", ".join(want), ", ".join(want)),
                    " FROM (",
                    inner,
                    ") AS ",
                    self._alias(),
                    self._modifiers(want),
                )
            if self.spark and depth > 0 and roll < 0.28:
                return seq("(", self.query(want, depth - 1), ")", self._modifiers(want))
            if self.spark and depth > 0 and roll < 0.31:
                return self._pipes(want, depth - 1)
            if roll < 0.5:
                return self._grouped(want, depth)
            return self._plain(want, depth)

        return replace(seq(make()), kind=f"query {dict(want)}", again=lambda: self.query(want, max(depth - 1, 0)))

    # --- SELECT -------------------------------------------------------------------------------------------------------

    def _plain(self, want: Columns, depth: int) -> Node:
        source, scope = self._source(depth)
        names, clause = self._named_windows(scope)
        items: list[str | Node] = []
        for name, kind in want.items():
            windowed = kind == "int" and self.ex.chance(0.2)
            value = self.ex.window(scope, names) if windowed else self.ex.of(kind, scope)
            items.append(seq(value, f" AS {name}"))
        where = self.ex.optional(lambda: seq(" WHERE ", self._conjunction(scope)))
        qualify = self.ex.optional(
            lambda: seq(" QUALIFY ", self.ex.window(scope, names), self.ex.pick(" = 1", " > 1", " <= 2", " IS NULL")),
            0.2,
        )
        distinct = self.ex.pick("", "", "", "DISTINCT ")
        return seq(
            "SELECT ", distinct, self._items(items, want, scope), source, where, clause, qualify, self._modifiers(want)
        )

    def _items(self, items: list[str | Node], want: Columns, scope: Scope) -> Node:
        def another() -> Node:
            kind = self.random.choice(TYPES)
            return seq(self.ex.of(kind, scope), f" AS more{self.random.randint(1, 3)}")

        return replace(listed(items), again=another)

    def _grouped(self, want: Columns, depth: int) -> Node:
        source, scope = self._source(depth)
        by: list[str] = [name for name in want if self.ex.chance(0.4)]
        keys = {name: self.ex.of(want[name], scope, 1) for name in by}
        items: list[str | Node] = []
        for name, kind in want.items():
            value = keys[name] if name in by else self.ex.aggregate(kind, scope)
            items.append(seq(value, f" AS {name}"))
        ordinals = [str(list(want).index(name) + 1) for name in by]
        group: str | Node = ""
        if by:
            written = listed([str(keys[n]) for n in by])
            forms = [
                written,
                written,
                listed(ordinals),
                listed(by),
                Node(parts=("ALL",), others=("ALL", ", ".join(ordinals)), kind="choice"),
            ]
            if len(by) > 1 or self.ex.chance(0.3):
                forms.append(seq(self.ex.pick("ROLLUP", "CUBE"), "(", listed([str(keys[n]) for n in by]), ")"))
                if self.spark:
                    forms.append(seq(self.ex.pick("ROLLUP", "CUBE"), "(", listed(ordinals), ")"))
                    forms.append(seq("GROUPING SETS ((", listed(ordinals), "), (", self.ex.pick("", *ordinals), "))"))
                forms.append(
                    seq(
                        "GROUPING SETS ((",
                        listed([str(keys[n]) for n in by]),
                        "), (",
                        self.ex.pick("", *(str(keys[n]) for n in by)),
                        "))",
                    )
                )
            group = seq(" GROUP BY ", self.random.choice(forms))
        having = self.ex.optional(lambda: seq(" HAVING ", self._having(want, by, scope)), 0.3)
        where = self.ex.optional(lambda: seq(" WHERE ", self._conjunction(scope)), 0.4)
        more = lambda: seq(self.ex.aggregate(self.random.choice(TYPES), scope), f" AS more{self.random.randint(1, 3)}")  # noqa: E731
        return seq("SELECT ", replace(listed(items), again=more), source, where, group, having, self._modifiers(want))

    def _having(self, want: Columns, by: Sequence[str], scope: Scope) -> Node:
        if self.spark and want and self.ex.chance(0.4):
            name = self.random.choice(list(want))
            return seq(self._same_kind(name, want), self.ex.pick(" IS NOT NULL", " IS NULL"))
        return seq(self.ex.aggregate("int", scope), self.ex.pick(" > 0", " > 1", " IS NOT NULL", " = 1"))

    def _same_kind(self, name: str, want: Columns) -> Node:
        return self.ex.pick(name, *want)

    def _conjunction(self, scope: Scope) -> Node:
        return self.ex.many(lambda: self.ex.of("boolean", scope, self.random.choice([1, 1, 2])), 1, 2, " AND ")

    def _named_windows(self, scope: Scope) -> tuple[tuple[str, ...], Node]:
        if not self.ex.chance(0.15):
            return (), Node(parts=())
        names = ("w1", "w2")
        return names, seq(" WINDOW ", listed([seq(f"{n} AS (", self.ex.frame(scope), ")") for n in names], least=2))

    def _modifiers(self, want: Columns) -> Node:
        """ORDER BY and LIMIT. What is limited is ordered by all columns: else it is no one thing."""

        def make() -> Node:
            if self.ex.chance(0.6):
                return Node(parts=())
            keys = [seq(n, self.ex.pick("", " DESC", " NULLS LAST")) for n in self.random.sample(list(want), len(want))]
            order = seq(
                " ORDER BY ",
                self.random.choice(
                    [listed(keys), listed([str(i + 1) for i in range(len(want))]), self.ex.pick("ALL", "ALL DESC")]
                ),
            )
            limit = self.ex.optional(lambda: seq(" LIMIT ", self.ex.pick("1", "2", "3")))
            offset = self.ex.optional(lambda: seq(" OFFSET ", self.ex.pick("1", "2")), 0.2)
            return seq(order, limit, offset)

        return replace(seq(make()), kind="modifiers", again=lambda: self._modifiers(want))

    # --- FROM ---------------------------------------------------------------------------------------------------------

    def _source(self, depth: int) -> tuple[Node, Scope]:
        """FROM with its joins, and the columns in scope."""
        first, scope = self._relation(depth)
        parts: list[str | Node] = [" FROM ", first]
        joins = self.random.choice([0, 0, 0, 1, 1, 2]) if depth > 0 else self.random.choice([0, 0, 0, 1])
        for _ in range(joins):
            join, found, keeps = self._join(scope, depth)
            parts.append(join)
            if keeps:
                scope = (*scope, *found)
        if self.spark and self.ex.chance(0.12):
            view, found = self._lateral(scope)
            parts.append(view)
            scope = (*scope, *found)
            if self.ex.chance(0.4):
                view, found = self._lateral(scope)
                parts.append(view)
                scope = (*scope, *found)
        return seq(*parts), scope

    def _relation(self, depth: int) -> tuple[Node, Scope]:
        alias = self._alias()
        if self._ctes and self.ex.chance(0.5):
            name, columns = self.random.choice(self._ctes)
            return seq(f"{name} AS {alias}"), _scope(alias, columns)
        if depth > 0 and self.ex.chance(0.35):
            columns = self.columns()
            return seq("(", self.query(columns, depth - 1), f") AS {alias}"), _scope(alias, columns)
        name = self.random.choice(list(self.tables))
        return seq(f"{name} AS {alias}"), _scope(alias, self.tables[name].columns)

    def _join(self, scope: Scope, depth: int) -> tuple[Node, Scope, bool]:
        """A join, its columns, and whether they are in scope behind it. Often one on a key."""
        if self.ex.chance(0.6):
            alias = self._alias()
            name = self.random.choice([n for n, s in self.tables.items() if s.key] or list(self.tables))
            columns = self.tables[name].columns
            relation, found = seq(f"{name} AS {alias}"), _scope(alias, columns)
            (key,) = self.tables[name].key or (next(iter(columns)),)
            own = next(c for c in found if c.name == key)
            kind = (
                own.type
                if not self.ex.chance(0.15 if self.spark else 0)
                else self.random.choice(["int", "date", "string"])
            )
            other = self.ex.of(kind, scope, self.random.choice([0, 0, 1]))
            equal = self.ex.pick(" = ", " = ", " IS NOT DISTINCT FROM ")
            on = seq(own.text, equal, other) if self.ex.chance(0.5) else seq(other, equal, own.text)
            rest = self.ex.optional(lambda: seq(" AND ", self.ex.of("boolean", (*scope, *found), 1)), 0.2)
            on = seq(on, rest)
        else:
            relation, found = self._relation(depth - 1)
            kind = self.random.choice([c.type for c in found])
            on = seq(self.ex.of(kind, found, 0), " = ", self.ex.of(kind, scope, 0))
        ways = [
            " LEFT JOIN ",
            " LEFT JOIN ",
            " LEFT OUTER JOIN ",
            " JOIN ",
            " INNER JOIN ",
            " FULL JOIN ",
            " RIGHT JOIN ",
        ]
        gone = [" LEFT SEMI JOIN ", " LEFT ANTI JOIN "] if self.spark else [" SEMI JOIN ", " ANTI JOIN "]
        if self.ex.chance(0.1):
            return seq(self.ex.pick(*gone), relation, " ON ", on), found, False
        return seq(self.ex.pick(*ways), relation, " ON ", on), found, True

    def _lateral(self, scope: Scope) -> tuple[Node, Scope]:
        alias = self._alias()
        i = lambda: self.ex.of("int", scope, 1)  # noqa: E731
        forms: list[Callable[[], tuple[Node, tuple[str, ...]]]] = [
            lambda: (seq(self.ex.pick("explode", "explode_outer"), "(array(", listed([i(), i()]), "))"), ("int",)),
            lambda: (
                seq(self.ex.pick("posexplode", "posexplode_outer"), "(array(", listed([i(), i()]), "))"),
                ("int", "int"),
            ),
            lambda: (seq("inline(array(named_struct('p', ", i(), ", 'q', ", i(), ")))"), ("int", "int")),
            lambda: (seq("stack(2, ", i(), ", ", i(), ")"), ("int",)),
            lambda: (seq("explode(sequence(1, ", self.ex.pick("1", "2"), "))"), ("int",)),
        ]
        generator, types = self.random.choice(forms)()
        names = [f"l{self.random.randint(0, 99)}" for _ in types]
        view = seq(" LATERAL VIEW ", self.ex.pick("", "OUTER "), generator, f" {alias} AS {', '.join(names)}")
        return view, tuple(Col(f"{alias}.{n}", n, k) for n, k in zip(names, types, strict=True))

    def _alias(self) -> str:
        self._aliases += 1
        return f"x{self._aliases}"

    # --- more than one ------------------------------------------------------------------------------------------------

    def _set_operation(self, want: Columns, depth: int) -> Node:
        ways = ["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"] + (
            ["EXCEPT ALL", "INTERSECT ALL", "MINUS"] if self.spark else []
        )
        sides = [self.query(want, depth) for _ in range(2)]
        operation: Node = seq("(", sides[0], ") ", self.ex.pick(*ways), " (", sides[1], ")")
        if self.ex.chance(0.2):
            operation = seq(operation, " ", self.ex.pick(*ways), " (", self.query(want, 0), ")")
        return seq(operation, self._modifiers(want))

    def _pipes(self, want: Columns, depth: int) -> Node:
        names = list(want)
        steps: list[Callable[[], Node]] = [
            lambda: seq(" |> WHERE ", self.random.choice(names), self.ex.pick(" IS NOT NULL", " IS NULL")),
            lambda: seq(" |> ORDER BY ", listed(list(names)), " |> LIMIT ", self.ex.pick("1", "2")),
            lambda: seq(" |> SELECT ", ", ".join(names)),
            lambda: seq(" |> EXTEND 1 AS z0 |> DROP z0"),
        ]
        name, spec = self.random.choice(list(self.tables.items()))
        scope = tuple(Col(c, c, k) for c, k in spec.columns.items())
        items = listed([seq(self.ex.of(kind, scope, 1), f" AS {n}") for n, kind in want.items()], least=len(want))
        where = self.ex.optional(lambda: seq(" |> WHERE ", self.ex.of("boolean", scope, 1)))
        return seq(
            f"FROM {name}",
            where,
            " |> SELECT ",
            items,
            *[self.random.choice(steps)() for _ in range(self.random.randint(0, 2))],
        )

    # --- within expressions -------------------------------------------------------------------------------------------

    def _scalar(self, scope: Scope) -> Node:
        name, spec = self._inner_table()
        alias = self._alias()
        own = _scope(alias, spec.columns)
        where = self._correlated(own, scope)
        value = self.random.choice([c.text for c in own if c.type == "int"])
        return seq("(SELECT ", self.ex.pick("max", "min"), f"({value}) FROM {name} AS {alias}", where, ")")

    def _members(self, scope: Scope) -> Node:
        name, spec = self._inner_table()
        alias = self._alias()
        own = _scope(alias, spec.columns)
        if self.ex.chance(0.5):
            return seq(
                self.ex.pick("EXISTS", "NOT EXISTS"),
                f" (SELECT {self.random.choice(['1', own[0].text])} FROM {name} AS {alias}",
                self._correlated(own, scope),
                ")",
            )
        kind = self.random.choice([c.type for c in own])
        column = self.random.choice([c.text for c in own if c.type == kind])
        return seq(
            self.ex.of(kind, scope, 0),
            self.ex.pick(" IN ", " NOT IN "),
            f"(SELECT {column} FROM {name} AS {alias}",
            self.ex.optional(lambda: seq(" WHERE ", own[0].text, " IS NOT NULL")),
            ")",
        )

    def _correlated(self, own: Scope, scope: Scope) -> Node:
        kinds = {c.type for c in own} & {c.type for c in scope} & {"int", "string", "date"}
        if not kinds:
            return Node(parts=())
        kind = self.random.choice(sorted(kinds))
        return seq(
            " WHERE ",
            self.ex.of(kind, own, 0),
            self.ex.pick(" = ", " = ", " > ") if not self.spark else " = ",
            self.random.choice([c.text for c in scope if c.type == kind]),
        )

    def _inner_table(self) -> tuple[str, TableSpec]:
        there = {n: s for n, s in self.tables.items() if "int" in s.columns.values() and not n.startswith("m")}
        name = self.random.choice(sorted(there))
        return name, there[name]


def _scope(alias: str, columns: Columns) -> Scope:
    return tuple(Col(f"{alias}.{name}", name, kind) for name, kind in columns.items())
