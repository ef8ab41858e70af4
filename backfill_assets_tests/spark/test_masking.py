"""Masked values are nowhere to be read: not in an audit's samples, not in an error, not in a consumer's answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.consumer_queries import run_queries
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.consumer import Bound, Consumer, ConsumerQuery
from backfill_assets_tests.projects import build_all, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = """\
sources:
  - name: raw.users
    format: csv
    path: data/users.csv
    columns: {id: bigint, at: timestamp, email: string}
    options: {header: true}
    mask: [email]
"""
USERS = """\
/*
start: 2024-01-01
end: 2024-01-02
grain: [ds, contact]
audits:
  - unique_grain
  - sql: no_friends
*/
SELECT CAST(at AS DATE) AS ds, email AS contact, id AS n
FROM raw.users WHERE at >= :start AND at < :end
"""
SECRET = "secret-person"


def test_nothing_shows_a_masked_value(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A key twice, a custom query's rows, a cast that fails on the value, a query of `max(contact)`."""
    (tmp_path / "data").mkdir()
    rows = [f"1,2024-01-01T01:00:00Z,{SECRET}@x", f"2,2024-01-01T02:00:00Z,{SECRET}@x"]
    (tmp_path / "data" / "users.csv").write_text("\n".join(["id,at,email", *rows]) + "\n")
    (tmp_path / "audits").mkdir()
    audit = tmp_path / "audits" / "no_friends.sql"
    audit.write_text("SELECT ds, contact, n FROM users WHERE ds >= :start AND ds < :end AND n > 1")
    write_project(tmp_path, {"users.sql": USERS}, sources=SOURCES, clock="2024-01-02", environment=environment)
    place = Context.open(tmp_path)
    outcome = build_all(place)["users"]
    assert {r.check for r in outcome.results if not r.passed} == {"unique_grain", "no_friends"}
    assert "contact=***" in str(outcome.results)
    assert SECRET not in str(outcome)

    path = tmp_path / "models" / "users.sql"
    path.write_text(USERS.replace("id AS n", "id + CAST(email AS INT) AS n"))
    outcome = build_all(Context.open(tmp_path))["users"]
    assert "***" in str(outcome.failures)
    assert SECRET not in str(outcome)

    good = USERS.replace("SELECT CAST(at AS DATE) AS ds, email", "SELECT CAST(at AS DATE) AS ds, concat(id, email)")
    path.write_text(good)
    audit.write_text(audit.read_text().replace("n > 1", "n > 9"))
    place = Context.open(tmp_path)
    assert build_all(place)["users"].ok
    promote_plan(place)
    shown = place.control.environments.read(environment)
    texts = [
        "SELECT max(contact) AS c FROM {}.users",
        "TABLE {}.users",
        "FROM {}.users |> LIMIT 3",
        "SELECT b FROM {}.users AS u(a, b, c)",
        "WITH u AS (TABLE {}.users) SELECT max(q) AS m FROM u AS t(p, q, r)",
        "SELECT max(length(contact)) AS top FROM {}.users",
        "SELECT CAST(contact AS INT) AS n FROM {}.users",
        "SELECT raise_error(concat('seen ', contact)) AS n FROM {}.users",
    ]
    queries = [ConsumerQuery(name=f"q{n}", sql=sql.format(environment)) for n, sql in enumerate(texts)]
    queries[5] = replace(queries[5], bounds=(Bound(column="top", max=1),))
    consumer = Consumer(name="board", kind="dashboard", reads=("users",), queries=tuple(queries), file=path)
    masks = {"users": place.project.models["users"].mask}
    answers = list(run_queries(place.spark, [consumer], shown, shown, place.warehouse, masks))
    assert len(answers) == len(texts) and SECRET not in str(answers)
    assert all(a.same for a in answers[:6]) and answers[5].missed == ("top is beyond its bound",)
    assert answers[1].candidate.sample[0][0] == "2024-01-01" and answers[1].candidate.sample[0][1] == "***"
    assert [a.candidate.error for a in answers[6:]] == ["[CAST_INVALID_INPUT] ***", "[USER_RAISED_EXCEPTION] ***"]
