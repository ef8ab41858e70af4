"""The passes beside the one scan, and what is made of all of them: run in DuckDB, compared with plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.kinds.base import BITS
from backfill_assets.audits.relations import AuditedTable
from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import MANY, scan_audits
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables

DAYS = [days(f"{n:02}") for n in range(1, 8)]
WEEK = Ranges.of(DAYS)


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    yield connection
    connection.close()


def fill(
    duck: duckdb.DuckDBPyConnection, name: str, rows: list[tuple[object, ...]], columns: str = "ds, id, x"
) -> AuditedTable:
    """A table of (day of January, …)."""
    kinds = ["DATE", "BIGINT", "BIGINT"]
    names = columns.split(", ")
    duck.execute(f"CREATE TABLE {name} ({', '.join(f'{n} {k}' for n, k in zip(names, kinds, strict=True))})")
    if rows:
        values = [(f"2024-01-{row[0]:02}", *row[1:]) for row in rows]
        duck.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", values)
    return AuditedTable(view=name, columns=names, time_column="ds", dates=True)


def an_audit(kind: str, name: str = "check", **arguments: object) -> Audit:
    return Audit(name=name, kind=kind, arguments=arguments)


def scan(tables: DuckTables, *audits: Audit, over: Ranges = WEEK) -> dict[int, Counts]:
    """Day of January → what was found."""
    return {at.day: c for at, c in scan_audits(a_model("m", audits=audits), over, tables).items()}


def failures(tables: DuckTables, audit: Audit) -> dict[int, int]:
    return {day: c.failures["check"] for day, c in scan(tables, audit).items()}


def random_rows(seed: int, most: int = 40) -> list[tuple[object, ...]]:
    rng = random.Random(seed)
    return [
        (rng.randint(1, 6), rng.choice([1, 2, 3, None]), rng.choice([None, *range(10)]))
        for _ in range(rng.randint(0, most))
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("within", "percent"), [(None, None), (3, None), (None, 30), (2, 50)])
def test_reconcile_by_group(
    duck: duckdb.DuckDBPyConnection, seed: int, within: int | None, percent: int | None
) -> None:
    """Groups of either side, NULL ones too; a group or a sum that one side lacks differs; both tolerances hold."""
    here, there = random_rows(seed), random_rows(seed + 1000) if seed % 2 else random_rows(seed)
    fill(duck, "rows", here)
    other = fill(duck, "other", [*there, (1, 9, 4)], "ds, key, y")
    arguments = {"within": within, "within_percent": percent}
    audit = an_audit(
        "reconcile", metric="sum(x)", of="other", of_metric="sum(y)", by={"id": "key"},
        **{k: v for k, v in arguments.items() if v is not None},
    )  # fmt: skip

    def sums(rows: list[tuple[object, ...]]) -> dict[tuple[object, object], float | None]:
        found: dict[tuple[object, object], float | None] = {}
        for ds, key, value in rows:
            found.setdefault((ds, key), None)
            if value is not None:
                found[ds, key] = (found[ds, key] or 0) + value  # type: ignore[operator]
        return found

    mine, theirs = sums(here), sums([*there, (1, 9, 4)])
    bad: Counter[object] = Counter()
    groups: Counter[object] = Counter()
    for ds, key in {*mine, *theirs}:
        a, b = mine.get((ds, key)), theirs.get((ds, key))
        apart = (a is None) != (b is None)
        if a is not None and b is not None:
            apart = abs(a - b) > max(within or 0, (percent or 0) / 100 * abs(b))
        bad[ds] += apart
        groups[ds] += 1
    found = scan(DuckTables(duck, tables=[other]), audit)
    assert {day: c.failures["check"] for day, c in found.items()} == {day: bad[day] for day in range(1, 8)}
    assert {day: c.totals["check"] for day, c in found.items()} == {day: groups[day] for day in range(1, 8)}


def test_reconciles_of_one_table_are_one_query(duck: duckdb.DuckDBPyConnection) -> None:
    """All metrics by the same groups together; other groups or another table are another pass."""
    fill(duck, "rows", [(1, 1, 5)])
    tables = [fill(duck, "other", [(1, 1, 6)]), fill(duck, "third", [(1, 1, 5)])]
    views = DuckTables(duck, tables=tables)
    found = scan(
        views,
        an_audit("reconcile", "sums", metric="sum(x)", of="other"),
        an_audit("reconcile", "rows", metric="count(*)", of="other"),
        an_audit("reconcile", "by_id", metric="sum(x)", of="other", by={"id": "id"}),
        an_audit("reconcile", "third", metric="sum(x)", of="third"),
        an_audit("not_null", "filled", columns=("x",)),
        an_audit("relationships", "known", columns=("id",), to="third"),
    )
    assert found[1].failures == {"sums": 1, "rows": 0, "by_id": 1, "third": 0, "filled": 0, "known": 0}
    assert len(views.asked) == 1 + 3


def test_what_prod_does_not_show_is_not_compared(duck: duckdb.DuckDBPyConnection) -> None:
    """Days that prod lacks, and columns that its release does not have yet, are told apart from differences."""
    fill(duck, "rows", [(1, 1, 5), (2, 1, 5)])
    older = fill(duck, "prod_rows", [(1, 1, 6)])
    shown = AuditedTable(view=older.view, columns=("ds", "id"), time_column="ds", dates=True, covers=Ranges((DAYS[0],)))
    audits = [
        an_audit("reconcile", "ids", metric="sum(id)", of="prod"),
        an_audit("reconcile", "new", metric="sum(x)", of="prod"),
    ]
    found = scan(DuckTables(duck, shown=shown), *audits)
    assert found[1].nothing == {"new"} and found[1].failures == {"ids": 0}
    assert found[2].nothing == {"new", "ids"}
    assert all(c.nothing == {"new", "ids"} for c in scan(DuckTables(duck), *audits).values())


def test_relationships_ignore_nulls_and_repeated_keys(duck: duckdb.DuckDBPyConnection) -> None:
    """A key with a NULL in it refers to nothing; a reference that has a key twice multiplies no row."""
    fill(duck, "rows", [(1, 1, 1), (1, 2, 2), (1, 3, None), (1, None, 7), (1, 3, 3), (2, 9, 9)])
    other = fill(duck, "other", [(1, 1, 1), (1, 1, 1), (2, 9, 9), (2, 3, None)])
    tables = DuckTables(duck, tables=[other])
    assert failures(tables, an_audit("relationships", columns=("id",), to="other"))[1] == 1
    both = an_audit("relationships", columns=("id", "x"), to="other")
    assert failures(tables, both) == {1: 2, 2: 0} | dict.fromkeys(range(3, 8), 0)
    found = sample_failures(a_model("m", audits=(both,)), both, WEEK, tables)
    assert found == {DAYS[0].start: ["ds=2024-01-01, id=2, x=2", "ds=2024-01-01, id=3, x=3"]}


@pytest.mark.parametrize("seed", range(10))
def test_entities(duck: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Of a list or of a table: those without any row, in every day, also in one without rows; with their names."""
    rows = random_rows(seed)
    fill(duck, "rows", rows)
    other = fill(duck, "other", [(1, 2, 0), (3, 2, 0), (1, 7, 0), (1, None, 0)], "ds, key, y")
    tables = DuckTables(duck, tables=[other])
    for expected, audit in (
        ({1, 2, 8}, an_audit("entities", column="id", values=(1, 2, 8))),
        ({2, 7}, an_audit("entities", column="id", of="other", field="key")),
    ):
        missing = {d: expected - {key for ds, key, _ in rows if ds == d} for d in range(1, 8)}
        found = scan(tables, audit)
        assert {d: c.failures["check"] for d, c in found.items()} == {d: len(m) for d, m in missing.items()}
        assert {c.totals["check"] for c in found.values()} == {len(expected)}
        samples = sample_failures(a_model("m", audits=(audit,)), audit, WEEK, tables)
        assert {at.day: set(keys) for at, keys in samples.items()} == {
            d: {f"id={key}" for key in m} for d, m in missing.items() if m
        }


def test_known_records_of_any_number(duck: duckdb.DuckDBPyConnection) -> None:
    """More than one column of bits holds; a wrong value, a missing row and a NULL that is none are told."""
    count = BITS * 2 + 3
    rows = [(1 + n % 3, n, n * 10) for n in range(count)]
    fill(duck, "rows", [*rows, (5, 1, None)])
    good = [{"ds": f"2024-01-{ds:02}", "id": key, "x": value} for ds, key, value in rows]
    assert not any(failures(DuckTables(duck), an_audit("known_records", records=good)).values())
    wrong = [dict(r) for r in good]
    wrong[BITS]["x"], wrong[-1]["x"] = 1, None
    wrong += [{"ds": "2024-01-05", "id": 1, "x": None}, {"ds": "2024-01-06", "id": 1}]
    found = failures(DuckTables(duck), an_audit("known_records", records=wrong))
    expected = Counter([1 + BITS % 3, 1 + (count - 1) % 3, 6])
    assert found == {day: expected[day] for day in range(1, 8)}


def test_known_floats_are_near(duck: duckdb.DuckDBPyConnection) -> None:
    """A floating-point value is met to nine digits, or to `within`; text and whole numbers exactly."""
    duck.execute("CREATE TABLE rows AS SELECT DATE '2024-01-01' AS ds, 1 AS id, 0.1 + 0.2::DOUBLE AS x")
    record = {"ds": "2024-01-01", "id": 1, "x": 0.3}
    assert failures(DuckTables(duck), an_audit("known_records", records=[record]))[1] == 0
    far = record | {"x": 0.31}
    assert failures(DuckTables(duck), an_audit("known_records", records=[far]))[1] == 1
    assert failures(DuckTables(duck), an_audit("known_records", records=[far], within=0.02))[1] == 0


def test_neighbours_come_from_both_sides(duck: duckdb.DuckDBPyConnection) -> None:
    """Intervals judged together see each other; beyond them, what is built or shown; an empty day counts as none."""
    fill(duck, "rows", [(3, 1, 30), (4, 1, 40)])
    around = fill(duck, "near_by", [(1, 1, 10), (2, 1, 20), (6, 1, 60)])
    near = AuditedTable(
        view=around.view, columns=("ds", "id", "x"), covers=Ranges((days("01", "02"), days("05", "06")))
    )
    trend = an_audit("trend", metric="sum(x)", max_change_percent=10.0, neighbours=2)
    found = scan(DuckTables(duck, around=near), trend, over=Ranges((days("03", "04"),)))
    assert {d: c.neighbours["check"] for d, c in found.items()} == {
        3: (10.0, 20.0, 40.0, 0.0),
        4: (20.0, 30.0, 0.0, 60.0),
    }
    assert {d: c.values["check"] for d, c in found.items()} == {3: 30.0, 4: 40.0}
    alone = scan(DuckTables(duck), trend, over=Ranges((days("03", "04"),)))
    assert {d: c.neighbours["check"] for d, c in alone.items()} == {3: (40.0,), 4: (30.0,)}


def test_rows_of_a_query_belong_to_their_day(duck: duckdb.DuckDBPyConnection) -> None:
    """By the time column; a NULL there is of every day; days that were not asked for are nobody's."""
    fill(duck, "rows", [(1, 1, 1)])
    duck.execute("CREATE TABLE bad (DS DATE, x INT)")
    duck.execute("INSERT INTO bad VALUES ('2024-01-02', 1), ('2024-01-02', 2), ('2024-02-09', 3)")
    tables = DuckTables(duck, failing=AuditedTable(view="bad", columns=("ds", "x")))
    assert failures(tables, an_audit("sql", file="f", query="", reads=())) == {d: 2 * (d == 2) for d in range(1, 8)}
    assert tables.parts == [days("01", "07")]
    duck.execute("INSERT INTO bad VALUES (NULL, 4)")
    assert failures(tables, an_audit("sql", file="f", query="", reads=()))[5] == 1


def test_rows_without_a_day_belong_to_what_was_asked(duck: duckdb.DuckDBPyConnection) -> None:
    """Each contiguous range is asked for on its own."""
    fill(duck, "rows", [(1, 1, 1)])
    duck.execute("CREATE TABLE bad AS SELECT 1 AS x")
    tables = DuckTables(duck, failing=AuditedTable(view="bad", columns=("x",)))
    parts = (days("01", "02"), days("05"))
    found = scan(tables, an_audit("sql", file="f", query="", reads=()), over=Ranges(parts))
    assert {d: c.failures["check"] for d, c in found.items()} == {1: 1, 2: 1, 5: 1}
    assert tables.parts[1:] == list(parts)


@pytest.mark.parametrize(("count", "passes"), [(3, 2), (MANY, 3)])
def test_everything_about_the_rows_alone_is_few_queries(
    duck: duckdb.DuckDBPyConnection, count: int, passes: int
) -> None:
    """Ten audits, a pass; and one more for a second key, of many rows for each key."""
    fill(duck, "rows", [(1, 1, 5), (1, 1, -5), (2, None, 3)])
    tables = DuckTables(duck, count=count)
    found = scan(
        tables,
        an_audit("not_null", "a", columns=("id",)),
        an_audit("null_rate", "b", column="id", max_percent=5.0),
        an_audit("unique_grain", "c"),
        an_audit("unique", "d", columns=("x",)),
        an_audit("range", "e", column="x", min=0),
        an_audit("accepted_values", "f", column="id", values=(2, 3)),
        an_audit("expression", "g", expression="x > 0 AND id > 0"),
        an_audit("entities", "h", column="id", values=(1, 2)),
        an_audit("aggregate", "i", metric="max(x)", max=4),
        an_audit("trend", "j", metric="avg(x)", max_change_percent=1.0, neighbours=1),
    )
    assert len(tables.asked) == passes
    assert found[1].failures == {"a": 0, "b": 0, "c": 1, "d": 0, "e": 1, "f": 2, "g": 1, "h": 1}
    assert found[2].failures == {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0, "f": 0, "g": 1, "h": 2}
    assert (found[1].values, found[2].values["i"]) == ({"i": 5.0, "j": 0.0}, 3.0)
