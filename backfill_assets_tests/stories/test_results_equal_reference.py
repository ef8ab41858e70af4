"""The demo's tables are what a second, independent computation says (A2, A5), however they were built (A4, B6)."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests import reference
from backfill_assets_tests.projects import build_all, commits_per_interval, days

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, LAST = date(2024, 1, 1), date(2025, 6, 24)
LAST_MONTH = date(2025, 6, 1)
MODELS: dict[str, Callable[[Path, date, date], pa.Table]] = {
    "campaign_performance": reference.campaign_performance,
    "roi_analysis": reference.roi_analysis,
    "campaign_trends_monthly": reference.campaign_trends_monthly,
}
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The demo project, all of its 540 days, with 150 thousand events; built, and not promoted."""
    root = tmp_path_factory.mktemp("demo")
    shutil.copytree(EMBEDDED_PROJECT / "models", root / "models", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EMBEDDED_PROJECT / "sources.yml", root)
    shutil.copy(EMBEDDED_PROJECT / "backfill.yml", root)
    generate(root / ".backfill" / "data", events=150_000)
    place = Context.open(root)
    outcomes = build_all(place)
    assert all(o.ok for o in outcomes.values()), {n: (o.failures, o.red) for n, o in outcomes.items()}
    return place


@pytest.fixture(scope="module")
def demo(built: Context) -> Context:
    """The same, promoted: the tests above, which build days again, come before it."""
    verdict = promote_plan(built).verdict
    assert verdict.open, verdict.obstacles
    return built


def test_a_day_that_is_built_again_has_the_same_rows(built: Context) -> None:
    """Days that the ledger takes back are built again, they alone: the tests below compare their rows."""
    day = days("2024-02-28", "2024-03-01")
    before = {model: commits_per_interval(built, model) for model in MODELS}
    invalidate(built, "campaign_performance", day)
    assert plan_request(built).stages[0].intervals == Ranges((day,))  # type: ignore[union-attr]

    outcomes = build_all(built)

    assert outcomes["campaign_performance"].built == Ranges((day,))
    after = commits_per_interval(built, "campaign_performance")
    again = {i for i, n in after.items() if n != before["campaign_performance"][i]}
    assert Ranges.of(again) == Ranges((day,))


def test_a_table_that_vanished_is_built_again(built: Context) -> None:
    """A version whose folder is gone covers nothing, whatever the ledger says; the tests below compare its rows."""
    version = built.project.fingerprints["campaign_trends_monthly"]
    shutil.rmtree(Path(built.warehouse) / "campaign_trends_monthly" / version)
    assert not built.facts().tables.coverage["campaign_trends_monthly"].complete

    outcomes = build_all(built)

    assert outcomes["campaign_trends_monthly"].ok and list(outcomes) == ["campaign_trends_monthly"]


@pytest.mark.parametrize("model", MODELS)
def test_every_row_equals_the_reference(demo: Context, model: str) -> None:
    """Every table, day and value: counts, texts and decimals exactly, doubles to the ninth digit."""
    root = demo.project.root
    shown = backfill_assets.read(model, project=root)
    last = LAST_MONTH if demo.project.models[model].cadence is Cadence.MONTHLY else LAST
    expected = MODELS[model](root / ".backfill" / "data", FIRST, last)

    whole = Ranges((Interval.of(str(FIRST), str(last)),))
    assert demo.project.models[model].expected(demo.now()) == whole
    assert demo.control.environments.read("prod").pointers[model].covers == whole
    assert expected.num_rows >= 17 * 20  # months and campaigns
    assert_equal(demo, model, shown, expected)


def invalidate(place: Context, model: str, interval: Interval) -> None:
    """As an audit or a restatement does it."""
    version = place.project.fingerprints[model]
    head = place.log.head(model, version)
    now = datetime.now(UTC)
    entry = Entry(
        kind=Kind.INVALIDATED,
        model=model,
        version=version,
        interval=interval,
        table_commit=head,
        at=now,
        reason="a test",
    )
    place.control.ledger.append([entry])


def assert_equal(place: Context, model: str, shown: pa.Table, expected: pa.Table) -> None:
    keys = [(key, "ascending") for key in place.project.models[model].grain]
    shown, expected = shown.sort_by(keys), expected.sort_by(keys)
    assert shown.column_names == expected.column_names
    assert shown.num_rows == expected.num_rows
    for name in shown.column_names:
        mine, theirs = shown.column(name), expected.column(name)
        if pa.types.is_floating(mine.type):
            close = pytest.approx(numbers(theirs), rel=TOLERANCE, abs=TOLERANCE, nan_ok=True)
            assert mine.is_null().equals(theirs.is_null()) and numbers(mine) == close, name
        else:
            assert mine.cast(theirs.type).to_pylist() == theirs.to_pylist(), name


def numbers(column: pa.ChunkedArray) -> list[float]:
    return [math.nan if value is None else value for value in column.to_pylist()]
