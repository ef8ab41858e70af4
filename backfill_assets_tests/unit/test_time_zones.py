"""Does the machine's time zone decide anything? All is UTC: days with a clock change are days like any other."""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.model import Model
from backfill_assets.defs.partitions import mapping, partition_start, partitions, require_over
from backfill_assets.plan.request_parsing import days_of, request_of
from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets_tests.fakes import a_model, a_project

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]
CLOCK_CHANGES = ["2024-03-10", "2024-03-31", "2024-10-06", "2024-10-27", "2024-11-03"]
"""Of New York, Berlin and Lord Howe (by half an hour), into summer and out of it."""


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A machine that is set to this time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    assert datetime(2024, 7, 1).astimezone().utcoffset() == ZoneInfo(request.param).utcoffset(datetime(2024, 7, 1))
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("cadence", list(Cadence))
def test_dagsters_partitions_are_the_intervals(zone: str, cadence: Cadence) -> None:
    """Over every clock change of a year, keys and windows agree, whatever the machine's zone."""
    model = a_model("m", cadence=cadence, start=utc("2024-02-27"))
    clock = utc("2024-11-20T13:40")
    intervals = list(model.expected(clock).split(cadence))
    found = partitions(model, clock=clock)
    assert found.get_partition_keys() == [cadence.key(i.start) for i in intervals]
    for interval in intervals if cadence is not Cadence.HOURLY else intervals[::37]:
        key = cadence.key(interval.start)
        window = found.time_window_for_partition_key(key)
        assert (window.start.timestamp(), window.end.timestamp()) == (
            interval.start.timestamp(),
            interval.end.timestamp(),
        )
        assert partition_start(key) == interval.start


@pytest.mark.parametrize("day", CLOCK_CHANGES)
def test_a_day_has_24_hours(zone: str, day: str) -> None:
    """Each with a key of its own, also the hour that a local clock shows twice, or never; a daily model reads all."""
    daily = Interval.of(day, utc(day) + timedelta(days=1))
    hours = list(Cadence.HOURLY.split(daily))
    assert len({Cadence.HOURLY.key(h.start) for h in hours}) == Cadence.HOURLY.count(daily) == 24
    up, down = a_model("h", cadence=Cadence.HOURLY, start=utc("2024-02-27")), a_model("d", "h", start=utc("2024-02-27"))
    clock = utc("2024-11-20")
    told = mapping(down, up).get_upstream_mapped_partitions_result_for_partitions(
        partitions(down, clock=clock).subset_with_partition_keys([day]),
        partitions(down, clock=clock),
        partitions(up, clock=clock),
    )
    assert sorted(told.partitions_subset.get_partition_keys()) == [Cadence.HOURLY.key(h.start) for h in hours]


@pytest.mark.parametrize(
    ("cadence", "now", "last", "key"),
    [
        (Cadence.MONTHLY, "2024-02-29T23:59", "2024-01-01..2024-01-31", "2024-01-01"),
        (Cadence.MONTHLY, "2024-03-01T00:00", "2024-02-01..2024-02-29", "2024-02-01"),
        (Cadence.MONTHLY, "2025-01-01T00:00", "2024-12-01..2024-12-31", "2024-12-01"),
        (Cadence.MONTHLY, "2025-03-01T00:00", "2025-02-01..2025-02-28", "2025-02-01"),
        (Cadence.WEEKLY, "2024-12-29T23:59", "2024-12-16..2024-12-22", "2024-12-16"),
        (Cadence.WEEKLY, "2024-12-30T00:00", "2024-12-23..2024-12-29", "2024-12-23"),
        (Cadence.WEEKLY, "2025-01-06T00:00", "2024-12-30..2025-01-05", "2024-12-30"),  # the first ISO week of 2025
        (Cadence.WEEKLY, "2021-01-04T00:00", "2020-12-28..2021-01-03", "2020-12-28"),  # week 53 of 2020
        (Cadence.DAILY, "2024-03-31T00:00", "2024-03-30", "2024-03-30"),
        (Cadence.HOURLY, "2024-03-31T02:30", "2024-03-31T01:00", "2024-03-31-01:00"),
    ],
)
def test_the_last_interval_that_is_over(zone: str, cadence: Cadence, now: str, last: str, key: str) -> None:
    """At the edges of months, years and ISO weeks, to the minute; Dagster's newest partition is the same."""
    model = a_model("m", cadence=cadence, start=utc("2020-01-01"))
    found = list(model.expected(utc(now)).split(cadence))[-1]
    assert str(found) == last
    assert partitions(model, clock=utc(now)).get_partition_keys()[-1] == key
    [open_] = (model.begun(utc(now)) - model.expected(utc(now))).intervals or [None]
    if utc(now) == cadence.floor(utc(now)):
        assert open_ is None, "nothing of it has happened yet"
    else:
        assert open_ is not None and open_.start <= utc(now) < open_.end and open_.start == found.end


def test_what_people_type_is_utc(zone: str) -> None:
    """Days of the command line, wherever it is typed."""
    asked = request_of(start="2024-03-31", end="2024-03-31")
    assert (asked.start, asked.end) == (datetime(2024, 3, 31, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    assert days_of("m:2024-10-27")[1] == Interval.of("2024-10-27", "2024-10-28")


def test_records_keep_their_instants(zone: str, tmp_path: pytest.TempPathFactory) -> None:
    """What the ledger's table gives back is what was written, in the hour that a local clock shows twice as well."""
    ledger = Ledger(DeltaStore(str(tmp_path)))
    hours = list(Cadence.HOURLY.split(Interval.of("2024-10-27T00:00", "2024-10-27T03:00")))
    entries = [
        Entry(kind=Kind.BUILT, model="m", version="v", interval=hour, through=through, at=hour.end, id=f"{n}")
        for n, (hour, through) in enumerate(zip(hours, [None, utc("2024-10-27T01:30"), None], strict=True))
    ]
    ledger.append(entries)
    assert [(e.interval, e.through, e.at) for e in ledger.entries()] == [(e.interval, e.through, e.at) for e in entries]


def test_partitions_of_local_days_are_named_by_their_dates(zone: str) -> None:
    """Over every clock change, as those of UTC are; a day of Tokyo is over, and has a partition, before that of UTC is.
    What is not over is refused, by the clock of its zone."""
    local, now = a_model("m", time_zone="Asia/Tokyo", start=utc("2024-02-27")), utc("2024-11-20T15:00")
    assert partitions(local, clock=now).get_last_partition_key() == "2024-11-20"
    assert partitions(local, clock=now - timedelta(minutes=1)).get_last_partition_key() == "2024-11-19"
    keys = partitions(local, clock=now).get_partition_keys()
    assert keys == [Cadence.DAILY.key(i.start) for i in local.expected(now).split(Cadence.DAILY)]
    real = partitions(local, clock=None)
    day = utc(datetime.now(UTC).date())
    assert real.get_last_partition_key() in {Cadence.DAILY.key(day), Cadence.DAILY.key(day + timedelta(days=1))}
    require_over(a_project(local), local, Interval.of("2024-11-20", "2024-11-21"), now)
    with pytest.raises(PlanError, match="does not count as over yet") as caught:
        require_over(a_project(local), local, Interval.of("2024-11-20", "2024-11-21"), now - timedelta(minutes=1))
    assert caught.value.why == "it does at 2024-11-20 15:00 UTC, by the days of Asia/Tokyo"


def test_a_local_day_reads_the_days_of_utc_that_it_may_overlap(zone: str) -> None:
    """Of the same name and beside; of its own zone's just its own."""
    up, same = a_model("u"), a_model("s", time_zone="Asia/Tokyo")
    local, clock = a_model("m", "u", "s", time_zone="Asia/Tokyo"), utc("2024-11-20")

    def told(upstream: Model) -> list[str]:
        found = mapping(local, upstream).get_upstream_mapped_partitions_result_for_partitions(
            partitions(local, clock=clock).subset_with_partition_keys(["2024-03-10"]),
            partitions(local, clock=clock),
            partitions(upstream, clock=clock),
        )
        return sorted(found.partitions_subset.get_partition_keys())

    assert told(up) == ["2024-03-09", "2024-03-10", "2024-03-11"]
    assert told(same) == ["2024-03-10"]
