"""When does an interval count as over? Held against a search through every minute."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.cron import check_cron, over_from, over_until
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.core.model import Model
from backfill_assets.core.readiness import with_readiness
from backfill_assets_tests.fakes import a_model

FIRST, DAYS = utc("2024-02-20"), 40


@st.composite
def simple_crons(draw: st.DrawFn) -> tuple[str, list[datetime]]:
    """An expression of numbers and stars, and all its ticks in forty days, found minute by minute."""

    def field(low: int, high: int) -> tuple[str, set[int]]:
        some = draw(st.sets(st.integers(low, high), max_size=3))
        return ",".join(map(str, sorted(some))) or "*", some or set(range(low, high + 1))

    (m, minutes), (h, hours), (d, week) = field(0, 59), field(0, 23), field(0, 6)
    dates = (FIRST + timedelta(days=n) for n in range(DAYS))
    hits = [
        date + timedelta(hours=hour, minutes=minute)
        for date in dates
        if date.isoweekday() % 7 in week
        for hour in hours
        for minute in minutes
    ]
    return f"{m} {h} * * {d}", hits


@given(simple_crons(), st.integers(10 * 24 * 60, 30 * 24 * 60), st.integers(0, 59))
def test_ticks_are_those_of_every_minute(cron: tuple[str, list[datetime]], minute: int, second: int) -> None:
    """The last tick by an instant and the first from one on, the instant's own minute included."""
    text, ticks = cron
    now = FIRST + timedelta(minutes=minute, seconds=second)
    assert over_until([text], now) == max(t for t in ticks if t <= now)
    end = FIRST + timedelta(minutes=minute)
    assert over_from([text], end) == min(t for t in ticks if t >= end)


@given(st.lists(simple_crons(), max_size=2), st.sampled_from(list(Cadence)), st.integers(9 * 24 * 60, 30 * 24 * 60))
def test_an_interval_is_over_from_its_first_tick_on(
    crons: list[tuple[str, list[datetime]]], cadence: Cadence, minute: int
) -> None:
    """Of a model with any expressions: the intervals up to `over` are those whose `over_from` has come."""
    own = [text for text, _ in crons]
    model = a_model("m", cadence=cadence, ready=own[0] if own else "", upstream_ready=tuple(own[1:]))
    now, unit = FIRST + timedelta(minutes=minute), model.cadence.floor(FIRST)
    while unit <= now:
        unit = cadence.shift(unit, 1)
        assert (unit <= model.over(now)) == (model.over_from(unit) <= now)


def test_a_model_waits_for_what_its_upstreams_wait_for() -> None:
    """The expressions of all that it reads count for it, however far up they are."""
    models = [a_model("a", ready="0 6 * * *"), a_model("b", "a"), a_model("c", "b", "raw", ready="0 4 * * *")]
    found = with_readiness({m.name: m for m in models})
    assert found["a"] is models[0]
    assert (found["b"].crons, found["c"].crons) == (("0 6 * * *",), ("0 4 * * *", "0 6 * * *"))
    five = utc("2024-01-05T05:00")
    assert {str(m.over(five).date()) for m in found.values()} == {"2024-01-04"}
    assert found["c"].over(utc("2024-01-05T06:00")) == utc("2024-01-05")


def test_rare_ticks() -> None:
    """The third day of a month, the end of February, and a leap day: intervals wait for them."""
    assert over_until(["0 0 3 * *"], utc("2024-03-02T23:59")) == utc("2024-02-03")
    assert over_until(["0 0 L 2 *"], utc("2024-03-01")) == utc("2024-02-29")
    assert over_from(["0 0 29 2 *"], utc("2024-03-01")) == utc("2028-02-29")


@pytest.mark.parametrize("text", ["0 6 * * *", "*/15 0-5 1,15 * *", "0 6 * * mon-fri", "0 6 L * *", "5 4 * jan-mar 7"])
def test_expressions_as_cron_knows_them(text: str) -> None:
    assert check_cron(f" {text.replace(' ', '  ')} ") == text.upper()


@pytest.mark.parametrize("text", ["0 6 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *", "0 0 30 feb *"])
def test_days_that_never_come(text: str) -> None:
    with pytest.raises(ValueError, match="it never ticks: there is no such day"):
        check_cron(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not the five fields"),
        ("@daily", "not the five fields"),
        ("0 0 6 * * *", "not the five fields"),
        ("6:00", "not the five fields"),
        ("60 6 * * *", "bad minute"),
        ("0 24 * * *", "bad hour"),
        ("0 6 0 * *", "bad day-of-month"),
        ("0 6 * 13 *", "bad month"),
        ("0 6 * * 8", "bad day-of-week"),
        ("0 6 32 2 *", "bad day-of-month"),
        ("0 6 * * mo", "bad day-of-week"),
        ("*/0 6 * * *", "bad minute"),
        ("5-1 6 * * *", "bad minute"),
        ("0 6 * * " + "1," * 60, "not the five fields"),
    ],
)
def test_what_is_no_expression(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_cron(text)


@given(st.text(alphabet="0123456789*/,-L#W ?", max_size=30) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text ends in another error, and what is read ticks."""
    try:
        found = check_cron(text)
    except ValueError:
        return
    assert over_until([found], over_from([found], FIRST)) == over_from([found], FIRST)


@st.composite
def readers(draw: st.DrawFn) -> list[Model]:
    """Models of any cadences, each reading some of those before it; one in a while has an end."""
    cadences = draw(st.lists(st.sampled_from(list(Cadence)), min_size=1, max_size=6))
    made: list[Model] = []
    for number, cadence in enumerate(cadences):
        above = draw(st.sets(st.sampled_from([m.name for m in made]))) if made else set[str]()
        end = utc("2024-01-01") if draw(st.integers(0, 4)) == 0 else None
        made.append(a_model(f"m{number}", *sorted(above), cadence=cadence, start=utc("2023-01-01"), end=end))
    return made


@given(readers(), st.integers(0, 60 * 24))
def test_nothing_is_over_before_what_it_reads(models: list[Model], hour: int) -> None:
    """An interval is over when all that it reads is, told model by model; what has an end is not waited for."""
    now, told = utc("2024-01-20") + timedelta(hours=hour), dict[str, datetime]()
    for name, model in with_readiness({m.name: m for m in models}).items():
        above = [told[u.name] for u in model.upstreams if not next(m for m in models if m.name == u.name).end]
        told[name] = model.cadence.floor(min([now, *above]))
        assert model.over(now) == told[name]
        assert model.over_from(told[name]) <= now < model.over_from(model.cadence.shift(told[name], 1))


def test_a_local_day_waits_for_its_week_which_waits_for_days_of_utc() -> None:
    """A week of New York ends on Monday at five, in a day of UTC that ends at midnight."""
    zone = {"time_zone": "America/New_York"}
    models = [a_model("d", "raw"), a_model("w", "d", cadence=Cadence.WEEKLY, **zone), a_model("l", "w", **zone)]
    found, noon = with_readiness({m.name: m for m in models}), utc("2025-02-03T12:00")
    assert found["w"].over(noon) == found["l"].over(noon) == utc("2025-01-27")
    night = found["w"].over_from(utc("2025-02-03"))
    assert found["l"].over_from(utc("2025-01-28")) == night == utc("2025-02-04")
    assert found["l"].over(night) == utc("2025-02-03")
