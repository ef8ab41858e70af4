"""The worked examples that the package ships, each from prod as it is to the change in prod (C7, C2, C3).

The commands are those of each example's README, in its order: `Readme` runs them. Approvals are on.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest

import backfill_assets
from backfill_assets.adapters.table_log import history, open_table
from backfill_assets.app.context import Context
from backfill_assets.app.new_project import make_project
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.stages import Build, Request
from backfill_assets.promote.lifecycle import only_open_plan
from backfill_assets.state.changes import Changes
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import backfill_here, build_all, commits_per_interval, days

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Readme:
    """What an example's README says to do."""

    def __init__(self, example: str, root: Path) -> None:
        make_project(root, example)
        self.root = root
        block = (root / "README.md").read_text().partition("```bash\n")[2].partition("```")[0]
        self.lines = [words for line in block.splitlines() if (words := shlex.split(line, comments=True))]

    def follow(self, command: str) -> Context:
        """Do what the next line says, which begins so; the project as it is then."""
        words = self.lines.pop(0)
        assert " ".join(words).startswith(command), words
        if "PLAN" in words:
            place = Context.open(self.root)
            plan = only_open_plan(place.control).id
            words[words.index("PLAN")] = plan
            assert not promote_plan(place, plan=plan).verdict.open, "its owner has not said yes"
        if words[0] == "backfill":
            said = backfill_here(*words[1:], project=self.root)
            assert said.code == 0, said.err + said.out
        else:
            subprocess.run(words, cwd=self.root, check=True)
        return Context.open(self.root)


def rows(place: Context, environment: str = "prod") -> pd.DataFrame:
    """What an environment shows of the one model, read without Spark."""
    [name] = place.project.models
    return backfill_assets.read(name, project=place.project.root, environment=environment).to_pandas()


def pointer(place: Context, environment: str = "prod") -> Pointer:
    [name] = place.project.models
    return place.control.environments.read(environment).pointers[name]


def warned(place: Context) -> set[str]:
    """The days whose total quantity was out of bounds, by the recorded results."""
    found = place.control.results.read()
    return {str(r.interval) for r in found if r.check == "total_quantity" and not r.passed}


def merges(place: Context, version: str) -> list[dict[str, Any]]:
    """The table's commits after the one that made it; all must be merges."""
    [name] = place.project.models
    found = history(table_path(place.warehouse, name, version))[:-1]
    assert {c["operation"] for c in found} == {"MERGE"}
    return found


def built(outcomes: Mapping[str, Outcome]) -> Outcome:
    [outcome] = outcomes.values()
    assert outcome.ok, outcome
    return outcome


def from_files(root: Path, query: str) -> pd.DataFrame:
    """A query over the example's source files, by DuckDB: it knows nothing of Spark or of the models."""
    return duckdb.connect().execute(query.replace("{data}", str(root / "data"))).df()


def test_session_length_for_seven_days(spark: SparkSession, tmp_path: Path) -> None:
    """`events` gets a column for seven days, two days at a time: one row per event_id though some came twice, every
    event_time there, rows within 2 % of prod and the same median durations; older days stay as they are."""
    readme = Readme("events", tmp_path)
    place = readme.follow("backfill apply --promote")
    before = rows(place)
    [shown] = pointer(place).segments
    readme.follow("cp -r change/. .")
    place = readme.follow("backfill plan --forward-only")
    week = Request(forward_only=days("2024-03-04").start)
    plan = plan_request(place, week)
    assert str(plan.changes["events"]) == "additive, non-breaking: adds session_length_sec"
    [stage] = [s for s in plan.stages if isinstance(s, Build)]
    assert str(stage.intervals) == "2024-03-04..2024-03-10"

    outcome = built(build_all(place, week))

    assert rows(place).equals(before), "prod shows what it showed"
    version = place.project.fingerprints["events"]
    batches = [c.interval for c in place.log.commits("events", version)]
    assert sorted(place.project.models["events"].cadence.count(b) for b in batches if b) == [1, 2, 2, 2]
    assert place.project.models["events"].batch_concurrency == 1, "two days at a time, not two batches"
    assert len(merges(place, version)) == 4 and outcome.changes and outcome.changes.inserted == outcome.rows
    assert {r.check for r in outcome.results} >= {"row_count", "unique_grain", "not_null", "range_session_length_sec"}
    readme.follow("backfill apply --forward-only")
    readme.follow("backfill approve PLAN --for product-analytics@example.com")
    place = readme.follow("backfill promote --forward-only")
    assert not readme.lines

    after = rows(place)
    assert len(before) == len(after) == before["event_id"].nunique() == after["event_id"].nunique()
    assert after["event_time"].notna().all()
    compared = before.groupby("ds").size() / after.groupby("ds").size()
    assert compared.between(0.98, 1.02).all()
    medians = [frame.groupby("ds")["duration_ms"].median() for frame in (before, after)]
    assert medians[0].equals(medians[1])
    old = after["ds"].astype(str) < "2024-03-04"
    assert after[old]["session_length_sec"].isna().all() and after[~old]["session_length_sec"].notna().all()
    first, second = pointer(place).segments
    assert (first.version, first.commit, str(first.interval)) == (shown.version, shown.commit, "2024-03-01..2024-03-03")
    assert str(second.interval) == "2024-03-04..2024-03-10"
    expected = from_files(
        tmp_path,
        """
        WITH e AS (
            SELECT * FROM read_csv('{data}/events/*.csv', types={'event_time': 'TIMESTAMP', 'received_at': 'TIMESTAMP'})
            QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY received_at DESC) = 1
        )
        SELECT event_id, duration_ms, date_diff('second', min(event_time) OVER s, max(event_time) OVER s) AS length
        FROM e WINDOW s AS (PARTITION BY session_id, event_time::DATE) ORDER BY event_id""",
    )
    found = after.sort_values("event_id")
    assert found["duration_ms"].tolist() == expected["duration_ms"].tolist(), "the latest delivery counts"
    new = expected[expected["event_id"].isin(after[~old]["event_id"])]
    assert after[~old].sort_values("event_id")["session_length_sec"].tolist() == new["length"].tolist()
    assert new["length"].median() > 0


@pytest.mark.extended
@pytest.mark.timeout(1800)  # ninety merges, one after the other: three minutes, or ten where another test runs beside
def test_gross_margin_for_ninety_days(spark: SparkSession, tmp_path: Path) -> None:
    """Orders get the cost that was valid on their day, one day at a time for ninety days: one row per order_id, revenue
    >= cost >= 0, margins within [0, 1.5], all equal to DuckDB's own join."""
    readme = Readme("fact_orders_daily", tmp_path)
    before = rows(readme.follow("backfill apply --promote"))
    readme.follow("cp -r change/. .")
    place = readme.follow("backfill plan")
    [stage] = [s for s in plan_request(place).stages if isinstance(s, Build)]
    assert len(stage.batches) == 90 and place.project.models["fact_orders_daily"].batch_concurrency == 1

    outcome = built(build_all(place))

    assert set(commits_per_interval(place, "fact_orders_daily").values()) == {1}
    assert len(merges(place, place.project.fingerprints["fact_orders_daily"])) == 90
    assert outcome.changes == Changes(inserted=len(before))
    assert rows(readme.follow("backfill apply")).equals(before)
    readme.follow("backfill approve PLAN --for finance@example.com")
    place = readme.follow("backfill promote")
    assert not readme.lines
    after = rows(place).sort_values("order_id", ignore_index=True)
    assert after["order_id"].is_unique and set(after["order_id"]) == set(before["order_id"])
    assert ((after["revenue"] >= after["cost"]) & (after["cost"] >= 0)).all()
    assert after["gross_margin"].between(Decimal(0), Decimal("1.5")).all()
    expected = from_files(
        tmp_path,
        """
        SELECT o.order_id, CAST(o.quantity * c.unit_cost AS DECIMAL(18,2)) AS cost
        FROM read_csv('{data}/orders/*.csv', types={'unit_price': 'DECIMAL(10,2)'}) AS o
        ASOF JOIN read_csv('{data}/product_costs/*.csv', types={'unit_cost': 'DECIMAL(10,2)'}) AS c
          ON o.product_id = c.product_id AND o.order_date >= c.effective_from
        ORDER BY o.order_id""",
    )
    assert [float(c) for c in after["cost"]] == [float(c) for c in expected["cost"]]
    assert len(set(zip(after["product_id"], (after["cost"] / after["quantity"]).astype(float), strict=True))) > 25, (
        "costs changed"
    )


def test_a_bug_fix_in_a_sandbox(spark: SparkSession, tmp_path: Path) -> None:
    """The fix is built and shown in an environment of its own; prod and it are compared day by day on totals, distinct
    customers and percentiles; then prod gets the very same table."""
    readme = Readme("customer_days", tmp_path)
    before = rows(readme.follow("backfill apply --promote"))
    readme.follow("cp -r change/. .")
    readme.follow("sed -i")
    sandbox = readme.follow("backfill apply --promote")
    assert sandbox.environment == "sandbox"
    assert rows(sandbox, "prod").equals(before)

    def by_day(environment: str) -> pd.DataFrame:
        frame = rows(sandbox, environment).assign(paid=lambda f: f["paid"].astype(float))
        of = frame.groupby(frame["ds"].astype(str))
        return pd.DataFrame(
            {
                "total": of["paid"].sum().round(2),
                "customers": of["customer_id"].nunique(),
                "payments": of["payments"].sum(),
                "p50": of["paid"].quantile(0.5),
                "p95": of["paid"].quantile(0.95),
            }
        )

    prod, fixed = by_day("prod"), by_day("sandbox")
    refunds = from_files(
        tmp_path,
        "SELECT paid_at::DATE::TEXT AS ds, sum(amount) AS back FROM read_csv('{data}/payments/*.csv', "
        "types={'paid_at': 'TIMESTAMP'}) "
        "WHERE kind = 'refund' GROUP BY 1 ORDER BY 1",
    ).set_index("ds")["back"]
    assert ((prod["total"] - fixed["total"]) - 2 * refunds).abs().max() < 0.01, (
        "the difference is explained to the cent"
    )
    assert (prod[["customers", "payments"]] == fixed[["customers", "payments"]]).all().all()
    assert (fixed["p50"] <= prod["p50"]).all() and (fixed["p95"] <= prod["p95"]).all()

    readme.follow("backfill sql -e prod")
    readme.follow("backfill sql")
    place = readme.follow("sed -i")
    assert not [s for s in plan_request(place).stages if isinstance(s, Build)], "the sandbox's table is the one"
    assert rows(readme.follow("backfill apply")).equals(before)
    readme.follow("backfill approve PLAN --for finance@example.com")
    place = readme.follow("backfill promote")
    assert not readme.lines
    assert pointer(place).segments == pointer(place, "sandbox").segments
    assert rows(place).equals(rows(place, "sandbox"))


def test_four_days_of_doubled_quantities(spark: SparkSession, tmp_path: Path) -> None:
    """Only the four days are written, by MERGE on (order_id, item_id): rows within 1 %, no negative quantity, totals as
    delivered; all else is provably the same files, and rows that were right keep their marker."""
    readme = Readme("fact_order_items", tmp_path)
    place = readme.follow("backfill apply --promote")
    assert warned(place) == {f"2024-03-0{d}" for d in (4, 5, 6, 7)}, "totals are beyond their bounds"
    before = rows(place)
    [shown] = pointer(place).segments
    table = table_path(place.warehouse, "fact_order_items", shown.version)
    files = open_table(table)
    assert files is not None
    there = set(files.file_uris())
    readme.follow("cp -r change/. .")
    place = readme.follow("backfill plan --restate")
    four = days("2024-03-04", "2024-03-07")
    again = Request(restate=(("fact_order_items", four),))
    [stage] = [s for s in plan_request(place, again).stages if isinstance(s, Build)]
    assert stage.intervals == Ranges((four,))

    outcome = built(build_all(place, again))

    [revision] = {e.version for e in place.control.ledger.entries()} - {shown.version}
    assert {r.check for r in outcome.results if not r.passed} == set()
    assert "total_quantity" in {r.check for r in outcome.results}
    [merge] = merges(place, revision)
    log = place.log.rows("fact_order_items", revision, merge["version"])
    assert {f"{day:%Y-%m-%d}" for day in log} == {f"2024-03-0{d}" for d in (4, 5, 6, 7)}
    assert sum(log.values()) == outcome.rows
    assert rows(place).equals(before)
    readme.follow("backfill apply --restate")
    readme.follow("backfill approve PLAN --for logistics@example.com")
    place = readme.follow("backfill promote --restate")
    assert not readme.lines

    now = open_table(table)
    assert now is not None and now.version() == shown.commit and set(now.file_uris()) == there
    untouched = [s for s in pointer(place).segments if s.version == shown.version]
    assert Ranges.of(s.interval for s in untouched) == Ranges((shown.interval,)) - Ranges((four,))
    assert {s.commit for s in untouched} == {shown.commit}
    both = before.merge(rows(place), on=["ds", "order_id", "item_id"], suffixes=("", "_now"), validate="1:1")
    assert len(both) == len(before) == len(rows(place)), "within 1 %: the same rows"
    assert (both["quantity_now"] >= 0).all()
    expected = from_files(
        tmp_path, "SELECT order_date, sum(quantity) AS n FROM read_csv('{data}/order_items/*.csv') GROUP BY 1"
    )
    totals = both.groupby(both["ds"].astype(str))["quantity_now"].sum()
    assert totals.to_dict() == {f"{r.order_date:%Y-%m-%d}": int(r.n) for r in expected.itertuples()}
    wrong = both["ds"].astype(str).between("2024-03-04", "2024-03-07") & (both["warehouse"] == "east")
    assert (both["quantity"] == both["quantity_now"] * wrong.map({True: 2, False: 1})).all()
    assert ((both["updated_at"] != both["updated_at_now"]) == wrong).all()
