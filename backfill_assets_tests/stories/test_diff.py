"""Old and new rows are compared before a promotion, and a wrong time zone cannot be overlooked (A7, D3)."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd
import pytest
from typer.testing import CliRunner

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import write_evidence
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.app import app
from backfill_assets.cli.base import UNEXPECTED
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import utc
from backfill_assets.defs.build_definitions import definitions
from backfill_assets_tests.projects import build_all, say_yes, write_events, write_project

if TYPE_CHECKING:
    from click.testing import Result
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DAYS, ZONE = 14, "Asia/Tokyo"
MODEL = """\
/*
start: 2024-01-01
grain: [ds, kind]
batch_size: 14
slices: [kind]
mask: [who]
*/
SELECT ads.ds, ads.kind, ads.n, ads.who, acquired.total
FROM (
  SELECT CAST(at AS DATE) AS ds, kind, count(*) AS n, max(concat('customer ', kind)) AS who
  FROM raw.events WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE), kind
) AS ads
LEFT JOIN (
  SELECT CAST(at AS DATE) AS ds, kind, sum(amount) AS total
  FROM raw.events WHERE CAST(at AS DATE) >= :start AND CAST(at AS DATE) < :end
  GROUP BY CAST(at AS DATE), kind
) AS acquired ON acquired.ds = ads.ds AND acquired.kind = ads.kind
"""


def write_weeks(root: Path) -> None:
    """Sixteen events a day; every other day they are worth more."""
    folder = write_events(root, days=DAYS, per_day=16)
    for number, file in enumerate(sorted(folder.iterdir())):
        head, *lines = file.read_text().splitlines()
        worth = "10.00" if number % 2 else "18.00"
        file.write_text("\n".join([head, *(f"{line.rpartition(',')[0]},{worth}" for line in lines)]) + "\n")


def totals(root: Path, zone: str) -> pd.Series[float]:
    """What `total` should be by day and kind, where the days are those of a zone: in pandas, from the files alone."""
    rows = pd.concat(pd.read_csv(f) for f in sorted((root / "data" / "events").glob("*.csv")))
    rows["ds"] = pd.to_datetime(rows["at"]).dt.tz_convert(zone).dt.strftime("%Y-%m-%d")
    last = f"{utc('2024-01-01') + timedelta(days=DAYS):%Y-%m-%d}"
    return rows[rows["ds"] < last].groupby(["ds", "kind"])["amount"].sum()


def run(*arguments: str, code: int = 0) -> Result:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == code, (found.output, found.exception)
    return found


def test_a_wrong_time_zone_is_seen(
    spark: SparkSession, tmp_path: Path, environment: str, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The apply job attaches the diff; `backfill diff` shows day by day that values moved from day to day, with rows;
    what was expected to stay and did not exits with 5; the plan is abandoned, and prod never knew."""
    root = tmp_path / "project"
    write_weeks(root)
    write_project(root, {"daily.sql": MODEL}, clock="2024-01-15", environment=environment)
    monkeypatch.setenv("BACKFILL_PROJECT", str(root))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    before = backfill_assets.read("daily", project=root)

    file = root / "models" / "daily.sql"
    select, join, acquired = MODEL.partition("LEFT JOIN (")
    file.write_text(select + join + acquired.replace("CAST(at AS", f"CAST(from_utc_timestamp(at, '{ZONE}') AS"))
    changed = Context.open(root)
    assert changed.spark is not None  # opened by this thread, not by a worker
    result = definitions(changed).resolve_job_def("apply").execute_in_process(instance=instance)
    assert result.success
    records = instance.fetch_observations(dg.AssetKey("daily"), limit=5).records
    [observed] = [r.asset_observation for r in records if r.asset_observation]
    assert "| total |" in str(observed.metadata["diff"].value)
    assert observed.metadata["columns moved"].value == "total"

    old, new = totals(root, "UTC"), totals(root, ZONE)
    differ = (old - new.reindex(old.index).fillna(0)).abs() > 0
    said = run("diff", "--json").stdout
    found: dict[str, Any] = json.loads(said)
    [series] = found["series"]
    assert series["days"] == sorted({ds for ds, _ in old.index}) and series["between_days"]
    assert series["old"] == old.groupby("ds").sum().tolist()
    assert series["new"] == new.groupby("ds").sum().tolist()
    assert found["known"].keys() == {"daily"}  # the job has compared just that
    assert not found["lineage"]  # `at` is read as before: only differently
    [model] = diff_from_json(found).models
    assert (model.total.rows.changed, model.total.rows.paired) == (int(differ.sum()), 2 * DAYS)
    assert [m.column for m in model.moved] == ["total"]
    [by_kind] = model.slices
    for group in by_kind.groups:
        move = group.move("total")
        assert move and move.old and move.new and group.name
        assert (float(str(move.old.sum)), float(str(move.new.sum))) == (
            old.xs(group.name, level=1).sum(),
            new.xs(group.name, level=1).sum(),
        )
    for sample in model.samples:
        key = dict(sample.key)
        at = (key["ds"], key["kind"])
        assert float(dict(sample.old)["total"] or 0) == old[at]
        assert float(dict(sample.new)["total"] or 0) == new.get(at, 0)
    assert len(model.samples) == 2 * 7, "two keys, a week each"

    text = run("diff", "--expect-moved", "daily.total", "--expect-unmoved", "daily.n").stdout
    assert "total moved between days" in text and "as expected daily.total moved" in text
    deltas = (new.groupby("ds").sum() - old.groupby("ds").sum()).to_dict()
    shown = re.findall(r"^ +(2024-\d\d-\d\d) +([\d.]+) +([\d.]+) +([+-]\d+)", text, re.MULTILINE)
    assert len(shown) == 10 and all(float(delta) == deltas[ds] for ds, _, _, delta in shown)
    wrong = run("diff", "--expect-unmoved", "daily.total", code=UNEXPECTED).stdout
    assert f"daily.total should not have moved, but total changed in {int(differ.sum())} rows" in wrong

    one_day = run("diff", "--json", "--start", "2024-01-03", "--end", "2024-01-03").stdout
    [model] = diff_from_json(json.loads(one_day)).models
    assert str(model.compared) == "2024-01-03" and model.total.rows.paired == 2
    versions = "..".join(f"daily@{p.project.fingerprints['daily'][:6]}" for p in (place, changed))
    assert json.loads(one_day)["known"] == {}
    [again] = diff_from_json(json.loads(run("diff", versions, "--json", "--sample", "0").stdout)).models
    assert again.total.moves and again.total.rows == diff_from_json(found).models[0].total.rows and not again.samples

    [plan] = [p for p in changed.control.plans.all() if p.live]
    run("abandon", plan.id)
    assert backfill_assets.read("daily", project=root).equals(before)
    gone = CliRunner().invoke(app, ["diff"])
    assert isinstance(gone.exception, BackfillError) and "no plan is open" in str(gone.exception)
    same = run("diff", f"{environment}..{environment}", "--expect-unmoved", "daily").stdout
    assert "no row had to be read" in same and "the same files" in same


def test_a_new_column_is_filled_as_far_as_expected(
    spark: SparkSession, tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan says what its author expects, the proof what was found; less than that is for the owner to accept, and
    what came true is in the packet."""
    root = tmp_path / "project"
    write_weeks(root)
    owned = MODEL.replace("slices:", "owner: ana@example.com\nslices:")
    write_project(root, {"daily.sql": owned}, clock="2024-01-15", environment=environment)
    monkeypatch.setenv("BACKFILL_PROJECT", str(root))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    file, since = root / "models" / "daily.sql", "2024-01-03"
    column = f"CASE WHEN ads.ds >= DATE '{since}' AND ads.kind = 'a' THEN ads.n END AS most"
    file.write_text(owned.replace("acquired.total\nFROM", f"acquired.total, {column}\nFROM"))
    asked = ["--expect-filled", f"daily.most=50%@{since}", "--expect-filled", "daily.most=50%"]
    plan = json.loads(run("plan", "--json", *asked).stdout)
    assert plan["strategies"]["daily"]["strategy"] == "column-enrichment"
    assert plan["strategies"]["daily"]["proof"].endswith(f"expected to be filled: most=50%@{since}, most=50%")

    said = json.loads(run("apply", "--json", *asked).stdout)
    rows = backfill_assets.read("daily", project=root, environment=f"plan-{plan['id']}").to_pylist()
    late = [r["most"] for r in rows if f"{r['ds']}" >= since]
    filled = sum(value is not None for value in late)
    assert (filled, len(late), len(rows)) == (12, 24, 28)
    [finding] = said["findings"]
    assert finding["name"] == "daily.most.filled"
    assert finding["text"] == "daily.most has a value in 12 of 28 rows (42.9 %); expected are 50 %"
    compared = json.loads(run("diff", plan["id"], "--json", *asked, code=UNEXPECTED).stdout)
    assert [(one["ok"], one["filled"], one["rows"]) for one in compared["filled"]] == [(True, 12, 24), (False, 12, 28)]
    assert compared["known"], "by what apply compared"
    shut = json.loads(run("promote", plan["id"], "--json", code=4).stdout)["in_the_way"]
    assert any("daily.most.filled" in str(o) for o in shut), shut
    say_yes(Context.open(root), plan["id"], why="the platform had none before")
    moved = promote_plan(Context.open(root), plan=plan["id"]).verdict
    assert moved.open, moved.obstacles
    tests = write_evidence(Context.open(root), plan["id"]).packet.summary.tests
    assert f"daily.most has a value in 12 of 24 rows since {since} (50.0 %); expected are 50 %." in tests
