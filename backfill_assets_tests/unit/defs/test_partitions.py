"""Do a model's partitions in Dagster equal its intervals, and does a run's choice of keys mean one interval?"""

from __future__ import annotations

import dagster as dg
import pytest

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.defs.partitions import RANGE_TAGS, chosen, mapping, partition_start, partitions, require_over
from backfill_assets_tests.fakes import a_model, a_project

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # mappings that stop at the upstream's start


@pytest.mark.parametrize("cadence", list(Cadence))
@pytest.mark.parametrize("start", ["2024-01-01", "2024-01-03T05:30"])
@pytest.mark.parametrize("end", [None, "2024-02-20T13:15"])
def test_partitions_are_exactly_the_closed_intervals(cadence: Cadence, start: str, end: str | None) -> None:
    """With a fixed clock, partition keys are the keys of the expected intervals, whatever the cadence and bounds."""
    clock = utc("2024-03-10T07:40")
    model = a_model("m", cadence=cadence, start=utc(start), end=utc(end) if end else None)
    found = partitions(model, clock=clock)
    assert found.get_partition_keys() == [cadence.key(i.start) for i in model.expected(clock).split(cadence)]


@pytest.mark.parametrize("cadence", list(Cadence))
def test_keys_name_the_windows_that_intervals_have(cadence: Cadence) -> None:
    """A key read back gives its interval, and Dagster's own window for it is the same stretch of time."""
    model = a_model("m", cadence=cadence)
    found = partitions(model, clock=utc("2024-03-10"))
    for key in found.get_partition_keys():
        window = found.time_window_for_partition_key(key)
        interval = Interval(partition_start(key), cadence.shift(partition_start(key), 1))
        assert (utc(window.start), utc(window.end)) == (interval.start, interval.end)


def test_partitions_that_are_not_ready() -> None:
    """With a fixed clock they are not there; without one Dagster has them at midnight, and a run is refused."""
    model = a_model("m", ready="0 6 * * *")
    three, six = utc("2024-01-04T03:00"), utc("2024-01-04T06:00")
    assert partitions(model, clock=three).get_partition_keys() == ["2024-01-01", "2024-01-02"]
    assert partitions(model, clock=six).get_partition_keys() == ["2024-01-01", "2024-01-02", "2024-01-03"]
    require_over(a_project(model), model, Interval.of("2024-01-01", "2024-01-03"), three)
    require_over(a_project(model), model, Interval.of("2024-01-01", "2024-01-04"), six)
    with pytest.raises(PlanError, match="2024-01-03 of m does not count as over yet") as told:
        require_over(a_project(model), model, Interval.of("2024-01-01", "2024-01-04"), three)
    assert "it does at 2024-01-04 06:00 UTC" in str(told.value)
    assert (
        told.value.fix
        == "choose earlier partitions, or wait; the job `apply` with ignore_cron builds it as far as it got"
    )


def test_without_a_clock_partitions_grow_until_the_end() -> None:
    """A live project has no end, so that tomorrow's partition appears by itself; a model's own end still holds."""
    assert partitions(a_model("m"), clock=None).end is None
    ended = partitions(a_model("m", end=utc("2024-01-04")), clock=None)
    assert ended.get_partition_keys() == ["2024-01-01", "2024-01-02", "2024-01-03"]


def test_nothing_closed_yet_means_no_partitions() -> None:
    """A model that starts after the clock loads, with no partitions."""
    assert partitions(a_model("m", start=utc("2025-01-01")), clock=utc("2024-01-01")).get_partition_keys() == []


def _upstream_keys(reader: Cadence, lookback: int, upstream: Cadence, keys: list[str]) -> list[str]:
    clock = utc("2024-04-01")
    down, up = a_model("down", "up", cadence=reader, lookback=lookback), a_model("up", cadence=upstream)
    down_partitions, up_partitions = partitions(down, clock=clock), partitions(up, clock=clock)
    found = mapping(down, up).get_upstream_mapped_partitions_result_for_partitions(
        down_partitions.subset_with_partition_keys(keys), down_partitions, up_partitions
    )
    return sorted(found.partitions_subset.get_partition_keys())


def test_lookback_reads_the_days_before_and_stops_at_the_start() -> None:
    """A lookback of two days reads two earlier days; before the upstream's start there is nothing to read."""
    assert _upstream_keys(Cadence.DAILY, 2, Cadence.DAILY, ["2024-01-10"]) == [f"2024-01-{d:02}" for d in (8, 9, 10)]
    assert _upstream_keys(Cadence.DAILY, 2, Cadence.DAILY, ["2024-01-01"]) == ["2024-01-01"]


def test_a_month_reads_its_days() -> None:
    """February reads its 29 days; and a day reads the month that it is in."""
    days = _upstream_keys(Cadence.MONTHLY, 0, Cadence.DAILY, ["2024-02-01"])
    assert days == [f"2024-02-{d:02}" for d in range(1, 30)]
    assert _upstream_keys(Cadence.DAILY, 0, Cadence.MONTHLY, ["2024-02-14"]) == ["2024-02-01"]


def test_contiguous_keys_are_one_interval() -> None:
    """Five days in order are one range of five days; months are as long as they are."""
    assert str(chosen(Cadence.DAILY, [f"2024-02-{d:02}" for d in range(27, 30)], {})) == "2024-02-27..2024-02-29"
    assert str(chosen(Cadence.MONTHLY, ["2024-01-01", "2024-02-01"], {})) == "2024-01-01..2024-02-29"
    assert str(chosen(Cadence.HOURLY, ["2024-01-01-23:00"], {})) == "2024-01-01T23:00"


def test_no_keys_are_refused_and_a_reversed_range_is_named() -> None:
    """Dagster runs a reversed range with no keys at all: the refusal says what was asked."""
    tags = dict(zip(RANGE_TAGS, ("2024-01-05", "2024-01-01"), strict=True))
    with pytest.raises(PlanError) as reversed_range:
        chosen(Cadence.DAILY, [], tags)
    assert "2024-01-05...2024-01-01, which is reversed" in reversed_range.value.why
    with pytest.raises(PlanError) as nothing:
        chosen(Cadence.DAILY, [], {})
    assert nothing.value.why == "the run names no partition"


@pytest.mark.parametrize("keys", [["2024-01-01", "2024-01-03"], ["2024-01-02", "2024-01-01"]])
def test_keys_with_a_gap_or_out_of_order_are_refused(keys: list[str]) -> None:
    """A build covers one contiguous range; anything else is refused, with the place."""
    with pytest.raises(PlanError) as error:
        chosen(Cadence.DAILY, keys, {})
    assert f"{keys[1]} follows {keys[0]}" in error.value.why


def test_partitions_are_dagsters_own() -> None:
    """Nothing of ours sits between the UI's partition widgets and the definitions."""
    assert isinstance(partitions(a_model("m"), clock=None), dg.DailyPartitionsDefinition)
