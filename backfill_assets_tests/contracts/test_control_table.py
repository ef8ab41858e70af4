"""What every store of control tables promises: one suite for the one in memory and the one in Delta."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
from deltalake import DeltaTable

from backfill_assets.adapters import control_delta
from backfill_assets.adapters.control_delta import DeltaControlTable, DeltaStore, Guard
from backfill_assets.adapters.growing_table import JOIN_EVERY
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import ConflictError, StateError
from backfill_assets.core.intervals import utc
from backfill_assets.state.columns import instant
from backfill_assets.state.store import Row, Store, TableSpec
from backfill_assets_tests.memory_store import MemoryStore

SPEC = TableSpec(
    name="things", columns={"key": "text", "at": "time", "number": "int", "share": "float", "good": "bool"}
)
AT = utc("2024-02-29T23:59:59.123457")
NOTE = {"release": "r1"}
STRANGE = [
    "",
    "it's",
    "''",
    "' OR '1'='1",
    'say "hi"',
    "back\\slash",
    "a`b",
    "%_*?",
    "line\nbreak\ttab",
    "\x00nul",
    "NULL",
    "Größe 日本 🦆",
    " space ",
    ":x $1 {y} -- /* */",
    "x" * 5000,
]


@pytest.fixture(params=["memory", "delta"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else DeltaStore(str(tmp_path / "ware house"))


def row(key: str, number: int = 0) -> Row:
    return {"key": key, "at": AT, "number": number, "share": 0.1, "good": True}


def keys(rows: list[Row]) -> list[str]:
    return sorted(str(r["key"]) for r in rows)


def test_a_table_that_nobody_wrote_to_is_empty(store: Store) -> None:
    """Reading creates nothing and finds nothing; the revision is -1."""
    table = store.table(SPEC)
    assert table.read() == []
    assert table.read({"key": ["a"]}) == []
    assert table.read_at() == ([], -1)
    assert table.revision() == -1
    table.compact()


def test_rows_come_one_by_one(store: Store) -> None:
    """A stream has the rows that reading gives, filtered alike, as they were when it began; more than one portion."""
    table = store.table(SPEC)
    assert list(table.stream()) == []
    table.append([row(str(n % 7), n) for n in range(20_000)])
    stream = table.stream()
    table.append([row("later")])
    assert sorted(r["number"] for r in stream) == list(range(20_000))  # type: ignore[type-var]
    assert list(table.stream({"key": ["later"]})) == table.read({"key": ["later"]}) == [row("later")]


def test_what_is_read_again_is_the_readers_own(tmp_path: Path) -> None:
    """Rows that were kept may be changed by who got them; what others append is there at once."""
    table, other = (DeltaStore(str(tmp_path)).table(SPEC) for _ in range(2))
    table.append([row("a"), row("b")])
    for where in (None, {"key": ("a",)}):
        [first, *_] = table.read(where)
        first["number"] = 9
        assert {r["number"] for r in table.read(where)} == {0}
    other.append([row("a", 5)])
    assert sorted(str(r["number"]) for r in table.read({"key": ("a",)})) == ["0", "5"]
    assert keys(table.read()) == ["a", "a", "b"] and table.columns(["key"]).rows == 3


def test_what_was_written_need_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a table is to read its log: a writer goes on from its own commit, until somebody else writes."""
    opened: list[str] = []

    def counted(location: str) -> DeltaTable | None:
        opened.append(location)
        return open_table(location)

    monkeypatch.setattr(control_delta, "open_table", counted)
    table, other = (DeltaStore(str(tmp_path)).table(SPEC) for _ in range(2))
    table.append([row("a")])
    first = len(opened)
    for number in range(1, 4):
        table.append([row("a", number)])
        assert {r["number"] for r in table.read()} == {*range(number + 1)}
    commit = table.replace([row("b")], where={"key": ["b"]}, revision=table.revision(), note=NOTE)
    assert commit == table.revision() and keys(table.read()) == ["a"] * 4 + ["b"]
    assert len(opened) == first
    other.append([row("c")])
    with pytest.raises(ConflictError):
        table.replace([row("b", 2)], where={"key": ["b"]}, revision=commit, note=NOTE)
    assert keys(table.read()) == ["a"] * 4 + ["b", "c"]


def test_threads_of_a_table_write_to_one_each(tmp_path: Path) -> None:
    """Of those that saw the same revision one wins, also where what was opened is at hand for all of them."""
    table = DeltaStore(str(tmp_path)).table(SPEC)
    for rounds in range(5):
        table.append([row(f"r{rounds}")])
        seen, gate = table.revision(), Barrier(4)
        table.read()

        def move(number: int, seen: int = seen, gate: Barrier = gate, rounds: int = rounds) -> bool:
            gate.wait()
            name = f"w{rounds}.{number}"
            with suppress(ConflictError):
                return table.replace([row(name)], where={"key": [name]}, revision=seen, note=NOTE) == seen + 1
            return False

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(move, range(4))).count(True) == 1
        assert len(keys(table.read())) == 2 * (rounds + 1)


def test_others_open_it_meanwhile(tmp_path: Path) -> None:
    """Threads share a table: what one of them forgets, another one goes on with."""

    class Forgets(Guard):
        def least(self, table: str) -> int:
            shared._seen = None  # pyright: ignore[reportPrivateUsage]
            return -1

    shared = DeltaControlTable(str(tmp_path / "things"), SPEC, Forgets())
    DeltaControlTable(str(tmp_path / "things"), SPEC).append([row("a")])
    for _ in range(3):
        shared.read()
        seen = DeltaControlTable(str(tmp_path / "things"), SPEC)
        assert seen.read() == [row("a")]
        shared._seen = seen._seen  # pyright: ignore[reportPrivateUsage]
        assert shared.read() == [row("a")]


def test_what_is_at_hand_must_have_reached_what_was_recorded(tmp_path: Path) -> None:
    """A writer is held to it as well: a folder may be set back to an older copy beneath it."""

    class Knows(Guard):
        reached = -1

        def least(self, table: str) -> int:
            return self.reached

    guard = Knows()
    table = DeltaControlTable(str(tmp_path / "things"), SPEC, guard)
    table.append([row("a")])
    guard.reached = 9
    for write in (table.append, lambda rows: table.replace(rows, where={"key": ["b"]}, revision=1, note=NOTE)):
        with pytest.raises(StateError, match="is lost, or older than it was"):
            write([row("b")])
    guard.reached = 1
    assert keys(table.read()) == ["a"]


def test_columns_say_what_rows_say(store: Store) -> None:
    """Numbers, times to the microsecond and texts of all rows, or of those that match; in more than one portion. Rows
    that are chosen by columns are whole."""
    table = store.table(SPEC)
    assert table.columns(["key", "at", "number"]).rows == 0
    assert list(table.chosen(["key"], lambda said: said.texts["key"].are(["1"]))) == []
    there = [{**row(STRANGE[n % len(STRANGE)], n - 3), "at": AT - timedelta(days=30 * n)} for n in range(20_000)]
    for at in range(0, len(there), 7_000):
        table.append(there[at : at + 7_000])
    found = table.columns(["key", "at", "number"])
    texts = found.texts["key"]
    keys, numbers = [texts.values[code] for code in texts.codes.tolist()], found.numbers["number"].tolist()
    told = zip(keys, found.numbers["at"].tolist(), numbers, strict=True)
    listed = [{**row(key, number), "at": instant(at)} for key, at, number in told]
    assert sorted(listed, key=_number) == there
    some = table.columns(["number"], {"key": ["a`b", "nobody"]}).numbers["number"]
    assert sorted(some.tolist()) == [r["number"] for r in there if r["key"] == "a`b"]
    chosen = table.chosen(
        ["key", "number"], lambda said: said.texts["key"].are([""]) & (said.numbers["number"] > 9_000)
    )
    assert sorted(chosen, key=_number) == [r for r in there if r["key"] == "" and r["number"] > 9_000]  # type: ignore[operator]


def _number(found: Row) -> int:
    return int(found["number"])  # type: ignore[call-overload]


def test_columns_that_came_later(store: Store) -> None:
    """What an earlier release wrote has blanks in them."""
    old = TableSpec(name="things", columns={"key": "text"})
    store.table(old).append([{"key": "a"}])
    if isinstance(store, MemoryStore):
        return  # its rows are what was written
    found = store.table(SPEC).columns(["key", "at", "number"])
    assert (found.numbers["at"].tolist(), found.numbers["number"].tolist()) == ([0], [0])
    wider = TableSpec(name="things", columns={"key": "text", "said": "text"})
    assert [*store.table(wider).columns(["said"]).texts["said"].values] == [""]


def test_values_come_back_as_they_were(store: Store) -> None:
    """Text, microseconds in UTC, big and negative numbers, fractions and truth survive the round trip."""
    rows = [
        {"key": "a", "at": AT, "number": 2**62, "share": 0.1 + 0.2, "good": False},
        {"key": "b", "at": utc("1969-12-31T23:59:59.999999"), "number": -1, "share": -1e300, "good": True},
    ]
    table = store.table(SPEC)
    table.append(rows)
    found = sorted(table.read(), key=lambda r: str(r["key"]))
    assert found == rows
    assert all(r["at"].utcoffset() == timedelta(0) for r in found)  # type: ignore[attr-defined]


def test_strange_text_is_kept_and_found(store: Store) -> None:
    """Whatever is in a text, it can be stored, filtered by exactly, and replaced by exactly."""
    table = store.table(SPEC)
    table.append([row(text, n) for n, text in enumerate(STRANGE)])
    assert keys(table.read()) == sorted(STRANGE)
    for number, text in enumerate(STRANGE):
        assert table.read({"key": [text]}) == [row(text, number)], text
    for text in STRANGE:
        table.replace([row(text, -1)], where={"key": [text]}, revision=table.revision(), note=NOTE)
    assert sorted(table.read(), key=lambda r: str(r["key"])) == [row(text, -1) for text in sorted(STRANGE)]


def test_filters_are_and_over_columns_or_over_values(store: Store) -> None:
    """A row matches when each filtered column has one of its values; no values match nothing, no filter everything."""
    spec = TableSpec(name="pairs", columns={"a": "text", "b": "text"})
    table = store.table(spec)
    table.append([{"a": a, "b": b} for a in "12" for b in "xyz"])
    assert len(table.read({"a": ["1"], "b": ["x", "y"]})) == 2
    assert table.read({"a": ["1"], "b": []}) == []
    assert len(table.read({})) == 6
    assert table.read({"a": ["3"]}) == []


def test_appends_of_many_rows_are_one_commit(store: Store) -> None:
    """The revision moves once an append, and never back."""
    table = store.table(SPEC)
    table.append([row("a"), row("b")])
    first = table.revision()
    table.append([row("c")])
    assert table.revision() == first + 1
    assert keys(table.read()) == ["a", "b", "c"]


NUMBERED = TableSpec(name="numbered", columns={"key": "text", "number": "int"}, sequence="number")


def test_rows_are_numbered_in_the_order_of_commits(store: Store) -> None:
    """Whoever writes at the same time, every row has a number of its own; later commits and rows have larger ones."""
    table = store.table(NUMBERED)
    table.append([{"key": "first", "number": 0}])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: table.append([{"key": f"{n}a", "number": 0}, {"key": f"{n}b", "number": 0}]), range(8)))
    table.replace([{"key": "new", "number": 0}], where={"key": ["new"]}, revision=table.revision(), note=NOTE)
    table.append([{"key": "last", "number": 0}])
    table.compact(most_files=1)
    found = [str(row["key"]) for row in sorted(table.read(), key=lambda row: int(str(row["number"])))]
    assert len({row["number"] for row in table.read()}) == len(found) == 19
    assert (found[0], *found[-2:]) == ("first", "new", "last")
    assert all(found[at].replace("a", "b") == found[at + 1] for at in range(1, 17, 2)), "a commit's rows stay together"


def test_replace_touches_only_what_matches(store: Store) -> None:
    """Matching rows go, new ones come, others stay; the new revision is returned."""
    table = store.table(SPEC)
    table.append([row("a"), row("b"), row("c")])
    where = {"key": ["b", "c", "d"]}
    revision = table.replace([row("b", 1), row("d")], where=where, revision=table.revision(), note=NOTE)
    assert table.revision() == revision
    found, seen = table.read_at()
    assert seen == revision
    assert {(r["key"], r["number"]) for r in found} == {("a", 0), ("b", 1), ("d", 0)}
    table.replace([], where={"key": ["a"]}, revision=revision, note=NOTE)
    assert keys(table.read()) == ["b", "d"]
    with pytest.raises(AssertionError):
        table.replace([row("x")], where={"key": ["b"]}, revision=table.revision(), note=NOTE)
    assert keys(table.read()) == ["b", "d"]


def test_replace_can_be_the_first_write(store: Store) -> None:
    """An environment's first promotion finds no table: revision -1 is what it saw."""
    table = store.table(SPEC)
    revision = table.replace([row("a")], where={"key": ["a"]}, revision=-1, note=NOTE)
    assert keys(table.read()) == ["a"]
    assert revision == table.revision() >= 0
    with pytest.raises(ConflictError):
        table.replace([row("b")], where={"key": ["b"]}, revision=-1, note=NOTE)
    assert keys(table.read()) == ["a"]


@pytest.mark.parametrize("between", ["append", "replace"])
def test_a_lost_race_writes_nothing(store: Store, between: str) -> None:
    """Whoever names an older revision is refused, even when the rows are others: the caller looks again."""
    table = store.table(SPEC)
    table.append([row("a"), row("b")])
    seen = table.revision()
    if between == "append":
        table.append([row("c")])
    else:
        table.replace([row("b", 1)], where={"key": ["b"]}, revision=seen, note=NOTE)
    before = table.read_at()
    with pytest.raises(ConflictError):
        table.replace([row("a", 2)], where={"key": ["a"]}, revision=seen, note=NOTE)
    assert table.read_at()[1] == before[1]
    assert len(table.read()) == len(before[0])
    assert table.read({"key": ["a"]}) == [row("a")]


def test_many_threads_create_and_append_at_once(store: Store) -> None:
    """Writers that all find no table lose no row."""
    gate = Barrier(8)

    def write(number: int) -> None:
        gate.wait()
        for step in range(4):
            store.table(SPEC).append([row(f"{number}.{step}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert keys(store.table(SPEC).read()) == sorted(f"{n}.{s}" for n in range(8) for s in range(4))


def test_of_racing_replacements_one_wins(store: Store) -> None:
    """Eight writers that saw the same revision: one commit, seven conflicts, no mixture."""
    table = store.table(SPEC)
    table.append([row("a"), row("b")])
    seen, gate = table.revision(), Barrier(8)

    def move(number: int) -> bool:
        gate.wait()
        try:
            # Every writer has rows of its own to replace: a store that only compares rows would let all of them in.
            store.table(SPEC).replace([row(f"w{number}")], where={"key": [f"w{number}"]}, revision=seen, note=NOTE)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(move, range(8)))
    assert won.count(True) == 1
    assert keys(table.read()) == sorted(["a", "b", f"w{won.index(True)}"])
    assert table.revision() == seen + 1


def test_replace_returns_the_revision_of_its_own_commit(store: Store) -> None:
    """Not that of a later one: the next replacement would then overlook what came in between."""
    table = store.table(SPEC)
    table.append([row("a")])
    before = table.revision()
    assert table.replace([row("a", 1)], where={"key": ["a"]}, revision=before, note=NOTE) == before + 1


def test_compaction_changes_no_row(store: Store) -> None:
    """After many small commits, compaction keeps every row and readers and writers go on."""
    table = store.table(SPEC)
    for number in range(12):
        table.append([row(f"{number:02}", number)])
    before = sorted(table.read(), key=lambda r: str(r["key"]))
    table.compact(most_files=5)
    assert sorted(table.read(), key=lambda r: str(r["key"])) == before
    table.append([row("later")])
    assert len(table.read()) == 13
    assert len(table.read({"key": ["03", "later"]})) == 2


def test_tables_of_one_store_are_apart(store: Store) -> None:
    """Two specs are two tables."""
    other = TableSpec(name="others", columns=SPEC.columns)
    store.table(SPEC).append([row("a")])
    assert store.table(other).read() == []


# --- only Delta has files and other processes -------------------------------------------------------------------------


def test_delta_compaction_leaves_few_files(tmp_path: Path) -> None:
    """It is what compaction is for; below the limit nothing is done."""

    table = DeltaStore(str(tmp_path)).table(SPEC)
    for number in range(8):
        table.append([row(str(number))])
    place = str(tmp_path / "_control" / "things")
    before = DeltaTable(place).version()
    table.compact(most_files=8)
    assert DeltaTable(place).version() == before
    table.compact(most_files=7)
    assert len(DeltaTable(place).file_uris()) == 1


def test_whoever_appends_joins_files(tmp_path: Path) -> None:
    """Also of tables that do not grow for ever: versions of hundreds of models are read by each command."""
    table = DeltaStore(str(tmp_path)).table(SPEC)
    place = tmp_path / "_control" / "things"
    for number in range(JOIN_EVERY + 2):
        table.append([row(str(number))])
        if number == JOIN_EVERY - 2:
            assert len(DeltaTable(place).file_uris()) == JOIN_EVERY - 1
    assert len(DeltaTable(place).file_uris()) < 4
    assert keys(table.read()) == sorted(map(str, range(JOIN_EVERY + 2)))
    assert keys(DeltaStore(str(tmp_path)).table(SPEC).read()) == sorted(map(str, range(JOIN_EVERY + 2)))


def test_what_is_large_is_not_written_once_more_by_each_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was joined stays on the disk: of documents that would be a table's size each time."""
    monkeypatch.setattr(control_delta, "_SMALL", 1000)
    table = DeltaStore(str(tmp_path)).table(SPEC)
    for number in range(JOIN_EVERY + 2):
        table.append([row(str(number))])
    assert len(DeltaTable(tmp_path / "_control" / "things").file_uris()) == JOIN_EVERY + 2


def test_a_join_that_fails_is_no_failed_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are recorded, and whoever watches was told of them."""
    told: list[object] = []

    class Watching(Guard):
        def after_append(self, table: str, rows: Sequence[Row]) -> None:
            told.extend(rows)

    def failing(*_: object, **__: object) -> None:
        raise StateError("no room", why="the disk is full", fix="free some")

    table = DeltaControlTable(str(tmp_path / "things"), SPEC, Watching())
    monkeypatch.setattr(DeltaControlTable, "_join", failing)
    for number in range(JOIN_EVERY + 1):
        table.append([row(str(number))])
    assert len(table.read()) == len(told) == JOIN_EVERY + 1


def test_delta_conflict_between_the_check_and_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone who commits after the revision was compared, but before the commit, still makes it a conflict."""
    store = DeltaStore(str(tmp_path))
    table = store.table(SPEC)
    table.append([row("a"), row("b")])
    seen = table.revision()
    arrow: Callable[..., object] = table._arrow  # type: ignore[attr-defined]

    def late(rows: list[Row]) -> object:
        monkeypatch.undo()
        store.table(SPEC).append([row("somebody else")])
        return arrow(rows)

    monkeypatch.setattr(table, "_arrow", late)
    with pytest.raises(ConflictError):
        table.replace([row("a", 1)], where={"key": ["a"]}, revision=seen, note=NOTE)
    assert table.read({"key": ["a"]}) == [row("a")]
    assert table.read({"key": ["somebody else"]})


_WRITER = """
import sys
from backfill_assets_tests.contracts.test_control_table import NUMBERED, SPEC, row
from backfill_assets.adapters.control_delta import DeltaControlTable, DeltaStore, Guard
import deltalake
store = DeltaStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for step in range(5):
    store.table(SPEC).append([row(f"{sys.argv[2]}.{step}")])
    store.table(NUMBERED).append([{"key": f"{sys.argv[2]}.{step}", "number": 0}])
"""


def test_delta_many_processes_create_and_append_at_once(tmp_path: Path) -> None:
    """The first runs of two schedules on a new warehouse start together: no row is lost, nobody fails."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(min(4, 2 * multiprocessing.cpu_count()))
    ]
    for writer in writers:
        assert writer.stdout and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, trouble = writer.communicate(timeout=60)
        assert writer.returncode == 0, trouble
    found = keys(DeltaStore(str(tmp_path)).table(SPEC).read())
    assert found == sorted(f"{n}.{s}" for n in range(len(writers)) for s in range(5))
    numbers = {str(r["key"]): int(str(r["number"])) for r in DeltaStore(str(tmp_path)).table(NUMBERED).read()}
    assert sorted(numbers) == found and len(set(numbers.values())) == len(found)
    for n in range(len(writers)):
        assert numbers[f"{n}.0"] < numbers[f"{n}.1"] < numbers[f"{n}.2"] < numbers[f"{n}.3"] < numbers[f"{n}.4"]


def test_a_column_of_a_later_release(tmp_path: Path) -> None:
    """A table that an earlier release made is read with blanks and written with the new column; nothing is lost."""
    store = DeltaStore(str(tmp_path))
    store.table(TableSpec(name="things", columns={"key": "text"})).append([{"key": "old"}])
    table = store.table(TableSpec(name="things", columns={"key": "text", "number": "int", "words": "text"}))
    assert table.read() == [{"key": "old", "number": 0, "words": ""}]
    table.append([{"key": "new", "number": 7, "words": "x"}])
    table.replace(
        [{"key": "newest", "number": 8, "words": ""}], where={"key": ["newest"]}, revision=table.revision(), note=NOTE
    )
    found = {r["key"]: r["number"] for r in table.read()}
    assert found == {"old": 0, "new": 7, "newest": 8}


def test_delta_a_full_disk_is_said_and_the_same_write_succeeds_later(tmp_path: Path) -> None:
    """The kernel refuses to let files grow: StateError with a remedy, what was there is kept, and nothing else is."""
    code = """
import resource, signal, sys
from backfill_assets.adapters.control_delta import DeltaControlTable, DeltaStore, Guard
from backfill_assets.core.errors import StateError
from backfill_assets_tests.contracts.test_control_table import NOTE, SPEC, row
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
table = DeltaStore(sys.argv[1]).table(SPEC)
table.append([row("first")])
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for write in (
    lambda: table.append([row("second")]),
    lambda: table.replace([row("first", 2)], where={"key": ["first"]}, revision=table.revision(), note=NOTE),
    lambda: DeltaStore(sys.argv[1] + "/new").table(SPEC).append([row("other")]),
):
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, most))
    try:
        write()
    except StateError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        assert "cannot be written; what was done before is kept" in error.what and "room" in error.fix, str(error)
        assert "arge" in error.why, error.why  # too large
        assert table.read() == [row("first")]
    else:
        sys.exit("it was written")
table.append([row("second")])
assert sorted(r["key"] for r in table.read()) == ["first", "second"]
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
