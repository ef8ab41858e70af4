"""Which columns does every model have? Found out along the dependencies; a Python model's are those of its SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.core.digest import digest
from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Column, Source
from backfill_assets.project.draft import Draft
from backfill_assets.project.linking import Linked
from backfill_assets.project.outputs import Outputs, compiled_columns, declared_columns, model_columns, python_columns
from backfill_assets.project.spark_settings import read_as_usual
from backfill_assets.python_models.compiled import PythonFunction, PythonUpstream

Visible = Mapping[str, tuple[Column, ...]]
"""The columns of each model and source, as far as they are all known."""
Compile = Callable[[list[PythonFunction]], Mapping[str, str | None]]
"""The SQL of each function; None for what SQL cannot express, nothing for what could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedProject:
    """`compiled` is the Python models' SQL."""

    outputs: Mapping[str, Outputs]
    visible: Visible
    compiled: Mapping[str, str | None]


def all_columns(
    root: Path,
    linked: Linked,
    sources: Mapping[str, Source],
    compiling: Compile,
    problems: list[Problem],
    *,
    spark: Mapping[str, str] | None,
    unknown: Collection[str] = (),
) -> ExpandedProject:
    """The columns of all models. Python models are compiled together, as few times as their dependencies allow.
    `spark`: the project's settings, by which queries are read; None: of a record, whose types nobody can correct.
    `unknown`: models and sources of which no more is known than what their files declare."""
    outputs: dict[str, Outputs] = {}
    compiled: dict[str, str | None] = {}
    visible = {name: () if name in unknown else source.columns for name, source in sources.items()}
    pending, asked = list(linked.order), set[str]()

    def known(draft: Draft) -> Visible:
        return {u.name: visible.get(u.name, ()) for u in linked.upstreams[draft.name]}

    def compile_all(drafts: Iterable[Draft]) -> None:
        functions = [_function(root, draft, linked, visible) for draft in drafts]
        compiled.update(compiling(functions) if functions else {})

    while pending:
        waiting: list[Draft] = []
        for draft in pending:
            late = any(d.name in known(draft) for d in waiting)
            if late or (_undeclared(draft) and draft.name not in asked):
                waiting.append(draft)
                continue
            if draft.name in unknown:
                found = declared_columns(draft)
            elif _undeclared(draft):
                found = python_columns(draft, compiled.get(draft.name), visible, linked.spelling)
            else:
                own = {**(spark or {}), **(draft.header.spark if draft.header else {})}
                types = spark is not None and read_as_usual(own)
                found = model_columns(draft, known(draft), linked.spelling, problems, types=types)
            outputs[draft.name] = found
            visible[draft.name] = found.columns if found.complete else ()
        names = {d.name for d in waiting}
        ready = [d for d in waiting if _undeclared(d) and not names & known(d).keys()]
        ready = ready or [d for d in waiting if _undeclared(d)]  # they read each other, which is told elsewhere
        compile_all(ready)
        asked |= {d.name for d in ready}
        pending = waiting
    if not problems:
        rest = [d for d in linked.order if d.language == "python" and d.header is not None and d.name not in asked]
        compile_all(rest)
        outputs |= {
            d.name: compiled_columns(outputs[d.name], text, visible, linked.spelling)
            for d in rest
            if (text := compiled.get(d.name))
        }
    return ExpandedProject(outputs=outputs, visible=visible, compiled=compiled)


def _undeclared(draft: Draft) -> bool:
    return draft.language == "python" and draft.header is not None and not draft.header.columns


def _function(root: Path, draft: Draft, linked: Linked, visible: Visible) -> PythonFunction:
    return PythonFunction(
        name=draft.name,
        path=draft.path,
        code=draft.code,
        root=root,
        digest=digest(draft.logic),
        files=tuple(root / file for file in draft.modules if file.endswith(".py")),
        upstreams=tuple(
            PythonUpstream(
                parameter=u.parameter,
                table=u.name,
                columns=tuple((c.name, c.type or "string") for c in visible.get(u.name, ())),
            )
            for u in linked.upstreams[draft.name]
        ),
    )
