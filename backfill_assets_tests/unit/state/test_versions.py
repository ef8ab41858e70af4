"""What is known of versions: kept between two looks, and read again when anything was written."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.adapters.control_delta import DeltaControlTable, DeltaStore
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Signature
from backfill_assets.state.versions import Version, Versions, beside, records_of
from backfill_assets_tests.memory_store import MemoryStore

AT = utc("2024-02-01")


def a_version(number: int, algorithm: int = 1) -> Version:
    return Version(
        model="m", version=f"v{number}", upstream={}, columns=(("ds", "date"),), definition={"algorithm": algorithm},
        signature=Signature(rows=f"{number} by {algorithm}", columns={}), created=AT,
    )  # fmt: skip


steps = st.lists(st.tuples(st.sampled_from(["put", "sign", "look"]), st.integers(0, 2), st.integers(1, 3)), max_size=10)


@given(steps)
def test_what_is_kept_is_what_is_there(steps: list[tuple[str, int, int]]) -> None:
    """One looks, another one writes, in any order: it finds what one does that never looked before."""
    store = MemoryStore()
    kept, writer = Versions(store), Versions(store)
    for what, number, algorithm in steps:
        if what == "put":
            writer.put(a_version(number))
        elif what == "sign" and ("m", f"v{number}") in writer.all():
            writer.sign_again([a_version(number, algorithm)])
        found = kept.all()
        assert found == Versions(store).all()
        found.clear()


def test_another_look_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are read once, until somebody else has written."""
    kept, other = Versions(DeltaStore(str(tmp_path))), Versions(DeltaStore(str(tmp_path)))
    other.put(a_version(1))
    found = kept.all()
    with monkeypatch.context() as patch:
        patch.setattr(DeltaControlTable, "read", lambda *_: pytest.fail("it is read again"))
        assert kept.all() == found
    other.put(a_version(2))
    assert {version for _, version in kept.all()} == {"v1", "v2"}


def test_a_table_that_was_restored(tmp_path: Path) -> None:
    """Set back to a copy and written to as often: the same table at the same commit, with another version."""
    here, backup = tmp_path / "now", tmp_path / "backup"
    Versions(DeltaStore(str(here))).put(a_version(1))
    shutil.copytree(here, backup)
    kept = Versions(DeltaStore(str(here)))
    kept.put(a_version(2))
    assert {version for _, version in kept.all()} == {"v1", "v2"}
    shutil.rmtree(here)
    shutil.copytree(backup, here)
    Versions(DeltaStore(str(here))).put(replace(a_version(3), created=AT))
    assert {version for _, version in kept.all()} == {"v1", "v3"}


@pytest.mark.parametrize(
    ("shown", "reads"),
    [
        ({"orders_v2": "a1"}, "orders_v2"),
        ({"orders": "a1"}, "orders"),
        ({"orders": "a1", "orders_v2": "a1"}, "orders"),
        ({"orders": "a1.r2", "orders_v2": "a1"}, "orders"),
        ({"orders": "b9", "orders_v2": "a1"}, "orders_v2"),
        ({"orders": "b9", "orders_v2": "a3"}, "orders_v2"),
        ({"orders": "a3"}, "orders"),
        ({}, "orders"),
    ],
)
def test_the_record_that_fits_what_is_shown(shown: dict[str, str], reads: str) -> None:
    """Of a model that read `orders_v2`, which is called `orders` by now, as another model was before: that one it has
    never read."""
    versions = Versions(MemoryStore())
    first = replace(a_version(1), upstream={"orders_v2": "a1"})
    versions.put(first)
    versions.follow([replace(first, upstream={"orders": "a1"}, created=utc("2024-02-02"), before=first)])
    [found] = beside(versions.all(), shown).values()
    assert list(found.upstream) == [reads]
    assert [list(r.upstream) for r in records_of(versions.all()["m", "v1"])] == [["orders"], ["orders_v2"]]
