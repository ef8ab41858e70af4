"""What do a project's files say? All of them read, checked against each other, and put into one value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.core.masking import with_masks
from backfill_assets.core.model import Column, Model, Override, Project, Signature, Source
from backfill_assets.core.readiness import with_readiness
from backfill_assets.core.settings import Settings
from backfill_assets.project.algorithm import version_of
from backfill_assets.project.all_columns import all_columns
from backfill_assets.project.assemble import build_model
from backfill_assets.project.audit_links import link_audits
from backfill_assets.project.consumers import read_consumers
from backfill_assets.project.draft import Draft
from backfill_assets.project.files import misnamed, model_files
from backfill_assets.project.fingerprint import declared_key, model_signature, source_signature, unique_columns
from backfill_assets.project.linking import Linked, link
from backfill_assets.project.outputs import Outputs
from backfill_assets.project.override import check_overrides
from backfill_assets.project.python_files import read_python_models
from backfill_assets.project.records import ReadRecords, Records, named, recorded_as
from backfill_assets.project.repeatable import hidden_uses, not_executed, refusals, remarks, typed_uses, unseen
from backfill_assets.project.settings import cache_folder, read_settings
from backfill_assets.project.sources import read_sources
from backfill_assets.project.spark_settings import read_as_usual
from backfill_assets.project.sql_files import read_sql_model
from backfill_assets.python_models.compiled import PythonFunction, compile_functions
from backfill_assets.sql.nondeterministic import FunctionUse
from backfill_assets.sql.signature import Opaque, Table, query_signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A project, and the modules beside its models that it was read from. `lasting`: equal files give an equal one."""

    project: Project
    helpers: tuple[Path, ...]
    lasting: bool
    records: Records
    """What it took from the records, for models with an override."""
    drafts: Mapping[str, Draft]
    outputs: Mapping[str, Outputs]
    """By model: what is known from its own file, and of its query."""


def read_project(root: Path, records: ReadRecords, *, audits: bool = True) -> Reading:
    """Read the project in a folder. Raises ProjectError with every problem of every file at once.

    `records` reads those of a warehouse. Without `audits`, the files and tables that audits name need not be there.
    """
    problems: list[Problem] = []
    settings = read_settings(root, problems)
    problems += misnamed(root)
    declared = read_sources(root, problems)
    sources, written = declared.entries, declared.written
    drafts = list(_drafts(root, problems))
    linked = link(drafts, sources, problems, certain=declared.certain)
    consumers = read_consumers(root, [d.name for d in drafts], settings.environment, problems)

    def compiling(functions: list[PythonFunction]) -> Mapping[str, str | None]:
        if settings.untrusted:
            return {f.name: None for f in functions}
        return compile_functions(functions, cache_folder(root) / "python")

    columns = all_columns(root, linked, sources, compiling, problems)
    outputs, compiled, visible = columns.outputs, columns.compiled, columns.visible
    models: dict[str, Model] = {}
    hidden: dict[str, list[FunctionUse]] = {}
    for draft in linked.order:
        found = outputs[draft.name]
        upstreams = tuple(
            replace(u, columns=tuple(c.name for c in visible.get(u.name, ()))) for u in linked.upstreams[draft.name]
        )
        if (model := build_model(draft, settings, upstreams, found, problems)) is not None:
            models[draft.name] = replace(model, files=_texts(root, draft))
        hidden[draft.name] = typed_uses(draft, [visible.get(u.name, ()) for u in upstreams])
        problems += refusals(draft, root, [*draft.uses, *hidden[draft.name]])
    if audits:
        models = link_audits(root, models, sources, visible, problems, certain=declared.certain)
    if problems:
        raise ProjectError(problems)
    for name, text in compiled.items():
        hidden[name] = hidden_uses(linked.drafts[name], text, [visible.get(u.name, ()) for u in models[name].upstreams])
        problems += refusals(linked.drafts[name], root, hidden[name])
    models = with_masks(
        models,
        sources,
        {name: found.lineage for name, found in outputs.items()},
        {name: [c.name for c in found.columns] for name, found in outputs.items()},
    )
    models = with_readiness(models)
    strange = settings.untrusted and any(m.language == "python" for m in models.values())
    there = records(settings.warehouse) if strange or any(m.same_as for m in models.values()) else {}
    warnings: dict[str, list[Problem]] = {name: [] for name in models}
    overrides: dict[str, Override] = {}

    def count(model: Model, own: Signature) -> Signature:
        if settings.untrusted:
            own = recorded_as(model, own, there)
        meant, override = check_overrides(root, model, own, there, problems, warnings[model.name])
        if override is not None:
            overrides[model.name] = override
        return meant

    def read(meant: Callable[[Model, Signature], Signature]) -> dict[str, Signature]:
        return _signatures(settings, models, sources, written, linked, outputs, visible, meant)

    signatures = read(count)
    if problems:
        raise ProjectError(problems)
    tables = {
        n: Table(name=n, signature=s, key=_key(n, models, sources), columns=visible.get(n, ()))
        for n, s in signatures.items()
    }
    for name in models:
        warnings[name] += unseen(linked.drafts[name], root)
        if settings.untrusted and models[name].language == "python":
            warnings[name].append(not_executed(linked.drafts[name]))
        warnings[name] += remarks(linked.drafts[name], hidden.get(name, ()), outputs[name], tables)
    if overrides:
        plain = read(lambda _, own: own)
        changed = {n for n in models if version_of(plain[n]) != version_of(signatures[n])}
        overrides = {n: replace(o, reaches=_reached(n, models, changed)) for n, o in overrides.items()}
    project = Project(
        root=root, settings=settings, models=models, sources=sources,
        consumers=consumers.entries, consumers_verified=consumers.verified,
        columns={name: found.columns for name, found in outputs.items()},
        lineage={name: found.lineage for name, found in outputs.items()}, signatures=signatures,
        fingerprints={name: version_of(signatures[name]) for name in models}, overrides=overrides,
        warnings={name: tuple(found) for name, found in warnings.items()},
    )  # fmt: skip
    return Reading(
        project=project,
        helpers=tuple({root / file for draft in linked.order for file in draft.modules}),
        lasting=not settings.untrusted
        and not declared.found_out
        and all(n in compiled for n, m in models.items() if m.language == "python"),
        records=named(models, there),
        drafts=linked.drafts,
        outputs=outputs,
    )


def _texts(root: Path, draft: Draft) -> dict[str, str]:
    """The model's file and those of the project that it imports, by their place in the project."""
    own = draft.path.relative_to(root).as_posix()
    return {own: draft.text} | {
        name: (root / name).read_text(encoding="utf-8-sig")
        for name in draft.modules
        if name != own and name.endswith(".py")
    }


def _signatures(
    settings: Settings, models: Mapping[str, Model], sources: Mapping[str, Source], written: Mapping[str, str],
    linked: Linked, outputs: Mapping[str, Outputs], visible: Mapping[str, tuple[Column, ...]],
    meant: Callable[[Model, Signature], Signature],
) -> dict[str, Signature]:  # fmt: skip
    """What decides each table, sources first, then models in dependency order.

    `meant` says what a model counts as whose code says this by itself.
    """
    signatures = {name: source_signature(source, written[name]) for name, source in sources.items()}
    tables = {
        name: Table(name=name, signature=s, key=declared_key(sources[name]), columns=visible[name])
        for name, s in signatures.items()
    }
    for model in models.values():
        found = outputs[model.name]
        query = None
        spark = {**settings.spark, **model.spark}
        if found.code and read_as_usual(spark):
            with suppress(Opaque):
                query = query_signature(found.code, {key: tables[name] for key, name in found.names.items()})
        logic = linked.drafts[model.name].logic
        signature = meant(model, model_signature(model, query, logic, spark, signatures, visible))
        signatures[model.name] = signature
        tables[model.name] = Table(
            name=model.name, signature=signature, key=unique_columns(model), columns=visible[model.name]
        )
    return signatures


def _key(name: str, models: Mapping[str, Model], sources: Mapping[str, Source]) -> frozenset[str] | None:
    return unique_columns(models[name]) if name in models else declared_key(sources[name])


def _reached(name: str, models: Mapping[str, Model], changed: Collection[str]) -> tuple[str, ...]:
    """Which of these models are downstream of one, in dependency order."""
    reached = {name}
    for model in models.values():
        if any(u.name in reached for u in model.upstreams):
            reached.add(model.name)
    return tuple(n for n in models if n in reached and n in changed and n != name)


def _drafts(root: Path, problems: list[Problem]) -> Iterator[Draft]:
    """The models of all files, by path."""
    for path in model_files(root):
        if path.name.startswith("_"):
            continue
        if path.suffix == ".sql":
            yield read_sql_model(path, problems)
        else:
            yield from read_python_models(path, root, problems)
