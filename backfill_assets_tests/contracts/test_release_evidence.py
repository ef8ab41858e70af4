"""Without evidence nothing moves: every release has a packet, written before, sealed by its record, and kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import evidence_folder, read_release_evidence, release_folder, write_evidence
from backfill_assets.app.janitor import find_garbage, remove_garbage
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.core.errors import PromotionError, StateError
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.verify import verify
from backfill_assets.evidence.write import MANIFEST, digest_of, packet_digest
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.promote import promote as really_promote
from backfill_assets.state.plans import PlanStatus
from backfill_assets.state.releases import Release
from backfill_assets_tests.projects import DAILY, backfill_here, write_events, write_project
from backfill_assets_tests.unsparked import build, extend, prove, unsparked

PEOPLE = {"ana@example.com": {"accounts": ["ana"]}, "dev@example.com": {"accounts": ["dev"]}}
TEXT = DAILY.format(batch_size=10, batch_concurrency=1)


def project(root: Path, *, days: int = 4, text: str = TEXT) -> Path:
    write_events(root, days=days)
    write_project(root, {"daily.sql": text}, clock=f"2024-01-{days + 1:02}")
    settings = json.loads((root / "backfill.yml").read_text())
    (root / "backfill.yml").write_text(json.dumps({**settings, "people": PEOPLE}))
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four days of a model, promoted."""
    root = project(tmp_path / "project")
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    return root


def releases(place: Context) -> list[Release]:
    return place.control.releases.all("prod")


def packet(place: Context, release: Release) -> dict[str, object]:
    """The packet of a release, which is whole and the one that its record names."""
    found = read_release_evidence(place, release.id)
    assert verify(release_folder(place, release.id), None, expected=release.evidence[release.id]).ok
    assert found.digest == release.evidence[release.id]
    return dict(found.said)


def changed(root: Path) -> tuple[Context, str]:
    """Somebody changes the model, builds it, and it is compared; nobody has approved it."""
    project(root, text=TEXT.replace("sum(amount)", "sum(amount) + 1"))
    place = unsparked(root, user="dev")
    plan, _ = build(place)
    prove(place, plan.id)
    return place, plan.id


def approved(place: Context, plan: str) -> None:
    ana = replace(place, acting="ana")
    for statement in approval_statements(ana, plan, reason="looked at it"):
        approve_plan(ana, statement)


def test_a_promotion(root: Path) -> None:
    """Its packet says what moves, what made it, which audits passed, and names the plan's packet."""
    place = unsparked(root)
    (release,) = releases(place)
    said = packet(place, release)
    (model,) = said["models"]  # type: ignore[misc]
    assert (said["purpose"], said["by"], model["before"]) == ("promotion", "dev", None)
    assert model["added"] == [["2024-01-01T00:00:00+00:00", "2024-01-05T00:00:00+00:00"]] and not model["changed"]
    assert model["after"] == json.loads(place.control.environments.read("prod").pointers["daily"].to_json())
    (batch,) = model["batches"]
    assert model["after"]["segments"][0]["held"]["rows"] == 40 and "files" in batch["inputs"]["raw.events"]
    assert {c["check"]: (c["tested"], c["passed"]) for c in model["checks"]}["completeness"] == (4, 4)
    (plan,) = said["plans"]  # type: ignore[misc]
    assert release.evidence == {plan: packet_digest(evidence_folder(place, find_plan(place.control, plan))[0])} | {
        release.id: read_release_evidence(place, release.id).digest
    }


def test_a_routine_run(root: Path) -> None:
    """Which days it added, from what, with which audits; nobody had to approve it."""
    project(root, days=6)
    place = unsparked(root, user="cron")
    assert extend(place) == ()
    assert "spark" not in place.__dict__
    said = packet(place, releases(place)[-1])
    (model,) = said["models"]  # type: ignore[misc]
    assert (said["purpose"], said["by"], said["approvals"], said["plans"]) == ("routine", "cron", [], {})
    assert model["added"] == [["2024-01-05T00:00:00+00:00", "2024-01-07T00:00:00+00:00"]]
    assert not model["changed"] and not model["gone"]
    assert [b["interval"][0][:10] for b in model["batches"]] == ["2024-01-05"]
    assert all(c["tested"] == c["passed"] == 2 for c in model["checks"]) and len(model["checks"]) == 4
    assert "No published row is another one: nobody's approval is needed." in said["summary"]  # type: ignore[operator]


def test_days_that_are_not_settled(tmp_path: Path) -> None:
    """Each release says what of what it shows may still change, by its own clock."""
    settling = TEXT.replace("grain:", "settle: 1 day\ngrain:", 1)
    place = unsparked(project(tmp_path, text=settling), user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    first = packet(place, releases(place)[-1])
    project(tmp_path, days=6, text=settling)
    place = unsparked(tmp_path, user="cron")
    assert extend(place) == ()
    grown = packet(place, releases(place)[-1])
    said = [packet_["models"][0]["provisional"] for packet_ in (first, grown)]  # type: ignore[index]
    assert [[begin[:10], end[:10]] for part in said for begin, end in part] == [
        ["2024-01-03", "2024-01-05"],
        ["2024-01-05", "2024-01-07"],
    ], "by the routine run's clock, nothing of the first four days"
    [line] = [line for line in grown["summary"] if line.startswith("daily: ")]  # type: ignore[union-attr]
    assert line.endswith("from 5 to 6 January 2024 is provisional: rows may still come."), line


def test_a_change_and_the_way_back(root: Path) -> None:
    """The change names the approval that it rests on; the rollback says who, why, and what let its rows through."""
    place, plan = changed(root)
    assert not promote_plan(place).verdict.open and len(releases(place)) == 1
    approved(place, plan)
    assert promote_plan(place).verdict.open
    said = packet(place, releases(place)[-1])
    (approval,) = said["approvals"]  # type: ignore[misc]
    assert (approval["account"], approval["owner"], approval["plan"]) == ("ana", "ana@example.com", plan)
    assert said["models"][0]["changed"] == [["2024-01-01T00:00:00+00:00", "2024-01-05T00:00:00+00:00"]]  # type: ignore[index]
    first = releases(place)[0]
    back = roll_back(replace(place, acting="bo"), None, reason="totals are off by one").ended
    assert back.moved is not None
    said = packet(place, releases(place)[-1])
    assert (said["purpose"], said["by"], said["reason"]) == ("rollback", "bo", "totals are off by one")
    assert said["back_to"]["release"] == first.id and said["back_to"]["evidence"] == first.evidence  # type: ignore[index]
    assert said["approvals"] == [] and any("stands for an approval" in line for line in said["summary"])  # type: ignore[union-attr]


def test_a_plan_that_is_promoted_twice(root: Path) -> None:
    """Promoted, taken back, opened again, promoted again: each release has its own packet of the plan, as it was."""
    place, plan = changed(root)
    sealed: list[tuple[str, ArrowFolder, Release]] = []
    for _ in range(3):
        prove(place, plan)
        approved(place, plan)
        assert promote_plan(place).verdict.open
        folder, named = evidence_folder(place, find_plan(place.control, plan))
        assert packet_digest(folder) == named == releases(place)[-1].evidence[plan]
        sealed.append((plan, folder, releases(place)[-1]))
        assert roll_back(place, None).ended.moved is not None
        plan = build(place)[0].id  # nothing is built: what is left is to compare, to approve and to promote
        open_now, named = evidence_folder(place, find_plan(place.control, plan))
        assert find_plan(place.control, plan).live and not named
        assert write_evidence(place, plan).changed and packet_digest(open_now) not in [
            r.evidence.get(plan) for r in releases(place)
        ]
    assert sealed[0][0] != sealed[1][0] == sealed[2][0]
    assert len({folder.location for _, folder, _ in sealed}) == 3
    for name, folder, release in sealed:
        assert packet_digest(folder) == release.evidence[name]


def test_a_plan_whose_rows_a_rollback_shows(root: Path) -> None:
    """No release is of that plan: its packet is written anew when it has ended, and does not say that nothing is
    shown."""
    place, plan = changed(root)
    approved(place, plan)
    assert promote_plan(place).verdict.open
    there = releases(place)[-1].id
    assert roll_back(place, None).ended.moved is not None
    again = build(place)[0].id
    before = write_evidence(place, again)
    assert any("did not show it yet" in line for line in before.packet.summary.mind)
    assert roll_back(place, there).ended.moved is not None
    assert find_plan(place.control, again).status is PlanStatus.PROMOTED
    assert not any(again in release.evidence for release in releases(place))
    after = write_evidence(place, again)
    assert after.changed and after.packet.plan.status == "promoted"
    assert not any("did not show it yet" in line for line in after.packet.summary.mind)
    assert not write_evidence(place, again).changed
    assert packet(place, releases(place)[-1])["purpose"] == "rollback"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch


def test_killed_between_packet_and_flip(root: Path, killed: pytest.MonkeyPatch) -> None:
    """The packet is there, nothing has moved, no release names it; the same command again goes through."""
    place, plan = changed(root)
    approved(place, plan)

    def dies(*_: object, **__: object) -> None:
        raise Killed

    killed.setattr("backfill_assets.promote.release.promote", dies)
    with pytest.raises(Killed):
        promote_plan(place)
    assert len(releases(place)) == 1
    left = evidence_folder(place, find_plan(place.control, plan))
    assert left[0].read(MANIFEST) is not None and left[1] == ""
    killed.setattr("backfill_assets.promote.release.promote", really_promote)
    again = unsparked(root, user="dev")
    assert promote_plan(again).verdict.open
    release = releases(again)[-1]
    assert digest_of(left[0]) == release.evidence[plan] and packet(again, release)["plans"] == {
        plan: release.evidence[plan]
    }


def test_a_packet_whose_release_did_not_happen(root: Path, killed: pytest.MonkeyPatch) -> None:
    """It stays for the retention; then the janitor removes it, also when one was killed at that, and nothing else."""
    place, plan = changed(root)
    approved(place, plan)
    evidence = Path(place.warehouse, "evidence")
    before = {folder.name for folder in evidence.iterdir()}

    def dies(*_: object, **__: object) -> None:
        raise Killed

    killed.setattr("backfill_assets.promote.release.promote", dies)
    with pytest.raises(Killed):
        promote_plan(place)
    (left,) = {folder.name for folder in evidence.iterdir()} - before - {plan}
    (evidence / "notes").mkdir()
    (evidence / "notes" / "ours.txt").write_text("somebody's own")
    assert not find_garbage(place).packets, "it may be about to move"
    for file in evidence.rglob("*.*"):
        os.utime(file, (0, 0))
    assert [p.name for p in find_garbage(place).packets] == [left]
    assert left in backfill_here("janitor", project=root).out
    (said,) = backfill_here("janitor", "--json", project=root).json["packets"]
    assert said["name"] == left and said["bytes"] > 0
    stays = {f: f.read_bytes() for f in evidence.rglob("*.*") if f.is_file() and f.parent.name != left}

    with killed.context() as patch:
        delete = ArrowFolder.delete

        def half(self: ArrowFolder, name: str) -> None:
            delete(self, name)
            raise Killed

        patch.setattr(ArrowFolder, "delete", half)
        with pytest.raises(Killed):
            remove_garbage(place)
    assert (evidence / left).is_dir() and not (evidence / left / MANIFEST).exists()
    remove_garbage(place)
    assert not (evidence / left).exists() and not find_garbage(place).packets
    assert {f: f.read_bytes() for f in evidence.rglob("*.*") if f.is_file()} == stays
    (release,) = releases(place)
    assert packet(place, release)


def test_killed_between_flip_and_the_plan_s_end(root: Path, killed: pytest.MonkeyPatch) -> None:
    """The release has happened: its packet stays what it was, and the next promotion ends the plan."""
    place, plan = changed(root)
    approved(place, plan)

    def dies(*_: object, **__: object) -> None:
        raise Killed

    with killed.context() as patch:
        patch.setattr("backfill_assets.app.promote.end_promoted", dies)
        with pytest.raises(Killed):
            promote_plan(place)
    release = releases(place)[-1]
    assert find_plan(place.control, plan).live
    again = unsparked(root, user="dev")
    assert not write_evidence(again, plan).changed and write_evidence(again, plan).digest == release.evidence[plan]
    assert promote_plan(again).verdict.open and len(releases(again)) == 2
    assert find_plan(again.control, plan).status is PlanStatus.PROMOTED
    assert write_evidence(again, plan).digest == release.evidence[plan]


def test_red_days_and_an_end(tmp_path: Path) -> None:
    """Audits fail on most days; somebody ends the model before them and promotes the rest: the release has a packet
    that says what is shown, the plan's own is true, and no plan stays open."""
    root = project(tmp_path / "project", days=8)
    red = {utc(f"2024-01-{day:02}") for day in range(4, 9)}
    place = unsparked(root, red=red, user="dev")
    build(place)
    assert not promote_plan(place).verdict.open and not releases(place)
    project(root, days=8, text=TEXT.replace("start: 2024-01-01", "start: 2024-01-01\nend: 2024-01-04"))
    place = unsparked(root, red=red, user="dev")
    build(place)
    assert promote_plan(place).verdict.open, promote_plan(place).verdict
    (release,) = releases(place)
    said = packet(place, release)
    assert said["models"][0]["added"] == [["2024-01-01T00:00:00+00:00", "2024-01-04T00:00:00+00:00"]]  # type: ignore[index]
    (plan,) = said["plans"]  # type: ignore[misc]
    made = write_evidence(place, plan)
    assert made.digest == release.evidence[plan] and not made.changed
    (model,) = made.packet.models
    assert model.ranges.shown == [("2024-01-01T00:00:00+00:00", "2024-01-04T00:00:00+00:00")]
    said = made.packet.summary
    assert said.headline == "daily from 1 to 3 January 2024"
    assert said.changed == [
        "daily is new in prod: 3 days, from 1 to 3 January 2024. Not there yet: 5 days, from 4 to 8 January 2024."
    ]
    assert not any(p.live for p in place.control.plans.all())


def test_what_cannot_be_found(root: Path) -> None:
    """An unknown release, one of an earlier version, and a packet that was changed are each named as such."""
    place = unsparked(root)
    (release,) = releases(place)
    with pytest.raises(PromotionError, match="no release r1999"):
        read_release_evidence(place, "r1999")
    folder = release_folder(place, release.id)
    folder.write("release.json", (folder.read("release.json") or b"").replace(b'"dev"', b'"eve"'))
    with pytest.raises(StateError, match=r"release\.json was changed"):
        read_release_evidence(place, release.id)
    assert not verify(folder, None).ok


def test_it_is_found_from_the_terminal(root: Path) -> None:
    """`evidence` and `verify` take a release as well as a plan, by its id or its end; `rollback --reason` is kept."""
    place, plan = changed(root)
    approved(place, plan)
    promote_plan(place)
    assert backfill_here("rollback", "--reason", "no good", project=root).code == 0
    release = releases(place)[-1]
    for name in (release.id, release.id[-6:]):
        said = backfill_here("evidence", name, "--json", project=root).json
        assert said["release"] == release.id and said["digest"] == release.evidence[release.id]
        assert "Why: no good" in said["summary"]
    shown = backfill_here("evidence", release.id, project=root)
    assert shown.code == 0 and "goes back to release" in shown.out and "Why: no good" in shown.out, shown
    assert backfill_here("verify", release.id, "--json", project=root).json["release"] == release.id
    assert backfill_here("verify", plan, "--json", project=root).json["plan"] == plan
    folder = release_folder(place, release.id)
    folder.write("release.md", b"all is well")
    assert backfill_here("verify", release.id, project=root).code == 1


def test_verify_looks_at_what_the_release_shows(root: Path) -> None:
    """A file that is away, a commit of somebody else, rows that the log lost, a table that is gone: each is told of the
    release that shows it, and code 1 says so; later days, and a later release, are no problem."""
    place = unsparked(root)
    (first,) = releases(place)
    assert f"verify {first.id}: 0" in _verified(root, first.id)
    project(root, days=5)
    assert not extend(unsparked(root))
    assert "1 table hold the commits, batches and rows that it names: 4 files" in _verified(root, first.id)
    version = place.project.fingerprints["daily"]
    table = Path(place.warehouse) / "daily" / version
    (file,) = (table / "ds=2024-01-02").glob("*.parquet")
    kept = file.read_bytes()
    file.unlink()
    said = _verified(root, first.id)
    assert f"verify {first.id}: 1" in said and f"daily/{version}: ds=2024-01-02/{file.name} is missing" in said
    file.write_bytes(kept)
    assert f"verify {first.id}: 0" in _verified(root, first.id)
    entry = table / "_delta_log" / f"{first.moves[0].after.segments[0].commit:020}.json"  # type: ignore[union-attr]
    text = entry.read_text()
    entry.write_text(text.replace('"backfill_batch', '"nobodys'.replace("nobodys", "nobodys_batch")))
    said = _verified(root, first.id)
    assert f"verify {first.id}: 1" in said and f"of daily/{version}, batch " in said
    lines = text.splitlines(keepends=True)
    entry.write_text("".join(line for line in lines if '"ds=2024-01-03' not in line))
    said = _verified(root, first.id)
    assert f"verify {first.id}: 1" in said and "lost lines: it names 3 of 4 files that it added" in said
    entry.write_text("".join(line for line in lines[1:] if '"ds=2024-01-03' not in line))  # with what it counts
    said = _verified(root, first.id)
    assert f"verify {first.id}: 1" in said
    assert "30 rows in 3 files of 2024-01-01..2024-01-04; 40 in 4 were promoted" in said
    table.rename(table.with_name("elsewhere"))
    said = _verified(root, first.id)
    assert f"verify {first.id}: 1" in said and f"daily/{version} cannot be read at commit" in said


def _verified(root: Path, release: str) -> str:
    found = backfill_here("verify", release, project=root)
    return f"verify {release}: {found.code} {' '.join(found.out.split())} {found.err}"
