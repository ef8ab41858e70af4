"""What does an owner ask before approving? Seven questions about a plan, each with its number and its reason.

They say what is known, never what may be approved: that is the gate's to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.wording import listed
from backfill_assets.evidence.asked import ANSWERS, ASKED, Grade
from backfill_assets.evidence.formatting import capital, count, few, number, percent
from backfill_assets.evidence.readers import LEVELS, reruns
from backfill_assets.evidence.sentences import accepted_by, in_words, over, red_audits, replaces, unaudited
from backfill_assets.evidence.shape import ModelPart, Packet
from backfill_assets.evidence.value_changes import compared
from backfill_assets.state.required_approvals import titled

_UNCOMPARED = "old and new rows were not compared"
_REPLACED = "old or new rows are others by now than were compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerQuestion:
    """A question, its answer, the number that says it and why. `name` is its short name."""

    name: str
    answer: Grade
    number: str
    why: str

    @property
    def asks(self) -> str:
        """In the words of an owner."""
        return ASKED[self.name]

    @property
    def said(self) -> str:
        """The answer in words."""
        return ANSWERS[self.answer]


def questions(packet: Packet) -> tuple[ReviewerQuestion, ...]:
    """All of them, in the order in which they are asked."""
    return (
        _keys(packet),
        _rows(packet),
        _moved(packet),
        _contracts(packet),
        _queries(packet),
        _audits(packet),
        _owners(packet),
    )


def row_totals(m: ModelPart) -> tuple[int | None, int | None]:
    """Rows before and after, of the intervals of a model that the plan shows; None: there were none, or nobody counted
    them."""
    old, new = [c.old for c in m.rows if c.old is not None], [c.new for c in m.rows if c.new is not None]
    return (sum(old) if old else None), (sum(new) if new else None)


def rows_moved(m: ModelPart) -> str:
    """How the number of a model's rows changes: `1,200 → 1,210 rows (+0.83 %)`."""
    old, new = row_totals(m)
    if new is None:
        return "no rows counted"
    if old is None:
        return f"{count(new, 'row')}, none before"
    return f"{number(old)} → {count(new, 'row')} ({_share(old, new)})"


def _keys(packet: Packet) -> ReviewerQuestion:
    if not _rewritten(packet):
        return ReviewerQuestion(name="keys", answer="none", number="—", why="nothing of it was shown before")
    if problem := _not_compared(packet):
        return ReviewerQuestion(name="keys", answer="open", number="not counted", why=problem)
    found = [(m.model, m.grain, said["keys"]) for m, said in _compared(packet) if "keys" in said]
    after = [(model, keys["new"]) for model, _, keys in found]
    twice, empty = sum(k["duplicate_keys"] for _, k in after), sum(k["null_rows"] for _, k in after)
    bad = [model for model, k in after if k["duplicate_keys"] or k["null_rows"]]
    before = [model for model, _, keys in found if keys["old"]["duplicate_keys"] or keys["old"]["null_rows"]]
    told = f"{number(twice)} duplicate, {number(empty)} empty"
    if bad:
        already = f"; the rows that are shown have such keys too, in {few(before)}" if before else ""
        why = f"keys are there more than once, or lack a part, in {few(bad)}{already}"
        return ReviewerQuestion(name="keys", answer="look" if set(bad) <= set(before) else "bad", number=told, why=why)
    grains = [f"{model}: {', '.join(grain)}" for model, grain, _ in found if grain]
    return ReviewerQuestion(name="keys", answer="good", number=told, why=f"by {few(grains, 3)}" if grains else "")


def _rows(packet: Packet) -> ReviewerQuestion:
    missing = [
        f"{in_words(m, part)} of {m.model}" for m in packet.models if (part := Ranges.of_plain(m.ranges.missing))
    ]
    totals = [row_totals(m) for m in packet.models]
    old, new = sum(o or 0 for o, _ in totals), sum(n or 0 for _, n in totals)
    if any(o is not None for o, _ in totals):
        told = f"{number(old)} → {number(new)} ({_share(old, new)})"
    else:
        told = f"{number(new)}, none before"
    each = [f"{m.model} {rows_moved(m)}" for m in packet.models] if len(packet.models) > 1 else []
    if missing:
        return ReviewerQuestion(name="rows", answer="open", number=told, why=f"not there yet: {listed(missing)}")
    if _rewritten(packet) and (problem := _not_compared(packet)):
        return ReviewerQuestion(name="rows", answer="open", number=told, why="; ".join([problem, *each]))
    counts = [said["total"]["rows"] for _, said in _compared(packet)]
    came, went, other = (sum(c[kind] for c in counts) for kind in ("added", "removed", "changed"))
    if counts:
        each.insert(0, f"{number(came)} came, {number(went)} went, {number(other)} have other values")
    return ReviewerQuestion(name="rows", answer="look" if came or went else "good", number=told, why="; ".join(each))


def _moved(packet: Packet) -> ReviewerQuestion:
    if not _rewritten(packet):
        return ReviewerQuestion(name="moved", answer="none", number="—", why="nothing of it was shown before")
    if problem := _not_compared(packet):
        return ReviewerQuestion(name="moved", answer="open", number="not compared", why=problem)
    said = [(f, accepted_by(packet, f)) for f in packet.findings]
    left = [f for f, by in said if not by]
    if left:
        told = f"{count(len(left), 'difference')} to accept"
        return ReviewerQuestion(name="moved", answer="bad", number=told, why="; ".join(f.text for f in left))
    if said:
        told = f"{count(len(said), 'difference')} accepted"
        return ReviewerQuestion(
            name="moved", answer="look", number=told, why="; ".join(f"{f.text}; {by}" for f, by in said)
        )
    names = [
        f"{m.model}.{name}"
        for m, found in _compared(packet)
        for name, c in found["total"]["columns"].items()
        if c["changed"]
    ]
    why = f"other values in {few(names)}, as the plan says" if names else "no column has other values"
    return ReviewerQuestion(name="moved", answer="good", number="no surprise", why=why)


def _contracts(packet: Packet) -> ReviewerQuestion:
    if packet.contract_impact is None:
        why = "it is looked at while the plan is open, by the code that made it"
        return ReviewerQuestion(name="contracts", answer="open", number="not looked at", why=why)
    levels: dict[str, list[str]] = {}
    for impact in packet.contract_impact:
        if level := impact.get("level"):
            levels.setdefault(level, []).append(impact["consumer"])
    affected = sum(map(len, levels.values()))
    if not affected:
        return ReviewerQuestion(name="contracts", answer="good", number="no reader affected", why="")
    worse = [level for level in LEVELS if level in levels and level not in ("compatible", "additive")]
    why = "; ".join(f"{few(names)} {LEVELS.get(level, level)}" for level, names in levels.items())
    answer: Grade = "bad" if {"breaking", "unknown"} & set(worse) else "look" if worse else "good"
    return ReviewerQuestion(name="contracts", answer=answer, number=f"{count(affected, 'reader')} affected", why=why)


def _queries(packet: Packet) -> ReviewerQuestion:
    made = reruns(packet)
    missed = [f"{r['consumer']}, {r['evaluation'] or r['query']}: {listed(r['missed'])}" for r in made if r["missed"]]
    if made:
        answer: Grade = "bad" if missed else "good"
        told = f"{number(len(made) - len(missed))} of {number(len(made))} as expected"
        return ReviewerQuestion(name="queries", answer=answer, number=told, why="; ".join(missed))
    affected = [c.name for c in packet.consumers.readers if c.affected]
    if not affected:
        why = "nobody is listed who reads what changes"
        return ReviewerQuestion(name="queries", answer="none", number="—", why=why)
    if packet.query_reruns is not None and packet.query_reruns.holds is not False:
        why = f"{few(affected)}: no query is listed of them"
        return ReviewerQuestion(name="queries", answer="none", number="none listed", why=why)
    return ReviewerQuestion(name="queries", answer="open", number="not run", why=f"read by {few(affected)}")


def _audits(packet: Packet) -> ReviewerQuestion:
    tested, passed = sum(c.tested for c in packet.checks), sum(c.passed for c in packet.checks)
    red, untested = red_audits(packet), unaudited(packet)
    warned = [f"{c.model}.{c.check}" for c in packet.checks if c.failures and not c.blocking]
    missing = [] if over(packet) else [m.model for m in packet.models if m.ranges.missing]
    told = f"{number(passed)} of {number(tested)} passed" if tested else "none ran"
    said = [
        *([f"red: {few(red)}"] if red else []),
        *([f"warnings: {few(warned)}"] if warned else []),
        *([f"no audit looked at {few(untested)}"] if untested else []),
        *([f"not all is built of {few(missing)}"] if missing else []),
    ]
    answer: Grade = "bad" if red else "look" if warned or untested else "open" if missing or not tested else "good"
    many = f"{count(len(packet.checks), 'audit')}, each on every interval" if packet.checks else ""
    return ReviewerQuestion(name="audits", answer=answer, number=told, why="; ".join(said) or many)


def _owners(packet: Packet) -> ReviewerQuestion:
    void = [f"{a.by} (void: {a.doubt})" for a in packet.approvals if a.doubt]
    if packet.needed:
        given = sum(one.given for one in packet.needed)
        left = [titled(one.owner, one.roles) for one in packet.needed if not one.given]
        why = "; ".join([*([f"lacking: {few(left)}"] if left else []), *void])
        told = f"{number(given)} of {number(len(packet.needed))} given"
        return ReviewerQuestion(name="owner", answer="open" if left else "good", number=told, why=why)
    good = [a.by for a in packet.approvals if not a.doubt]
    if good:
        told = f"{count(len(good), 'approval')}"
        return ReviewerQuestion(name="owner", answer="good", number=told, why="; ".join([few(good), *void]))
    if packet.rules and not packet.rules.approvals.get("required", True):
        why = "approvals are off in this environment"
        return ReviewerQuestion(name="owner", answer="look", number="nobody is asked", why=why)
    if any(s.get("stage") == "approve" for s in packet.plan.stages) and not over(packet):
        why = "; ".join(["the plan says whom it asks once its rows are there", *void])
        return ReviewerQuestion(name="owner", answer="open", number="not given", why=why)
    why = "; ".join([capital("no approval is recorded") if over(packet) else "no published row changes", *void])
    return ReviewerQuestion(name="owner", answer="none", number="—", why=why)


def _rewritten(packet: Packet) -> bool:
    """Whether it replaces anything that was shown."""
    return any(replaces(m) and m.kind != "extended" for m in packet.models)


def _not_compared(packet: Packet) -> str:
    """Why no comparison counts; "" where one does."""
    if packet.data_diff is None:
        return _UNCOMPARED
    return _REPLACED if packet.data_diff.holds is False else ""


def _compared(packet: Packet) -> Iterator[tuple[ModelPart, Mapping[str, Any]]]:
    for m in packet.models:
        if (said := compared(packet.data_diff, m.model)) is not None:
            yield m, said


def _share(old: int, new: int) -> str:
    return percent((new - old) / old) if old else "none before"
