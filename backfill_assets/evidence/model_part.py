"""What does a packet say of one model? Its versions, columns, code, table and batches, and what its audits came to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit, Model
from backfill_assets.core.segments import logic_of
from backfill_assets.evidence.inputs import ChangedModel, Inputs
from backfill_assets.evidence.shape import (
    Batch,
    Change,
    Check,
    Code,
    ColumnPart,
    Count,
    Failure,
    ModelPart,
    RangesPart,
    TablePart,
)
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.stages import change_json
from backfill_assets.state.versions import table_path

QUIET = frozenset({"code", "path", "columns", "description", "helpers", "upstreams", "language"})
"""Parts of a definition that the list of changed settings leaves out: they are told elsewhere."""

Kind = Literal["new", "changed", "restated", "forward", "extended", "relisted", "returned"]


def model_part(s: ChangedModel, inputs: Inputs) -> ModelPart:
    """All that the packet says of it, but for its checks."""
    change = inputs.said.changes.get(s.target.model)
    return ModelPart(
        model=s.target.model,
        kind=_kind(s, change, inputs.before_known),
        owner=s.model.owner,
        description=s.model.description,
        cadence=s.model.cadence.value,
        grain=list(s.model.grain),
        version=s.target.version,
        before=_before(s),
        until=s.out.release if s.out else "",
        same_rows=s.same_rows,
        change=Change(**change_json(change, inputs.said.because.get(s.target.model, ()))) if change else None,
        columns=_columns(s, change),
        code=_code(s),
        ranges=RangesPart(
            recomputed=pairs(s.target.intervals),
            count=s.target.intervals.count(s.model.cadence),
            copied=pairs(Ranges.of(i for i, e in s.batches if e.origin and not e.origin.scope)),
            where=next((e.origin.scope for _, e in s.batches if e.origin), ""),
            by_key=any(e.origin.by_key for _, e in s.batches if e.origin),
            shown=pairs(s.shown),
            kept=pairs(s.kept),
            missing=pairs(s.missing),
            provisional=pairs(s.provisional),
            partial=bool(s.kept or s.missing),
        ),
        begun=s.record is not None,
        table=_table(s),
        batches=[
            Batch(
                interval=(i.start.isoformat(), i.end.isoformat()),
                commit=e.table_commit,
                batch=e.batch,
                attempt=e.attempt,
                run=e.run,
                rows=e.rows,
                bytes=e.bytes,
                seconds=round(e.seconds, 3),
                at=e.at.isoformat(),
                inputs=dict(e.inputs or {}),
            )
            for i, e in s.batches
        ],
        rows=[
            Count(start=at.isoformat(), old=s.old_rows.get(at), new=s.new_rows.get(at))
            for at in sorted(s.old_rows.keys() | s.new_rows.keys())
        ],
        lineage=list(s.rewired),
    )


def _kind(s: ChangedModel, change: TableChange | None, known: bool) -> Kind:
    if s.target.version != logic_of(s.target.version):
        return "restated"
    if s.kept:
        return "forward"
    if s.target.columns and not s.target.intervals:
        return "relisted"
    if s.out is not None:
        return "returned"
    if s.before is not None:
        return "extended" if s.before.version == s.target.version else "changed"
    return "changed" if not known and change and change.category is not Category.NEW else "new"


def _before(s: ChangedModel) -> str | None:
    was = s.before or (s.out and s.out.last)
    return was.version if was else None


def _columns(s: ChangedModel, change: TableChange | None) -> list[ColumnPart]:
    if s.record is None:  # nothing is built yet, and nobody knows
        return []
    old = dict(s.old.columns) if s.old else {}
    new = dict(s.record.columns)
    if s.target.columns:  # the same table: what its view lists
        old = dict(s.before.columns) if s.before else old
        new = {name: kind for name, kind in new.items() if name.lower() in s.target.columns}
    values = {c.lower() for c in (change.columns if change else ())}
    written = {c.name.lower(): c.description for c in s.model.columns}

    def what(name: str) -> Literal["same", "values", "type", "added", "removed"]:
        if name not in new:
            return "removed"
        if name not in old:
            return "added" if old else "same"
        if old[name] != new[name]:
            return "type"
        return "values" if name.lower() in values else "same"

    return [
        ColumnPart(
            name=name,
            old_type=old.get(name),
            new_type=new.get(name),
            what=what(name),
            description=written.get(name.lower(), ""),
        )
        for name in [*new, *(n for n in old if n not in new)]
    ]


def _code(s: ChangedModel) -> Code:
    old = s.old.definition if s.old else None
    was = str(old["code"]) if old and "code" in old else None
    is_ = str(s.record.definition.get("code", s.model.code)) if s.record else s.model.code
    lines = difflib.unified_diff(
        (was or "").splitlines(),
        is_.splitlines(),
        f"{s.target.model} (before)",
        f"{s.target.model} (after)",
        lineterm="",
    )
    return Code(
        language=s.model.language,
        old=was,
        new=is_,
        diff="\n".join(lines) if was is not None and was != is_ else "",
        settings=_settings(old, s.record.definition) if old and s.record else {},
    )


def _settings(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, tuple[Any, Any]]:
    names = sorted((old.keys() | new.keys()) - QUIET)
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _table(s: ChangedModel) -> TablePart | None:
    t = s.table
    if t is None:
        return None
    return TablePart(
        path=table_path("", t.model, t.version).lstrip("/"),
        commit=t.commit,
        commits=len(t.commits),
        foreign=list(t.foreign),
        files=len(t.files),
        bytes=t.bytes,
        digest=t.digest,
    )


def checks_of(s: ChangedModel) -> list[Check]:
    """What its audits were, and what came of them."""
    audits = {a.name: a for a in s.model.audits}
    by_check: dict[str, list[AuditResult]] = {}
    for result in s.results:
        by_check.setdefault(result.check, []).append(result)
    return [
        Check(
            model=s.target.model,
            check=name,
            blocking=results[-1].blocking,
            means=(meaning(audits[name], s.model) if name in audits else "") or results[-1].expected,
            expected=results[-1].expected,
            tested=len(results),
            passed=sum(r.passed for r in results),
            failures=[
                Failure(
                    interval=(r.interval.start.isoformat(), r.interval.end.isoformat()),
                    observed=r.observed,
                    sample=list(r.sample),
                )
                for r in results
                if not r.passed
            ],
        )
        for name, results in by_check.items()
    ]


def meaning(audit: Audit, model: Model) -> str:
    """What an audit makes sure of, for somebody who does not read SQL: one sentence; nothing where the audit's own
    description is needed, as for those that tolerate failures."""
    from backfill_assets.audits.kinds import kind_of  # a parser and pydantic, which few commands need

    sentence, where = kind_of(audit).meaning(model), audit.arguments.get("where")
    if audit.arguments.get("tolerate") is not None:
        return ""
    return f"{sentence} Only rows with {where} count." if sentence and where else sentence


def pairs(ranges: Ranges) -> list[tuple[str, str]]:
    """Intervals as the packet writes them."""
    return [(a, b) for a, b in ranges.to_plain()]
