"""How many bytes does a batch read? By the days of its sources' files, and by what was written of its upstreams."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.model import ColumnRef, Project, Signature
from backfill_assets.plan.source_bytes import Reads, TimedFile, batch_reads
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import a_model, a_project
from backfill_assets_tests.strategies import EPOCH, day, span

MB = 1_000_000
HUNDRED_DAYS = {"start": EPOCH, "end": day(100)}


def by_day(count: int = 100, size: int = MB) -> list[TimedFile]:
    """A file of each day."""
    return [TimedFile(days=Ranges((span(n, n + 1),)), bytes=size) for n in range(count)]


def of_all_days(count: int = 10, size: int = 10 * MB) -> list[TimedFile]:
    """Files of which each has rows of all days."""
    return [TimedFile(days=Ranges((span(0, 100),)), bytes=size)] * count


def reads(project: Project, name: str, *history: Entry, **parts: list[TimedFile]) -> Reads:
    tables = {(e.model, e.version): [e] for e in history}
    return batch_reads(project, project.models[name], parts, tables, utc("2025-01-01"))


def one(parts: list[TimedFile], **more: object) -> Reads:
    """Of a model of a hundred days over one source."""
    return reads(a_project(a_model("a", "raw", **HUNDRED_DAYS, **more)), "a", raw=parts)


def test_of_files_of_a_day_a_batch_reads_its_own_and_a_neighbour() -> None:
    """So an interval costs what its day holds, and hardly anything is read by each batch again."""
    found = one(by_day())
    assert (found.fixed, found.each, found.total) == (pytest.approx(MB), pytest.approx(MB), 100 * MB)
    assert found.more == pytest.approx(0.99 * MB)
    assert found.whole == ()


def test_of_files_of_all_days_each_batch_reads_all() -> None:
    """The same bytes, and every one of them is fixed; the rows of an interval are as many as before."""
    found = one(of_all_days())
    assert (found.fixed, found.more, found.each) == (100 * MB, 0, MB)
    assert found.whole == (("raw", 100 * MB),)


def test_files_of_some_days_are_between() -> None:
    """A file of ten days is read by one day's batch as a whole."""
    parts = [TimedFile(days=Ranges((span(n, n + 10),)), bytes=10 * MB) for n in range(0, 100, 10)]
    assert one(parts).fixed == pytest.approx(10 * MB)


@pytest.mark.parametrize("days", [None, Ranges((span(0, 100),))], ids=["unknown", "all"])
def test_a_source_whose_days_nobody_knows_is_read_whole(days: Ranges | None) -> None:
    """Its rows are taken to be spread over the model's days."""
    found = one([TimedFile(days=days, bytes=100 * MB)])
    assert (found.fixed, found.each) == (100 * MB, MB)


def test_a_query_that_does_not_ask_for_the_sources_time_reads_all_of_it() -> None:
    """However its files are laid out: what a filter does not name cannot leave any out."""
    project = a_project(a_model("a", "raw", **HUNDRED_DAYS))
    by_time, by_key = (
        replace(project, signatures={"a": Signature(rows="1", columns={}, row_reads=frozenset({ref}))})
        for ref in (ColumnRef(table="raw", column="AT"), ColumnRef(table="raw", column="id"))
    )
    assert reads(by_time, "a", raw=by_day()).fixed == pytest.approx(MB)
    assert reads(by_key, "a", raw=by_day()).fixed == 100 * MB


def test_earlier_intervals_are_read_by_every_batch() -> None:
    assert one(by_day(), lookback=6).fixed == pytest.approx(MB + 6 * 0.99 * MB)


def test_a_small_table_beside_is_not_named() -> None:
    """What nobody would lay out by day is no reason for anything."""
    project = a_project(a_model("a", "raw", "names", **HUNDRED_DAYS))
    found = reads(project, "a", raw=of_all_days(), names=[TimedFile(days=None, bytes=MB)])
    assert found.whole == (("raw", 100 * MB),)
    assert found.fixed == 101 * MB


def test_an_upstream_that_is_built_counts_by_what_was_written() -> None:
    project = a_project(a_model("a", "raw", **HUNDRED_DAYS), a_model("b", "a", **HUNDRED_DAYS))
    built = Entry(kind=Kind.BUILT, model="a", version="a-1", interval=span(0, 10), bytes=5 * MB, at=EPOCH)
    found = reads(project, "b", built, raw=of_all_days())
    assert (found.fixed, found.each) == (0, pytest.approx(MB / 2))


def test_an_upstream_that_is_not_built_counts_by_what_it_is_made_from_once() -> None:
    """By way of two models the same source is not twice as large; and a version's table is laid out by day."""
    models = (a_model("a", "raw"), a_model("b", "a"), a_model("c", "a"), a_model("d", "b", "c"))
    project = a_project(*(replace(m, start=EPOCH, end=day(100)) for m in models))
    found = reads(project, "d", raw=of_all_days())
    assert (found.fixed, found.each, found.whole) == (0, MB, ())


def test_what_nobody_can_list_is_said() -> None:
    assert one([]).unknown == ()
    assert reads(a_project(a_model("a", "raw", "other")), "a", raw=[]).unknown == ("other",)
