"""What did the demo's ad platforms deliver? Writes the raw tables, without Spark, the same for the same arguments.

    python -m backfill_assets.demo.generate --events 2000000

What makes the data like life, and a careless model wrong:

- About 0.7 % of the events and conversions are delivered twice, with the same id; the copy may land a day later.
- Rows land in the folder of the day they *arrived*. A few events are late by one to three days; on some days a channel
  delivers a quarter of its events late. Conversions happen up to 13 days after the click, and land within 14.
- Facebook is silent for some hours on two days; the volume follows weekdays, the clock, seasons and budgets.
- A third of the customers live far from UTC: their local evening is the next UTC day.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute
from deltalake import WriterProperties, write_deltalake
from numpy.typing import NDArray
from pyarrow import csv

from backfill_assets.core.errors import SettingsError
from backfill_assets.demo.campaigns import CHANNELS, Campaign, campaigns
from backfill_assets.project.settings import EMBEDDED_PROJECT, state_root

GENERATOR_VERSION = 1
"""Raised when the same arguments would give other rows."""
MARKER = "generated.json"
"""Written beside the tables: what they hold, and (last of all) that they are complete."""
MAX_EVENT_DELAY = 3
"""Days after its own day that an event may land, at most."""
MAX_CONVERSION_DELAY = 14
"""Days after the click's day that a conversion may land, at most."""

_PURPOSE = "Make the demo's raw tables, without Spark."

Progress = Callable[[int, int], None]
Array = NDArray[Any]
Rows = dict[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the target holds. `events` and `conversions` count rows, duplicates included; `bytes` is their size on disk.

    `made` is False when everything was there already; `seconds` is what making it took, then or now.
    """

    target: Path
    made: bool
    days: int
    campaigns: int
    events: int
    duplicate_events: int
    clicks: int
    conversions: int
    duplicate_conversions: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        state = f"made in {self.seconds:.1f} s" if self.made else "already there"
        return (
            f"{self.target}: {self.events:,} events, {self.conversions:,} conversions, {self.campaigns} campaigns, "
            f"{self.days} days, {self.bytes / 1e6:,.0f} MB, {state}"
        )


def generate(
    target: Path,
    *,
    events: int = 2_000_000,
    seed: int = 7,
    days: int = 540,
    start: date = date(2024, 1, 1),
    progress: Progress | None = None,
) -> Summary:
    """Write `ad_events`, `conversions` (Delta, partitioned by `landed_on`) and `campaigns` (CSV) under `target`.

    `events` is the approximate number of rows of `ad_events`; every channel has at least one row a day. `progress` is
    called with (days done, days). The same arguments give the same rows; when the target holds them already, nothing is
    written; tables that a killed run left half-written, or that other arguments made, are replaced. Two processes may
    call it at once: the second waits.
    Raises SettingsError when there is nothing to make, or when the target holds files that are not ours.
    """
    if events < 1 or days < 1:
        raise SettingsError(f"cannot generate {events} events for {days} days", fix="ask for at least 1 of each")
    wanted = {"version": GENERATOR_VERSION, "events": events, "seed": seed, "days": days, "start": start.isoformat()}
    target.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        marker = target / MARKER
        found = _read_marker(target)
        if found.get("wanted") == wanted and "summary" in found:
            return Summary(target=target, made=False, **found["summary"])
        began = time.perf_counter()
        marker.write_text(json.dumps({"wanted": wanted}))
        for table in ("ad_events", "conversions", "campaigns"):
            if (target / table).exists():
                shutil.rmtree(target / table)
        counted = _write(target, _World.build(events=events, seed=seed, days=days, start=start), progress)
        size = sum(f.stat().st_size for f in target.rglob("*") if f.is_file())
        summary: dict[str, Any] = {**counted, "bytes": size, "seconds": round(time.perf_counter() - began, 2)}
        unfinished = target / f"{MARKER}.new"
        unfinished.write_text(json.dumps({"wanted": wanted, "summary": summary}, indent=2))
        unfinished.replace(marker)
        return Summary(target=target, made=True, **summary)


def default_target() -> Path:
    """Where the embedded demo's `sources.yml` looks for its data."""
    return state_root(EMBEDDED_PROJECT.resolve()) / ".backfill" / "data"


def main(arguments: list[str] | None = None) -> None:
    """The command line of `python -m backfill_assets.demo.generate`."""
    parser = argparse.ArgumentParser(prog="python -m backfill_assets.demo.generate", description=_PURPOSE)
    parser.add_argument("--target", type=Path, default=default_target(), help="folder (default: %(default)s)")
    parser.add_argument("--events", type=int, default=2_000_000, help="rows of ad_events, about (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--days", type=int, default=540)
    parser.add_argument("--start", type=date.fromisoformat, default=date(2024, 1, 1))
    chosen = parser.parse_args(arguments)

    def show(done: int, total: int) -> None:
        print(f"\r{done}/{total} days", end="", flush=True)

    try:
        summary = generate(**vars(chosen), progress=show)
    except SettingsError as error:
        parser.exit(1, f"{error}\n")
    print(f"\r{summary}")


# --- the parts, in reading order -------------------------------------------------------------------------------------

_DAY_MS = 86_400_000
_DUPLICATES = 0.007
_LATE = 0.004
_LATE_ON_BAD_DAYS = 0.25
_CHUNK_ROWS = 1_500_000
_CHUNK_DAYS = 60

# region, share of the audience, IANA zone of its customers
_REGIONS = (
    ("de", 0.34, "Europe/Berlin"),
    ("fr", 0.16, "Europe/Paris"),
    ("uk", 0.17, "Europe/London"),
    ("us_east", 0.21, "America/New_York"),
    ("us_west", 0.12, "America/Los_Angeles"),
)
_DEVICES = (("mobile", 0.62), ("desktop", 0.31), ("tablet", 0.07))

# Monday … Sunday
_WEEK = {
    "google_ads": (1.10, 1.08, 1.05, 1.03, 0.98, 0.85, 0.91),
    "facebook": (0.94, 0.93, 0.95, 0.98, 1.02, 1.11, 1.07),
    "email": (0.90, 1.65, 1.05, 1.60, 0.85, 0.45, 0.50),
}
_SHARE = {"google_ads": 0.45, "facebook": 0.35, "email": 0.20}
# local hours 0 … 23
_CLOCK = {
    "google_ads": (2, 1, 1, 1, 1, 2, 3, 5, 8, 10, 11, 11, 9, 9, 9, 9, 8, 8, 9, 10, 11, 10, 7, 4),
    "facebook": (3, 2, 1, 1, 1, 2, 4, 6, 6, 5, 5, 6, 7, 6, 5, 5, 6, 8, 10, 12, 13, 12, 9, 5),
    "email": (1, 1, 0.5, 0.5, 1, 3, 9, 15, 18, 14, 9, 7, 8, 6, 5, 4, 4, 5, 6, 6, 5, 4, 2, 1),
}
# (days after the start, first silent UTC hour, silent hours): when facebook delivered nothing
_OUTAGES = ((137, 13, 5), (402, 9, 4))

_EVENTS_SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.int64(), nullable=False),
        ("event_type", pa.string()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("campaign_id", pa.int32()),
        ("channel", pa.string()),
        ("spend", pa.decimal128(18, 6)),
        ("region", pa.string()),
        ("device", pa.string()),
        ("landed_on", pa.date32()),
    ]
)
_CONVERSIONS_SCHEMA = pa.schema(
    [
        pa.field("conversion_id", pa.int64(), nullable=False),
        ("click_event_id", pa.int64()),
        ("campaign_id", pa.int32()),
        ("channel", pa.string()),
        ("click_time", pa.timestamp("us", tz="UTC")),
        ("converted_at", pa.timestamp("us", tz="UTC")),
        ("converted_at_local", pa.string()),
        ("time_zone", pa.string()),
        ("conversion_value", pa.decimal128(18, 2)),
        ("assisted", pa.bool_()),
        ("view_through", pa.bool_()),
        ("landed_on", pa.date32()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What is decided before any row is drawn.

    `impressions` and `clicks` are counts of shape (days, campaigns), `click_price` (same shape) is in EUR, `bad` of
    shape (days, channels) marks the days on which a channel delivers late.
    """

    seed: int
    days: int
    start: date
    campaigns: tuple[Campaign, ...]
    channel_of: Array
    impressions: Array
    clicks: Array
    click_price: Array
    bad: Array

    @classmethod
    def build(cls, *, events: int, seed: int, days: int, start: date) -> _World:
        rng = np.random.default_rng([seed, 0])
        team = campaigns()
        channel_of = np.array([CHANNELS.index(c.channel) for c in team], dtype=np.int8)
        calendar = [start + timedelta(days=i) for i in range(days)]
        weight = np.array([[_interest(c, day) for c in team] for day in calendar])
        per_channel = np.array([weight[:, channel_of == k].sum() for k in range(len(CHANNELS))])
        weight *= (np.array([_SHARE[k] for k in CHANNELS]) / per_channel)[channel_of]
        phase = rng.random(len(team)) * 2 * np.pi
        day = np.arange(days)[:, None]
        weight *= 1 + 0.0007 * day + 0.15 * np.sin(day / 41 + phase)  # budgets drift
        weight *= rng.lognormal(0, 0.08, weight.shape)
        for at, _, hours in _OUTAGES:
            if at < days:
                weight[at, channel_of == CHANNELS.index("facebook")] *= 1 - hours / 24
        click_rate = np.array([c.click_rate for c in team]) * rng.lognormal(0, 0.06, weight.shape)
        size = events / (1 + _DUPLICATES) / (weight * (1 + click_rate)).sum()
        impressions = rng.poisson(weight * size)
        anchors = [int(np.flatnonzero(channel_of == k)[0]) for k in range(len(CHANNELS))]
        impressions[:, anchors] = np.maximum(impressions[:, anchors], 1)
        drift = 1 + 0.0004 * day + 0.1 * np.sin(day / 67 + phase[::-1])
        return cls(
            seed=seed,
            days=days,
            start=start,
            campaigns=team,
            channel_of=channel_of,
            impressions=impressions,
            clicks=rng.binomial(impressions, click_rate),
            click_price=np.array([c.click_price for c in team]) * drift,
            bad=rng.random((days, len(CHANNELS))) < 1 / 60,
        )

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Runs of days [first, end) of some 1.5 million rows, so that memory does not grow with the size."""
        daily = max(1, int((self.impressions.sum() + self.clicks.sum()) / self.days))
        step = min(_CHUNK_DAYS, max(1, _CHUNK_ROWS // daily))
        for first in range(0, self.days, step):
            yield first, min(first + step, self.days)

    def midnight_us(self, day: Array) -> Array:
        return (day.astype(np.int64) + self.epoch_day) * (_DAY_MS * 1000)

    @property
    def epoch_day(self) -> int:
        return (self.start - date(1970, 1, 1)).days

    def id_prefix(self, day: Array) -> Array:
        """`yyyymmdd` and eight zeros, room for the day's counter."""
        dates = [self.start + timedelta(days=i) for i in range(self.days)]
        table = np.array([d.year * 10_000 + d.month * 100 + d.day for d in dates], dtype=np.int64)
        return table[day] * 100_000_000


def _interest(campaign: Campaign, day: date) -> float:
    """How much of its channel's volume a campaign wants on a day; 0 when it does not run."""
    if day < campaign.start or (campaign.stop and day > campaign.stop):
        return 0.0
    ramp = min(1.0, 0.4 + 0.2 * (day - campaign.start).days)
    return float(campaign.daily_budget) * ramp * _WEEK[campaign.channel][day.weekday()] * _holiday(day)


def _holiday(day: date) -> float:
    match (day.month, day.day):
        case (11, d) if d >= 25:
            return 1.8
        case (12, d) if d <= 2:
            return 1.8
        case (12, d) if d <= 20:
            return 1.3
        case (12, 24 | 25 | 26 | 31) | (1, 1):
            return 0.6
        case (7, _) | (8, _):
            return 0.9
        case _:
            return 1.0


def _write(target: Path, world: _World, progress: Progress | None) -> dict[str, int]:
    _write_campaigns(target / "campaigns", world.campaigns)
    counted = dict.fromkeys(("events", "duplicate_events", "clicks", "conversions", "duplicate_conversions"), 0)
    waiting: Rows = {}
    conversions: list[Rows] = []
    for first, end in world.chunks():
        rng = np.random.default_rng([world.seed, 1, first])
        fresh = _events(world, rng, first, end)
        converted = _conversions(world, rng, fresh)
        delivered, copies = _deliver_twice(fresh, rng, world.days - 1, MAX_EVENT_DELAY)
        rows = _concat(waiting, delivered) if waiting else delivered
        here = rows["landed"] < end
        waiting = _take(rows, ~here)
        landed = _take(rows, here)
        landed = _take(landed, np.lexsort((landed["time"], landed["landed"])))
        _append(target / "ad_events", _events_table(world, landed), "Ad platform deliveries, by the day they landed.")
        conversions.append(converted)
        counted["events"] += len(delivered["id"])
        counted["duplicate_events"] += copies
        counted["clicks"] += int(fresh["click"].sum())
        if progress:
            progress(end, world.days)
    rng = np.random.default_rng([world.seed, 2])
    rows, copies = _deliver_twice(_concat(*conversions), rng, world.days - 1, MAX_CONVERSION_DELAY)
    rows = _take(rows, np.lexsort((rows["converted"], rows["landed"])))
    _append(target / "conversions", _conversions_table(world, rows), "Conversions, by the day they landed.")
    counted |= {"conversions": len(rows["id"]), "duplicate_conversions": copies}
    return {"days": world.days, "campaigns": len(world.campaigns), **counted}


def _events(world: _World, rng: np.random.Generator, first: int, end: int) -> Rows:
    """The events of the days [first, end), each once, in the order of their time."""
    counts = np.stack([world.impressions[first:end], world.clicks[first:end]], axis=2)
    team = len(world.campaigns)
    kind = np.repeat(np.arange(counts.size, dtype=np.int32), counts.ravel())
    day = (kind // (2 * team) + first).astype(np.int32)
    campaign = (kind // 2 % team).astype(np.int16)
    channel = world.channel_of[campaign]
    region = _pick(rng, [share for _, share, _ in _REGIONS], len(kind))
    millisecond = _time_of_day(world, rng, day, channel, region)
    order = np.argsort(day * np.int64(_DAY_MS) + millisecond, kind="stable")
    day, campaign, channel, region = day[order], campaign[order], channel[order], region[order]
    click = (kind % 2 == 1)[order]
    late = rng.random(len(day)) < np.where(world.bad[day, channel], _LATE_ON_BAD_DAYS, _LATE)
    delay = np.where(late, 1 + _pick(rng, [0.75, 0.17, 0.08], len(day)), 0)
    return {
        "id": world.id_prefix(day) + _counter(day),
        "day": day,
        "time": world.midnight_us(day) + millisecond[order] * 1000,
        "campaign": campaign,
        "click": click,
        "spend": _spend_micros(world, rng, day, campaign, channel, click),
        "region": region,
        "device": _pick(rng, [share for _, share in _DEVICES], len(day)),
        "landed": np.minimum(day + delay, world.days - 1).astype(np.int32),
    }


def _time_of_day(world: _World, rng: np.random.Generator, day: Array, channel: Array, region: Array) -> Array:
    """Milliseconds after UTC midnight: the channel's clock in the customer's local time, moved to UTC."""
    millisecond = np.empty(len(day), dtype=np.int64)
    edges = np.arange(25) * (_DAY_MS // 24)
    for k, name in enumerate(CHANNELS):
        mine = channel == k
        curve = np.concatenate(([0.0], np.cumsum(_CLOCK[name])))
        millisecond[mine] = np.interp(rng.random(int(mine.sum())), curve / curve[-1], edges).astype(np.int64)
    winter = datetime(2024, 1, 1, tzinfo=UTC)
    ahead = [winter.astimezone(ZoneInfo(zone)).utcoffset() or timedelta() for _, _, zone in _REGIONS]
    shift = np.array([int(t.total_seconds()) * 1000 for t in ahead], dtype=np.int64)
    millisecond = (millisecond - shift[region]) % _DAY_MS
    for at, hour, hours in _OUTAGES:
        begin, length = hour * 3_600_000, hours * 3_600_000
        silent = (day == at) & (channel == CHANNELS.index("facebook")) & (millisecond >= begin)
        silent &= millisecond < begin + length
        millisecond[silent] += length  # what still comes, comes after
    return millisecond


def _spend_micros(
    world: _World, rng: np.random.Generator, day: Array, campaign: Array, channel: Array, click: Array
) -> Array:
    """What each event cost, in millionths of EUR: paid clicks on google_ads and facebook, each send of an email."""
    micros = np.zeros(len(day), dtype=np.int64)
    email = channel == CHANNELS.index("email")
    paid = click & ~email
    price = world.click_price[day[paid], campaign[paid]] * rng.lognormal(0, 0.25, int(paid.sum()))
    micros[paid] = np.maximum(np.rint(price * 10_000).astype(np.int64), 100) * 100
    send_price = np.array([round(c.send_price * 1_000_000) for c in world.campaigns], dtype=np.int64)
    sent = email & ~click
    micros[sent] = send_price[campaign[sent]]
    return micros


def _conversions(world: _World, rng: np.random.Generator, events: Rows) -> Rows:
    """What customers bought after a click, each once; only what happened before the last day was over."""
    rate = np.array([c.conversion_rate for c in world.campaigns])
    clicked = np.flatnonzero(events["click"])
    clicks = _take(events, clicked[rng.random(len(clicked)) < rate[events["campaign"][clicked]]])
    n = len(clicks["id"])
    mixture = _pick(rng, [0.55, 0.30, 0.15], n)
    days_later = np.choose(mixture, [rng.exponential(2 / 24, n), rng.random(n) * 3, rng.random(n) * 13])
    second = np.clip(days_later * 86_400, 20, 13 * 86_400 - 1).astype(np.int64)
    converted = (clicks["time"] // 1_000_000 + second) * 1_000_000
    converted_day = converted // (_DAY_MS * 1000) - world.epoch_day
    landed = np.maximum(converted_day + (rng.random(n) < 0.05), clicks["landed"])
    rows = {
        "click": clicks["id"],
        "day": clicks["day"],
        "campaign": clicks["campaign"],
        "clicked": clicks["time"],
        "converted": converted,
        "region": clicks["region"],
        "cents": np.maximum(np.rint(rng.lognormal(3.9, 0.7, n) * 100), 99).astype(np.int64),
        "assisted": rng.random(n) < 0.3,
        "view_through": rng.random(n) < 0.12,
        "landed": np.minimum(landed, world.days - 1).astype(np.int32),
    }
    rows = _take(rows, converted_day < world.days)
    return rows | {"id": world.id_prefix(rows["day"]) + _counter(rows["day"])}


def _deliver_twice(rows: Rows, rng: np.random.Generator, last_day: int, max_delay: int) -> tuple[Rows, int]:
    """The rows and a second delivery of some of them, on the same day or the next; and how many."""
    again = rng.random(len(rows["id"])) < _DUPLICATES
    again[:1] = True  # however small the demo, somebody trips over one
    copies = _take(rows, again)
    n = len(copies["id"])
    landed = copies["landed"] + (rng.random(n) < 0.4)
    copies["landed"] = np.minimum(np.minimum(landed, copies["day"] + max_delay), last_day).astype(np.int32)
    return _concat(rows, copies), n


def _events_table(world: _World, rows: Rows) -> pa.Table:
    columns = [
        pa.array(rows["id"]),
        _text(["impression", "click"], rows["click"].astype(np.int8)),
        pa.array(rows["time"]).cast(pa.timestamp("us", tz="UTC")),
        _campaign_ids(world, rows["campaign"]),
        _text(list(CHANNELS), world.channel_of[rows["campaign"]]),
        _decimal(rows["spend"], 6),
        _text([name for name, _, _ in _REGIONS], rows["region"]),
        _text([name for name, _ in _DEVICES], rows["device"]),
        _dates(world, rows["landed"]),
    ]
    return pa.Table.from_arrays(columns, schema=_EVENTS_SCHEMA)


def _conversions_table(world: _World, rows: Rows) -> pa.Table:
    converted = pa.array(rows["converted"]).cast(pa.timestamp("us", tz="UTC"))
    columns = [
        pa.array(rows["id"]),
        pa.array(rows["click"]),
        _campaign_ids(world, rows["campaign"]),
        _text(list(CHANNELS), world.channel_of[rows["campaign"]]),
        pa.array(rows["clicked"]).cast(pa.timestamp("us", tz="UTC")),
        converted,
        _wall_time(converted, rows["region"]),
        _text([zone for _, _, zone in _REGIONS], rows["region"]),
        _decimal(rows["cents"], 2),
        pa.array(rows["assisted"]),
        pa.array(rows["view_through"]),
        _dates(world, rows["landed"]),
    ]
    return pa.Table.from_arrays(columns, schema=_CONVERSIONS_SCHEMA)


def _wall_time(instants: pa.Array, region: Array) -> pa.Array:
    """The customer's wall clock as `2024-03-31 03:15:00`, without saying in which zone."""
    text = np.full(len(instants), "", dtype=object)
    for k, (_, _, zone) in enumerate(_REGIONS):
        mine = np.flatnonzero(region == k)
        local = _local_timestamp(instants.take(pa.array(mine)).cast(pa.timestamp("us", tz=zone)))
        text[mine] = local.cast(pa.timestamp("s")).cast(pa.string()).to_numpy(zero_copy_only=False)
    return pa.array(text, type=pa.string())


def _local_timestamp(instants: pa.Array) -> pa.Array:
    return pyarrow.compute.call_function("local_timestamp", [instants])


def _write_campaigns(folder: Path, team: tuple[Campaign, ...]) -> None:
    folder.mkdir(parents=True)
    table = pa.table(
        {
            "campaign_id": pa.array([c.id for c in team], pa.int32()),
            "campaign_name": [c.name for c in team],
            "channel": [c.channel for c in team],
            "objective": [c.objective for c in team],
            "start_day": pa.array([c.start for c in team], pa.date32()),
            "stop_day": pa.array([c.stop for c in team], pa.date32()),
            "budget": pa.array([c.daily_budget for c in team], pa.decimal128(18, 2)),
        }
    )
    csv.write_csv(table, folder / "campaigns.csv", csv.WriteOptions(quoting_style="needed"))


def _append(table: Path, rows: pa.Table, description: str) -> None:
    write_deltalake(
        str(table),
        rows,
        mode="append",
        partition_by=["landed_on"],
        name=f"raw.{table.name}",
        description=description,
        configuration=_KEEP_EVERY_COMMIT,
        writer_properties=WriterProperties(compression="ZSTD", compression_level=1),
    )


# A plan that was made weeks ago still reads the commit that it froze.
_KEEP_EVERY_COMMIT: Mapping[str, str | None] = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": "interval 3650 days",
}


def _counter(day: Array) -> Array:
    """0, 1, 2 … within each run of equal days of a sorted array."""
    return np.arange(len(day)) - np.searchsorted(day, day)


def _pick(rng: np.random.Generator, shares: list[float], n: int) -> Array:
    """`n` indexes into `shares`, drawn with those probabilities."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges[:-1] / edges[-1], rng.random(n), side="right").astype(np.int8)


def _take(rows: Rows, which: Array) -> Rows:
    return {name: values[which] for name, values in rows.items()}


def _concat(*parts: Rows) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _text(names: list[str], codes: Array) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(codes))


def _campaign_ids(world: _World, index: Array) -> pa.Array:
    return pa.array(np.array([c.id for c in world.campaigns], dtype=np.int32)[index])


def _dates(world: _World, day: Array) -> pa.Array:
    return pa.array((day + world.epoch_day).astype(np.int32)).cast(pa.date32())


def _decimal(units: Array, scale: int) -> pa.Array:
    """Whole units of 10^-scale as DECIMAL(18, scale), without a Python object for each value."""
    words = np.empty((len(units), 2), dtype=np.int64)  # a 128-bit little-endian integer: low word, then the sign
    words[:, 0], words[:, 1] = units, units >> 63
    return pa.Array.from_buffers(pa.decimal128(18, scale), len(units), [None, pa.py_buffer(words)])


def _read_marker(target: Path) -> dict[str, Any]:
    """What the marker says, {} when the target is empty."""
    try:
        found: dict[str, Any] = json.loads((target / MARKER).read_text())
    except FileNotFoundError:
        if any(not f.name.startswith(".") for f in target.iterdir()):
            raise SettingsError(
                f"cannot generate demo data in {target}",
                why=f"the folder is not empty, and no {MARKER} says that its tables are the demo's",
                fix="name an empty folder with --target, or remove what is there",
            ) from None
        return {}
    except ValueError:  # killed while writing it
        return {}
    return found


@contextmanager
def _locked(target: Path) -> Generator[None]:
    """One generator at a time a folder; the lock of a killed process is free."""
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
