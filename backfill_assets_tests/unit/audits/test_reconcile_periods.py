"""Do whole months agree with another table? Asked of DuckDB, compared with plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta

import duckdb
import pytest

from backfill_assets.audits.judge import judge
from backfill_assets.audits.relations import AuditedTable
from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import scan_audits
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import a_model
from backfill_assets_tests.unit.audits.duck import DuckTables

FIRST = date(2024, 1, 25)
BUILT = Interval.of("2024-01-25", "2024-04-10")
"""February and March are whole; January and April are not."""
JUDGED = Ranges((Interval.of("2024-01-30", "2024-02-03"), Interval.of("2024-03-30", "2024-04-10")))
AUDIT = Audit(
    name="check",
    kind="reconcile",
    arguments={
        "metric": "sum(x)", "of": "bills", "of_metric": "sum(total)", "by": {"id": "key"}, "within": 2,
        "period": "monthly",
    },
)  # fmt: skip


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    yield connection
    connection.close()


def tables(duck: duckdb.DuckDBPyConnection, rows: list[tuple[date, int, int]], bills: dict[date, int]) -> DuckTables:
    """`bills` are a row a month, at any day of it, of key 1; the judged rows are a part of all rows."""
    duck.execute("CREATE TABLE every (ds DATE, id BIGINT, x BIGINT)")
    duck.executemany("INSERT INTO every VALUES (?, ?, ?)", rows)
    duck.execute("CREATE TABLE bills (day DATE, key BIGINT, total BIGINT)")
    duck.executemany("INSERT INTO bills VALUES (?, 1, ?)", list(bills.items()))
    parts = " OR ".join(f"ds >= DATE '{p.start:%Y-%m-%d}' AND ds < DATE '{p.end:%Y-%m-%d}'" for p in JUDGED)
    duck.execute(f"CREATE VIEW rows AS SELECT * FROM every WHERE {parts}")
    return DuckTables(
        duck,
        tables=[AuditedTable(view="bills", columns=("day", "key", "total"), time_column="day", dates=True)],
        whole=AuditedTable(
            view="every", columns=("ds", "id", "x"), time_column="ds", dates=True, covers=Ranges((BUILT,))
        ),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_each_day_is_as_its_month(duck: duckdb.DuckDBPyConnection, seed: int) -> None:
    """All rows of a month count, also of days that were audited before; what is not whole yet is not compared."""
    rng = random.Random(seed)
    days = [FIRST + timedelta(n) for n in range(76)]
    rows = [(day, rng.choice([1, 1, 1, 2] if seed % 3 else [1]), rng.randint(0, 3)) for day in days]
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for day, key, x in rows:
        sums[day.month, key] += x
    bills = {date(2024, month, 17): sums[month, 1] + rng.randint(-4, 4) for month in (1, 2, 3, 4)}
    found = scan_audits(a_model("m", audits=(AUDIT,)), JUDGED, tables(duck, rows, bills))

    def failing(month: int) -> int:
        return (abs(sums[month, 1] - bills[date(2024, month, 17)]) > 2) + ((month, 2) in sums)

    assert {at for at, counts in found.items() if "check" in counts.unfinished} == {
        at for at in found if at.month in (1, 4)
    }
    assert {at: counts.failures["check"] for at, counts in found.items() if not counts.unfinished} == {
        at: failing(at.month) for at in found if at.month in (2, 3)
    }


def test_what_is_said_of_it(duck: duckdb.DuckDBPyConnection) -> None:
    """A day of a wrong month fails and shows the month's values; a day of an unfinished one passes and says why."""
    rows = [(FIRST + timedelta(n), 1, 1) for n in range(76)]
    views = tables(duck, rows, {date(2024, 2, 17): 29, date(2024, 3, 1): 41})
    model = a_model("m", audits=(AUDIT,))
    days = [Interval.of("2024-02-01", "2024-02-02"), Interval.of("2024-03-31", "2024-04-01")]
    april = Interval.of("2024-04-09", "2024-04-10")
    counts = scan_audits(model, JUDGED, views)
    results = judge(model, "v", "b", [*days, april], counts, prod_rows={}, at=utc("2024-05-01"))
    assert [(r.passed, r.observed) for r in results] == [
        (True, "0 failing of 1 groups"),
        (False, "1 failing of 1 groups"),
        (True, "not all of the month of 2024-04-01 is built: not compared yet"),
    ]
    assert results[0].expected == "sum(x) of the whole month by id is within ±2 of sum(total) in bills"
    samples = sample_failures(model, AUDIT, Ranges.of(days), views)
    assert samples == {days[1].start: ["month of 2024-03-01: id=1, 31 here, 41 in bills"]}


def test_a_month_that_the_other_table_lacks(duck: duckdb.DuckDBPyConnection) -> None:
    """There is nothing to compare with where another model is not built for all of the month."""
    views = tables(duck, [(FIRST + timedelta(n), 1, 1) for n in range(76)], {date(2024, 2, 1): 29})
    bills = views.table("bills")
    covers = Ranges((Interval.of("2024-02-01", "2024-03-20"),))
    short = AuditedTable(view="bills", columns=bills.columns, time_column="day", dates=True, covers=covers)
    whole = views.whole()
    found = scan_audits(a_model("m", audits=(AUDIT,)), JUDGED, DuckTables(duck, tables=[short], whole=whole))
    assert {at.month for at, counts in found.items() if counts.nothing} == {3}
