"""A model's interval holds all rows of a value of its time column: else it is longer here, or the model is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import pytest
import sqlglot

from backfill_assets.app.import_project import import_project
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.importing.by_day import day_column
from backfill_assets.importing.spans import longest, span_of, within
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing.foreign import CONFIG, sqlmesh_model, sqlmesh_project
from backfill_assets_tests.unit.importing.test_dbt import MICROBATCH, model
from backfill_assets_tests.unit.importing.test_dbt import imported as dbt_imported
from backfill_assets_tests.unit.importing.test_sqlmesh import imported, noted

FIRST, LAST = "2024-01-01", "2024-05-01"
WITHIN = "FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"


def days() -> duckdb.DuckDBPyConnection:
    """Orders of four months, of each hour."""
    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    con.execute(
        "CREATE TABLE raw.orders AS SELECT n AS id, n % 3 AS customer_id, moment::DATE AS day, moment,\n"
        "(n % 17)::DECIMAL(12,2) AS amount, 'paid' AS status, 0.5::DOUBLE AS ratio FROM (SELECT n, TIMESTAMP "
        f"'{FIRST} 00:20:00' + to_hours(n) AS moment FROM (SELECT unnest(range(0, 24 * 121))::INT AS n))"
    )
    return con


def ours(root: Path, name: str = "m", first: str = FIRST, last: str = LAST) -> list[str]:
    """The rows of each interval by itself, in DuckDB, without a column of intervals that is added."""
    found, con, rows = load_project(root).models[name], days(), list[tuple[object, ...]]()
    start = found.cadence.floor(utc(first))
    while start < utc(last):
        end = found.cadence.shift(start, 1)
        kind = "TIMESTAMP" if found.cadence is Cadence.HOURLY else "DATE"
        said = found.code.replace(":start", f"{kind} '{start:%F %T}'").replace(":end", f"{kind} '{end:%F %T}'")
        given = con.sql(sqlglot.transpile(said, read="spark", write="duckdb")[0])
        kept = [c for c in given.columns if c not in ("ds", "week", "month")]
        rows += given.select(*kept).fetchall()
        start = end
    return sorted(map(repr, rows))


def whole(query: str) -> list[str]:
    """The query over all days at once."""
    text = query.replace("@start_ds", f"'{FIRST}'").replace("@end_ds", f"'{LAST}'")
    text = text.replace("@start_ts", f"TIMESTAMP '{FIRST}'").replace("@end_ts", f"TIMESTAMP '{LAST}'")
    return sorted(map(repr, days().sql(text).fetchall()))


def by(unit: str, more: str = "GROUP BY 1") -> str:
    return f"SELECT date_trunc('{unit}', day)::DATE AS day, sum(amount) AS amount {WITHIN} {more}"


CASES = [
    (by("week"), "@weekly", Cadence.WEEKLY),
    (by("week"), "0 6 * * MON", Cadence.WEEKLY),
    (by("week"), "@daily", Cadence.WEEKLY),
    (by("month"), "@daily", Cadence.MONTHLY),
    (by("month"), "@monthly", Cadence.MONTHLY),
    (f"SELECT date_trunc('week', day)::DATE AS day, id {WITHIN}", "@daily", Cadence.WEEKLY),
    (f"WITH w AS (SELECT date_trunc('week', day)::DATE AS wk, amount {WITHIN})\n"
     "SELECT wk AS day, sum(amount) AS amount FROM w GROUP BY 1", "@weekly", Cadence.WEEKLY),
    (f"SELECT date_trunc('month', day)::DATE AS day, id {WITHIN}\nUNION ALL SELECT day, id {WITHIN}", "@daily",
     Cadence.MONTHLY),
    (f"SELECT max(date_trunc('week', day))::DATE AS day, week(day) AS id, sum(amount) AS amount {WITHIN} GROUP BY 2",
     "@weekly", Cadence.WEEKLY),
    ("SELECT moment::DATE AS day, sum(amount) AS amount FROM raw.orders WHERE moment BETWEEN @start_ts AND @end_ts\n"
     "GROUP BY 1", "@hourly", Cadence.DAILY),
    ("SELECT moment::DATE AS day, id FROM raw.orders WHERE moment::DATE BETWEEN @start_ds AND @end_ds", "@hourly",
     Cadence.DAILY),
    ("SELECT moment::TIMESTAMP AS day, id FROM raw.orders WHERE moment::DATE BETWEEN @start_ds AND @end_ds", "@hourly",
     Cadence.DAILY),
    *((f"SELECT date_trunc('week', day)::DATE AS day, sum(amount) AS amount FROM raw.orders WHERE {bound} GROUP BY 1",
       "@daily", Cadence.WEEKLY) for bound in (
        "@start_ds <= day AND @end_ds >= day",
        "(day >= @start_ds AND day <= @end_ds) OR id < 0",
        "(day BETWEEN @start_ds AND @end_ds) IS TRUE",
        "NOT (day < @start_ds OR day > @end_ds)",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("query", "cron", "cadence"), CASES)
def test_intervals_are_as_long_as_the_time_column_says(tmp_path: Path, query: str, cron: str, cadence: Cadence) -> None:
    """By one interval after another, the rows of the query over the whole time."""
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  cron '{cron}'")})
    assert not done.left, done.left
    found = load_project(root).models["m"]
    assert found.cadence is cadence
    assert ours(root) == whole(query)
    starts = "date_trunc" in query and "UNION" not in query
    assert (found.time_column == "day") == (starts or (cadence is Cadence.DAILY and "::TIMESTAMP" not in query))
    if cron != "@monthly":
        assert f"cadence: {cadence.value}" in " ".join(noted(done).values())


def test_a_week_there_is_no_day_here(tmp_path: Path) -> None:
    """The trial's project: weekly sums of a model of days. Only Mondays were left in them, and nothing said so."""
    daily = f"SELECT day, sum(amount) AS gross {WITHIN} GROUP BY 1"
    weekly = (
        "SELECT date_trunc('week', day)::DATE AS wk, sum(gross) AS g FROM shop.daily\n"
        "WHERE day BETWEEN @start_ds AND @end_ds GROUP BY 1"
    )
    text = sqlmesh_model(weekly, name="shop.weekly", kind="time_column wk, batch_size 14", more=",\n  cron '@weekly'")
    root, done = imported(tmp_path, {"models/daily.sql": sqlmesh_model(daily, name="shop.daily"),
                                     "models/weekly.sql": text})  # fmt: skip
    found = load_project(root).models["weekly"]
    assert (found.cadence, found.time_column, found.ready, found.batch_size) == (Cadence.WEEKLY, "wk", "0 0 * * SUN", 0)
    con = days()
    con.execute("CREATE TABLE daily AS SELECT day, sum(amount) AS gross FROM raw.orders GROUP BY 1")
    code = found.code.replace(":start", "DATE '2024-01-08'").replace(":end", "DATE '2024-01-15'")
    theirs = con.sql("SELECT sum(gross) FROM daily WHERE day BETWEEN '2024-01-08' AND '2024-01-14'").fetchall()
    assert [r[1:] for r in con.sql(sqlglot.transpile(code, read="spark", write="duckdb")[0]).fetchall()] == theirs
    said = noted(done)["models/weekly.sql:7"]
    assert "from Monday to Sunday" in said and "as a run there does" not in said


@pytest.mark.parametrize(("query", "cron", "word"), [
    (by("quarter"), "@daily", "of a quarter"), (by("year"), "@yearly", "of a year"), (by("week"), "@monthly", "week"),
    (f"SELECT last_day(day) AS day, sum(amount) AS amount {WITHIN} GROUP BY 1", "@daily", "not shown"),
    (f"SELECT strftime(day, '%Y-%m-01')::DATE AS day, count(*) AS n {WITHIN} GROUP BY 1", "@daily", "not shown"),
    (f"SELECT make_date(year(day), month(day), 1) AS day, id {WITHIN}", "@daily", "not shown"),
    (f"SELECT day + INTERVAL 1 DAY AS day, id {WITHIN}", "@daily", "not shown"),
    ("SELECT (moment AT TIME ZONE 'Asia/Tokyo')::DATE AS day, id FROM raw.orders\n"
     "WHERE moment BETWEEN @start_ts AND @end_ts", "@daily", "not shown"),
    (f"WITH q AS (SELECT date_trunc('quarter', day)::DATE AS q, id {WITHIN}) SELECT q AS day, id FROM q", "@daily",
     "of a quarter"),
    ("SELECT moment::DATE AS day, count(*) AS n FROM raw.orders\n"
     "WHERE (moment AT TIME ZONE 'Asia/Tokyo')::DATE BETWEEN @start_ds AND @end_ds GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(day) AS day, count(*) AS n FROM raw.orders\n"
     "WHERE day + INTERVAL 0 DAY BETWEEN @start_ds AND @end_ds GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(day) AS day, count(*) AS n FROM raw.orders\n"
     "WHERE coalesce(day, moment::DATE) BETWEEN @start_ds AND @end_ds GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(day) AS day, count(*) AS n FROM raw.orders\n"
     "WHERE (day BETWEEN @start_ds AND @end_ds) OR id < 0 GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(day) AS day, sum(CASE WHEN day BETWEEN @start_ds AND @end_ds THEN amount END) AS amount\n"
     "FROM raw.orders GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(day) AS day, count(*) AS n FROM raw.orders\n"
     "WHERE starts_with(strftime(day, '%Y-%m-%d'), @start_ds) GROUP BY 1", "@daily", "not shown"),
    ("SELECT last_day(moment) AS day, count(*) AS n FROM raw.orders\n"
     "WHERE last_day(moment) BETWEEN @start_ds AND @end_ds AND last_day(day) >= @start_ds GROUP BY 1", "@daily",
     "not shown"),
    ("WITH a AS (SELECT last_day(day) AS d, id FROM raw.orders WHERE last_day(day) BETWEEN @start_ds AND @end_ds),\n"
     "b AS (SELECT id, amount FROM raw.orders WHERE last_day(day) BETWEEN @start_ds AND @end_ds)\n"
     "SELECT d AS day, a.id, amount FROM a JOIN b ON a.id = b.id + 40", "@daily", "not shown"),
])  # fmt: skip
def test_a_time_column_that_no_interval_holds_is_refused(tmp_path: Path, query: str, cron: str, word: str) -> None:
    """At the line of the output, with the reason and a way on."""
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  cron '{cron}'")})
    [left] = done.left
    assert word in left.what and left.why and left.fix
    assert left.place == f"models/m.sql:{9 if 'JOIN b' in query else 7}"


@pytest.mark.parametrize(("cron", "batch", "cadence", "word"), [
    ("@daily", 1, Cadence.DAILY, ""), ("@monthly", 1, Cadence.MONTHLY, ""), ("@weekly", 1, Cadence.DAILY, ""),
    ("0 9 * * MON-FRI", 1, Cadence.DAILY, ""), ("@daily", 0, Cadence.DAILY, "all that are missing (no `batch_size`)"),
    ("@monthly", 0, Cadence.MONTHLY, "all that are missing (no `batch_size`)"),
    ("@daily", 10, Cadence.DAILY, "up to 10"),
    ("@weekly", 0, Cadence.WEEKLY, "all that is over at its tick"), ("@weekly", 7, Cadence.WEEKLY, "all that is over"),
    ("0 9 * * MON-FRI", 0, Cadence.DAILY, "all that is over"), ("@yearly", 1, Cadence.MONTHLY, "all that is over"),
    ("0 0 1 */3 *", 0, Cadence.MONTHLY, "all that is over"),
])  # fmt: skip
@pytest.mark.parametrize("query", [
    f"SELECT id, max(day) AS day, count(*) AS n {WITHIN} GROUP BY id", f"SELECT DISTINCT ON (id) id, day {WITHIN}",
    f"SELECT id, day, sum(amount) OVER (ORDER BY id) AS x {WITHIN}", f"SELECT id, day {WITHIN} LIMIT 3",
    f"SELECT id, day, @end_ds AS x {WITHIN}",
])  # fmt: skip
def test_what_a_run_there_computes_at_once_is_said(
    tmp_path: Path, query: str, cron: str, batch: int, cadence: Cadence, word: str
) -> None:
    """Where that may be more than one interval, its rows are others: a first run there computes many."""
    kind = f"time_column day, batch_size {batch}" if batch else "time_column day"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, kind=kind, more=f",\n  cron '{cron}'")})
    found = load_project(root).models["m"]
    assert (found.cadence, found.batch_size) == (cadence, 1)
    said = " ".join(noted(done).values())
    assert ("as a run there does" in said, "its rows are others" in said) == (not word, bool(word))
    assert word in said


@pytest.mark.parametrize(("cron", "lookback"), [("@hourly", 240), ("@daily", 10), ("@weekly", 2), ("@monthly", 1)])
def test_days_before_the_interval_are_counted_in_intervals(tmp_path: Path, cron: str, lookback: int) -> None:
    query = "SELECT max(id) AS id, max(moment) AS day, count(*) AS n FROM raw.orders\n"
    query += "WHERE moment BETWEEN @start_dt - INTERVAL 10 DAY AND @end_dt"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  cron '{cron}'")})
    assert load_project(root).models["m"].lookback == lookback, done.left


def test_what_is_read_by_months_has_no_weeks(tmp_path: Path) -> None:
    query = "SELECT date_trunc('week', day)::DATE AS day, id FROM raw.orders\n"
    query += "WHERE date_trunc('month', day)::DATE BETWEEN @start_ds AND @end_ds"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert "what is read is cut by a month, in a model of days" in done.left[0].what


def test_a_run_later_than_the_end_of_a_longer_interval_stays(tmp_path: Path) -> None:
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(by("week"), more=",\n  cron '0 6 * * MON'")})
    assert load_project(root).models["m"].ready == "0 6 * * MON"


@pytest.mark.parametrize(("unit", "cron", "ready"), [
    ("week", "0 0 * * WED", "0 0 * * WED"), ("week", "@weekly", "0 0 * * SUN"), ("week", "0 0 * * MON", ""),
    ("week", "0 0 * * MON,THU", ""), ("month", "0 0 10,20 * *", "0 0 10,20 * *"), ("month", "0 0 1,15 * *", ""),
    ("month", "0 0 * * *", ""), ("month", "0 0 * * MON", "0 0 * * MON"),
])  # fmt: skip
def test_a_longer_interval_is_over_when_it_is_there(tmp_path: Path, unit: str, cron: str, ready: str) -> None:
    """At the first tick that is not before its end: the last of its days is computed there then."""
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(by(unit), more=f",\n  cron '{cron}'")})
    assert load_project(root).models["m"].ready == ready


@pytest.mark.parametrize(("unit", "first"), [("week", "2024-01-01"), ("month", "2024-01-01"), ("day", "2024-01-03")])
@pytest.mark.parametrize("how", ["model", "config", "option"])
def test_a_first_day_within_an_interval_leaves_none_out(tmp_path: Path, unit: str, first: str, how: str) -> None:
    """The week of the first day has a row there."""
    theirs = sqlmesh_model(by(unit), more=",\n  start '2024-01-03'" if how == "model" else "")
    config = CONFIG.replace("  start: 2024-01-01\n", "  start: 2024-01-03\n" if how == "config" else "")
    root = tmp_path / "ours"
    root.mkdir()
    project = sqlmesh_project(tmp_path / "theirs", {"models/m.sql": theirs}, config=config)
    done = import_project(root, "sqlmesh", project, start=date(2024, 1, 3) if how == "option" else None)
    found = load_project(root).models["m"]
    assert f"{found.start:%F}" == first
    assert ("where that" in " ".join(noted(done).values())) == (first != "2024-01-03")
    assert unit == "day" or ours(root, first=f"{found.start:%F}") == whole(by(unit))


@pytest.mark.parametrize(("unit", "size", "cadence"), [
    ("month", "day", Cadence.MONTHLY), ("month", "month", Cadence.MONTHLY), ("week", "day", Cadence.WEEKLY),
    ("day", "hour", Cadence.DAILY), ("week", "month", None), ("quarter", "day", None), ("year", "year", None),
])  # fmt: skip
def test_batches_of_dbt_are_as_long_as_the_event_time_says(
    tmp_path: Path, unit: str, size: str, cadence: Cadence | None
) -> None:
    code = f"select date_trunc('{unit}', day)::date as day, sum(amount) as amount\n"
    code += "from {{ source('raw', 'orders') }} group by 1"
    root, done = dbt_imported(tmp_path, [model(code, {**MICROBATCH, "batch_size": size})])
    if cadence is None:
        assert unit in done.left[0].what
        return
    assert load_project(root).models["m"].cadence is cadence
    assert ours(root) == whole(code.replace("{{ source('raw', 'orders') }}", "raw.orders"))


@pytest.mark.parametrize(("said", "span"), [
    ("day", "moment"), ("other", None), ("day::DATE", "day"), ("day::TIMESTAMP", "moment"), ("1 + 1", None),
    ("strftime(day, '%Y-%m-%d')", "day"), ("strftime(day, '%Y-%m')", "unknown"), ("strftime(other, '%Y-%m')", None),
    ("coalesce(day, other)", "moment"), ("CASE WHEN other > 1 THEN day ELSE other END", "moment"),
    ("CASE WHEN other > 1 THEN day + 1 ELSE day END", "unknown"), ("if(other > 1, day::DATE, NULL)", "day"),
    ("max(date_trunc('month', day)) OVER (ORDER BY other)", "month"), ("date_trunc('decade', day)", "unknown"),
    ("date_trunc('week', other)", "week"), ("date_trunc('month', date_trunc('week', day))", "unknown"),
    ("(day AT TIME ZONE 'UTC')::DATE", "day"), ("(day AT TIME ZONE 'Asia/Tokyo')::DATE", "unknown"),
    ("greatest(day, other)", "unknown"), ("date_trunc('weeks', day)", "week"), ("to_date(day)", "day"),
])  # fmt: skip
def test_the_time_of_which_rows_have_one_value(said: str, span: str | None) -> None:
    tree = sqlglot.parse_one(said, read="duckdb")
    assert span_of(tree, lambda column: "moment" if column.name == "day" else None) == span


@pytest.mark.parametrize(("said", "span"), [
    ("DATE(day)", "day"), ("DATE(day, 'Asia/Tokyo')", "unknown"), ("DATE(day, 'UTC')", "day"),
    ("TIMESTAMP_TRUNC(day, DAY, 'Asia/Tokyo')", "unknown"), ("DATETIME(day, 'Asia/Tokyo')", "unknown"),
    ("TIMESTAMP(day)", "moment"), ("DATE_TRUNC(day, WEEK(MONDAY))", "week"), ("EXTRACT(DATE FROM day)", "day"),
    ("FORMAT_DATE('%Y%m%d', day)", "day"), ("FORMAT_DATE('%G%V', day)", "unknown"),
])  # fmt: skip
def test_the_time_of_a_value_in_bigquery(said: str, span: str) -> None:
    tree = sqlglot.parse_one(said, read="bigquery")
    assert span_of(tree, lambda _: "moment") == span


@pytest.mark.parametrize("query", [
    "SELECT day, id FROM (SELECT {} AS day, id FROM raw.orders WHERE ({}) BETWEEN @start_ds AND @end_ds) AS t",
    "SELECT {} AS day, id FROM raw.orders WHERE {} BETWEEN @start_ds AND @end_ds\n"
    "UNION ALL SELECT {}, id FROM raw.orders WHERE {} BETWEEN @start_ds AND @end_ds",
    "SELECT {} AS day, id FROM raw.orders WHERE {} BETWEEN @start_ds AND @end_ds OR id < 0",
])  # fmt: skip
def test_what_the_time_column_is_made_of_is_seen_through_queries(tmp_path: Path, query: str) -> None:
    query = query.replace("{}", "last_day(day)")
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left, done.left
    assert ours(root, last="2024-05-02") == whole(query)


def test_the_days_before_a_day_are_no_time_column(tmp_path: Path) -> None:
    """The day is the interval's own: what is read for it is told by the query alone."""
    query = "SELECT @end_ds::DATE AS day, count(*) AS id FROM raw.orders WHERE date_diff('day', day, @end_ds::DATE)\n"
    query += "BETWEEN 0 AND 6"
    single_days(tmp_path, query)


def test_a_day_may_be_listed(tmp_path: Path) -> None:
    single_days(tmp_path, "SELECT day, id FROM raw.orders WHERE day IN (@start_ds)")


def single_days(tmp_path: Path, query: str) -> None:
    """Intervals that are computed each by itself have the rows of a run of a day."""
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left, done.left
    assert load_project(root).models["m"].batch_size == 1
    for day in ("2024-01-03", "2024-01-20"):
        theirs = days().sql(query.replace("@end_ds", f"'{day}'").replace("@start_ds", f"'{day}'")).fetchall()
        assert ours(root, first=day, last=f"{day}T01:00") == sorted(map(repr, theirs))


@pytest.mark.parametrize("said", ["(moment AT TIME ZONE 'Asia/Tokyo')::DATE", "last_day(moment)"])
def test_a_bound_by_what_the_time_column_is_made_of_is_complete(tmp_path: Path, said: str) -> None:
    """All rows of a value come into one interval: what is cut by the very expression is written."""
    query = f"SELECT {said} AS day, count(*) AS n FROM raw.orders\n"
    query += f"WHERE {said} BETWEEN @start_ds AND @end_ds GROUP BY 1"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left, done.left
    text = query.replace("@start_ds", "DATE '2023-12-01'").replace("@end_ds", "DATE '2024-06-01'")
    assert ours(root, first="2023-12-01") == sorted(map(repr, days().sql(text).fetchall()))


@pytest.mark.parametrize(("said", "column"), [
    ("DATE(moment)", "moment"), ("DATE(moment, 'UTC')", "moment"), ("DATE(moment, 'Asia/Tokyo')", None),
    ("TIMESTAMP_TRUNC(moment, DAY, 'Asia/Tokyo')", None),
])  # fmt: skip
def test_a_day_elsewhere_is_no_day_of_the_column(said: str, column: str | None) -> None:
    found = day_column(sqlglot.parse_one(said, read="bigquery"))
    assert (found.name if found is not None else None) == column


def test_a_time_consists_of_others_or_it_does_not() -> None:
    assert longest([]) == "moment" and longest(["hour", "day"]) == "day"
    assert longest(["month", "year"]) == "year" and longest(["week", "year"]) == "unknown"
    assert within("day", "monthly") and not within("week", "monthly") and not within("day", "hourly")
