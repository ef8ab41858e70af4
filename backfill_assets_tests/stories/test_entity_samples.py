"""Some entities of all days, by the new logic and as they are shown, before anything is built (F7)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.plan.entities import EntitySample
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import launched_here, write_project
from backfill_assets_tests.stories.test_approval import PEOPLE, edit
from backfill_assets_tests.stories.test_restated_entities import model

if TYPE_CHECKING:
    import dagster as dg
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = """\
sources:
  - name: raw.sales
    format: csv
    path: data/sales
    options: {header: true}
    columns: {day: date, shop: string, amount: int}
"""
SHOPS = (
    "SELECT day AS ds, shop, sum(amount) AS total FROM raw.sales\nWHERE day >= :start AND day < :end GROUP BY day, shop"
)
MODELS = {
    "shops.sql": model(SHOPS, "ds, shop"),
    "branches.sql": model(
        "SELECT ds, shop AS branch, total + 1 AS total FROM shops WHERE ds >= :start AND ds < :end", "ds, branch"
    ),
    "totals.sql": model("SELECT ds, sum(total) AS total FROM shops WHERE ds >= :start AND ds < :end GROUP BY ds", "ds"),
}
DAYS = ["2024-01-01", "2024-01-02"]
NUMBERS = range(60)


def amount(day: str, n: int) -> int:
    return 100 * int(day[-2:]) + n


def doubled(day: str, n: int) -> int:
    """By the new logic: half of the shops count twice."""
    return amount(day, n) * (2 if n % 2 else 1)


def computed(context: Context, name: str, key: str) -> list[dict[tuple[str, str], int]]:
    """What each sample's table of a model has, read by delta-rs, oldest first."""
    found: list[dict[tuple[str, str], int]] = []
    for record in sorted(context.control.versions.all().values(), key=lambda v: v.created):
        if record.model == name and "." in record.version:
            rows = pa.table(DeltaTable(table_path(context.warehouse, name, record.version)).to_pyarrow_table())
            found.append({(str(r["ds"]), r[key]): r["total"] for r in rows.to_pylist()})
    return found


def test_a_sample_of_entities(
    spark: SparkSession, tmp_path: Path, environment: str, instance: dg.DagsterInstance
) -> None:
    """The same entities each time and in each model, all of their days, by the new logic; compared with prod's rows of
    the same. Nothing of it counts: plans, ledger and gate are as if it had not been."""
    root = write_project(tmp_path, MODELS, sources=SOURCES, clock="2024-01-03", environment=environment)
    (root / "data" / "sales").mkdir(parents=True)
    for day in DAYS:
        rows = [f"{day},shop {n},{amount(day, n)}" for n in NUMBERS] + [f"{day},,7"]
        (root / "data" / "sales" / f"{day}.csv").write_text("\n".join(["day,shop,amount", *rows]) + "\n")
    edit(root, people=PEOPLE)
    assert backfill("apply", "--promote", project=root, user="dev").code == 0
    before = backfill_assets.read("shops", project=root).to_pylist()
    odd = "CAST(substring(shop, 6) AS INT) % 2 = 1"
    changed = SHOPS.replace("sum(amount)", f"sum(CASE WHEN {odd} THEN 2 * amount ELSE amount END)")
    (root / "models" / "shops.sql").write_text(model(changed, "ds, shop"))
    place = Context.open(root)
    entries, plan = place.control.ledger.entries(), backfill("plan", "--json", project=root).json

    sample = EntitySample(column="shop", parts=300_000)
    first = backfill("apply", "--sample", "30%", "--by", "shop", "--json", project=root, user="dev")
    assert first.code == 0, first
    said: Any = first.json
    assert said["taken"] == {"shops": "shop", "branches": "branch"}
    assert said["left_out"] == {"totals": "it adds up rows of several values of shop"}
    assert said["sample"]["proof"] is False and said["diff"]["new"] == "30% of shop"
    [one] = computed(place, "shops", "shop")
    taken = sorted({int(shop.removeprefix("shop ")) for _, shop in one})
    assert 5 < len(taken) < 31 and {n % 2 for n in taken} == {0, 1}
    said_so = spark.range(60).selectExpr("id", "concat('shop ', id) AS shop").where(sample.taken("shop")).collect()
    assert taken == [row["id"] for row in said_so], "by the key alone"
    assert one == {(day, f"shop {n}"): doubled(day, n) for day in DAYS for n in taken}
    [branches] = computed(place, "branches", "branch")
    assert branches == {(day, f"shop {n}"): doubled(day, n) + 1 for day in DAYS for n in taken}
    for one_model in said["diff"]["models"]:
        rows = one_model["total"]["rows"]
        odd_ones = len(DAYS) * sum(n % 2 for n in taken)
        assert rows["changed"] == odd_ones and rows["unchanged"] == len(DAYS) * len(taken) - odd_ones
        assert rows["added"] == rows["removed"] == 0, "prod's rows of other entities are none of the sample"

    assert place.control.ledger.entries() == entries
    assert not [record for record in place.control.plans.all() if record.live]
    assert backfill("plan", "--json", project=root).json["id"] == plan["id"]
    assert backfill_assets.read("shops", project=root).to_pylist() == before
    refused = backfill("promote", project=root, user="dev")
    assert refused.code == 4, refused

    assert launched_here("apply", instance, root, sample="30%", by="shop", select=["shops"]).success
    assert computed(place, "shops", "shop")[1:] == [one], "Dagster's job takes the same"
    assert place.control.ledger.entries() == entries
