"""Somebody else's command between a promotion's look and its commit, on real tables: what it said counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from backfill_assets.core.pointer import Pointer
from backfill_assets.promote import release
from backfill_assets.state.tables import TableLog
from backfill_assets_tests.projects import backfill_here, small_project
from backfill_assets_tests.unsparked import build, unsparked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four days of a model are built, none is shown."""
    root = small_project(tmp_path, days=4)
    build(unsparked(root))
    return root


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Happens once, when the gate has let a promotion through."""
    real = release.with_counts

    def counted(log: TableLog, pointers: Sequence[Pointer]) -> tuple[Pointer, ...]:
        monkeypatch.setattr(release, "with_counts", real)
        act()
        return real(log, pointers)

    monkeypatch.setattr(release, "with_counts", counted)


def test_a_withdrawn_day(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promotion is refused, as it is when it begins after the withdrawal."""
    place = unsparked(root)
    meanwhile(monkeypatch, lambda: backfill_here("withdraw", "daily:2024-01-02..2024-01-02", project=root, user="bo"))
    refused = backfill_here("promote", project=root)
    assert refused.code == 4 and "daily: 1 day is not built: 2024-01-02" in refused.out, refused
    assert not place.control.environments.read("prod").pointers
    assert backfill_here("promote", project=root).code == refused.code


def test_an_abandoned_plan(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is promoted: neither by the promotion that is under way nor by a later one."""
    place = unsparked(root)
    (plan,) = (p.id for p in place.control.plans.all())
    meanwhile(monkeypatch, lambda: backfill_here("abandon", plan, project=root, user="bo"))
    for _ in range(2):
        refused = backfill_here("promote", plan, project=root)
        assert refused.code == 1 and f"plan {plan} was abandoned" in refused.err, refused
        assert not place.control.environments.read("prod").pointers
    assert backfill_here("promote", project=root).code == 0, "what the code is now is another plan"


def test_a_promotion_of_its_own_records_is_not_written_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stores its own plan, in the middle of it: that is judged again, and the packet stands."""
    written: list[str] = []
    from backfill_assets.app import promote

    real = promote.seal_release

    def seal(*args: object, **more: object) -> object:
        written.append("packet")
        return real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(promote, "seal_release", seal)
    assert backfill_here("abandon", unsparked(root).control.plans.all()[0].id, project=root).code == 0
    assert backfill_here("promote", project=root).code == 0
    assert written == ["packet"]
