"""What is known of a migration before it begins? One sheet a model, from its header, the plan and what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backfill_assets.contracts.preflight import Grounds, lacks
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Audit, Model, Project, Rule
from backfill_assets.plan.stages import Plan
from backfill_assets.state.versions import table_path

ASKED = "?"
"""What a line says when nobody wrote it down yet."""
_REPLACED = "what vanishes from a source is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetLine:
    """One thing that has to be known. `ask` is what to add where it is not."""

    topic: str
    said: str
    ask: str = ""

    @property
    def missing(self) -> bool:
        return self.said == ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """All lines about one model."""

    model: str
    lines: tuple[SheetLine, ...]

    def to_json(self) -> dict[str, object]:
        """As plain values; what is missing is null."""
        return {"model": self.model, **{ln.topic: None if ln.missing else ln.said for ln in self.lines}}


def inventory(project: Project, plan: Plan, grounds: Grounds) -> tuple[Sheet, ...]:
    """A sheet for each model that the plan builds, audits or moves."""
    touched = {s.model for s in plan.work} | {model for model, _ in plan.moves}
    return tuple(
        Sheet(model=name, lines=tuple(_lines(project, plan, grounds, project.models[name])))
        for name in plan.models
        if name in touched
    )


def _lines(project: Project, plan: Plan, grounds: Grounds, model: Model) -> Iterator[SheetLine]:
    name, terms = model.name, model.terms
    version = dict(plan.moves).get(name, project.fingerprints[name])
    ranges = Ranges.of(i for s in plan.work if s.model == name for i in s.intervals)
    change = plan.changes.get(name)
    table = table_path(project.settings.warehouse, name, version)
    yield SheetLine(topic="target", said=f"{plan.environment}.{name}, from {table}")
    yield SheetLine(topic="window", said=str(ranges) if ranges else "nothing to compute: it is built")
    yield SheetLine(topic="grain and key", said=", ".join(model.grain) or ASKED, ask="`grain:`")
    yield SheetLine(topic="sources", said="; ".join(_sources(project, plan, grounds, model, ranges)) or "none")
    yield SheetLine(topic="transformation", said=f"version {version}" + (f" ({change})" if change else ""))
    yield SheetLine(
        topic="deletes", said=terms.deletes or f"{_REPLACED} when its {model.cadence.unit} is computed again"
    )
    yield SheetLine(topic="late rows", said=terms.late_rows or ASKED, ask="`contract: {late_rows: …}`")
    yield SheetLine(
        topic="timestamps",
        said=_timestamps(project, model) or ASKED,
        ask=f"a description of `{model.time_column}` in `columns:`",
    )
    yield SheetLine(
        topic="rules", said="; ".join([*map(_rule, terms.rules), *_shown(grounds, name)]) or "one for all of it"
    )
    yield SheetLine(topic="acceptance", said=_acceptance(model))
    yield SheetLine(topic="downstream", said=_downstream(project, name) or "nobody that is known")
    yield SheetLine(topic="backfill owner", said=model.owner or ASKED, ask="`owner:`")
    yield SheetLine(
        topic="validation owner", said=terms.validation_owner or ASKED, ask="`contract: {validation_owner: …}`"
    )
    yield SheetLine(topic="rollback", said=_rollback(plan, grounds, name), ask="see the findings")


def _sources(project: Project, plan: Plan, grounds: Grounds, model: Model, ranges: Ranges) -> Iterator[str]:
    short = dict(lacks(project, model, ranges.span, grounds)) if ranges.span else {}
    for upstream in model.upstreams:
        pin = plan.sources.get(upstream.name)
        if pin is None:
            yield f"{upstream.name} (model)"
            continue
        files = f"{pin['count']} files" if "count" in pin else "not frozen"
        at = f"commit {pin['commit']}" if "commit" in pin else files
        extent = grounds.extents.get(upstream.name)
        if extent is None:
            covers = "which days it has cannot be told without reading it"
        else:
            covers = f"has {Cadence.DAILY.cover(extent)}" + (
                f", lacks {short[upstream.name]}" if upstream.name in short else ""
            )
        yield f"{upstream.name} ({at}; {covers})"


def _timestamps(project: Project, model: Model) -> str:
    """What each column that holds days or instants means; nothing when the time column does not say."""
    described = {c.name.lower(): c.description for c in model.columns}
    meant = {n.lower(): text for n, text in model.terms.semantics.items()}
    parts: list[str] = []
    for column in project.columns.get(model.name, ()):
        name = column.name.lower()
        is_time = name == model.time_column.lower()
        if is_time or (column.type or "").startswith(("date", "timestamp")):
            text = meant.get(name) or described.get(name, "")
            if is_time and not text:
                return ""
            parts.append(f"{column.name}: {text.rstrip('.') or 'not said'}")
    return "; ".join(parts)


def _rule(rule: Rule) -> str:
    since = f"from {rule.since:%Y-%m-%d}" if rule.since else ""
    until = f"before {rule.until:%Y-%m-%d}" if rule.until else ""
    period = " ".join(p for p in (since, until) if p)
    return f"{period}: {rule.text}" if period else rule.text


def _shown(grounds: Grounds, name: str) -> Iterator[str]:
    """Which older logic the environment shows, and where."""
    pointer = grounds.shown.pointers.get(name)
    for segment in pointer.older if pointer else ():
        yield f"{grounds.shown.name} shows {segment.interval} by version {segment.logic}"


def _acceptance(model: Model) -> str:
    blocking, warning = (", ".join(_audit(a) for a in model.audits if a.blocking is b) for b in (True, False))
    return "; warns: ".join(part for part in (blocking, warning) if part)


def _audit(audit: Audit) -> str:
    arguments = ", ".join(f"{k} {_plain(v)}" for k, v in audit.arguments.items())
    return f"{audit.kind} ({arguments})" if arguments else audit.kind


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def _downstream(project: Project, name: str) -> str:
    readers = [c.name for c in project.consumers.values() if name in c.reads]
    models = project.downstream(name)
    parts = [f"models {', '.join(models)}" if models else "", f"consumers {', '.join(readers)}" if readers else ""]
    return "; ".join(p for p in parts if p)


def _rollback(plan: Plan, grounds: Grounds, name: str) -> str:
    pointer = grounds.shown.pointers.get(name)
    if pointer is None:
        return f"{plan.environment} does not show it yet: there is nothing to go back to"
    if any((name, s.version) in grounds.gone for s in pointer.segments):
        return ASKED
    tables = ", ".join(dict.fromkeys(f"{s.version} at commit {s.commit}" for s in pointer.segments))
    return f"its pointer as it is now: {tables}"
