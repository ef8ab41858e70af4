"""Rows that are shown beside others than they were computed from are found: no gate lets that happen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.stages import ModelVersion, Plan, Promote, Request
from backfill_assets.state.ledger import Kind as Said
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.proofs import KEPT, Finding, Proof
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.fakes import NOW, a_model, days
from backfill_assets_tests.unit.watch.watch_world import Lookout, delta, ten_days

RESTATED = Request(restate=(("daily", days("03", "04")),))
OLDER = [
    "reader 2024-01-03..2024-01-04: was built from other rows of daily 2024-01-03..2024-01-04 than prod shows",
    "wide 2024-01-03..2024-01-06: was built from other rows of daily 2024-01-03..2024-01-04 than prod shows",
]


@pytest.fixture
def lookout(tmp_path: Path) -> Lookout:
    """`reader` reads `daily`, `wide` two days back as well, `top` reads `reader`; ten days of all are shown."""
    ten_days(tmp_path)
    models = (a_model("daily", "raw"), a_model("reader", "daily"), a_model("wide", "daily", lookback=2))
    found = Lookout(*models, a_model("top", "reader"), source=delta(tmp_path))
    found.release()
    return found


def by_hand(lookout: Lookout, *pointers: Pointer, release: str = "by-hand", **evidence: str) -> None:
    """Show this past the gate."""
    environments = lookout.world.control.environments
    environments.flip(
        lookout.prod, list(pointers), release=release, at=NOW, note=ReleaseNote(by="ana", evidence=evidence)
    )


def readers_stay(lookout: Lookout, **evidence: str) -> None:
    """A restatement of two days of `daily` is shown; all that reads it is as it was before."""
    before = lookout.prod.pointers
    lookout.release(RESTATED)
    after = lookout.prod.pointers
    by_hand(lookout, *before.values(), release="back")
    by_hand(lookout, after["daily"], release="alone", **evidence)


def test_a_restatement_without_its_readers_is_found(lookout: Lookout) -> None:
    """By the days that were computed from what was shown before, each with the restatement that mends it."""
    readers_stay(lookout)
    assert lookout.said(NoticeKind.UPSTREAM) == OLDER
    (first, _) = [n for n in lookout.notices() if n.kind is NoticeKind.UPSTREAM]
    assert first.remedy.startswith("backfill apply --restate reader:2024-01-03..2024-01-04, then backfill promote")


def test_a_model_further_down_is_found_too(lookout: Lookout) -> None:
    """`top` stays, what it reads does not: it is told, and nobody else."""
    before = lookout.prod.pointers
    lookout.release(RESTATED)
    by_hand(lookout, before["top"])
    assert lookout.said(NoticeKind.UPSTREAM) == [
        "top 2024-01-03..2024-01-04: was built from other rows of reader 2024-01-03..2024-01-04 than prod shows"
    ]


def test_ordinary_ways_are_quiet(lookout: Lookout) -> None:
    """Restated with its readers, restated again in part, rolled back, grown by a day."""
    first = lookout.prod.pointers
    lookout.release(RESTATED)
    assert not lookout.said(NoticeKind.UPSTREAM)
    lookout.release(Request(restate=(("daily", days("04", "05")),)))
    assert not lookout.said(NoticeKind.UPSTREAM)
    lookout.release(Request(restate=(("reader", days("04")),)))
    assert not lookout.said(NoticeKind.UPSTREAM)
    by_hand(lookout, *first.values(), release="back")
    assert not lookout.said(NoticeKind.UPSTREAM)


def test_a_copy_of_the_rows_is_no_other_rows(lookout: Lookout) -> None:
    """Joined corrections are in a table of their own, later: what their readers read is what they hold."""
    lookout.release(RESTATED)
    pointer = lookout.prod.pointers["daily"]
    (patch,) = [s for s in pointer.segments if s.version != pointer.version]
    control = lookout.world.control
    made = [e for e in control.ledger.entries(["daily"]) if e.version == patch.version and e.kind is Said.BUILT]
    copies = [replace(e, id="", batch=f"copy-{e.batch}", version="daily-1.joined", table_commit=7) for e in made]
    control.ledger.append(copies)
    control.versions.put(replace(control.versions.all()["daily", patch.version], version="daily-1.joined"))
    copied = Segments.of_table("daily-1.joined", 7, Ranges(tuple(days(d) for d in ("03", "04"))))
    by_hand(lookout, replace(pointer, segments=copied.over(pointer.segments)), release="joined")
    assert not lookout.said(NoticeKind.UPSTREAM)


@pytest.mark.parametrize("findings", [(), (Finding(name="daily.kept", model="daily", text="other values"),)])
def test_what_was_proved_is_not_told(lookout: Lookout, findings: tuple[Finding, ...]) -> None:
    """The release rests on a plan that kept the reader and compared the data; what it found, nobody accepted."""
    promote = Promote(environment="prod", models=(ModelVersion(model="daily", version="daily-1"),))
    same = TableChange(category=Category.UNCHANGED)
    stored = Plan(
        environment="prod", now=NOW, request=Request(), models=("daily",), stages=(promote,),
        blocked=(), kept={}, sources={}, changes={"reader": same, "wide": same},
    )  # fmt: skip
    record = PlanRecord(
        id="p", environment="prod", targets=(), created=NOW, by="ana", status=PlanStatus.OPEN, since=NOW
    )
    control = lookout.world.control
    control.plans.put(record, stored.to_json(), revision=control.plans.read_at()[1])
    control.proofs.put([Proof(plan="p", kind=KEPT, content="c", at=NOW, findings=findings, document={})])
    readers_stay(lookout, p="digest")
    assert lookout.said(NoticeKind.UPSTREAM) == (OLDER if findings else [])


def test_days_that_were_made_by_hand_are_told_apart(lookout: Lookout) -> None:
    """Only one of the two restated days stays as it was in the reader."""
    before = lookout.prod.pointers["reader"]
    lookout.release(RESTATED)
    after = lookout.prod.pointers["reader"]
    third: Interval = days("03")
    old = Segments(s for s in before.segments).cut(Ranges((third,)))
    by_hand(lookout, replace(after, segments=old.over(after.segments)))
    assert [said for said in lookout.said(NoticeKind.UPSTREAM) if said.startswith("reader")] == [
        "reader 2024-01-03: was built from other rows of daily 2024-01-03 than prod shows"
    ]


@pytest.mark.parametrize(
    ("hours", "inputs", "found"),
    [(-1, {"raw": {"commit": 0}}, True), (-1, None, False), (1, {"raw": {"commit": 0}}, False)],
)
def test_rows_of_the_code_before(
    lookout: Lookout, hours: int, inputs: dict[str, dict[str, object]] | None, found: bool
) -> None:
    """Of other logic, in which nothing that readers read is another, and gone back to: older rows than those that were
    read, of an older state of the source, are other rows; copies, and what was computed later, are not."""
    control, pointer = lookout.world.control, lookout.prod.pointers["daily"]
    made = [e for e in control.ledger.entries(["daily"]) if e.kind is Said.BUILT]
    older = [
        replace(e, id="", batch=f"old-{e.batch}", version="daily-0", at=e.at + timedelta(hours=hours), table_commit=7)
        for e in made
    ]
    control.ledger.append([replace(e, inputs=inputs) if inputs else e for e in older])
    control.versions.put(replace(control.versions.all()["daily", pointer.version], version="daily-0"))
    there = Segments.of_table("daily-0", 7, pointer.covers)
    by_hand(lookout, replace(pointer, segments=there), release="back")
    said = [one for one in lookout.said(NoticeKind.UPSTREAM) if "other rows of daily" in one]
    assert [one.partition(" ")[0] for one in said] == ["reader", "wide"] * found


def test_days_that_an_upstream_gains_before_its_first(tmp_path: Path) -> None:
    """It begins earlier by now: what looks back over its former first day read none of them, and no plan computes that
    again; what reads each day by itself has read all."""
    ten_days(tmp_path)
    later = (a_model("daily", "raw", start=utc("2024-01-04")), a_model("reader", "daily", start=utc("2024-01-04")))
    wide = a_model("wide", "daily", lookback=2, start=utc("2024-01-04"))
    lookout = Lookout(*later, wide, source=delta(tmp_path))
    lookout.release()
    assert not lookout.notices()
    earlier = {"daily": replace(lookout.code.models["daily"], start=utc("2024-01-02"))}
    lookout.code = replace(lookout.code, models={**lookout.code.models, **earlier})
    lookout.release()
    assert str(lookout.prod.pointers["daily"].covers) == "2024-01-02..2024-01-10"
    [found] = [n for n in lookout.notices() if n.kind is NoticeKind.UPSTREAM]
    assert (found.model, str(found.intervals)) == ("wide", "2024-01-04..2024-01-05")
    assert found.remedy.startswith("backfill apply --restate wide:2024-01-04..2024-01-05, then backfill promote")
    lookout.release(Request(restate=(("wide", days("04", "05")),)))
    assert not [n for n in lookout.notices() if n.kind is NoticeKind.UPSTREAM]
