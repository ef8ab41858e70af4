"""A column is dropped: nothing is computed again, the view lists fewer columns under the gate, the ways back stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.app.context import Context
from backfill_assets.core.intervals import Interval
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import expected_daily, small_project, write_events
from backfill_assets_tests.stories.test_approval import ANA, PEOPLE, edit, in_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def shown_rows(root: Path) -> list[tuple[Any, ...]]:
    """`daily` as its readers see it: (ds, kind, n, total in cents)."""
    found = backfill_assets.read("daily", project=root).to_pylist()
    return sorted((str(r["ds"]), r["kind"], r["n"], round(r["total"] * 100)) for r in found)


def columns(root: Path) -> list[str]:
    return backfill_assets.read("daily", project=root).column_names


def commits(place: Context, tables: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {(m, v): DeltaTableLog(place.warehouse).head(m, v) for m, v in tables}


def test_a_dropped_column_computes_nothing(
    spark: SparkSession, tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No write, no commit, no table more; approved by the owner; readers of the column are refused; a routine run goes
    on without it, and a rollback shows it again, for days that came since as well."""
    root = small_project(tmp_path / "shop", days=3, batch_size=3, environment=environment)
    edit(root, people=PEOPLE)
    daily, running = (root / "models" / f"{name}.sql" for name in ("daily", "running"))
    without, reader = daily.read_text(), running.read_text()
    daily.write_text(without.replace("AS total", "AS total, max(amount) AS largest"))
    assert backfill("apply", "--promote", project=root, user="dev").code == 0
    place = Context.open(root)
    tables = [(t.model, t.version) for t in place.storage.tables()]
    before = commits(place, tables)
    assert columns(root) == ["ds", "kind", "n", "total", "largest"]

    daily.write_text(without)
    running.write_text(reader.replace("sum(now.total) AS total", "sum(now.largest) AS total"))
    refused = backfill("plan", project=root)
    assert refused.code == 1 and "largest" in refused.err, "who reads it is named before anything moves"
    running.write_text(reader)

    writes: list[Interval] = []
    with monkeypatch.context() as patch:
        patch.setattr(SparkEngine, "write", lambda *_: writes.append(_[-1]))
        patch.setattr(SparkEngine, "prepare", lambda *_: writes.append(_[-1]))
        plan = backfill("plan", "--json", project=root).json
        assert plan["changes"]["daily"]["category"] == "removal" and plan["changes"]["daily"]["removed"] == ["largest"]
        assert plan["changes"]["running"]["category"] == "unchanged"
        assert [s["stage"] for s in plan["stages"]] == ["approve", "promote"]
        assert plan["views"] == {"daily": ["ds", "kind", "n", "total"]}
        assert plan["strategies"]["daily"]["strategy"] == "view-only"
        applied = backfill("apply", project=root, user="dev")
        assert applied.code == 0 and "Nothing to build" in applied.out, applied
        assert f"needs approval by {ANA}" in in_the_way(backfill("promote", "--json", project=root, user="dev"))
        assert "largest" in columns(root)
        (stored,) = [r.id for r in place.control.plans.all() if r.live]
        assert backfill("approve", stored, project=root, user="ana").code == 0
        promoted = backfill("promote", stored, project=root, user="dev")
        assert promoted.code == 0, promoted
    assert not writes
    assert [(t.model, t.version) for t in place.storage.tables()] == tables and commits(place, tables) == before

    assert columns(root) == ["ds", "kind", "n", "total"]
    assert shown_rows(root) == expected_daily(root)
    asked = backfill("sql", f"SELECT max(largest) FROM {environment}.daily", project=root)
    assert asked.code != 0 and "largest" in asked.err and "Traceback" not in asked.err, asked
    assert "Nothing to do" in backfill("plan", project=root).out

    write_events(root, first="2024-01-04", days=1)
    edit(root, clock="2024-01-05")
    done = backfill("routine", project=root, user="dev")
    assert done.code == 0, done
    assert columns(root) == ["ds", "kind", "n", "total"] and shown_rows(root) == expected_daily(root)
    back = backfill("rollback", project=root, user="dev")
    assert back.code == 0, back
    there = backfill_assets.read("daily", project=root).to_pylist()
    assert len(there) == len(expected_daily(root)) and all(row["largest"] is not None for row in there)
