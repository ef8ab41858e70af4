"""What do consumers' queries give over a candidate and over prod? The same as pandas over the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.candidate import open_plan
from backfill_assets.app.consumers import rerun_consumers
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.contracts.rerun import Rerun
from backfill_assets_tests.projects import build_all, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONSUMERS = """\
consumers:
  - name: board
    reads: {{daily: [ds, kind, n, total]}}
    queries:
      - {{name: by_kind, sql: "SELECT kind, sum(total) AS total FROM {env}.daily GROUP BY kind", min_rows: 2,
         bounds: {{total: {{min: 0, max: 300}}}}}}
      - {{name: counts, sql: "SELECT d.ds, d.n, CAST(NULL AS INT) AS nothing FROM {env}.daily AS d"}}
      - name: mean
        sql: SELECT avg(CAST(n AS DOUBLE)) AS mean, map(1, max(n)) AS m, 1 AS x, 2 AS x FROM {env}.daily
      - {{name: fails, sql: "SELECT 1 / (max(n) - max(n)) AS boom FROM {env}.daily"}}
      - {{name: typo, sql: "SELECT totl FROM {env}.daily"}}
      - {{name: none, sql: "SELECT ds FROM {env}.daily WHERE n > 1000", min_rows: 1}}
  - {{name: other, reads: [running], queries: [{{name: rows, sql: "SELECT total FROM {env}.running"}}]}}
"""


@pytest.fixture
def reruns(spark: SparkSession, tmp_path: Path, environment: str) -> dict[str, Rerun]:
    """Prod shows totals; the candidate of an open plan shows them doubled, and `running` from them."""
    (tmp_path / "consumers.yml").write_text(CONSUMERS.format(env=environment))
    place = Context.open(small_project(tmp_path, days=3, batch_size=3, environment=environment))
    build_all(place)
    promote_plan(place)
    file = tmp_path / "models" / "daily.sql"
    file.write_text(file.read_text().replace("sum(amount) AS total", "sum(2 * amount) AS total"))
    place = Context.open(tmp_path)
    opened = open_plan(place, plan_request(place))
    assert opened is not None
    build_all(place)
    found = rerun_consumers(place, opened.plan.id)
    assert set(found.pointers) == {"daily", "running"} and not found.met
    return {r.query: r for r in found.reruns}


def test_answers(reruns: dict[str, Rerun], tmp_path: Path, environment: str) -> None:
    """Rows, extremes, checksums, errors: of both environments, judged by what the consumer expects."""
    prod = backfill_assets.read("daily", environment=environment, project=tmp_path).to_pandas()
    by_kind = prod.groupby("kind")["total"].sum().astype(float)
    one = reruns["by_kind"]
    assert one.shown is not None
    assert one.shown.extremes == {"total": (by_kind.min(), by_kind.max())}
    assert one.candidate.extremes == {"total": (2 * by_kind.min(), 2 * by_kind.max())}
    assert (one.shown.sums["total"], one.candidate.sums["total"]) == (by_kind.sum(), 2 * by_kind.sum())
    assert one.candidate.rows == one.shown.rows == len(by_kind) and one.candidate.columns == ("kind", "total")
    assert 2 * by_kind.max() > 300 and one.missed == (f"total goes up to {2 * by_kind.max():g}; expected at most 300",)
    assert not one.same and one.candidate.checksum != one.shown.checksum
    assert {row[0] for row in one.candidate.sample} == {"a", "b"}

    counts, mean = reruns["counts"], reruns["mean"]
    assert counts.same and counts.met and counts.candidate.rows == len(prod)
    assert "NULL" in counts.candidate.sample[0]
    assert mean.same and mean.met and float(mean.candidate.sample[0][0]) == prod["n"].mean()
    assert "ivi" in reruns["fails"].missed[0] and "totl" in reruns["typo"].missed[0]
    assert reruns["none"].missed == ("0 rows; expected at least 1",)
    assert not reruns["rows"].same and reruns["rows"].met, "running is computed from other totals"
