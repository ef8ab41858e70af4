"""Which events and conversions happen in the demo's world? Drawn as arrays, delivered late and twice, made tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute

from backfill_assets.demo.campaigns import CHANNELS
from backfill_assets.demo.world import CLOCK, DAY_MS, DEVICES, DUPLICATES, OUTAGES, REGIONS, Array, World

MAX_EVENT_DELAY = 3
"""Days after its own day that an event may land, at most."""


MAX_CONVERSION_DELAY = 14
"""Days after the click's day that a conversion may land, at most."""


Rows = dict[str, Array]


_LATE = 0.004


_LATE_ON_BAD_DAYS = 0.25


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


def draw_events(world: World, rng: np.random.Generator, first: int, end: int) -> Rows:
    """The events of the days [first, end), each once, in the order of their time."""
    counts = np.stack([world.impressions[first:end], world.clicks[first:end]], axis=2)
    team = len(world.campaigns)
    kind = np.repeat(np.arange(counts.size, dtype=np.int32), counts.ravel())
    day = (kind // (2 * team) + first).astype(np.int32)
    campaign = (kind // 2 % team).astype(np.int16)
    channel = world.channel_of[campaign]
    region = _pick(rng, [share for _, share, _ in REGIONS], len(kind))
    millisecond = _time_of_day(rng, day, channel, region)
    order = np.argsort(day * np.int64(DAY_MS) + millisecond, kind="stable")
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
        "device": _pick(rng, [share for _, share in DEVICES], len(day)),
        "landed": np.minimum(day + delay, world.days - 1).astype(np.int32),
    }


def _time_of_day(rng: np.random.Generator, day: Array, channel: Array, region: Array) -> Array:
    """Milliseconds after UTC midnight: the channel's clock in the customer's local time, moved to UTC."""
    millisecond = np.empty(len(day), dtype=np.int64)
    edges = np.arange(25) * (DAY_MS // 24)
    for k, name in enumerate(CHANNELS):
        mine = channel == k
        curve = np.concatenate(([0.0], np.cumsum(CLOCK[name])))
        millisecond[mine] = np.interp(rng.random(int(mine.sum())), curve / curve[-1], edges).astype(np.int64)
    winter = datetime(2024, 1, 1, tzinfo=UTC)
    ahead = [winter.astimezone(ZoneInfo(zone)).utcoffset() or timedelta() for _, _, zone in REGIONS]
    shift = np.array([int(t.total_seconds()) * 1000 for t in ahead], dtype=np.int64)
    millisecond = (millisecond - shift[region]) % DAY_MS
    for at, hour, hours in OUTAGES:
        begin, length = hour * 3_600_000, hours * 3_600_000
        silent = (day == at) & (channel == CHANNELS.index("facebook")) & (millisecond >= begin)
        silent &= millisecond < begin + length
        millisecond[silent] += length  # what still comes, comes after
    return millisecond


def _spend_micros(
    world: World, rng: np.random.Generator, day: Array, campaign: Array, channel: Array, click: Array
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


def draw_conversions(world: World, rng: np.random.Generator, events: Rows) -> Rows:
    """What customers bought after a click, each once; only what happened before the last day was over."""
    rate = np.array([c.conversion_rate for c in world.campaigns])
    clicked = np.flatnonzero(events["click"])
    clicks = take(events, clicked[rng.random(len(clicked)) < rate[events["campaign"][clicked]]])
    n = len(clicks["id"])
    mixture = _pick(rng, [0.55, 0.30, 0.15], n)
    days_later = np.choose(mixture, [rng.exponential(2 / 24, n), rng.random(n) * 3, rng.random(n) * 13])
    second = np.clip(days_later * 86_400, 20, 13 * 86_400 - 1).astype(np.int64)
    converted = (clicks["time"] // 1_000_000 + second) * 1_000_000
    converted_day = converted // (DAY_MS * 1000) - world.epoch_day
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
    rows = take(rows, converted_day < world.days)
    return rows | {"id": world.id_prefix(rows["day"]) + _counter(rows["day"])}


def deliver_twice(rows: Rows, rng: np.random.Generator, last_day: int, max_delay: int) -> tuple[Rows, int]:
    """The rows and a second delivery of some of them, on the same day or the next; and how many."""
    again = rng.random(len(rows["id"])) < DUPLICATES
    again[:1] = True  # however small the demo, somebody trips over one
    copies = take(rows, again)
    n = len(copies["id"])
    landed = copies["landed"] + (rng.random(n) < 0.4)
    copies["landed"] = np.minimum(np.minimum(landed, copies["day"] + max_delay), last_day).astype(np.int32)
    return concat(rows, copies), n


def events_table(world: World, rows: Rows) -> pa.Table:
    columns = [
        pa.array(rows["id"]),
        _text(["impression", "click"], rows["click"].astype(np.int8)),
        pa.array(rows["time"]).cast(pa.timestamp("us", tz="UTC")),
        _campaign_ids(world, rows["campaign"]),
        _text(list(CHANNELS), world.channel_of[rows["campaign"]]),
        _decimal(rows["spend"], 6),
        _text([name for name, _, _ in REGIONS], rows["region"]),
        _text([name for name, _ in DEVICES], rows["device"]),
        _dates(world, rows["landed"]),
    ]
    return pa.Table.from_arrays(columns, schema=_EVENTS_SCHEMA)


def conversions_table(world: World, rows: Rows) -> pa.Table:
    converted = pa.array(rows["converted"]).cast(pa.timestamp("us", tz="UTC"))
    columns = [
        pa.array(rows["id"]),
        pa.array(rows["click"]),
        _campaign_ids(world, rows["campaign"]),
        _text(list(CHANNELS), world.channel_of[rows["campaign"]]),
        pa.array(rows["clicked"]).cast(pa.timestamp("us", tz="UTC")),
        converted,
        _wall_time(converted, rows["region"]),
        _text([zone for _, _, zone in REGIONS], rows["region"]),
        _decimal(rows["cents"], 2),
        pa.array(rows["assisted"]),
        pa.array(rows["view_through"]),
        _dates(world, rows["landed"]),
    ]
    return pa.Table.from_arrays(columns, schema=_CONVERSIONS_SCHEMA)


def _wall_time(instants: pa.Array, region: Array) -> pa.Array:
    """The customer's wall clock as `2024-03-31 03:15:00`, without saying in which zone."""
    text = np.full(len(instants), "", dtype=object)
    for k, (_, _, zone) in enumerate(REGIONS):
        mine = np.flatnonzero(region == k)
        local = _local_timestamp(instants.take(pa.array(mine)).cast(pa.timestamp("us", tz=zone)))
        text[mine] = local.cast(pa.timestamp("s")).cast(pa.string()).to_numpy(zero_copy_only=False)
    return pa.array(text, type=pa.string())


def _local_timestamp(instants: pa.Array) -> pa.Array:
    return pyarrow.compute.call_function("local_timestamp", [instants])


def _counter(day: Array) -> Array:
    """0, 1, 2 … within each run of equal days of a sorted array."""
    return np.arange(len(day)) - np.searchsorted(day, day)


def _pick(rng: np.random.Generator, shares: list[float], n: int) -> Array:
    """`n` indexes into `shares`, drawn with those probabilities."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges[:-1] / edges[-1], rng.random(n), side="right").astype(np.int8)


def take(rows: Rows, which: Array) -> Rows:
    return {name: values[which] for name, values in rows.items()}


def concat(*parts: Rows) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _text(names: list[str], codes: Array) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(codes))


def _campaign_ids(world: World, index: Array) -> pa.Array:
    return pa.array(np.array([c.id for c in world.campaigns], dtype=np.int32)[index])


def _dates(world: World, day: Array) -> pa.Array:
    return pa.array((day + world.epoch_day).astype(np.int32)).cast(pa.date32())


def _decimal(units: Array, scale: int) -> pa.Array:
    """Whole units of 10^-scale as DECIMAL(18, scale), without a Python object for each value."""
    words = np.empty((len(units), 2), dtype=np.int64)  # a 128-bit little-endian integer: low word, then the sign
    words[:, 0], words[:, 1] = units, units >> 63
    return pa.Array.from_buffers(pa.decimal128(18, scale), len(units), [None, pa.py_buffer(words)])
