"""The plan tells who is affected; their queries and evaluations run over the candidate before promotion (D4, E6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONSUMERS = """\
last_verified: 2024-01-01
consumers:
  - name: board
    owner: board@example.com
    reads: {running: [ds, total]}
    history: 2 days
    notice: 7 days
    queries:
      - {name: totals, sql: "SELECT ds, total FROM prod.running", min_rows: 4, bounds: {total: {min: 0}}}
  - name: agent
    kind: agent
    owner: growth@example.com
    reads: {daily: [ds, kind, total]}
    queries:
      - {name: kinds, sql: SELECT count(DISTINCT kind) AS kinds FROM prod.daily, bounds: {kinds: {min: 2, max: 2}}}
    evaluations:
      - {name: replay, query: kinds, days: 2024-01-01..2024-01-03}
      - {name: script, command: sh evaluate.sh, days: 2024-01-02..2024-01-03}
  - {name: counts, owner: me@example.com, reads: {daily: [n]}}
"""
EVALUATE = 'test "$BACKFILL_ENVIRONMENT" != prod && echo "judged $BACKFILL_ENVIRONMENT"\n'


def test_consumers_before_promotion(spark: SparkSession, tmp_path: Path) -> None:
    """The plan names who is affected and which evaluations are void; a wrong sign is found by a dashboard's bound, and
    not any more once it is mended. Who reads other columns is not affected, and gets the same answer."""
    project = small_project(tmp_path, days=4, batch_size=4)
    (project / "consumers.yml").write_text(CONSUMERS)
    (project / "evaluate.sh").write_text(EVALUATE)
    model = project / "models" / "daily.sql"
    model.write_text(model.read_text().replace("owner: ana@example.com\n", ""))
    assert backfill("apply", "--promote", project=project).code == 0
    early = backfill("consumers", "--check", project=project)
    assert early.code == 1 and "no plan is open" in early.err

    daily = project / "models" / "daily.sql"
    daily.write_text(
        daily.read_text().replace("sum(amount) AS total", "-sum(amount) AS total").replace("min: 0", "min: -9999")
    )
    planned = backfill("plan", "--json", project=project)
    assert planned.code == 0, planned.err
    impact = {i["consumer"]: i for i in planned.json["impact"]}
    assert {n: i["affected"] for n, i in impact.items()} == {"board": True, "agent": True, "counts": False}
    days = impact["board"]["models"][0]["days"]
    assert days == [["2024-01-03T00:00:00+00:00", "2024-01-05T00:00:00+00:00"]], (
        "two days of history, of four that change"
    )
    assert impact["board"]["notice_until"] == "2024-01-12T00:00:00+00:00"
    assert [e["name"] for e in impact["agent"]["void_evaluations"]] == ["replay", "script"]
    text = backfill("plan", project=project).out
    assert "Who is affected" in text and "not affected: counts" in text and "replay (2024-01-01..2024-01-03)" in text

    before = backfill("preflight", "--json", project=project)
    assert before.code == 4, before.err
    assert ("daily", "nobody owns it", True) in [
        (f["subject"], f["what"], f["blocking"]) for f in before.json["findings"]
    ]
    assert [s["window"] for s in before.json["inventory"]] == ["2024-01-01..2024-01-04"] * 2
    assert "backfill preflight" in text

    assert backfill("apply", project=project).code == 0
    checked = backfill("consumers", "--check", "--json", project=project)
    assert checked.code == 3, checked.err
    answers = {(r["consumer"], r["evaluation"] or r["query"]): r for r in json.loads(checked.out)["reruns"]}
    assert {k for k, r in answers.items() if not r["met"]} == {("board", "totals")}
    [missed] = answers["board", "totals"]["missed"]
    assert missed.startswith("total goes down to -") and answers["board", "totals"]["shown"]["rows"] == 4
    assert answers["agent", "replay"]["same"] and answers["agent", "kinds"]["same"]
    assert answers["agent", "script"]["candidate"]["sample"] == [[f"judged plan-{checked.json['plan']}"]]

    daily.write_text(daily.read_text().replace("-sum(amount) AS total", "sum(amount) + 1 AS total"))
    assert backfill("apply", project=project).code == 0
    checked = backfill("consumers", "--check", project=project)
    assert checked.code == 0, checked.out
    assert "ok  board.totals  4 rows, which differ from prod's: total, total " in checked.out
    assert "ok  agent.replay  evaluation, 1 rows, the same as prod's" in checked.out
