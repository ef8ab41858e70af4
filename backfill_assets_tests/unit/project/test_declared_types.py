"""The types that a header declares: a promise of whoever writes it now, by the settings that it is read under."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.project.loader import load_project
from backfill_assets.project.reading import read_project
from backfill_assets.project.records import no_records
from backfill_assets_tests.projects import SMALL_SPARK, write_events, write_project

MODEL = """\
/*
owner: ana@example.com
start: 2024-01-01
grain: [ds]
columns:
  at: {{description: When., type: {at}}}
  kind: {{description: What., type: {kind}}}
*/
SELECT CAST(at AS DATE) AS ds, CAST(max(at) AS TIMESTAMP) AS at, max(kind) AS kind
FROM raw.events WHERE at >= :start AND at < :end GROUP BY 1
"""
NTZ = {"spark.sql.timestampType": "TIMESTAMP_NTZ"}


def project(root: Path, *, at: str = "timestamp", kind: str = "string", spark: Mapping[str, str] | None = None) -> Path:
    write_events(root, days=2)
    return write_project(root, {"m.sql": MODEL.format(at=at, kind=kind)}, spark={**SMALL_SPARK, **(spark or {})})


def test_what_the_query_gives(tmp_path: Path) -> None:
    assert load_project(project(tmp_path)).models["m"].promised == {"at": "timestamp", "kind": "string"}
    with pytest.raises(ProjectError) as refused:
        load_project(project(tmp_path, kind="bigint"))
    [problem] = refused.value.problems
    assert (problem.line, problem.what) == (7, "column `kind` is declared bigint, and the query gives string")
    load_project(project(tmp_path, kind="varchar(10)"))


def test_settings_by_which_it_gives_something_else(tmp_path: Path) -> None:
    """Nobody here reads queries as they mean then: the first batch tells."""
    for at in ("timestamp", "timestamp_ntz"):
        load_project(project(tmp_path, at=at, spark=NTZ))


def test_a_record_is_read_as_it_is(tmp_path: Path) -> None:
    """An earlier release let it through, and nobody can correct what is recorded: its signature is made again."""
    reading = read_project(project(tmp_path, kind="bigint"), no_records, recorded=True)
    assert "m" in reading.project.models
