"""Which campaigns does the demo's marketing team run? 66 of them: some always on, some for a season."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

CHANNELS = ("google_ads", "facebook", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """One campaign, in one channel. `stop` is its last day, None while it runs. Money is in EUR.

    `daily_budget` is also its weight in the channel; `click_price` is what a paid click costs (google_ads, facebook),
    `send_price` what one delivered email costs. Rates are probabilities: of a click after an impression, and of a
    conversion after a click.
    """

    id: int
    name: str
    channel: str
    objective: str
    start: date
    stop: date | None
    daily_budget: Decimal
    click_price: float
    send_price: float
    click_rate: float
    conversion_rate: float


def campaigns() -> tuple[Campaign, ...]:
    """All campaigns, by id: 101… google_ads, 201… facebook, 301… email. At least six a channel run on every day.

    >>> len(campaigns()), len({c.name for c in campaigns()})
    (66, 66)
    """
    found: list[Campaign] = []
    for number, channel in enumerate(CHANNELS):
        suffix, click_price, click_rate, conversion_rate, budget = _CHANNEL[channel]
        lines = [(n, o, date(2023, 3, 1 + 4 * i), None, w) for i, (n, o, w) in enumerate(_ALWAYS_ON[channel])]
        lines += [(f"{n} - {suffix}", o, start, stop, w) for n, o, start, stop, w in _SEASONS]
        for i, (name, objective, start, stop, weight) in enumerate(lines):
            spread = 0.75 + 0.5 * ((i * 7 + number * 3) % 11) / 10  # 0.75 … 1.25, different for each, no randomness
            found.append(
                Campaign(
                    id=(number + 1) * 100 + i + 1,
                    name=name,
                    channel=channel,
                    objective=objective,
                    start=start,
                    stop=stop,
                    daily_budget=Decimal(round(budget * weight)).quantize(Decimal("0.01")),
                    click_price=round(click_price * spread * (1.3 if objective == "leads" else 1.0), 2),
                    send_price=0.0012 if channel == "email" else 0.0,
                    click_rate=round(click_rate * (1.9 - 0.9 * spread), 4),
                    conversion_rate=round(conversion_rate * spread * _OBJECTIVE[objective], 4),
                )
            )
    return tuple(found)


# suffix of seasonal names, price of a click, click rate, conversion rate, daily budget of a campaign of weight 1
_CHANNEL = {
    "google_ads": ("Search", 2.60, 0.090, 0.110, 900),
    "facebook": ("Social", 1.70, 0.080, 0.080, 700),
    "email": ("Newsletter", 0.0, 0.060, 0.090, 60),
}

_OBJECTIVE = {"sales": 1.0, "leads": 0.7, "awareness": 0.35, "retention": 1.2}

_ALWAYS_ON = {
    "google_ads": (
        ("Brand Search", "sales", 3.0),
        ("Generic Search", "sales", 2.2),
        ("Shopping Feed", "sales", 1.8),
        ("Performance Max", "sales", 1.3),
        ("Competitor Search", "leads", 0.5),
        ("Video Remarketing", "awareness", 0.7),
    ),
    "facebook": (
        ("Lookalike Prospecting", "awareness", 2.4),
        ("Catalogue Retargeting", "sales", 1.9),
        ("Stories", "sales", 1.2),
        ("Video Views", "awareness", 0.9),
        ("Lead Forms", "leads", 0.6),
        ("App Installs", "leads", 0.4),
    ),
    "email": (
        ("Weekly Digest", "retention", 2.6),
        ("Welcome Series", "sales", 1.1),
        ("Cart Reminder", "sales", 1.4),
        ("Win-back", "retention", 0.6),
        ("Loyalty Points", "retention", 0.9),
        ("Product Tips", "awareness", 0.5),
    ),
}

_SEASONS = (
    ("New Year Sale 2024", "sales", date(2024, 1, 1), date(2024, 1, 21), 1.6),
    ("Valentine 2024", "sales", date(2024, 2, 1), date(2024, 2, 15), 0.8),
    ("Spring Launch 2024", "awareness", date(2024, 3, 4), date(2024, 5, 12), 1.0),
    ("Easter 2024", "sales", date(2024, 3, 22), date(2024, 4, 2), 0.7),
    ("Mother's Day 2024", "sales", date(2024, 4, 29), date(2024, 5, 12), 0.9),
    ("Summer Sale 2024", "sales", date(2024, 6, 17), date(2024, 7, 31), 1.4),
    ("Back to School 2024", "sales", date(2024, 8, 5), date(2024, 9, 15), 1.0),
    ("Autumn Outdoor 2024", "awareness", date(2024, 9, 9), date(2024, 11, 3), 0.8),
    ("Black Friday 2024", "sales", date(2024, 11, 18), date(2024, 12, 2), 2.8),
    ("Christmas 2024", "sales", date(2024, 11, 25), date(2024, 12, 24), 1.8),
    ("New Year Sale 2025", "sales", date(2024, 12, 27), date(2025, 1, 19), 1.7),
    ("Valentine 2025", "sales", date(2025, 2, 1), date(2025, 2, 15), 0.8),
    ("Spring Launch 2025", "awareness", date(2025, 3, 3), date(2025, 5, 11), 1.1),
    ("Easter 2025", "sales", date(2025, 4, 7), date(2025, 4, 21), 0.7),
    ("Mother's Day 2025", "sales", date(2025, 4, 28), date(2025, 5, 11), 0.9),
    ("Summer Preview 2025", "leads", date(2025, 6, 2), date(2025, 7, 15), 1.2),
)
