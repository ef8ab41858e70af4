"""Samples and verdicts tell no value of a masked column, whichever table it is a column of."""

from __future__ import annotations

import duckdb
import pytest

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.kinds import kind_of
from backfill_assets.audits.masked import shown_outputs
from backfill_assets.audits.relations import AuditedTable
from backfill_assets.audits.sample import sample_failures
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Audit
from backfill_assets.sql.text import bucket
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables

AT = bucket("ds", Cadence.DAILY)
DAY = days("01")
TABLES = {"m": ["ds", "id", "x"], "users": ["id", "email", "city"]}
MASKS = {"m": [], "users": ["email"]}
QUERIES = [
    # a query over `m` and `users`, its columns, and those that may be shown
    ("SELECT m.ds, id, email FROM m JOIN users USING (id)", ["ds", "id", "email"], ["ds", "id"]),
    ("SELECT m.ds, substr(u.email, 1, 3) AS id FROM m JOIN users AS u ON u.id = m.id", ["ds", "id"], ["ds"]),
    ("WITH u AS (SELECT id, email AS city FROM users) SELECT u.city FROM m JOIN u USING (id)", ["city"], []),
    ("SELECT ds, CASE WHEN email LIKE 'a%' THEN 1 END AS a FROM m JOIN users USING (id)", ["ds", "a"], ["ds"]),
    ("SELECT ds, (SELECT max(email) FROM users) AS a FROM m", ["ds", "a"], ["ds"]),
    ("SELECT ds, x FROM m UNION ALL SELECT NULL, email FROM users", ["ds", "x"], ["ds"]),
    ("SELECT ds, count(*) AS n FROM m JOIN users USING (id) GROUP BY ds", ["ds", "n"], ["ds", "n"]),
    ("SELECT city FROM users WHERE email IS NULL", ["city"], ["city"]),
    ("SELECT *, 1 AS one FROM users", ["id", "email", "city", "one"], ["id", "city", "one"]),
    ("SELECT u, 1 AS one FROM users AS u", ["u", "one"], []),
    ("SELECT ds, struct(w.*) AS s FROM m CROSS JOIN (SELECT email FROM users) AS w", ["ds", "s"], ["ds"]),
    ("SELECT count(*) AS n, count(DISTINCT *) AS d FROM users", ["n", "d"], ["n"]),
    ("SELECT * FROM m JOIN users ON users.id = m.id", ["ds", "id", "x", "id", "email", "city"], []),
    ("SELECT to_json(struct(*)) AS j FROM users", ["j"], []),
    ("TABLE users", ["id", "email", "city"], ["id", "city"]),
    ("FROM users |> LIMIT 3", ["id", "email", "city"], ["id", "city"]),
    ("SELECT b, c FROM users AS u(a, b, c)", ["b", "c"], ["c"]),
    ("WITH u AS (TABLE users) SELECT max(b) AS x FROM u AS t(a, b, c)", ["x"], []),
    ("FROM users |> EXTEND email AS q |> DROP email |> SELECT q, id", ["q", "id"], []),
    ("SELECT count(*), max(email) FROM users", ["count(1)", "max(email)"], ["count(1)"]),
    ("SELECT email AS id FROM IDENTIFIER('users')", ["id"], []),
    ("SELECT id, IDENTIFIER('email') AS x FROM users", ["id", "x"], []),
    ("SELECT email AS id FROM delta.`/users`", ["id"], []),
    ("VALUES ((SELECT max(email) FROM users))", ["col1"], []),
    ("SELECT x, count(*) FROM m GROUP BY x", ["x", "count(1)"], ["x", "count(1)"]),
    ("SELECT ds, first(email) OVER (ORDER BY ds) AS e FROM m JOIN users USING (id)", ["ds", "e"], ["ds"]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "columns", "shown"), QUERIES)
def test_what_may_be_shown(query: str, columns: list[str], shown: list[str]) -> None:
    """By lineage, not by name; nothing where a query is not seen through, all where nothing is masked."""
    assert list(shown_outputs(query, columns, TABLES, MASKS)) == shown
    assert list(shown_outputs(query, columns, TABLES, {"m": [], "users": []})) == columns


@pytest.fixture
def tables() -> DuckTables:
    duck = duckdb.connect()
    duck.execute("CREATE TABLE rows AS SELECT DATE '2024-01-01' AS ds, 1::BIGINT AS id, 5::BIGINT AS x, '' AS name")
    duck.execute(
        "CREATE TABLE users AS SELECT DATE '2024-01-01' AS day, 1::BIGINT AS id, 'secret@x' AS email, 'Rome' AS city"
    )
    duck.execute("CREATE TABLE bad AS SELECT DATE '2024-01-01' AS ds, 'secret@x' AS id, 'Rome' AS city")
    users = AuditedTable(view="users", columns=TABLES["users"], mask={"email"}, time_column="day", dates=True)
    return DuckTables(duck, tables=[users], failing=AuditedTable(view="bad", columns=("ds", "id", "city")))


def sample(tables: DuckTables, audit: Audit) -> list[str]:
    return sample_failures(a_model("m", audits=(audit,)), audit, Ranges((DAY,)), tables)[DAY.start]


def test_samples_follow_lineage(tables: DuckTables) -> None:
    """An audit's own query that calls another table's e-mail `id`; entities; groups and values compared with it."""
    query = "SELECT ds, email AS id, city FROM m JOIN users USING (id)"
    own = Audit(name="check", kind="sql", arguments={"query": query, "reads": ("m", "users"), "file": "check"})
    assert sample(tables, own) == ["ds=2024-01-01, id=***, city=Rome"]
    whole = {"query": "SELECT to_json(struct(*)) FROM users", "reads": ("users",), "file": "check"}
    assert sample(tables, Audit(name="check", kind="sql", arguments=whole)) == ["a row (***)"]
    entity = Audit(name="check", kind="entities", arguments={"column": "name", "of": "users", "field": "email"})
    assert sample(tables, entity) == ["name=***"]
    grouped = {"metric": "count(*)", "of": "users", "of_metric": "max(id) + 1", "by": {"id": "id"}}
    assert sample(tables, Audit(name="check", kind="reconcile", arguments=grouped)) == ["id=1, 1 here, 2 in users"]
    told = {"metric": "max(x)", "of": "users", "of_metric": "max(length(email))"}
    assert sample(tables, Audit(name="check", kind="reconcile", arguments=told)) == ["*** here, *** in users"]


@pytest.mark.parametrize("kind", ["aggregate", "trend"])
def test_a_metric_of_masked_values_is_not_told(kind: str) -> None:
    """`max(salary)` is somebody's salary; how far it moved is not."""
    arguments = {"metric": "max(x)", "max": 10, "max_change_percent": 10, "neighbours": 2}
    audit = Audit(name="check", kind=kind, arguments=arguments)
    for near in ((50_000.0,) * 4, ()):
        here = Counts(rows=1, values={"check": 98_765.0}, neighbours={"check": near})
        models = (a_model("m", audits=(audit,), mask=m) for m in ((), ("X",)))
        open_, masked = (kind_of(audit).verdict(model, DAY, here, None) for model in models)
        assert "98765" in open_.observed.replace(",", "") and open_.passed == masked.passed
        assert "***" in masked.observed and not any(c in masked.observed for c in ("98", "50000"))
