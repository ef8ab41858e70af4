"""Does the command that a notice prints mean what the notice is about?"""

from __future__ import annotations

import pytest

from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.request_parsing import days_of


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ("2024-03-01T05:00", "2024-03-01T07:00", "m:2024-03-01T05:00..2024-03-01T06:00"),
        ("2024-03-01T05:00", "2024-03-01T06:00", "m:2024-03-01T05:00"),
        ("2024-03-01T05:00", "2024-03-02", "m:2024-03-01T05:00..2024-03-01T23:00"),
        ("2024-03-01", "2024-03-02", "m:2024-03-01"),
        ("2024-03-01", "2024-03-04", "m:2024-03-01..2024-03-03"),
        ("2024-02-01", "2024-03-01", "m:2024-02-01..2024-02-29"),
    ],
)
def test_what_restate_takes(start: str, end: str, text: str) -> None:
    """The CLI reads the same interval back, of any cadence; it is what screens say."""
    interval = Interval.of(start, end)
    assert restate_argument("m", Ranges((interval,))) == (text,)
    assert days_of(text) == days_of(f"m:{interval}") == ("m", interval)


def test_many_in_one_command() -> None:
    """All in one plan."""
    assert restate_command(("a:2024-03-01", "b:2024-03-01..2024-03-03")) == (
        "backfill apply --restate a:2024-03-01 --restate b:2024-03-01..2024-03-03"
    )


@pytest.mark.parametrize(
    ("text", "why", "model"),
    [
        ("cust_day", "no day", "cust_day"),
        ("cust_day:", "no day", "cust_day"),
        ("cust_day:2024-13-01", "days are written 2024-03-01", "cust_day"),
        ("cust_day=2024-01-03", "no day", "cust_day"),
        (":2024-01-03", "no model", "campaign_performance"),
        ("2024-01-03", "no day", "campaign_performance"),
    ],
)
def test_what_is_no_range_is_told_with_the_models_own_name(text: str, why: str, model: str) -> None:
    """And not in Python's words, which speak of an isoformat string."""
    with pytest.raises(UsageError) as raised:
        days_of(text)
    assert f"({why}" in raised.value.why and "isoformat" not in raised.value.why
    assert raised.value.fix == f"write {model}:2024-03-01..2024-03-04"
