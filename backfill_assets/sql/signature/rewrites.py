"""What is seen through? Every way in which two texts that differ count as the same, with what it needs and why it is so.

Nothing else is: tokens that differ are a difference. Each is proved in Spark on small tables with NULLs, duplicates, ties,
mixed case and texts that look like numbers (`backfill_assets_tests/spark/test_signature_spark.py`), and listed in
docs/categories.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backfill_assets.sql.signature.marks import Mark, in_any_order, mix


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """`what` counts as the same, `when`: what it needs, `why` it gives the same rows."""

    name: str
    what: str
    when: str = ""
    why: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as it is written."""

    text: str

    @property
    def is_string(self) -> bool:
        return self.text[0] in "'\""

    @property
    def type(self) -> str | None:
        if self.is_string:
            return "string"
        return "int" if self.text.isdigit() and int(self.text) < 2**31 else None


Item = str | Mark | Literal
"""A word or symbol, the mark of a column, call or bracket, or a literal: an expression is a row of them."""

REWRITES = (
    Rewrite(
        name="spelling",
        what="spaces, comments, line ends, the case of keywords, functions and column names",
        why="Spark does not look at them",
    ),
    Rewrite(
        name="hints",
        what="hints such as `/*+ BROADCAST(a) */`",
        why="they say how a join is carried out, not what it gives",
    ),
    Rewrite(
        name="names of tables",
        what="aliases of tables, names of CTEs, a CTE or a subquery in FROM",
        when="no function names fields after its columns, as `struct(a)` does: there names count",
        why="a name stands for what it names",
    ),
    Rewrite(
        name="names of columns",
        what="an expression, or an inner column that is the same expression",
        when="it depends on nothing but its row: windows and aggregates carry the rows that they are computed over",
        why="a column of a subquery stands for its expression",
    ),
    Rewrite(
        name="columns beside",
        what="more columns, fewer, or in another order",
        when="nothing is DISTINCT, grouped by them, a set operation of rows",
        why="a column decides no row",
    ),
    Rewrite(
        name="brackets",
        what="`(a)` and `a`",
        when="the brackets hold all of an argument or condition, or a single column, call or literal",
        why="nothing else could be read",
    ),
    Rewrite(
        name="order of conditions",
        what="the order of what AND joins",
        when="no OR or lambda beside it",
        why="AND is commutative, with NULL as well",
    ),
    Rewrite(
        name="order of groups",
        what="the order of GROUP BY",
        when="no ROLLUP, CUBE or GROUPING SETS",
        why="groups are sets",
    ),
    Rewrite(
        name="ordinals",
        what="`GROUP BY 1` and the expression in that place",
        when="a bare number",
        why="that is what it means",
    ),
    Rewrite(
        name="aliases in GROUP BY",
        what="`GROUP BY n` and the expression called `n`",
        when="no table of FROM has a column `n`",
        why="that is what it means",
    ),
    Rewrite(
        name="order of rows",
        what="ORDER BY of the whole query",
        when="neither LIMIT nor OFFSET",
        why="a table has no order",
    ),
    Rewrite(
        name="filters in turn",
        what="`WHERE a` of a subquery with `WHERE b`, and `WHERE a AND b`",
        when="the subquery only filters and computes columns of one table",
        why="a row passes both or none; windows of the subquery carry the rows that they were computed over",
    ),
    Rewrite(
        name="join words",
        what="JOIN, INNER JOIN and CROSS JOIN; LEFT, RIGHT, FULL with and without OUTER; LEFT SEMI and SEMI, LEFT ANTI and ANTI; a comma",
        why="words that say the same",
    ),
    Rewrite(
        name="conditions of inner joins",
        what="ON and WHERE",
        when="every join is an inner one, or keeps the rows",
        why="an inner join is a filter of all pairs",
    ),
    Rewrite(
        name="joins that keep the rows",
        what="a LEFT JOIN less or more",
        when="it compares a unique key of its right side with columns of the same type, so that nothing is cast; no RIGHT or FULL JOIN beside it",
        why="each row finds one partner at most, and stays without one",
    ),
    Rewrite(
        name="sides of a comparison",
        what="`a = b` and `b = a`, `<>`, `<=>` as well; `a < b` and `b > a`",
        when="one comparison, and no other predicate beside it",
        why="the same comparison read from the other side",
    ),
    Rewrite(name="signs", what="`=` and `==`, `<>` and `!=`", why="two spellings"),
    Rewrite(
        name="casts",
        what="`CAST(a AS t)` and `a::t`",
        when="`a` is a column, a call, a literal or in brackets",
        why="two spellings",
    ),
    Rewrite(name="counts", what="`count(*)` and `count(1)`", why="1 is never NULL: both count rows"),
    Rewrite(
        name="first of two",
        what="`coalesce(a, b)`, `nvl(a, b)` and `ifnull(a, b)`",
        when="two arguments",
        why="Spark replaces nvl and ifnull by coalesce",
    ),
    Rewrite(name="ELSE NULL", what="CASE with `ELSE NULL` and without ELSE", why="without ELSE it is NULL"),
    Rewrite(
        name="IN lists",
        what="the order of an IN list",
        when="texts alone or integers alone, so that they have one type",
        why="a set has no order",
    ),
    Rewrite(
        name="columns of UNION ALL",
        what="a column more, less or elsewhere on both sides",
        when="UNION ALL, not UNION, EXCEPT or INTERSECT",
        why="every row stays; columns meet by their place",
    ),
    Rewrite(
        name="constants under GROUP BY ALL",
        what="a literal column more or less",
        when="another column is grouped by",
        why="a constant splits no group",
    ),
)

_TURNED = {">": "<", ">=": "<="}
_SPELLED = {"==": "=", "!=": "<>"}
_EITHER_WAY = ("=", "<>", "<=>")
COMPARISONS = frozenset({"=", "==", "<>", "!=", "<=>", "<", "<=", ">", ">="})


def comparison(left: Mark, sign: str, right: Mark) -> Mark:
    """`sides of a comparison`, `signs`."""
    sign = _SPELLED.get(sign, sign)
    if sign in _TURNED:
        left, sign, right = right, _TURNED[sign], left
    sides = sorted((left, right), key=lambda m: m.text) if sign in _EITHER_WAY else [left, right]
    return mix("compare", sign, *sides).typed("boolean")


def conjunction(parts: Iterable[Mark]) -> Mark:
    """`order of conditions`."""
    return mix("and", *in_any_order(parts)).typed("boolean")


def listed(items: Sequence[Item], marks: Sequence[Mark]) -> list[Mark]:
    """`IN lists`: the entries of an IN list and their marks."""
    literals = [i for i in items if isinstance(i, Literal)]
    alike = len(literals) == len(items) and (
        all(i.is_string for i in literals) or all(i.text.isdigit() and i.type for i in literals)
    )
    return in_any_order(marks) if alike else list(marks)


def function_name(name: str, arguments: int) -> str:
    """`first of two`."""
    return "COALESCE" if name in ("NVL", "IFNULL") and arguments == 2 else name


def counts_rows(name: str, argument: Sequence[Item]) -> bool:
    """`counts`."""
    return name == "COUNT" and list(argument) in (["*"], [Literal("1")])
