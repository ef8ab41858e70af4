"""What does a change mean for each reader? The contracts' impact and the readers' own queries, in words."""

from __future__ import annotations

from backfill_assets.contracts.answer_changes import answer_changes
from backfill_assets.core.intervals import utc
from backfill_assets.core.wording import listed
from backfill_assets.evidence.formatting import day, few, number
from backfill_assets.evidence.shape import Packet, Section

LEVELS = {
    "compatible": "notices nothing",
    "additive": "has more to read, and need not (additive, non-breaking)",
    "behavioural": "will see other numbers",
    "breaking": "has to change, or it may fail",
    "unknown": "may be affected: nobody can tell",
}


def impact_on(packet: Packet, consumer: str) -> list[str]:
    """What is known of a reader: how it is affected, by what, whom to tell until when, and what does not hold any more.

    Nothing where nobody looked into it.
    """
    found = next((i for i in packet.contract_impact or () if i["consumer"] == consumer), None)
    if found is None:
        return []
    level = found.get("level")
    if level is None:
        return ["is not affected"]
    worst = [_change(m["model"], c) for m in found["models"] for c in m["changes"] if c["level"] == level]
    why = "" if level == "compatible" else few(worst, 3)
    said = [f"{LEVELS[level]} ({why})" if why else LEVELS[level]]
    if (pin := found.get("pin")) and (kept := [m["model"] for m in found["models"] if m["model"] in pin["models"]]):
        said.append(
            f"is kept on release {pin['release']} until {pin['until']}, of {listed(kept)}: it is not moved before"
        )
    if until := found.get("notice_until"):
        said.append(
            f"wants to know of it {number(found['notice_days'])} days before: not earlier than {day(utc(until))}"
        )
    said += [_void(packet, consumer, e) for e in found.get("void_evaluations", ())]
    return said


def _void(packet: Packet, consumer: str, evaluation: Section) -> str:
    """What became of an evaluation that was made of rows which are replaced."""
    said = f"its evaluation {evaluation['name']} ({evaluation['days']}) was of the older rows"
    again = [r for r in reruns(packet) if r["consumer"] == consumer and r["evaluation"] == evaluation["name"]]
    if not again:
        return f"{said}: it has to be made again"
    missed = [text for r in again for text in r["missed"]]
    if missed:
        return f"{said}; made again over the new ones, it is not as expected: {listed(missed)}"
    return f"{said}; made again over the new ones, it is as expected"


def reruns(packet: Packet) -> list[Section]:
    """The readers' queries that were asked again: over the new rows, and over those that are shown.

    None where those were other rows than the packet's.
    """
    proof = packet.query_reruns
    return list(proof.document.get("reruns", ())) if proof and proof.holds is not False else []


def moved_in(rerun: Section) -> str:
    """What of an answer is another one over the new rows."""
    if rerun["shown"] is None:
        return "it was asked of the new rows only"
    if rerun["same"]:
        return "nothing: the same answer"
    return answer_changes(rerun["shown"], rerun["candidate"]) or "nobody can tell: it failed over one of the two"


def answers(packet: Packet) -> list[str]:
    """What came of them, in a sentence; nothing when none was asked."""
    asked = reruns(packet)
    if not asked:
        return []
    bad = [r for r in asked if not r["met"]]
    good = f"{number(len(asked) - len(bad))} of {number(len(asked))}"
    said = [f"Readers' own queries over the new rows: {good} gave what their owners expect."]
    said += [f"{r['consumer']}, {r['evaluation'] or r['query']}: {listed(r['missed'])}." for r in bad]
    return said


def _change(model: str, change: Section) -> str:
    column = f"{model}.{change['column']}" if change.get("column") else model
    return f"{column}: {change['what']}"
