"""The algebra of segments, instant by instant: which table gives the rows of a day, before and after."""

import itertools
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.segments import NO_ROWS, Segment, Segments
from backfill_assets_tests.fakes import days

FIRST, LENGTH = utc("2024-01-01"), 12


def a_segment(first: str, last: str, version: str = "v", commit: int = 1) -> Segment:
    return Segment(version=version, commit=commit, interval=days(first, last))


def day(number: int) -> Interval:
    return Interval(FIRST + timedelta(days=number), FIRST + timedelta(days=number + 1))


Shown = dict[Interval, tuple[str, int]]


def by_day(segments: Segments) -> Shown:
    """The independent view: of each day, the table and commit that give its rows. No day has two."""
    found: Shown = {}
    for segment in segments:
        for part in Cadence.DAILY.split(segment.interval):
            assert part not in found
            found[part] = (segment.version, segment.commit)
    return found


@st.composite
def shown(draw: st.DrawFn) -> Segments:
    """Some of twelve days, each of one of a few tables; neighbours of one table as one segment, or not."""
    tables = draw(st.lists(st.sampled_from([None, ("v", 1), ("v", 2), ("w", 1), ("v.r", 1)]), max_size=LENGTH))
    parts = Segments(
        Segment(version=table[0], commit=table[1], interval=day(n)) for n, table in enumerate(tables) if table
    )
    return parts.joined() if draw(st.booleans()) else parts


@st.composite
def ranges(draw: st.DrawFn) -> Ranges:
    return Ranges.of(day(n) for n in draw(st.sets(st.integers(0, LENGTH))))


@given(shown(), ranges())
def test_a_part(segments: Segments, part: Ranges) -> None:
    """`cut` and `without` share the rows out: what one has, the other lacks, and nothing is of another table."""
    inside, outside = segments.cut(part), segments.without(part)
    assert by_day(inside) | by_day(outside) == by_day(segments)
    assert inside.covers == segments.covers & part
    assert outside.covers == segments.covers - part


@given(shown(), shown())
def test_over(above: Segments, below: Segments) -> None:
    """Each day is of the upper segments where they have it, else of the lower ones; in order, joined."""
    found = above.over(below)
    assert by_day(found) == by_day(below) | by_day(above)
    assert list(found) == sorted(found, key=lambda s: s.interval)
    assert found == found.joined()
    assert above.over(NO_ROWS) == above.joined() == NO_ROWS.over(above)


@given(shown(), shown(), shown())
def test_over_is_associative(one: Segments, two: Segments, three: Segments) -> None:
    """A correction of a correction is one over both."""
    assert one.over(two).over(three) == one.over(two.over(three))


@given(shown())
def test_joined(segments: Segments) -> None:
    """The same rows; no two neighbours are of one table at one commit."""
    found = segments.joined()
    assert by_day(found) == by_day(segments)
    for one, other in itertools.pairwise(found):
        assert one.interval.end < other.interval.start or (one.version, one.commit) != (other.version, other.commit)


@given(shown(), shown())
def test_meetings(one: Segments, other: Segments) -> None:
    """Each day that both have is met once, with the segments that give it."""
    met = {
        part: (a.version, a.commit, b.version, b.commit)
        for a, b, common in one.meetings(other)
        for part in Cadence.DAILY.split(common)
    }
    here, there = by_day(one), by_day(other)
    assert met == {part: (*here[part], *there[part]) for part in here.keys() & there.keys()}


@given(shown())
def test_tables(segments: Segments) -> None:
    """Every table at a commit is named once, with all its days."""
    found = segments.tables()
    keys = [(s.version, s.commit) for s, _ in found]
    assert len(keys) == len(set(keys))
    said = {part: key for key, (_, parts) in zip(keys, found, strict=True) for part in parts.split(Cadence.DAILY)}
    assert said == by_day(segments)


@given(shown())
def test_by_logic_and_by_table(segments: Segments) -> None:
    """A correction is of the logic of the version that it corrects, and in a table of its own."""
    days_of = by_day(segments)
    assert by_day(segments.of_logic("v")) == {d: t for d, t in days_of.items() if t[0] in ("v", "v.r")}
    assert by_day(segments.of_other_logic("v")) == {d: t for d, t in days_of.items() if t[0] == "w"}
    assert by_day(segments.in_table("v")) == {d: t for d, t in days_of.items() if t[0] == "v"}
    assert by_day(segments.in_other_tables("v")) == {d: t for d, t in days_of.items() if t[0] != "v"}


def test_neighbours_become_one_segment() -> None:
    """Of one table at one commit; other commits, other tables and gaps stay apart."""
    parts = Segments(
        (a_segment("03", "04"), a_segment("01", "02"), a_segment("05", "05", commit=2), a_segment("07", "07", commit=2))
    )
    assert [str(s.interval) for s in parts.joined()] == ["2024-01-01..2024-01-04", "2024-01-05", "2024-01-07"]


def test_other_columns_are_not_joined() -> None:
    """Rows of older logic say their own columns."""
    parts = Segments(
        (a_segment("01", "01"), Segment(version="v", commit=1, interval=days("02"), columns=(("a", "int"),)))
    )
    assert parts.joined() == parts
    assert len(parts.tables()) == 2
