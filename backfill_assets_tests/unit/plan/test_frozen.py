"""What is left of a plan reads what the plan froze; what is mended, open, withdrawn or new reads what is there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.plan.frozen import Continued, Stored, continued
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets_tests.fakes import NOW, a_model, a_project, days, ranges

TEN = ranges(days("01", "10"))
AT = datetime(2024, 1, 11, tzinfo=UTC)
PROJECT = a_project(a_model("a", "raw"))


def entry(kind: Kind, interval: Interval, commit: int | None = None, **more: object) -> Entry:
    inputs = {"raw": {"commit": commit}} if commit is not None else None
    blank = Entry(kind=kind, model="a", version="a-1", interval=interval, inputs=inputs, at=AT)
    return replace(blank, **more)  # type: ignore[arg-type]


def a_plan(commit: int = 5, **more: object) -> Stored:
    record = PlanRecord(
        id="ab12",
        environment="prod",
        targets=(PlanTarget(model="a", version="a-1", intervals=TEN),),
        created=AT,
        by="ana",
        status=PlanStatus.OPEN,
        since=AT,
    )
    return replace(Stored(record=record, now=NOW, sources={"raw": {"commit": commit}}), **more)  # type: ignore[arg-type]


def go(*entries: Entry, left: Ranges = TEN, plan: Stored | None = None, touched: Ranges | None = TEN) -> Continued:
    """What is left of the plan, the source being at commit 9 by now."""
    of = {("a", "a-1"): entries}
    pins = {"raw": {"commit": 9}}
    return continued(PROJECT, {"a": ("a-1", left)}, [plan or a_plan()], pins, of, lambda name, commit: touched)


def frozen(found: Continued) -> dict[str, object]:
    return {str(f.intervals): f.sources["raw"]["commit"] for f in found.frozen}


def moved(found: Continued) -> dict[str, tuple[object, str]]:
    return {str(m.intervals): (m.then["commit"], m.why) for m in found.moved}


def test_what_was_not_tried_is_frozen() -> None:
    """Nothing was recorded of these days, or that a batch began or was interrupted: they read what the plan froze."""
    found = go(entry(Kind.FAILED, days("02"), reason="a 2024-01-02 was interrupted"))
    assert frozen(found) == {"2024-01-01..2024-01-10": 5}
    assert not found.moved


def test_a_source_that_did_not_change_needs_nothing() -> None:
    """The same commit: nothing is said."""
    assert go(plan=a_plan(9)) == Continued()


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        pytest.param([entry(Kind.FAILED, days("03"), 5, reason="x")], "their build failed", id="failed"),
        pytest.param(
            [entry(Kind.BUILT, days("03"), 5, batch="b"), entry(Kind.INVALIDATED, days("03"), batch="b", reason="red")],
            "red",
            id="red",
        ),
        pytest.param([entry(Kind.WITHDRAWN, days("03"), reason="wrong (by ana)")], "wrong (by ana)", id="withdrawn"),
    ],
)
def test_what_was_ruled_out_reads_a_mended_source(entries: list[Entry], why: str) -> None:
    """A day that failed, is red or was withdrawn reads the source as it is; the days around it do not."""
    found = go(*entries)
    assert frozen(found) == {"2024-01-01..2024-01-02, 2024-01-04..2024-01-10": 5}
    assert moved(found) == {"2024-01-03": (5, why)}


def test_a_change_of_other_days_mends_nothing() -> None:
    """A day failed, and the source changed in another one: it is tried again from the same state. An unknown change
    may be anywhere."""
    failed = entry(Kind.FAILED, days("03"), 5, reason="x")
    assert not go(failed, touched=ranges(days("04"))).moved
    assert moved(go(failed, touched=ranges(days("03")))) == {"2024-01-03": (5, "their build failed")}
    assert moved(go(failed, touched=None)) == {"2024-01-03": (5, "their build failed")}


def test_what_was_built_of_a_mended_source_stays_so() -> None:
    """A day was built from commit 7 after a failure and is not audited yet, or somebody wrote over it: 7, not 5."""
    found = go(entry(Kind.FAILED, days("03"), 5), entry(Kind.BUILT, days("03"), 7, batch="b"))
    assert frozen(found) == {"2024-01-01..2024-01-02, 2024-01-04..2024-01-10": 5, "2024-01-03": 7}
    older = go(entry(Kind.BUILT, days("03"), 3, batch="b"))
    assert frozen(older) == {"2024-01-01..2024-01-10": 5}


def test_open_and_new_days_read_what_is_there() -> None:
    """Day 10 was open when the plan was made, day 11 was not in it."""
    found = go(left=ranges(days("01", "11")), plan=a_plan(now=days("10").start))
    assert frozen(found) == {"2024-01-01..2024-01-09": 5}
    assert moved(found) == {"2024-01-10..2024-01-11": (5, "the plan did not have them yet")}


def test_frozen_things_of_a_plan_that_took_over_count() -> None:
    """A plan that replaced another one stored what that froze: it goes before its own pins."""
    first = continued(
        PROJECT, {"a": ("a-1", ranges(days("01", "04")))}, [a_plan(3)], {"raw": {"commit": 5}}, {}, lambda *_: TEN
    )
    assert frozen(go(plan=a_plan(frozen=first.frozen))) == {"2024-01-01..2024-01-04": 3, "2024-01-05..2024-01-10": 5}


def test_another_version_goes_on_with_nothing() -> None:
    """The plan built another version: its pins are no matter."""
    plan = a_plan()
    target = PlanTarget(model="a", version="a-0", intervals=TEN)
    assert go(plan=replace(plan, record=replace(plan.record, targets=(target,)))) == Continued()
