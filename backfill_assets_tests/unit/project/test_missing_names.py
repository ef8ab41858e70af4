"""A Python model that names a column which nothing has is told when it is planned, not by its first batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.context import load_project
from backfill_assets.core.errors import Problem
from backfill_assets_tests.unit.project.helpers import EVENTS, PYTHON, project

_FUNCTIONS = "from pyspark.sql import functions as F\n"


def _warnings(root: Path, body: str, events: str = EVENTS) -> list[Problem]:
    code = _FUNCTIONS + PYTHON.replace("    return events\n", body)
    found = load_project(project(root, events_sql=events, m_py=code)).warnings["roi"]
    return [w for w in found if "nothing that it reads has" in w.what]


@pytest.mark.parametrize(
    "body",
    [
        '    return events.select("ds", F.sum("clikcs").alias("roi"))\n',
        '    return events.select("ds", events["clikcs"].alias("roi"))\n',
        '    """Not clikcs.\n    """\n    return events.where(F.col("CLIKCS") > 1).select("ds")\n',
    ],
)
def test_a_misspelt_column_is_told_with_its_line(tmp_path: Path, body: str) -> None:
    [warning] = _warnings(tmp_path, body)
    lines = warning.file.read_text().splitlines()
    assert "clikcs" in warning.what.lower()
    assert "return" in lines[warning.line - 1]
    assert "`events` has ds, campaign_id, clicks, spend" in warning.why
    assert warning.fix == "did you mean `clicks`?"


@pytest.mark.parametrize(
    "body",
    [
        '    return events.select("ds", F.sum("clicks").alias("roi"))\n',
        '    return events.withColumn("roi", F.col("spend") / F.col("clicks")).where(F.col("roi") > 0)\n',
        '    return events.select("DS", F.col("Clicks").alias("roi"))\n',
        '    return events.select("ds", F.col("_metadata").alias("roi"))\n',
        # There, and SQLFrame cannot tell it: no word about names.
        '    return events.transform(lambda e: e.select("ds", F.sum("clicks").alias("roi")))\n',
    ],
)
def test_right_code_is_not_warned_of(tmp_path: Path, body: str) -> None:
    assert _warnings(tmp_path, body) == []


def test_unknown_columns_of_what_it_reads_say_nothing(tmp_path: Path) -> None:
    any_columns = EVENTS.replace("SELECT CAST", "SELECT *, CAST").replace("GROUP BY 1, 2", "")
    body = '    return events.select("ds", F.sum("clikcs").alias("roi"))\n'
    sources = "sources:\n  - {name: raw.ad_events, path: data/ad_events, format: parquet}\n"
    (tmp_path / "sources.yml").write_text(sources)
    code = _FUNCTIONS + PYTHON.replace("    return events\n", body)
    root = project(tmp_path, events_sql=any_columns, m_py=code, sources=sources)
    assert [w for w in load_project(root).warnings["roi"] if "nothing that it reads" in w.what] == []
