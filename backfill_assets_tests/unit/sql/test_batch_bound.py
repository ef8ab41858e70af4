"""Which queries may look at several intervals of their batch at once?"""

from __future__ import annotations

import pytest

from backfill_assets.core.intervals import Cadence
from backfill_assets.sql.batch_bound import may_depend_on_batch

WITHIN = "WHERE ds >= :start AND ds < :end"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT ds, id, rank() OVER (ORDER BY v) AS n FROM t {WITHIN}",
        f"SELECT ds, id, sum(v) OVER (PARTITION BY k ORDER BY id) AS s FROM t {WITHIN}",
        f"SELECT ds, id, sum(v) OVER w AS s FROM t {WITHIN} WINDOW w AS (PARTITION BY k)",
        f"SELECT ds, id FROM t b {WITHIN} AND NOT EXISTS (SELECT 1 FROM t p WHERE p.k = b.k AND p.id < b.id)",
        f"SELECT ds, id FROM t {WITHIN} AND k IN (SELECT k FROM t {WITHIN} GROUP BY k, ds)",
        f"SELECT ds, id FROM t {WITHIN} AND k IN (SELECT k FROM t UNION ALL SELECT k FROM u)",
        f"SELECT ds, id, v - (SELECT avg(v) FROM t {WITHIN}) AS n FROM t {WITHIN}",
        f"SELECT ds, id, datediff(:end, :start) AS n FROM t {WITHIN}",
        f"SELECT ds, id, at < :end AS n FROM t {WITHIN}",
        f"SELECT ds, id FROM t {WITHIN} AND datediff(:end, ds) < 3",
        f"SELECT t.ds FROM (SELECT DISTINCT k FROM t {WITHIN}) AS u JOIN t ON t.k = u.k {WITHIN}",
        f"SELECT * FROM (SELECT ds, id FROM t {WITHIN} ORDER BY ds, id LIMIT 3)",
        f"SELECT k, max(ds) AS ds FROM t {WITHIN} GROUP BY k",
        f"SELECT max(ds) AS ds, count(*) AS n FROM t {WITHIN}",
        f"SELECT ds, k, count(*) AS n FROM t {WITHIN} GROUP BY GROUPING SETS ((ds, k), (k))",
        "SELECT i.ds, c.at FROM i JOIN c ON c.i = i.id WHERE i.ds >= :start AND i.ds < :end AND c.ds >= :start "
        "AND c.ds < :end",
        "SELECT i.ds, count(c.at) AS n FROM i LEFT JOIN (SELECT * FROM c WHERE ds >= :start AND ds < :end) c "
        "ON c.i = i.id WHERE i.ds >= :start AND i.ds < :end GROUP BY i.ds",
        "SELECT a.ds FROM t a, t b WHERE a.k = b.k AND a.ds >= :start AND b.ds >= :start",
        f"SELECT k FROM t {WITHIN} INTERSECT ALL SELECT k FROM u {WITHIN}",
        f"SELECT ds, sum(v) OVER (PARTITION BY k, date_trunc('MONTH', ds) ORDER BY ds) AS s FROM t {WITHIN}",
        f"SELECT ds, sum(v) OVER (PARTITION BY trunc(ds, 'MM')) AS s FROM t {WITHIN}",
        f"SELECT ds, sum(v) OVER (PARTITION BY CAST(signed_up AS DATE)) AS s FROM t {WITHIN}",
        f"SELECT ds, sum(v) OVER (PARTITION BY trunc(price, 2)) AS s FROM t {WITHIN}",
        f"SELECT ds, sum(v) OVER (PARTITION BY CAST(date_trunc('YEAR', ds) AS DATE)) AS s FROM t {WITHIN}",
        f"WITH a AS (SELECT * FROM t {WITHIN}), b AS (SELECT ds AS d, k FROM a) SELECT a.ds FROM a JOIN b ON b.k = a.k "
        "WHERE a.ds < :end",
        "this is no query (",
    ],
)
def test_the_batch_as_a_whole(query: str) -> None:
    assert may_depend_on_batch(query, "ds", Cadence.DAILY)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT ds, v FROM t {WITHIN}",
        f"SELECT ds, k, count(*) AS n FROM t {WITHIN} GROUP BY ds, k",
        f"SELECT DS, k, count(*) AS n FROM t {WITHIN} GROUP BY 1, 2",
        f"SELECT CAST(at AS DATE) AS ds, k, count(*) AS n FROM t {WITHIN} GROUP BY ALL",
        f"SELECT to_date(at) AS ds, count(*) AS n FROM t {WITHIN} GROUP BY to_date(at)",
        "WITH a AS (SELECT k, CAST(at AS DATE) AS d, max(x) AS x FROM t WHERE at >= :start GROUP BY k, 2) "
        "SELECT d AS ds, x FROM a",
        f"SELECT ds, rank() OVER (PARTITION BY k, ds ORDER BY v) AS n FROM t {WITHIN}",
        f"SELECT ds, sum(v) OVER w AS s FROM t {WITHIN} WINDOW w AS (PARTITION BY ds)",
        f"SELECT DISTINCT ds, k FROM t {WITHIN}",
        f"SELECT ds, x FROM t {WITHIN} UNION SELECT ds, y FROM u {WITHIN}",
        "SELECT a.ds, sum(b.v) AS v FROM a JOIN b ON b.ds BETWEEN date_sub(a.ds, 6) AND a.ds "
        "WHERE a.ds >= :start AND a.ds < :end GROUP BY a.ds",
        "SELECT date_trunc('HOUR', at) AS ds, count(*) AS n FROM t WHERE at BETWEEN :start AND :end "
        "GROUP BY date_trunc('HOUR', at)",
        f"SELECT ds, sum(sum(v)) OVER (PARTITION BY ds) AS s FROM t {WITHIN} GROUP BY ds, k",
        f"SELECT ds, p.name FROM t JOIN raw.products p USING (id) {WITHIN}",
        f"WITH a AS (SELECT * FROM t {WITHIN}), b AS (SELECT * FROM u {WITHIN}) SELECT a.ds, p.name FROM a "
        "LEFT JOIN b ON b.ds = a.ds AND b.k = a.k LEFT JOIN raw.products AS p ON p.id = a.id",
        "SELECT a.ds, b.n FROM a LEFT JOIN b ON b.k = a.k AND b.ds = a.ds WHERE a.ds >= :start AND a.ds < :end "
        "AND b.ds >= :start AND b.ds < :end",
        f"WITH x AS (SELECT * FROM t {WITHIN}), y AS (SELECT * FROM u {WITHIN}) SELECT ds FROM x JOIN y USING (k, ds)",
    ],
)
def test_interval_by_interval(query: str) -> None:
    assert not may_depend_on_batch(query, "ds", Cadence.DAILY)


@pytest.mark.parametrize(
    ("cadence", "units"),
    [
        (Cadence.HOURLY, ["HOUR"]),
        (Cadence.DAILY, ["HOUR", "DAY"]),
        (Cadence.WEEKLY, ["HOUR", "DAY", "WEEK"]),
        (Cadence.MONTHLY, ["HOUR", "DAY", "MONTH"]),
    ],
)
def test_what_lies_within_an_interval(cadence: Cadence, units: list[str]) -> None:
    """A week lies in no month, a month in no day; a day has several hours."""
    query = "SELECT at, sum(v) OVER (PARTITION BY date_trunc('{}', at)) AS s FROM t WHERE at >= :start AND at < :end"
    asked = {u: may_depend_on_batch(query.format(u), "x", cadence) for u in ("HOUR", "DAY", "WEEK", "MONTH", "YEAR")}
    assert [unit for unit, whole in asked.items() if not whole] == units
