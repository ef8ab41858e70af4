"""How many rows does a sample of failures have? At most five of each interval, and of those that were asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from backfill_assets.audits.relations import INTERVAL, Relations
from backfill_assets.audits.sample import SAMPLE_SIZE, sample_failures
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables
from backfill_assets_tests.unit.audits.test_scan import an_audit, duck, fill

__all__ = ["duck"]


class Told(DuckTables):
    """The same tables; how many rows each query gave, and what it is made to say instead."""

    def __init__(self, *arguments: Any, instead: list[dict[str, Any]] | None = None) -> None:
        super().__init__(*arguments)
        self.gave: list[int] = []
        self._instead = instead

    def ask(self, query: str) -> list[dict[str, Any]]:
        found = super().ask(query) if self._instead is None else self._instead
        self.gave.append(len(found))
        return found


def sampled(tables: Relations, first: str, last: str) -> dict[datetime, list[str]]:
    model = a_model("a", audits=(audit := an_audit("range", column="x", min=0),))
    return sample_failures(model, audit, Ranges((days(first, last),)), tables)


def test_many_failures(duck: Any) -> None:
    """Nine rows of a day fail: five are read, and told."""
    fill(duck, "rows", [(1, n, -1) for n in range(9)])
    tables = Told(duck)
    found = sampled(tables, "01", "01")
    assert tables.gave == [SAMPLE_SIZE] and [len(rows) for rows in found.values()] == [SAMPLE_SIZE]


@pytest.mark.parametrize("at", [None, "2024-01-01 00:00"])
def test_rows_of_no_day_or_of_another_one(duck: Any, at: str | None) -> None:
    """Rows without a day are of all that were asked for, five in each; a day that nobody asked for is left out."""
    rows = [{INTERVAL: at, "sample": f"id={n}"} for n in range(4)]
    rows += [{INTERVAL: "2024-01-02 00:00", "sample": f"id={n}"} for n in range(4, 8)]
    found = sampled(Told(duck, instead=rows), "02", "02")
    assert set(found) == {utc("2024-01-02")} and len(found[utc("2024-01-02")]) == (5 if at is None else 4)
