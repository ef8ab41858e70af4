"""A model that is shown beside another version of its upstream is found, unless somebody proved or accepted that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Override
from backfill_assets.plan.stages import ModelVersion, Plan, Promote, Request
from backfill_assets.state.approvals import Approval
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.proofs import KEPT, Finding, Proof
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.fakes import NOW, a_model, a_pointer, days
from backfill_assets_tests.unit.watch.watch_world import Lookout, delta, ten_days

MIXED = ["reader nothing: was built from daily daily-1, but prod shows {}"]
UNCHANGED = {"changes": {"reader": {"category": "unchanged"}}}


@pytest.fixture
def lookout(tmp_path: Path) -> Lookout:
    """`reader` reads `daily`; ten days of both are shown."""
    ten_days(tmp_path)
    found = Lookout(a_model("daily", "raw"), a_model("reader", "daily"), source=delta(tmp_path))
    found.release()
    return found


def release(lookout: Lookout, version: str, *, first: str = "01", **evidence: str) -> None:
    """Show `daily` in this version, from a day on, on the ground of these plans; the reader stays."""
    control = lookout.world.control
    record = control.versions.all()["daily", "daily-1"]
    control.versions.put(replace(record, version=version))
    older = a_pointer("daily", "daily-1", days("01", f"{int(first) - 1:02}")).segments if first != "01" else ()
    pointer = a_pointer("daily", version, days(first, "10"))
    pointer = replace(pointer, segments=(*older, *pointer.segments))
    control.environments.flip(
        lookout.prod,
        [pointer],
        release=f"r{lookout.prod.revision}-{version}",
        at=NOW,
        note=ReleaseNote(by="ana", evidence=evidence),
    )


def plan(lookout: Lookout, name: str, version: str, said: Mapping[str, object], *findings: Finding) -> None:
    """A stored plan that leads `daily` to a version, with the proof of what it keeps."""
    promote = Promote(environment="prod", models=(ModelVersion(model="daily", version=version),))
    stored = Plan(
        environment="prod",
        now=NOW,
        request=Request(),
        models=("daily",),
        stages=(promote,),
        blocked=(),
        kept={},
        sources={},
    )
    record = PlanRecord(
        id=name, environment="prod", targets=(), created=NOW, by="ana", status=PlanStatus.OPEN, since=NOW
    )
    control = lookout.world.control
    control.plans.put(record, {**stored.to_json(), **said}, revision=control.plans.read_at()[1])
    control.proofs.put([Proof(plan=name, kind=KEPT, content="c", at=NOW, findings=findings, document={})])


def accept(lookout: Lookout, name: str, finding: str) -> None:
    scope = {"daily": Ranges((days("01", "10"),))}
    said = {finding: "the source was corrected; the reader follows next week"}
    approval = Approval(
        plan=name, environment="prod", digest="d", scope=scope, owner="ana", by="ana", at=NOW, accepted=said
    )
    lookout.world.control.approvals.put(approval)


def found(lookout: Lookout, version: str) -> bool:
    """Whether the mixed release is told; nothing else is of that kind."""
    said = lookout.said(NoticeKind.UPSTREAM)
    assert said in ([], [line.format(version) for line in MIXED])
    return bool(said)


def test_a_mixed_release_is_found(lookout: Lookout) -> None:
    """Nobody proved anything; or the plan that led there was about the upstream, and says nothing of its reader."""
    release(lookout, "daily-2")
    assert found(lookout, "daily-2")
    plan(lookout, "alone", "daily-3", {"changes": {"daily": {"category": "breaking"}}})
    release(lookout, "daily-3", alone="digest")
    assert found(lookout, "daily-3")


def test_a_plan_without_a_proof_vouches_for_nothing(lookout: Lookout) -> None:
    """The release names a plan that is not there any more, or that led elsewhere."""
    plan(lookout, "other", "daily-9", UNCHANGED)
    release(lookout, "daily-2", other="digest", gone="digest")
    assert found(lookout, "daily-2")


def test_a_table_that_was_proved_the_same_is_not_told(lookout: Lookout) -> None:
    """The plan kept the reader, compared the data and found nothing."""
    plan(lookout, "p", "daily-2", UNCHANGED)
    release(lookout, "daily-2", p="digest")
    assert not found(lookout, "daily-2")


def test_a_table_that_an_owner_accepted_is_not_told(lookout: Lookout) -> None:
    """The comparison found other values: it is told until the owner accepted exactly that."""
    plan(lookout, "p", "daily-2", UNCHANGED, Finding(name="daily.kept", model="daily", text="other values"))
    release(lookout, "daily-2", p="digest")
    assert found(lookout, "daily-2")
    accept(lookout, "p", "daily.clicks")
    assert found(lookout, "daily-2")
    accept(lookout, "p", "daily.kept")
    assert not found(lookout, "daily-2")


def test_new_logic_from_a_day_on(lookout: Lookout) -> None:
    """The newer days are of another version: told, unless the plan says by whose word the reader stays as it is."""
    release(lookout, "daily-2", first="06")
    assert found(lookout, "daily-2")
    one = Override(model="daily", version="daily-1", code="c", columns=(), reason="r", place="daily.sql:3")
    word = {"overrides": to_plain((replace(one, reaches=("reader",)),))}
    other = {"overrides": to_plain((one,))}
    for version, said, told in (("daily-3", other, True), ("daily-4", word, False)):
        back = a_pointer("daily", "daily-1", days("01", "10"))
        lookout.world.control.environments.flip(
            lookout.prod, [back], release=f"b-{version}", at=NOW, note=ReleaseNote(by="ana")
        )
        assert not lookout.said(NoticeKind.UPSTREAM)
        plan(lookout, version, version, said)
        release(lookout, version, first="06", **{version: "digest"})
        assert found(lookout, version) is told


def test_a_proof_against_a_mixed_release_heals_nothing(lookout: Lookout) -> None:
    """The newest version is proved to be like the one before it, which nobody proved: still told. Where that one was
    proved as well, nothing is; nor after a rollback to it."""
    release(lookout, "daily-2")
    plan(lookout, "p3", "daily-3", UNCHANGED)
    release(lookout, "daily-3", p3="digest")
    assert found(lookout, "daily-3")
    back = a_pointer("daily", "daily-1", days("01", "10"))
    lookout.world.control.environments.flip(
        lookout.prod, [back], release="back", at=NOW, note=ReleaseNote(by="ana", back_to="r")
    )
    plan(lookout, "p4", "daily-4", UNCHANGED)
    release(lookout, "daily-4", p4="digest")
    plan(lookout, "p5", "daily-5", UNCHANGED)
    release(lookout, "daily-5", p5="digest")
    assert not found(lookout, "daily-5")
    release(lookout, "daily-4")
    assert not found(lookout, "daily-4")
