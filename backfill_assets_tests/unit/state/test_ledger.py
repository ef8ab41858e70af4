"""What the ledger's entries add up to: checked case by case, and against an interpreter that goes day by day."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.state.changes import Changes
from backfill_assets.state.ledger import LEDGER, Coverage, Dirt, Entry, Kind, Ledger, by_version, coverage
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.memory_store import MemoryStore
from backfill_assets_tests.strategies import days_of, spans

AUDITS = "digest"
T0 = utc("2024-02-01")


def entry(kind: Kind, interval: Interval, commit: int, batch: str = "", *, minute: int = 0, **more: object) -> Entry:
    made = Entry(
        kind=kind,
        model="m",
        version="v",
        interval=interval,
        table_commit=commit,
        batch=batch,
        audits=AUDITS if kind is Kind.AUDITED else "",
        at=T0 + timedelta(minutes=minute),
        id=f"{minute:04}",
    )
    return replace(made, **more)  # type: ignore[arg-type]


def built(interval: Interval, commit: int, batch: str, *, minute: int = 0, audited: bool = True) -> list[Entry]:
    """A batch's BUILT entry, and its AUDITED one."""
    found = [entry(Kind.BUILT, interval, commit, batch, minute=minute)]
    if audited:
        found.append(entry(Kind.AUDITED, interval, commit, batch, minute=minute + 1))
    return found


def look(entries: list[Entry], dirt: list[Dirt] | None = None, commit: int | None = None) -> tuple[str, str, str]:
    """Green, unaudited and empty, as text."""
    found = coverage(entries, audits=AUDITS, dirt=dirt or [], commit=commit)
    return str(found.green), str(found.unaudited), str(found.empty)


NONE = "nothing"


def test_nothing_recorded_is_nothing_there() -> None:
    """No entries: everything is missing."""
    assert coverage([], audits=AUDITS) == Coverage()


def test_started_and_failed_change_nothing() -> None:
    """They are for people: what was there before still is."""
    there = built(days("01", "03"), 1, "a")
    noise = [entry(k, days("01", "05"), -1, "z", minute=9) for k in (Kind.STARTED, Kind.FAILED)]
    assert look(noise) == (NONE, NONE, NONE)
    assert look([*there, *noise]) == ("2024-01-01..2024-01-03", NONE, NONE)


def test_built_is_green_only_where_audited() -> None:
    """Built and not yet audited is neither missing nor complete."""
    entries = [*built(days("01", "04"), 1, "a", audited=False), entry(Kind.AUDITED, days("02", "03"), 1, "a", minute=1)]
    assert look(entries) == ("2024-01-02..2024-01-03", "2024-01-01, 2024-01-04", NONE)
    found = coverage(entries, audits=AUDITS)
    assert str(found.built) == "2024-01-01..2024-01-04"
    assert str(found.complete) == "2024-01-02..2024-01-03"


def test_audits_of_another_batch_or_digest_do_not_count() -> None:
    """A changed audit makes old results stale; a rebuilt interval needs audits of its own."""
    rebuilt = [*built(days("01"), 1, "a"), *built(days("01"), 2, "b", minute=5, audited=False)]
    assert look(rebuilt) == (NONE, "2024-01-01", NONE)
    stale = coverage(built(days("01"), 1, "a"), audits="another digest")
    assert (str(stale.green), str(stale.unaudited)) == (NONE, "2024-01-01")


def test_the_newest_by_table_commit_decides_not_by_clock() -> None:
    """Two writers may record in another order than they committed: the table holds what was committed last."""
    late_record_of_old_commit = entry(Kind.INVALIDATED, days("01"), 1, "a", minute=30)
    newer_commit = built(days("01"), 2, "b", minute=10)
    assert look([*newer_commit, late_record_of_old_commit]) == ("2024-01-01", NONE, NONE)
    of_this_commit = replace(late_record_of_old_commit, table_commit=2, batch="b")
    assert look([*newer_commit, of_this_commit]) == (NONE, NONE, NONE)


def test_invalidated_is_missing_until_built_again() -> None:
    """Only the invalidated part, and only until a newer commit."""
    entries = [*built(days("01", "03"), 1, "a"), entry(Kind.INVALIDATED, days("02"), 1, "a", minute=2)]
    assert look(entries) == ("2024-01-01, 2024-01-03", NONE, NONE)
    assert look([*entries, *built(days("02"), 2, "b", minute=3)]) == ("2024-01-01..2024-01-03", NONE, NONE)


def test_empty_counts_until_withdrawn() -> None:
    """Declared complete without rows: neither green nor missing; withdrawing makes it missing again."""
    declared = [*built(days("01"), 1, "a"), entry(Kind.EMPTY, days("02", "03"), 1, minute=3)]
    assert look(declared) == ("2024-01-01", NONE, "2024-01-02..2024-01-03")
    assert str(coverage(declared, audits=AUDITS).complete) == "2024-01-01..2024-01-03"
    withdrawn = [*declared, entry(Kind.WITHDRAWN, days("03"), 1, minute=4)]
    assert look(withdrawn) == ("2024-01-01", NONE, "2024-01-02")


def test_dirt_hides_what_is_under_it_and_not_what_is_over_it() -> None:
    """A commit that nobody speaks for makes its interval missing, until a newer commit rewrites it."""
    entries = built(days("01", "04"), 1, "a")
    dirty = [Dirt(table_commit=2, interval=days("02", "03"), batch="dead")]
    assert look(entries, dirty) == ("2024-01-01, 2024-01-04", NONE, NONE)
    assert look([*entries, *built(days("02"), 3, "c", minute=5)], dirty) == (
        "2024-01-01..2024-01-02, 2024-01-04",
        NONE,
        NONE,
    )


def test_foreign_data_may_be_anywhere() -> None:
    """After a commit without an interval nothing older counts; what is built later does."""
    entries = [*built(days("01", "04"), 1, "a"), *built(days("06"), 3, "c", minute=5)]
    assert look(entries, [Dirt(table_commit=2, interval=None)]) == ("2024-01-06", NONE, NONE)


def test_at_a_commit_later_ones_do_not_exist() -> None:
    """Looking at a pinned commit shows what was there, not what has been written since."""
    entries = [*built(days("01"), 1, "a"), *built(days("02"), 2, "b"), entry(Kind.INVALIDATED, days("01"), 3, "x")]
    later = [Dirt(table_commit=4, interval=None)]
    assert look(entries, later, commit=0) == (NONE, NONE, NONE)
    assert look(entries, later, commit=1) == ("2024-01-01", NONE, NONE)
    assert look(entries, later, commit=2) == ("2024-01-01..2024-01-02", NONE, NONE)
    assert look(entries, later, commit=3) == ("2024-01-02", NONE, NONE)
    assert look(entries, later, commit=4) == (NONE, NONE, NONE)


def test_sources_say_which_batch_computed_what() -> None:
    """Cut to what is asked, without what was overwritten or invalidated."""
    entries = [
        *built(days("01", "05"), 1, "a"),
        *built(days("03"), 2, "b", audited=False),
        entry(Kind.INVALIDATED, days("05"), 1, "a", minute=9),
    ]
    found = coverage(entries, audits=AUDITS).batches(ranges(days("02", "03"), days("05", "06")))
    assert [(str(part), e.batch) for part, e in found] == [("2024-01-02", "a"), ("2024-01-03", "b")]


# --- against a brute-force interpreter --------------------------------------------------------------------------------

KINDS = [Kind.BUILT, Kind.AUDITED, Kind.INVALIDATED, Kind.EMPTY, Kind.WITHDRAWN, Kind.STARTED, Kind.FAILED]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Entry], list[Dirt]]:
    """Any entries, sensible or not: batches and commits repeat and cross, digests are stale, some are dirt."""
    entries = [
        entry(
            draw(st.sampled_from(KINDS)),
            draw(spans()),
            draw(st.integers(-1, 5)),
            draw(st.sampled_from("abc")),
            minute=minute,
            audits=draw(st.sampled_from([AUDITS, AUDITS, "stale"])),
        )
        for minute in draw(st.permutations(range(draw(st.integers(0, 8)))))
    ]
    dirt = [
        Dirt(table_commit=draw(st.integers(1, 5)), interval=where)
        for where in draw(st.lists(st.one_of(st.none(), spans()), max_size=2))
    ]
    return entries, dirt


def by_day(entries: list[Entry], dirt: list[Dirt], commit: int | None, number: int) -> str:
    """What one day is: the newest thing that happened to it decides, entries of a dirty commit were said after it."""
    span = Interval(utc("2024-01-01") + timedelta(days=number), utc("2024-01-02") + timedelta(days=number))

    def visible(table_commit: int) -> bool:
        return commit is None or table_commit <= commit

    own = [e for e in entries if visible(e.table_commit)]
    events: list[tuple[tuple[object, ...], Entry | None]] = [
        ((e.table_commit, e.at, e.id), e)
        for e in own
        if e.kind not in (Kind.STARTED, Kind.FAILED, Kind.AUDITED) and span in Ranges((e.interval,))
    ]
    events += [
        ((d.table_commit, utc("1970-01-01"), ""), None)
        for d in dirt
        if visible(d.table_commit) and (d.interval is None or span in Ranges((d.interval,)))
    ]
    if not events:
        return "missing"
    last = max(events, key=lambda x: x[0])[1]
    if last is None:
        return "missing"
    if last.kind is Kind.EMPTY:
        return "empty"
    if last.kind is not Kind.BUILT:
        return "missing"
    passed = any(
        e.kind is Kind.AUDITED and e.batch == last.batch and e.audits == AUDITS and span in Ranges((e.interval,))
        for e in own
    )
    return "green" if passed else "unaudited"


@given(histories(), st.one_of(st.none(), st.integers(-1, 6)))
def test_coverage_is_what_a_day_by_day_interpreter_says(
    history: tuple[list[Entry], list[Dirt]], commit: int | None
) -> None:
    """For any history and any commit, every day is green, unaudited, empty or missing as its newest event says."""
    entries, dirt = history
    found = coverage(entries, audits=AUDITS, dirt=dirt, commit=commit)
    sets = {"green": days_of(found.green), "unaudited": days_of(found.unaudited), "empty": days_of(found.empty)}
    for number in range(20):
        want = by_day(entries, dirt, commit, number)
        assert [name for name, members in sets.items() if number in members] == ([] if want == "missing" else [want])
    assert Ranges.of(part for part, _ in found.sources) == found.built
    assert found.built.count(Cadence.DAILY) == sum(Cadence.DAILY.count(part) for part, _ in found.sources)


@given(histories(), st.randoms())
def test_coverage_does_not_depend_on_the_order_of_reading(
    history: tuple[list[Entry], list[Dirt]], random: object
) -> None:
    """A store returns rows in no order; the answer is the same."""
    entries, dirt = history
    shuffled = list(entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert coverage(shuffled, audits=AUDITS, dirt=dirt) == coverage(entries, audits=AUDITS, dirt=dirt)


# --- the table --------------------------------------------------------------------------------------------------------


def test_entries_come_back_as_recorded_oldest_first() -> None:
    """Every field survives; one append is one commit; other models' entries are left out when models are named."""
    ledger = Ledger(MemoryStore())
    full = replace(
        entry(Kind.BUILT, days("01", "03"), 7, "b", minute=2),
        attempt=3,
        run="run",
        inputs={"orders": {"commit": 4, "version": "x"}, "raw": {"files": "f00"}},
        rows=10,
        bytes=20,
        seconds=1.5,
        reason="it's a reason",
    )
    first = replace(entry(Kind.STARTED, days("01"), -1, minute=1), inputs={})
    other = replace(full, model="other", id="other")
    ledger.append([full, first, other])
    assert ledger.revision() == 0
    assert [replace(e, sequence=0) for e in ledger.entries(["m"])] == [full, first]
    assert ledger.entries([]) == []
    assert {e.model for e in ledger.entries()} == {"m", "other"}
    assert {key: len(group) for key, group in by_version(ledger.entries()).items()} == {
        ("m", "v"): 2,
        ("other", "v"): 1,
    }


def test_an_entry_without_an_id_gets_one() -> None:
    """Two equal events are two entries, with an order that every reader agrees on."""
    ledger = Ledger(MemoryStore())
    bare = replace(entry(Kind.STARTED, days("01"), -1), id="")
    ledger.append([bare, bare])
    ids = [e.id for e in ledger.entries()]
    assert len(set(ids)) == 2
    assert [e.id for e in ledger.entries()] == ids
    assert all(ids)


@given(st.lists(st.tuples(st.sampled_from(KINDS), spans(), st.integers(-9000, 9000)), max_size=12))
def test_the_order_of_entries_does_not_depend_on_clocks(said: list[tuple[Kind, Interval, int]]) -> None:
    """Machines whose clocks disagree by days write one after the other: the ledger adds up to what it does with one
    good clock."""
    clocks, one_clock = Ledger(MemoryStore()), Ledger(MemoryStore())
    for number, (kind, interval, minute) in enumerate(said):
        clocks.append([entry(kind, interval, 1, f"b{number % 3}", minute=minute, id="")])
        one_clock.append([entry(kind, interval, 1, f"b{number % 3}", minute=number)])
    found, wanted = (coverage(ledger.entries(), audits=AUDITS) for ledger in (clocks, one_clock))
    assert (found.green, found.unaudited, found.empty) == (wanted.green, wanted.unaudited, wanted.empty)
    assert [e.kind for e in clocks.entries()] == [kind for kind, _, _ in said]


def test_entries_of_older_releases_come_first() -> None:
    """They have no number; among them the clock decides, and whatever is written now is newer."""
    store = MemoryStore()
    ledger = Ledger(store)
    ledger.append([entry(Kind.BUILT, days("01"), 1, "b", minute=9), entry(Kind.STARTED, days("01"), 1, "b", minute=3)])
    old = store.table(LEDGER)
    old.rows = [{**row, "sequence": 0} for row in old.rows]
    ledger.append([entry(Kind.WITHDRAWN, days("01"), 1, minute=-60)])
    assert [e.kind for e in ledger.entries()] == [Kind.STARTED, Kind.BUILT, Kind.WITHDRAWN]
    assert coverage(ledger.entries(), audits=AUDITS).built == Ranges()


def test_what_is_declared_of_a_dirty_commit_counts() -> None:
    """Somebody looked at the table with the unknown rows, and said that its days are complete: what is said of others,
    later by any clock, changes nothing of it."""
    dirty = [Dirt(table_commit=2, interval=None)]
    entries = [entry(Kind.EMPTY, days("01", "02"), 2, minute=1), entry(Kind.INVALIDATED, days("02"), 2, minute=2)]
    assert look(entries, dirty) == (NONE, NONE, "2024-01-01")


def test_recording_nothing_writes_nothing() -> None:
    """No empty commits for pollers to wake up to."""
    ledger = Ledger(MemoryStore())
    ledger.append([])
    assert ledger.revision() == -1


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_is_stored_by_its_name(kind: Kind) -> None:
    """The stored words are the enum's: renaming one would orphan history."""
    ledger = Ledger(MemoryStore())
    ledger.append([entry(kind, days("01"), 0)])
    assert ledger.entries()[0].kind is kind
    assert kind.value == kind.name.lower()


def test_what_a_merge_changed_is_kept() -> None:
    """An entry's counts come back as they were; a batch that replaced its interval has none."""
    ledger = Ledger(MemoryStore())
    merged = entry(Kind.BUILT, days("01"), 1, "b", changes=Changes(inserted=1, updated=2, deleted=3, copied=4))
    ledger.append([merged, entry(Kind.BUILT, days("02"), 2, "c", minute=1)])
    assert [e.changes for e in ledger.entries()] == [merged.changes, None]
