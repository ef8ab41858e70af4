"""Which models does a plan touch, what do these read, and who reads them? A Mermaid diagram for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backfill_assets.contracts.impact import Impact
from backfill_assets.core.escaping import visible
from backfill_assets.core.model import Project
from backfill_assets.plan.category import Category
from backfill_assets.plan.stages import Build, Plan

MOST = 60
"""Nodes: a diagram of more is not read by anybody."""
_LENGTH = 60
_STYLES = {
    "new": "fill:#ddf4ff,stroke:#0969da,color:#0a3069",
    "additive": "fill:#dafbe1,stroke:#1a7f37,color:#0f5323",
    "breaking": "fill:#ffebe9,stroke:#cf222e,color:#82071e",
    "built": "fill:#fff8c5,stroke:#9a6700,color:#4d2d00",
    "other": "fill:#f6f8fa,stroke:#8c959f,color:#424a53",
}
_CLASSES = {
    Category.NEW: "new",
    Category.ADDITIVE: "additive",
    Category.REMOVAL: "breaking",
    Category.BREAKING: "breaking",
}


def plan_lineage(plan: Plan, project: Project, impacts: Sequence[Impact]) -> list[str]:
    """The lines of a fenced diagram: models that change or are built, what they read directly, their readers among
    models, and the consumers that are affected. Nothing for a plan that touches no model; a sentence for a huge one."""
    changed = {name for name, change in plan.changes.items() if change.category is not Category.UNCHANGED}
    touched = [name for name in project.models if name in changed or name in {stage.model for stage in plan.work}]
    if not touched:
        return []
    reads = {name: list(dict.fromkeys(u.name for u in model.upstreams)) for name, model in project.models.items()}
    edges = [(up, name) for name in project.models for up in reads[name] if name in touched or up in touched]
    readers = [(model.model, i.consumer.name) for i in impacts for model in i.models if model.model in touched]
    nodes = list(dict.fromkeys([*touched, *(n for edge in edges for n in edge)]))
    people = list(dict.fromkeys(consumer for _, consumer in readers))
    if len(nodes) + len(people) > MOST:
        return [
            f"The lineage of what is touched has {len(nodes)} tables and {len(people)} consumers: no diagram is drawn."
        ]
    ids = {name: f"t{number}" for number, name in enumerate(nodes)}
    theirs = {name: f"c{number}" for number, name in enumerate(people)}
    lines, styles = ["```mermaid", "flowchart LR"], {"other": bool(people)}
    for name in nodes:
        told, style = _node(plan, name)
        styles[style] = True
        shape = f'[("{told}")]' if name in project.sources else f'["{told}"]'
        lines.append(f"  {ids[name]}{shape}:::{style}")
    lines += [f'  {theirs[name]}(["{label(name)}"]):::other' for name in people]
    lines += [f"  {ids[up]} --> {ids[name]}" for up, name in edges]
    lines += [f"  {ids[model]} -.-> {theirs[consumer]}" for model, consumer in dict.fromkeys(readers)]
    return [*lines, *(f"  classDef {name} {style}" for name, style in _STYLES.items() if styles.get(name)), "```"]


def label(*parts: str) -> str:
    """Text in a node, a part a line: of what is not a letter or a digit only the code point is written.

    >>> label("orders_daily", 'a"]; x')
    'orders_daily<br/>a#34;#93;#59; x'
    """
    return "<br/>".join(_inert(visible(part).replace("\\n", " ")[:_LENGTH]) for part in parts if part)


def _inert(text: str) -> str:
    kept: Iterable[str] = (c if c.isalnum() or c in "_ .,:-" else f"#{ord(c)};" for c in text)
    return "".join(kept)


def _node(plan: Plan, name: str) -> tuple[str, str]:
    """What is written on a table, and how it is coloured."""
    change = plan.changes.get(name)
    kind = "" if change is None or change.category is Category.UNCHANGED else change.category.value
    built = any(isinstance(stage, Build) and stage.model == name for stage in plan.work)
    style = _CLASSES.get(change.category, "") if change else ""
    told = ", ".join(word for word in (kind, "built" if built else "") if word)
    return label(name, told), style or ("built" if built else "other")
