"""What depends on an order that is not fixed is warned of; what only looks like it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests.unit.project.helpers import EVENTS, project, sql

# `events` has the grain ds, campaign_id, which is audited; nothing is known of the source raw.ad_events
WARNED: dict[str, tuple[str, str]] = {
    "row_number over a source": (
        "SELECT ds, x FROM (SELECT CAST(event_time AS DATE) AS ds, spend AS x,\n"
        "  row_number() OVER (PARTITION BY campaign_id ORDER BY event_time) AS n\n"
        "FROM raw.ad_events WHERE event_time >= :start AND event_time < :end) WHERE n = 1",
        "`row_number()` depends on an order that its ORDER BY does not fix",
    ),
    "row_number over a part of the grain": (
        "SELECT ds, clicks, row_number() OVER (ORDER BY ds) AS n FROM events WHERE ds >= :start AND ds < :end",
        "`row_number()` depends on",
    ),
    "lag with ties": (
        "SELECT ds, lag(clicks) OVER (ORDER BY ds) AS n FROM events WHERE ds >= :start AND ds < :end",
        "`lag()` depends on",
    ),
    "no ORDER BY": (
        "SELECT ds, clicks, lead(clicks) OVER (PARTITION BY ds) AS n FROM events WHERE ds >= :start AND ds < :end",
        "`lead()` has no ORDER BY",
    ),
    "a named window": (
        "SELECT ds, clicks, ntile(4) OVER w AS n FROM events WHERE ds >= :start AND ds < :end\n"
        "WINDOW w AS (ORDER BY ds)",
        "`ntile()` depends on",
    ),
    "rows, not values": (
        "SELECT ds, sum(clicks) OVER (ORDER BY ds ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS n\n"
        "FROM events WHERE ds >= :start AND ds < :end",
        "`sum()` depends on",
    ),
    "QUALIFY": (
        "SELECT ds, clicks FROM events WHERE ds >= :start AND ds < :end\n"
        "QUALIFY row_number() OVER (PARTITION BY ds ORDER BY clicks % 2) = 1",
        "`row_number()` depends on",
    ),
    "first": (
        "SELECT ds, first(clicks) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`first()` takes",
    ),
    "any_value": (
        "SELECT ds, any_value(clicks) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`any_value()` takes",
    ),
    "last, NULLs left out": (
        "SELECT ds, last(clicks) IGNORE NULLS AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`last()` takes",
    ),
    "max_by with ties": (
        "SELECT ds, max_by(clicks, clicks % 2) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`max_by()` takes",
    ),
    "min_by of a window": (
        "SELECT ds, min_by(clicks, clicks % 2) OVER (PARTITION BY ds) AS n\n"
        "FROM events WHERE ds >= :start AND ds < :end",
        "`min_by()` takes",
    ),
    "max_by of groups": (
        "SELECT ds, max_by(ds, sum(clicks)) OVER () AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`max_by()` takes",
    ),
    "collect_set": (
        "SELECT ds, collect_set(clicks) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "items of `collect_set()`",
    ),
    "some items": (
        "SELECT ds, collect_list(clicks) FILTER (WHERE clicks > 1) AS n\n"
        "FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "items of `collect_list()`",
    ),
    "mode": ("SELECT ds, mode(clicks) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds", "`mode()` takes"),
    "mode of a window": (
        "SELECT ds, mode(clicks, false) OVER (PARTITION BY ds) AS n FROM events WHERE ds >= :start AND ds < :end",
        "`mode()` takes",
    ),
    "a sketch": (
        "SELECT ds, hll_sketch_estimate(hll_sketch_agg(clicks, 12) FILTER (WHERE clicks > 1)) AS n\n"
        "FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`hll_sketch_agg()` gives other",
    ),
    "the most frequent": (
        "SELECT ds, approx_top_k(clicks, 5) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`approx_top_k()` gives other",
    ),
    "an approximate percentile": (
        "SELECT ds, percentile_approx(clicks, 0.5) AS n FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`percentile_approx()` of some",
    ),
    "LIMIT": ("SELECT ds, clicks FROM events WHERE ds >= :start AND ds < :end LIMIT 5", "LIMIT takes"),
    "LIMIT with ties": (
        "SELECT ds, clicks FROM events WHERE ds >= :start AND ds < :end ORDER BY clicks DESC LIMIT 5",
        "LIMIT takes",
    ),
    "LIMIT within": (
        "SELECT ds, count(*) AS n FROM (SELECT ds, clicks FROM events WHERE ds >= :start AND ds < :end\n"
        "ORDER BY ds LIMIT 5) GROUP BY ds",
        "LIMIT takes",
    ),
    "groups in an order with ties": (
        "SELECT ds, sum(clicks) AS n, row_number() OVER (ORDER BY sum(clicks)) AS r\n"
        "FROM events WHERE ds >= :start AND ds < :end GROUP BY ds",
        "`row_number()` depends on",
    ),
}
FINE: dict[str, str] = {
    "the whole grain": "SELECT ds, clicks, row_number() OVER (PARTITION BY ds ORDER BY campaign_id) AS n FROM events",
    "the grain backwards": "SELECT ds, lag(clicks) OVER (PARTITION BY campaign_id ORDER BY -unix_date(ds)) AS n "
    "FROM events",
    "ranks": "SELECT ds, clicks, rank() OVER (ORDER BY ds) AS r, dense_rank() OVER (ORDER BY ds) AS d FROM events",
    "all that comes out": "SELECT ds, campaign_id, row_number() OVER (PARTITION BY ds ORDER BY campaign_id) AS n FROM "
    "(SELECT CAST(event_time AS DATE) AS ds, campaign_id FROM raw.ad_events)",
    "a range": "SELECT ds, clicks, sum(clicks) OVER (ORDER BY ds) AS n FROM events",
    "a whole partition": "SELECT ds, clicks, sum(clicks) OVER (PARTITION BY ds ROWS BETWEEN UNBOUNDED PRECEDING AND "
    "UNBOUNDED FOLLOWING) AS n FROM events",
    "groups by what they are": "SELECT ds, sum(clicks) AS n, row_number() OVER (ORDER BY ds) AS r "
    "FROM events GROUP BY ds",
    "a group a row": "SELECT ds, campaign_id, first(clicks) AS n FROM events GROUP BY ds, campaign_id",
    "sorted items": "SELECT ds, sort_array(collect_set(clicks)) AS n FROM events GROUP BY ds",
    "sorted distinct items": "SELECT ds, array_sort(array_distinct(collect_list(clicks))) AS n FROM events GROUP BY ds",
    "items in an order": "SELECT ds, listagg(clicks) WITHIN GROUP (ORDER BY clicks) AS n FROM events GROUP BY ds",
    "the lowest mode": "SELECT ds, mode(clicks, true) AS n FROM events GROUP BY ds",
    "a mode by name": "SELECT ds, mode(clicks, deterministic => true) AS n FROM events GROUP BY ds",
    "a mode of what groups": "SELECT ds, mode(ds) AS d, mode(1) AS one FROM events GROUP BY ds",
    "a mode in an order": "SELECT ds, mode() WITHIN GROUP (ORDER BY clicks) AS n FROM events GROUP BY ds",
    "a mode a row": "SELECT ds, mode(clicks) AS n FROM events GROUP BY ds, campaign_id",
    "registers": "SELECT ds, approx_count_distinct(clicks) AS n FROM events GROUP BY ds",
    "what is in a sketch": "SELECT ds, kll_sketch_get_n_bigint(max(clicks)) AS n FROM events GROUP BY ds",
    "the number of items": "SELECT ds, size(collect_set(clicks)) AS n FROM events GROUP BY ds",
    "max_by": "SELECT ds, max_by(clicks, campaign_id) AS n FROM events GROUP BY ds",
    "max_by with what breaks ties": "SELECT ds, max_by(clicks, struct(clicks % 2, campaign_id)) AS n "
    "FROM events GROUP BY ds",
    "max_by of a window": "SELECT ds, max_by(clicks, campaign_id) OVER (PARTITION BY ds) AS n FROM events",
    "max_by of groups by what they are": "SELECT ds, max_by(sum(clicks), ds) OVER () AS n FROM events GROUP BY ds",
    "max_by of its order": "SELECT ds, max_by(abs(clicks), clicks) AS n FROM events GROUP BY ds",
    "any value of what groups": "SELECT ds, any_value(year(ds)) AS n FROM events GROUP BY ds",
    "LIMIT by the grain": "SELECT ds, clicks FROM events ORDER BY ds, campaign_id LIMIT 5",
    "LIMIT by all that comes out": "SELECT ds, clicks FROM events ORDER BY clicks, ds LIMIT 5",
    "LIMIT of one row": "SELECT max(ds) AS ds FROM events LIMIT 1",
    "LIMIT of groups": "SELECT ds, sum(clicks) AS n FROM events GROUP BY ds ORDER BY ds LIMIT 5",
    "a key by way of a CTE": "WITH a AS (SELECT ds AS d, campaign_id AS c, clicks AS k FROM events WHERE clicks > 0) "
    "SELECT d AS ds, row_number() OVER (ORDER BY c, d) AS n, k FROM a",
    "a key by way of a join": "SELECT a.ds, b.clicks, "
    "row_number() OVER (PARTITION BY a.ds ORDER BY a.campaign_id) AS n FROM events a "
    "LEFT JOIN events b ON b.ds = a.ds AND b.campaign_id = a.campaign_id",
    "a key and a constant": "SELECT ds, clicks, row_number() OVER (ORDER BY ds) AS n FROM events WHERE campaign_id = 7",
    "an ORDER BY for the eye": "SELECT ds, clicks FROM events ORDER BY clicks",
}


def bounded(query: str) -> str:
    return f"SELECT * FROM ({query}) WHERE ds >= :start AND ds < :end"


@pytest.mark.parametrize(("query", "what"), WARNED.values(), ids=WARNED)
def test_warned(tmp_path: Path, query: str, what: str) -> None:
    """At its line, with a remedy; a permission silences it."""
    [warning] = load_project(project(tmp_path / "w", m_sql=sql(query))).warnings["m"]
    assert what in warning.what and warning.why and warning.fix
    word = what.split("`")[1].split("(")[0] if "`" in what else "LIMIT"
    assert (warning.file.name, warning.line) == ("m.sql", 5 + query[: query.index(word)].count("\n"))
    allowed = "start: 2024-01-01\ngrain: [ds]\nallow_nondeterministic: a demo\n"
    assert not load_project(project(tmp_path / "a", m_sql=sql(query, allowed))).warnings["m"]


@pytest.mark.parametrize("query", FINE.values(), ids=FINE)
def test_fine(tmp_path: Path, query: str) -> None:
    """Few false alarms, or nobody reads them."""
    whole = "start: 2024-01-01\ngrain: [ds]\nlookback: 0\n"  # windows over all days are another warning
    loaded = load_project(project(tmp_path, m_sql=sql(bounded(query), whole)))
    assert loaded.columns["m"], "sqlglot follows it"
    assert loaded.warnings["m"] == ()


def test_without_the_audit_of_the_grain_nothing_is_unique(tmp_path: Path) -> None:
    """Only a blocking audit makes a key of a grain."""
    query = sql(bounded(FINE["the whole grain"]))
    weak = EVENTS.replace(
        "grain: [ds, campaign_id]", "grain: [ds, campaign_id]\naudits: [{unique_grain: {severity: warn}}]"
    )
    assert load_project(project(tmp_path, m_sql=query, events_sql=weak)).warnings["m"]


def test_a_permission_that_nothing_needs(tmp_path: Path) -> None:
    """It would hide the next one."""
    header = "start: 2024-01-01\ngrain: [ds]\nallow_nondeterministic: once upon a time\n"
    [warning] = load_project(project(tmp_path, m_sql=sql(bounded("SELECT ds FROM events"), header))).warnings["m"]
    assert (warning.what, warning.line) == ("`allow_nondeterministic` is not needed", 4)


PYTHON = """\
from pyspark.sql import Window
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], columns={"ds": {"type": "date"}, "n": {"type": "int"}})
def m(events, interval):
    order = Window.orderBy(ORDER)
    return events.select("ds", "clicks", F.row_number().over(order).alias("n")).where("clicks > 0").select("ds", "n")
"""


@pytest.mark.parametrize(("order", "warnings"), [('"ds"', 1), ('"ds", "campaign_id"', 0)])
def test_python(tmp_path: Path, order: str, warnings: int) -> None:
    """Python models are looked at by way of the SQL that they compile to; the line is that of the function."""
    found = load_project(project(tmp_path, m_py=PYTHON.replace("ORDER", order))).warnings["m"]
    assert [w.line for w in found] == [8] * warnings


def test_the_demo_is_free_of_warnings() -> None:
    """And so is the template (see the tests of its plans)."""
    assert not any(load_project(EMBEDDED_PROJECT).warnings.values())
