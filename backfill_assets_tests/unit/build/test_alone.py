"""What is built where an interval has other rows when it is computed by itself? No batch of several."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from backfill_assets.build.build import build
from backfill_assets.build.engine import Job, OneAlone
from backfill_assets.core.errors import TransientBuildError
from backfill_assets.core.intervals import Interval
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.fakes import World, a_model, days, ranges

TEN = days("01", "10")


def others(job: Job, batch: Interval) -> OneAlone:
    return OneAlone(interval=days("03"), columns=("share",), rows=(10, 10))


def built(world: World) -> list[str]:
    return sorted(str(e.interval) for e in world.control.ledger.entries() if e.kind is Kind.BUILT)


def test_nothing_is_recorded_as_built() -> None:
    """No batch of several days, whichever was looked at; each failure says what to do. A batch of one day is what
    that day is alone, and one look is enough for all."""
    world = World(a_model("a", "raw"))
    world.engine.other = others
    outcome = build(world.bench(), "a", ranges(TEN))
    assert built(world) == ["2024-01-10"] and str(outcome.green) == "2024-01-10"
    assert [str(f.interval) for f in outcome.failures] == [
        "2024-01-01..2024-01-03",
        "2024-01-04..2024-01-06",
        "2024-01-07..2024-01-09",
    ]
    error = outcome.failures[0].error
    assert "rows of a depend on which days are computed with them" in error
    assert "2024-01-03, computed by itself, has other values of share" in error and "`batch_size: 1`" in error
    assert len(world.engine.alone) == 1 and len(world.engine.writes) < 4, "no half of a batch is tried"


def test_by_single_days_all_is_built() -> None:
    """`batch_size: 1` is the way on that the error names."""
    world = World(replace(a_model("a", "raw"), batch_size=1))
    world.engine.other = others
    assert build(world.bench(), "a", ranges(TEN)).ok and not world.engine.alone


def test_rows_that_come_and_go() -> None:
    """How many they are, where it is that."""
    world = World(a_model("a", "raw"))
    world.engine.other = lambda job, batch: OneAlone(interval=days("03"), columns=(), rows=(4, 0))
    [failure, *_] = build(world.bench(), "a", ranges(TEN)).failures
    assert "2024-01-03, computed by itself, has 0 rows, not 4 as in the batch" in failure.error


def test_a_look_that_failed_is_made_again() -> None:
    """Where the machine was at fault, the next attempt looks."""
    world = World(a_model("a", "raw"))
    tries: list[Interval] = []

    def fails_once(job: Job, batch: Interval) -> OneAlone:
        tries.append(batch)
        if len(tries) == 1:
            raise TransientBuildError("busy")
        return replace(others(job, batch), columns=())

    world.engine.other = fails_once
    assert build(world.bench(), "a", ranges(TEN)).ok and len(tries) == 2


def test_a_batch_that_tells_nothing_leaves_it_to_the_next() -> None:
    """As one without rows. What is recorded by then stays; from the batch that tells on, nothing is."""
    world = World(a_model("a", "raw"))
    world.engine.other = lambda job, batch: None if days("01") in ranges(batch) else others(job, batch)
    outcome = build(world.bench(), "a", ranges(TEN))
    assert built(world)[-1] == "2024-01-10" and "2024-01-04..2024-01-06" not in built(world)
    assert "2024-01-07..2024-01-09" in {str(f.interval) for f in outcome.failures}


def test_values_that_are_others_each_time_are_told() -> None:
    """They do not depend on the batch, so it is built; but for a model that says why that does not matter."""
    for reason in ("", "an id to look at"):
        world = World(a_model("a", "raw", allow_nondeterministic=reason))
        world.engine.other = lambda job, batch: OneAlone(
            interval=days("03"), columns=(), rows=(10, 10), unsteady=("runs", "id")
        )
        outcome = build(world.bench(), "a", ranges(TEN))
        assert outcome.ok and bool(outcome.unsteady) is not bool(reason)
        assert ("a has other values of runs, id each time that it is computed" in outcome.doubt) is not bool(reason)


def test_the_look_is_no_part_of_a_batchs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By which batches are sized."""
    world, real, passed = World(a_model("a", "raw")), time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + passed[0])

    def slowly(job: Job, batch: Interval) -> OneAlone:
        passed[0] += 1000
        return replace(others(job, batch), columns=())

    world.engine.other = slowly
    assert build(world.bench(), "a", ranges(TEN)).ok and len(world.engine.alone) == 1
    assert all(e.seconds < 900 for e in world.control.ledger.entries() if e.kind is Kind.BUILT)
