"""`lineage`: the consumers that declare a column; of a Python model whose code nobody looks into, what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.cli.lineage import lineage_json, print_lineage
from backfill_assets.core.consumer import Consumer, ModelUse
from backfill_assets.core.errors import UsageError
from backfill_assets.core.model import Project
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import project, sql

OPAQUE = """\
from backfill_assets import model

@model(start="2024-01-01", grain=["ds"], upstream={{"raw": "raw.ad_events"}}{more})
def score(events, raw, interval):
    return events.join(raw.collect()[0])
"""
AFTER = sql("SELECT ds, roi FROM score WHERE ds >= :start AND ds < :end")


def read(tmp_path: Path, more: str = "") -> Project:
    return load_project(project(tmp_path, score_py=OPAQUE.format(more=more), after_sql=AFTER))


def test_columns_that_nobody_declares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before it is built nobody knows them, and it is said who could tell; then those that the environment shows."""
    found = read(tmp_path)
    print_lineage(found, "score", {})
    said = capsys.readouterr().out
    assert "its column lineage is unknown" in said and "they are known when it is built" in said
    assert "is read by" in said and "after" in said
    with pytest.raises(UsageError, match=r"nobody knows whether score has a column roi.*\n.*declares none") as error:
        print_lineage(found, "score.roi", {})
    assert "columns:" in error.value.fix and "score.py" in error.value.fix

    shown = {"score": ["ds", "ROI"]}
    print_lineage(found, "score", shown)
    said = capsys.readouterr().out
    assert "prod shows; its header declares none" in said and "roi" in said
    print_lineage(found, "score.Roi", shown)
    said = capsys.readouterr().out
    assert "events, any column" in said and "raw.ad_events, any column" in said
    with pytest.raises(UsageError, match="score has no column roy") as error:
        print_lineage(found, "score.roy", shown)
    assert error.value.why == "it has: ds, roi"
    told = lineage_json(found, "score", shown)
    assert (told["names"], told["reads"]) == (["ds", "roi"], ["events", "raw.ad_events"])


def test_columns_that_its_header_declares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Declared ones, and through a reader: what is made of the model is made of anything that it reads."""
    found = read(tmp_path, ', columns={"ds": {"type": "date"}, "roi": "Return."}')
    print_lineage(found, "score.roi", {})
    assert "its columns are those that its header declares" in capsys.readouterr().out
    print_lineage(found, "after.roi", {})
    said = capsys.readouterr().out
    assert "score.roi" in said and "events, any column" in said


def test_consumers_that_declare_the_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the model that they read, and through the models in between; those that declare no columns may read any."""
    found = read(tmp_path)
    one = Consumer(
        name="board[red]", owner="cmo", reads=("after",), uses={"after": ModelUse(columns=("ROI",))}, file=tmp_path
    )
    other = Consumer(name="export", kind="export", reads=("after",), file=tmp_path)
    found = replace(found, consumers={c.name: c for c in (one, other)})
    print_lineage(found, "after.roi", {})
    said = capsys.readouterr().out
    assert "board[red] (dashboard of cmo): ROI" in said and "export (export), any column: it declares none" in said
    assert [c["name"] for c in lineage_json(found, "after.roi", {})["consumers"]] == ["board[red]", "export"]  # type: ignore[index, union-attr]
    print_lineage(found, "after.ds", {})
    said = capsys.readouterr().out
    assert "board" not in said and "export" in said
    print_lineage(found, "score", {"score": ["ds", "roi"]})
    assert "board[red]" in capsys.readouterr().out
    assert lineage_json(found, "score", {})["consumers"] == []
