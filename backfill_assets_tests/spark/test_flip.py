"""Does a query that is analysed while an environment moves see one release?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.spark_views import SparkViews
from backfill_assets.core.intervals import utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.environment import Environment
from backfill_assets_tests.stories.releases import ROWS, Releases, build_releases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def releases(spark: SparkSession, tmp_path: Path, environment: str) -> Iterator[Releases]:
    """Release 1 is shown; both views are expanded towards release 2."""
    built = build_releases(tmp_path, environment)
    views = SparkViews(spark, built.one.warehouse)
    views.settle(flip(built, 0), ["daily", "running"])
    views.expand(environment, list(zip(*built.pointers, strict=True)), utc("2024-02-01"))
    yield built
    spark.sql(f"DROP DATABASE {environment} CASCADE")


def flip(releases: Releases, number: int) -> Environment:
    return flip_to(releases, releases.pointers[number])


def flip_to(releases: Releases, pointers: Sequence[Pointer]) -> Environment:
    environments = releases.one.control.environments
    seen = environments.read(releases.one.environment)
    return environments.flip(seen, pointers, release=f"r{seen.revision}", at=utc("2024-02-01"))


def marks(daily: DataFrame, running: DataFrame) -> set[tuple[int, int]]:
    """The pairs of releases in a join."""
    rows = daily.join(running, "ds").select(daily["mark"], running["mark"]).collect()
    assert len(rows) == ROWS
    return {tuple(row) for row in rows}


def test_nothing_moves_between_the_commit_and_the_cutover(spark: SparkSession, releases: Releases) -> None:
    """Queries before the cutover see the old release although the commit is there: so no commit falls inside one."""
    name = releases.one.environment
    views = SparkViews(spark, releases.one.warehouse)
    cutover = datetime.now(UTC) + timedelta(seconds=20)
    views.expand(name, list(zip(*releases.pointers, strict=True)), cutover)
    flip(releases, 1)
    before = marks(spark.table(f"{name}.daily"), spark.table(f"{name}.running"))
    assert datetime.now(UTC) < cutover, "this machine was too slow for the test to say anything"
    assert before == {(1, 1)}
    while datetime.now(UTC) < cutover:
        assert marks(spark.table(f"{name}.daily"), spark.table(f"{name}.running")) in ({(1, 1)}, {(2, 2)})
    assert marks(spark.table(f"{name}.daily"), spark.table(f"{name}.running")) == {(2, 2)}


def test_a_commit_between_the_analysis_of_two_views(spark: SparkSession, releases: Releases) -> None:
    """One view was resolved before the commit and the other after it: still, the query sees both of one release."""
    name = releases.one.environment
    first = spark.sql(f"SELECT ds, mark FROM {name}.daily")
    flip(releases, 1)
    second = spark.sql(f"SELECT ds, mark FROM {name}.running")

    assert marks(first, second) in ({(1, 1)}, {(2, 2)})
    third = [
        replace(p, segments=tuple(replace(s, commit=s.commit + 1) for s in p.segments)) for p in releases.pointers[1]
    ]
    flip_to(releases, third)
    assert marks(first, second) == {(2, 2)}, "resolved during one promotion, read after the next one"
    flip(releases, 1)
    assert marks(spark.table(f"{name}.daily"), spark.table(f"{name}.running")) == {(2, 2)}
