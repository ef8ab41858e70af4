"""Is a key found that is in several intervals of the table? Asked of DuckDB, compared with plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import scan_audits
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables
from backfill_assets_tests.unit.audits.test_scan import DAYS, WEEK, fill, random_rows

Rows = list[tuple[object, ...]]
GRAIN = Audit(name="check", kind="unique_grain", arguments={"scope": "table"})


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    yield connection
    connection.close()


def tables(duck: duckdb.DuckDBPyConnection, judged: Rows, others: Rows, *, count: int = 0) -> DuckTables:
    fill(duck, "rows", judged)
    return DuckTables(duck, whole=fill(duck, "whole", [*judged, *others]), count=count)


def expected(judged: Rows, every: Rows, columns: tuple[int, ...]) -> dict[int, int]:
    """Day of January → surplus rows of its keys, and how many of these are in another day, too."""
    found: dict[int, int] = {}
    for day in range(1, 8):
        keys = [tuple(row[c] for c in columns) for row in judged if row[0] == day]
        elsewhere = {tuple(row[c] for c in columns) for row in every if row[0] != day}
        found[day] = len(keys) - len({*keys}) + len({*keys} & elsewhere)
    return found


@pytest.mark.parametrize("count", [0, 10**9])
@pytest.mark.parametrize("seed", range(20))
def test_a_key_on_two_days_is_found(duck: duckdb.DuckDBPyConnection, seed: int, count: int) -> None:
    """NULL is a value; rows of days that are not judged count, days without rows have no failure."""
    judged = random_rows(seed, most=8)
    others = [row for row in random_rows(seed + 100, most=8) if row[0] not in {day for day, *_ in judged}]
    views = tables(duck, judged, others, count=count)
    every = [*judged, *others]
    pair = Audit(name="pair", kind="unique", arguments={"columns": ("id", "x"), "scope": "table"})
    some = Audit(name="some", kind="unique", arguments={"columns": ("id",), "where": "x > 4 -- big", "scope": "table"})
    model = replace(a_model("m", audits=(GRAIN, pair, some)), grain=("id",))
    found = scan_audits(model, WEEK, views)

    def failures(name: str) -> dict[int, int]:
        return {at.day: counts.failures[name] for at, counts in found.items()}

    def big(rows: Rows) -> Rows:
        return [row for row in rows if row[2] is not None and int(str(row[2])) > 4]

    assert failures("check") == expected(judged, every, (1,))
    assert failures("pair") == expected(judged, every, (1, 2))
    assert failures("some") == expected(big(judged), big(every), (1,))


def test_a_key_that_all_days_have_is_joined_once_a_day(duck: duckdb.DuckDBPyConnection) -> None:
    """Rows without a key are many: they are not paired with one another."""
    rows = [(day, None, n) for day in range(1, 8) for n in range(100)]
    views = tables(duck, rows, [])
    found = scan_audits(replace(a_model("m", audits=(GRAIN,)), grain=("id",)), WEEK, views)
    assert {at.day: counts.failures["check"] for at, counts in found.items()} == dict.fromkeys(range(1, 8), 100)
    spans = views.asked[-1].partition("AS s JOIN (")[2].rpartition(") AS t ON")[0]
    assert len(views.ask(spans)) == 1


def test_a_sample_names_the_other_day(duck: duckdb.DuckDBPyConnection) -> None:
    """Each key with the first other day that has it; a masked one is hidden."""
    views = tables(duck, [(3, 7, 1), (3, 8, 1), (4, None, 1)], [(1, 7, 1), (2, 7, 1), (6, None, 1)])
    model = replace(a_model("m", audits=(GRAIN,)), grain=("id",))
    found = sample_failures(model, GRAIN, WEEK, views)
    assert {at.day: keys for at, keys in found.items()} == {
        3: ["id=7, also in 2024-01-01 00:00"],
        4: ["id=NULL, also in 2024-01-06 00:00"],
    }
    hidden = sample_failures(replace(model, mask=("id",)), GRAIN, WEEK, views)
    assert hidden[DAYS[2].start] == ["id=***, also in 2024-01-01 00:00"]


def test_only_rows_between_the_new_keys_are_asked_for(duck: duckdb.DuckDBPyConnection) -> None:
    """The table is read between the least and the greatest new key: literals, by which files are left out."""
    duck.execute("CREATE MACRO typeof(x) AS 'bigint'")
    views = tables(duck, [(3, 70, 1), (3, 80, 1)], [(1, 5, 1), (1, 70, 1)])
    scan_audits(replace(a_model("m", audits=(GRAIN,)), grain=("id",)), Ranges.of([days("03")]), views)
    assert "`id` >= CAST('70' AS bigint) AND `id` <= CAST('80' AS bigint)" in views.asked[-1]
