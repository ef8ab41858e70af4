"""Who is affected by a plan? A few lines for a person, a table for a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import print_section
from backfill_assets.contracts.impact import Impact, ModelImpact
from backfill_assets.contracts.levels import ContractChange, Level
from backfill_assets.core.escaping import markdown, markdown_code
from backfill_assets.plan.category import Category
from backfill_assets.plan.stages import Plan
from backfill_assets.state.pinned import PinnedConsumer

LEVELS: Mapping[Level, str] = {
    Level.COMPATIBLE: "dim",
    Level.ADDITIVE: "green",
    Level.BEHAVIOURAL: "yellow",
    Level.BREAKING: "red",
    Level.UNKNOWN: "red",
}
_LATER = {
    "view": "",
    "export": "sees it with its next export",
    "extract": "keeps the old rows until its copy is refreshed",
}


def print_impacts(plan: Plan, impacts: Sequence[Impact]) -> None:
    """Who is affected, by what, and who is not; nothing when the plan changes nothing that is shown."""
    if not _changes(plan, impacts):
        return
    lines: list[Text] = []
    for impact in impacts:
        if impact.level is None:
            continue
        c = impact.consumer
        about = ", ".join(part for part in (c.kind, f"criticality {c.criticality}", c.owner or "no owner") if part)
        lines.append(
            Text(c.name, style="bold") + Text(": ")
            + Text(impact.level.said, style=LEVELS[impact.level]) + Text(f"  ({about})", style="dim")
        )  # fmt: skip
        lines += [Text(f"  {line}") for line in impact_lines(impact)]
    calm = [i.consumer.name for i in impacts if i.level is None]
    if calm and len(calm) < len(impacts):
        lines.append(Text(f"not affected: {', '.join(calm)}", style="dim"))
    print_section("Who is affected", lines if any(i.models for i in impacts) else [Text("nobody in consumers.yml")])


def impact_lines(impact: Impact) -> list[str]:
    """What changes for a consumer, whom to tell until when, and what does not hold any more."""
    lines = [f"{m.model}: {_changed(m)}" for m in impact.models]
    c = impact.consumer
    if impact.pin and impact.models:
        lines.append(_kept(impact.pin, [m.model for m in impact.models]))
    if impact.affected and (later := _LATER[c.how]):
        lines.append(later)
    if impact.notice_until:
        lines.append(f"tell {c.owner or 'its owner'}: {c.notice} days' notice end at {impact.notice_until:%Y-%m-%d}")
    if impact.void:
        void = ", ".join(f"{e.name} ({e.days})" for e in impact.void)
        lines.append(f"evaluations that will not hold any more: {void}")
    return lines


def impact_markdown(plan: Plan, impacts: Sequence[Impact]) -> str:
    """The same as a table; empty when the plan changes nothing that is shown."""
    if not _changes(plan, impacts):
        return ""
    lines = ["\n", "### Who is affected", "", "| consumer | owner | level | what |", "|---|---|---|---|"]
    for i in impacts:
        level, what = (i.level.said, markdown("; ".join(impact_lines(i)))) if i.level else ("not affected", "")
        name, owner = markdown_code(i.consumer.name), markdown(i.consumer.owner)
        lines.append(f"| {name} ({markdown(i.consumer.kind)}) | {owner} | {level} | {what} |")
    return "\n".join(lines)


def _changed(model: ModelImpact) -> str:
    """Changes that say the same of several columns in one phrase."""
    grouped: dict[str, list[ContractChange]] = {}
    for change in model.changes:
        grouped.setdefault(change.what, []).append(change)
    parts: list[str] = []
    for what, these in grouped.items():
        columns = ", ".join(c.column for c in these if c.column)
        said = f"{columns} {what}" if columns else what
        parts.append(f"{said} on {short(model.days)}" if these[0].values else said)
    return "; ".join(parts)


def _kept(pin: PinnedConsumer, models: Sequence[str]) -> str:
    """That a pinned consumer does not move with the others."""
    loose = [name for name in models if name not in pin.pointers]
    but = f", but not of {', '.join(loose)}, which it came to read since" if loose else ""
    return f"it is kept on release {pin.release} until {pin.until}{but}: it is not moved before"


def _changes(plan: Plan, impacts: Sequence[Impact]) -> bool:
    calm = (Category.NEW, Category.UNCHANGED)
    changes = any(c.category not in calm for c in plan.changes.values()) or bool(plan.patches)
    return bool(impacts) and (changes or any(i.models for i in impacts))
