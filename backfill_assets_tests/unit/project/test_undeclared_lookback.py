"""A query that reads days before its own has to say so: restatements follow what headers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import EVENTS, SOURCES


def roll(bound: str, header: str = "", upper: str = "ds < :end") -> str:
    return f"""\
/*
start: 2024-01-01
grain: [ds]
{header}
*/
SELECT max(ds) AS ds, sum(clicks) AS clicks
FROM events
WHERE {bound}
  AND {upper}
"""


def refused(root: Path, text: str) -> str:
    """What is said of the model, "" when it is loaded."""
    (root / "models").mkdir()
    (root / "backfill.yml").write_text("name: t\n")
    (root / "sources.yml").write_text(SOURCES)
    (root / "models" / "events.sql").write_text(EVENTS)
    (root / "models" / "roll.sql").write_text(text)
    try:
        load_project(root)
    except ProjectError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("bound", "days"),
    [
        ("ds >= date_sub(:start, 2)", "2"),
        ("ds > date_sub(:start, 2)", "2"),
        ("date_sub(:start, 2) <= ds", "2"),
        ("ds = date_sub(:start, 1)", "1"),
        ("ds >= :start - INTERVAL 3 DAYS", "3"),
        ("ds >= :start - INTERVAL '1' WEEK", "7"),
        ("ds >= :start + INTERVAL '-3' DAY", "3"),
        ("ds >= :start - INTERVAL 1 DAY 2 HOURS", "2"),
        ("ds >= :start - 3", "3"),
        ("ds >= CAST(:start AS DATE) - 3", "3"),
        ("ds >= dateadd(day, -2, :start)", "2"),
        ("ds >= date_add(:start, -6)", "6"),
        ("ds >= timestampadd(HOUR, -3, :start)", "1"),
        ("ds >= to_utc_timestamp(:start - INTERVAL 1 DAY, 'Europe/Berlin')", "1"),
        ("ds >= add_months(:start, -1)", "31"),
        ("ds >= date_trunc('MONTH', :start)", "30"),
        ("ds >= trunc(:start, 'YEAR')", "365"),
        ("ds BETWEEN date_sub(:start, 6) AND :end", "6"),
        ("date_add(ds, 2) >= :start", "2"),
        ("ds + INTERVAL 2 DAYS >= :start", "2"),
        ("ds >= date_sub(:start, clicks)", "N"),
        ("ds >= :start - make_interval(0, 0, 0, 3)", "N"),
        ("ds >= next_day(date_sub(:start, 7), 'MO')", "N"),
        ("ds < date_sub(:start, 2)", "N"),
        ("ds >= :start - INTERVAL 3000 YEARS", "N"),
        ("unix_timestamp(ds) >= unix_timestamp(:start) - 86400", "N"),
        ("year(ds) >= year(:start) - 1", "N"),
        ("ds >= trunc(:start, 'QTR')", "N"),
    ],
)  # fmt: skip
def test_a_bound_before_the_interval_needs_a_lookback(tmp_path: Path, bound: str, days: str) -> None:
    """At its line, with what restatements would miss and the number to write."""
    said = refused(tmp_path, roll(bound))
    assert "roll.sql:8: the query reads from before `:start` on, and the header has no `lookback`" in said
    assert "rows of a day depend on days before it, which a restatement would not follow" in said
    assert f"`lookback: {days}` into the header" in said and "`lookback: 0`, if no row of a day depends on" in said


@pytest.mark.parametrize(
    "bound",
    [
        "ds >= :start",
        "ds >= CAST(:start AS DATE)",
        "ds >= date_add(:start, 0)",
        "ds >= date_add(:start, 1)",
        "ds >= date_trunc('DAY', :start)",
        "ds >= to_utc_timestamp(:start, 'Europe/Berlin')",
        "date_sub(ds, 2) >= :start",
        "ds >= :start AND datediff(:start, ds) < 2",
        "ds >= :start AND ds >= trunc(:start, 'MM')",
        "(ds >= date_trunc('MONTH', :start) AND clicks > 1) AND (:start <= ds)",
        "ds >= date_sub(:start, 3) AND ds BETWEEN :start AND :end",
        "ds >= :start AND ds < :start + INTERVAL 9999 YEARS",
        "clicks + 3600 >= unix_timestamp(:start)",
        "ds >= :start AND CASE WHEN clicks > 2 THEN :start END IS NULL",
    ],
)
def test_what_is_not_before_the_interval_needs_none(tmp_path: Path, bound: str) -> None:
    assert refused(tmp_path, roll(bound)) == ""


def test_a_time_before_the_interval_that_bounds_nothing(tmp_path: Path) -> None:
    """It is told of a row, not asked for."""
    assert refused(tmp_path, roll("ds >= :start").replace("sum(clicks)", "count_if(ds >= date_sub(:start, 2))")) == ""


@pytest.mark.parametrize(
    ("header", "bound"),
    [
        ("lookback: 0", "ds >= date_sub(:start, 2)"),
        ("lookback: 2", "ds >= date_sub(:start, 2)"),
        ("lookback: 9", "ds >= date_sub(:start, 2)"),
        ("lookback: 1", "ds >= date_sub(:start, clicks)"),
        ("lookback: 31", "ds >= add_months(:start, -1)"),
        ("lookback: 6", "ds > date_sub(:start, 7)"),
        ("lookback: 1", "unix_timestamp(ds) >= unix_timestamp(:start) - 3600"),
        ("lookback: 365", "year(ds) >= year(:start) - 1"),
    ],
)
def test_the_word_of_the_author_counts(tmp_path: Path, header: str, bound: str) -> None:
    assert refused(tmp_path, roll(bound, header)) == ""


def test_a_lookback_shorter_than_the_bound_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, roll("ds >= date_sub(:start, 6)", "lookback: 4"))
    assert "roll.sql:8: the query reads 6 days before `:start`, and `lookback: 4` says fewer" in said
    assert "write `lookback: 6` into the header, or begin 2 days later" in said


@pytest.mark.parametrize(
    ("cadence", "bound", "number"),
    [
        ("monthly", "add_months(:start, -1)", 1),
        ("monthly", "date_sub(:start, 40)", 2),
        ("weekly", "date_sub(:start, 8)", 2),
    ],
)  # fmt: skip
def test_it_is_counted_in_the_models_own_intervals(tmp_path: Path, cadence: str, bound: str, number: int) -> None:
    unit = {"monthly": "month", "weekly": "week"}[cadence]
    said = refused(tmp_path, roll(f"ds >= {bound}", f"cadence: {cadence}"))
    assert f"`lookback: {number}` into" in said and f"rows of a {unit} depend on {unit}s before it" in said


@pytest.mark.parametrize(
    ("bound", "number"),
    [
        ("date_trunc('DAY', :start)", 23),
        ("CAST(:start AS DATE)", 23),
        ("to_date(:start)", 23),
        ("date_trunc('WEEK', :start)", 167),
        ("date_trunc('MONTH', :start)", 743),
        ("date_trunc('HOUR', :start)", 0),
    ],
)
def test_hours_are_within_days(tmp_path: Path, bound: str, number: int) -> None:
    """The last hour of a day reaches back furthest, of the day's hours."""
    text = roll(f"ts >= {bound}", "cadence: hourly\ntime_column: ts", "ts < :end").replace("[ds]", "[ts]")
    said = refused(
        tmp_path, text.replace("max(ds) AS ds", "date_trunc('HOUR', max(ts)) AS ts").replace("events", "raw.clicks")
    )
    assert (f"write `lookback: {number}` into the header" in said) if number else "lookback" not in said, said


@pytest.mark.parametrize(
    ("condition", "pruning"),
    [
        ("p.ds >= date_sub(:start, 2) AND p.ds >= :start", True),
        ("p.ds >= date_sub(:start, 2) AND e.ds >= :start", False),
        ("ds >= date_sub(:start, 2) AND ds >= :start", False),
        ("(p.ds >= date_sub(:start, 2) OR p.clicks > 1) AND p.ds >= :start", False),
    ],
)
def test_a_bound_is_of_its_table(tmp_path: Path, condition: str, pruning: bool) -> None:
    """What one table is read for says nothing of another's rows."""
    text = roll(condition, upper="e.ds < :end").replace("FROM events", "FROM events AS e JOIN events AS p USING (ds)")
    said = refused(tmp_path, text)
    assert ("has no `lookback`" not in said) is pruning


def remarks(root: Path, query: str, header: str = "", *, sources: str = SOURCES) -> list[str]:
    """What the project warns of a model `roll`, by line."""
    text = f"/*\nstart: 2024-01-01\ngrain: [ds]\n{header}*/\n{query}\n"
    (root / "models").mkdir(parents=True)
    (root / "backfill.yml").write_text("name: t\n")
    (root / "sources.yml").write_text(sources)
    (root / "models" / "events.sql").write_text(EVENTS)
    (root / "models" / "roll.sql").write_text(text)
    return [f"{w.line}: {w.what}; {w.why}; {w.fix}" for w in load_project(root).warnings["roll"]]


WITHIN = "e.ds >= :start AND e.ds < :end"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT e.ds, sum(p.clicks) AS n FROM events e JOIN events p\nON p.ds <= e.ds WHERE {WITHIN} GROUP BY e.ds",
        f"SELECT e.ds FROM events e WHERE {WITHIN} AND NOT EXISTS (SELECT 1 FROM events p\nWHERE e.ds > p.ds)",
        "SELECT ds, n FROM (SELECT ds, sum(clicks) OVER (ORDER BY ds) AS n FROM events\nWHERE ds < :end) "
        "WHERE ds >= :start",
        f"SELECT e.ds, (SELECT sum(clicks) FROM events\nWHERE DATE_ADD(ds, 1) <= :end) n FROM events e WHERE {WITHIN}",
        f"WITH a AS (SELECT clicks, min(ds) AS f FROM events\nWHERE ds < :end GROUP BY clicks) "
        f"SELECT e.ds, a.f FROM events e JOIN a ON a.clicks = e.clicks WHERE {WITHIN}",
        f"SELECT e.ds FROM events e JOIN events p\nON (p.ds > :start OR p.clicks = 1) WHERE {WITHIN}",
        "SELECT e.ds FROM events e JOIN (SELECT * FROM events\nWHERE ds >= '2024-01-01') p USING (clicks) "
        f"WHERE {WITHIN}",
        f"SELECT e.ds, m.n FROM events e CROSS JOIN (SELECT max(clicks) AS n\nFROM events) AS m WHERE {WITHIN}",
        f"SELECT e.ds, (SELECT max(clicks)\nFROM events) AS n FROM events e WHERE {WITHIN}",
        f"SELECT e.ds FROM events e\nJOIN events p USING (clicks) WHERE {WITHIN}",
        "SELECT f AS ds, count(*) AS n FROM (SELECT clicks, min(ds) AS f\nFROM events GROUP BY clicks) "
        "WHERE f >= :start AND f < :end GROUP BY f",
        "SELECT ds, n FROM (SELECT ds, sum(clicks) OVER (ORDER BY ds) AS n\nFROM events) "
        "WHERE ds >= :start AND ds < :end",
        "SELECT ds, n FROM (SELECT ds, lag(clicks) OVER (PARTITION BY clicks ORDER BY ds) AS n\nFROM events) "
        "WHERE ds >= :start AND ds < :end",
    ],
)
def test_a_read_from_the_beginning_on_is_a_warning(tmp_path: Path, query: str) -> None:
    """No lookback says it, so restatements do not follow: at the condition that bounds it above."""
    [said] = remarks(tmp_path / "a", query)
    assert said.startswith("6: the query reads events from its beginning on: nothing bounds its `ds` below; where old")
    assert remarks(tmp_path / "b", query, "lookback: 3\n"), "more than that is read"
    assert not remarks(tmp_path / "c", query, "lookback: 0\n"), "the author's word"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT e.ds FROM events e WHERE {WITHIN}",
        "SELECT ds FROM events WHERE ds BETWEEN :start AND date_sub(:end, 1)",
        f"SELECT e.ds FROM events e JOIN events p ON p.ds <= e.ds AND p.ds >= date_sub(e.ds, 3) WHERE {WITHIN}",
        f"SELECT e.ds FROM events e JOIN events p USING (ds) WHERE {WITHIN}",
        f"SELECT e.ds FROM events e JOIN (SELECT * FROM events WHERE ds < :end) p ON p.ds = e.ds WHERE {WITHIN}",
        "SELECT ds, n FROM (SELECT ds, count(*) AS n FROM events WHERE ds < :end GROUP BY 1) WHERE ds >= :start",
        "SELECT ds, n FROM (SELECT ds, rank() OVER (PARTITION BY ds ORDER BY clicks) AS n FROM events "
        "WHERE ds < :end) WHERE ds >= :start",
        "SELECT ds, n FROM (SELECT ds, rank() OVER w AS n FROM events WHERE ds < :end "
        "WINDOW w AS (PARTITION BY ds ORDER BY clicks)) WHERE ds >= :start",
        "SELECT ds FROM (SELECT DISTINCT ds, clicks FROM events WHERE ds < :end) WHERE ds >= :start",
        "SELECT ds FROM (SELECT ds FROM events UNION ALL SELECT ds FROM events) WHERE ds >= :start AND ds < :end",
        "SELECT ds FROM (SELECT date_add(ds, 3) AS ds FROM events UNION SELECT ds FROM events) "
        "WHERE ds >= :start AND ds < :end",
        "WITH e AS (SELECT ds, clicks FROM events), f AS (SELECT ds, sum(clicks) AS n FROM e GROUP BY ds) "
        "SELECT f.ds, n FROM f JOIN e ON f.ds = e.ds WHERE f.ds >= :start AND f.ds < :end",
        "WITH days AS (SELECT DISTINCT to_date(event_time) AS day FROM raw.ad_events WHERE event_time >= :start) "
        "SELECT e.ds FROM events e JOIN days ON days.day = e.ds WHERE e.ds < :end",
        f"SELECT e.ds FROM events e WHERE {WITHIN} AND e.ds IN (SELECT ds FROM events)",
        f"SELECT e.ds FROM events e JOIN events p ON year(p.ds) = year(e.ds) WHERE {WITHIN}",
        f"SELECT e.ds FROM events e JOIN raw.ad_events a USING (campaign_id) WHERE {WITHIN}",
        "SELECT ds, sum(clicks) AS n FROM events WHERE ds = CAST(:start AS DATE) AND ds < :end GROUP BY ds",
        "SELECT e.ds FROM events e JOIN events p ON p.ds >= :end - INTERVAL 1 DAY AND p.ds < e.ds + INTERVAL 1 DAY "
        f"WHERE {WITHIN}",
    ],
)
def test_what_is_bounded_or_no_matter_of_time_is_none(tmp_path: Path, query: str) -> None:
    """Bounded on both sides, or passed on to who bounds it; or not by time at all, as what is looked up is."""
    assert remarks(tmp_path / "a", query, "lookback: 3\n") == []


@pytest.mark.parametrize(
    ("on", "days"),
    [
        ("p.ds BETWEEN e.ds - INTERVAL 6 DAYS AND e.ds", 6),
        ("p.ds = date_sub(e.ds, 1)", 1),
        ("date_add(p.ds, 1) = e.ds", 1),
        ("e.ds > p.ds AND date_add(p.ds, 6) >= e.ds", 6),
        ("datediff(e.ds, p.ds) BETWEEN 0 AND 6", 6),
        ("6 > datediff(e.ds, p.ds)", 6),
        ("p.ds <= e.ds AND date_trunc('MONTH', p.ds) = date_trunc('MONTH', e.ds)", 30),
        ("p.ds = e.ds OR p.ds = e.ds - 7", 7),
        ("add_months(p.ds, 1) = e.ds", 31),
    ],
)
def test_rows_of_earlier_days_by_a_join(tmp_path: Path, on: str, days: int) -> None:
    """How many days before it is told, and a lookback of so many is enough."""
    query = f"SELECT e.ds, sum(p.clicks) AS n FROM events e LEFT JOIN events p\nON {on} WHERE {WITHIN} GROUP BY e.ds"
    [said] = remarks(tmp_path / "a", query)
    begins = f"6: the query reads events from {days} day{'s' * (days > 1)} before `:start` on, and the header has no"
    assert said.startswith(begins) and f"write `lookback: {days}` into the header" in said
    assert [
        f"`lookback: {days - 1}` says fewer" in w for w in remarks(tmp_path / "b", query, f"lookback: {days - 1}\n")
    ] == ([True] if days > 1 else [])
    assert not remarks(tmp_path / "c", query, f"lookback: {days}\n")


def test_rows_that_are_moved_to_later_days(tmp_path: Path) -> None:
    """By a part of a union, by a subquery, or in the query itself."""
    part = "SELECT date_add(ds, 7) AS ds, clicks\nFROM events"
    for query in (
        f"SELECT ds, sum(clicks) AS n FROM (SELECT ds, clicks FROM events UNION ALL {part}) "
        "WHERE ds >= :start AND ds < :end GROUP BY ds",
        f"WITH p AS ({part}) SELECT ds, clicks FROM p WHERE ds >= :start AND ds < :end",
    ):
        root = tmp_path / str(len(query))
        [said] = remarks(root, query)
        assert said.startswith("6: the query reads events from 7 days before `:start` on"), said


@pytest.mark.parametrize(
    ("settle", "model", "warned"),
    [("", "", True), ("    settle: 5 days\n", "", False), ("", "settle: 5 days\n", False)],
)
def test_a_source_that_is_read_by_another_time(tmp_path: Path, settle: str, model: str, warned: bool) -> None:
    """Late rows are noticed by the source's time column, which does not say of which days they are; unless it is said
    how late they come."""
    sources = SOURCES.replace("columns: {", f"time_column: loaded_at\n{settle}    columns: {{loaded_at: timestamp, ")
    (tmp_path / "models").mkdir()
    (tmp_path / "backfill.yml").write_text("name: t\n")
    (tmp_path / "sources.yml").write_text(sources)
    (tmp_path / "models" / "events.sql").write_text(EVENTS.replace("grain:", f"{model}grain:"))
    said = [w.what for w in load_project(tmp_path).warnings["events"]]
    told = "the query reads raw.ad_events by `event_time`, and the `time_column` of raw.ad_events is `loaded_at`"
    assert said == [told] * warned


def test_a_source_is_looked_up(tmp_path: Path) -> None:
    """By another column than its time: no warning; where its rows of all times are folded, there is one."""
    sources = SOURCES.replace("columns: {", "time_column: event_time\n    columns: {")
    lookup = f"SELECT e.ds FROM events e JOIN raw.ad_events a\nUSING (campaign_id) WHERE {WITHIN}"
    first = "SELECT campaign_id, min(event_time) AS f\nFROM raw.ad_events GROUP BY 1"
    folded = f"SELECT e.ds, f FROM events e JOIN ({first}) USING (campaign_id) WHERE {WITHIN}"
    assert not remarks(tmp_path / "a", lookup, sources=sources)
    [said] = remarks(tmp_path / "b", folded, sources=sources)
    assert "reads raw.ad_events from its beginning on: nothing bounds its `event_time` below" in said
