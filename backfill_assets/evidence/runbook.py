"""What goes out with a plan? Its runbook, its safety checklist and a page for those who read its tables. Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backfill_assets.core.escaping import markdown, one_line
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.wording import listed
from backfill_assets.evidence.checklist import ChecklistLine, PlanEvidence, State, checklist, state_of
from backfill_assets.evidence.formatting import moment
from backfill_assets.evidence.notes import activation, bullets, cutover_message, stays, to_do, updated
from backfill_assets.evidence.sentences import effect, in_words, partial, unsettled
from backfill_assets.evidence.shape import ColumnPart, ModelPart
from backfill_assets.evidence.steps import Words, shell, steps

RUNBOOK, CHECKLIST, MIGRATION, CUTOVER = "runbook.md", "checklist.md", "migration_note.md", "cutover_message.md"
"""The files, in the order in which they are printed."""
_MARK: Mapping[State, str] = {"done": "[x]", "open": "[ ]", "not needed": "[-]"}


def documents(known: PlanEvidence) -> dict[str, str]:
    """File name → Markdown."""
    lines = checklist(known)
    return {
        RUNBOOK: runbook(known, lines),
        CHECKLIST: safety(known, lines),
        MIGRATION: migration_note(known),
        CUTOVER: cutover_message(known.packet, activated=known.activated, until=known.until),
    }


def runbook_text(made: Mapping[str, str]) -> str:
    """All of it as one text."""
    return "\n---\n\n".join(made.values())


def runbook(known: PlanEvidence, lines: Sequence[ChecklistLine]) -> str:
    """The eleven steps as commands of this plan, each with its state."""
    plan = known.packet.plan
    words = Words(plan=plan.id, options=known.options, back_to=_target(known), place=plan.environment)
    said = [f"# Runbook of plan {markdown(plan.id)} for {markdown(plan.environment)}", "", *_head(known), ""]
    for number, step in enumerate(steps(words), 1):
        said += [f"## {number}. {markdown(step.title)} ({state_of(lines, number)})", ""]
        said += [*shell([one_line(command) for command in step.commands]), "", step.look, ""]
        said += [_told(line) for line in lines if line.step == number]
        said += [""]
    if notice := known.packet.maintenance:
        said += [
            "## Maintenance notice (draft)",
            "",
            markdown(f"As of when the plan was opened: {notice.sentence}."),
            "",
        ]
        said += [notice.notice.rstrip(), ""]
    said += ["## To go back", "", markdown(known.packet.rollback.text), "", *shell(_back(known)), ""]
    return "\n".join(said)


def safety(known: PlanEvidence, lines: Sequence[ChecklistLine]) -> str:
    """The checklist: what is done, open and not needed, by the records."""
    plan = known.packet.plan
    left = sum(line.state == "open" for line in lines)
    said = [f"# Safety checklist of plan {markdown(plan.id)}", "", *_head(known), ""]
    said += [f"{left} of {len(lines)} are open." if left else "Nothing is open.", ""]
    return "\n".join([*said, *map(_told, lines), ""])


def migration_note(known: PlanEvidence) -> str:
    """A page for those who read the tables: what changes, since when, how to check, whom to ask, how to go back."""
    packet, place = known.packet, known.packet.plan.environment
    names = listed(m.model for m in packet.models)
    said = [f"# Migration note: {markdown(names)}", "", *_head(known), "", "## What changes", ""]
    for m in packet.models:
        said += _model(m, place)
    said += [
        "What stays:",
        "",
        *bullets(stays(packet)),
        "",
        "## Since when",
        "",
        *bullets(activation(packet, known.activated, known.until)),
    ]
    said += bullets(sentence for m in packet.models for sentence in (_since(m), *unsettled(m)))
    said += [
        "",
        "## Who sees it, and how",
        "",
        *bullets(updated(packet)),
        "",
        "## What to do",
        "",
        *bullets(to_do(packet)),
    ]
    said += ["", "## How to check", "", "Look at the rows, and at old beside new:", ""]
    said += shell(
        [*(one_line(c) for m in packet.models for c in _look(m, known)), f"backfill evidence {packet.plan.id}"]
    )
    said += ["", "## Whom to ask", "", *bullets(_owners(packet.models, packet.plan.by))]
    said += ["", "## How to go back", "", markdown(packet.rollback.text), "", *shell(_back(known)), ""]
    return "\n".join(said)


def _head(known: PlanEvidence) -> list[str]:
    plan = known.packet.plan
    said = [markdown(f"Opened by {plan.by}; {known.status}; as of {moment(known.now)}.")]
    return said + ([f"Why: {markdown(plan.why)}"] if plan.why else [])


def _told(line: ChecklistLine) -> str:
    return f"- {_MARK[line.state]} {markdown(line.what)} ({line.state}): {markdown(line.why)}"


def _back(known: PlanEvidence) -> list[str]:
    command = f"backfill rollback {_target(known)}"
    return [f"{command} --dry-run", f"{command} --reason 'what was wrong'"]


def _target(known: PlanEvidence) -> str:
    """Where a rollback goes, of this plan's models only: others may have moved since."""
    return " ".join([*filter(None, [known.back_to]), *(f"--select {m.model}" for m in known.packet.models)])


def _model(m: ModelPart, place: str) -> list[str]:
    said = [markdown(f"{place}.{m.model}: {' '.join(effect(m.change)) if m.change else _kind(m)}"), ""]
    columns = [c for c in m.columns if c.what != "same"]
    if columns:
        said += ["| column | what | before | now | meaning |", "|---|---|---|---|---|"]
        said += [_row(c) for c in columns] + [""]
    return said


def _kind(m: ModelPart) -> str:
    kinds = {"new": "it is new.", "extended": "it reaches further.", "relisted": "it lists other columns.",
             "returned": "it is shown again."}  # fmt: skip
    return kinds.get(m.kind, "its rows were computed again by the same rules.")


def _row(c: ColumnPart) -> str:
    what = {"values": "other values", "type": "another type", "added": "new", "removed": "gone"}[c.what]
    cells = [c.name, what, c.old_type or "", c.new_type or "", c.description]
    return f"| {' | '.join(markdown(cell) for cell in cells)} |"


def _since(m: ModelPart) -> str:
    shown = Ranges.of_plain(m.ranges.shown)
    part = " ".join(partial(m))
    return (
        part or f"{m.model}: all of it, {in_words(m, shown)}." if shown else f"{m.model}: nothing of it is there yet."
    )


def _look(m: ModelPart, known: PlanEvidence) -> list[str]:
    plan, place = known.packet.plan, known.packet.plan.environment
    live = plan.status in ("open", "applied")
    where = f"plan_{plan.id}" if live else place
    query = f'backfill sql{f" -e plan-{plan.id}" if live else ""} "SELECT * FROM {where}.{m.model} LIMIT 20"'
    return [query, *([f"backfill diff {plan.id} --model {m.model}"] if live and m.before else [])]


def _owners(models: Sequence[ModelPart], by: str) -> list[str]:
    said = [f"{m.model}: {m.owner}" for m in models if m.owner]
    return [*said, f"the plan: {by}"]
