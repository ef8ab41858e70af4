"""What Spark reads and sqlglot does not: the tables, columns and names are told, or said to be unknown."""

from __future__ import annotations

import pytest
from sqlglot import exp

from backfill_assets.core.model import Column
from backfill_assets.project.fingerprint import sql_logic
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import parse, splice
from backfill_assets.sql.text_clocks import text_of

COLUMNS = {
    "t": {"id": "int", "x": "int", "g": "string", "at": "timestamp"},
    "u": {"k": "int", "z": "int"},
    "v": {"k": "int", "z": "int"},
}
UPSTREAMS = {name: (name, tuple(Column(name=c, type=k) for c, k in of.items())) for name, of in COLUMNS.items()}
CASES: list[tuple[str, str, list[str] | None]] = [
    # a query that Spark takes -> the tables that it reads, its columns (None: unknown)
    ("SELECT x >>> 1 AS a FROM t", "t", ["a"]),
    ("SELECT id FROM t WHERE x >>> 1 = x >> 1", "t", ["id"]),
    ("SELECT from_json(g, '') :: array<struct<a: map<string, int>>> AS a, x >>> 1 AS b FROM t", "t", ["a", "b"]),
    ("SELECT CAST(NULL AS ARRAY<ARRAY<MAP<STRING,DECIMAL(10, 2)>>>) AS a FROM t WHERE x > 1", "t", ["a"]),
    ("SELECT s.map < 3 AS a, s.x >>> 1 AS b FROM (SELECT id AS map, x FROM t) AS s", "t", ["a", "b"]),
    ("SELECT first_value(x, false) AS a, last_value(x, true) OVER (ORDER BY id) AS b FROM t", "t", ["a", "b"]),
    ("SELECT nth_value(x, 2, true) OVER (ORDER BY id) AS a FROM t", "t", ["a"]),
    ("SELECT struct(x left, g AS right) AS a, array(struct(id union)) AS b FROM t", "t", ["a", "b"]),
    ("SELECT x AS select, g AS not FROM t", "t", ["select", "not"]),
    ("SELECT id FROM (TABLE t)", "t", ["id"]),
    ("WITH a AS (TABLE t) SELECT id FROM a", "t", ["id"]),
    ("WITH a AS (SELECT k FROM u) TABLE a", "u", ["k"]),
    ("SELECT k, z FROM u UNION ALL TABLE v", "u v", ["k", "z"]),
    ("SELECT id FROM t WHERE id IN (SELECT k FROM u EXCEPT DISTINCT TABLE v)", "t u v", ["id"]),
    ("SELECT x table FROM t", "t", ["table"]),
    ("SELECT g, count(*) AS n FROM t GROUP BY window(at, '1 hour'), g", "t", None),
    ("SELECT window.start AS a, count(*) AS n FROM t GROUP BY window(at, '1 hour')", "t", None),
    ("SELECT max(window) AS a FROM (SELECT x AS window FROM t)", "t", ["a"]),
    ("SELECT id, sum(x) OVER w AS a FROM t WINDOW w AS (PARTITION BY g)", "t", ["id", "a"]),
    ("SELECT CAST(g AS STRING COLLATE UTF8_LCASE) AS a FROM t", "t", None),
    ("SELECT parse_json(g):a.b[0]::string AS a, parse_json(g):c AS c FROM t", "t", ["a", "c"]),
    ("SELECT hex(X '1F') AS a FROM t", "t", ["a"]),
    (
        "WITH RECURSIVE a(n) MAX RECURSION LEVEL 9 AS (SELECT id FROM t UNION ALL SELECT n + 1 FROM a) SELECT n FROM a",
        "t",
        ["n"],
    ),
    ("WITH a AS (VALUES (1)) SELECT col1 FROM a", "", ["col1"]),
    ("SELECT * EXCEPT (x, g) FROM t", "t", ["id", "at"]),
    ("SELECT * EXCEPT (st.id) FROM (SELECT id, struct(id) AS st FROM t)", "t", None),
    (
        "SELECT count(*) AS n FROM (SELECT * FROM u JOIN v USING (k) UNION ALL SELECT * FROM u JOIN v USING (k))",
        "u v",
        ["n"],
    ),
    ("FROM t |> SELECT id, x |> DROP x", "t", None),
    ("FROM t |> SET x = x + 1 |> WHERE x > 0", "t", None),
    ("FROM t |> AS q |> JOIN u ON q.id = u.k |> SELECT q.id, u.z", "t u", None),
    ("FROM t |> SELECT id, x |> UNION ALL SELECT k, z FROM u |> WHERE id > 0", "t u", None),
    ("SELECT * FROM (FROM u |> EXCEPT TABLE v)", "u v", None),
    ("SELECT to_json(struct(x key, g a)) AS a, date_add(at, INTERVAL 1 DAY) AS b FROM t", "t", ["a", "b"]),
    ("SELECT id FROM t |> LIMIT 1", "t", ["id"]),
    ("TABLE t |> SELECT id |> ORDER BY id |> LIMIT 2", "t", ["id"]),
    ("FROM t |> SORT BY x |> OFFSET 1", "t", None),
]


@pytest.mark.parametrize(("code", "tables", "columns"), CASES)
def test_what_spark_reads(code: str, tables: str, columns: list[str] | None) -> None:
    """Which tables, and which columns where those are certain."""
    sql = parse(code)
    assert sorted({r.key for r in sql.references}) == tables.split()
    found = resolve(sql, {r.key: UPSTREAMS[r.key] for r in sql.references})
    assert not found.findings
    assert (None if found.columns is None else [c.name for c in found.columns]) == columns


@pytest.mark.parametrize(
    ("code", "tables"),
    [
        (
            "SELECT a.union.cross AS a, minus.id FROM raw.union AS a JOIN raw.minus USING (id)",
            "raw.minus raw.union",
        ),
        ("SELECT id FROM raw.cross CROSS JOIN raw.left MINUS SELECT id FROM on.inner", "on.inner raw.cross raw.left"),
        ("SELECT a.id FROM t AS a LEFT JOIN u ON .5 < a.x", "t u"),
    ],
)
def test_names_that_are_words_of_joins(code: str, tables: str) -> None:
    """Beside a dot they are names."""
    sql = parse(code)
    assert sorted({r.key for r in sql.references}) == tables.split()
    assert sql.statements[0].find(exp.Column) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("WITH a AS (TABLE t) SELECT x >>> 1 AS n FROM a", "WITH a AS (TABLE new) SELECT x >>> 1 AS n FROM a"),
        ("SELECT k FROM u UNION ALL TABLE t", "SELECT k FROM u UNION ALL TABLE new"),
        (
            "FROM t |> DROP x |> UNION ALL SELECT t.x FROM t",
            "FROM new AS t |> DROP x |> UNION ALL SELECT t.x FROM new AS t",
        ),
        ("SELECT struct(x left) AS s FROM t", "SELECT struct(x left) AS s FROM new AS t"),
    ],
)
def test_spark_runs_the_text(before: str, after: str) -> None:
    """Only names of tables are put in; `TABLE t` takes no alias."""
    assert splice(before, {"t": "new"}) == after


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT 'a' 'b' AS r FROM t", "SELECT 'a''b' AS r FROM t"),
        ('FROM t |> SELECT "a" "b" AS r', 'FROM t |> SELECT "a""b" AS r'),
        ("SELECT parse_json(g):date AS r FROM t", "SELECT parse_json(g):DATE AS r FROM t"),
        ("SELECT parse_json(g):a.select AS r FROM t", "SELECT parse_json(g):a.SELECT AS r FROM t"),
    ],
)
def test_texts_that_are_not_the_same(one: str, other: str) -> None:
    """A doubled quote is a quote; keys of JSON have a case, keywords or not."""
    assert sql_logic(parse(one)) != sql_logic(parse(other))


def test_a_doubled_quote() -> None:
    """To Spark it is a quote, and what stands side by side is put together."""
    [text, both] = parse("SELECT 'it''s', 'to' 'day' FROM t").statements[0].expressions
    assert text.name == "it's" and text_of(both) == "today"


def test_no_argument_gets_lost() -> None:
    """Of a function with more arguments than sqlglot knows of, all stay: the columns among them are read."""
    found = resolve(parse("SELECT nth_value(x, 2, id > 0) OVER (ORDER BY g) AS a FROM t"), {"t": UPSTREAMS["t"]})
    assert {ref.column for ref in found.lineage["a"]} >= {"x", "id"}
