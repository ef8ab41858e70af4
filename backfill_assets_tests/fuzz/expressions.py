"""Random expressions of a type over the columns in scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from backfill_assets_tests.fuzz.tree import Node, listed, seq


@dataclass(frozen=True, slots=True)
class Col:
    """A column in scope: how it is written there, its name, its type."""

    text: str
    name: str
    type: str


Scope = tuple[Col, ...]
_BASIC = ("int", "string", "date")


@dataclass(slots=True)
class Expressions:
    """`spark`: also what only Spark has. `scalar` makes a subquery that gives an int, `members` a test with one."""

    random: Random
    spark: bool
    scalar: Callable[[Scope], Node] | None = None
    members: Callable[[Scope], Node] | None = None

    def pick(self, *choices: str) -> Node:
        return Node(parts=(self.random.choice(choices),), kind="choice", others=choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def of(self, kind: str, scope: Scope, depth: int | None = None) -> Node:
        """An expression of a type: `int`, `string`, `date`, `double`, `boolean`, or of a column's own type."""

        depth = self.random.choice((0, 0, 1, 1, 2)) if depth is None else depth

        def make() -> Node:
            columns = [c.text for c in scope if c.type == kind]
            if columns and (depth <= 0 or self.chance(0.35) or kind not in self._deep()):
                return seq(self.random.choice(columns))
            if depth <= 0 or kind not in self._deep():
                return seq(self._literal(kind))
            return self._deep()[kind](scope, depth - 1)

        return replace(seq(make()), kind=kind, scope=scope, again=lambda: self.of(kind, scope, depth))

    def _deep(self) -> dict[str, Callable[[Scope, int], Node]]:
        return {
            "int": self._int,
            "string": self._string,
            "boolean": self.condition,
            "date": self._date,
            "double": self._double,
        }

    def _literal(self, kind: str) -> str:
        choose = self.random.choice
        match kind:
            case "int":
                return choose(["0", "1", "2", "3", "-1", "NULL"]) if self.chance(0.9) else "CAST(NULL AS INT)"
            case "string":
                return choose(["'a'", "'b'", "'A'", "'1'", "''", "'ab'", "'10'"])
            case "date":
                return choose(["DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '2023-12-31'"])
            case "double":
                return choose(["CAST(0.5 AS DOUBLE)", "CAST(1 AS DOUBLE)"])
            case "boolean":
                return choose(["true", "false", "1 = 1"])
            case _:
                return f"CAST(NULL AS {kind})"

    # --- by type ------------------------------------------------------------------------------------------------------

    def _int(self, s: Scope, d: int) -> Node:
        i, t, b, day = (
            (lambda k: lambda: self.of(k, s, d))("int"),
            lambda: self.of("string", s, d),
            lambda: self.of("boolean", s, d),
            lambda: self.of("date", s, d),
        )
        forms: list[Callable[[], Node]] = [
            lambda: seq("(", i(), self.pick(" + ", " - ", " * "), i(), ")"),
            lambda: seq(i(), self.pick(" + ", " - "), i(), self.pick(" * ", " + ", " - "), i()),
            lambda: seq("coalesce(", listed([i(), i()], least=2), ")"),
            lambda: seq("CASE WHEN ", b(), " THEN ", i(), self.optional(lambda: seq(" ELSE ", i())), " END"),
            lambda: seq("CASE ", i(), " WHEN ", i(), " THEN ", i(), " WHEN ", i(), " THEN ", i(), " END"),
            lambda: seq("length(", t(), ")"),
            lambda: seq(self.pick("greatest", "least"), "(", listed([i(), i(), i()], least=2), ")"),
            lambda: seq("nullif(", i(), ", ", i(), ")"),
            lambda: seq("abs(", i(), ")"),
            lambda: seq("(", i(), self.pick(" & ", " | "), i(), self.pick(" & ", " | "), i(), ")"),
            lambda: seq(i(), " % ", self.pick("2", "3")),
            lambda: seq(self.pick("year", "month", "day"), "(", day(), ")"),
            lambda: seq("-", i()) if self.spark else seq("- ", i()),
            lambda: seq(self.pick("CAST(", "TRY_CAST("), self.of("double", s, 0), " AS INT)"),
        ]
        if self.scalar is not None:
            forms.append(lambda: self.scalar(s))  # type: ignore[misc]
        if self.spark:
            forms += [
                lambda: seq("nvl(", i(), ", ", i(), ")"),
                lambda: seq(
                    i(),
                    self.pick(" << ", " >> ", " + ", " & ", " ^ ", " | "),
                    i(),
                    self.pick(" << ", " >> ", " + ", " & ", " ^ ", " | "),
                    i(),
                ),
                lambda: seq(i(), self.pick(" + ", " * ", " - "), i(), self.pick(" & ", " ^ ", " | "), i()),
                lambda: seq("~", i(), self.pick(" & ", " + "), i()),
                lambda: seq("CAST(", t(), " AS INT)") if self.chance(0.1) else seq("TRY_CAST(", t(), " AS INT)"),
                lambda: seq(self.pick("size", "array_size", "cardinality"), "(array(", listed([i(), i()]), "))"),
                lambda: seq("if(", b(), ", ", i(), ", ", i(), ")"),
                lambda: seq("CAST(", self.pick("hash", "crc32"), "(", t(), ") % 7 AS INT)"),
                lambda: seq("instr(", t(), ", ", t(), ")"),
                lambda: seq("locate(", listed([t(), t(), seq(self.pick("1", "2"))], least=2), ")"),
                lambda: seq("datediff(", day(), ", ", day(), ")"),
                lambda: seq("named_struct(", self.pick("'a', ", "'A', "), i(), ").a"),
                lambda: seq("array(", listed([i(), i()], least=2), ")[", self.pick("0", "1"), "]"),
                lambda: seq(
                    "aggregate(array(",
                    listed([i(), i()]),
                    "), ",
                    i(),
                    ", (p, q) -> ",
                    self.pick("p + q", "p * q", "p - q", "q"),
                    ")",
                ),
                lambda: seq(
                    "size(filter(array(", listed([i(), i()]), "), e -> e ", self.pick(">", ">=", "="), " ", i(), "))"
                ),
                lambda: seq("CAST(", i(), self.pick(" DIV ", " % "), "2 AS INT)"),
                lambda: seq("decode(", listed([i(), i(), i(), i()], least=3), ")"),
                lambda: seq("extract(", self.pick("YEAR", "MONTH", "DAY", "DOW", "WEEK"), " FROM ", day(), ")"),
            ]
        return self.random.choice(forms)()

    def _string(self, s: Scope, d: int) -> Node:
        i, t, b = lambda: self.of("int", s, d), lambda: self.of("string", s, d), lambda: self.of("boolean", s, d)
        forms: list[Callable[[], Node]] = [
            lambda: seq("concat(", listed([t(), t()]), ")"),
            lambda: seq(t(), " || ", t()),
            lambda: seq(self.pick("upper", "lower", "trim", "ltrim"), "(", t(), ")"),
            lambda: seq(
                self.pick("substr", "substring"), "(", t(), ", ", self.pick("1", "2"), self.pick("", ", 1", ", 2"), ")"
            ),
            lambda: seq("CAST(", i(), self.pick(" AS STRING", " AS VARCHAR") if not self.spark else " AS STRING", ")"),
            lambda: seq("CASE WHEN ", b(), " THEN ", t(), " ELSE ", t(), " END"),
            lambda: seq("coalesce(", listed([t(), t()]), ")"),
            lambda: seq("replace(", t(), ", ", t(), ", ", t(), ")"),
        ]
        if self.spark:
            day = lambda: self.of("date", s, d)  # noqa: E731
            forms += [
                lambda: seq(
                    self.pick(
                        "'a' 'b'", "'ab'", "'a' ' b'", "'a' || 'b'", "r'a\\n'", "'a\\n'", '"ab"', "'a''b'", "'a\\'b'"
                    )
                ),
                lambda: seq(
                    "date_format(",
                    day(),
                    ", ",
                    self.pick(
                        "'yyyy-MM'",
                        "'yyyy-mm'",
                        "'yyyy'",
                        "'MM'",
                        "'mm'",
                        "'dd'",
                        "'DD'",
                        "'D'",
                        "'y'",
                        "\"yyyy'T'MM\"",
                        "\"yyyy'MM'\"",
                        "'M'",
                        "'MMM'",
                        "'E'",
                    ),
                    ")",
                ),
                lambda: seq("to_json(named_struct(", self.pick("'a'", "'A'", "'b'"), ", ", i(), "))"),
                lambda: seq("to_json(struct(", i(), " AS ", self.pick("a", "A", "b"), "))"),
                lambda: seq(
                    "regexp_replace(",
                    listed([t(), seq(self.pick("'a'", "'[ab]'", "'(?i)a'")), seq(self.pick("'x'", "''"))], least=3),
                    self.pick("", ", 2"),
                    ")",
                ),
                lambda: seq("concat_ws(", self.pick("'-'", "'_'"), ", ", listed([t(), t()]), ")"),
                lambda: seq(
                    "split(", t(), ", ", self.pick("''", "'a'", "'[ab]'"), self.pick("", ", 2", ", -1"), ")[0]"
                ),
                lambda: seq(
                    self.pick("lpad", "rpad"), "(", t(), ", ", self.pick("2", "3"), self.pick("", ", 'x'", ", '0'"), ")"
                ),
                lambda: seq("translate(", t(), ", ", self.pick("'ab'", "'a'"), ", ", self.pick("'xy'", "'yx'"), ")"),
                lambda: seq("to_json(arrays_zip(array(", i(), ") , array(", i(), ")))"),
                lambda: seq("CAST(", day(), " AS STRING)"),
                lambda: seq(
                    "trim(", self.pick("BOTH", "LEADING", "TRAILING"), " ", self.pick("'a'", "'b'"), " FROM ", t(), ")"
                ),
                lambda: seq("to_char(", i(), ", ", self.pick("'999'", "'000'", "'S999'"), ")"),
                lambda: seq(
                    "array_join(array(", listed([t(), t()]), "), ", self.pick("','", "'-'"), self.pick("", ", 'n'"), ")"
                ),
                lambda: seq("element_at(map(", t(), ", ", t(), "), 'a')"),
                lambda: seq("CAST(map(", self.pick("'a'", "'A'"), ", ", t(), ") AS STRING)"),
            ]
        return self.random.choice(forms)()

    def condition(self, s: Scope, d: int) -> Node:
        i, t, b, day = (
            lambda: self.of("int", s, d),
            lambda: self.of("string", s, d),
            lambda: self.of("boolean", s, d),
            lambda: self.of("date", s, d),
        )
        compare = lambda: self.pick(" = ", " <> ", " < ", " <= ", " > ", " >= ")  # noqa: E731
        forms: list[Callable[[], Node]] = [
            lambda: seq(i(), compare(), i()),
            lambda: seq(i(), compare(), i()),
            lambda: seq(t(), compare(), t()),
            lambda: seq(day(), compare(), day()),
            lambda: seq(self.random.choice([i, t, day])(), self.pick(" IS NULL", " IS NOT NULL")),
            lambda: seq(i(), self.pick(" IN (", " NOT IN ("), listed([i(), i()]), ")"),
            lambda: seq(i(), self.pick(" BETWEEN ", " NOT BETWEEN "), i(), " AND ", i()),
            lambda: seq("(", listed([b(), b()], self.random.choice([" AND ", " OR "])), ")"),
            lambda: seq("(", b(), self.pick(" AND ", " OR "), b(), self.pick(" AND ", " OR "), b(), ")"),
            lambda: seq("NOT (", b(), ")"),
            lambda: seq("(NOT ", i(), compare(), i(), ")"),
            lambda: seq(t(), self.pick(" LIKE ", " NOT LIKE "), self.pick("'a%'", "'%b'", "'_'", "'A%'")),
            lambda: seq(i(), self.pick(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "), i()),
        ]
        if self.members is not None:
            forms.append(lambda: self.members(s))  # type: ignore[misc]
        if self.spark:
            forms += [
                lambda: seq(i(), self.pick(" <=> ", " = ", " == "), i()),
                lambda: seq("((", b(), ")", self.pick(" = ", " <> ", " <=> "), "(", b(), "))"),
                lambda: seq(i(), self.pick(" & ", " | ", " + "), i(), compare(), i()),
                lambda: seq(
                    i(), compare(), i(), self.pick(" IS NULL", " IS TRUE", " IS NOT TRUE", " IS FALSE", " IS UNKNOWN")
                ),
                lambda: seq("! ", b(), self.pick(" AND ", " OR "), b()),
                lambda: seq(t(), self.pick(" RLIKE ", " NOT RLIKE "), self.pick("'a'", "'^a'", "'A|b'")),
                lambda: seq(t(), self.pick(" ILIKE ", " LIKE "), self.pick("'a%'", "'A%'")),
                lambda: seq(
                    i(),
                    compare(),
                    self._literal("string") if self.chance(0.2) else self.pick("'1'", "'01'", "'2'", "' 1'"),
                ),
                lambda: seq("concat('', ", i(), ")", compare(), t()),
            ]
        return self.random.choice(forms)()

    def _date(self, s: Scope, d: int) -> Node:
        i, day, b = lambda: self.of("int", s, 0), lambda: self.of("date", s, d), lambda: self.of("boolean", s, d)
        forms: list[Callable[[], Node]] = [
            lambda: seq("CASE WHEN ", b(), " THEN ", day(), " ELSE ", day(), " END"),
            lambda: seq("coalesce(", listed([day(), day()]), ")"),
            lambda: seq("CAST(date_trunc(", self.pick("'month'", "'year'", "'week'"), ", ", day(), ") AS DATE)"),
        ]
        if self.spark:
            forms += [
                lambda: seq(self.pick("date_add", "date_sub"), "(", day(), ", ", i(), ")"),
                lambda: seq("trunc(", day(), ", ", self.pick("'MM'", "'month'", "'YEAR'", "'week'"), ")"),
                lambda: seq(
                    "to_date(CAST(",
                    day(),
                    " AS STRING)",
                    self.pick("", ", 'yyyy-MM-dd'", ", 'yyyy-dd-MM'") if self.chance(0.2) else "",
                    ")",
                ),
                lambda: seq("last_day(", day(), ")"),
                lambda: seq("add_months(", day(), ", ", self.pick("1", "2", "-1"), ")"),
                lambda: seq(day(), " + INTERVAL ", self.pick("1 DAY", "2 DAYS", "'1' DAY", "1 MONTH")),
            ]
        return self.random.choice(forms)()

    def _double(self, s: Scope, d: int) -> Node:
        i, f = lambda: self.of("int", s, d), lambda: self.of("double", s, d)
        forms: list[Callable[[], Node]] = [
            lambda: seq("CAST(", i(), " AS DOUBLE)"),
            lambda: seq("(", f(), self.pick(" + ", " * ", " - "), f(), ")"),
            lambda: seq("coalesce(", listed([f(), f()]), ")"),
            lambda: seq("round(", f(), ", ", self.pick("0", "1"), ")"),
        ]
        return self.random.choice(forms)()

    def optional(self, make: Callable[[], Node], share: float = 0.5) -> Node:
        """A part that may be left out."""
        found = make() if self.chance(share) else Node(parts=())
        return replace(seq(found), kind="optional", again=lambda: self.optional(make))

    def many(self, make: Callable[[], Node], least: int, most: int, separator: str = ", ") -> Node:
        items = [make() for _ in range(self.random.randint(least, most))]
        found = listed(items, separator, least)
        return replace(found, again=make, kind="list")

    # --- aggregates and windows ---------------------------------------------------------------------------------------

    def aggregate(self, kind: str, s: Scope) -> Node:
        """An aggregate that gives a type."""

        def make() -> Node:
            if kind == "int":
                return self.random.choice([
                    lambda: seq(self.pick("min", "max"), "(", self.of("int", s, 1), ")"),
                    lambda: seq("CAST(sum(", self.pick("", "DISTINCT "), self.of("int", s, 1), ")", self.filtered(s), " AS INT)"),
                    lambda: seq("CAST(count(", self.pick("*", "1", "2"), ")", self.filtered(s), " AS INT)"),
                    lambda: seq("CAST(count(", self.pick("", "DISTINCT "), self.of("string", s, 1), ") AS INT)"),
                ])()  # fmt: skip
            return seq(self.pick("min", "max"), "(", self.of(kind, s, 1), ")", self.filtered(s))

        return replace(seq(make()), kind=f"aggregate {kind}", scope=s, again=lambda: self.aggregate(kind, s))

    def filtered(self, s: Scope) -> Node:
        return self.optional(lambda: seq(" FILTER (WHERE ", self.of("boolean", s, 1), ")"), 0.25)

    def window(self, s: Scope, names: Sequence[str] = ()) -> Node:
        """A window function that gives an int."""

        def make() -> Node:
            over = self.pick(*names) if names and self.chance(0.6) else seq("(", self.frame(s), ")")
            function = self.random.choice([
                lambda: self.pick("row_number()", "rank()", "dense_rank()"),
                lambda: seq("count(", self.pick("*", "1"), ")", self.filtered(s)),
                lambda: seq(self.pick("sum", "min", "max"), "(", self.of("int", s, 1), ")", self.filtered(s)),
                lambda: seq(self.pick("lag", "lead"), "(", self.of("int", s, 1), self.pick("", ", 1", ", 2"), ")"),
                lambda: seq(self.pick("first_value", "last_value"), "(", self.of("int", s, 1), ")"),
            ])()  # fmt: skip
            return seq("CAST(", function, " OVER ", over, " AS INT)")

        return replace(seq(make()), kind="window", scope=s, again=lambda: self.window(s, names))

    def frame(self, s: Scope) -> Node:
        """What is between the parentheses of OVER."""
        order = [c for c in s if c.type in _BASIC] or list(s)

        def make() -> Node:
            first = self.random.choice(order).text
            keys = [
                seq(c, self.pick("", " DESC", " ASC"), self.pick("", "", " NULLS LAST", " NULLS FIRST"))
                for c in dict.fromkeys([first, *(c.text for c in s)])
            ]
            bounds = self.pick(
                "",
                "",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            )
            by = self.optional(lambda: seq("PARTITION BY ", self.of(self.random.choice(_BASIC), s, 0), " "))
            return seq(by, "ORDER BY ", listed(keys), bounds)

        return replace(seq(make()), kind="frame", scope=s, again=lambda: self.frame(s))
