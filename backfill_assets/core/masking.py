"""Which columns hold values that nobody should see? Those that somebody masked, and all that is computed from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from backfill_assets.core.model import ColumnRef, Model, Project, Source
from backfill_assets.core.reach import reach

HIDDEN = "***"
"""What is shown instead of a value."""

_CLASS = re.compile(r"\[[A-Z][A-Z0-9_.]*\](?=\s)|[A-Za-z_][\w.]*(?:Error|Exception)(?=:)")

Lineage = Mapping[str, Collection[ColumnRef]]
"""Output column → the upstream columns that its values come from."""


def with_masks(
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    lineage: Mapping[str, Lineage],
    columns: Mapping[str, Collection[str]],
) -> dict[str, Model]:
    """The models (given in dependency order), each with the mask that follows from its own and its upstreams'.

    `lineage` and `columns` (all names) are by model. Of a model without lineage every column counts as computed from
    all that it reads, but for its time column. What the header's `unmask` names, with a reason, is shown.
    """
    masked = masked_columns(sources.values())
    found: dict[str, Model] = {}
    for name, model in models.items():
        mask = {c.lower() for c in model.mask}
        if lineage.get(name):
            mask |= computed_from(masked, lineage[name])
        elif any(masked.get(u.name) for u in model.upstreams):
            mask |= {c.lower() for c in columns.get(name, ())} - {model.time_column.lower()}
        mask -= {c.lower() for c in model.unmask}
        masked[name] = mask
        spelled = {c.lower(): c for c in (*columns.get(name, ()), *model.mask)}
        found[name] = replace(model, mask=tuple(sorted(spelled.get(c, c) for c in mask)))
    return found


def masked_columns(tables: Iterable[Source | Model]) -> dict[str, set[str]]:
    """What is masked of each table, in lower case."""
    return {table.name: {c.lower() for c in table.mask} for table in tables}


def computed_from(masked: Mapping[str, Collection[str]], lineage: Lineage) -> set[str]:
    """The output columns, in lower case, of which some of the value comes from what is masked by table."""
    return {column.lower() for column, refs in lineage.items() if any(is_masked(ref, masked) for ref in refs)}


def masked_as_well(model: Model, columns: Collection[str]) -> Model:
    """A model, of which these columns are masked as well, whatever its header lifts."""
    mask, more = {c.lower() for c in model.mask}, {c.lower() for c in columns}
    if more <= mask:
        return model
    return replace(
        model,
        mask=(*model.mask, *(c for c in dict.fromkeys(columns) if c.lower() not in mask)),
        unmask={c: why for c, why in model.unmask.items() if c.lower() not in more},
    )


def with_faults_masked(project: Project, columns: Mapping[str, Collection[str]]) -> Project:
    """The project, with all columns masked of models that cannot be computed, and of what reads them, where anything
    that they read is masked: nobody knows which of their columns come from it. `columns`: of all their versions."""
    masked = {each.name for each in (*project.sources.values(), *project.models.values()) if each.mask}
    models = dict(project.models)
    for name in {*project.faults, *reach(project.faults, project.downstream)}:
        model = project.models[name]
        above = reach([name], lambda n: [u.name for u in project.models[n].upstreams] if n in project.models else [])
        if masked.intersection(above):
            shown = {model.time_column.lower(), *(c.lower() for c in model.unmask)}
            every = {c.lower(): c for c in (*columns.get(name, ()), *model.mask) if c.lower() not in shown}
            models[name] = replace(model, mask=tuple(sorted(every.values())))
    return replace(project, models=models)


def is_masked(ref: ColumnRef, masked: Mapping[str, Collection[str]]) -> bool:
    """Whether an upstream column is one of those that are masked, lower-cased by table; `*` is any of its table."""
    there = masked.get(ref.table, ())
    return bool(there) and (ref.column == "*" or ref.column.lower() in there)


def hide_values(text: str) -> str:
    """An error's message without all that may come from a row, which is all but its class.

    >>> hide_values("[CAST_INVALID_INPUT] The value 'ann@example.com' of the type `STRING` cannot be cast")
    '[CAST_INVALID_INPUT] ***'
    >>> hide_values("ValueError: ann@example.com")
    'ValueError: ***'
    """
    found = _CLASS.match(text)
    if found is None:
        return HIDDEN
    return f"{found[0]} {HIDDEN}" if found[0].startswith("[") else f"{found[0]}: {HIDDEN}"


def metric_hidden(metric: str, mask: Collection[str]) -> bool:
    """Whether a value of a metric may be one of a masked column: it names one, or a star.

    >>> metric_hidden("max(Email)", ["email"]), metric_hidden("count(*)", ["email"])
    (True, False)
    """
    low = metric.lower().replace("``", "`")
    names = [c.lower() for c in mask]
    return bool(names) and ("*" in low.replace("count(*)", "") or any(name in low for name in names))
