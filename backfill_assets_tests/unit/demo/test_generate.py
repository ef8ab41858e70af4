"""The demo's input is the same for everybody, and as awkward as life."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from backfill_assets.core.errors import SettingsError
from backfill_assets.demo import generate as generator
from backfill_assets.demo.generate import MARKER, Generated, generate

DAYS = 75  # two chunks


def small(target: Path, *, events: int = 6_000, days: int = DAYS, seed: int = 7) -> Generated:
    return generate(target, events=events, days=days, seed=seed)


def table(data: Path, name: str) -> pa.Table:
    return DeltaTable(str(data / name)).to_pyarrow_table()


def frame(data: Path, name: str) -> pd.DataFrame:
    return table(data, name).to_pandas(types_mapper=pd.ArrowDtype)


def ordered(data: Path, name: str) -> pa.Table:
    rows = table(data, name)
    return rows.sort_by([(rows.column_names[0], "ascending"), ("landed_on", "ascending")])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("data")
    small(target)
    return target


@pytest.fixture(scope="module")
def events(data: Path) -> pd.DataFrame:
    return frame(data, "ad_events")


@pytest.fixture(scope="module")
def conversions(data: Path) -> pd.DataFrame:
    return frame(data, "conversions")


def test_same_arguments_same_rows(data: Path, tmp_path: Path) -> None:
    small(tmp_path)
    for name in ("ad_events", "conversions"):
        assert ordered(tmp_path, name).equals(ordered(data, name))
    assert (tmp_path / "campaigns/campaigns.csv").read_bytes() == (data / "campaigns/campaigns.csv").read_bytes()


def test_another_seed_other_rows(tmp_path: Path) -> None:
    small(tmp_path / "a", events=300, days=2, seed=7)
    small(tmp_path / "b", events=300, days=2, seed=8)
    assert not ordered(tmp_path / "a", "ad_events").equals(ordered(tmp_path / "b", "ad_events"))


def test_what_is_there_is_not_made_again(data: Path) -> None:
    before = {f: f.stat().st_mtime_ns for f in data.rglob("*.parquet")}
    summary = small(data)
    assert not summary.made
    assert {f: f.stat().st_mtime_ns for f in data.rglob("*.parquet")} == before


def test_the_summary_counts_rows(data: Path, events: pd.DataFrame, conversions: pd.DataFrame) -> None:
    summary = small(data)
    assert abs(summary.events - 6_000) < 400
    assert (summary.events, summary.conversions) == (len(events), len(conversions))
    assert summary.duplicate_events == int(events["event_id"].duplicated().sum())
    clicks = events[events["event_type"] == "click"]
    assert summary.clicks == clicks["event_id"].nunique()


def test_a_killed_run_is_made_again(data: Path, tmp_path: Path) -> None:
    """Dying after the first commits leaves no marker that calls the tables complete; the next call starts afresh."""

    def die(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, events=6_000, days=DAYS, progress=die)
    assert (tmp_path / "ad_events").is_dir()
    assert small(tmp_path).made
    assert ordered(tmp_path, "ad_events").equals(ordered(data, "ad_events"))


def test_a_marker_cut_short_counts_as_unfinished(tmp_path: Path) -> None:
    small(tmp_path, events=300, days=2)
    (tmp_path / MARKER).write_text('{"wanted": {"ver')
    assert small(tmp_path, events=300, days=2).made
    assert not small(tmp_path, events=300, days=2).made


def test_other_arguments_replace_it(tmp_path: Path) -> None:
    small(tmp_path, events=300, days=2)
    assert small(tmp_path, events=300, days=3).made
    assert len(set(frame(tmp_path, "ad_events")["landed_on"])) == 3


def test_a_new_generator_replaces_old_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(tmp_path, events=300, days=2)
    monkeypatch.setattr(generator, "GENERATOR_VERSION", generator.GENERATOR_VERSION + 1)
    assert small(tmp_path, events=300, days=2).made


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ad_events").mkdir()
    with pytest.raises(SettingsError, match="cannot generate demo data"):
        small(tmp_path)
    assert (tmp_path / "ad_events").is_dir()


@pytest.mark.parametrize(("events", "days"), [(0, 10), (10, 0)])
def test_nothing_to_make_is_refused(tmp_path: Path, events: int, days: int) -> None:
    with pytest.raises(SettingsError, match="cannot generate"):
        small(tmp_path, events=events, days=days)


def test_progress_ends_at_the_last_day(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    generate(tmp_path, events=500, days=DAYS, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(60, DAYS), (DAYS, DAYS)]


def test_every_channel_has_events_on_every_day_however_few(tmp_path: Path) -> None:
    small(tmp_path, events=100, days=20)
    rows = frame(tmp_path, "ad_events")
    found = set(zip(pd.to_datetime(rows["event_time"]).dt.date, rows["channel"], strict=True))
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(20)]
    assert found == {(day, channel) for day in days for channel in ("google_ads", "facebook", "email")}


def test_every_landing_day_is_one_file(data: Path) -> None:
    files = DeltaTable(str(data / "ad_events")).file_uris()
    assert len(files) == DAYS
    assert len({Path(f).parent for f in files}) == DAYS


def test_there_are_more_than_fifty_campaigns(data: Path) -> None:
    rows = pd.read_csv(data / "campaigns" / "campaigns.csv")
    assert len(rows) >= 54
    assert rows["campaign_id"].is_unique
    assert rows["campaign_name"].is_unique
    assert rows["stop_day"].isna().any()


def test_campaigns_run_between_their_days_only(data: Path, events: pd.DataFrame) -> None:
    rows = events.merge(pd.read_csv(data / "campaigns" / "campaigns.csv"), on="campaign_id", suffixes=("", "_planned"))
    assert len(rows) == len(events)
    assert (rows["channel"] == rows["channel_planned"]).all()
    day = pd.to_datetime(rows["event_time"]).dt.strftime("%Y-%m-%d")
    assert (day >= rows["start_day"]).all()
    assert (day <= rows["stop_day"].fillna("9999")).all()


@pytest.mark.parametrize(("name", "key"), [("ad_events", "event_id"), ("conversions", "conversion_id")])
def test_copies_differ_in_nothing_but_the_day_they_landed(data: Path, name: str, key: str) -> None:
    rows = frame(data, name)
    copies = rows[rows[key].duplicated(keep=False)]
    assert len(copies) > 0
    assert len(copies.drop(columns="landed_on").drop_duplicates()) == copies[key].nunique()


def test_some_copies_land_a_day_later(events: pd.DataFrame) -> None:
    assert events.groupby("event_id")["landed_on"].nunique().max() == 2


def test_events_land_on_their_day_or_up_to_three_days_later(events: pd.DataFrame) -> None:
    delay = days_between(events["event_time"], events["landed_on"])
    assert set(delay) == {0, 1, 2, 3}
    assert 0.9 < (delay == 0).mean() < 1


def test_conversions_land_up_to_two_weeks_after_the_click(conversions: pd.DataFrame) -> None:
    delay = days_between(conversions["click_time"], conversions["landed_on"])
    assert delay.min() == 0
    assert 7 < delay.max() <= 14
    assert (conversions["converted_at"] > conversions["click_time"]).all()


def test_nothing_lands_or_happens_after_the_last_day(events: pd.DataFrame, conversions: pd.DataFrame) -> None:
    last = date(2024, 1, 1) + timedelta(days=DAYS - 1)
    assert max(events["landed_on"]) == last
    assert max(conversions["landed_on"]) <= last
    assert max(pd.to_datetime(conversions["converted_at"])).date() <= last


def test_a_conversion_belongs_to_a_click_that_landed_before(events: pd.DataFrame, conversions: pd.DataFrame) -> None:
    clicks = events[events["event_type"] == "click"].sort_values("landed_on").drop_duplicates("event_id")
    rows = conversions.merge(clicks, left_on="click_event_id", right_on="event_id", suffixes=("", "_click"))
    assert len(rows) == len(conversions)
    assert (rows["click_time"] == rows["event_time"]).all()
    assert (rows["campaign_id"] == rows["campaign_id_click"]).all()
    assert (rows["landed_on"] >= rows["landed_on_click"]).all()


def test_clicks_are_rarer_than_impressions_in_every_campaign_and_day(events: pd.DataFrame) -> None:
    once = events.drop_duplicates("event_id")
    kinds = once.assign(day=pd.to_datetime(once["event_time"]).dt.date)
    counts = kinds.groupby(["day", "campaign_id", "event_type"]).size().unstack(fill_value=0)
    assert (counts["click"] <= counts["impression"]).all()
    assert 0.03 < counts["click"].sum() / len(once) < 0.09


def test_only_paid_clicks_and_sent_emails_cost(events: pd.DataFrame) -> None:
    email, click = events["channel"] == "email", events["event_type"] == "click"
    costs = events["spend"] > 0
    assert (costs == (click ^ email)).all()


def test_the_wall_clock_is_the_customers(conversions: pd.DataFrame) -> None:
    """`converted_at_local` read in its zone is `converted_at`, and often another date."""
    zones = set(conversions["time_zone"])
    assert zones >= {"Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles"}
    other_day = 0
    for at, local, zone in conversions[["converted_at", "converted_at_local", "time_zone"]].itertuples(index=False):
        there = at.tz_convert(ZoneInfo(zone))
        assert there.strftime("%Y-%m-%d %H:%M:%S") == local
        other_day += there.date() != at.date()
    assert other_day > 0


def test_facebook_is_silent_during_its_outage(tmp_path: Path) -> None:
    small(tmp_path, events=14_000, days=140)
    rows = frame(tmp_path, "ad_events")
    at = pd.to_datetime(rows["event_time"])
    day = rows[(at.dt.date == date(2024, 1, 1) + timedelta(days=137)) & (rows["channel"] == "facebook")]
    hours = set(pd.to_datetime(day["event_time"]).dt.hour)
    assert hours
    assert not hours & {13, 14, 15, 16, 17}


def test_the_command_line_says_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--target", str(tmp_path), "--events", "300", "--days", "2"]
    generator.main(arguments)
    generator.main(arguments)
    first, second = capsys.readouterr().out.strip().split("\n")
    assert "66 campaigns, 2 days" in first
    assert "made in" in first
    assert second.endswith("already there")
    assert json.loads((tmp_path / MARKER).read_text())["wanted"]["events"] == 300


def days_between(instants: pd.Series, days: pd.Series) -> pd.Series:
    return (pd.to_datetime(days) - pd.to_datetime(instants).dt.tz_localize(None).dt.normalize()).dt.days
