"""Edits that people make and that look like nothing: two ways of writing that give, or do not give, the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from backfill_assets_tests.fuzz.data import PORTABLE, SPARK
from backfill_assets_tests.fuzz.expressions import Col
from backfill_assets_tests.fuzz.queries import Queries

_ALIKE = [
    [line for line in family.splitlines() if not line.startswith("# ")]
    for family in (Path(__file__).parent / "alike.txt").read_text(encoding="utf-8").split("\n\n")[1:]
]

Variants = tuple[str, Mapping[str, str], list[str]]
"""What it is about, the columns that all variants give, and the variants."""


def idiom(random: Random, spark: bool) -> tuple[str, Mapping[str, str], str, str] | None:
    """Two variants of one of them: kind, columns, old and new."""
    makers = [*_PORTABLE, *(_SPARK if spark else ())]
    kind, columns, variants = random.choice(makers)(_Holes(random, spark))
    old, new = random.sample(variants, 2)
    return None if old == new else (kind, columns, old, new)


class _Holes:
    """Random parts over `t`, by its columns' bare names."""

    def __init__(self, random: Random, spark: bool) -> None:
        self.random = random
        self.queries = Queries(random, spark, dict(SPARK if spark else PORTABLE))
        self.ex = self.queries.ex
        self.scope = tuple(Col(n, n, k) for n, k in PORTABLE["t"].columns.items())

    def some(self, *choices: str) -> str:
        return self.random.choice(choices)

    def value(self, kind: str = "int", depth: int = 1) -> str:
        return str(self.ex.of(kind, self.scope, depth))

    def condition(self) -> str:
        column = self.some("x", "y", "id")
        simple = f"{column} {self.some('>', '<', '=', '<>')} {self.some('0', '1', '2')}"
        return self.some(simple, simple, f"{self.some('g', 's')} IS NOT NULL", "g = 'a'", f"{column} IS NOT NULL")

    def window(self) -> str:
        over = self.over()
        function = self.some(
            "row_number()",
            "rank()",
            "lag(x)",
            "lead(y)",
            "count(*)",
            "sum(x)",
            "max(x)",
            "first_value(x)",
            "count(*) FILTER (WHERE x > 0)",
            "sum(y) FILTER (WHERE g = 'a')",
        )
        return f"{function} OVER ({over})"

    def over(self) -> str:
        by = self.some("", "PARTITION BY g ", "PARTITION BY x ", "PARTITION BY ds ")
        order = self.some(
            "id, x, y, g, s, ds, f", "id DESC, x, y, g, s, ds, f", "x, id, y, g, s, ds, f", "ds, id, x, y, g, s, f"
        )
        return f"{by}ORDER BY {order}"


_WINDOWED = {"id": "int", "x": "int", "w": "int"}
_REST = "id, x, y, g, s, ds, f"


def _moved_filter(h: _Holes) -> Variants:
    w, c = h.window(), h.condition()
    return "window and filter", _WINDOWED, [
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) WHERE {c}",
        f"SELECT id, x, {w} AS w FROM t WHERE {c}",
        f"SELECT id, x, {w} AS w FROM (SELECT * FROM t WHERE {c})",
        f"WITH q AS (SELECT *, {w} AS w FROM t), r AS (SELECT * FROM q WHERE {c}) SELECT id, x, w FROM r",
        f"WITH q AS (SELECT * FROM t WHERE {c}) SELECT id, x, {w} AS w FROM q",
    ]  # fmt: skip


def _moved_top(h: _Holes) -> Variants:
    w, c = h.window(), h.condition()
    return "window and QUALIFY", _WINDOWED, [
        f"SELECT id, x, {w} AS w FROM t QUALIFY {w} = 1",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) WHERE w = 1",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t WHERE {c}) WHERE w = 1",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) WHERE {c} AND w = 1",
        f"SELECT id, x, {w} AS w FROM t WHERE {c} QUALIFY {w} = 1",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t QUALIFY {w} = 1) WHERE {c}",
    ]  # fmt: skip


def _moved_limit(h: _Holes) -> Variants:
    w = h.window()
    limit = h.some("ORDER BY id, x, y, g, s, ds, f LIMIT 3", "ORDER BY x DESC, id, y, g, s, ds, f LIMIT 4")
    return "window and LIMIT", _WINDOWED, [
        f"SELECT id, x, {w} AS w FROM (SELECT * FROM t {limit})",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t {limit})",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM (SELECT {_REST} FROM t {limit}))",
    ]  # fmt: skip


def _moved_order(h: _Holes) -> Variants:
    w, c, top = h.window(), h.condition(), h.some("LIMIT 2", "LIMIT 3")
    some = h.some(f"WHERE {c}", "QUALIFY count(*) OVER (ORDER BY id) > 3")
    return "window in ORDER BY", _WINDOWED, [
        f"SELECT id, x, 1 AS w FROM t {some} ORDER BY {w}, {_REST} {top}",
        f"SELECT id, x, 1 AS w FROM (SELECT *, {w} AS w FROM t {some}) ORDER BY w, {_REST} {top}",
        f"SELECT id, x, 1 AS w FROM (SELECT *, {w} AS w FROM t) {some} ORDER BY w, {_REST} {top}",
    ]  # fmt: skip


def _moved_distinct(h: _Holes) -> Variants:
    w = h.window()
    return "window and DISTINCT", _WINDOWED, [
        f"SELECT id, x, {w} AS w FROM (SELECT DISTINCT * FROM t)",
        f"SELECT DISTINCT id, x, {w} AS w FROM t",
        f"SELECT DISTINCT id, x, w FROM (SELECT *, {w} AS w FROM t)",
    ]  # fmt: skip


def _moved_join(h: _Holes) -> Variants:
    w = h.window()
    return "window and join", _WINDOWED, [
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) AS a JOIN v ON v.k = a.id",
        f"SELECT id, x, {w} AS w FROM (SELECT t.* FROM t JOIN v ON v.k = t.id)",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) WHERE id IN (SELECT k FROM u)",
        f"SELECT id, x, {w} AS w FROM t WHERE id IN (SELECT k FROM u)",
        f"SELECT id, x, w FROM (SELECT *, {w} AS w FROM t) AS a LEFT JOIN v ON v.k = a.id",
    ]  # fmt: skip


def _named_windows(h: _Holes) -> Variants:
    one, two, f = h.over(), h.over(), h.some("row_number()", "count(*)", "sum(x)", "lag(x)")
    tests = h.some("= 1", "> 1", "IS NULL", "<= 2")
    made = []
    for a, b in ((one, two), (two, one), (one, one)):
        made += [
            f"SELECT id, x, {f} OVER w AS w0 FROM t WINDOW w AS ({a}), w2 AS ({b})",
            f"SELECT id, x, 1 AS w0 FROM t WINDOW w AS ({a}), w2 AS ({b}) QUALIFY {f} OVER w {tests}",
            f"SELECT id, x, 1 AS w0 FROM (SELECT * FROM t WINDOW w AS ({a}), w2 AS ({b}) "
            f"ORDER BY {f} OVER w, id, x, y, g, s, ds, f LIMIT 3)",
        ]
    return "named windows", {"id": "int", "x": "int", "w0": "int"}, made


def _joins(h: _Holes) -> Variants:
    key = h.some("id", "x", "y")
    key2 = h.some("id", "x", "y")
    column, other = h.some("a.id", "a.x"), h.some("u.z", "a.y")
    kind = h.some("FULL", "RIGHT", "LEFT", "INNER")
    text = h.some("n", "p")
    late = {"n": "a.x", "p": "a.ds"}[text] if h.ex.spark else "a.s"
    return "joins", {"p": "int", "q": "int"}, [
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a LEFT JOIN v ON v.k = a.{key2} {kind} JOIN u ON u.k = a.{key}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN v ON v.k = a.{key2}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN v ON v.k = u.z",
        f"SELECT {column} AS p, {other} AS q FROM t AS a LEFT JOIN v ON v.k = a.{key2} {kind} JOIN u ON u.k = v.k",
        f"SELECT {column} AS p, {other} AS q FROM t AS a LEFT JOIN v ON v.k = a.{key2} {kind} JOIN u ON u.k = a.{key} AND v.z = 1",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN {text} ON {text}.k = {late}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN {text} ON {text}.k = a.s",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN (SELECT k, max(z) AS z FROM u GROUP BY k) AS v ON v.k = a.{key2}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN (SELECT DISTINCT k FROM u) AS v ON v.k = a.{key2}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN (SELECT k FROM u GROUP BY ROLLUP(k)) AS v ON v.k IS NOT DISTINCT FROM a.{key2}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN (SELECT k + 0 AS k FROM v) AS v ON v.k = a.{key2}",
        f"SELECT {column} AS p, {other} AS q FROM t AS a {kind} JOIN u ON u.k = a.{key} LEFT JOIN (SELECT w AS k, k AS w FROM v) AS v ON v.w = a.{key2}",
    ]  # fmt: skip


def _set_operations(h: _Holes) -> Variants:
    one = h.some("SELECT id AS a, x AS b FROM t", "SELECT x AS a, y AS b FROM t", "SELECT k AS a, z AS b FROM u")
    two = h.some("SELECT k AS a, z AS b FROM u", "SELECT z AS a, k AS b FROM v", "SELECT y AS a, x AS b FROM t")
    three = h.some("SELECT 1 AS a, 2 AS b", "SELECT id AS a, y AS b FROM t", "SELECT k AS b, z AS a FROM u")
    way, other = (
        h.some("UNION ALL", "UNION", "EXCEPT", "INTERSECT"),
        h.some("UNION ALL", "UNION", "EXCEPT", "INTERSECT"),
    )
    limit = h.some(
        "ORDER BY a, b LIMIT 2",
        "ORDER BY 2 DESC, 1 LIMIT 3",
        "ORDER BY ALL LIMIT 2",
        "ORDER BY b, a LIMIT 2 OFFSET 1",
        "ORDER BY a DESC, b DESC LIMIT 1",
    )
    return "set operations", {"a": "int", "b": "int"}, [
        f"{one} {way} {two} {other} {three}",
        f"({one} {way} {two}) {other} {three}",
        f"{one} {way} ({two} {other} {three})",
        f"{two} {way} {one} {other} {three}",
        f"{one} {way} {two} {limit}",
        f"{one} {way} ({two} {limit})",
        f"({one} {limit}) {way} {two}",
        f"({one} {way} {two}) {limit}",
        f"SELECT * FROM ({one} {way} {two} {limit})",
        f"SELECT a, b FROM ({one} {way} {two}) {limit}",
        f"SELECT b, a FROM ({one} {way} {two}) {limit}",
        f"SELECT * FROM (({one}) {limit})",
        f"SELECT * FROM ({one} {limit})",
        f"SELECT * FROM ({one})",
        f"SELECT a, b FROM ({one}) UNION ALL SELECT a, b FROM ({two})",
        f"SELECT a, b FROM ({one}) UNION ALL SELECT b, a FROM ({two})",
        f"SELECT * FROM ({one}) UNION ALL SELECT * FROM ({two})",
        f"SELECT * FROM (SELECT b, a FROM ({one})) UNION ALL SELECT * FROM ({two})",
        f"{one} UNION ALL BY NAME {two}" if not h.ex.spark else f"SELECT a, b FROM ({one}) MINUS SELECT a, b FROM ({two})",
    ]  # fmt: skip


def _set_values(h: _Holes) -> Variants:
    way = h.some("UNION", "UNION", "EXCEPT", "INTERSECT", "UNION ALL")
    return "values of set operations", {"a": "int", "b": "int"}, [
        f"SELECT {first} AS a, {value} AS b FROM t {way} SELECT k, z FROM u"
        for first in ("id", "x") for value in ("y", "0", "y + 1", "coalesce(y, 0)")
    ]  # fmt: skip


def _limits(h: _Holes) -> Variants:
    order = h.some("id, x, y, g, s, ds, f", "x DESC, id, y, g, s, ds, f")
    return "limits", {"id": "int", "x": "int"}, [
        f"SELECT id, x FROM t ORDER BY {order} {top}"
        for top in ("LIMIT 1", "LIMIT 2", "LIMIT 4", "LIMIT 2 OFFSET 1", "LIMIT 2 OFFSET 2", "OFFSET 1", "")
    ]  # fmt: skip


def _groups(h: _Holes) -> Variants:
    a, b = h.value("int", 0), h.value("string", 0)
    aggregate = h.some(
        "count(*)",
        "sum(y)",
        "max(x)",
        "count(DISTINCT s)",
        "count(*) FILTER (WHERE x > 0)",
        "sum(x) FILTER (WHERE g = 'a')",
    )
    having = h.some("count(*) > 1", "max(x) > 1", "x > 1" if h.ex.spark else "max(x) > 0", "min(y) IS NULL")
    ordinals = (
        [
            "ROLLUP(1, 2)",
            "ROLLUP(2, 1)",
            "CUBE(1, 2)",
            "GROUPING SETS ((1), (2))",
            "GROUPING SETS ((1), ())",
            "GROUPING SETS ((1, 2), (2))",
        ]
        if h.ex.spark
        else []
    )
    head = f"SELECT {a} AS x, {b} AS g, {aggregate} AS n FROM t GROUP BY "
    swapped = f"SELECT {b} AS g, {a} AS x, {aggregate} AS n FROM t GROUP BY "
    forms = [
        f"{a}, {b}",
        f"{b}, {a}",
        "1, 2",
        "ALL",
        f"ROLLUP({a}, {b})",
        f"ROLLUP({b}, {a})",
        f"CUBE({a}, {b})",
        f"CUBE({b}, {a})",
        f"GROUPING SETS (({a}), ({b}))",
        f"GROUPING SETS (({b}), ({a}))",
        f"GROUPING SETS (({a}, {b}), ())",
        *ordinals,
    ]
    return "groups", {"x": "int", "g": "string", "n": "int"}, [
        *(head + f for f in forms), *(swapped + f for f in ("1, 2", *ordinals[:4])), f"{head}1, 2 HAVING {having}",
        f"SELECT x, g, n FROM (SELECT {a} AS x, {b} AS g, {aggregate} AS n, max(x) AS mx, count(*) AS c, min(y) AS my FROM t GROUP BY 1, 2) WHERE c > 1",
    ]  # fmt: skip


def _having_alias(h: _Holes) -> Variants:
    aggregate = h.some("max(x)", "min(x)", "sum(y)", "count(*)")
    test = h.some("x > 1", "x = 2", "x IS NULL", "y > 0", "x < 2")
    return "HAVING and aliases", {"g": "string", "x": "int"}, [
        f"SELECT g, {aggregate} AS x FROM t GROUP BY g, x HAVING {test.replace('y', 'x')}" if h.ex.spark else f"SELECT g, {aggregate} AS x FROM t GROUP BY g",
        f"SELECT g, {aggregate} AS x FROM t GROUP BY g HAVING {aggregate} > 1",
        f"SELECT g, {aggregate} AS x FROM t GROUP BY g HAVING x > 1" if h.ex.spark else f"SELECT g, {aggregate} AS x FROM t GROUP BY g HAVING {aggregate} > 0",
        f"SELECT g, x FROM (SELECT g, {aggregate} AS x FROM t GROUP BY g) WHERE x > 1",
        f"SELECT g, {aggregate} AS x FROM t GROUP BY g, y HAVING {test}" if h.ex.spark else f"SELECT g, {aggregate} AS x FROM t GROUP BY g ORDER BY x",
        f"SELECT g, x FROM (SELECT g, {aggregate} AS x, y FROM t GROUP BY g, y) WHERE {test}",
        f"SELECT upper(g) AS g, {aggregate} AS x FROM t GROUP BY g",
        f"SELECT upper(g) AS g, {aggregate} AS x FROM t GROUP BY upper(g)",
        f"SELECT upper(g) AS g, {aggregate} AS x FROM t GROUP BY 1",
        f"SELECT upper(g) AS g, {aggregate} AS x FROM t GROUP BY ALL",
    ]  # fmt: skip


def _order_by_alias(h: _Holes) -> Variants:
    limit = h.some("LIMIT 1", "LIMIT 2", "LIMIT 3")
    rest = "y, g, s, ds, f"
    direction = h.some("", " DESC")
    return "ORDER BY and aliases", {"x": "int", "y0": "int"}, [
        f"SELECT -x AS x, id AS y0 FROM t ORDER BY x{direction}, id, {rest} {limit}",
        f"SELECT -x AS x, id AS y0 FROM t ORDER BY t.x{direction}, id, {rest} {limit}",
        f"SELECT -x AS x, id AS y0 FROM t ORDER BY -x{direction}, id, {rest} {limit}",
        f"SELECT -x AS x, id AS y0 FROM t ORDER BY 1{direction}, 2, {rest} {limit}",
        f"SELECT -x AS x, id AS y0 FROM t ORDER BY ALL{direction} {limit}",
        f"SELECT id AS y0, -x AS x FROM t ORDER BY ALL{direction} {limit}",
        f"SELECT id AS y0, -x AS x FROM t ORDER BY 1{direction}, 2, {rest} {limit}",
        f"SELECT x, y0 FROM (SELECT -x AS x, id AS y0 FROM t ORDER BY x{direction}, id, {rest} {limit})",
        f"SELECT -x AS x, id AS y0 FROM (SELECT * FROM t ORDER BY x{direction}, id, {rest} {limit})",
    ]  # fmt: skip


def _distinct(h: _Holes) -> Variants:
    v = h.value("int", 1)
    return "DISTINCT", {"a": "int", "n": "int"}, [
        f"SELECT DISTINCT {v} AS a, 1 AS n FROM t",
        f"SELECT {v} AS a, 1 AS n FROM t",
        f"SELECT {v} AS a, 1 AS n FROM t GROUP BY {v}",
        f"SELECT a, 1 AS n FROM (SELECT DISTINCT {v} AS a FROM t)",
        f"SELECT DISTINCT a, 1 AS n FROM (SELECT {v} AS a, y FROM t)",
        f"SELECT a, n FROM (SELECT DISTINCT {v} AS a, 1 AS n, y FROM t)",
        f"SELECT a, count(*) AS n FROM (SELECT DISTINCT {v} AS a, y FROM t) GROUP BY a",
        f"SELECT a, count(*) AS n FROM (SELECT {v} AS a, y FROM t) GROUP BY a",
        f"SELECT {v} AS a, count(DISTINCT y) AS n FROM t GROUP BY 1",
        f"SELECT {v} AS a, count(y) AS n FROM t GROUP BY 1",
    ]  # fmt: skip


def _generators(h: _Holes) -> Variants:
    one, two = h.some("array(x, y)", "array(1, 2)", "array(id, 0)"), h.some("array(y, x)", "array(1, 2)", "array(7)")
    return "generators", {"id": "int", "e": "int", "e2": "int"}, [
        f"SELECT id, e, 0 AS e2 FROM t LATERAL VIEW explode({one}) l AS e",
        f"SELECT id, e, 0 AS e2 FROM t LATERAL VIEW OUTER explode({one}) l AS e",
        f"SELECT id, explode({one}) AS e, 0 AS e2 FROM t",
        f"SELECT id, e, e2 FROM t LATERAL VIEW explode({one}) l AS e LATERAL VIEW explode({two}) m AS e2",
        f"SELECT id, e, e2 FROM t LATERAL VIEW explode({one}) l AS e2 LATERAL VIEW explode({two}) m AS e",
        f"SELECT id, e, e2 FROM t LATERAL VIEW explode({one}) l AS e LATERAL VIEW explode({one}) m AS e2",
        f"SELECT id, e, e AS e2 FROM t LATERAL VIEW explode({one}) l AS e LATERAL VIEW explode({one}) m AS e2",
        f"SELECT id, e2 AS e, e2 FROM t LATERAL VIEW explode({one}) l AS e LATERAL VIEW explode({one}) m AS e2",
        f"SELECT id, e2 AS e, e AS e2 FROM t LATERAL VIEW explode({one}) l AS e LATERAL VIEW explode({one}) m AS e2",
        f"SELECT id, e, e2 FROM t LATERAL VIEW explode(array({one}, {two})) l AS a LATERAL VIEW explode(a) m AS e LATERAL VIEW explode(a) o AS e2",
        f"SELECT id, e, e2 FROM t LATERAL VIEW explode(array({one}, {two})) l AS a LATERAL VIEW explode(a) m AS e2 LATERAL VIEW explode(a) o AS e",
        f"SELECT id, p AS e, e AS e2 FROM t LATERAL VIEW posexplode({one}) l AS p, e",
        f"SELECT id, e, p AS e2 FROM t LATERAL VIEW posexplode({one}) l AS p, e",
        f"SELECT t.id, e, u.z AS e2 FROM t JOIN u ON u.k = t.id LATERAL VIEW explode({one}) l AS e",
        f"SELECT t.id, e, u.z AS e2 FROM t LEFT JOIN u ON u.k = t.id LATERAL VIEW explode({one}) l AS e",
        f"SELECT t.id, e, v.z AS e2 FROM t LEFT JOIN v ON v.k = t.id LATERAL VIEW explode({one}) l AS e",
        "SELECT t.id, e, v.z AS e2 FROM t LEFT JOIN v ON v.k = t.id LATERAL VIEW explode(array(v.k, 1)) l AS e",
        f"SELECT a.id, a.e, 0 AS e2 FROM (SELECT id, explode({one}) AS e FROM t) AS a",
        f"SELECT a.id, a.e, b.e AS e2 FROM (SELECT id, explode({one}) AS e FROM t) AS a JOIN (SELECT id, explode({one}) AS e FROM t) AS b ON a.id = b.id",
        f"SELECT id, e, size({one}) AS e2 FROM (SELECT *, explode({two}) AS e FROM t)",
    ]  # fmt: skip


def _stars(h: _Holes) -> Variants:
    function = h.some(
        "hash(*)",
        "CAST(xxhash64(*) % 97 AS INT)",
        "length(to_json(struct(*)))",
        "CAST(count(DISTINCT *) AS INT)",
        "size(array(struct(*)))",
        "CAST(count(*) AS INT)",
        "hash(a.*)",
        "CAST(count(a.*) AS INT)",
    )
    lists = ["id, x", "x, id", "id, x, y", "id, y", "x AS id, id AS x", "*", "id, -x AS x"]
    return "* in functions", {"h": "int"}, [
        *(f"SELECT {function} AS h FROM (SELECT {names} FROM t) AS a" for names in lists),
        f"SELECT {function} AS h FROM (SELECT a.id, v.z FROM t AS a LEFT JOIN v ON v.k = a.id) AS a",
        f"SELECT {function} AS h FROM t AS a", f"SELECT {function} AS h FROM u AS a",
        f"SELECT {function} AS h FROM (SELECT id, x FROM t) AS a LEFT JOIN v ON v.k = a.id",
    ]  # fmt: skip


def _casts_in_keys(h: _Holes) -> Variants:
    table, own = h.some("n", "p"), h.some("a.id", "a.x", "a.ds", "a.s", "CAST(a.id AS STRING)", "CAST(a.ds AS STRING)")
    equal = h.some("=", "<=>", "==")
    key = h.some(f"{table}.k", f"CAST({table}.k AS STRING)", f"trim({table}.k)")
    return "casts in keys", {"id": "int", "x": "int"}, [
        "SELECT a.id, a.x FROM t AS a",
        f"SELECT a.id, a.x, {table}.z FROM t AS a LEFT JOIN {table} ON {table}.k {equal} {own}",
        f"SELECT a.id, a.x, {table}.z FROM t AS a LEFT JOIN {table} ON {own} {equal} {table}.k",
        f"SELECT a.id, a.x, {table}.z FROM t AS a LEFT JOIN {table} ON {key} {equal} {own}",
        f"SELECT a.id, a.x, b.z FROM t AS a LEFT JOIN (SELECT k, max(z) AS z FROM {table} GROUP BY k) AS b ON b.k {equal} {own}",
        f"SELECT a.id, a.x, b.z FROM t AS a LEFT JOIN (SELECT s AS k, max(y) AS z FROM t GROUP BY s) AS b ON b.k {equal} {own}",
        f"SELECT a.id, a.x, v.z FROM t AS a LEFT JOIN v ON v.k {equal} {h.some('a.s', 'a.f', 'a.id', 'a.x')}",
    ]  # fmt: skip


def _lost(h: _Holes) -> Variants:
    names = {"a": h.some("id", "x", "3"), "b": h.some("y", "x", "1"), "c": h.some("id", "2", "y")}
    family = h.random.choice(_ALIKE)
    return (
        "what a parser may lose",
        {"id": "int"},
        [f"SELECT id, {_filled(form, names)} AS r FROM t" for form in family],
    )


def _filled(form: str, names: Mapping[str, str]) -> str:
    for name, text in names.items():
        form = form.replace(f"{{{name}}}", text)
    return form


def _pipes(h: _Holes) -> Variants:
    c, c2 = h.condition(), h.condition()
    return "pipes", {"id": "int", "n": "int"}, [
        f"FROM t |> WHERE {c} |> SELECT id, x AS n", f"FROM t |> WHERE {c} |> WHERE {c2} |> SELECT id, x AS n",
        f"SELECT id, x AS n FROM t WHERE {c}", "FROM t |> SELECT id, x AS n |> ORDER BY id, n |> LIMIT 2",
        "FROM t |> SELECT id, x AS n |> ORDER BY n, id |> LIMIT 2", "FROM t |> ORDER BY id, x |> LIMIT 2 |> SELECT id, x AS n",
        "FROM t |> AGGREGATE sum(x) AS n GROUP BY id", "FROM t |> AGGREGATE sum(y) AS n GROUP BY id", "FROM t |> AGGREGATE max(x) AS n GROUP BY id |> SELECT id, n",
        "FROM t |> EXTEND x + 1 AS n |> SELECT id, n", "FROM t |> EXTEND x + 2 AS n |> SELECT id, n", "FROM t |> SET x = 1 |> SELECT id, x AS n", "FROM t |> SET x = 2 |> SELECT id, x AS n", "FROM t |> SELECT id, x AS n",
        "FROM t |> SELECT id, x AS n |> UNION ALL (SELECT k, z FROM u)", "FROM t |> SELECT id, x AS n |> EXCEPT (SELECT k, z FROM u)", "FROM t |> LEFT JOIN v ON v.k = t.id |> SELECT t.id, v.z AS n", "FROM t |> JOIN v ON v.k = t.id |> SELECT t.id, v.z AS n",
        "FROM t |> SELECT id, x AS n |> LIMIT 1000", "FROM t |> AS q |> SELECT q.id, q.x AS n", "FROM t |> SELECT DISTINCT id, x AS n",
    ]  # fmt: skip


def _twice(h: _Holes) -> Variants:
    return "names that come twice", {"r": "int"}, [
        "SELECT a.x AS r FROM (SELECT id, x, y AS x2 FROM t) AS a", "SELECT a.x2 AS r FROM (SELECT id, x, y AS x2 FROM t) AS a",
        "SELECT count(*) AS r FROM (SELECT x, y AS x FROM t)", "SELECT count(*) AS r FROM (SELECT x, x FROM t)", "SELECT count(*) AS r FROM (SELECT DISTINCT x, y AS x FROM t)",
        "SELECT count(*) AS r FROM (SELECT DISTINCT x, x FROM t)", "SELECT count(*) AS r FROM (SELECT DISTINCT y, y AS x FROM t)",
        "SELECT count(*) AS r FROM (SELECT x, y AS x FROM t UNION SELECT k, z FROM u)", "SELECT count(*) AS r FROM (SELECT x, x FROM t UNION SELECT k, z FROM u)", "SELECT count(*) AS r FROM (SELECT y, y AS x FROM t UNION SELECT k, z FROM u)",
        "SELECT b AS r FROM (SELECT x, x FROM t) AS s(a, b)", "SELECT b AS r FROM (SELECT x, y AS x FROM t) AS s(a, b)", "SELECT a AS r FROM (SELECT x, y AS x FROM t) AS s(a, b)", "SELECT b AS r FROM (SELECT y AS x, x FROM t) AS s(a, b)",
    ]  # fmt: skip


def _parenthesised(h: _Holes) -> Variants:
    q = h.some("SELECT id, x FROM t", "SELECT id, x FROM t WHERE x > 0", "SELECT k AS id, z AS x FROM u")
    lim, lim2 = (
        h.some("ORDER BY id, x LIMIT 2", "ORDER BY x, id LIMIT 3"),
        h.some("ORDER BY x DESC, id DESC LIMIT 1", "ORDER BY 2, 1 LIMIT 1", "LIMIT 0", "ORDER BY ALL LIMIT 2 OFFSET 1"),
    )
    return "parentheses", {"id": "int", "x": "int"}, [
        q, f"({q})", f"({q}) {lim}", f"({q}) {lim2}", f"({q} {lim}) {lim2}", f"({q} {lim2}) {lim}", f"(({q}) {lim})", f"(({q} {lim}) {lim2})", f"SELECT * FROM (({q}) {lim})",
        f"SELECT * FROM (({q}) {lim2})", f"SELECT * FROM (({q} {lim}) {lim2})", f"({q} {lim}) UNION ALL ({q} {lim2})", f"({q}) UNION ALL ({q}) {lim}", f"(({q}) UNION ALL ({q})) {lim2}", f"WITH a AS (({q}) {lim}) SELECT * FROM a",
        f"WITH a AS (({q}) {lim2}) SELECT * FROM a", f"WITH a AS ({q} {lim}) SELECT * FROM a", f"SELECT id, x FROM ({q}) WHERE id IN ((SELECT k FROM u) ORDER BY k LIMIT 1)", f"SELECT id, x FROM ({q}) WHERE id IN (SELECT k FROM u)",
        f"SELECT id, x FROM ({q}) WHERE id = ((SELECT z FROM u) ORDER BY z, 1 LIMIT 1)", f"SELECT id, x FROM ({q}) WHERE id = (SELECT max(z) FROM u)", f"SELECT id, ((SELECT z FROM u) ORDER BY z LIMIT 1) AS x FROM ({q})", f"SELECT id, ((SELECT z FROM u) ORDER BY z DESC LIMIT 1) AS x FROM ({q})",
    ]  # fmt: skip


_PORTABLE: tuple[Callable[[_Holes], Variants], ...] = (
    _moved_filter, _moved_filter, _moved_top, _moved_limit, _moved_order, _moved_distinct, _moved_join, _named_windows, _joins, _set_operations, _set_values, _limits, _groups, _having_alias, _order_by_alias, _distinct,
)  # fmt: skip
_SPARK: tuple[Callable[[_Holes], Variants], ...] = (
    _generators, _stars, _casts_in_keys, _lost, _lost, _lost, _lost, _pipes, _twice, _parenthesised,
)  # fmt: skip
