# ruff: noqa: E501 (tables)
"""Columns, types and lineage of queries; what Spark decides is left unknown, never guessed."""

from __future__ import annotations

import pytest

from backfill_assets.core.model import Column
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import parse


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name=n, type=t) for n, t in types.items())


A = _columns(ds="date", Id="bigint", x="int", amt="decimal(18,4)", l="array<string>", s="struct<f:int>", ts="timestamp")
UPSTREAMS = {
    "a": ("A", A),
    "b": ("b", _columns(ds="date", id="bigint", y="double")),
    "raw.ev": ("raw.ev", _columns(id="bigint", name="varchar(9)")),
    "u": ("u", ()),
}
# query → name:type<refs
CASES = [
    ("SELECT id, raw.ev.name FROM raw.ev", "id:bigint<raw.ev.id name:string<raw.ev.name"),
    ("SELECT Id, x AS X2 FROM a", "Id:bigint<A.Id X2:int<A.x"),
    ("SELECT * FROM (SELECT id, x FROM a) t(p, q)", "p:bigint<A.Id q:int<A.x"),
    ("WITH a AS (SELECT id + x AS k FROM a) SELECT k AS j FROM a WHERE k > 1", "j:bigint<A.Id,A.x"),
    ("SELECT a.* EXCEPT (ds, l, s, ts, amt), y FROM a JOIN b ON a.id = b.id", "Id:bigint<A.Id x:int<A.x y:double<b.y"),
    ("SELECT ds, count(*) AS n FROM a JOIN b USING (ds) GROUP BY ds HAVING n > 1", "ds:date<A.ds,b.ds n:bigint<"),
    ("SELECT sum(x) AS s1, sum(amt) AS s2, avg(amt) AS s3 FROM a", "s1:bigint<A.x s2:decimal(28,4)<A.amt s3:decimal(22,8)<A.amt"),
    ("SELECT x / 2 AS d, amt / 2 AS e, amt * x AS m, x + id AS i FROM a", "d:double<A.x e:None<A.amt m:None<A.amt,A.x i:bigint<A.Id,A.x"),
    ("SELECT id AS k, k + 1 AS n FROM a", "k:bigint<A.Id n:bigint<A.Id"),
    ("SELECT id, x FROM a UNION ALL SELECT id, y FROM b", "id:bigint<A.Id,b.id x:None<A.x,b.y"),
    ("SELECT (SELECT max(y) FROM b WHERE b.id = a.id) AS m FROM a", "m:double<b.y"),
    ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND y > x)", "id:bigint<A.Id"),
    ("SELECT e, s.f FROM a LATERAL VIEW explode(l) t AS e", "e:None<A.l f:None<A.s"),
    ("SELECT col FROM a LATERAL VIEW explode(l) t", "col:None<A.l"),
    ("SELECT transform(l, z -> upper(z)) AS t FROM a", "t:None<A.l"),
    ("SELECT id, p FROM (SELECT id, x, ds FROM a) PIVOT (sum(x) FOR ds IN ('u' AS p))", "id:None<A.Id p:None<A.ds,A.x"),
    ("SELECT t.q, z FROM u t JOIN b ON t.i = b.id", "q:None<u.q z:None<u.z"),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", "n:int<"),
    ("SELECT CAST(:start AS DATE) AS ds, current_timestamp() AS t, 'k' AS k", "ds:date< t:timestamp< k:string<"),
    ("SELECT row_number() OVER (PARTITION BY id ORDER BY ts) AS r FROM a", "r:int<A.Id,A.ts"),
    ("SELECT x, CAST((id) AS INT), (ds), CAST(a.amt AS DOUBLE), s.f FROM a", "x:int<A.x id:int<A.Id ds:date<A.ds amt:double<A.amt f:None<A.s"),
    ("SELECT n FROM (SELECT count(*) FROM a) AS q(n)", "n:bigint<"),
    ("((SELECT y FROM b) ORDER BY y LIMIT 1)", "y:double<b.y"),
    ("(SELECT y AS k FROM b) ORDER BY id LIMIT 1", "k:double<b.y"),
    ("SELECT x FROM a WHERE id IN ((SELECT id FROM b) ORDER BY y LIMIT 1)", "x:int<A.x"),
    ("SELECT ((SELECT y FROM b) ORDER BY y LIMIT 1) AS m FROM a", "m:double<b.y"),
    ("SELECT ((SELECT y FROM b ORDER BY y LIMIT 3) ORDER BY y DESC LIMIT 1) AS m FROM a", "m:double<b.y"),
    ("SELECT CAST(id AS VARCHAR(3)) AS v, to_date(ts) AS d, CASE WHEN x > 1 THEN 'a' END AS c FROM a", "v:string<A.Id d:date<A.ts c:string<A.x"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), CASES)
def test_resolve(query: str, expected: str) -> None:
    """Each output's name, type, and the upstream columns that its expression reads."""
    resolved = resolve(parse(query), UPSTREAMS)
    assert resolved.columns is not None, resolved.findings
    found = (
        f"{c.name}:{c.type}<{','.join(f'{r.table}.{r.column}' for r in resolved.lineage[c.name])}"
        for c in resolved.columns
    )
    assert " ".join(found) == expected


@pytest.mark.parametrize("name", ["a; b", "a.b", "count(1)", "a b -- c", "x', 'y", '"q"', "ä"])
def test_a_column_of_any_name_is_found(name: str) -> None:
    upstreams = {"t": ("t", (Column(name=name, type="int"),))}
    resolved = resolve(parse(f"SELECT `{name}` AS n, * FROM t"), upstreams)
    assert not resolved.findings and resolved.columns is not None
    assert [(c.name, c.type) for c in resolved.columns] == [("n", "int"), (name, "int")]


def test_what_sqlglot_trips_over_is_unknown() -> None:
    """An ordinal of a `*` that cannot be expanded, for a name in it comes twice: no crash, and nothing is guessed."""
    query = "SELECT id FROM (SELECT * FROM (SELECT id, x AS b, x + 1 AS b FROM a) ORDER BY 1 LIMIT 2)"
    resolved = resolve(parse(query), UPSTREAMS)
    assert (resolved.columns, resolved.findings) == (None, ())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT explode(l) FROM a",
        "SELECT col FROM (SELECT x, explode_outer(l) FROM a)",
        "SELECT pos, col FROM (SELECT posexplode(l) FROM a)",
        "WITH c AS (SELECT (inline(array(s))) FROM a) SELECT f FROM c",
        "SELECT col0 FROM (SELECT stack(2, 1, 2) FROM a)",
        "SELECT c0 FROM (SELECT json_tuple(k, 'x') FROM a)",
    ],
)
def test_rows_that_a_function_makes_are_named_by_spark(query: str) -> None:
    """Without an alias: by the type of what it is given. With one its columns are known."""
    resolved = resolve(parse(query), UPSTREAMS)
    assert (resolved.columns, resolved.findings) == (None, ())
    named = resolve(parse("SELECT e FROM (SELECT explode(l) AS e FROM a)"), UPSTREAMS)
    assert [c.name for c in named.columns or ()] == ["e"]


def test_a_star_over_unknown_columns_is_unknown() -> None:
    """No columns, and no problem: a header may still declare them."""
    resolved = resolve(parse("SELECT *, 1 AS one FROM u"), UPSTREAMS)
    assert (resolved.columns, resolved.findings) == (None, ())


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT CAST(count(*) AS INT) FROM a", "CAST(COUNT(*) AS INT)"),
        ("SELECT CAST('k' AS STRING) FROM a", "CAST('k' AS STRING)"),
        ("SELECT CAST(s.f AS INT) FROM a", "CAST(s.f AS INT)"),
        ("SELECT l[0] FROM a", "l[0]"),
        ("SELECT * FROM (SELECT count(*) FROM a)", "COUNT(*)"),
        ("SELECT * FROM (SELECT CAST(count(1) AS INT) FROM a)", "CAST(COUNT(1) AS INT)"),
        ("WITH c AS (SELECT max(x) FROM a) SELECT c.* FROM c", "MAX(x)"),
    ],
)
def test_what_spark_calls_by_its_expression(query: str, column: str) -> None:
    """It needs an alias: such a name is none for a column of a table."""
    [finding] = resolve(parse(query), UPSTREAMS).findings
    assert finding.what == f"column 1 (`{column}`) has no name"
    assert finding.fix == "add an alias: `… AS name`"
