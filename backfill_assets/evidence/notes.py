"""Which messages go with a release? A note for the record, and a draft for those who read the views. Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from backfill_assets.core.escaping import markdown, one_line
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.wording import listed
from backfill_assets.evidence.formatting import day, every, few, moment
from backfill_assets.evidence.readers import reruns
from backfill_assets.evidence.sentences import (
    accepted_by,
    because,
    effect,
    in_scope,
    in_words,
    partial,
    red_audits,
    replaces,
    rules_notes,
    unaudited,
    values_changed,
    what_changed,
    who_accepted,
)
from backfill_assets.evidence.shape import ModelPart, Packet
from backfill_assets.evidence.value_changes import compared, value_changes


def release_note(packet: Packet) -> str:
    """What this release does, for whoever looks it up later."""
    plan, said = packet.plan, packet.summary
    by = markdown(f"Plan {plan.id} for {plan.environment}, opened by {plan.by}.")
    lines = [f"# Release note: {markdown(said.headline)}", "", by, ""]
    if plan.why:
        lines += [f"Why: {markdown(plan.why)}", ""]
    if part := [sentence for m in packet.models for sentence in partial(m)]:
        lines += ["**This release covers a part of history only.**", "", *bullets(part), ""]
    lines += ["## What changed", ""]
    for m in packet.models:
        lines += bullets(what_changed(m, packet))
    if plan.kept:
        lines += ["", "## What stays as it was", "", *bullets(f"{m}: {why}." for m, why in plan.kept.items())]
    lines += ["", "## Who reads it", "", *bullets(said.depends)]
    lines += ["", "## How it was tested", "", *bullets(said.tests)]
    lines += ["", "## Who accepted it", "", *bullets([*who_accepted(packet.approvals), *rules_notes(packet)])]
    lines += [
        "",
        "## How to go back",
        "",
        markdown(packet.rollback.text),
        "",
        f"    {one_line(packet.rollback.command)}",
        "",
    ]
    if packet.spent.sentence:
        lines += ["## What it took", "", packet.spent.sentence, ""]
    return "\n".join(lines)


def cutover_message(packet: Packet, *, activated: datetime | None = None, until: datetime | None = None) -> str:
    """A draft for the readers of the views: to be sent before the switch or, once it is `activated`, after it; `until`
    says when what was shown was taken away again."""
    place, affected = packet.plan.environment, [c for c in packet.consumers.readers if c.affected]
    names = listed(f"{place}.{m.model}" for m in packet.models)
    done = "had switched" if until else "have switched" if activated else "are about to switch"
    lines = [f"Subject: New numbers in {one_line(few([m.model for m in packet.models], 3))}", ""]
    if owners := sorted({c.owner for c in affected if c.owner}):
        lines += [f"To: {markdown(', '.join(owners))}", ""]
    lines += [
        "Hello,",
        "",
        f"we {done} {markdown(names)} to newly computed rows{', and have taken some of them back' if until else ''}.",
        *([f"The reason: {markdown(packet.plan.why)}"] if packet.plan.why else []),
        "",
        "When:",
        "",
        *bullets(activation(packet, activated, until)),
        "",
        "What you will see:",
        "",
    ]
    for m in packet.models:
        lines += bullets([f"{place}.{m.model}: {' '.join(_for_readers(m, packet))}"])
    lines += ["", "What does not change:", "", *bullets(stays(packet))]
    lines += ["", "What was different, and accepted:", "", *bullets(accepted(packet))]
    lines += ["", "Who sees it, and how:", "", *bullets(updated(packet))]
    lines += ["", "What you need to do:", "", *bullets(to_do(packet))]
    lines += [
        "",
        f"How it happens: {_together(packet)}. Every query sees either the old rows or the new ones, never a mixture.",
        "",
        "If something looks wrong to you, tell us: we can go back to the old rows at once.",
        "",
        markdown(_sender(packet.models, packet.plan.by)),
    ]
    return "\n".join(lines) + "\n"


def activation(packet: Packet, activated: datetime | None = None, until: datetime | None = None) -> list[str]:
    """When readers see it: the time at which it was, or what it waits for; `until` when they saw all of it."""
    place = packet.plan.environment
    if activated is not None and until is not None:
        return [f"{place} showed it from {moment(activated)} until {moment(until)}, and not all of it since."]
    if activated is not None:
        return [f"{place} shows it since {moment(activated)}."]
    if packet.plan.status in ("promoted", "promoting"):
        return [f"{place} shows it from the moment of the release that names this plan: backfill releases says when."]
    if packet.plan.status in ("abandoned", "superseded"):
        return [f"Never: the plan is {packet.plan.status}."]
    notices = [utc(i["notice_until"]) for i in packet.contract_impact or () if i.get("notice_until")]
    said = [f"Planned: not before {day(max(notices))}, when the notice that readers want is over."] if notices else []
    if missing := [m.model for m in packet.models if m.ranges.missing]:
        said.append(f"It waits for what is not computed yet of {few(missing)}.")
    if left := [n.owner or "somebody" for n in packet.needed if not n.given]:
        said.append(f"It waits for the approval of {few(left)}.")
    if any(map(replaces, packet.models)) and (packet.data_diff is None or packet.data_diff.holds is False):
        said.append("It waits for the comparison of old and new rows.")
    if red := red_audits(packet):
        said.append(f"It waits for blocking audits that are red: {few(red)}.")
    if untested := unaudited(packet):
        said.append(f"It waits for the audits of {few(untested)}.")
    if open_ := [f.name for f in packet.findings if not accepted_by(packet, f)]:
        said.append(f"It waits until somebody accepts {few(open_)}.")
    return said or ["Planned: as soon as this is sent; nothing is in its way that is known."]


def accepted(packet: Packet) -> list[str]:
    """The differences that were found and accepted: which, by whom, and why."""
    said = [
        f"{f.text} ({f.name}), {f'accepted by {by}' if by else 'not accepted yet'}."
        for f in packet.findings
        for by in [accepted_by(packet, f)]
    ]
    if said:
        return said
    compared_ = packet.data_diff is not None and packet.data_diff.holds is not False
    return ["Nothing that had to be accepted." if compared_ else "Not known: old and new rows were not compared."]


_HOW = {
    "view": "sees the new rows at once",
    "export": "has them with its next run",
    "extract": "keeps a copy: it has them when that is refreshed",
}


def updated(packet: Packet) -> list[str]:
    """How each reader of what changes gets to it, and what their own queries gave on the new rows."""
    said: list[str] = []
    pins = {i["consumer"]: i["pin"] for i in packet.contract_impact or () if i.get("pin")}
    for c in packet.consumers.readers:
        if not c.affected:
            continue
        mine = [r for r in reruns(packet) if r["consumer"] == c.name]
        missed = [r["query"] or r["evaluation"] for r in mine if r["missed"]]
        asked = "its queries were not run on them"
        if mine:
            asked = (
                f"not as expected: {few(missed)}" if missed else f"{every(len(mine), 'query', 'queries')} as expected"
            )
        who = f"{c.kind}, {c.owner}" if c.owner else c.kind
        gets = _HOW.get(c.how, "reads it")
        if pin := pins.get(c.name):
            gets = f"is kept on release {pin['release']} of {listed(pin['models'])} until {pin['until']}"
        said.append(f"{c.name} ({who}) {gets}; {asked}.")
    return said or ["Nobody is listed as a reader of what changes."]


def _for_readers(m: ModelPart, packet: Packet) -> list[str]:
    shown = in_words(m, Ranges.of_plain(m.ranges.shown))
    if m.kind == "new":
        return [f"it is new and has {shown}."]
    if m.kind == "restated":
        said = [f"corrected {in_scope(m) if m.ranges.where else 'rows'} for {shown}."]
    elif m.kind == "relisted":
        said = ["it has other columns; its rows are those that you know."]
    elif m.kind == "extended":
        return [f"it now reaches further: {shown}."]
    elif m.kind == "returned":
        said = [f"it is back, after release {m.until} took it out of sight, with rows for {shown}."]
    else:
        said = [f"new rows for {shown}."]
    if m.change is not None:
        said += effect(m.change, compared(packet.data_diff, m.model))
        if why := because(m.change):
            said.append(f"The reason: {why}.")
    return said + [values_changed(move) for move in value_changes(packet.data_diff, m.model)[:1]]


def stays(packet: Packet) -> list[str]:
    """What readers can go on to rely on."""
    said = ["The names of the views, and how you query them."]
    said += [
        f"The rows of {m.model} for {in_words(m, kept)}."
        for m in packet.models
        if (kept := Ranges.of_plain(m.ranges.kept))
    ]
    if packet.plan.kept:
        said.append(f"{few(list(packet.plan.kept))}: not touched.")
    return said


def to_do(packet: Packet) -> list[str]:
    """What readers have to do, and until when."""
    said: list[str] = []
    for m in packet.models:
        gone = [c for c in m.change.removed if c not in m.change.renamed] if m.change else []
        if gone:
            said.append(f"If you read {few(gone, 4)} of {m.model}: stop doing so before the switch.")
        if m.change and m.change.renamed:
            said += [
                f"If you read {old} of {m.model}: read {new} from the switch on."
                for old, new in m.change.renamed.items()
            ]
        if m.change and (m.change.rows or m.change.columns):
            what = "numbers" if m.change.rows else few(m.change.columns, 4)
            said.append(f"If you kept copies of {what} from {m.model}: refresh them after the switch.")
        elif m.kind == "restated":
            said.append(f"If you kept copies of these days of {m.model}: refresh them after the switch.")
    return said or ["Nothing."]


def _together(packet: Packet) -> str:
    many = len(packet.models)
    return f"{every(many, 'table')} switch in the same moment" if many > 1 else "in one moment"


def _sender(models: list[ModelPart], by: str) -> str:
    owners = sorted({m.owner for m in models if m.owner})
    return f"{listed(owners)} (sent by {by})" if owners else by


def bullets(lines: Iterable[str]) -> list[str]:
    """Lines of a list in Markdown."""
    return [f"- {markdown(line)}" for line in lines]
