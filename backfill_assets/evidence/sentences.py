"""What does a packet say in plain words? Sentences that somebody understands who never saw a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backfill_assets.compare.filling import FILLING
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.wording import amount, listed
from backfill_assets.evidence.formatting import capital, count, day, every, few, moment, number, percent, spans
from backfill_assets.evidence.readers import answers, impact_on
from backfill_assets.evidence.shape import (
    ApprovalPart,
    Change,
    Check,
    ConsumerPart,
    FindingPart,
    ModelPart,
    Packet,
    Summary,
)
from backfill_assets.evidence.value_changes import ValueChange, compared, value_changes
from backfill_assets.plan.category import Category
from backfill_assets.plan.reasons import OWN_CODE
from backfill_assets.plan.scope_text import scope_rows
from backfill_assets.state.required_approvals import titled

SAID = 3
NOT_THERE = "its tables were removed since, or an earlier release of this program made the comparison"
"""How many columns of a model are told of one by one."""


def summary(packet: Packet) -> Summary:
    """The answers at a glance."""
    return Summary(
        headline=headline(packet),
        changed=[sentence for m in packet.models for sentence in what_changed(m, packet)],
        depends=who_depends(packet),
        tests=[
            *(tests_of(m, [c for c in packet.checks if c.model == m.model]) for m in packet.models),
            *(f"{line}." for line in filled(packet)),
            *answers(packet),
        ],
        accepted=[*who_accepted(packet.approvals), *still_needed(packet)],
        mind=reminders(packet),
    )


def filled(packet: Packet) -> list[str]:
    """How far new columns are filled, where their author said how far they should be."""
    diff = packet.data_diff
    return list(diff.document.get(FILLING, ())) if diff is not None and diff.holds is not False else []


def headline(packet: Packet) -> str:
    """What it is about, in one line."""
    names = [m.model for m in packet.models]
    whole = Ranges.of(i for m in packet.models for i in Ranges.of_plain(m.ranges.recomputed or m.ranges.shown))
    if not whole.span:
        return f"Nothing was computed for {few(names)}"
    fine = min((cadence(m) for m in packet.models), key=list(Cadence).index)
    return f"{few(names)} {spans(Ranges((whole.span,)), fine)}"


def what_changed(m: ModelPart, packet: Packet) -> list[str]:
    """A model's change: which intervals, what about them, and why."""
    said = [_which(m, packet.plan.environment)]
    if m.change is not None and m.kind not in ("new", "restated"):
        said += effect(m.change, compared(packet.data_diff, m.model))
        if why := because(m.change):
            said.append(f"The reason: {why}.")
        said += [f"{capital(line)}." for line in m.lineage[:SAID]]
    if m.kind != "new":
        said += [values_changed(move) for move in value_changes(packet.data_diff, m.model)[:SAID]]
    if missing := Ranges.of_plain(m.ranges.missing):
        said.append(f"Not there yet: {in_words(m, missing)}.")
    return [" ".join(said)]


def effect(change: Change, measured: Mapping[str, Any] | None = None) -> list[str]:
    """What a reader of the table notices: what was measured, and what may be where nothing was."""
    said: list[str] = []
    if change.category == Category.ADDITIVE.value:
        said.append("The change is additive, non-breaking.")
    if measured is not None and (change.rows or change.category == Category.NEW.value):  # it was shown once before
        said.append(_rows_moved(measured["total"]["rows"]))
    elif measured is not None and change.columns:
        said += _values_moved(change, measured)
    elif change.rows:
        said.append("Any row may be different from before, and rows may have come or gone.")
    elif change.columns:
        said.append(f"The values of {few(change.columns)} may differ from before; all other columns keep theirs.")
    renamed = change.renamed
    said += [f"The column {old} is now called {new}." for old, new in renamed.items()]
    if more := [c for c in change.added if c not in renamed.values()]:
        rest = "" if change.rows or change.columns else "; what was there before keeps its values"
        said.append(f"New {'columns' if len(more) > 1 else 'column'}: {few(more)}{rest}.")
    if less := [c for c in change.removed if c not in renamed]:
        said.append(f"No longer there: {few(less)}.")
    return said


def _rows_moved(rows: Mapping[str, int]) -> str:
    paired = rows["unchanged"] + rows["changed"]
    came_and_went = f"{count(rows['added'], 'row')} came and {count(rows['removed'], 'row')} went"
    return (
        f"Old and new rows were compared: {number(rows['changed'])} of {count(paired, 'row')} differ, {came_and_went}."
    )


def _values_moved(change: Change, measured: Mapping[str, Any]) -> list[str]:
    """Of the columns whose values may differ: those that do, and those that do not; and those that should not."""
    names = {c["name"].lower(): c["name"] for c in measured["columns"]}
    moved = {n.lower() for n, m in measured["total"]["columns"].items() if m["changed"] and m["old"] and m["new"]}
    meant = [c.lower() for c in change.columns]
    differ, stay = [c for c in meant if c in moved], [c for c in meant if c not in moved]
    others = [names[c] for c in names if c in moved and c not in meant]
    said: list[str] = []
    if differ:
        rest = "" if others else "; all other columns keep theirs"
        said.append(f"The values of {few([names.get(c, c) for c in differ])} differ from before{rest}.")
    if stay:
        said.append(f"The values of {few([names.get(c, c) for c in stay])} could have differed, and are the same.")
    if others:
        said.append(f"Not meant to differ, and different: {few(others)}.")
    return said


def because(change: Change) -> str:
    """The reason of a change, as half a sentence."""
    return listed(
        "its own definition was changed" if reason == OWN_CODE else _reading(reason)
        for reason in change.because
        if not reason.startswith("reads none")
    )


def values_changed(move: ValueChange) -> str:
    """How the values of a column moved, in one sentence."""
    said = f"In {number(move.changed)} of {count(move.rows, 'row')}, {move.column} has another value"
    if move.before is not None and move.after is not None:
        said += f"; its {move.measure} went from {number(move.before)} to {number(move.after)}"
        if move.share is not None:
            said += f" ({percent(move.share)})"
    return f"{said}."


def who_depends(packet: Packet) -> list[str]:
    """Who reads what changed, who reads only what stays, and how sure that list is."""
    consumers = packet.consumers
    said = [_reader(c, impact_on(packet, c.name)) for c in consumers.readers if c.affected]
    if quiet := [c.name for c in consumers.readers if not c.affected]:
        said.append(
            f"Not touched: {few(quiet)} {'read' if len(quiet) > 1 else 'reads'} only tables that stay as they are."
        )
    if not said:
        said.append("Nobody is listed as a reader of these tables.")
    said.append(confirmed(packet))
    return said


def confirmed(packet: Packet) -> str:
    """When the list of readers was last confirmed."""
    at = packet.consumers.confirmed
    if at is None:
        return "Nobody has confirmed yet that this list of readers is complete."
    return f"This list of readers was last confirmed on {day(utc(at))}."


def tests_of(m: ModelPart, checks: Sequence[Check]) -> str:
    """What became of a model's tests."""
    if not checks:
        return f"{m.model}: no test looked at it."
    tested, bad = min(c.tested for c in checks), [c for c in checks if c.failures]
    on = f"on each of {amount(tested, cadence(m))}" if tested > 1 else f"on the one {cadence(m).unit}"
    if not bad:
        return f"{m.model}: {every(len(checks), 'test')} passed {on}."
    said = [
        f"{c.check} {'failed' if c.blocking else 'gave a warning'} on {amount(len(c.failures), cadence(m))}"
        for c in bad
    ]
    rest = f"; the other {count(len(checks) - len(bad), 'test')} passed" if len(checks) > len(bad) else ""
    return f"{m.model}: {listed(said)}{rest}."


def who_accepted(approvals: Sequence[ApprovalPart]) -> list[str]:
    """Who accepted what, and when; that nobody did is a sentence too."""
    said: list[str] = []
    for a in approvals:
        as_owner = f" for {a.owner}" if a.owner and a.owner != a.by else ""
        if a.doubt:
            said.append(f"{a.by} accepted it{as_owner} on {moment(utc(a.at))}, which does not count: {a.doubt}.")
            continue
        signed = ("signed" if a.signature else "not signed") + (f", for plan {a.plan}" if a.plan else "")
        why = f": “{a.reason}”" if a.reason else "."
        said.append(f"{a.by} accepted it{as_owner} on {moment(utc(a.at))} ({signed}){why}")
        said += [f"Accepted difference: {finding} ({reason})." for finding, reason in a.accepted.items()]
    return said or ["No acceptance is recorded."]


def still_needed(packet: Packet) -> list[str]:
    """Whose approval is missing, and how they give it."""
    return [
        f"Needed: {titled(n.owner, n.roles)} for {listed(n.models)}, by {n.command}."
        for n in packet.needed
        if not n.given
    ]


def accepted_by(packet: Packet, finding: FindingPart) -> str:
    """Who accepted a difference, and why; empty when nobody did."""
    said = [
        f"{a.by}: {a.accepted[finding.name]}" for a in packet.approvals if not a.doubt and finding.name in a.accepted
    ]
    return "; ".join(said)


def reminders(packet: Packet) -> list[str]:
    """Sentences for the packet's top: partial history, status, failed audits, open findings, what was not compared."""
    said = [sentence for m in packet.models for sentence in (*partial(m), *unsettled(m))]
    said += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in packet.plan.amended]
    said += rules_notes(packet)
    place = packet.plan.environment
    match packet.plan.status:
        case "promoted":
            pass
        case "promoting":
            said.append(f"This was written when all was ready, just before {place} was switched to it.")
        case "open" | "applied":
            said.append(f"When this was written, {place} did not show it yet.")
        case "superseded":
            said.append(f"This plan was replaced by a newer one: {place} never showed it.")
        case "abandoned":
            said.append(f"This plan was given up: {place} never showed it.")
    said += [
        f"{c.model} failed the test {c.check}; it must not be shown before that is mended."
        for c in packet.checks
        if c.failures and c.blocking
    ]
    for m in packet.models:
        if not m.begun:
            said.append(f"Nothing of {m.model} is built yet.")
        elif m.table is None:
            said.append(f"The table of {m.model} is gone, so its files could not be looked at.")
        elif m.table.foreign:
            said.append(
                f"Something else than this system wrote to the table of {m.model}: {_commits(m.table.foreign)}."
            )
        elif not m.batches:
            said.append(f"Nothing of {m.model} is complete.")
        elif not any(batch.rows for batch in m.batches):
            said.append(f"{m.model} has no row at all in what was computed: readers would find none there.")
    said += [f"Not accepted yet: {f.text}." for f in packet.findings if not accepted_by(packet, f)]
    if packet.data_diff is not None and packet.data_diff.holds is False:
        said.append("Old and new values were compared, and old or new rows are others by now: compare them again.")
    if packet.data_diff is None and any(map(replaces, packet.models)):
        said.append("Old and new values were not compared; only the number of rows was.")
    if left := not_compared(packet):
        said.append(f"What was shown once of {few(left)} was not compared: {NOT_THERE}.")
    return said


def rules_notes(packet: Packet) -> list[str]:
    """That approvals are off, and where the project's files say other rules than those in force."""
    return [f"{note}." for note in (packet.rules.notes if packet.rules else ())]


def unsettled(m: ModelPart) -> list[str]:
    """That days of it are provisional, where some are."""
    part = Ranges.of_plain(m.ranges.provisional)
    if not part:
        return []
    return [f"Provisional: {in_words(m, part)} of {m.model}. Rows may still come; routine runs replace it then."]


def partial(m: ModelPart) -> list[str]:
    """That only a part of history is new, where that is so."""
    if not m.ranges.partial:
        return []
    said: list[str] = []
    if kept := Ranges.of_plain(m.ranges.kept):
        rules = "the values and rules that they had" if m.kind == "forward" else "exactly the rows that they had"
        said.append(
            f"Only a part of the history of {m.model} is new: {in_words(m, Ranges.of_plain(m.ranges.shown))}. "
            f"The other {_those(m)} ({in_words(m, kept)}) keep {rules}."
        )
    if missing := Ranges.of_plain(m.ranges.missing):
        said.append(f"{m.model} is not complete: it lacks {in_words(m, missing)}.")
    return said


def in_words(m: ModelPart, some: Ranges) -> str:
    """`4 days, from 1 March 2024 to 4 March 2024`."""
    unit = cadence(m)
    return f"{amount(Ranges.of(unit.cover(i) for i in some).count(unit), unit)}, {spans(some, unit)}"


def replaces(m: ModelPart) -> bool:
    """Whether its rows are beside others that are, or were, shown: not where just those come back to sight."""
    return m.before is not None and not m.same_rows


def red_audits(packet: Packet) -> list[str]:
    """The blocking audits that failed somewhere."""
    return [f"{c.model}.{c.check}" for c in packet.checks if c.failures and c.blocking]


def unaudited(packet: Packet) -> list[str]:
    """The models of which something is built that no audit looked at."""
    return [m.model for m in packet.models if m.batches and not any(c.model == m.model for c in packet.checks)]


def over(packet: Packet) -> bool:
    """Whether nothing of the plan is to be done any more."""
    return packet.plan.status not in ("open", "applied")


def not_compared(packet: Packet) -> list[str]:
    """Models of a comparison that holds which it did not set against what was shown of them once: its tables were
    removed, or an earlier release made it."""
    if packet.data_diff is None or packet.data_diff.holds is False:
        return []
    until = {m.model: (compared(packet.data_diff, m.model) or {}).get("until") for m in packet.models if m.until}
    return [m.model for m in packet.models if replaces(m) and m.model in until and until[m.model] != m.until]


def in_scope(m: ModelPart) -> str:
    """Of a restatement of some rows of its days: which."""
    return scope_rows(m.ranges.where, by_key=m.ranges.by_key)


def cadence(m: ModelPart) -> Cadence:
    """The model's cadence."""
    return Cadence(m.cadence)


def _which(m: ModelPart, place: str) -> str:
    """Which intervals, and whether they are new, added or computed again."""
    done, shown, unit = Ranges.of_plain(m.ranges.recomputed), Ranges.of_plain(m.ranges.shown), cadence(m)
    if m.kind == "relisted":
        return f"Only the view of {m.model} changes: all of its rows stay exactly as they were."
    if not m.begun:
        return f"Nothing of {m.model} is built yet."
    if not done and m.kind != "returned":
        return f"{m.model} switches to rows that were computed before: {in_words(m, shown)}."
    many = amount(done.count(unit), unit)
    were = _were(done.count(unit))
    match m.kind:
        case "new":
            return f"{m.model} is new in {place}: {in_words(m, done)}."
        case "returned":
            return (
                f"{m.model} comes back to {place}: {in_words(m, done or shown)}. It was shown before, until release "
                f"{m.until} (taken out of {place})."
            )
        case "extended":
            return f"{m.model} gains {in_words(m, done)}; what it showed before stays."
        case "restated" if m.ranges.where:
            return (
                f"{capital(spans(done, unit))}, {many} of {m.model}: only {in_scope(m)} were computed again, "
                "by the same rules, from the data as it is now. All other rows stay exactly as they were: those "
                "of these days were copied, and compared with what was shown."
            )
        case "restated":
            return (
                f"{capital(spans(done, unit))}, {many} of {m.model} {were} computed again by the same rules, from the "
                "data as it is now. All other rows stay exactly as they were."
            )
        case "forward":
            follow = "follows" if done.count(unit) == 1 else "follow"
            return (
                f"{capital(spans(done, unit))}, {many} of {m.model} {follow} the new rules. "
                "Older rows stay as they were."
            )
        case "changed":
            return " ".join(_copied_or_computed(m, done, Ranges.of_plain(m.ranges.copied)))


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _copied_or_computed(m: ModelPart, done: Ranges, copied: Ranges) -> Iterator[str]:
    unit = cadence(m)
    if part := done & copied:
        many, were = amount(part.count(unit), unit), _were(part.count(unit))
        yield (
            f"{capital(spans(part, unit))}, {many} of {m.model} {were} copied from the rows that were shown, under "
            "the new names of their columns: nothing of them was computed."
        )
    if part := done - copied:
        many, were = amount(part.count(unit), unit), _were(part.count(unit))
        yield f"{capital(spans(part, unit))}, {many} of {m.model} {were} computed again."


def _reading(reason: str) -> str:
    return f"it {reason}" if reason.startswith("reads") else reason


def _reader(c: ConsumerPart, impact: Sequence[str]) -> str:
    owner = f" of {c.owner}" if c.owner else ""
    means = f"; {'; '.join(impact)}" if impact else ""
    return f"{c.name} ({c.kind}{owner}) reads {listed(c.affected)}{means}."


def _those(m: ModelPart) -> str:
    return f"{cadence(m).unit}s"


def _commits(numbers: Sequence[int]) -> str:
    return f"commit{'s' * (len(numbers) > 1)} {few([str(n) for n in numbers])}"
