"""Does a view show exactly one release at any moment, at no cost?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.named_tables import NamedTables, NamedTableStorage
from backfill_assets.adapters.spark_views import PROVISIONAL, SparkViews
from backfill_assets.app.context import Context
from backfill_assets.app.gate import judge_plan
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import PromotionError, StateError
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.settings import TableNames
from backfill_assets.promote.gate import Verdict
from backfill_assets.state.environment import Environment
from backfill_assets_tests.projects import build_all, days, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAST = utc("2024-02-01")
"""A cutover that is over: only the environment decides."""

NOW = utc("2024-02-01")


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A project whose first release is in its environment and whose second one is built."""

    place: Context
    views: SparkViews
    first: Environment
    old: Pointer
    new: Pointer

    @property
    def view(self) -> str:
        return f"{self.first.name}.daily"

    def flip(self, pointer: Pointer) -> Environment:
        environments = self.place.control.environments
        return environments.flip(environments.read(self.first.name), [pointer], release="r", at=NOW)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, environment: str) -> Iterator[Shop]:
    """Release 1 of `daily` shown by a persisted view; release 2 adds `most` and makes `n` ten times as much."""
    place = Context.open(small_project(tmp_path, days=3, batch_size=3, environment=environment))
    build_all(place)
    first = promote_plan(place).environment
    views = SparkViews(spark, place.warehouse)
    views.settle(first, ["daily"])
    file = tmp_path / "models" / "daily.sql"
    text = file.read_text().replace("count(*) AS n", "10 * count(*) AS n, max(amount) AS most")
    file.write_text(text)
    changed = Context.open(tmp_path)
    build_all(changed)
    verdict = changed_verdict(changed)
    new = next(p for p in verdict.pointers if p.model == "daily")
    yield Shop(place=changed, views=views, first=first, old=first.pointers["daily"], new=new)
    spark.sql(f"DROP DATABASE {environment} CASCADE")


def changed_verdict(place: Context) -> Verdict:
    facts = place.facts()
    from backfill_assets.plan.plan import make_plan
    from backfill_assets.plan.stages import Request

    verdict = judge_plan(place, Request(), facts, make_plan(place.project, facts, Request()))
    approval = "needs approval by ana@example.com of a change of published history:"
    owed = [approval, "was not compared with what is shown:"]
    assert [o.what for o in verdict.obstacles] == owed, "ready but for that"
    return verdict


def test_an_expanded_view_turns_with_the_commit(spark: SparkSession, shop: Shop) -> None:
    """Between expand and contract the view shows the old rows until the environment's commit, then the new ones."""
    shop.views.expand(shop.first.name, [(shop.old, shop.new)], PAST)
    before = spark.sql(f"SELECT * FROM {shop.view}")
    assert before.columns == ["ds", "kind", "n", "total"]
    assert {row["n"] for row in before.collect()} == {3}

    flipped = shop.flip(shop.new)
    after = spark.sql(f"SELECT * FROM {shop.view}")
    assert after.columns == ["ds", "kind", "n", "total"]
    assert {row["n"] for row in after.collect()} == {30} and after.count() == 6

    shop.views.settle(flipped, ["daily"])
    assert spark.sql(f"SELECT * FROM {shop.view}").columns == ["ds", "kind", "n", "most", "total"]


def test_a_view_says_what_of_it_is_provisional(spark: SparkSession, shop: Shop) -> None:
    """As a property that SQL reads, written with each release; gone once the model has no window, and not drift."""
    provisional = {"daily": Ranges((days("2024-01-02", "2024-01-03"),))}
    views = SparkViews(spark, shop.place.warehouse, provisional=lambda environment: provisional)

    def said() -> dict[str, str]:
        rows = spark.sql(f"SHOW TBLPROPERTIES {shop.view}").collect()
        return {row["key"]: row["value"] for row in rows if row["key"] == PROVISIONAL}

    for _ in range(2):  # made before, and altered
        views.settle(shop.first, ["daily"])
        assert said() == {PROVISIONAL: "2024-01-02..2024-01-03"} and "daily" not in views.drifted(shop.first)
    provisional["daily"] = Ranges()
    views.settle(shop.first, ["daily"])
    assert said() == {PROVISIONAL: "nothing"}, "it has a window, and all of it is settled"
    del provisional["daily"]
    views.settle(shop.first, ["daily"])
    assert said() == {}


def test_the_branch_that_is_off_reads_no_files(spark: SparkSession, shop: Shop) -> None:
    """An expanded view opens the files of one release only, before the flip and after it."""
    shop.views.expand(shop.first.name, [(shop.old, shop.new)], PAST)
    assert versions_read(spark, shop) == {shop.old.version}
    shop.flip(shop.new)
    assert versions_read(spark, shop) == {shop.new.version}


def test_a_view_of_days_reads_their_files_only(spark: SparkSession, shop: Shop) -> None:
    """A query for one day over a view reads that day's partition, not the table."""
    whole = files_opened(spark, f"SELECT * FROM {shop.view}")
    day = files_opened(spark, f"SELECT * FROM {shop.view} WHERE ds = DATE '2024-01-02'")
    assert (sum(whole.values()), sum(day.values())) == (3, 1)


def test_columns_that_go_are_null_until_the_view_is_contracted(spark: SparkSession, shop: Shop) -> None:
    """Turning back to a release without a column: readers of the expanded view still find it, empty."""
    flipped = shop.flip(shop.new)
    shop.views.settle(flipped, ["daily"])
    shop.views.expand(shop.first.name, [(shop.new, shop.old)], PAST)
    shop.flip(shop.old)
    rows = spark.sql(f"SELECT n, most FROM {shop.view}").collect()
    assert {(row["n"], row["most"]) for row in rows} == {(3, None)}


def test_a_cast_that_loses_values_is_refused(spark: SparkSession, shop: Shop) -> None:
    """A column whose type shrinks cannot be shown to readers of the old type: refused before any view is touched."""
    columns = tuple((n, "string" if n == "n" else t) for n, t in shop.old.columns)
    from dataclasses import replace

    with pytest.raises(PromotionError, match="column n of daily cannot be string: it is bigint in the rows of"):
        shop.views.expand(shop.first.name, [(replace(shop.old, columns=columns), shop.new)], PAST)
    assert {row["n"] for row in spark.sql(f"SELECT n FROM {shop.view}").collect()} == {3}


def test_altering_a_view_leaves_no_gap(spark: SparkSession, shop: Shop) -> None:
    """While a view is altered again and again, every query finds it."""
    stop, looks, errors = threading.Event(), [0], list[str]()
    session = spark.newSession()

    def look() -> None:
        while not stop.is_set():
            try:
                session.sql(f"SELECT n FROM {shop.view} LIMIT 1").schema  # noqa: B018
                looks[0] += 1
            except Exception as error:
                errors.append(str(error).splitlines()[0])

    reader = threading.Thread(target=look)
    reader.start()
    try:
        changes = 0
        while (looks[0] < 60 or changes < 40) and not errors and changes < 2000:
            shop.views.settle(shop.first, ["daily"])
            changes += 1
    finally:
        stop.set()
        reader.join(60)
    assert not errors
    assert looks[0] >= 60 and changes >= 40


def versions_read(spark: SparkSession, shop: Shop) -> set[str]:
    """Of which versions a query on the view opens files, as its scans counted."""
    opened = files_opened(spark, f"SELECT * FROM {shop.view}")
    both = (shop.old.version, shop.new.version)
    assert all(any(f"/{version}" in path for path in opened) for version in both), "both branches are scanned"
    return {version for version in both if any(f"/{version}" in path and n for path, n in opened.items())}


def files_opened(spark: SparkSession, query: str) -> dict[str, int]:
    """Table → how many files its scans opened when the query ran."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")  # else the plan hides its scans
    frame = session.sql(query)
    assert frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()  # pyright: ignore
    opened: dict[str, int] = {}
    for number in range(leaves.size()):
        scan = leaves.apply(number)
        if scan.metrics().contains("numFiles"):
            path = scan.relation().location().rootPaths().apply(0).toString()
            opened[path] = opened.get(path, 0) + scan.metrics().apply("numFiles").value()
    return opened


def test_tables_get_names_and_lose_them(spark: SparkSession, shop: Shop) -> None:
    """A view calls them so, with the rows of before; a name is no commit, has one table, and leaves the files when it
    goes, also when these went first."""
    place, log = shop.place, shop.place.log
    named = NamedTables(spark, place.warehouse, TableNames(schema=f"{shop.first.name}_tables"))
    only_daily, version = replace(shop.first, pointers={"daily": shop.old}), shop.old.version
    rows, head = spark.table(shop.view).collect(), log.head("daily", version)
    views = SparkViews(spark, place.warehouse, named=named)
    assert views.drifted(only_daily) == {"daily": "the view calls its tables by their paths"}
    for _ in range(2):
        views.settle(only_daily, ["daily"])
    assert views.drifted(only_daily) == {} and sorted(spark.table(shop.view).collect()) == sorted(rows)
    assert log.head("daily", version) == head
    views.expand(shop.first.name, [(shop.old, shop.new)], PAST)
    assert sorted(spark.table(shop.view).collect()) == sorted(rows)
    shop.views.settle(only_daily, ["daily"])

    other = NamedTables(spark, f"{place.warehouse}2", named.names)
    for use in (lambda: other.register([("daily", version)]), lambda: other.unregister("daily", version)):
        with pytest.raises(StateError, match="is another table"):
            use()
    name = f"{named.names.schema}.daily__{version}"
    assert spark.catalog.tableExists(name)
    storage = NamedTableStorage(place.storage, lambda: named)
    for _ in range(2):
        named.unregister("daily", version)
    assert not spark.catalog.tableExists(name) and log.head("daily", version) == head
    named.register([("daily", version)])
    place.storage.remove("daily", version)
    storage.remove("daily", version)
    assert not spark.catalog.tableExists(name)
    spark.sql(f"CREATE TABLE {name} (x INT) USING DELTA")
    with pytest.raises(StateError, match="is another table"):  # a DROP would delete its files
        NamedTables(spark, place.warehouse, named.names).unregister("daily", version)
    assert spark.catalog.tableExists(name)
    spark.sql(f"DROP DATABASE {named.names.schema} CASCADE")


def test_a_view_that_drifted_is_told(spark: SparkSession, shop: Shop) -> None:
    """As it was made: nothing. Altered by hand, behind the environment, dropped: what is wrong."""
    only_daily = replace(shop.first, pointers={"daily": shop.old})
    assert shop.views.drifted(only_daily) == {}
    assert list(shop.views.drifted(replace(shop.first, pointers={"daily": shop.new}))) == ["daily"]
    spark.sql(f"ALTER VIEW {shop.view} AS SELECT DATE '2024-01-01' AS ds, 'a' AS kind, 1L AS n, 1 AS total")
    assert "does not show release" in shop.views.drifted(only_daily)["daily"]
    spark.sql(f"DROP VIEW {shop.view}")
    assert shop.views.drifted(only_daily) == {"daily": "there is no view"}
