"""What is the demo's world like? Its regions, devices, weeks, holidays and outages, and how campaigns fare in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backfill_assets.demo.campaigns import CHANNELS, Campaign, campaigns

Array = NDArray[Any]


DAY_MS = 86_400_000


DUPLICATES = 0.007


_CHUNK_ROWS = 1_500_000


_CHUNK_DAYS = 60


# region, share of the audience, IANA zone of its customers
REGIONS = (
    ("de", 0.34, "Europe/Berlin"),
    ("fr", 0.16, "Europe/Paris"),
    ("uk", 0.17, "Europe/London"),
    ("us_east", 0.21, "America/New_York"),
    ("us_west", 0.12, "America/Los_Angeles"),
)


DEVICES = (("mobile", 0.62), ("desktop", 0.31), ("tablet", 0.07))


# Monday … Sunday
_WEEK = {
    "google_ads": (1.10, 1.08, 1.05, 1.03, 0.98, 0.85, 0.91),
    "facebook": (0.94, 0.93, 0.95, 0.98, 1.02, 1.11, 1.07),
    "email": (0.90, 1.65, 1.05, 1.60, 0.85, 0.45, 0.50),
}


_SHARE = {"google_ads": 0.45, "facebook": 0.35, "email": 0.20}


# local hours 0 … 23
CLOCK = {
    "google_ads": (2, 1, 1, 1, 1, 2, 3, 5, 8, 10, 11, 11, 9, 9, 9, 9, 8, 8, 9, 10, 11, 10, 7, 4),
    "facebook": (3, 2, 1, 1, 1, 2, 4, 6, 6, 5, 5, 6, 7, 6, 5, 5, 6, 8, 10, 12, 13, 12, 9, 5),
    "email": (1, 1, 0.5, 0.5, 1, 3, 9, 15, 18, 14, 9, 7, 8, 6, 5, 4, 4, 5, 6, 6, 5, 4, 2, 1),
}


# (days after the start, first silent UTC hour, silent hours): when facebook delivered nothing
OUTAGES = ((137, 13, 5), (402, 9, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
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
    def build(cls, *, events: int, seed: int, days: int, start: date) -> World:
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
        for at, _, hours in OUTAGES:
            if at < days:
                weight[at, channel_of == CHANNELS.index("facebook")] *= 1 - hours / 24
        click_rate = np.array([c.click_rate for c in team]) * rng.lognormal(0, 0.06, weight.shape)
        size = events / (1 + DUPLICATES) / (weight * (1 + click_rate)).sum()
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
        return (day.astype(np.int64) + self.epoch_day) * (DAY_MS * 1000)

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
