"""A column is renamed: nothing is computed again, the view has the new name under the gate, and all ways go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import backfill_assets
from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.app.context import Context
from backfill_assets.core.segments import logic_of
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import small_project, write_events
from backfill_assets_tests.stories.test_approval import ANA, PEOPLE, edit, in_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PEAK = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds]
batch_size: 5
audits:
  - range: {column: peak, min: 0}
*/
SELECT ds, max(largest) AS peak FROM daily WHERE ds >= :start AND ds < :end GROUP BY ds
"""
CONSUMERS = """\
last_verified: 2024-01-03
consumers:
  - name: board
    kind: dashboard
    owner: bo@example.com
    reads: {daily: [ds, kind, largest]}
"""


def expected(root: Path) -> list[tuple[Any, ...]]:
    """(ds, kind, n, total, largest in cents), from the files alone, by pandas."""
    rows = pd.concat([pd.read_csv(f) for f in sorted((root / "data" / "events").glob("*.csv"))])
    rows["ds"], rows["cents"] = rows["at"].str[:10], (rows["amount"] * 100).round().astype(int)
    found = rows.groupby(["ds", "kind"])["cents"].agg(["count", "sum", "max"]).reset_index()
    return sorted(map(tuple, found.to_numpy().tolist()))


def shown(rows: Sequence[Any], name: str) -> list[tuple[Any, ...]]:
    return sorted((str(r["ds"]), r["kind"], r["n"], round(r["total"] * 100), round(r[name] * 100)) for r in rows)


def all_agree(root: Path, environment: str, name: str, spark: SparkSession) -> None:
    """`read`, `backfill sql` and a view in Spark show what the files say, and no other column."""
    columns = ["ds", "kind", "n", "total", name]
    table = backfill_assets.read("daily", project=root)
    assert table.column_names == columns
    assert shown(table.to_pylist(), name) == expected(root)
    cut = backfill_assets.read("daily", project=root, columns=[name, "ds"], start="2024-01-02", end="2024-01-03")
    assert cut.column_names == [name, "ds"] and cut.num_rows == 2 and None not in cut.column(name).to_pylist()
    asked = backfill("sql", f"SELECT sum({name}) AS s FROM {environment}.daily", "--json", project=root)
    assert asked.code == 0, asked
    assert round(float(asked.json[0]["s"]) * 100) == sum(row[-1] for row in expected(root))
    from backfill_assets.adapters.spark_views import show_environment

    context = Context.open(root)
    session = show_environment(spark.newSession(), context.control.environments.read(environment), context.warehouse)
    frame = session.sql(f"SELECT * FROM {environment}.daily")
    assert frame.columns == columns and shown([r.asDict() for r in frame.collect()], name) == expected(root)
    peaks = {str(r["ds"]): round(r["peak"] * 100) for r in backfill_assets.read("peak", project=root).to_pylist()}
    most: dict[str, int] = {}
    for ds, _, _, _, largest in expected(root):
        most[ds] = max(most.get(ds, 0), largest)
    assert peaks == most


def approved(root: Path) -> None:
    (stored,) = [r.id for r in Context.open(root).control.plans.all() if r.live]
    given = backfill("approve", stored, project=root, user="ana")
    assert given.code == 0, given
    promoted = backfill("promote", stored, project=root, user="dev")
    assert promoted.code == 0, promoted


def test_a_renamed_column_computes_nothing(
    spark: SparkSession, tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No version and no day more of the model; approved by the owner; its readers are named; new days, a restatement,
    a rollback and the way back have all values."""
    root = small_project(tmp_path / "shop", days=3, batch_size=3, environment=environment)
    edit(root, people=PEOPLE)
    daily, peak = (root / "models" / f"{name}.sql" for name in ("daily", "peak"))
    text = daily.read_text().replace("AS total", "AS total, max(amount) AS largest")
    old = text.replace("  - completeness", "  - range: {column: largest, min: 0}\n  - completeness")
    new = old.replace("largest", "biggest")
    daily.write_text(old)
    peak.write_text(PEAK)
    (root / "consumers.yml").write_text(CONSUMERS)
    first = backfill("apply", "--promote", project=root, user="dev")
    assert first.code == 0, first
    all_agree(root, environment, "largest", spark)
    warehouse = Context.open(root).warehouse
    versions = {key for key in Context.open(root).control.versions.all() if key[0] == "daily"}
    assert len(versions) == 1 and known_by(warehouse) == {"version": 3, "reader": 1, "writer": 2}

    daily.write_text(new)
    refused = backfill("plan", project=root)
    assert refused.code == 1 and "largest" in refused.err and "peak" in refused.err, "who reads it is named"
    peak.write_text(PEAK.replace("largest", "biggest"))

    wrote: list[tuple[str, str]] = []
    write = SparkEngine.write

    def noted(self: SparkEngine, job: Any, batch: str, interval: Any) -> Any:
        wrote.append((job.model.name, job.version))
        return write(self, job, batch, interval)

    monkeypatch.setattr(SparkEngine, "write", noted)
    said = backfill("plan", project=root)
    assert "largest is now called biggest: the view is given the new name, nothing is computed" in flat(said.out), (
        said.out
    )
    assert "board: it reads daily.largest, which daily does not have" in flat(said.out)
    (root / "consumers.yml").write_text(CONSUMERS.replace("largest", "biggest"))
    plan = backfill("plan", "--json", project=root).json
    assert plan["changes"]["daily"]["category"] == "removal"
    assert plan["changes"]["daily"]["renamed"] == {"largest": "biggest"}
    assert {plan["changes"][name]["category"] for name in ("running", "peak")} == {"unchanged"}
    assert [s["stage"] for s in plan["stages"]] == ["audit", "approve", "promote"]
    assert plan["views"] == {"daily": ["ds", "kind", "n", "total", "biggest"]}
    assert plan["strategies"]["daily"]["strategy"] == "view-only"
    applied = backfill("apply", project=root, user="dev")
    assert applied.code == 0, applied
    assert f"needs approval by {ANA}" in in_the_way(backfill("promote", "--json", project=root, user="dev"))
    all_agree(root, environment, "largest", spark)
    approved(root)
    all_agree(root, environment, "biggest", spark)
    assert {name for name, version in wrote if version == logic_of(version)} == set(), "a text check is a trial"
    assert not [v for m, v in wrote if m == "daily"]
    assert known_by(warehouse) == {"version": 3, "reader": 3, "writer": 3}
    gone = backfill("sql", f"SELECT max(largest) FROM {environment}.daily", project=root)
    assert gone.code != 0 and "largest" in gone.err and "Traceback" not in gone.err, gone
    assert "Nothing to do" in backfill("plan", project=root).out

    write_events(root, first="2024-01-04", days=1)
    edit(root, clock="2024-01-05")
    done = backfill("routine", project=root, user="dev")
    assert done.code == 0, done
    all_agree(root, environment, "biggest", spark)
    record = Context.open(root).control.versions.all()
    assert {key for key in record if key[0] == "daily"} == versions

    wrote.clear()
    back = backfill("rollback", project=root, user="dev")
    assert back.code == 0, back
    all_agree(root, environment, "largest", spark)
    assert not wrote, "the day that came since is in the same table"
    write_events(root, first="2024-01-05", days=1)
    edit(root, clock="2024-01-06")
    done = backfill("routine", project=root, user="dev")
    assert done.code == 0, done
    all_agree(root, environment, "largest", spark)

    wrote.clear()
    again = backfill("apply", project=root, user="dev")
    assert again.code == 0, again
    approved(root)
    all_agree(root, environment, "biggest", spark)
    assert not [v for m, v in wrote if v == logic_of(v)]

    write_events(root, first="2024-01-02", days=1, per_day=8)
    restated = backfill("apply", "--restate", "daily:2024-01-02", project=root, user="dev")
    assert restated.code == 0, restated
    approved(root)
    all_agree(root, environment, "biggest", spark)

    wrote.clear()
    daily.write_text(old)
    peak.write_text(PEAK)
    (root / "consumers.yml").write_text(CONSUMERS)
    plan = backfill("plan", "--json", project=root).json
    assert plan["changes"]["daily"]["renamed"] == {"biggest": "largest"}
    assert "build" not in [s["stage"] for s in plan["stages"]]
    assert backfill("apply", project=root, user="dev").code == 0
    approved(root)
    all_agree(root, environment, "largest", spark)
    assert not [v for m, v in wrote if v == logic_of(v)]


def flat(text: str) -> str:
    return " ".join(text.split())


def known_by(warehouse: str) -> dict[str, int]:
    return json.loads(Path(warehouse, "warehouse.json").read_text())["format"]
