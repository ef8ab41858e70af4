"""Six people open plans for other versions of the same models at the same moment: exactly one may."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.state.store import Store
from backfill_assets_tests.fakes import World, a_model
from backfill_assets_tests.memory_store import MemoryStore

PEOPLE = 6


@pytest.fixture(params=["memory", "delta"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else DeltaStore(str(tmp_path))


def test_one_of_six_gets_the_lease(store: Store) -> None:
    """Whoever commits second sees the first one's plan, and is refused."""
    together = Barrier(PEOPLE)

    def person(number: int) -> bool:
        world = World(a_model("a"), a_model("b"), store=store, versions={"a": f"{number}", "b": f"{number}"})
        plan = world.plan()
        together.wait(timeout=20)
        try:
            return (
                store_plan(
                    world.control, plan, by=f"person {number}", views=lambda: None, code=world.project.fingerprints
                )
                is not None
            )
        except PlanError as refused:
            assert "also changes a, b" in refused.what
            return False

    with ThreadPoolExecutor(PEOPLE) as pool:
        assert sorted(pool.map(person, range(PEOPLE))) == [False] * (PEOPLE - 1) + [True]
