"""The folder of a shown table is gone. A restatement of all of it is built, compared and shown, with what reads it; its
rows are those of before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.apply import build_plan, check_plan, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import StateError
from backfill_assets.plan.stages import Request
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import build_all, days, say_yes, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONSUMERS = """\
last_verified: 2024-01-04
consumers:
  - name: board
    last_verified: 2024-01-04
    reads: [daily]
    queries: [{{name: sums, sql: "SELECT sum(total) AS t FROM {env}.daily"}}]
  - name: other
    last_verified: 2024-01-04
    reads: [running]
    queries: [{{name: rows, sql: "SELECT total FROM {env}.running"}}]
"""


def test_a_lost_table(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Consumers' queries are asked of the candidate; of what is lost they say so."""
    (tmp_path / "consumers.yml").write_text(CONSUMERS.format(env=environment))
    place = Context.open(small_project(tmp_path, days=3, batch_size=3, environment=environment))
    build_all(place)
    promote_plan(place)
    before = {m: _rows(m, environment, tmp_path) for m in ("daily", "running")}
    version = place.project.fingerprints["daily"]
    shutil.rmtree(table_path(place.warehouse, "daily", version))
    with pytest.raises(StateError, match="is gone"):
        _rows("daily", environment, tmp_path)

    started = start_apply(place, Request(restate=(("daily", days("2024-01-01", "2024-01-03")),)))
    checked = check_plan(place, build_plan(place, started))
    assert checked.unproved is None and not Path(table_path(place.warehouse, "daily", version)).exists()
    findings = [finding.name for proof in checked.proved.proofs for finding in proof.findings]
    assert findings == ["daily.unreadable"]
    (asked,) = [proof.document for proof in checked.proved.proofs if proof.kind == "consumers"]
    told = {rerun["query"]: rerun for rerun in asked["reruns"]}
    assert "is gone" in told["sums"]["shown"]["error"] and not told["sums"]["candidate"]["error"]
    assert told["rows"]["same"] and asked["met"]

    promoted = promote_plan(place, plan=started.stored)
    assert not promoted.verdict.open
    say_yes(place, started.stored, why="the disk died")
    assert promote_plan(place, plan=started.stored).verdict.open
    assert {m: _rows(m, environment, tmp_path) for m in before} == before


def _rows(model: str, environment: str, project: Path) -> list[tuple[object, ...]]:
    frame = backfill_assets.read(model, environment=environment, project=project).to_pandas()
    return sorted(map(tuple, frame.to_numpy().tolist()))


@pytest.mark.parametrize("write", ["merge", "replace"])
def test_times_of_change_where_a_file_is_lost(
    spark: SparkSession, tmp_path: Path, environment: str, write: str
) -> None:
    """Rows that are shown keep their `updated_at`; of those that are lost nobody knows it, and they are new. New logic,
    too, is built although a day of the old one is lost."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("grain:", f"write: {write}\nupdated_at: changed\ngrain:", 1))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    before = {row[0]: row[-1] for row in _rows("daily", environment, root)}
    table = Path(table_path(place.warehouse, "daily", place.project.fingerprints["daily"]))
    (lost,) = table.glob("ds=2024-01-02/*.parquet")
    lost.unlink()
    started = start_apply(place, Request(restate=(("daily", days("2024-01-02", "2024-01-02")),)))
    assert build_plan(place, started).complete

    model.write_text(model.read_text().replace("grain:", 'code_version: "2"\ngrain:', 1))
    place = Context.open(root)
    assert all(outcome.ok for outcome in build_all(place).values())
    after = {row[0]: row[-1] for row in _built(place, "daily")}
    kept = {day for day in before if after[day] == before[day]}
    assert {str(day) for day in before.keys() - kept} == {"2024-01-02"}


def _built(place: Context, model: str) -> list[tuple[object, ...]]:
    from deltalake import DeltaTable

    table = DeltaTable(table_path(place.warehouse, model, place.project.fingerprints[model]))
    return sorted(map(tuple, table.to_pandas().to_numpy().tolist()))
