"""What of a safe backfill is done? A line each, with its state by the records and why; what none says is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.wording import listed
from backfill_assets.evidence.formatting import count, day, few, moment
from backfill_assets.evidence.readers import reruns
from backfill_assets.evidence.sentences import (
    NOT_THERE,
    accepted_by,
    confirmed,
    in_words,
    not_compared,
    over,
    red_audits,
    replaces,
    tests_of,
    unaudited,
)
from backfill_assets.evidence.shape import Packet

State = Literal["done", "open", "not needed"]
_ENDED = frozenset({"abandoned", "superseded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistLine:
    """One thing, the step that it belongs to (from 1), and its state with the reason."""

    step: int
    what: str
    state: State
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvidence:
    """A packet, and what is known of the plan beside it."""

    packet: Packet
    status: str
    """The plan's, by now: a packet that was sealed says what it was just before."""
    now: datetime
    options: str
    """What asks for the plan: arguments of `backfill plan`, as a shell takes them."""
    unfrozen: tuple[str, ...] = ()
    """Sources that are read as they are when the build runs."""
    gaps: tuple[Gap, ...] | None = None
    """What preflight misses; None: nobody looks any more, or the code is another."""
    release: str = ""
    """The release that shows it; "" where none does."""
    activated: datetime | None = None
    """When that happened."""
    taken_back: str = ""
    """The release that took it away again: a rollback, or a later plan's."""
    until: datetime | None = None
    """When that happened."""
    back_to: str = ""
    """Where a rollback goes: the release before it, or the newest one."""
    watch: str = ""
    """What the watch says of that release; "": there is none, or another came since."""
    watched: bool = False
    """Whether the watch is closed."""


def checklist(known: PlanEvidence) -> tuple[ChecklistLine, ...]:
    """Every line, in the order of the steps."""
    return tuple(_lines(known))


def state_of(lines: Sequence[ChecklistLine], step: int) -> State:
    """Of a step: open as long as any of its lines is."""
    states = {line.state for line in lines if line.step == step}
    return "open" if "open" in states else "done" if "done" in states else "not needed"


def _lines(known: PlanEvidence) -> Iterator[ChecklistLine]:
    packet, plan = known.packet, known.packet.plan
    place, ended = plan.environment, known.status in _ENDED
    yield _line(1, "The reason is written down", plan.why, "nobody said what it is for: --why of apply says it")
    about = [f"{in_words(m, part)} of {m.model}" for m in packet.models if (part := _all(packet, m.model))]
    yield _line(1, "The plan says which intervals change", f"plan {plan.id}: {listed(about)}", "")
    yield _unless(ended, _preflight(known))
    frozen = [s.name for s in packet.sources if s.name not in known.unfrozen]
    if known.unfrozen:
        yield ChecklistLine(
            step=2, what="Sources are frozen", state="open", why=f"read as they are: {few(known.unfrozen)}"
        )
    elif frozen:
        yield ChecklistLine(step=2, what="Sources are frozen", state="done", why=few(frozen))
    else:
        yield ChecklistLine(step=2, what="Sources are frozen", state="not needed", why="nothing of them was read yet")
    told = confirmed(packet)
    yield _line(3, "The list of readers is confirmed", told if packet.consumers.confirmed else "", told)
    yield from (_unless(ended, line) for line in _readers(known))
    before = [t.model for t in packet.rollback.to if t.segments]
    if not packet.rollback.known:
        yield ChecklistLine(step=4, what="There is a way back", state="open", why=packet.rollback.text)
    elif not before:
        yield ChecklistLine(step=4, what="There is a way back", state="not needed", why=packet.rollback.text)
    else:
        yield ChecklistLine(
            step=4, what="There is a way back", state="done", why=f"to release {known.back_to or 'before'}"
        )
    yield from (_unless(ended, line) for line in (*_built(packet), *_compared(packet), _approved(packet)))
    if known.taken_back:
        why = f"shown by release {known.release}, taken back by {known.taken_back}"
        yield ChecklistLine(step=10, what=f"{place} shows it", state="open", why=why)
    elif known.release and known.activated:
        why = f"since {moment(known.activated)}, by release {known.release}"
        yield ChecklistLine(step=10, what=f"{place} shows it", state="done", why=why)
    else:
        yield _unless(
            ended, ChecklistLine(step=10, what=f"{place} shows it", state="open", why=f"the plan is {known.status}")
        )
    if not known.release or known.taken_back:
        why = "nothing of it is shown"
        yield _unless(ended, ChecklistLine(step=11, what="The watch is closed", state="open", why=why))
    else:
        state: State = "done" if known.watched else "open"
        why = known.watch or "another release came since: `backfill watch` is about that one"
        yield ChecklistLine(step=11, what="The watch is closed", state=state, why=why)


def _line(step: int, what: str, done: str, open_: str) -> ChecklistLine:
    return ChecklistLine(step=step, what=what, state="done" if done else "open", why=done or open_)


def _unless(ended: bool, line: ChecklistLine) -> ChecklistLine:
    """The line, which nobody needs any more of a plan that was given up."""
    if not ended or line.state != "open":
        return line
    return ChecklistLine(step=line.step, what=line.what, state="not needed", why="the plan was given up")


def _all(packet: Packet, name: str) -> Ranges:
    m = next(m for m in packet.models if m.model == name)
    return Ranges.of_plain(m.ranges.recomputed) or Ranges.of_plain(m.ranges.shown) | Ranges.of_plain(m.ranges.missing)


def _preflight(known: PlanEvidence) -> ChecklistLine:
    what = "Owners, keys, late rows and acceptance are known"
    if known.gaps is None:
        why = "the code that is loaded is another than the plan's, or nothing is left to look at"
        if known.release and not known.taken_back:
            shown = f"{known.packet.plan.environment} shows it already"
            return ChecklistLine(step=2, what=what, state="not needed", why=shown)
        return ChecklistLine(step=2, what=what, state="open", why=why)
    blocking = [f"{gap.subject}: {gap.what}" for gap in known.gaps if gap.blocking]
    rest = [f"{gap.subject}: {gap.what}" for gap in known.gaps if not gap.blocking]
    if blocking:
        return ChecklistLine(step=2, what=what, state="open", why="; ".join(blocking))
    return ChecklistLine(
        step=2, what=what, state="done", why=f"nothing blocks; to be mended: {few(rest)}" if rest else "all of it"
    )


def _readers(known: PlanEvidence) -> Iterator[ChecklistLine]:
    packet = known.packet
    affected = [c for c in packet.consumers.readers if c.affected]
    ends = [(utc(i["notice_until"]), i["consumer"]) for i in packet.contract_impact or () if i.get("notice_until")]
    what = "The notice that readers want is over"
    if packet.contract_impact is None and affected and not known.release:
        yield ChecklistLine(step=3, what=what, state="open", why="nobody looked at what it means for readers")
    elif late := [f"{name} until {day(at)}" for at, name in ends if at > (known.activated or known.now)]:
        yield ChecklistLine(step=3, what=what, state="open", why=listed(late))
    else:
        why = "it is over" if ends else "nobody who is affected wants any"
        yield ChecklistLine(step=3, what=what, state="done" if ends else "not needed", why=why)
    what = "Readers were told"
    if affected:
        why = f"no record says so; ask {listed(sorted({c.owner or c.name for c in affected}))}"
        yield ChecklistLine(step=3, what=what, state="open", why=why)
    else:
        yield ChecklistLine(step=3, what=what, state="not needed", why="nobody is listed who reads what changes")
    if notice := packet.maintenance:
        what, left = "The maintenance notice was sent", any(m.ranges.missing for m in packet.models)
        why = f"no record says so; {notice.sentence}" if left else "all of it is built"
        yield ChecklistLine(step=3, what=what, state="open" if left else "not needed", why=why)


def _built(packet: Packet) -> Iterator[ChecklistLine]:
    missing = [
        f"{in_words(m, part)} of {m.model}" for m in packet.models if (part := Ranges.of_plain(m.ranges.missing))
    ]
    some = [m.model for m in packet.models if m.batches]
    if not missing:
        sample = ChecklistLine(step=5, what="A sample was tried", state="not needed", why="all of it is built")
    elif some:
        sample = ChecklistLine(step=5, what="A sample was tried", state="done", why=f"a part is built of {few(some)}")
    else:
        sample = ChecklistLine(step=5, what="A sample was tried", state="open", why="nothing is built yet")
    yield sample
    what = f"All of it is built beside {packet.plan.environment}"
    yield _line(6, what, "" if missing else "every interval is complete", f"not there yet: {listed(missing)}")
    red, untested = red_audits(packet), unaudited(packet)
    tests = " ".join(tests_of(m, [c for c in packet.checks if c.model == m.model]) for m in packet.models)
    what = "No blocking audit is red"
    why = [
        *([f"red: {few(red)}"] if red else []),
        *([f"no test looked at {few(untested)}"] if untested else []),
    ]
    if not packet.checks:
        why.append("nothing was tested yet")
    elif missing and not red and not over(packet):
        why.append("not all of it is built")
    if why:
        yield ChecklistLine(step=7, what=what, state="open", why="; ".join(why))
    else:
        yield ChecklistLine(step=7, what=what, state="done", why=tests)


def _compared(packet: Packet) -> Iterator[ChecklistLine]:
    what = "Old and new rows were compared"
    rewritten = [m.model for m in packet.models if replaces(m)]
    if not rewritten:
        yield ChecklistLine(step=8, what=what, state="not needed", why="nothing of it was shown before")
    elif packet.data_diff is None or packet.data_diff.holds is False:
        why = "old or new rows are others by now" if packet.data_diff else "they were not"
        yield ChecklistLine(step=8, what=what, state="open", why=why)
    elif left := not_compared(packet):
        why = f"what was shown once of {few(left)} was not: {NOT_THERE}"
        yield ChecklistLine(step=8, what=what, state="open", why=why)
    else:
        gone = {m.until: None for m in packet.models if m.until}
        with_ = f", with what was shown until release {listed(list(gone))}" if gone else ""
        yield ChecklistLine(step=8, what=what, state="done", why=f"on {moment(utc(packet.data_diff.at))}{with_}")
    what, made = "Readers' own queries were run on the new rows", reruns(packet)
    missed = [f"{r['consumer']}.{r['query'] or r['evaluation']}" for r in made if r["missed"]]
    if missed:
        yield ChecklistLine(step=8, what=what, state="open", why=f"not as expected: {few(missed)}")
    elif made:
        yield ChecklistLine(step=8, what=what, state="done", why=f"{count(len(made), 'answer')}, as expected")
    elif any(c.affected for c in packet.consumers.readers):
        yield ChecklistLine(step=8, what=what, state="open", why="none was run, or not on these rows")
    else:
        yield ChecklistLine(step=8, what=what, state="not needed", why="nobody is listed who reads what changes")
    what = "Each difference that has to be accepted is"
    said = [(f, accepted_by(packet, f)) for f in packet.findings]
    if left := [f.name for f, by in said if not by]:
        yield ChecklistLine(step=9, what=what, state="open", why=few(left))
    elif said:
        yield ChecklistLine(step=9, what=what, state="done", why="; ".join(f"{f.name} by {by}" for f, by in said))
    else:
        why = "none was found" if packet.data_diff or not rewritten else "nothing was compared"
        yield ChecklistLine(step=9, what=what, state="not needed", why=why)


def _approved(packet: Packet) -> ChecklistLine:
    what, given = "The owners approved exactly these rows", [a for a in packet.approvals if not a.doubt]
    if left := [n.owner or "somebody" for n in packet.needed if not n.given]:
        return ChecklistLine(step=9, what=what, state="open", why=f"lacking: {few(left)}")
    if given:
        by = few([f"{a.by} on {moment(utc(a.at))}" for a in given])
        return ChecklistLine(step=9, what=what, state="done", why=by)
    if packet.rules and not packet.rules.approvals.get("required", True):
        return ChecklistLine(step=9, what=what, state="not needed", why="approvals are off in this project")
    if not any(s.get("stage") == "approve" for s in packet.plan.stages):
        return ChecklistLine(step=9, what=what, state="not needed", why="no published row changes")
    return ChecklistLine(step=9, what=what, state="open", why="no approval that counts is recorded")
