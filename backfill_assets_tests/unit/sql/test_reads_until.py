"""How far is a source with a settling window read beyond an interval? What is not as plain as can be is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import project, sql

SOURCES = """\
sources:
  - name: raw.landed
    path: data/landed
    time_column: landed_on
    settle: 14 days
    columns: {id: bigint, happened: timestamp, landed_on: date}
  - name: raw.conv
    path: data/conv
    time_column: at
    settle: 14 days
    columns: {id: bigint, at: timestamp, happened: timestamp}
  - name: raw.texts
    path: data/texts
    time_column: landed_on
    settle: 14 days
    columns: {id: bigint, happened: timestamp, landed_on: string}
"""
EVENTS = """\
/*
start: 2024-01-01
grain: [ds]
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.conv WHERE at >= :start AND at < :end GROUP BY 1
"""
READ = "SELECT CAST(l.happened AS DATE) AS ds, l.id FROM {} l WHERE l.happened >= :start AND l.happened < :end"
LANDED, CONV, TEXTS = (READ.format(name) for name in ("raw.landed", "raw.conv", "raw.texts"))
EVERY = f"WITH x AS (SELECT * FROM raw.landed) {READ.format('x')} AND l.landed_on < :end"

# a query, and how many hours after its end it reads
KNOWN: dict[str, tuple[str, float]] = {
    "until the end": (f"{LANDED} AND l.landed_on < :end", 0),
    "of instants": (f"{CONV} AND l.at < :end", 0),
    "the other way round": (f"{CONV} AND :end > l.at", 0),
    "days later": (f"{LANDED} AND l.landed_on < date_add(:end, 3)", 72),
    "a part of a day later, of days": (f"{LANDED} AND l.landed_on < :end + INTERVAL 30 HOURS", 48),
    "a part of a day later, of instants": (f"{CONV} AND l.at < :end + INTERVAL 30 HOURS", 30),
    "the nearest of two bounds": (f"{LANDED} AND l.landed_on < date_add(:end, 3) AND l.landed_on < :end", 0),
    "read twice": (f"{LANDED} AND l.landed_on < :end UNION ALL {LANDED} AND l.landed_on < date_add(:end, 1)", 24),
    "joined, and bounded in WHERE": (
        f"{LANDED.replace(' WHERE', ' JOIN raw.landed m ON m.id = l.id WHERE')} AND l.landed_on < :end "
        "AND m.landed_on < date_add(:end, 1)",
        24,
    ),
    "in a CTE of its own": (
        f"WITH x AS ({LANDED} AND l.landed_on < :end) SELECT ds, id FROM x WHERE ds >= :start AND ds < :end",
        0,
    ),
}
UNKNOWN: dict[str, str] = {
    "by another time": LANDED,
    "the day at the end": f"{LANDED} AND l.landed_on <= :end",
    "both ends": f"{LANDED} AND l.landed_on BETWEEN :start AND :end",
    "the instant at the end": f"{CONV} AND l.at <= :end + INTERVAL 1 DAY",
    "one of several": f"{LANDED} AND (l.landed_on < :end OR l.id > 3)",
    "not": f"{LANDED} AND NOT l.landed_on < :end",
    "calls": f"{LANDED} AND l.landed_on < greatest(:end, l.happened)",
    "months": f"{LANDED} AND l.landed_on < add_months(:end, 1)",
    "another zone": f"{CONV} AND from_utc_timestamp(l.at, 'America/New_York') < :end",
    "an end of another zone": f"{CONV} AND l.at < to_utc_timestamp(:end, 'America/New_York')",
    "texts": f"{LANDED} AND CAST(l.landed_on AS STRING) < CAST(:end AS STRING)",
    "a text": f"{TEXTS} AND l.landed_on < :end",
    "a condition of a join": LANDED.replace(
        " WHERE", " LEFT JOIN raw.conv c ON c.id = l.id AND l.landed_on < :end WHERE"
    ),
    "passed on": EVERY,
    "numbered before it is bounded": EVERY.replace(
        "SELECT *", "SELECT *, row_number() OVER (PARTITION BY id ORDER BY landed_on DESC) AS n"
    ),
    "read beside it": EVERY.replace("raw.landed)", "raw.landed a WHERE a.id IN (SELECT id FROM raw.landed))"),
    "once without a bound": f"{LANDED} AND l.landed_on < :end UNION ALL {LANDED}",
    "in a condition": f"{LANDED} AND l.landed_on < :end AND EXISTS (SELECT 1 FROM raw.landed m WHERE m.id = l.id)",
    "in an output": f"{LANDED} AND l.landed_on < :end".replace(
        "l.id FROM", "(SELECT max(id) FROM raw.landed) AS id FROM"
    ),
    "lateral": f"{LANDED} AND l.landed_on < :end".replace(
        " WHERE", ", LATERAL (SELECT max(m.id) AS n FROM raw.landed m WHERE m.id = l.id) x WHERE"
    ),
    "in parentheses": f"{LANDED} AND l.landed_on < :end".replace(
        " WHERE", " JOIN (raw.landed m JOIN raw.conv c ON c.id = m.id) ON m.id = l.id WHERE"
    ),
}


def found(path: Path, query: str, more: str = "") -> dict[str, float]:
    header = f"start: 2024-01-01\ngrain: [ds, id]\n{more}"
    root = project(path, sources=SOURCES, events_sql=EVENTS, daily_sql=sql(query, header))
    said = load_project(root).reads_until
    assert load_project(root).reads_until == said, "from the cache"
    return {name: seconds / 3600 for name, seconds in said["daily"].items()}


@pytest.mark.parametrize(("query", "hours"), KNOWN.values(), ids=KNOWN)
def test_plain_bounds(tmp_path: Path, query: str, hours: float) -> None:
    assert found(tmp_path, query) == {"raw.conv" if "raw.conv" in query else "raw.landed": hours}


@pytest.mark.parametrize("query", UNKNOWN.values(), ids=UNKNOWN)
def test_all_else_is_not_known(tmp_path: Path, query: str) -> None:
    assert found(tmp_path, query) == {}


def test_an_hour_reads_a_day_to_its_end(tmp_path: Path) -> None:
    query = f"{LANDED} AND l.landed_on < :end".replace("CAST(l.happened AS DATE)", "date_trunc('HOUR', l.happened)")
    assert found(tmp_path, query, "cadence: hourly\n") == {"raw.landed": 23}


def test_days_of_another_zone(tmp_path: Path) -> None:
    """They are of other lengths."""
    local = LANDED.replace("l.happened AS", "from_utc_timestamp(l.happened, 'America/New_York') AS")
    for bound in (":start", ":end"):
        local = local.replace(bound, f"to_utc_timestamp({bound}, 'America/New_York')")
    query = f"{local} AND l.landed_on < :end"
    assert found(tmp_path, query, "time_zone: America/New_York\n") == {}
