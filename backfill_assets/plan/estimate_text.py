"""How are an estimate, what it took and what it saves said in a sentence?"""

from __future__ import annotations

from collections.abc import Callable

from backfill_assets.core.wording import amount, first_few
from backfill_assets.plan.actual import Actual
from backfill_assets.plan.estimate import PlanEstimate

_SHORT = 2.0
"""Seconds that nobody waits for: so far off an estimate is not judged."""


def comparison(before: PlanEstimate, after: Actual) -> str:
    """The estimate against what it really took, in one sentence; what was not estimated is not judged. Opening Spark,
    which no estimate knows, is said beside."""
    opening = f" Before its first batch, opening Spark took {duration(after.opening, after.opening)}."
    return _against(before, after) + (opening if after.opening >= 1 and after.seconds else "")


def _against(before: PlanEstimate, after: Actual) -> str:
    if not after.seconds and any(s.count < s.planned for s in after.stages):
        return "Nothing of it was built."
    took = f"Took {duration(after.seconds, after.seconds)}"
    if before.price and after.cost is not None:
        took += f" and {money(before.price.currency, after.cost, after.cost)}"
    guess = before.total.seconds
    if guess is None:
        return f"{took}; there was no estimate."
    said = duration(guess.low, guess.high)
    if before.total.cost and before.price:
        said += f" and {money(before.price.currency, before.total.cost.low, before.total.cost.high)}"
    undone = [
        f"{s.count:,} of {amount(s.planned, s.cadence)} of {s.model}" for s in after.stages if s.count < s.planned
    ]
    if undone:
        return f"{took} for {', '.join(undone)}; estimated {said} for all."
    if before.unknown:
        return f"{took}; estimated {said} without {', '.join(before.unknown)}."
    as_said = duration(after.seconds, after.seconds) in {duration(s, s) for s in (guess.low, guess.high)}
    off = 0.0 if as_said else max(guess.low - after.seconds, after.seconds - guess.high)
    if 0 < off < _SHORT:
        return f"{took}; estimated {said}."
    if off > 0 and after.seconds < guess.low:
        return f"{took}, less than the estimated {said}."
    if off > 0:
        times = f", {after.seconds / guess.likely:.1f} times" if guess.likely else ""
        more = f"{times} the likeliest {duration(guess.likely, guess.likely)}" if times else ""
        return f"{took}, more than the estimated {said}{more}."
    return f"{took}, as estimated ({said})."


def saving(guess: PlanEstimate, took: Actual | None = None) -> str:
    """What building everything again would take, and what of that this way saves (so far as it `took`, where that is
    known), in one sentence; "" where building everything is no more work, or nobody knows."""
    if guess.whole is None or guess.whole.total.seconds is None:
        return ""
    everything, cost, price = guess.whole.total.seconds, guess.whole.total.cost, guess.price
    names = first_few(f"{amount(s.count, s.cadence)} of {s.model}" for s in guess.whole.stages)
    said = duration(everything.low, everything.high)
    likely = guess.total.seconds.likely if guess.total.seconds else 0.0
    if took and took.seconds > everything.high:
        return f"Rebuilding everything ({names}) was estimated at {said}, which is less than this took."
    seconds = everything.likely - (took.seconds if took else likely)
    if seconds < 0.01 * everything.likely:
        return f"Rebuilding everything ({names}) would take about as long, {said}."
    saved = duration(seconds, seconds)
    if price and cost:
        less = seconds * price.per_hour / 3600
        said += f" and {money(price.currency, cost.low, cost.high)}"
        saved += f" and {money(price.currency, less, less)}"
    part = seconds / everything.likely
    return f"Rebuilding everything ({names}) would take {said}: this saves about {saved}, {part:.0%}."


def duration(low: float, high: float) -> str:
    """A range of seconds, in the unit that suits the higher.

    >>> duration(44.6, 70), duration(170, 300), duration(5400, 9000), duration(2.2, 2.24)
    ('45–70 s', '2.8–5 min', '1.5–2.5 h', '2.2 s')
    """
    unit, size = ("s", 1) if high < 120 else ("min", 60) if high < 7200 else ("h", 3600)
    return f"{_between(low / size, high / size, _short)} {unit}"


def money(currency: str, low: float, high: float) -> str:
    """A range of money; what is less than a hundredth is not told apart.

    >>> money("EUR", 0.002, 0.004), money("USD", 0.5, 1234)
    ('under EUR 0.01', 'USD 0.50–1,234.00')
    """
    return f"under {currency} 0.01" if high < 0.01 else f"{currency} {_between(low, high, '{:,.2f}'.format)}"


def _between(low: float, high: float, show: Callable[[float], str]) -> str:
    first, last = show(low), show(high)
    return first if first == last else f"{first}–{last}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")
