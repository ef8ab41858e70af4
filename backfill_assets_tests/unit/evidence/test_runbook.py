"""What goes out with a plan: the commands can be typed, and each line of the checklist says what records say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from backfill_assets.app.runbook import Runbook, write_runbook
from backfill_assets.cli.app import app
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.errors import UsageError
from backfill_assets.core.escaping import UNSEEN
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.checklist import PlanEvidence, checklist, state_of
from backfill_assets.evidence.notes import cutover_message
from backfill_assets.evidence.packet import packet
from backfill_assets.evidence.runbook import CHECKLIST, CUTOVER, MIGRATION, RUNBOOK, documents, runbook_text
from backfill_assets.evidence.steps import Words, steps
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.packets import a_proof, an_approval, some_inputs
from backfill_assets_tests.projects import CHECKOUT

NOW = utc("2024-02-02T10:00")
AT = utc("2024-02-02T09:00")


def known(*, inputs: dict[str, Any] | None = None, **more: Any) -> PlanEvidence:
    made = packet(some_inputs(**(inputs or {})))
    values: dict[str, Any] = {
        "packet": made,
        "status": "applied",
        "now": NOW,
        "options": "",
        "gaps": (),
        "back_to": "r7",
    }
    return PlanEvidence(**(values | more))


def states(given: PlanEvidence) -> dict[str, tuple[str, str]]:
    return {line.what: (line.state, line.why) for line in checklist(given)}


def assert_can_be_typed(commands: Iterable[str]) -> None:
    """Each is parsed as the terminal would, without being carried out."""
    group: Any = get_command(app)
    for command in commands:
        program, name, *arguments = shlex.split(command)
        assert program == "backfill"
        group.commands[name].make_context(name, arguments)


# --- the steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [Words(), Words(plan="1f3a9c02", options="--forward-only 2024-06-01 --select a", back_to="", place="stage")],
)
def test_there_are_eleven_and_each_can_be_typed(words: Words) -> None:
    """The way back is among them, dry at first."""
    every = steps(words)
    assert len(every) == 11
    assert_can_be_typed(command for step in every for command in step.commands)
    assert any("rollback" in c and "--dry-run" in c for c in every[-1].commands)


def test_the_page_of_docs_has_the_same() -> None:
    """docs/runbook.md is made of them, and nothing else in it is a command that there is not."""
    text = (CHECKOUT / "docs" / "runbook.md").read_text()
    said = re.findall(r"^\$ (.+)$", text, re.MULTILINE)
    assert said == [command for step in steps(Words()) for command in step.commands]
    assert re.findall(r"^### (\d+)\. (.+)$", text, re.MULTILINE) == [
        (str(n), step.title) for n, step in enumerate(steps(Words()), 1)
    ]


def test_every_step_has_a_line() -> None:
    """So that its state is told."""
    assert {line.step for line in checklist(known())} == set(range(1, 12))


# --- the checklist ----------------------------------------------------------------------------------------------------


def test_what_no_record_says_is_open() -> None:
    """Also after the switch: nobody knows whether the message was sent."""
    promoted = known(status="promoted", release="r8", activated=AT)
    for given in (known(), promoted):
        assert states(given)["Readers were told"][0] == "open"


def test_an_approval_is_done_by_whom_and_when() -> None:
    """One that does not count is none."""
    what = "The owners approved exactly these rows"
    assert states(known())[what][0] == "done" and "ana on" in states(known())[what][1]
    doubted = known(inputs={"approvals": (an_approval(doubt="rows were written since"),)})
    assert states(doubted)[what][0] != "done"


def test_a_finding_is_open_until_somebody_accepts_it() -> None:
    what = "Each difference that has to be accepted is"
    assert states(known())[what] == ("done", "conversions by ana: double clicks were counted twice")
    assert states(known(inputs={"approvals": ()}))[what] == ("open", "conversions")


def test_rows_that_were_not_compared() -> None:
    """Or were written again since."""
    what = "Old and new rows were compared"
    assert states(known())[what][0] == "done"
    assert states(known(inputs={"proofs": {}}))[what] == ("open", "they were not")
    other = known(inputs={"proofs": {"diff": a_proof(content="others")}})
    assert states(other)[what] == ("open", "old or new rows are others by now")


def test_a_red_audit_and_missing_days_are_open() -> None:
    """With their names."""
    made = known().packet
    failing = [
        c.model_copy(update={"failures": [{"interval": ("a", "b"), "observed": "3", "sample": []}]})
        if c.blocking
        else c
        for c in made.checks
    ]
    lacking = [
        m.model_copy(
            update={
                "ranges": m.ranges.model_copy(
                    update={"missing": [("2024-01-03T00:00:00+00:00", "2024-01-04T00:00:00+00:00")]}
                )
            }
        )
        for m in made.models
    ]
    said = states(replace(known(), packet=made.model_copy(update={"checks": failing, "models": lacking})))
    assert said["No blocking audit is red"] == ("open", "red: performance.not_null")
    assert said["All of it is built beside prod"][0] == "open" and "1 day" in said["All of it is built beside prod"][1]
    assert said["A sample was tried"][0] == "done"


def test_what_blocks_before_it_begins() -> None:
    """Nobody looked: that is open, not done."""
    what = "Owners, keys, late rows and acceptance are known"
    gap = Gap(subject="performance", what="nobody owns it", remedy="add `owner:`", blocking=True)
    assert states(known(gaps=(gap,)))[what] == ("open", "performance: nobody owns it")
    assert states(known(gaps=(replace(gap, blocking=False),)))[what][0] == "done"
    assert states(known(gaps=None))[what][0] == "open"


def test_after_the_switch() -> None:
    """Since when, and what the watch says; a rollback opens it again."""
    given = known(status="promoted", release="r8", activated=AT, watch="still watching, 1 h of 24", watched=False)
    assert states(given)["prod shows it"] == ("done", "since 2 February 2024, 09:00 UTC, by release r8")
    assert states(given)["The watch is closed"] == ("open", "still watching, 1 h of 24")
    assert states(replace(given, watched=True))["The watch is closed"][0] == "done"
    assert state_of(checklist(replace(given, watched=True)), 11) == "done"
    back = states(replace(given, taken_back="r9"))
    assert back["prod shows it"] == ("open", "shown by release r8, taken back by r9")
    assert back["The watch is closed"][0] == "open"


def test_a_plan_that_was_given_up_needs_nothing_more() -> None:
    """Nothing is open, and what was done stays done."""
    ended = known(status="abandoned", inputs={"approvals": (), "proofs": {}})
    left = {line.what for line in checklist(ended) if line.state == "open"}
    assert left <= {"The reason is written down", "The list of readers is confirmed", "Sources are frozen"}


# --- the documents ----------------------------------------------------------------------------------------------------


def test_the_message_says_when() -> None:
    """What it waits for before, the time after; who accepted which difference and why; who sees it and how."""
    made = known().packet
    before, after = cutover_message(made), cutover_message(made, activated=AT)
    assert "we are about to switch" in before and "Planned: as soon as this is sent" in before
    assert "we have switched" in after and "prod shows it since 2 February 2024, 09:00 UTC." in after
    assert "accepted by ana: double clicks were counted twice" in before
    assert "sees the new rows at once" in before
    pin = {"release": "r1", "until": "2024-03-01", "models": ["daily"]}
    kept = cutover_message(made.model_copy(update={"contract_impact": [{"consumer": "dashboard", "pin": pin}]}))
    assert "is kept on release r1 of daily until 2024-03-01" in kept and "sees the new rows at once" not in kept
    notice = [{"consumer": "dashboard", "notice_until": "2024-02-10T00:00:00+00:00", "level": None, "models": []}]
    late = cutover_message(made.model_copy(update={"contract_impact": notice}))
    assert "Planned: not before 10 February 2024" in late


def test_the_message_names_what_is_open() -> None:
    """A comparison, an audit, an acceptance; and that it was taken back."""
    for lacking, said in (
        ({"proofs": {}}, "the comparison of old and new rows"),
        ({"approvals": ()}, "accepts conver"),
    ):
        text = cutover_message(known(inputs=lacking).packet)
        assert said in text and "nothing is in its way" not in text
    back = cutover_message(known().packet, activated=AT, until=NOW)
    assert "prod showed it from 2 February 2024, 09:00 UTC until 2 February 2024, 10:00 UTC" in back
    assert "we have switched" not in back and "prod shows it" not in back


def test_a_notice_that_was_not_over_stays_open() -> None:
    """It was switched before; and nobody has to look at preflight any more."""
    notice = [{"consumer": "dashboard", "notice_until": "2024-02-02T09:30:00+00:00", "level": None, "models": []}]
    made = known().packet.model_copy(update={"contract_impact": notice})
    given = known(packet=made, status="promoted", release="r8", activated=AT, gaps=None)
    assert states(given)["The notice that readers want is over"][0] == "open"
    what = "Owners, keys, late rows and acceptance are known"
    assert states(given)[what] == ("not needed", "prod shows it already")


def test_the_note_answers_what_readers_ask() -> None:
    """What changes by column, since when, how to check, whom to ask, how to go back."""
    note = documents(known())[MIGRATION]
    for title in ("What changes", "Since when", "How to check", "Whom to ask", "How to go back"):
        assert f"\n## {title}\n" in note
    assert "| conversions | other values |" in note
    assert "- performance: marketing@example.com" in note
    assert "    backfill rollback r7 --select performance --dry-run" in note


def test_commands_in_the_documents_can_be_typed() -> None:
    """Of an open plan, and of one that is shown."""
    for given in (known(options="--select performance"), known(status="promoted", release="r8", activated=AT)):
        text = runbook_text(documents(given))
        found = re.findall(r"^    (backfill .+)$", text, re.MULTILINE)
        assert len(found) > 15
        assert_can_be_typed(found)


def test_texts_of_others_are_inert() -> None:
    """Neither Markdown nor a terminal obeys them."""
    bad = "x\x1b[31m\n# Done\n<img src=x> [a](http://e)"
    made = known().packet
    plan = made.plan.model_copy(update={"why": bad, "by": bad})
    models = [m.model_copy(update={"owner": bad, "description": bad}) for m in made.models]
    given = replace(known(gaps=(Gap(subject=bad, what=bad, remedy=bad, blocking=True),)), watch=bad, release="r8")
    given = replace(given, activated=AT, packet=made.model_copy(update={"plan": plan, "models": models}))
    for name, text in documents(given).items():
        assert not UNSEEN.search(text), name
        assert "<img" not in text and "[a](http" not in text and "\n# Done" not in text, name


def test_no_other_file_is_written_over(tmp_path: Path) -> None:
    """A folder gets four files, a name with .md one; what somebody else wrote stays."""
    found = Runbook(plan="p", documents=documents(known()), lines=())
    assert {p.name for p in write_runbook(found, str(tmp_path / "a" / "b"))} == {RUNBOOK, CHECKLIST, MIGRATION, CUTOVER}
    [one] = write_runbook(found, str(tmp_path / "all.md"))
    assert write_runbook(found, str(one)) == (one,), "its own file is written anew"
    assert one.read_text().startswith(runbook_text(found.documents))
    (tmp_path / "docs").mkdir()
    theirs = tmp_path / "docs" / CHECKLIST
    theirs.write_text("mine\n")
    with pytest.raises(UsageError, match="is another file"):
        write_runbook(found, str(tmp_path / "docs"))
    assert theirs.read_text() == "mine\n" and [p.name for p in theirs.parent.iterdir()] == [CHECKLIST]
    for place in (str(theirs / "below"), "~nobody-has-this-name/out"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_runbook(found, place)


@pytest.mark.parametrize("name", [RUNBOOK, CHECKLIST, MIGRATION, CUTOVER])
def test_what_a_person_wrote_into_a_file_stays(tmp_path: Path, name: str) -> None:
    """A tick, a note at the end, a removed line: nothing is written, to no file. A renamed one is in nobody's way, and
    line ends of another system are no edit."""
    found = Runbook(plan="p", documents=documents(known()), lines=())
    later = Runbook(plan="p", documents=documents(known(status="promoted", release="r8", activated=AT)), lines=())
    write_runbook(found, str(tmp_path))
    mine = tmp_path / name
    written = mine.read_text()
    noted = written.replace("\n", "\nsent on Monday\n", 1)
    for edited in (noted, written + "- told them\n", written[:-200], written[: len(written) // 2]):
        mine.write_text(edited)
        before = {p.name: p.read_text() for p in tmp_path.iterdir()}
        with pytest.raises(UsageError, match="was edited since it was written"):
            write_runbook(later, str(tmp_path))
        assert {p.name: p.read_text() for p in tmp_path.iterdir()} == before
    mine.rename(tmp_path / "kept.md")
    write_runbook(found, str(tmp_path))
    mine.write_bytes(written.replace("\n", "\r\n").encode())
    write_runbook(later, str(tmp_path))
    assert mine.read_text().startswith(later.documents[name]) and mine.read_text() != written


def test_a_file_of_an_older_release_is_not_said_to_be_edited(tmp_path: Path) -> None:
    """It has no last line of ours: who knows. It stays, with what to do; one that has the line was edited."""
    found = Runbook(plan="p", documents=documents(known()), lines=())
    [one, *_] = write_runbook(found, str(tmp_path))
    written = one.read_text()
    one.write_text(found.documents[one.name])
    with pytest.raises(UsageError, match="was edited since it was written, or an older release wrote it") as told:
        write_runbook(found, str(tmp_path))
    assert "delete it where" in told.value.fix and one.read_text() == found.documents[one.name]
    one.write_text(f"{written}noted\n")
    with pytest.raises(UsageError, match=r"was edited since it was written\n"):
        write_runbook(found, str(tmp_path))


def test_of_a_plan_that_is_open_nothing_is_shown() -> None:
    """No release, no time."""
    given = known(inputs={"plan": replace(some_inputs().plan, status=PlanStatus.OPEN)}, status="open")
    assert states(given)["prod shows it"] == ("open", "the plan is open")
