"""Some rows of published days computed again, the others provably what they were (F7)."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import backfill_assets
from backfill_assets.adapters import engine as spark_engine
from backfill_assets.app.context import Context
from backfill_assets_tests.projects import an_environment, launched_here, write_project
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.stories.test_approval import ANA, PEOPLE, edit, in_the_way

if TYPE_CHECKING:
    import dagster as dg
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SALES = """\
sources:
  - name: raw.sales
    format: csv
    path: data/sales
    options: {header: true}
    columns: {day: date, region: string, shop: int, amount: "decimal(10,2)"}
"""
HEADER = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [__GRAIN__]
batch_size: 3
__MORE__*/
"""


def model(text: str, grain: str, more: str = "") -> str:
    return HEADER.replace("__GRAIN__", grain).replace("__MORE__", more) + text


MODELS = {
    "regions.sql": model(
        "SELECT day AS ds, region, shop, sum(amount) AS total, count(*) AS n FROM raw.sales\n"
        "WHERE day >= :start AND day < :end GROUP BY day, region, shop",
        "ds, region, shop",
    ),
    "shops.sql": model(
        "WITH found AS (SELECT ds, region AS country, total FROM regions WHERE ds >= :start AND ds < :end)\n"
        "SELECT ds, country, sum(total) AS total FROM found GROUP BY 1, 2",
        "ds, country",
        "write: merge\nupdated_at: moved_at\n",
    ),
    "totals.sql": model(
        "SELECT ds, sum(total) AS total FROM regions WHERE ds >= :start AND ds < :end GROUP BY ds", "ds"
    ),
}
DAYS = [f"2024-01-0{n}" for n in range(1, 6)]
AGAIN = ["2024-01-02", "2024-01-03"]
REGIONS = ["de", "fr", ""]
"""The last one is NULL in the table: a condition on it is neither true nor false."""


def write_sales(root: Path, *, factor: int = 1, days: list[str] = DAYS) -> None:
    folder = root / "data" / "sales"
    folder.mkdir(parents=True, exist_ok=True)
    for day in days:
        rows = [
            f"{day},{region},{shop},{factor * (10 * int(day[-2:]) + shop + len(region)):.2f}"
            for region in REGIONS
            for shop in (1, 1, 2)
        ]
        (folder / f"{day}.csv").write_text("\n".join(["day,region,shop,amount", *rows]) + "\n")


def sales(root: Path) -> pd.DataFrame:
    """What the files say, by pandas alone."""
    files = sorted((root / "data" / "sales").glob("*.csv"))
    read = pd.concat(pd.read_csv(f, dtype=str, keep_default_na=False) for f in files)
    return read.assign(shop=read["shop"].astype(int), amount=read["amount"].map(Decimal)).reset_index(drop=True)


def shown(root: Path, name: str) -> list[tuple[Any, ...]]:
    rows = backfill_assets.read(name, project=root).to_pylist()
    return sorted(tuple("" if v is None else str(v) for v in row.values()) for row in rows)


def shown_shops(root: Path) -> dict[tuple[str, str, str], str]:
    """Each row of `shops`, and when its values last moved."""
    return {(ds, country, total): moved for ds, country, total, moved in shown(root, "shops")}


def expected(frame: pd.DataFrame, by: list[str], *, count: bool = False) -> list[tuple[Any, ...]]:
    keys = {key if isinstance(key, tuple) else (key,): list(values) for key, values in frame.groupby(by)["amount"]}
    return sorted((*map(str, key), str(sum(of)), *([str(len(of))] * count)) for key, of in keys.items())


@pytest.fixture(scope="module")
def environment() -> str:
    """One for all tests of this file: each has a copy of what is published there."""
    return an_environment()


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, environment: str) -> Path:
    """Five days of three regions, shown."""
    folder = tmp_path_factory.mktemp("published")
    root = write_project(folder, MODELS, sources=SALES, clock="2024-01-06", environment=environment)
    write_sales(root)
    edit(root, people=PEOPLE)
    done = backfill("apply", "--promote", project=root, user="dev")
    assert done.code == 0, done
    return root


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(published, tmp_path, dirs_exist_ok=True)


def finish(root: Path, *options: str) -> str:
    """Build, approve and promote; the plan's id."""
    applied = backfill("apply", *options, project=root, user="dev")
    assert applied.code == 0, applied
    (plan,) = [r.id for r in Context.open(root).control.plans.all() if r.live]
    assert f"needs approval by {ANA}" in in_the_way(backfill("promote", plan, "--json", project=root, user="dev"))
    assert backfill("approve", plan, project=root, user="ana").code == 0
    done = backfill("promote", plan, project=root, user="dev")
    assert done.code == 0, done
    return plan


def test_one_region_is_computed_again(shop: Path) -> None:
    """The rows of one region are those of the files by now, on the restated days; all others, NULL ones too, are as
    they were. A reader by region follows, one that adds up regions is computed whole and says why."""
    before, moved = sales(shop), shown_shops(shop)
    write_sales(shop, factor=3)
    after = sales(shop)
    options = ("--restate", "regions:2024-01-02..2024-01-03", "--where", "region = 'de'")

    plan = backfill("plan", *options, "--json", project=shop).json
    assert plan["request"]["where"] == "region = 'de'"
    assert plan["patches"]["regions"]["scope"] == {
        "where": "region = 'de'",
        "columns": ["region"],
        "by_key": False,
        "ids": "",
    }
    assert plan["patches"]["shops"]["scope"]["where"] == "`country` = 'de'"
    assert plan["patches"]["totals"]["scope"] is None
    assert plan["patches"]["totals"]["whole"] == "it adds up rows of several values of region"
    said = " ".join(backfill("plan", *options, project=shop).out.split())
    assert "regions: only rows with region = 'de' are computed again" in said
    assert "totals: all rows are computed again: it adds up rows of several values of region" in said
    assert "only rows with" in backfill("plan", *options, "--markdown", project=shop).out

    stored = finish(shop, *options)
    here = (after["day"].isin(AGAIN)) & (after["region"] == "de")
    mixed = pd.concat([before[~((before["day"].isin(AGAIN)) & (before["region"] == "de"))], after[here]])
    assert shown(shop, "regions") == expected(mixed, ["day", "region", "shop"], count=True)
    shops = shown_shops(shop)
    assert sorted(shops) == expected(mixed, ["day", "region"])
    stayed = {row: at for row, at in shops.items() if row in moved}
    assert stayed == {row: moved[row] for row in stayed} and len(stayed) == len(shops) - 2, "markers are copied, too"
    assert shown(shop, "totals") == expected(mixed, ["day"])
    assert len(shown(shop, "regions")) == len(DAYS) * len(REGIONS) * 2, "no row is lost"

    packet = "".join(f.read_text() for f in (Path(Context.open(shop).warehouse) / "evidence" / stored).iterdir())
    assert "region = 'de'" in packet
    late = [n for n in backfill("watch", "--json", project=shop).json["notices"] if n["kind"] == "late_source_data"]
    assert "2024-01-02" in str(late), "the other regions of these days still are of the older files"
    assert not backfill("plan", "--json", project=shop).json["stages"]
    back = backfill("rollback", "--now", project=shop, user="dev")
    assert back.code == 0, back
    assert shown(shop, "regions") == expected(before, ["day", "region", "shop"], count=True)


def test_the_keys_of_a_file_are_computed_again(shop: Path, instance: dg.DagsterInstance) -> None:
    """A file names entities, by two columns of the key. What it said when the plan was made is what is built, by
    Dagster's job here, whatever becomes of the file; rows with other keys, and with none, are as they were."""
    before = sales(shop)
    write_sales(shop, factor=3)
    after = sales(shop)
    file = shop / "corrections.csv"
    nobody = "".join(f"2024-01-02,shop {n}\r\n" for n in range(2000))
    file.write_bytes(f"\ufeffDS,region\r\n2024-01-03,fr\r\n2024-01-02,de\r\n{nobody}".encode())
    options = ("--restate", "regions:2024-01-02..2024-01-03", "--ids", str(file))

    plan = backfill("plan", *options, "--json", project=shop).json
    named = plan["patches"]["regions"]["scope"]["where"]
    assert named.startswith("(ds, region) in corrections.csv (2,002 keys: 2024-01-02/de, 2024-01-02/shop 0, ")
    assert plan["patches"]["shops"]["scope"]["columns"] == ["ds", "country"]
    assert ["2024-01-03", "fr"] in plan["request"]["ids"]["rows"]
    again = {"restate": ["regions:2024-01-02..2024-01-03"], "ids": file.read_text(encoding="utf-8-sig")}
    assert launched_here("apply", instance, shop, **again).success
    ledger = Context.open(shop).control.ledger
    built = ledger.entries()
    stored = finish(shop, *options)
    assert stored == plan["id"] and ledger.entries() == built, "the command has nothing left to build"
    file.write_text("ds,region\n2024-01-03,de\n")

    def within(frame: pd.DataFrame) -> list[bool]:
        keys = zip(frame["day"], frame["region"], strict=True)
        return [key in {("2024-01-02", "de"), ("2024-01-03", "fr")} for key in keys]

    mixed = pd.concat([before[[not w for w in within(before)]], after[within(after)]])
    assert shown(shop, "regions") == expected(mixed, ["day", "region", "shop"], count=True)
    assert sorted(shown_shops(shop)) == expected(mixed, ["day", "region"])
    assert shown(shop, "totals") == expected(mixed, ["day"])
    packet = Path(Context.open(shop).warehouse) / "evidence" / stored
    assert "in ids (2,002 keys" in (packet / "packet.html").read_text(), "who plans first names them: a job, no file"
    assert len((packet / "ids.csv").read_text().splitlines()) == 2003
    assert backfill("verify", stored, project=shop).code == 0


@pytest.mark.extended
def test_scopes_follow_each_other_and_never_undo_one_another(shop: Path) -> None:
    """A second region lies over the first. A plan that was built before that is refused."""
    before = sales(shop)
    write_sales(shop, factor=3)
    after = sales(shop)
    first = ("--restate", "regions:2024-01-02", "--where", "region = 'de'")
    second = ("--restate", "regions:2024-01-02", "--where", "region IS NULL OR region = 'fr'")
    assert backfill("apply", *first, project=shop, user="dev").code == 0
    (waiting,) = [r.id for r in Context.open(shop).control.plans.all() if r.live]
    clash = backfill("apply", *second, project=shop, user="dev")
    assert clash.code == 1 and waiting in clash.err, "another scope is another request: it goes on with none"
    approved = backfill("approve", waiting, project=shop, user="ana")
    assert approved.code == 0 and "regions  2024-01-02, only rows with region = 'de'" in approved.out, approved
    assert backfill("promote", waiting, project=shop, user="dev").code == 0
    finish(shop, *second)
    mixed = pd.concat([before[before["day"] != "2024-01-02"], after[after["day"] == "2024-01-02"]])
    assert shown(shop, "regions") == expected(mixed, ["day", "region", "shop"], count=True)
    assert shown(shop, "totals") == expected(mixed, ["day"])


def test_a_column_beside_the_key_goes_by_keys(shop: Path) -> None:
    """A row that leaves the scope, and one that enters it, are computed again: neither is lost or doubled."""
    before = sales(shop)
    write_sales(shop, factor=3)
    file = shop / "data" / "sales" / "2024-01-02.csv"
    file.write_text(file.read_text() + "2024-01-02,fr,2,500.00\n")
    after = sales(shop)
    finish(shop, "--restate", "regions:2024-01-02", "--where", "total > 50")

    def keys(frame: pd.DataFrame) -> set[tuple[str, int]]:
        day = frame[frame["day"] == "2024-01-02"].groupby(["region", "shop"])["amount"].sum()
        return {key for key, total in day.items() if total > 50}  # pyright: ignore[reportReturnType]

    mine = keys(before) | keys(after)
    assert keys(before) != keys(after)

    def within(frame: pd.DataFrame) -> list[bool]:
        rows = zip(frame["day"], frame["region"], frame["shop"], strict=True)
        return [day == "2024-01-02" and (region, shop) in mine for day, region, shop in rows]

    mixed = pd.concat([before[[not w for w in within(before)]], after[within(after)]])
    assert shown(shop, "regions") == expected(mixed, ["day", "region", "shop"], count=True)


def test_rows_that_are_not_copied_as_they_are_fail_the_batch(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written outside of the scope is compared with what is shown before it counts."""
    write_sales(shop, factor=3)
    careless = spark_engine.scoped_rows
    monkeypatch.setattr(
        spark_engine, "scoped_rows", lambda *parts: careless(*parts).where("coalesce(region, '') <> 'fr' OR shop = 1")
    )
    failed = backfill("apply", "--restate", "regions:2024-01-02", "--where", "region = 'de'", project=shop, user="dev")
    assert failed.code == 3
    assert "are not those that are shown any more, in 2024-01-02" in " ".join((failed.out + failed.err).split())
    monkeypatch.undo()
    finish(shop, "--restate", "regions:2024-01-02", "--where", "region = 'de'")
