"""What reads rows from after its interval is warned of, unless the interval stays provisional until they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests.unit.project.helpers import project, sql

SOURCES = """\
sources:
  - name: raw.clicks
    path: data/clicks
    time_column: at
    columns: {id: bigint, at: timestamp, page: string}
  - name: raw.conv
    path: data/conv
    time_column: at
    columns: {id: bigint, click_id: bigint, at: timestamp, seen: timestamp}
  - name: raw.landed
    path: data/landed
    time_column: landed_on
    settle: 14 days
    columns: {id: bigint, happened: timestamp, landed_on: date}
  - name: raw.pages
    path: data/pages
    columns: {page: string, until: date}
"""
EVENTS = """\
/*
start: 2024-01-01
grain: [ds]
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.clicks WHERE at >= :start AND at < :end GROUP BY 1
"""
HEADER = "start: 2024-01-01\ngrain: [ds]\n"
WITHIN = "c.at >= :start AND c.at < :end"
CLICKS = "SELECT CAST(c.at AS DATE) AS ds, count(v.id) AS n FROM raw.clicks c LEFT JOIN"
DAYS = "a.ds >= :start AND a.ds < :end"


def bounded(upper: str, source: str = "raw.clicks") -> str:
    """A query that reads a source until a time, of which line 6 says until when."""
    return f"SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM {source} WHERE at >= :start\nAND {upper} GROUP BY 1"


def joined(on: str, with_: str = "raw.conv") -> str:
    """A query that joins what comes after clicks, of which line 6 says until when."""
    return f"{CLICKS} {with_} v ON v.click_id = c.id\nAND {on} WHERE {WITHIN} GROUP BY 1"


def following(on: str, days: str = DAYS) -> str:
    """A query that joins days of a model to others, by line 6."""
    return f"SELECT a.ds, b.n FROM events a LEFT JOIN events b\nON {on} WHERE {days}"


# a query, until when it reads, by what it is bounded
WARNED: dict[str, tuple[str, str, bool]] = {
    "date_add": (bounded("at < date_add(:end, 1)"), "raw.clicks until 1 day", False),
    "an interval": (bounded("at < :end + INTERVAL 36 HOURS"), "raw.clicks until 36h", False),
    "an interval in front": (bounded("at < INTERVAL 2 DAYS + :end"), "raw.clicks until 2 days", False),
    "timestampadd": (bounded("at < timestampadd(MINUTE, 90, :end)"), "raw.clicks until 90m", False),
    "months": (bounded("at < add_months(:end, 1)"), "raw.clicks until 31 days", False),
    "the month": (
        bounded("at < add_months(date_trunc('MONTH', :end), 1)"),
        "raw.clicks until 31 days",
        False,
    ),
    "a number": (bounded("at < CAST(:end AS DATE) + 3"), "raw.clicks until 3 days", False),
    "taken off the column": (bounded("at - INTERVAL 2 DAYS < :end"), "raw.clicks until 2 days", False),
    "turned around": (bounded("date_add(:end, 1) > at"), "raw.clicks until 1 day", False),
    "BETWEEN": (bounded("at BETWEEN :start AND date_add(:end, 1)"), "raw.clicks until 1 day", False),
    "the last of days": (bounded("CAST(at AS DATE) <= date_add(:end, 1)"), "raw.clicks until 2 days", False),
    "longer than what the source declares": (
        "SELECT CAST(happened AS DATE) AS ds, count(*) AS n FROM raw.landed WHERE happened >= :start AND\n"
        "landed_on < date_add(:end, 15) AND happened < :end GROUP BY 1",
        "raw.landed until 15 days",
        False,
    ),
    "within": (
        f"{CLICKS} (SELECT * FROM raw.conv WHERE at >= :start\nAND at < date_add(:end, 1)) v ON v.click_id = c.id "
        f"WHERE {WITHIN} GROUP BY 1",
        "raw.conv until 1 day",
        False,
    ),
    "in a CTE that is bounded outside": (
        "WITH v AS (SELECT click_id, at AS t FROM raw.conv) SELECT CAST(c.at AS DATE) AS ds, count(*) AS n "
        f"FROM raw.clicks c JOIN v ON v.click_id = c.id AND\nv.t < date_add(:end, 1) WHERE {WITHIN} GROUP BY 1",
        "raw.conv until 1 day",
        False,
    ),
    "a window of rows": (joined("v.at < c.at + INTERVAL 1 DAY AND v.at >= c.at"), "raw.conv until 1 day", True),
    "BETWEEN rows": (joined("v.at BETWEEN c.at AND c.at + INTERVAL 7 DAYS"), "raw.conv until 7 days", True),
    "rows taken off": (joined("v.at - INTERVAL 2 HOURS < c.at"), "raw.conv until 2h", True),
    "rows of a CTE": (
        f"WITH c AS (SELECT id, at AS t FROM raw.clicks c WHERE {WITHIN}) SELECT CAST(c.t AS DATE) AS ds, "
        "count(v.id) AS n FROM c JOIN raw.conv v ON v.click_id = c.id\nAND v.at < c.t + INTERVAL 1 DAY GROUP BY 1",
        "raw.conv until 1 day",
        True,
    ),
    "rows around": (
        f"SELECT CAST(c.at AS DATE) AS ds, count(*) AS n FROM raw.clicks c WHERE {WITHIN} AND EXISTS ("
        "SELECT 1 FROM raw.conv v WHERE v.click_id = c.id\nAND v.at < c.at + INTERVAL 1 DAY) GROUP BY 1",
        "raw.conv until 1 day",
        True,
    ),
    "the next day": (following("b.ds = date_add(a.ds, 1)"), "events until 1 day", True),
    "the day before this": (following("date_sub(b.ds, 1) = a.ds"), "events until 1 day", True),
    "until the last day": (
        following("b.ds = date_add(a.ds, 1)", "a.ds BETWEEN :start AND date_sub(:end, 1)"),
        "events until 1 day",
        True,
    ),
    "the next day of three": (
        f"SELECT a.ds, b.n, x.n AS m FROM events a JOIN events x ON x.ds = a.ds JOIN events b\n"
        f"ON b.ds = date_add(x.ds, 1) WHERE {DAYS}",
        "events until 1 day",
        True,
    ),
}
FINE: dict[str, str] = {
    "until the end": bounded("at < :end"),
    "the end as a day": bounded("at < CAST(:end AS DATE)"),
    "the last of days": bounded("CAST(at AS DATE) <= date_sub(:end, 1)"),
    "before the end": bounded("at < :end - INTERVAL 1 HOUR"),
    "the end as a day, of days": bounded("CAST(at AS DATE) < CAST(:end AS DATE)"),
    "until the end as well": bounded("at < date_add(:end, 1) AND at < :end"),
    "a minimum": bounded("at < least(date_add(:end, 1), :end)"),
    "one of several": bounded("(at < date_add(:end, 1) OR page = 'a') AND at < :end"),
    "what nobody can tell": bounded("unix_timestamp(at) < unix_timestamp(:end) + 3600"),
    "another column": "SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.conv WHERE at >= :start AND at < :end "
    "AND seen < date_add(:end, 3) GROUP BY 1",
    "what the source declares": "SELECT CAST(happened AS DATE) AS ds, count(*) AS n FROM raw.landed "
    "WHERE happened >= :start AND happened < :end AND landed_on < date_add(:end, 14) GROUP BY 1",
    "a table without a time": "SELECT CAST(c.at AS DATE) AS ds, count(*) AS n FROM raw.clicks c JOIN raw.pages p "
    f"ON p.page = c.page AND p.until < date_add(:end, 9) WHERE {WITHIN} GROUP BY 1",
    "all there is": joined("v.at >= c.at"),
    "rows until the end": joined("v.at >= c.at AND v.at < c.at + INTERVAL 1 DAY AND v.at < :end"),
    "rows that are bounded within": joined("v.at < c.at + INTERVAL 1 DAY", "(SELECT * FROM raw.conv WHERE at < :end)"),
    "the same day": joined("v.at < date_add(c.at, 1)"),
    "the same day, cast": joined("CAST(v.at AS DATE) = CAST(c.at AS DATE)"),
    "the same day as well": joined("v.at < c.at + INTERVAL 1 DAY AND CAST(v.at AS DATE) = CAST(c.at AS DATE)"),
    "until another time of these rows": joined("v.at < c.at + INTERVAL 1 DAY AND v.seen < :end"),
    "rows before": joined("v.at <= c.at AND v.at >= :start"),
    "a difference": joined("v.at - c.at < INTERVAL 1 DAY"),
    "rows of which nobody knows the end": f"{CLICKS} raw.conv v ON v.at < c.at + INTERVAL 1 DAY "
    "WHERE c.at >= :start AND greatest(c.at, :end) = :end GROUP BY 1",
    "a day's own rows": "SELECT a.ds, count(v.id) AS n FROM events a LEFT JOIN raw.conv v\n"
    f"ON v.at >= a.ds AND v.at < a.ds + INTERVAL 1 DAY WHERE {DAYS} GROUP BY 1",
    "days that are over": "SELECT a.ds, count(v.id) AS n FROM events a LEFT JOIN raw.conv v ON v.at < a.ds + INTERVAL "
    "8 DAYS WHERE a.ds >= date_sub(:start, 7) AND a.ds < date_sub(:end, 7) GROUP BY 1",
    "the same day of a model": following("b.ds = a.ds"),
    "the day before": following("b.ds = date_sub(a.ds, 1)"),
}


def warnings(root: Path, query: str, header: str = HEADER, **files: str) -> list[tuple[str, int, str]]:
    """What is said of reads after the end: of what, at which line, and what helps."""
    root = project(root, m_sql=sql(query, header), **{"sources": SOURCES, "events_sql": EVENTS} | files)
    loaded = load_project(root)
    assert loaded.columns["m"], "sqlglot follows it"
    return [(w.what, w.line, w.fix) for w in loaded.warnings["m"] if "after `:end`" in w.what]


@pytest.mark.parametrize(("query", "until", "by_rows"), WARNED.values(), ids=WARNED)
def test_warned(tmp_path: Path, query: str, until: str, by_rows: bool) -> None:
    """At the bound, with the number that helps; of a model, `settle` is none."""
    [(what, line, fix)] = warnings(tmp_path, query)
    assert what.startswith(f"the query reads {until} after `:end`")
    assert ("bounded by other rows" in what) == by_rows
    assert line == 6
    name, length = until.split(" until ")
    assert ("`lookback`" in fix) if name == "events" else (f"`settle: {length}`" in fix)


@pytest.mark.parametrize("query", FINE.values(), ids=FINE)
def test_fine(tmp_path: Path, query: str) -> None:
    """Few false alarms, or nobody reads them."""
    header = HEADER + "lookback: 8\n"
    assert not warnings(tmp_path, query, header)


@pytest.mark.parametrize("query", [WARNED["date_add"][0], WARNED["a window of rows"][0]])
@pytest.mark.parametrize(
    ("settle", "warned"), [("settle: 23h\n", True), ("settle: 1 day\n", False), ("settle: 2 days\n", False)]
)
def test_what_stays_provisional_until_then(tmp_path: Path, query: str, settle: str, warned: bool) -> None:
    """The number of the warning silences it."""
    assert bool(warnings(tmp_path, query, HEADER + settle)) == warned


@pytest.mark.parametrize(("settle", "warned"), [("", True), ("settle: 1 day\n", True), ("settle: 2 days\n", False)])
def test_days_of_models_that_are_computed_again(tmp_path: Path, settle: str, warned: bool) -> None:
    """Late rows of the upstream have its days computed again, and what reads them, before new days are built."""
    query, events = WARNED["the next day"][0], EVENTS.replace("grain", settle + "grain")
    assert bool(warnings(tmp_path / "a", query, events_sql=events)) == warned
    assert warnings(tmp_path / "b", query, HEADER + "settle: 9 days\n"), "nothing changes that it reads of sources"


def test_an_interval_that_counts_as_over_later(tmp_path: Path) -> None:
    """What has come by then is read."""
    query = bounded("at < :end + INTERVAL 3 HOURS")
    assert warnings(tmp_path / "a", query, HEADER + 'ready: "0 2 * * *"\n')
    assert not warnings(tmp_path / "b", query, HEADER + 'ready: "0 4 * * *"\n')


def test_the_demo_is_free_of_them() -> None:
    """It reads what lands until 14 days later, and its sources say so."""
    assert not any(load_project(EMBEDDED_PROJECT).warnings.values())


@pytest.mark.parametrize("upper", ["at <= :end", ":end >= at", "at <= CAST(:end AS TIMESTAMP)"])
def test_what_is_at_the_end_is_of_the_next_day(tmp_path: Path, upper: str) -> None:
    """BETWEEN includes it: nobody notices until a row comes at midnight."""
    root = project(tmp_path, sources=SOURCES, events_sql=EVENTS, daily_sql=sql(bounded(upper), HEADER))
    [said] = load_project(root).warnings["daily"]
    assert said.line == 6 and "write `< :end`" in said.fix
    assert said.what == "the query reads what raw.clicks has at `:end` itself, which is of the next day"


def test_between_both_ends(tmp_path: Path) -> None:
    """Of a source; where another bound leaves the end out, nothing is said."""
    between = "SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.clicks WHERE at BETWEEN :start AND :end GROUP BY 1"
    both = between.replace("GROUP", "AND at < :end GROUP")
    models = {"a_sql": sql(between, HEADER), "b_sql": sql(both, HEADER)}
    found = load_project(project(tmp_path, sources=SOURCES, events_sql=EVENTS, **models)).warnings
    assert [len(found[name]) for name in ("a", "b")] == [1, 0]
