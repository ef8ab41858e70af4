"""Who gets the lease of a version's table? In memory and in Delta the same one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.state.store import Store
from backfill_assets.state.writer_leases import WriterLease, WriterLeases
from backfill_assets_tests.memory_store import MemoryStore

PROCESSES = 6
MINE = WriterLease(
    model="daily",
    version="v1",
    run="r1",
    process="mine",
    home="here/1",
    pid=7,
    since=datetime(2024, 1, 5, 6, 7, 8, tzinfo=UTC),
)
THEIRS = replace(MINE, process="theirs", run="r2", home="there/1")


@pytest.fixture(params=["memory", "delta"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else DeltaStore(str(tmp_path))


def never(_: WriterLease) -> bool:
    return False


def test_a_lease_is_taken_once_and_given_back(store: Store) -> None:
    """Of each table; a process has what it has, for whichever of its runs."""
    leases = WriterLeases(store)
    assert leases.take(MINE, never) is None and leases.take(replace(THEIRS, version="v2"), never) is None
    assert leases.take(THEIRS, never) == MINE == leases.of("daily", "v1")
    assert leases.take(replace(MINE, run="r3"), never) is None
    leases.give_back(replace(MINE, run="r3"))
    assert leases.of("daily", "v1") is None and leases.all() == [replace(THEIRS, version="v2")]
    assert leases.take(THEIRS, never) is None


def test_a_lease_that_is_over_is_taken_over(store: Store) -> None:
    """Whoever had it neither has it any more, nor gives back what is another's."""
    leases, asked = WriterLeases(store), list[WriterLease]()
    leases.take(MINE, never)
    assert leases.take(THEIRS, lambda other: not asked.append(other)) is None and asked == [MINE]
    leases.give_back(MINE)
    assert leases.all() == [THEIRS]


def test_one_of_six_gets_it(store: Store) -> None:
    """Also where all of them take over from one that is gone: who commits second sees the first, and asks again."""
    leases, together = WriterLeases(store), Barrier(PROCESSES)
    leases.take(replace(MINE, process="gone"), never)

    def process(number: int) -> WriterLease | None:
        together.wait(timeout=20)
        return WriterLeases(store).take(replace(THEIRS, process=f"{number}"), lambda other: other.process == "gone")

    with ThreadPoolExecutor(PROCESSES) as pool:
        found = list(pool.map(process, range(PROCESSES)))
    [winner] = [number for number, there in enumerate(found) if there is None]
    assert {there.process for there in found if there is not None} == {f"{winner}"}
    assert [lease.process for lease in leases.all()] == [f"{winner}"]
