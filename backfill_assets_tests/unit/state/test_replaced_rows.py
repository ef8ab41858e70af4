"""Which published intervals would show other rows, and which of them were written over?"""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.core.intervals import NOTHING, Cadence
from backfill_assets.state.replaced_rows import replaced, written_over
from backfill_assets_tests.fakes import Cell, FakeTables, a_pointer, days, ranges

BEFORE = a_pointer("a", "v1", days("01", "03"), commit=1)
WIDER = (("ds", "date"), ("id", "decimal(20,0)"))


def tables() -> FakeTables:
    """Three days at commit 1; the second of them again, by another batch, at commit 2."""
    found = FakeTables()
    found.create("a", "v1")
    whole, second = days("01", "03"), days("02")
    found.write("a", "v1", "first", whole, {d.start: Cell(batch="first") for d in ranges(whole).split(Cadence.DAILY)})
    found.write("a", "v1", "again", second, {second.start: Cell(rows=7, batch="again")})
    return found


def test_rows_that_were_written_over_in_their_table() -> None:
    """Another commit of the same table: the day that a batch wrote since, and no other."""
    after = a_pointer("a", "v1", days("01", "03"), commit=2)
    assert replaced(BEFORE, after, tables(), Cadence.DAILY) == ranges(days("02"))
    assert written_over(BEFORE, after, tables(), Cadence.DAILY) == ranges(days("02"))


def test_another_type_is_no_writing_over() -> None:
    """Forward only: older rows keep their commit and are shown with a wider type. Readers see a change of the type."""
    after = replace(BEFORE, columns=WIDER, segments=tuple(replace(s, columns=BEFORE.columns) for s in BEFORE.segments))
    assert replaced(BEFORE, after, tables(), Cadence.DAILY) == ranges(days("01", "03"))
    assert written_over(BEFORE, after, tables(), Cadence.DAILY) == NOTHING


def test_rows_beside_are_no_writing_over() -> None:
    """A revision's table shows other rows; the table that showed them before is as it was."""
    found = tables()
    found.create("a", "v2")
    found.write("a", "v2", "b", days("02"), {days("02").start: Cell(batch="b")})
    [seg] = BEFORE.segments
    parts = (
        replace(seg, interval=days("01")),
        *a_pointer("a", "v2", days("02"), commit=1).segments,
        replace(seg, interval=days("03")),
    )
    after = replace(BEFORE, segments=parts)
    assert replaced(BEFORE, after, found, Cadence.DAILY) == ranges(days("02"))
    assert written_over(BEFORE, after, found, Cadence.DAILY) == NOTHING
