"""A date or an instant after the interval of its row is told; the interval's last one, and NULL, pass."""

from __future__ import annotations

import duckdb
import pytest

from backfill_assets.audits.judge import expected_text, judge
from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import scan_audits
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import NOW, a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables

AUDIT = Audit(name="check", kind="not_future", arguments={"column": "X"})


def tables(values: str) -> DuckTables:
    duck = duckdb.connect()
    duck.execute(f"CREATE TABLE rows AS SELECT * FROM (VALUES {values}) t(ds, id, x)")
    return DuckTables(duck)


def test_days() -> None:
    """Up to the last microsecond of the day; the samples name the key and what is wrong, unless that is masked."""
    rows = tables(
        "(DATE '2024-01-01', 1, TIMESTAMP '2024-01-01 23:59:59.999999'), (DATE '2024-01-01', 2, NULL), "
        "(DATE '2024-01-01', 3, TIMESTAMP '2024-01-02 00:00:00'), (DATE '2024-01-02', 4, TIMESTAMP '2023-05-01')"
    )
    model, two = a_model("m", audits=(AUDIT,)), days("01", "02")
    counts = scan_audits(model, Ranges((two,)), rows)
    [first, second] = judge(model, "v", "b", Cadence.DAILY.split(two), counts, prod_rows={}, at=NOW)
    assert (first.passed, first.failures, first.observed) == (False, 1, "1 failing of 3 rows")
    assert second.passed
    assert expected_text(model, AUDIT) == "no X after the day of its row"
    for mask, value in (((), "2024-01-02 00:00:00"), (("x",), "***")):
        samples = sample_failures(a_model("m", audits=(AUDIT,), mask=mask), AUDIT, Ranges((two,)), rows)
        assert dict(samples) == {two.start: [f"ds=2024-01-01, id=3, X={value}"]}


@pytest.mark.parametrize(
    ("cadence", "at", "last", "next_one"),
    [
        (Cadence.HOURLY, "2024-01-01 05:00:00", "2024-01-01 05:59:59", "2024-01-01 06:00:00"),
        (Cadence.DAILY, "2024-02-28 00:00:00", "2024-02-28 23:59:59", "2024-02-29 00:00:00"),
        (Cadence.WEEKLY, "2024-01-03 00:00:00", "2024-01-07 23:59:59", "2024-01-08 00:00:00"),
        (Cadence.MONTHLY, "2024-02-01 00:00:00", "2024-02-29 23:59:59", "2024-03-01 00:00:00"),
    ],
)
def test_ends_of_intervals(cadence: Cadence, at: str, last: str, next_one: str) -> None:
    """Of every cadence the end itself is the next interval's; so is a date that is the next interval's first day."""
    start = cadence.floor(utc(at))
    model, part = a_model("m", audits=(AUDIT,), cadence=cadence), Interval(start, cadence.shift(start, 1))
    for kind in ("TIMESTAMP",) if cadence is Cadence.HOURLY else ("TIMESTAMP", "DATE"):
        values = ", ".join(f"(TIMESTAMP '{at}', {n}, CAST('{x}' AS {kind}))" for n, x in enumerate((last, next_one)))
        assert scan_audits(model, Ranges((part,)), tables(values))[start].failures == {"check": 1}
