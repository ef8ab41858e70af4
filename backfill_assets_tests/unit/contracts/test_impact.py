"""Whom does a plan affect? Columns × days that somebody reads, against columns × days that change."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.cli.impact import impact_lines
from backfill_assets.contracts.contract import Contract, Promise
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.levels import Level
from backfill_assets.contracts.publish import PublishedContracts
from backfill_assets.core.consumer import Consumer, Evaluation, ModelUse
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.evidence.readers import impact_on
from backfill_assets.evidence.shape import Packet
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import PinnedConsumer
from backfill_assets_tests.fakes import NOW, a_pointer, days, ranges
from backfill_assets_tests.strategies import EPOCH, days_of, sets_of_days

PROMISES = tuple(Promise(name=n, type="bigint") for n in ("ds", "x", "y"))
OLD = Contract(columns=PROMISES, grain=("ds",), time_column="ds", cadence="daily")
MORE = Contract(columns=(*PROMISES, Promise(name="z", type="int")), grain=("ds",), time_column="ds", cadence="daily")
LESS = Contract(columns=PROMISES[:2], grain=("ds",), time_column="ds", cadence="daily")
X_DIFFERS = TableChange(category=Category.BREAKING, columns=("x",))


def a_consumer(name: str = "board", **more: object) -> Consumer:
    values: dict[str, object] = {"name": name, "reads": ("a",), "file": Path("consumers.yml")}
    return Consumer(**(values | more))  # type: ignore[arg-type]


def look(
    consumer: Consumer,
    change: TableChange | None = None,
    *,
    new: Contract = OLD,
    patch: Ranges | None = None,
    pointer: Pointer | None = None,
    stages: tuple[Build, ...] = (),
    pins: tuple[PinnedConsumer, ...] = (),
    now: datetime = NOW,
) -> Impact:
    """The impact of a plan for one model `a`, of which prod shows the first ten days of January."""
    plan = Plan(
        environment="prod",
        now=now,
        request=Request(),
        models=("a",),
        stages=stages,
        blocked=(),
        kept={},
        sources={},
        patches={"a": Patch(version="a-1.r", intervals=patch)} if patch else {},
        changes={"a": change} if change else {},
    )
    shown = pointer or a_pointer("a", "a-1", days("01", "10"))
    environment = Environment(name="prod", revision=1, pointers={"a": shown}, releases={})
    [found] = impacts(plan, [consumer], environment, PublishedContracts(old={"a": OLD}, new={"a": new}), pins)
    return found


def test_a_column_that_is_read() -> None:
    """Who reads it is affected on every day that is shown; who reads other columns is not."""
    found = look(a_consumer(uses={"a": ModelUse(columns=("X",))}), X_DIFFERS)
    assert found.affected and found.level is Level.BEHAVIOURAL
    [model] = found.models
    assert model.model == "a" and [str(c) for c in model.changes] == ["x: may have other values"]
    assert model.days == ranges(days("01", "10"))
    other = look(a_consumer(uses={"a": ModelUse(columns=("y",))}), X_DIFFERS)
    assert other.models == () and not other.affected and other.level is None


def test_who_is_pinned_is_told_that_it_does_not_move() -> None:
    """It is affected and told all the same; what it came to read since the pin is said to move."""
    pin = PinnedConsumer(
        consumer="board", environment="prod", release="r1", until=date(2024, 2, 1), reason="", by="ana", at=NOW,
        pointers={"a": a_pointer("a", "a-1", days("01", "10"))},
    )  # fmt: skip
    found = look(a_consumer(), X_DIFFERS, pins=(pin,))
    assert found.affected and found.to_json()["pin"] == pin.to_json()
    assert "it is kept on release r1 until 2024-02-01: it is not moved before" in impact_lines(found)
    [_, loose, *_] = impact_lines(look(a_consumer(), X_DIFFERS, pins=(replace(pin, pointers={}),)))
    assert "but not of a, which it came to read since" in loose
    other = look(a_consumer(), X_DIFFERS, pins=(replace(pin, consumer="other"),))
    assert other.pin is None and not any("kept" in line for line in impact_lines(other))
    packet = cast("Packet", SimpleNamespace(contract_impact=[found.to_json()], query_reruns=None))
    assert "is kept on release r1 until 2024-02-01, of a: it is not moved before" in impact_on(packet, "board")


def test_who_does_not_say_reads_everything() -> None:
    """No columns, no history: any change counts."""
    assert look(a_consumer(), X_DIFFERS).affected
    assert [str(c) for c in look(a_consumer(), new=MORE).models[0].changes] == ["z: is new"]
    assert not look(a_consumer(), new=MORE).affected


def test_only_days_that_are_read() -> None:
    """Who reads the newest three days is told of three, and of none when only older ones are computed again."""
    short = a_consumer(uses={"a": ModelUse(history=3)})
    assert look(short, X_DIFFERS).models[0].days == ranges(days("08", "10"))
    assert look(short, patch=ranges(days("02", "04"))).models == ()
    assert look(short, patch=ranges(days("02", "08"))).models[0].days == ranges(days("08"))
    assert look(a_consumer(), patch=ranges(days("02", "04"))).models[0].days == ranges(days("02", "04"))


def test_a_column_that_is_gone() -> None:
    """Breaks who names it, whatever days they read."""
    gone = TableChange(category=Category.REMOVAL, removed=("y",))
    found = look(a_consumer(uses={"a": ModelUse(columns=("y",), history=0)}), gone, new=LESS)
    assert found.level is Level.BREAKING and found.models[0].days == Ranges()
    assert not look(a_consumer(uses={"a": ModelUse(columns=("x",))}), gone, new=LESS).models


def test_forward_only() -> None:
    """Days before it stay as they are; of those after it, the ones that are shown change."""
    since = ranges(Interval(utc("2024-01-06"), utc("2024-01-15")))
    assert look(a_consumer(), X_DIFFERS, patch=since).models[0].days == ranges(days("06", "10"))


def test_older_rows_that_get_the_present_logic() -> None:
    """After a forward-only change, the plan that builds the older days changes those."""
    pointer = a_pointer("a", "a-0", days("01", "04"))
    both = Pointer(
        model="a",
        time_column="ds",
        timestamps=False,
        columns=pointer.columns,
        segments=(*pointer.segments, Segment(version="a-1", commit=3, interval=days("05", "10"))),
    )
    build = Build(
        model="a", version="a-1", intervals=ranges(days("01", "04")), count=4, batches=(), concurrency=1, reason=""
    )
    unchanged = TableChange(category=Category.UNCHANGED)
    assert look(a_consumer(), unchanged, pointer=both, stages=(build,)).models[0].days == ranges(days("01", "04"))
    assert not look(a_consumer(), unchanged, pointer=both).models


def test_growth_affects_nobody() -> None:
    """Days that are only added are no change."""
    build = Build(model="a", version="a-1", intervals=ranges(days("11")), count=1, batches=(), concurrency=1, reason="")
    assert not look(a_consumer(), TableChange(category=Category.UNCHANGED), stages=(build,)).models


def test_notice() -> None:
    """Its owner's notice runs from the plan on, when there is anything to notice."""
    warned = a_consumer(notice=14)
    assert look(warned, X_DIFFERS).notice_until == utc("2024-01-25T12:00")
    assert look(warned, new=MORE).notice_until is None
    assert look(a_consumer(), X_DIFFERS).notice_until is None


def test_evaluations_that_are_void() -> None:
    """An evaluation on days that change does not hold any more, however far back it looked; others do."""
    judged = a_consumer(
        uses={"a": ModelUse(columns=("x",), history=2)},
        evaluations=(
            Evaluation(name="early", query="q", days=days("01", "03")),
            Evaluation(name="late", query="q", days=days("09", "12")),
        ),
    )
    assert [e.name for e in look(judged, patch=ranges(days("02", "04"))).void] == ["early"]
    assert [e.name for e in look(judged, X_DIFFERS).void] == ["early", "late"]
    assert look(judged, TableChange(category=Category.BREAKING, columns=("y",))).void == ()


def test_the_worst_comes_first() -> None:
    """By level, then by criticality; who is not affected comes last."""
    many = [
        a_consumer("calm", uses={"a": ModelUse(columns=("y",))}, criticality="high"),
        a_consumer("low", criticality="low"),
        a_consumer("high", criticality="high"),
    ]
    plan = Plan(
        environment="prod", now=NOW, request=Request(), models=("a",), stages=(), blocked=(), kept={}, sources={},
        changes={"a": X_DIFFERS},
    )  # fmt: skip
    shown = Environment(name="prod", revision=1, pointers={"a": a_pointer("a", "a-1", days("01", "10"))}, releases={})
    found = impacts(plan, many, shown, PublishedContracts(old={"a": OLD}, new={"a": OLD}))
    assert [i.consumer.name for i in found] == ["high", "low", "calm"]
    assert found[0].to_json()["models"] == [
        {
            "model": "a",
            "level": "behavioural",
            "changes": [{"level": "behavioural", "column": "x", "what": "may have other values"}],
            "days": [["2024-01-01T00:00:00+00:00", "2024-01-11T00:00:00+00:00"]],
        }
    ]


def test_history_of_local_days() -> None:
    """It ends with the newest day that is over: in New York's evening that is the one before UTC's."""
    there = replace(OLD, cadence="daily in America/New_York")
    two = a_consumer(uses={"a": ModelUse(history=2)})
    for now, first in (("2024-01-11T02:00", "08"), ("2024-01-11T05:00", "09")):
        [model] = look(two, X_DIFFERS, new=there, now=utc(now)).models
        assert model.days == ranges(days(first, "10"))


@given(sets_of_days(10), st.one_of(st.none(), st.integers(0, 12)))
def test_days_are_those_read_and_changed(changed: Ranges, history: int | None) -> None:
    """Against sets of day numbers: affected exactly when a day that changes is read."""
    found = look(a_consumer(uses={"a": ModelUse(history=history)}), patch=changed) if changed else None
    today = (NOW - EPOCH).days
    read = set(range(20)) if history is None else {d for d in range(20) if d >= today - history}
    expected = days_of(changed) & read
    assert (days_of(found.models[0].days) if found and found.models else set()) == expected
