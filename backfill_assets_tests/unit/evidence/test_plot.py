"""Charts are drawn inside their frame whatever the numbers are, and show differences only where there are some."""

from __future__ import annotations

import re
from datetime import timedelta
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import utc
from backfill_assets.evidence.plot import FLAT, WIDTH, chart, label, note
from backfill_assets.evidence.value_changes import Measure, Series

VALUES = st.none() | st.floats(-1e12, 1e12) | st.integers(-5, 5).map(float)


def a_series(old: list[float | None], new: list[float | None], measure: Measure = "total") -> Series:
    starts = tuple((utc("2024-01-01") + timedelta(days=n)).isoformat() for n in range(len(old)))
    return Series(name="a<b", measure=measure, starts=starts, old=tuple(old), new=tuple(new))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=200), st.sampled_from(["rows", "total", "average"]))
def test_everything_is_inside_the_frame(pairs: list[tuple[float | None, float | None]], measure: Measure) -> None:
    """Valid XML, and no point or bar outside of the view box."""
    series = a_series([o for o, _ in pairs], [n for _, n in pairs], measure)
    svg = chart(series)
    if not svg:
        assert all(o is None and n is None for o, n in pairs)
        return
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for bar in root.iter("rect"):
        x, y, w, h = (float(bar.attrib[k]) for k in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width + 0.1 and y >= 0 and y + h <= height + 0.1
    for line in root.iter("path"):
        if line.attrib["class"] in ("old", "new"):
            for px, py in re.findall(r"(-?[\d.]+),(-?[\d.]+)", line.attrib["d"]):
                assert 0 <= float(px) <= WIDTH and 0 <= float(py) <= height


@given(st.lists(VALUES, min_size=2, max_size=50))
def test_the_same_has_no_differences(values: list[float | None]) -> None:
    """Equal sides have no strip of differences."""
    assert 'class="more"' not in chart(a_series(values, values)) and 'class="less"' not in chart(
        a_series(values, values)
    )


def test_one_other_day_is_seen_among_many() -> None:
    """Lines of long series are averaged, differences are not: one day of 540 is there, with its full size."""
    old: list[float | None] = [100.0] * 540
    new = [*old[:300], 130.0, *old[301:]]
    svg = chart(a_series(old, new))
    assert svg.count('class="more"') == 1 and "+30<" in svg
    assert "7" in note(a_series(old, new)) and not note(a_series(old[:20], old[:20]))
    assert FLAT < 0.001


def test_names_are_escaped() -> None:
    """A column's name is text in the drawing."""
    assert "a&lt;b" in chart(a_series([1.0, 2.0], [2.0, 3.0])) and "a<b" in label(a_series([1.0], [1.0]))
