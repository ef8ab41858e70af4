"""A ledger that keeps what it read says what one says that reads everything anew, whoever appends meanwhile."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.state.ledger import DECIDING, Entry, Kind, Ledger
from backfill_assets_tests.memory_store import MemoryStore

AT = utc("2024-02-01")
MODELS = ("a", "b", "c")
KINDS = (
    None, frozenset[Kind](), frozenset({Kind.STARTED}), DECIDING, DECIDING | {Kind.FAILED}, frozenset(Kind),
    DECIDING - {Kind.AUDITED}, frozenset({Kind.AUDITED, Kind.FAILED}), frozenset({Kind.AUDITED, Kind.STARTED}),
)  # fmt: skip


def an_entry(kind: Kind, model: str, number: int) -> Entry:
    day = Interval(AT + timedelta(days=number), AT + timedelta(days=number + 1))
    return Entry(kind=kind, model=model, version="v", interval=day, batch=f"{number}", at=AT, id=f"{number:04}")


reads = st.tuples(st.none() | st.sets(st.sampled_from(MODELS)), st.sampled_from(KINDS))
appends = st.lists(st.tuples(st.sampled_from(Kind), st.sampled_from(MODELS)), min_size=1, max_size=3)


@given(st.lists(reads | appends, max_size=12))
def test_what_is_kept_is_what_is_there(steps: list[object]) -> None:
    """One ledger reads, another one appends: in any order."""
    store, number = MemoryStore(), 0
    kept, writer = Ledger(store), Ledger(store)
    for step in steps:
        if isinstance(step, list):
            entries = [an_entry(kind, model, number + n) for n, (kind, model) in enumerate(step)]
            writer.append(entries)
            number += len(entries)
        else:
            models, kinds = step  # type: ignore[misc]
            every = Ledger(store).entries(kinds=[Kind.STARTED]) + Ledger(store).entries(
                kinds=set(Kind) - {Kind.STARTED}
            )
            wanted = [e for e in sorted(every, key=lambda e: e.order) if models is None or e.model in models]
            assert kept.entries(models, kinds=kinds) == [e for e in wanted if kinds is None or e.kind in kinds]


def test_a_ledger_that_was_restored(tmp_path: Path) -> None:
    """Read, set back to a copy, and written to as often: the same table at the same commit, with another entry."""
    Ledger(DeltaStore(str(tmp_path / "now"))).append([an_entry(Kind.BUILT, "a", 1)])
    shutil.copytree(tmp_path / "now", tmp_path / "backup")
    ledger = Ledger(DeltaStore(str(tmp_path / "now")))
    ledger.append([an_entry(Kind.BUILT, "a", 2)])
    assert [e.batch for e in ledger.entries()] == ["1", "2"]
    shutil.rmtree(tmp_path / "now")
    shutil.copytree(tmp_path / "backup", tmp_path / "now")
    Ledger(DeltaStore(str(tmp_path / "now"))).append([an_entry(Kind.BUILT, "a", 3)])
    assert [e.batch for e in ledger.entries()] == ["1", "3"]


def test_somebody_appends_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the table and asking for its newest commit: what comes next is read."""
    ledger = Ledger(DeltaStore(str(tmp_path)))
    ledger.append([an_entry(Kind.BUILT, "a", 1)])
    history = DeltaTable.history

    def later(table: DeltaTable, limit: int | None = None) -> list[dict[str, object]]:
        monkeypatch.undo()
        Ledger(DeltaStore(str(tmp_path))).append([an_entry(Kind.BUILT, "a", 2)])
        return history(table, limit)

    monkeypatch.setattr(DeltaTable, "history", later)
    ledger.entries()
    assert [e.batch for e in ledger.entries()] == ["1", "2"]


def test_another_ledger_at_the_same_place(tmp_path: Path) -> None:
    """Read, removed, and made anew by as many commits: what is read are the new entries."""
    ledger = Ledger(DeltaStore(str(tmp_path)))
    ledger.append([an_entry(Kind.BUILT, "a", 1)])
    assert [e.batch for e in ledger.entries()] == ["1"]
    shutil.rmtree(tmp_path / "_control")
    Ledger(DeltaStore(str(tmp_path))).append([an_entry(Kind.BUILT, "a", 2)])
    assert [e.batch for e in ledger.entries()] == ["2"]
