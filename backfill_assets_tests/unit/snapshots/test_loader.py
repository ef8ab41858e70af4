"""A good project loads into the values that everything else reasons about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from backfill_assets.intervals import Cadence, utc
from backfill_assets.snapshots.loader import load_project
from backfill_assets.snapshots.model import Column, ColumnRef, Upstream
from backfill_assets_tests.unit.snapshots.helpers import PYTHON, REPORT, SOURCES, project, sql

FULL = """\
description: One row per day.
owner: me@example.com
cadence: Weekly
start: 2024-01-01
end: 2024-06-01
grain: [ds, CLICKS]
lookback: 2
batch_size: 10
batch_concurrency: 3
retries: 0
timeout: 20m
pool: heavy
spark: {spark.sql.shuffle.partitions: 4, spark.x: true}
tags: {team: growth}
columns:
  ds: The day.
  clicks: {description: Clicks., type: bigint}
audits:
  - not_null: [ds]
  - not_null: {columns: clicks, severity: warn}
  - range: {column: clicks, min: 0, name: positive}
  - accepted_values: {column: ds, values: [2024-01-01]}
  - completeness
  - row_count: {within_percent: 5, of: prod}
"""


def test_every_key_of_a_header(tmp_path: Path) -> None:
    """What the header says is what the model has."""
    root = project(tmp_path, m_sql=sql("-- why\nSELECT * FROM Events\nWHERE ds >= :start AND ds < :end;", FULL))
    model = load_project(root).models["m"]
    assert (model.cadence, model.start, model.end) == (Cadence.WEEKLY, utc("2024-01-01"), utc("2024-06-01"))
    assert (model.lookback, model.batch_size, model.batch_concurrency, model.retries) == (2, 10, 3, 0)
    assert (model.timeout, model.pool, model.tags) == (1200, "heavy", {"team": "growth"})
    assert model.spark == {"spark.sql.shuffle.partitions": "4", "spark.x": "true"}
    assert model.code == "-- why\nSELECT * FROM Events\nWHERE ds >= :start AND ds < :end"
    assert model.code_line == 27
    assert model.upstreams == (Upstream(name="events"),)
    assert [(a.name, a.kind, a.arguments, a.blocking, a.line) for a in model.audits] == [
        ("not_null", "not_null", {"columns": ("ds",)}, True, 20),
        ("not_null_2", "not_null", {"columns": ("clicks",)}, False, 21),
        ("positive", "range", {"column": "clicks", "min": 0}, True, 22),
        ("accepted_values_ds", "accepted_values", {"column": "ds", "values": ("2024-01-01",)}, True, 23),
        ("completeness", "completeness", {"min_rows": 1}, True, 24),
        ("row_count", "row_count", {"within_percent": 5.0, "of": "prod"}, True, 25),
        ("unique_grain", "unique_grain", {}, True, 7),
    ]


def test_columns_and_lineage(tmp_path: Path) -> None:
    """Columns have types and descriptions; lineage names direct upstream columns."""
    loaded = load_project(project(tmp_path, m_sql=REPORT, p_py=PYTHON))
    assert list(loaded.models) == ["events", "m", "roi"]
    assert loaded.columns["events"] == (
        Column(name="ds", type="date"),
        Column(name="campaign_id", type="bigint"),
        Column(name="clicks", type="bigint"),
        Column(name="spend", type="decimal(28,4)"),
    )
    assert loaded.lineage["events"]["spend"] == (ColumnRef(table="raw.ad_events", column="spend"),)
    assert loaded.lineage["events"]["clicks"] == ()
    assert loaded.lineage["m"]["clicks"] == (ColumnRef(table="events", column="clicks"),)
    assert loaded.columns["roi"] == (Column(name="ds", type="date"), Column(name="roi", type="double"))
    assert loaded.lineage["roi"] == {}
    assert loaded.models["events"].batch_size == loaded.settings.batch_size


def test_python_model(tmp_path: Path) -> None:
    """Parameters are upstreams, constants are followed, the docstring describes."""
    code = PYTHON.replace('"2024-01-01"', "START").replace("\n\n\n@", '\n\nSTART = "2024-02-01"\n\n\n@')
    model = load_project(project(tmp_path, p_py=code, _helpers_py="import nothing\n")).models["roi"]
    assert (model.language, model.description, model.start) == ("python", "Return on spend.", utc("2024-02-01"))
    assert model.upstreams == (
        Upstream(name="events", parameter="events"),
        Upstream(name="raw.ad_events", parameter="raw"),
    )
    assert model.code == code


def test_sources_say_where_they_are(tmp_path: Path) -> None:
    """Paths start at the project; a Delta table without declared columns is asked for them."""
    write_deltalake(str(tmp_path / "data/clicks"), pa.table({"id": pa.array([1], pa.int64()), "at": pa.array(["x"])}))
    text = SOURCES + "    freshness: 36h\n    options: {header: true}\n  - {name: clicks, path: data/clicks}\n"
    sources = load_project(project(tmp_path, sources=text)).sources
    assert sources["raw.ad_events"].path == str((tmp_path / "data/ad_events").resolve())
    assert (sources["raw.ad_events"].freshness_hours, sources["raw.ad_events"].options) == (36.0, {"header": "true"})
    assert sources["clicks"].columns == (Column(name="id", type="bigint"), Column(name="at", type="string"))


def test_consumers(tmp_path: Path) -> None:
    """What a consumer reads is spelled as the model is."""
    text = "consumers:\n  - {name: d, kind: agent, reads: [EVENTS]}\n"
    consumer = load_project(project(tmp_path, consumers=text)).consumers["d"]
    assert (consumer.kind, consumer.reads, consumer.line) == ("agent", ("events",), 2)


def test_an_empty_project(tmp_path: Path) -> None:
    """A folder without models is a project without models."""
    assert load_project(tmp_path).models == {}


def test_reading_a_project_is_light(tmp_path: Path) -> None:
    """Neither Spark nor Dagster nor the table libraries are imported."""
    root = project(tmp_path, m_sql=REPORT, p_py=PYTHON)
    code = (
        "import sys; from pathlib import Path; from backfill_assets.snapshots.loader import load_project\n"
        f"load_project(Path({str(root)!r}))\n"
        "print([m for m in ('pyspark', 'dagster', 'sqlframe', 'pandas', 'pyarrow', 'deltalake') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_long_chain(tmp_path: Path) -> None:
    """Models come in dependency order, however they are named."""
    files = {f"m{i:03}_sql": REPORT.replace("events", f"m{i - 1:03}" if i else "events") for i in range(60)}
    loaded = load_project(project(tmp_path, **files))
    assert list(loaded.models)[-1] == "m059"
