"""Do rows of a query with some value of a column come from rows with that value alone? Tried on data beside."""

from __future__ import annotations

import sqlite3

import pytest

from backfill_assets.sql.passed_columns import RowsMixed, passed_columns

PASSED = {
    "SELECT ds, kind, sum(x) AS x FROM daily GROUP BY ds, kind": "kind",
    "SELECT d.ds, d.kind AS k, sum(x) AS x FROM daily d LEFT JOIN o ON o.k = d.kind GROUP BY 1, 2": "k",
    "SELECT * FROM daily": "kind",
    "SELECT daily.* FROM daily JOIN o ON o.k = daily.kind": "kind",
    "SELECT daily.kind, o.k FROM o JOIN daily ON o.k = daily.kind": "kind",
    "SELECT DISTINCT kind FROM daily WHERE x > 1": "kind",
    "SELECT *, lag(x) OVER (PARTITION BY kind ORDER BY ds) AS l FROM daily": "kind",
    "WITH a AS (SELECT * FROM daily WHERE x > 1) SELECT kind AS z, count(*) AS n FROM a GROUP BY kind": "z",
    "WITH a AS (SELECT kind AS b, x FROM daily), c AS (SELECT b AS kind, x FROM a) SELECT kind, x FROM c": "kind",
    "SELECT kind, n FROM (SELECT kind, count(*) AS n FROM daily GROUP BY kind) AS f WHERE n > 1": "kind",
    "SELECT kind, (SELECT max(k) FROM o) AS m FROM daily": "kind",
    "SELECT KIND FROM Daily": "KIND",
}
MIXED = {
    "SELECT ds, sum(x) AS x FROM daily GROUP BY ds": "adds up",
    "SELECT ds, max(kind) AS kind FROM daily GROUP BY ds": "adds up",
    "SELECT upper(kind) AS kind FROM daily": "does not have kind|do not have kind",
    "SELECT upper(kind) AS kind FROM daily GROUP BY kind": "do not have kind",
    "SELECT x FROM daily": "do not have kind",
    "SELECT *, lag(x) OVER (PARTITION BY ds ORDER BY kind) AS l FROM daily": "in a window",
    "SELECT kind, sum(x) OVER w AS s FROM daily WINDOW w AS (PARTITION BY ds)": "in a window",
    "SELECT kind, sum(x) AS x FROM daily GROUP BY ROLLUP(kind)": "groups rows|adds up",
    "SELECT kind, x FROM daily ORDER BY x LIMIT 2": "LIMIT",
    "SELECT kind FROM daily UNION ALL SELECT k FROM o": "plain subquery",
    "SELECT d.kind, e.x FROM daily d JOIN daily e ON e.ds = d.ds": "several places",
    "WITH a AS (SELECT * FROM daily) SELECT a.kind, b.x FROM a JOIN a AS b ON b.ds = a.ds": "several places",
    "SELECT o.k AS kind, x FROM o LEFT JOIN daily ON o.k = daily.kind": "without a row",
    "SELECT kind, k FROM daily RIGHT JOIN o ON o.k = daily.kind": "without a row",
    "SELECT kind, k FROM daily FULL JOIN o ON o.k = daily.kind": "without a row",
    "SELECT k AS kind FROM o WHERE EXISTS (SELECT kind FROM daily WHERE x > 20)": "plain subquery",
    "SELECT k AS kind FROM o WHERE 20 IN (SELECT kind FROM daily)": "plain subquery",
    "SELECT k AS kind, (SELECT max(x) FROM daily) AS m FROM o": "do not have kind|adds up",
    "WITH a(kind, other) AS (SELECT x, kind FROM daily) SELECT kind FROM a": "plain subquery",
    "SELECT kind FROM (SELECT x, kind FROM daily) AS f(kind, other)": "names the columns",
    "SELECT kind FROM daily LATERAL VIEW explode(xs) t AS e": "LATERAL",
    "SELECT * EXCEPT (x) FROM daily": "do not have kind",
    "SELECT kind FROM daily TABLESAMPLE (10 PERCENT)": "part of",
    "SELECT kind FROM other_table": "not understood",
    "SELECT kind FROM": "not understood",
}


@pytest.mark.parametrize("query", PASSED)
def test_they_do(query: str) -> None:
    assert passed_columns(query, "daily", ["kind"]) == {"kind": PASSED[query]}


@pytest.mark.parametrize("query", MIXED)
def test_they_do_not_for_certain(query: str) -> None:
    with pytest.raises(RowsMixed, match=MIXED[query]):
        passed_columns(query, "daily", ["kind"])


@pytest.mark.parametrize("query", PASSED)
def test_rows_of_other_values_stay(query: str) -> None:
    """A database finds the same: rows of one kind come, go and change; those of other kinds, and of none, are as
    before."""
    before = {("d1", "a", 1), ("d1", "b", 10), ("d2", "a", 3), ("d2", "b", 4), ("d2", None, 5), ("d1", None, 6)}
    after = {row for row in before if row[1] != "a"} | {("d1", "a", 100), ("d3", "a", 7), ("d3", "a", 8)}
    rows = [others(query, daily) for daily in (before, after)]
    assert rows[0] == rows[1] and rows[0]


def others(query: str, daily: set[tuple[str, str | None, int]]) -> list[str]:
    """What the query gives where its column is not `a`."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE daily (ds, kind, x)")
    base.executemany("INSERT INTO daily VALUES (?, ?, ?)", sorted(daily, key=str))
    base.execute("CREATE TABLE o (k)")
    base.executemany("INSERT INTO o VALUES (?)", [("a",), ("b",), ("b",)])
    found = base.execute(f"SELECT * FROM ({query}) AS q WHERE {PASSED[query]} IS NOT 'a'").fetchall()
    base.close()
    return sorted(map(str, found))


def test_several_columns_and_tables() -> None:
    query = "SELECT kind AS k, ds, sum(x) AS x FROM daily JOIN o ON o.id = daily.id GROUP BY kind, ds"
    with pytest.raises(RowsMixed):  # whose `kind` is it?
        passed_columns(query, "daily", ["ds", "kind"])
    query = query.replace("kind", "daily.kind").replace("ds", "daily.ds")
    assert passed_columns(query, "daily", ["DS", "kind"]) == {"ds": "ds", "kind": "k"}
    with pytest.raises(RowsMixed, match="reads o as well"):
        passed_columns(query, "daily", ["ds"], ["o"])
