"""What columns tell is what entries add up to: whatever is recorded, in whatever order, however tables look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backfill_assets.app.status import unfinished
from backfill_assets.core.intervals import NOTHING, Interval, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.state.columns import instant, micros
from backfill_assets.state.history import History
from backfill_assets.state.in_flight import open_or_failed
from backfill_assets.state.ledger import DECIDING, LEDGER, Coverage, Entry, Kind, Ledger, by_version, coverage
from backfill_assets.state.ledger_rows import VersionRows
from backfill_assets.state.shown_state import ShownState, as_shown, shown_state
from backfill_assets.state.tables import DataCommit, version_coverage
from backfill_assets_tests.memory_store import MemoryRows, MemoryStore

T0 = utc("2024-02-01")
VERSIONS = ("v", "v.1f3a")
OVER = (None, T0 + timedelta(days=2))


def day(first: int, count: int = 1) -> Interval:
    return Interval(T0 + timedelta(days=first), T0 + timedelta(days=first + count))


class Logs:
    """Tables of one model as their logs say."""

    def __init__(self, commits: dict[str, list[DataCommit]]) -> None:
        self._commits = commits

    def head(self, model: str, version: str) -> int:
        return max((c.table_commit for c in self._commits.get(version, ())), default=-1)

    def commits(self, model: str, version: str) -> list[DataCommit]:
        return [c for c in self._commits[version] if c.table_commit]

    rows = files = contents = commits  # nobody asks


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Mostly builds that were audited, day by day; with whatever else can be recorded of them."""
    found: list[Entry] = []
    commits = dict.fromkeys(VERSIONS, 0)
    strange = draw(st.integers(0, 3)) == 0
    for number in range(draw(st.integers(0, 9))):
        version = draw(st.sampled_from((VERSIONS[0], *VERSIONS)))
        kind = draw(st.sampled_from((*[Kind.BUILT] * 6, *Kind)))
        commits[version] += kind is Kind.BUILT
        commit, batch = commits[version], f"b{number}"
        if kind is not Kind.BUILT:  # of what was built before
            commit, batch = draw(st.integers(0, commit)), draw(st.sampled_from([e.batch for e in found] or [batch]))
        elif strange and draw(st.booleans()):
            commit, batch = draw(st.integers(1, 12)), draw(st.sampled_from([e.batch for e in found] or [batch]))
        made = Entry(
            kind=kind, model="m", version=version,
            interval=day(draw(st.integers(0, 3)), draw(st.sampled_from((*[1] * 8, 2, 3)))),
            table_commit=commit, batch=batch, at=T0 + timedelta(minutes=draw(st.integers(0, 30))), id=f"{number:04}",
            rows=draw(st.integers(0, 1)), audits=draw(DIGESTS) if kind in (Kind.AUDITED, Kind.INVALIDATED) else "",
            reason="red" if kind is Kind.INVALIDATED else "",
            through=T0 if kind is Kind.BUILT and draw(st.integers(0, 9)) == 0 else None,
        )  # fmt: skip
        found.append(made)
        if kind is Kind.BUILT:
            found += [
                replace(made, kind=Kind.AUDITED, through=None, audits=audits, id=f"{made.id}{audits}")
                for audits in draw(st.sampled_from((("now",), ("now",), ("then",), ("",), (), ("now", "then"))))
            ]
    return found


DIGESTS = st.sampled_from(("now", "then", ""))


@st.composite
def tables(draw: st.DrawFn, recorded: Sequence[Entry]) -> Logs:
    """What was recorded is in the tables, or something is there beside it, or instead of it."""
    commits: dict[str, list[DataCommit]] = {}
    for version in VERSIONS:
        mine = {e.table_commit: e for e in recorded if e.version == version and e.kind is Kind.BUILT}
        kind = draw(st.sampled_from((*["as recorded"] * 6, "foreign", "gone", "another")))
        found = [_commit(0, "", None)] + [_commit(c, e.batch, e.interval) for c, e in sorted(mine.items())]
        if kind == "foreign":
            found.append(_commit(found[-1].table_commit + 1, "x", draw(st.sampled_from((None, day(1), day(2, 2))))))
        if kind == "another" and len(found) > 1:
            found[-1] = replace(found[-1], batch="y")
        commits[version] = [] if kind == "gone" else found
    return Logs(commits)


def _commit(number: int, batch: str, interval: Interval | None) -> DataCommit:
    return DataCommit(table_commit=number, batch=batch, interval=interval, rows=1, bytes=1)


pointers = st.builds(
    lambda first, count, commits, split: Pointer(
        model="m", time_column="ds", timestamps=False, columns=(),
        segments=Segments(
            s for s in (
                Segment(interval=day(first, split), version=VERSIONS[0], commit=commits[0]),
                Segment(interval=day(first + split, count), version=VERSIONS[1], commit=commits[1]),
                Segment(interval=day(first + split + count), version=VERSIONS[0], commit=commits[0]),
            )
        ),
    ),
    st.integers(0, 2), st.integers(1, 3), st.tuples(st.integers(0, 7), st.integers(0, 4)), st.integers(1, 3),
)  # fmt: skip


@settings(max_examples=100)
@given(st.data())
def test_it_adds_up_to_the_same(data: st.DataObject) -> None:
    """Coverage, what is known of what is shown, and both together: told from columns and one by one. What is recorded
    after the look is in neither; what is committed between two looks at a log may be."""
    recorded = data.draw(entries())
    if data.draw(st.integers(0, 2)) == 0:  # two writers may record in another order than they committed
        recorded = data.draw(st.permutations(recorded))
    store = MemoryStore()
    for at in range(0, len(recorded), size := data.draw(st.integers(1, 5))):
        Ledger(store).append(recorded[at : at + size])
    before, after = data.draw(tables(recorded)), data.draw(tables(recorded))
    one_by_one = by_version(Ledger(store).entries(kinds=DECIDING | {Kind.FAILED}))
    decided = {(e.model, e.version) for e in Ledger(store).entries(kinds=DECIDING)}
    told = History(remembering(store, data.draw(st.integers(0, len(recorded)))))
    Ledger(store).append(
        [
            Entry(kind=Kind.BUILT, model="m", version=v, interval=day(n), at=T0, table_commit=50)
            for v in VERSIONS
            for n in range(6)
        ]
    )
    assert ({*told}, {key for key in told if told[key]}) == ({*one_by_one}, decided)
    audits, over = data.draw(st.sampled_from(("now", "then"))), data.draw(st.sampled_from(OVER))
    pointer = data.draw(pointers)
    shown, expected = (shown_state(pointer, groups, before, audits=audits) for groups in (told, one_by_one))
    for key in one_by_one:
        found, right = (
            version_coverage(groups[key], before, model=key[0], version=key[1], audits=audits, over=over)
            for groups in (told, one_by_one)
        )
        later, right_later = (
            version_coverage(groups[key], after, model=key[0], version=key[1], audits=audits, over=over)[0]
            for groups in (told, one_by_one)
        )
        part = Ranges((day(data.draw(st.integers(0, 4)), 2), day(7)))
        if key[1] == VERSIONS[0]:
            for head, other in (
                (later, right_later),
                (found[0], right[0]),
                (found[0].without(part), right[0].without(part)),
            ):
                assert as_shown(head, key[1], pointer, shown) == as_shown(other, key[1], pointer, expected)
        newest = max((e.table_commit for _, e in right[0].batches(part)), default=-1)
        assert found[0].newest(part) == right[0].newest(part) == newest
        assert found[0].partial == right[0].partial
        assert found[0].hollow == right[0].hollow
        assert found == right
        assert later == right_later
        assert found[0].without(part) == right[0].without(part)
        assert found[0].batches(part) == right[0].batches(part)
        assert list(told[key]) == list(one_by_one[key])
    _same(shown, expected)
    _same(*(shown_state(pointer, groups, before, audits=None) for groups in (told, one_by_one)))


def remembering(store: MemoryStore, sealed: int) -> Ledger:
    """The ledger, of which so many entries are written for good, as it is when they are remembered."""
    store.table(LEDGER).sealed_rows = sealed
    ledger = Ledger(store, rows := MemoryRows())
    assert (len(ledger.rows()) > 0, bool(rows.rows)) == (bool(store.table(LEDGER).rows), sealed > 0)
    return Ledger(store, rows)


@settings(max_examples=100)
@given(st.data())
def test_what_runs_and_what_failed(data: st.DataObject) -> None:
    """Status is told of the same batches under way, and of the failures that no build of the same interval followed,
    as by all entries."""
    recorded, store = data.draw(entries().flatmap(st.permutations)), MemoryStore()
    for entry in recorded:
        Ledger(store).append([entry])
    ledger = remembering(store, data.draw(st.integers(0, len(recorded))))
    every, few = by_version(Ledger(store).entries()), by_version(open_or_failed(ledger))
    for key, known in every.items():
        assert unfinished(few.get(key, [])) == unfinished(known)
        failures = [e for e in known if e.kind in (Kind.FAILED, Kind.INVALIDATED)]
        told = [e for e in few.get(key, []) if e.kind in (Kind.FAILED, Kind.INVALIDATED)]
        assert set(map(_part, told)) <= set(map(_part, failures))
        built = coverage(known, audits="", over=T0 - timedelta(days=9)).built  # what is open counts as well
        last = {e.interval: e for e in known if e.kind in (Kind.STARTED, Kind.BUILT, Kind.FAILED)}
        for each in failures:
            own = last.get(each.interval)
            made_up = each.interval in built and own is not None and own.kind is Kind.BUILT
            assert made_up or each in told


def test_a_failure_that_a_build_made_up_for() -> None:
    """It is nothing that anybody has to know any more, and costs no entry; nor does what is empty."""
    store = MemoryStore()
    for kind in (Kind.STARTED, Kind.FAILED, Kind.STARTED, Kind.BUILT):
        Ledger(store).append([Entry(kind=kind, model="m", version="v", interval=day(0), at=T0)])
    Ledger(store).append([Entry(kind=Kind.EMPTY, model="m", version="v", interval=day(1), at=T0)])
    assert open_or_failed(Ledger(store)) == []


@pytest.mark.parametrize(
    "said",
    [
        [(Kind.BUILT, 1), (Kind.INVALIDATED, 10), (Kind.BUILT, 9)],
        [(Kind.FAILED, -1), (Kind.BUILT, 1), (Kind.WITHDRAWN, 1)],
        [(Kind.BUILT, 1), (Kind.FAILED, -1)],
    ],
)
def test_a_failure_that_nothing_made_up_for(said: Sequence[tuple[Kind, int]]) -> None:
    """Whoever recorded it, in whichever order: its day lacks, or a new try failed."""
    store = MemoryStore()
    for number, (kind, commit) in enumerate(said):
        entry = Entry(kind=kind, model="m", version="v", interval=day(0), at=T0, table_commit=commit, batch=f"{number}")
        Ledger(store).append([entry])
    assert [e.kind for e in open_or_failed(Ledger(store)) if e.kind in (Kind.FAILED, Kind.INVALIDATED)] == [
        kind for kind, _ in said if kind in (Kind.FAILED, Kind.INVALIDATED)
    ]


def test_two_record_in_another_order_than_they_wrote() -> None:
    """The newer rows count, and what is said of them: an older build that is recorded last makes no day green."""
    store = MemoryStore()
    newer = Entry(kind=Kind.BUILT, model="m", version="v", interval=day(0), at=T0, table_commit=2, batch="b")
    older = replace(newer, table_commit=1, batch="a")
    red = replace(newer, kind=Kind.INVALIDATED, reason="red")
    Ledger(store).append([newer, red, older, replace(older, kind=Kind.AUDITED, audits="now")])
    have = History(Ledger(store))["m", "v"].coverage("now", None)
    assert (have.green, have.refused) == (NOTHING, ((day(0), "red"),))


def _same(found: ShownState, right: ShownState) -> None:
    assert sorted(found.parts, key=_part) == sorted(right.parts, key=_part)
    assert replace(found, parts=()) == replace(right, parts=())


def _part(part: object) -> str:
    return repr(part)


@example(utc("1700-01-01"))
@example(utc("2199-12-31T23:59:59.999999"))
@given(st.datetimes(min_value=utc("1700-01-01").replace(tzinfo=None), max_value=utc("2200-12-31").replace(tzinfo=None)))
def test_instants_are_numbers(at: object) -> None:
    """To the microsecond, before 1970 too."""
    moment = utc(at)  # type: ignore[arg-type]
    assert instant(micros(moment)) == moment


def daily(kinds: Sequence[tuple[Kind, str]]) -> list[Entry]:
    """Five days of a version, each with these entries of a batch."""
    return [
        Entry(
            kind=kind, model="m", version="v", interval=day(n), table_commit=n + 1, batch=f"b{n}", audits=audits, at=T0
        )
        for n in range(5)
        for kind, audits in kinds
    ]  # fmt: skip


FIVE_DAYS = Pointer(
    model="m", time_column="ds", timestamps=False, columns=(),
    segments=Segments([Segment(interval=day(0, 5), version="v", commit=5)]),
)  # fmt: skip


def test_somebody_writes_between_two_looks_at_a_log() -> None:
    """What was shown as the newest build when its state was told is overwritten when the coverage is: it stays as it is
    shown, and is not missing."""
    store = MemoryStore()
    Ledger(store).append(daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")]))
    commits = [_commit(n, f"b{n - 1}", day(n - 1) if n else None) for n in range(6)]
    told = History(Ledger(store))
    shown = shown_state(FIVE_DAYS, told, Logs({"v": commits}), audits="now")
    later = Logs({"v": [*commits, _commit(6, "", None)]})
    head, _ = version_coverage(told["m", "v"], later, model="m", version="v", audits="now")
    assert not head.complete
    found = as_shown(head, "v", FIVE_DAYS, shown)
    assert found.complete == found.shown_apart.covers == Ranges((day(0, 5),))
    assert [*shown_state(FIVE_DAYS, told, later, audits="now").foreign.values()] == [Ranges((day(0, 5),))]


def test_a_day_that_counts_for_nothing_stays_as_it_is_shown() -> None:
    """A coverage without a day of what is shown: that day is told apart, the others as they are."""
    store = MemoryStore()
    Ledger(store).append(daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")]))
    log = Logs({"v": [_commit(n, f"b{n - 1}", day(n - 1) if n else None) for n in range(6)]})
    told = History(Ledger(store))
    head, _ = version_coverage(told["m", "v"], log, model="m", version="v", audits="now")
    shown = shown_state(FIVE_DAYS, told, log, audits="now")
    found = as_shown(head.without(Ranges((day(2),))), "v", FIVE_DAYS, shown)
    assert (found.complete, found.shown_apart.covers) == (Ranges((day(0, 5),)), Ranges((day(2),)))


def test_an_older_build_is_shown() -> None:
    """A day that was built again since it was shown stays as it is shown, at its commit: told from columns as well."""
    store = MemoryStore()
    Ledger(store).append(daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")]))
    again = daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")])[:2]
    Ledger(store).append([replace(e, table_commit=6, batch="again") for e in again])
    commits = [_commit(n, f"b{n - 1}", day(n - 1) if n else None) for n in range(6)]
    log, told = Logs({"v": [*commits, _commit(6, "again", day(0))]}), History(Ledger(store))
    head, _ = version_coverage(told["m", "v"], log, model="m", version="v", audits="now")
    assert head.newest(Ranges((day(0),))) == 6
    found = as_shown(head, "v", FIVE_DAYS, shown_state(FIVE_DAYS, told, log, audits="now"))
    assert (found.complete, found.shown_apart.covers) == (Ranges((day(0, 5),)), Ranges((day(0),)))
    assert found.newest(Ranges((day(0),))) == 1


def _by_columns_and_one_by_one(recorded: Sequence[Entry], log: Logs) -> Coverage:
    store = MemoryStore()
    Ledger(store).append(recorded)
    found, right = (
        version_coverage(groups["m", "v"], log, model="m", version="v", audits="now")
        for groups in (History(Ledger(store)), by_version(Ledger(store).entries()))
    )
    assert found == right
    return found[0]


def test_two_batches_at_one_commit() -> None:
    """As many builds as commits, but one of them was of a table that is gone: the log is looked at, and what somebody
    else wrote is no batch's."""
    built = daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")])[:4]
    recorded = [*built[:2], *(replace(e, table_commit=1) for e in built[2:])]
    log = Logs({"v": [_commit(0, "", None), _commit(1, "b0", day(0)), _commit(2, "x", day(0))]})
    assert _by_columns_and_one_by_one(recorded, log).built == NOTHING


def test_one_batch_is_recorded_twice() -> None:
    """The other commit of the table is then somebody else's, and nothing older counts."""
    built = daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")])[:2]
    recorded = [*built, replace(built[0], table_commit=2, interval=day(1))]
    log = Logs({"v": [_commit(0, "", None), _commit(1, "b0", day(0)), _commit(2, "", None)]})
    assert _by_columns_and_one_by_one(recorded, log).built == Ranges((day(1),))


def test_what_is_said_of_a_commit_that_is_not_there_yet() -> None:
    """The log was read before it: it does not count yet."""
    built = daily([(Kind.BUILT, ""), (Kind.AUDITED, "now")])[:2]
    recorded = [*built, replace(built[0], kind=Kind.INVALIDATED, table_commit=5, reason="red")]
    log = Logs({"v": [_commit(0, "", None), _commit(1, "b0", day(0))]})
    assert _by_columns_and_one_by_one(recorded, log).green == Ranges((day(0),))


def test_audits_without_a_name_count_for_what_is_shown() -> None:
    """Of what is shown, not of what is to be shown: told from columns as one by one."""
    store = MemoryStore()
    Ledger(store).append(daily([(Kind.BUILT, ""), (Kind.AUDITED, "")]))
    log = Logs({"v": [_commit(n, f"b{n - 1}", day(n - 1) if n else None) for n in range(6)]})
    told = History(Ledger(store))
    assert not shown_state(FIVE_DAYS, told, log, audits="now").unaudited
    head, _ = version_coverage(told["m", "v"], log, model="m", version="v", audits="now")
    assert head.unaudited == Ranges((day(0, 5),))


def test_a_batch_under_way_beside_one_that_ended_later() -> None:
    """A build of two days, then one of them begun again and the other one built again: the first of these is under
    way, although the newest word on the two days is an end."""
    store = MemoryStore()
    for kind, interval in ((Kind.BUILT, day(0, 2)), (Kind.STARTED, day(0)), (Kind.BUILT, day(1))):
        Ledger(store).append([Entry(kind=kind, model="m", version="v", interval=interval, at=T0)])
    assert [e.interval for e in unfinished(open_or_failed(Ledger(store)))] == [day(0)]


def test_what_is_written_for_good_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then only what came after it, and both together say the same: of digests, versions and builds on either side."""
    store, asked = MemoryStore(), list[int]()
    then = daily([(Kind.STARTED, ""), (Kind.BUILT, ""), (Kind.AUDITED, "then")])
    Ledger(store).append(then)
    ledger = remembering(store, 7)
    now = daily([(Kind.AUDITED, "now"), (Kind.FAILED, "")])
    Ledger(store).append([*now, replace(then[1], batch="again", table_commit=6), replace(then[1], version="w")])
    columns = store.table(LEDGER).columns
    counted = lambda *said, after=-1: asked.append(after) or columns(*said, after=after)  # type: ignore[func-returns-value] # noqa: E731
    monkeypatch.setattr(type(store.table(LEDGER)), "columns", lambda _, *said, **after: counted(*said, **after))
    for _ in range(2):
        assert rows_of(ledger) == rows_of(Ledger(store))
    last = store.table(LEDGER).rows[6]["sequence"]
    assert asked == [last, -1, last, -1]
    log = Logs({"v": [_commit(n, f"b{n - 1}", None) for n in range(6)] + [_commit(6, "again", None)]})
    found, right = (
        version_coverage(History(each)["m", "v"], log, model="m", version="v", audits="now")
        for each in (ledger, Ledger(store))
    )
    assert found == right
    assert found[0].green == Ranges((day(1, 4),))
    store.table(LEDGER).sealed_rows = 9
    assert rows_of(ledger) == rows_of(Ledger(store))
    assert ledger.rows().parts[0].last == store.table(LEDGER).rows[8]["sequence"]


def rows_of(ledger: Ledger) -> object:
    """The rows, as values, in any order; with the texts that their digests stand for."""
    rows = ledger.rows()

    def told(mine: VersionRows) -> list[str]:
        columns = {f.name: getattr(mine, f.name).tolist() for f in fields(mine)}
        columns["audits"] = [rows.audits[code] for code in columns["audits"]]
        return sorted(map(repr, zip(*columns.values(), strict=True)))

    return {key: told(mine) for key, mine in rows.items()}


def test_something_was_said_of_a_batch_before_it_was_recorded() -> None:
    """As when two record in another order than they wrote: it counts for what is shown, told from columns as well."""
    store, built = MemoryStore(), daily([(Kind.BUILT, "")])[0]
    red = replace(built, kind=Kind.INVALIDATED, table_commit=0, reason="red")
    Ledger(store).append([red, built, replace(built, kind=Kind.AUDITED, audits="now")])
    log = Logs({"v": [_commit(0, "", None), _commit(1, "b0", day(0))]})
    pointer = replace(FIVE_DAYS, segments=Segments([Segment(interval=day(0), version="v", commit=1)]))
    found, right = (
        shown_state(pointer, groups, log, audits="now")
        for groups in (History(Ledger(store)), by_version(Ledger(store).entries()))
    )
    assert found.red == right.red == {"red": Ranges((day(0),))}


def test_entries_without_numbers() -> None:
    """Of releases that gave none: who of two had the last word at one commit is told by entries, by their times."""
    store, built = MemoryStore(), daily([(Kind.BUILT, "")])[0]
    audited = replace(built, kind=Kind.AUDITED, audits="now")
    gone = replace(built, kind=Kind.INVALIDATED, batch="", at=T0 - timedelta(hours=1), reason="red")
    Ledger(store).append([built, audited, gone])
    store.table(LEDGER).rows = [{**row, "sequence": 0} for row in store.table(LEDGER).rows]
    log = Logs({"v": [_commit(0, "", None), _commit(1, "b0", day(0))]})
    for order in (1, -1):
        store.table(LEDGER).rows = store.table(LEDGER).rows[::order]
        found, right = (
            version_coverage(groups["m", "v"], log, model="m", version="v", audits="now")[0]
            for groups in (History(Ledger(store)), by_version(Ledger(store).entries()))
        )
        assert found == right
        assert found.green == Ranges((day(0),))


def test_nothing_is_recorded() -> None:
    """An empty ledger, and one in which no batch is under way: nothing is found."""
    store = MemoryStore()
    assert (open_or_failed(Ledger(store)), [*History(Ledger(store))]) == ([], [])
    Ledger(store).append(daily([(Kind.STARTED, ""), (Kind.BUILT, "")]))
    assert open_or_failed(Ledger(store)) == []


def test_what_everybody_has_costs_no_entry() -> None:
    """A version that was built and audited day by day is told without reading an entry; one that was not, by those of
    its other intervals."""
    store = MemoryStore()
    plain = daily([(Kind.STARTED, ""), (Kind.BUILT, ""), (Kind.AUDITED, "now")])
    Ledger(store).append(plain)
    Ledger(store).append([replace(plain[-1], kind=Kind.INVALIDATED, audits="now", reason="red")])
    ledger = Ledger(store)
    read: list[Sequence[Entry]] = []
    chosen = ledger.chosen
    ledger.chosen = lambda *said, **after: read.append(found := chosen(*said, **after)) or found  # type: ignore[method-assign]
    ledger.entries = lambda *_, **__: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    log = Logs({"v": [_commit(n, f"b{n - 1}", None) for n in range(6)]})
    found, _ = version_coverage(History(ledger)["m", "v"], log, model="m", version="v", audits="now")
    assert (str(found.green), str(found.unaudited)) == ("2024-02-01..2024-02-04", "nothing")
    assert [e.interval for e in read[0]] == [day(4)] * 3
    assert found.newest(found.green) == 4


def test_a_model_that_is_named_twice() -> None:
    """Its entries are there once: when they are read, and when they are remembered."""
    store = MemoryStore()
    Ledger(store).append(daily([(Kind.BUILT, "")]))
    ledger = Ledger(store)
    for _ in range(2):
        assert [e.interval for e in ledger.entries(["m", "m"])] == [day(n) for n in range(5)]
