"""A good project loads into the values that everything else reasons about."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.core.consumer import Bound, ModelUse
from backfill_assets.core.errors import ProjectError
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.core.model import Column, ColumnRef, SourceReady, Terms, Upstream
from backfill_assets.project.loader import load_project
from backfill_assets.project.stored import from_definition, to_definition
from backfill_assets_tests.unit.project.helpers import EVENTS, PYTHON, REPORT, SOURCES, project, sql

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
    columns = ("ds", "campaign_id", "clicks", "spend")
    assert model.upstreams == (Upstream(name="events", columns=columns),)
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
    assert (loaded.models["events"].batch_size, loaded.settings.batch_size) == (0, None), "a plan finds out"


def test_python_model(tmp_path: Path) -> None:
    """Parameters are upstreams, constants are followed, the docstring describes."""
    code = PYTHON.replace('"2024-01-01"', "START").replace("\n\n\n@", '\n\nSTART = "2024-02-01"\n\n\n@')
    model = load_project(project(tmp_path, p_py=code, _helpers_py="import nothing\n")).models["roi"]
    assert (model.language, model.description, model.start) == ("python", "Return on spend.", utc("2024-02-01"))
    assert [(u.name, u.parameter) for u in model.upstreams] == [("events", "events"), ("raw.ad_events", "raw")]
    assert model.code == code


def test_sources_say_where_they_are(tmp_path: Path) -> None:
    """Paths start at the project; a Delta table without declared columns is asked for them."""
    write_deltalake(str(tmp_path / "data/clicks"), pa.table({"id": pa.array([1], pa.int64()), "at": pa.array(["x"])}))
    text = SOURCES + "    freshness: 36h\n    options: {header: true}\n  - {name: clicks, path: data/clicks}\n"
    sources = load_project(project(tmp_path, sources=text)).sources
    assert sources["raw.ad_events"].path == str((tmp_path / "data/ad_events").resolve())
    assert (sources["raw.ad_events"].freshness_hours, sources["raw.ad_events"].options) == (36.0, {"header": "true"})
    assert sources["clicks"].columns == (Column(name="id", type="bigint"), Column(name="at", type="string"))


def test_how_a_source_says_that_it_is_ready(tmp_path: Path) -> None:
    said = {
        "a": "{file: _SUCCESS}",
        "b": "{file: _SUCCESS, every_day: false}",
        "c": "later_rows",
    }
    entries = (
        f"  - {{name: {n}, format: parquet, path: data/{n}, time_column: ds, columns: {{ds: date}}, ready: {text}}}\n"
        for n, text in said.items()
    )
    sources = load_project(project(tmp_path, sources=SOURCES + "".join(entries))).sources
    assert {name: sources[name].ready for name in said} == {
        "a": SourceReady(file="_SUCCESS", every_day=True),
        "b": SourceReady(file="_SUCCESS", every_day=False),
        "c": SourceReady(),
    }


def test_all_of_a_consumer(tmp_path: Path) -> None:
    """What it reads and how far back, how long before it wants to know, its queries and evaluations; when confirmed."""
    text = """
    last_verified: 2024-03-01
    consumers:
      - name: agent
        kind: agent
        owner: growth@example.com
        criticality: high
        how: extract
        history: 400 days
        notice: 14 days
        reads:
          EVENTS: {columns: [ds, clicks], history: 30 days}
          m: all
        queries:
          - {name: n, sql: SELECT count(*) AS n FROM prod.events, min_rows: 1, bounds: {n: {min: 1, max: 9.5}}}
        evaluations:
          - {name: replay, query: n, days: 2024-01-01..2024-01-31}
          - {name: script, command: make replay, days: 2024-02-01}
      - {name: board, reads: {m: [ds]}, last_verified: 2024-04-01}
    """
    loaded = load_project(project(tmp_path, consumers=dedent(text), m_sql=REPORT))
    agent, board = loaded.consumers.values()
    assert loaded.consumers_verified == agent.last_verified == date(2024, 3, 1)
    assert board.last_verified == date(2024, 4, 1)
    assert (agent.kind, agent.criticality, agent.how, agent.notice) == ("agent", "high", "extract", 14)
    assert agent.reads == ("events", "m")
    assert agent.use("events") == ModelUse(columns=("ds", "clicks"), history=30)
    assert agent.use("m") == ModelUse(history=400) and board.use("m") == ModelUse(columns=("ds",))
    [query] = agent.queries
    assert (query.name, query.min_rows) == ("n", 1) and query.bounds == (Bound(column="n", min=1, max=9.5),)
    assert [(e.name, e.query, e.command, str(e.days)) for e in agent.evaluations] == [
        ("replay", "n", "", "2024-01-01..2024-01-31"),
        ("script", "", "make replay", "2024-02-01"),
    ]


def test_terms(tmp_path: Path) -> None:
    """A header's contract is part of the model and of its stored definition, and decides no row."""
    text = """
    contract:
      semantics: {clicks: "distinct clicks, UTC days"}
      deletes: a day is replaced as a whole
      late_rows: up to three days
      validation_owner: growth@example.com
      rules:
        - {rule: last click, until: 2024-06-01}
        - {rule: any click, since: 2024-06-01}
    """
    plain = load_project(project(tmp_path / "plain", m_sql=REPORT))
    loaded = load_project(project(tmp_path / "terms", m_sql=REPORT.replace("*/", dedent(text).strip() + "\n*/")))
    terms = loaded.models["m"].terms
    assert terms.semantics == {"clicks": "distinct clicks, UTC days"}
    assert [(r.text, r.since, r.until) for r in terms.rules] == [
        ("last click", None, utc("2024-06-01")),
        ("any click", utc("2024-06-01"), None),
    ]
    assert loaded.fingerprints["m"] == plain.fingerprints["m"]
    stored = json.loads(json.dumps(to_definition(loaded.models["m"])))
    assert from_definition("m", "1", stored).terms == terms
    del stored["contract"]  # a record of an earlier release
    assert from_definition("m", "1", stored).terms == Terms()


def test_consumers(tmp_path: Path) -> None:
    """What a consumer reads is spelled as the model is."""
    text = "consumers:\n  - {name: d, kind: agent, reads: [EVENTS]}\n"
    consumer = load_project(project(tmp_path, consumers=text)).consumers["d"]
    assert (consumer.kind, consumer.reads, consumer.line) == ("agent", ("events",), 2)


def test_an_empty_project(tmp_path: Path) -> None:
    """A folder of models that is empty is a project without models; without one it is no project."""
    with pytest.raises(ProjectError) as refused:
        load_project(tmp_path)
    assert "the project has no models" in str(refused.value)
    (tmp_path / "models").mkdir()
    assert load_project(tmp_path).models == {}


def test_reading_a_project_is_light(tmp_path: Path) -> None:
    """Neither Spark nor Dagster nor the table libraries are imported."""
    root = project(tmp_path, m_sql=REPORT, p_py=PYTHON)
    code = (
        "import sys; from pathlib import Path; from backfill_assets.project.loader import load_project\n"
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


def test_the_marker_of_a_merged_model_is_a_column(tmp_path: Path) -> None:
    """`updated_at` is added to what a query or function gives, last and with a type; readers see it, the author may
    describe it. A query that gives it keeps its own."""
    merged = EVENTS.replace("start:", "write: merge\nupdated_at: at\ncolumns: {at: my words}\nstart:")
    python = PYTHON.replace('start="2024-01-01",', 'start="2024-01-01", write="merge", updated_at="at",')
    files = {"events_sql": merged, "p_py": python, "all_sql": REPORT.replace("ds, sum(clicks) AS clicks", "*")}
    files["all_sql"] = files["all_sql"].replace(" GROUP BY ds", "")
    found = load_project(project(tmp_path / "one", **files))
    at = found.columns["events"][-1]
    assert (at.name, at.type, at.description) == ("at", "timestamp", "my words")
    assert [c.name for c in found.columns["roi"]] == ["ds", "roi", "at"]
    assert found.columns["all"][-1].name == "at"
    assert set(found.signatures["events"].columns) == {c.name for c in found.columns["events"]}
    files["events_sql"] = merged.replace("sum(spend)", "max(event_time) AS At, sum(spend)")
    own = load_project(project(tmp_path / "two", **files))
    assert [c.name for c in own.columns["events"]] == ["ds", "campaign_id", "clicks", "At", "spend"]


def test_an_option_of_a_reader_is_as_it_is_written(tmp_path: Path) -> None:
    """Files are separated by tabs, and lines end with some sign."""
    root = project(tmp_path)
    sources = root / "sources.yml"
    sources.write_text(
        sources.read_text()
        + '  - {name: t, format: csv, path: t, columns: {a: int}, options: {header: true, sep: "\\t", '
        'lineSep: "\\r\\n", quote: " ", comment: "\\x01", samplingRatio: 1}}\n'
    )
    assert load_project(root).sources["t"].options == {
        "header": "true", "sep": "\t", "lineSep": "\r\n", "quote": " ", "comment": "\x01", "samplingRatio": "1",
    }  # fmt: skip
