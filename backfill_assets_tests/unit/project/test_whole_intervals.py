"""What `start` and `end` leave out, or cut short, is told: a model consists of whole intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stage_reasons import nothing_over
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import SOURCES


def model(header: str, *, read: str = "raw.ad_events", time: str = "event_time", column: str = "DATE") -> str:
    return f"""\
/*
{header}
grain: [ds]
*/
SELECT CAST({time} AS {column}) AS ds, count(*) AS n
FROM {read}
WHERE {time} >= :start
  AND {time} < :end
GROUP BY 1
"""


def told(root: Path, **models: str) -> tuple[Problem, ...]:
    """The warnings about the model `m`."""
    (root / "models").mkdir()
    (root / "backfill.yml").write_text("name: t\n")
    (root / "sources.yml").write_text(SOURCES)
    for name, text in models.items():
        (root / "models" / f"{name}.sql").write_text(text)
    return load_project(root).warnings["m"]


@pytest.mark.parametrize(
    ("header", "what", "fix"),
    [
        ("start: 2024-02-25\nend: 2024-02-29", "", ""),
        ("cadence: monthly\nstart: 2024-01-01\nend: 2024-03-01", "", ""),
        (
            "cadence: monthly\nstart: 2024-01-01\nend: 2024-02-29",
            "`end: 2024-02-29` lies within 2024-02: that month is not built",
            "write 2024-03-01 to have it, or 2024-02-01 to do without",
        ),
        (
            "cadence: monthly\nstart: 2024-02-14",
            "`start: 2024-02-14` lies within 2024-02: that month is not built, the first is 2024-03",
            "write 2024-02-01 to have it, or 2024-03-01 to do without",
        ),
        (
            "cadence: weekly\nstart: 2024-01-01\nend: 2024-01-17",
            "`end: 2024-01-17` lies within the week from 2024-01-15: that week is not built",
            "write 2024-01-22 to have it, or 2024-01-15 to do without",
        ),
        (
            "start: 2024-01-01T06:00:00",
            "`start: 2024-01-01T06:00` lies within 2024-01-01: that day is not built, the first is 2024-01-02",
            "write 2024-01-01 to have it, or 2024-01-02 to do without",
        ),
        (
            "cadence: monthly\nstart: 2024-02-14\nend: 2024-03-15",
            "`start: 2024-02-14` and `end: 2024-03-15` hold no whole month: nothing is ever built of m",
            "to have 2024-02: `start: 2024-02-01` and `end: 2024-04-01`",
        ),
    ],
)
def test_ends_within_an_interval(tmp_path: Path, header: str, what: str, fix: str) -> None:
    """With the line of the header, and what to write."""
    found = told(tmp_path, m=model(header))
    assert [(w.what, w.fix) for w in found] == ([(what, fix)] if what else [])
    assert all(w.line in (2, 3, 4) for w in found)


def test_an_hour_that_an_end_cuts(tmp_path: Path) -> None:
    header = "cadence: hourly\nstart: 2024-01-01\nend: 2024-01-02T05:30:00"
    [found] = told(
        tmp_path, m=model(header, column="TIMESTAMP").replace("CAST(event_time", "CAST(date_trunc('HOUR', event_time)")
    )
    assert found.what == "`end: 2024-01-02T05:30` lies within 2024-01-02T05:00: that hour is not built"


def test_a_model_without_any_interval_says_so(tmp_path: Path) -> None:
    """Not that none is over yet: none ever is."""
    told(tmp_path, m=model("cadence: monthly\nstart: 2024-02-14\nend: 2024-03-15"), n=model("start: 2024-02-14"))
    models = load_project(tmp_path).models
    assert nothing_over(models["m"], utc("2024-06-01")) == "its start and end hold no whole month"
    assert nothing_over(models["n"], utc("2024-02-14")) == "no interval of it is over yet"


MONTHS = "cadence: monthly\nstart: {start}"


@pytest.mark.parametrize(
    ("start", "below", "what"),
    [
        (
            "2023-12-01",
            "start: 2023-12-30",
            "the first month of m, 2023-12, reads days of d before its first one, 2023-12-30: it is computed of 2 of "
            "31 days",
        ),
        (
            "2020-01-01",  # no month before the first day is expected
            "start: 2023-12-30",
            "the first month of m, 2023-12, reads days of d before its first one, 2023-12-30: it is computed of 2 of "
            "31 days",
        ),
        (
            "2023-12-01",
            "cadence: weekly\nstart: 2023-12-18",
            "the first month of m, 2023-12, reads weeks of d before its first one, the week from 2023-12-18: it is "
            "computed of 2 of 5 weeks",
        ),
        ("2024-01-01", "start: 2023-12-30", ""),
        ("2023-12-01", "start: 2023-12-01", ""),
    ],
)
def test_a_first_interval_of_few_days(tmp_path: Path, start: str, below: str, what: str) -> None:
    months = model(MONTHS.format(start=start), read="d", time="ds")
    found = told(
        tmp_path, d=model(below), m=months.replace("CAST(ds AS DATE)", "CAST(date_trunc('MONTH', ds) AS DATE)")
    )
    assert [w.what for w in found] == ([what] if what else [])
    assert all("start: 2024-01-01" in w.fix for w in found)


def test_a_first_day_is_followed_through_models(tmp_path: Path) -> None:
    """The one between says that it begins earlier, and has no row of it; an upstream that does have all is enough."""
    months = model(MONTHS.format(start="2023-12-01"), read="midway", time="ds").replace(
        "CAST(ds AS DATE)", "CAST(date_trunc('MONTH', ds) AS DATE)"
    )
    midway = model("start: 2023-12-01", read="d", time="ds")
    [found] = told(tmp_path, d=model("start: 2023-12-30"), midway=midway, m=months)
    assert "reads days of midway before its first one, 2023-12-30" in found.what


@pytest.mark.parametrize(
    ("zone", "what"),
    [
        (
            "Europe/Berlin",
            "the first day of m, 2024-03-04, reads hours of d before its first one, 2024-03-04T00:00: it is computed "
            "of 23 of 24 hours",
        ),
        ("America/New_York", ""),  # its day begins five hours later
    ],
)
def test_a_first_local_day_of_few_hours(tmp_path: Path, zone: str, what: str) -> None:
    """A local day begins at another instant than the first one of UTC."""
    below = model("cadence: hourly\nstart: 2024-03-04", column="TIMESTAMP")
    local = model(f"start: 2024-03-04\ntime_zone: {zone}", read="d", time="ds").replace(
        "CAST(ds AS DATE)", f"CAST(from_utc_timestamp(ds, '{zone}') AS DATE)"
    )
    for bound in (":start", ":end"):
        local = local.replace(bound, f"to_utc_timestamp({bound}, '{zone}')")
    found = told(tmp_path, d=below, m=local)
    assert [w.what for w in found] == ([what] if what else [])
    assert all("start: 2024-03-05" in w.fix for w in found)
