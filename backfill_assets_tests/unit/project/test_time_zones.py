"""`time_zone:` of a model: what may be said, what is refused at which line, and that it makes another version."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Project
from backfill_assets.plan.category import change_between
from backfill_assets.project.loader import load_project
from backfill_assets.project.stored import described, to_definition
from backfill_assets.python_models.sqlframe.compiling import PROBES
from backfill_assets.sql.bare_bounds import COMPILED
from backfill_assets_tests.unit.project.helpers import SOURCES, project, sql

TIMED = SOURCES.replace("    columns:", "    time_column: event_time\n    columns:")
HEADER = "start: 2024-01-01\ngrain: [ds]\n"
LOCAL = HEADER + "time_zone: America/New_York\n"
HOURS = HEADER + "cadence: hourly\n"
DAY = "CAST(from_utc_timestamp(event_time, 'America/New_York') AS DATE)"
BOUNDS = "to_utc_timestamp(:{0}, 'America/New_York')"
WITHIN = f"event_time >= {BOUNDS.format('start')} AND event_time < {BOUNDS.format('end')}"
BY_DAY = f"SELECT {DAY} AS ds, count(*) AS n FROM raw.ad_events\nWHERE {WITHIN} GROUP BY 1"
READS_DAYS = "SELECT ds, n FROM d WHERE ds >= :start AND ds < :end"
BY_HOUR = """\
SELECT date_trunc('HOUR', event_time) AS ds, count(*) AS n FROM raw.ad_events
WHERE event_time >= :start AND event_time < :end GROUP BY 1"""


def load(root: Path, **files: str) -> Project:
    return load_project(project(root, sources=TIMED, **files))


def refused(root: Path, **files: str) -> str:
    with pytest.raises(ProjectError) as caught:
        load(root, **files)
    return "\n".join(f"{p.file.name}:{p.line}: {p.what}; {p.why}; {p.fix}" for p in caught.value.problems)


def test_days_and_longer(tmp_path: Path) -> None:
    """Days of a zone from a source, months of these, and days of another zone from hours; in SQL and in Python."""
    found = load(
        tmp_path,
        d_sql=sql(BY_DAY, LOCAL),
        month_sql=sql(
            "SELECT trunc(ds, 'MM') AS ds, sum(n) AS n FROM d WHERE ds >= :start AND ds < :end GROUP BY 1",
            LOCAL + "cadence: monthly\n",
        ),
        h_sql=sql(BY_HOUR, HOURS),
        p_py="from backfill_assets import model\n\n\n"
        '@model(start="2024-01-02", grain=["ds"], time_zone="Asia/Kathmandu",\n'
        '       columns={"ds": {"type": "date"}})\n'
        "def p(h, interval):\n    return h  # Asia/Kathmandu\n",
    )
    zones = {name: (m.time_zone, m.cadence, m.upstream_cadence) for name, m in found.models.items()}
    assert zones["d"] == ("America/New_York", Cadence.DAILY, None)
    assert zones["month"] == ("America/New_York", Cadence.MONTHLY, None)
    assert zones["p"] == ("Asia/Kathmandu", Cadence.DAILY, Cadence.HOURLY)
    assert zones["h"] == ("", Cadence.HOURLY, None)
    assert not any(found.warnings[name] for name in found.models), found.warnings


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("America/NewYork", "did you mean `America/New_York`?"),
        ("europe/berlin", "did you mean `Europe/Berlin`?"),
        ("CET", "no region such as Europe/Berlin"),
        ("'+02:00'", "no region such as Europe/Berlin"),
        ("[a]", "`time_zone`"),
    ],
)
def test_a_zone_that_is_none(tmp_path: Path, said: str, what: str) -> None:
    """At its line, with the nearest name."""
    found = refused(tmp_path, d_sql=sql(BY_DAY, HEADER + f"time_zone: {said}\n"))
    assert "d.sql:4: `time_zone`" in found and what in found


def test_what_goes_with_no_zone(tmp_path: Path) -> None:
    """Hours are those of UTC; a session of another zone would not tell which days are over."""
    found = refused(
        tmp_path,
        h_sql=sql(BY_HOUR, HOURS + "time_zone: Asia/Kolkata\n"),
        d_sql=sql(BY_DAY, LOCAL + "spark: {spark.sql.session.timeZone: America/New_York}\n"),
    )
    assert "h.sql:5: `time_zone` is wrong: an hourly model has no `time_zone`" in found
    assert (
        "d.sql:5: `spark` is wrong: `spark.sql.session.timeZone` is UTC in every session: which days and hours" in found
    )


def test_models_whose_days_are_others(tmp_path: Path) -> None:
    """Days of UTC, of another zone, and hours do not read local days; nor do these read weeks of UTC."""
    found = refused(
        tmp_path,
        d_sql=sql(BY_DAY, LOCAL),
        utc_sql=sql(READS_DAYS),
        berlin_sql=sql(READS_DAYS, HEADER + "time_zone: Europe/Berlin\n"),
        hours_sql=sql("SELECT CAST(ds AS TIMESTAMP) AS ds, n FROM d WHERE ds >= :start AND ds < :end", HOURS),
        week_sql=sql(
            "SELECT ds, clicks AS n FROM events WHERE ds >= :start AND ds < :end", HEADER + "cadence: weekly\n"
        ),
        late_sql=sql("SELECT ds, n FROM week WHERE ds >= :start AND ds < :end", LOCAL),
    )
    assert "utc.sql:5: `utc` cannot read `d`; it has days of America/New_York; `utc` has days of UTC; write" in found
    assert "berlin.sql:6: `berlin` cannot read `d`; it has days of America/New_York; `berlin` has days of Eur" in found
    assert "hours.sql:6: `hours` cannot read `d`; it has days of America/New_York; `hours` has hours of UTC" in found
    assert (
        "late.sql:6: `late` cannot read `week`; it has weeks of UTC, which begin within days of America/New_" in found
    )


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("event_time >= :start", "start"),
        ("event_time < CAST(:end AS TIMESTAMP)", "end"),
        (":end > event_time", "end"),
        ("event_time BETWEEN :start AND now", "start"),
        ("CAST(event_time AS DATE) < :end", "end"),
        ("date(e.event_time) = :start", "start"),
    ],
)
def test_instants_are_not_compared_with_dates_of_local_days(tmp_path: Path, condition: str, name: str) -> None:
    """Hours would be left out without a word."""
    condition = condition.replace("now", BOUNDS.format("end"))
    query = f"SELECT {DAY} AS ds, count(*) AS n FROM raw.ad_events e\nWHERE {WITHIN} AND {condition} GROUP BY 1"
    found = refused(tmp_path, d_sql=sql(query, LOCAL))
    assert f"d.sql:7: `event_time` is an instant, and `:{name}` the date of a local day" in found
    assert f"write `to_utc_timestamp(:{name}, 'America/New_York')`" in found


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT CAST(event_time AS DATE) AS ds, count(*) AS n FROM raw.ad_events WHERE {WITHIN} GROUP BY 1",
        f"SELECT to_date(event_time) AS ds FROM raw.ad_events WHERE {WITHIN}",
        f"SELECT ds FROM (SELECT date(event_time) AS ds FROM raw.ad_events WHERE {WITHIN})",
    ],
)
def test_a_day_of_utc_is_no_local_day(tmp_path: Path, query: str) -> None:
    """Whatever the header says."""
    found = refused(tmp_path, d_sql=sql(query, LOCAL))
    assert "d.sql:6: `ds` is the day of UTC of `event_time`" in found
    assert "write `CAST(from_utc_timestamp(event_time, 'America/New_York') AS DATE)`" in found


PYTHON = """

@model(start="2024-01-01", grain=["ds"], time_zone="America/New_York", upstream={"raw": "raw.ad_events"})
def NAME(raw, interval):
    begin = F.to_utc_timestamp(F.lit(interval.start), "America/New_York")
    day = F.from_utc_timestamp("event_time", "America/New_York").cast("date")
    rows = raw.where((F.col("event_time") >= begin) & (F.col("event_time") < END))
    return rows.groupBy(day.alias("ds")).agg(F.count("*").alias("n"))
"""


def test_python_compares_with_instants_too(tmp_path: Path) -> None:
    """In what it compiles to; a wider stretch, and the instant at which the day begins, may be compared."""
    ends = {
        "a": "interval.end",
        "b": "F.lit(interval.end)",
        "c": 'F.lit(interval.end).cast("timestamp")',
        "d": "interval.end.date()",
        "wide": "F.lit(interval.end + timedelta(days=2))",
    }
    code = "from datetime import timedelta\nfrom backfill_assets import model\nfrom pyspark.sql import functions as F\n"
    code += "".join(PYTHON.replace("NAME", name).replace("END", end) for name, end in ends.items())
    found = refused(tmp_path, p_py=code).splitlines()
    lines = [n for n, line in enumerate(code.splitlines(), 1) if line.startswith("def ")][:-1]
    said = "`event_time` is an instant, and `interval.end` the date of a local day"
    assert [line.partition(";")[0] for line in found] == [f"p.py:{n}: {said}" for n in lines]
    assert all("F.to_utc_timestamp(F.lit(interval.end), 'America/New_York')" in line for line in found)
    early, late = ("{" + f"{probe:%Y-%m-%d}" for probe in PROBES[0])
    assert {early: "start", late: "end"} == COMPILED


def test_hours_are_instants_too(tmp_path: Path) -> None:
    """The time column of an hourly model is one, a local day that was made of it is not."""
    day = "CAST(from_utc_timestamp(ds, 'America/New_York') AS DATE)"
    inner = "SELECT d2 AS ds, n FROM (SELECT ds AS d2, n FROM h) WHERE d2 < :end AND d2 > :start"
    assert "d.sql:6: `d2` is an inst" in refused(tmp_path / "c", h_sql=sql(BY_HOUR, HOURS), d_sql=sql(inner, LOCAL))
    wrong = f"SELECT {day} AS ds, n FROM h WHERE ds >= :start AND ds < :end"
    assert "d.sql:6: `ds` is an instant" in refused(tmp_path / "a", h_sql=sql(BY_HOUR, HOURS), d_sql=sql(wrong, LOCAL))
    right = f"SELECT ds, n FROM (SELECT {day} AS ds, n FROM h) WHERE ds >= :start AND ds < :end"
    assert "d" in load(tmp_path / "b", h_sql=sql(BY_HOUR, HOURS), d_sql=sql(right, LOCAL)).models


def test_code_that_names_another_zone(tmp_path: Path) -> None:
    """A plan warns: the header alone converts nothing."""
    wrong = BY_DAY.replace("America/New_York", "America/Toronto")
    found = load(tmp_path, d_sql=sql(wrong, LOCAL)).warnings["d"]
    assert [w.what for w in found] == ["the code of `d` does not name America/New_York, whose days it has"]
    assert "from raw.ad_events" in found[0].why


def test_audits_by_interval(tmp_path: Path) -> None:
    """A sum of a local day is not that of a day of UTC, nor of a source by its instants."""
    audit = "audits:\n  - reconcile: {metric: sum(n), of: %s, of_metric: count(*), within: 1}\n"
    found = refused(
        tmp_path,
        d_sql=sql(BY_DAY, LOCAL + audit % "raw.ad_events"),
        e_sql=sql(BY_DAY, LOCAL + audit % "events"),
    )
    assert "d.sql:6: audit `reconcile_raw_ad_events" in found and "the source's times are those of UTC" in found
    assert "`events` has days of UTC, `e` days of America/New_York" in found


def test_another_zone_is_another_version(tmp_path: Path) -> None:
    """A change of the zone breaks; no zone and UTC are the same as ever. A record has it back."""
    none, same, zone = (
        load(tmp_path / name, d_sql=sql(READS_DAYS.replace("FROM d", "FROM s"), header), s_sql=sql(BY_DAY_UTC, header))
        for name, header in (("a", HEADER), ("b", HEADER + "time_zone: UTC\n"), ("c", LOCAL))
    )
    assert none.fingerprints == same.fingerprints
    assert not {*none.fingerprints.values()} & {zone.fingerprints[n] for n in ("d", "s")}
    change = change_between(none.signatures["d"], zone.signatures["d"])
    assert str(change) == "breaking: rows may differ"
    assert "time_zone" not in to_definition(none.models["d"])
    record = to_definition(zone.models["d"])
    assert described("d", "v", record).time_zone == "America/New_York"


BY_DAY_UTC = f"SELECT {DAY} AS ds, count(*) AS n FROM raw.ad_events WHERE {DAY} >= :start AND {DAY} < :end GROUP BY 1"


def test_the_authors_word_does_not_go_over_zones(tmp_path: Path) -> None:
    """`same_as` a version of other days is refused: the same name means other hours."""
    from backfill_assets.project.override import check_overrides
    from backfill_assets.project.records import Recorded

    own = load(tmp_path / "a", d_sql=sql(BY_DAY, LOCAL))
    other = "ab" * 8
    said = f"same_as: {{version: {other}, code: {own.fingerprints['d']}, reason: the same}}\n"
    model = load(tmp_path / "b", d_sql=sql(BY_DAY, LOCAL + said)).models["d"]
    signature = own.signatures["d"]
    problems: list[object] = []
    record = Recorded(signature=signature, cadence="daily", time_column="ds")
    check_overrides(tmp_path, model, signature, {("d", other): record}, problems, [])  # type: ignore[arg-type]
    [problem] = problems
    assert "daily by ds, this is daily by ds in America/New_York" in str(problem)
