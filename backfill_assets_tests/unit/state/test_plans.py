"""Which plans were there, and what became of each? Written once, told by events, opened by whoever saw the newest."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.core.errors import ConflictError, StateError
from backfill_assets.core.intervals import utc
from backfill_assets.state.plans import PLANS, PlanRecord, Plans, PlanStatus, PlanTarget
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.memory_store import MemoryStore

AT = utc("2024-02-01T14:02")


def record(plan: str = "ab12", *targets: PlanTarget, by: str = "ana") -> PlanRecord:
    return PlanRecord(
        id=plan,
        environment="prod",
        targets=targets or (PlanTarget(model="a", version="a-2", intervals=ranges(days("01", "03"), days("05"))),),
        created=AT,
        by=by,
        status=PlanStatus.OPEN,
        since=AT,
    )


def stored(*records: PlanRecord) -> tuple[Plans, MemoryStore]:
    store = MemoryStore()
    plans = Plans(store)
    for one in records:
        plans.put(one, {"id": one.id}, revision=plans.read_at()[1])
    return plans, store


def test_what_is_stored_is_read_back() -> None:
    """The record with its intervals, and what the plan said."""
    plans, _ = stored(record())
    assert plans.all() == [record()]
    assert plans.document("ab12") == {"id": "ab12"}
    assert plans.document("nope") is None


def test_plans_of_other_formats() -> None:
    """Those that say none are of the first one; a newer one is refused, with what to do, whatever else it says."""
    store = MemoryStore()
    plans = Plans(store)
    plans.put(record(), {"id": "ab12"}, revision=-1)
    [row] = store.tables["plans"].rows
    assert json.loads(row["plan"]) == {"id": "ab12", "format": 1}  # type: ignore[arg-type]
    for text, found in (('{"id": "ab12"}', {"id": "ab12"}), ('{"format": 1, "id": "ab12"}', {"id": "ab12"})):
        store = MemoryStore()
        store.table(PLANS).append([{**row, "plan": text}])
        assert Plans(store).document("ab12") == found
    for wrong, why in ((3, "newer release"), (0, "no format"), (True, "no format"), ("1", "no format")):
        store = MemoryStore()
        store.table(PLANS).append([{**row, "plan": json.dumps({"id": "ab12", "format": wrong})}])
        with pytest.raises(StateError, match="plan ab12 cannot be read") as raised:
            Plans(store).document("ab12")
        assert why in raised.value.why and "upgrade" in raised.value.fix


def test_plans_of_keys_are_of_the_second_format() -> None:
    """A release without `--ids` would take one for the restatement of all rows of its days: it refuses it."""
    for said, number in (({"ids": {"rows": [["1"]]}}, 2), ({"ids": None}, 1), ({"where": "n = 1"}, 1)):
        store = MemoryStore()
        plans = Plans(store)
        plans.put(record(), {"id": "ab12", "request": said}, revision=-1)
        [row] = store.tables["plans"].rows
        assert json.loads(row["plan"])["format"] == number  # type: ignore[arg-type]
        assert plans.document("ab12") == {"id": "ab12", "request": said}


def test_putting_it_again_is_harmless_and_changes_nothing() -> None:
    """A plan is immutable: the first one that was stored under an id counts."""
    plans, store = stored(record())
    other = replace(record("ab12", PlanTarget(model="b", version="b-9", intervals=ranges())), by="bob")
    plans.put(other, {"id": "other"}, revision=plans.read_at()[1])
    assert plans.all() == [record()] and plans.document("ab12") == {"id": "ab12"}
    assert len(store.tables[PLANS.name].rows) == 1


def test_the_newest_event_decides() -> None:
    """Statuses are appended; who opened it and when stays."""
    plans, _ = stored(record(), record("cd34"))
    plans.mark([plans.all()[0]], PlanStatus.APPLIED, by="bob", at=AT + timedelta(hours=1))
    [first, second] = plans.all()
    assert (first.status, first.by, first.created, first.since) == (
        PlanStatus.APPLIED, "ana", AT, AT + timedelta(hours=1),
    )  # fmt: skip
    assert first.live and second.status is PlanStatus.OPEN


def test_a_clock_that_is_behind_cannot_undo_an_event() -> None:
    """An abandonment counts although its machine's clock says that it came first."""
    plans, _ = stored(record())
    plans.mark(plans.all(), PlanStatus.ABANDONED, by="bob", at=AT - timedelta(hours=3))
    assert plans.all()[0].status is PlanStatus.ABANDONED and not plans.all()[0].live


def test_an_ended_plan_is_opened_again() -> None:
    """The same situation came back: the same plan, stored once, by whoever opened it last."""
    plans, store = stored(record())
    plans.mark(plans.all(), PlanStatus.ABANDONED, by="ana", at=AT)
    later = replace(record(by="bob"), created=AT + timedelta(days=1))
    plans.put(later, {"id": "again"}, revision=plans.read_at()[1])
    [found] = plans.all()
    assert (found.status, found.by, found.created) == (PlanStatus.OPEN, "bob", AT + timedelta(days=1))
    assert plans.document("ab12") == {"id": "ab12"}
    assert sum(bool(row["plan"]) for row in store.tables[PLANS.name].rows) == 1


def test_what_a_plan_is_for() -> None:
    """A word that comes later is kept beside what the plan says, and moves neither its status nor its times."""
    plans, _ = stored(record())
    plans.explain(plans.all()[0], "clicks count once")
    plans.mark(plans.all(), PlanStatus.APPLIED, by="bob", at=AT + timedelta(hours=1))
    before = plans.all()
    assert plans.document("ab12") == {"id": "ab12", "request": {"why": "clicks count once"}}
    plans.explain(before[0], "clicks count twice")
    assert plans.all() == before and plans.why("ab12") == "clicks count twice"
    assert (before[0].created, before[0].by) == (AT, "ana")


def test_an_ended_plan_is_opened_again_for_another_reason() -> None:
    """Its stages stay as they were stored; what it is for is what was said last."""
    plans, _ = stored(record())
    plans.mark(plans.all(), PlanStatus.ABANDONED, by="ana", at=AT)
    plans.put(record(), {"id": "again", "request": {"why": "again"}}, revision=plans.read_at()[1])
    assert plans.document("ab12") == {"id": "ab12", "request": {"why": "again"}}


def test_who_did_not_see_the_newest_plan_cannot_open_one() -> None:
    """Two people who look at the same moment: the second one has to look again, at the first one's plan."""
    plans, _ = stored()
    _, seen = plans.read_at()
    plans.put(record("ab12"), {}, revision=seen)
    with pytest.raises(ConflictError):
        plans.put(record("cd34"), {}, revision=seen)
    assert [r.id for r in plans.all()] == ["ab12"]
