"""Which published intervals would show other rows? By files and commits, whatever the versions are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.state.replaced_rows import replaced
from backfill_assets_tests.fakes import Cell, FakeTables, a_pointer, days, ranges

WHOLE = days("01", "03")


@pytest.fixture
def tables() -> FakeTables:
    """Commit 1 has three days in one batch."""
    tables = FakeTables()
    tables.create("a", "a-1")
    write(tables, "01", "03", batch="first")
    return tables


def write(tables: FakeTables, first: str, last: str, *, batch: str) -> int:
    part = days(first, last)
    cells = {unit.start: Cell(batch=batch) for unit in Cadence.DAILY.split(part)}
    return tables.write("a", "a-1", batch, part, cells).table_commit


def shown(commit: int = 1, version: str = "a-1") -> Pointer:
    return a_pointer("a", version, WHOLE, commit=commit)


def changed(tables: FakeTables, before: Pointer, after: Pointer | None) -> Ranges:
    return replaced(before, after, tables, Cadence.DAILY)


def test_the_same_commit_and_a_commit_without_rows(tables: FakeTables) -> None:
    tables.optimize("a", "a-1")
    assert not changed(tables, shown(), shown())
    assert not changed(tables, shown(), shown(2))


def test_files_that_were_only_joined(tables: FakeTables) -> None:
    """`OPTIMIZE` gives other files; no commit in between wrote rows."""
    state = tables._tables["a", "a-1"]  # pyright: ignore[reportPrivateUsage]
    tables.optimize("a", "a-1")
    state.states[-1] = {at: replace(cell, batch="joined") for at, cell in state.states[-1].items()}
    assert not changed(tables, shown(), shown(2))


def test_a_batch_of_one_day(tables: FakeTables) -> None:
    commit = write(tables, "02", "02", batch="second")
    assert changed(tables, shown(), shown(commit)) == ranges(days("02"))
    assert changed(tables, shown(commit), shown()) == ranges(days("02")), "and back"


def test_somebody_elses_commit(tables: FakeTables) -> None:
    """It says no interval: where files are others, it may have written them."""
    tables.foreign("a", "a-1")
    state = tables._tables["a", "a-1"]  # pyright: ignore[reportPrivateUsage]
    state.states[-1][days("03").start] = Cell(batch="theirs")
    assert changed(tables, shown(), shown(2)) == ranges(days("03"))


def test_another_table_is_other_rows(tables: FakeTables) -> None:
    assert changed(tables, shown(), shown(version="a-2")) == ranges(WHOLE)


def test_what_is_not_shown_any_more(tables: FakeTables) -> None:
    assert changed(tables, shown(), None) == ranges(WHOLE)
    assert changed(tables, shown(), a_pointer("a", "a-1", days("01", "02"))) == ranges(days("03"))


def test_columns(tables: FakeTables) -> None:
    """One more is no change; one less, or of another type, is one in all rows that have it."""
    before = shown()
    more = replace(before, columns=(*before.columns, ("n", "int")))
    assert not changed(tables, before, more)
    assert changed(tables, more, before) == ranges(WHOLE)
    other = replace(before, columns=(("ds", "date"), ("id", "string")))
    assert changed(tables, before, other) == ranges(WHOLE)
    old = Segment(version="a-1", commit=1, interval=WHOLE, columns=(("ds", "date"),))
    assert not changed(tables, replace(more, segments=(old,)), replace(before, segments=(old,)))


def test_older_rows_of_a_narrower_type(tables: FakeTables) -> None:
    """Newer logic shows them in its own, wider type: what follows does not change them, their table's type does."""

    def beside(kind: str) -> Pointer:
        older = Segment(version="a-1", commit=1, interval=WHOLE, columns=(("ds", "date"), ("id", kind)))
        return replace(shown(), segments=(older,))

    assert not changed(tables, beside("int"), beside("int"))
    assert changed(tables, beside("int"), beside("smallint")) == ranges(WHOLE)
