"""How does a difference look by column and day? Strips of cells and spreads of values, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from backfill_assets.core.escaping import visible
from backfill_assets.evidence.formatting import number

CELLS = 720
"""How wide a strip is, in its own units."""
NAMED = 62
"""With so many days, or fewer, each cell says which one it is of."""
_SHADES = ((0.0, "q0"), (0.001, "q1"), (0.01, "q2"), (0.1, "q3"), (0.5, "q4"))
SCALE = (
    ("q0", "none"), ("q1", "some"), ("q2", "from 0.1 %"), ("q3", "from 1 %"), ("q4", "from 10 %"),
    ("q5", "more than half"),
)  # fmt: skip
"""Classes of cells, and which share of a day's rows they stand for."""


def shade(share: float) -> str:
    """The class of a cell, of which such a share of the rows is another one.

    >>> shade(0), shade(0.0001), shade(0.001), shade(0.3), shade(1)
    ('q0', 'q1', 'q2', 'q4', 'q5')
    """
    if not share:
        return "q0"
    return next((name for least, name in _SHADES[1:] if share < least), "q5")


def strip(names: Sequence[str], shares: Sequence[float], label: str) -> str:
    """A cell a day, stronger where more of its rows differ; neighbours of one shade are one rectangle."""
    wide = CELLS / max(len(names), 1)
    gap = min(1.0, wide * 0.15)
    parts = [f'<svg class="strip" viewBox="0 0 {CELLS} 16" preserveAspectRatio="none" role="img" '
             f'aria-label="{_text(label)}">']  # fmt: skip
    cells = [(n, shade(share)) for n, share in enumerate(shares)]
    if len(names) <= NAMED:
        for n, kind in cells:
            title = f"{names[n]}: {_percent(shares[n])} of the rows"
            parts.append(
                f'<rect class="{kind}" x="{n * wide:.2f}" width="{wide - gap:.2f}" height="16">'
                f"<title>{_text(title)}</title></rect>"
            )
    else:
        for kind, run in groupby(cells, key=lambda cell: cell[1]):
            here = list(run)
            parts.append(
                f'<rect class="{kind}" x="{here[0][0] * wide:.2f}" width="{len(here) * wide:.2f}" height="16"/>'
            )
    return "".join([*parts, "</svg>"])


def spread(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """From the least to the greatest value on either side, with the median and the 95th percentile; "" where there
    are no numbers."""
    sides = [(name, _numbers(side)) for name, side in (("old", old), ("new", new))]
    values = [v for _, side in sides for v in side.values()]
    if len(values) < 2 or min(values) == max(values):
        return ""
    low, high = min(values), max(values)

    def at(value: float) -> float:
        return 46 + 328 * (value - low) / (high - low)

    parts = ['<svg class="spread" viewBox="0 0 420 58" role="img" aria-label="Spread of the values, before and after">']
    for row, (name, side) in enumerate(sides):
        y = 13 + row * 18
        parts.append(f'<text class="side" x="0" y="{y + 3}">{"before" if name == "old" else "after"}</text>')
        if "min" in side and "max" in side:
            parts.append(f'<path class="{name}" d="M{at(side["min"]):.1f},{y}H{at(side["max"]):.1f}"/>')
        for mark, size in (("min", 2.5), ("p50", 4.5), ("p95", 3.5), ("max", 2.5)):
            if mark in side:
                title = f"{_MARKS[mark]} {number(side[mark])}"
                parts.append(
                    f'<circle class="{name}" cx="{at(side[mark]):.1f}" cy="{y}" r="{size}">'
                    f"<title>{_text(title)}</title></circle>"
                )
    parts.append(f'<text class="axis from" x="46" y="54">{_text(number(low))}</text>')
    parts.append(f'<text class="axis" x="374" y="54">{_text(number(high))}</text>')
    return "".join([*parts, "</svg>"])


def histogram(edges: Sequence[float], old: Sequence[int], new: Sequence[int]) -> str:
    """Rows by value, before beside after; the outermost bars are all that is beyond. Counts are as `Distribution`
    has them: one more than there are edges."""
    most = max((*old, *new), default=0)
    if not most or len(edges) < 2:
        return ""
    wide = (420 - 2 * _ASIDE) / (len(edges) - 1)
    parts = ['<svg class="histogram" viewBox="0 0 420 104" role="img" aria-label="Rows by value, before and after">']
    for n, counts in enumerate(zip(old, new, strict=True)):
        tail = n in (0, len(edges))
        left = 0.0 if n == 0 else _ASIDE + (n - 1) * wide + (_APART if n == len(edges) else 0)
        room = _ASIDE - _APART if tail else wide
        for place, (side, rows) in enumerate(zip(("old", "new"), counts, strict=True)):
            size = 80 * rows / most
            parts.append(
                f'<rect class="{side}" x="{left + room * (0.06 + 0.44 * place):.1f}" y="{82 - size:.1f}" '
                f'width="{room * 0.42:.1f}" height="{size:.1f}"/>'
            )
        said = f"{_bin(edges, n)}: {number(counts[0])} → {number(counts[1])} rows"
        parts.append(
            f'<rect class="over" x="{left:.1f}" width="{room:.1f}" height="82"><title>{_text(said)}</title></rect>'
        )
    parts.append('<path class="zero" d="M0,82H420"/>')
    parts.append(f'<text class="axis from" x="{_ASIDE}" y="97">{_text(number(edges[0]))}</text>')
    parts.append(f'<text class="axis" x="{420 - _ASIDE}" y="97">{_text(number(edges[-1]))}</text>')
    return "".join([*parts, "</svg>"])


_ASIDE, _APART = 26, 8
"""Room for the rows beyond each end of a histogram, and what sets it off."""


def _bin(edges: Sequence[float], n: int) -> str:
    if n == 0:
        return f"below {number(edges[0])}"
    return f"{number(edges[n - 1])} and more" if n == len(edges) else f"{number(edges[n - 1])} to {number(edges[n])}"


_MARKS = {"min": "least", "p50": "median", "p95": "95 % are below", "max": "greatest"}


def _numbers(side: Mapping[str, Any] | None) -> dict[str, float]:
    return dict(_finite(side)) if side else {}


def _finite(side: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name in ("min", "p50", "p95", "max"):
        try:
            value = float(side.get(name))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        if math.isfinite(value):
            yield name, value


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _text(text: str) -> str:
    return escape(visible(text))
