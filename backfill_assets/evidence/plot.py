"""How does old against new look? Small line charts and bars of time as inline SVG; colours come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape

from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.evidence.formatting import MONTHS, day, number
from backfill_assets.evidence.value_changes import Numbers, Series

WIDTH, LEFT, RIGHT, TOP = 420, 46, 8, 8
MAIN, GAP, BELOW = 112, 14, 44
"""Heights of the chart, of what is between, and of the strip of differences."""
WIDEST = 12
"""Of the bars in that strip."""
FLAT = 1e-9
"""Relative to the largest value: what is less is no difference."""


def chart(series: Series) -> str:
    """Both lines, and below them the difference of each interval where there is any."""
    starts = [utc(s) for s in series.starts]
    smooth = _smooth(len(starts))
    old, new = _averaged(series.old, smooth), _averaged(series.new, smooth)
    values = [v for v in (*old, *new) if v is not None]
    if not values:
        return ""
    low, high = min(values), max(values)
    if series.measure != "average":
        low = min(low, 0.0)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    delta = _differences(series)
    moves = any(delta)
    height = TOP + MAIN + (GAP + BELOW if moves else 0) + 20
    x = [LEFT + (WIDTH - LEFT - RIGHT) * n / max(len(starts) - 1, 1) for n in range(len(starts))]

    def y(value: float) -> float:
        return TOP + MAIN - MAIN * (value - low) / (high - low or 1)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label(series))}">',
        *(_grid(y(t), number(t)) for t in ticks),
        *_months(starts, x, TOP + MAIN, height - 20),
        *(f'<path class="new" d="{path}"/>' for path in _paths(x, new, y)),
        *(f'<path class="old" d="{path}"/>' for path in _paths(x, old, y)),
    ]
    if moves:
        parts += _strip(x, delta, TOP + MAIN + GAP)
    return "".join([*parts, "</svg>"])


def title(series: Series) -> str:
    """What a chart shows."""
    match series.measure:
        case "rows":
            return "Number of rows"
        case "total":
            return f"{series.name}, total"
        case "average":
            return f"{series.name}, average of the rows"


def note(series: Series) -> str:
    """How it is drawn, where that is not plain to see."""
    smooth = _smooth(len(series.starts))
    return f"each point is the average of {smooth}" if smooth > 1 else ""


def label(series: Series) -> str:
    """What a chart shows, for who cannot see it."""
    return f"{title(series)}, before and after, {day(utc(series.starts[0]))} to {day(utc(series.starts[-1]))}"


def band(whole: Interval, parts: Sequence[tuple[str, Ranges]]) -> str:
    """A bar of time with coloured parts: (CSS class, ranges)."""
    wide = (whole.end - whole.start).total_seconds()

    def at(instant: datetime) -> float:
        return WIDTH * (instant - whole.start).total_seconds() / wide

    bars = "".join(
        f'<rect class="{name}" x="{at(i.start):.2f}" width="{max(at(i.end) - at(i.start), 1.5):.2f}" height="14"/>'
        for name, some in parts
        for i in some & Ranges((whole,))
    )
    return f'<svg class="band" viewBox="0 0 {WIDTH} 14" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'


def _smooth(many: int) -> int:
    """Over how many neighbours a line is averaged, so that a long one can be read; the differences are not."""
    return 1 if many <= 120 else 7 if many <= 1500 else 30


def _averaged(values: Numbers, over: int) -> Numbers:
    """Each value's average with its neighbours; a hole stays a hole.

    >>> _averaged((1.0, 2.0, 6.0, None), 3)
    (1.5, 3.0, 4.0, None)
    """
    if over == 1:
        return values
    found: list[float | None] = []
    for n, value in enumerate(values):
        near = [v for v in values[max(n - over // 2, 0) : n + over // 2 + 1] if v is not None]
        found.append(None if value is None else sum(near) / len(near))
    return tuple(found)


def _differences(series: Series) -> list[float]:
    if series.fresh:
        return [0.0] * len(series.starts)
    scale = max((abs(v) for v in (*series.old, *series.new) if v is not None), default=0.0)
    delta = [
        (n or 0) - (o or 0) if n is not None or o is not None else 0
        for o, n in zip(series.old, series.new, strict=True)
    ]
    return [d if abs(d) > scale * FLAT else 0.0 for d in delta]


def _paths(x: Sequence[float], values: Numbers, y: object) -> Iterator[str]:
    """A path for each run of values without a hole; a lone value is a short dash."""
    assert callable(y)
    run: list[str] = []
    for here, value in zip([*x, 0.0], [*values, None], strict=True):
        if value is not None:
            run.append(f"{here:.1f},{y(value):.1f}")
        elif run:
            yield "M" + "L".join(run) + ("h1.5" if len(run) == 1 else "")
            run = []


def _strip(x: Sequence[float], delta: Sequence[float], top: float) -> list[str]:
    most = max(map(abs, delta))
    zero = top + BELOW / 2
    bar = min(max((x[-1] - x[0]) / max(len(x) - 1, 1) * 0.8, 0.6), WIDEST)
    parts = [
        f'<text class="axis" x="{LEFT - 4}" y="{zero - BELOW / 2 + 8:.1f}">+{number(most)}</text>',
        f'<text class="axis" x="{LEFT - 4}" y="{zero + BELOW / 2:.1f}">−{number(most)}</text>',
        f'<path class="zero" d="M{LEFT},{zero:.1f}H{WIDTH - RIGHT}"/>',
    ]
    for here, d in zip(x, delta, strict=True):
        if d:
            size = BELOW / 2 * abs(d) / most
            y = zero - size if d > 0 else zero
            name = "more" if d > 0 else "less"
            left = min(max(here - bar / 2, LEFT), WIDTH - RIGHT - bar)
            parts.append(f'<rect class="{name}" x="{left:.1f}" y="{y:.1f}" width="{bar:.1f}" height="{size:.1f}"/>')
    return parts


def _grid(y: float, text: str) -> str:
    return (
        f'<path class="grid" d="M{LEFT},{y:.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="axis" x="{LEFT - 4}" y="{y + 3:.1f}">{text}</text>'
    )


def _months(starts: Sequence[datetime], x: Sequence[float], bottom: float, foot: float) -> Iterator[str]:
    """At most five labels: months where the series is long, days where it is short."""
    short = (starts[-1] - starts[0]).days < 62
    marks = [
        (here, at)
        for n, (here, at) in enumerate(zip(x, starts, strict=True))
        if short or n == 0 or at.month != starts[n - 1].month
    ]
    step = max(math.ceil(len(marks) / 5), 1)
    for here, at in marks[::step]:
        name = MONTHS[at.month - 1][:3]
        text = f"{at.day} {name}" if short else f"{name} {at.year}"
        anchor = "start" if here < LEFT + 20 else "end" if here > WIDTH - 40 else "middle"
        yield f'<path class="tick" d="M{here:.1f},{bottom}v3"/>'
        yield f'<text class="date" text-anchor="{anchor}" x="{here:.1f}" y="{foot + 14}">{text}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Three or four round numbers from the lowest value to the highest."""
    if high - low <= max(abs(low), abs(high), 1e-3) * FLAT:
        high = low + (abs(low) if abs(low) > 1e-3 else 1)
    raw = (high - low) / 3
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * f for f in (1, 2, 2.5, 5, 10) if unit * f >= raw * 0.999)
    first = math.floor(low / step)
    return [round((first + n) * step, 12) for n in range(math.ceil(high / step - 1e-9) - first + 1)]
