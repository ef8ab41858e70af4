"""Analysts query while releases are promoted back and forth: one release a query, never an error (A3, C6)."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.spark_views import SparkViews
from backfill_assets.promote.promote import promote
from backfill_assets_tests.projects import eventually
from backfill_assets_tests.stories.releases import JOINED, ROWS, build_releases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READERS, PROMOTIONS, QUERIES_DURING = 2, 5, 12


def test_readers_during_promotions(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Joins of two views, in a catalog that all share, while both views move eight times and more."""
    releases = build_releases(tmp_path, environment)
    views, environments = SparkViews(spark, releases.one.warehouse), releases.one.control.environments
    shown = promote(environments, environments.read(environment), releases.pointers[0], views)

    stop, seen, errors = threading.Event(), list[tuple[int, ...]](), list[str]()

    def read() -> None:
        session = spark.newSession()
        while not stop.is_set():
            try:
                seen.extend(tuple(row) for row in session.sql(JOINED.format(environment)).collect())
            except Exception as error:
                errors.append(str(error).splitlines()[0])

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        eventually(lambda: len(seen) >= 4 or errors)
        promotions = during = 0
        deadline = time.monotonic() + 400
        while (promotions < PROMOTIONS or during < QUERIES_DURING) and time.monotonic() < deadline and not errors:
            before = len(seen)
            promotions += 1
            shown = promote(environments, shown, releases.pointers[promotions % 2], views)
            during += len(seen) - before
            between = len(seen) + READERS  # such that each release is also seen at rest
            eventually(lambda between=between: len(seen) > between or errors)
    finally:
        stop.set()
        for reader in readers:
            reader.join(120)

    assert not errors, errors[:3]
    assert set(seen) == {(1, 1, 1, 1, ROWS), (2, 2, 2, 2, ROWS)}, "a query saw two releases, or a part of one"
    assert promotions >= PROMOTIONS and during >= QUERIES_DURING, "too few queries ran while views moved"
    assert shown.promotion is None
    spark.sql(f"DROP DATABASE {environment} CASCADE")
