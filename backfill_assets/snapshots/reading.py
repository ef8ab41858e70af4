"""What do a project's files say? All of them read, checked against each other, and put into one value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from backfill_assets.errors import Problem, ProjectError
from backfill_assets.settings import Settings, cache_folder, load_settings
from backfill_assets.snapshots.assemble import build_model
from backfill_assets.snapshots.audit_links import link_audits
from backfill_assets.snapshots.consumers import read_consumers
from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.draft import Draft
from backfill_assets.snapshots.files import model_files
from backfill_assets.snapshots.fingerprint import model_signature, source_signature, unique_columns
from backfill_assets.snapshots.linking import Linked, link
from backfill_assets.snapshots.model import Column, Model, Override, Project, Signature, Source
from backfill_assets.snapshots.outputs import Outputs, compiled_columns, model_columns
from backfill_assets.snapshots.override import hold
from backfill_assets.snapshots.python_models import read_python_models
from backfill_assets.snapshots.python_sql import PythonFunction, PythonUpstream, compile_functions
from backfill_assets.snapshots.records import ReadRecords, Records, named
from backfill_assets.snapshots.repeatable import hidden_uses, refusals, remarks
from backfill_assets.snapshots.signature import Opaque, Table, query_signature, version_of
from backfill_assets.snapshots.sources import read_sources
from backfill_assets.snapshots.sql_models import read_sql_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A project, and the modules beside its models that it was read from. `lasting`: equal files give an equal one."""

    project: Project
    helpers: tuple[Path, ...]
    lasting: bool
    records: Records
    """What it took from the records, for models with an override."""


def read_project(root: Path, records: ReadRecords) -> Reading:
    """Read the project in a folder. Raises ProjectError with every problem of every file at once.

    `records` reads those of a warehouse.
    """
    problems: list[Problem] = []
    settings = _settings(root, problems)
    sources, written, found_out = read_sources(root, problems)
    drafts = list(_drafts(root, problems))
    linked = link(drafts, sources, problems)
    consumers = read_consumers(root, [d.name for d in drafts], settings.environment, problems)

    models: dict[str, Model] = {}
    outputs: dict[str, Outputs] = {}
    visible = {name: source.columns for name, source in sources.items()}
    for draft in linked.order:
        upstreams = linked.upstreams[draft.name]
        known = {u.name: visible.get(u.name, ()) for u in upstreams}
        found = outputs[draft.name] = model_columns(draft, known, linked.spelling, problems)
        visible[draft.name] = found.columns if found.complete else ()
        if (model := build_model(draft, settings, upstreams, found, problems)) is not None:
            models[draft.name] = model
        problems += refusals(draft, root)
    models = link_audits(root, models, sources, visible, problems)
    if problems:
        raise ProjectError(problems)
    compiled = _compiled(root, models, linked, visible)
    hidden = {name: hidden_uses(linked.drafts[name], text) for name, text in compiled.items()}
    problems += [problem for name, uses in hidden.items() for problem in refusals(linked.drafts[name], root, uses)]
    outputs |= {
        name: compiled_columns(outputs[name], text, visible, linked.spelling) for name, text in compiled.items() if text
    }
    there = records(settings.warehouse) if any(m.same_as for m in models.values()) else {}
    warnings: dict[str, list[Problem]] = {name: [] for name in models}
    overrides: dict[str, Override] = {}

    def count(model: Model, own: Signature) -> Signature:
        meant, override = hold(root, model, own, there, problems, warnings[model.name])
        if override is not None:
            overrides[model.name] = override
        return meant

    def read(meant: Callable[[Model, Signature], Signature]) -> dict[str, Signature]:
        return _signatures(settings, models, sources, written, linked, outputs, meant)

    signatures = read(count)
    if problems:
        raise ProjectError(problems)
    tables = {n: Table(name=n, signature=s, key=_key(models.get(n))) for n, s in signatures.items()}
    for name in models:
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
        lasting=not found_out and all(n in compiled for n, m in models.items() if m.language == "python"),
        records=named(models, there),
    )


def _compiled(
    root: Path, models: Mapping[str, Model], linked: Linked, visible: Mapping[str, tuple[Column, ...]]
) -> Mapping[str, str | None]:
    """The SQL of the Python models; None for what SQL cannot express, nothing for what could not be asked."""
    functions = [
        PythonFunction(
            name=model.name,
            path=model.path,
            code=model.code,
            root=root,
            digest=digest(linked.drafts[model.name].logic),
            upstreams=tuple(
                PythonUpstream(
                    parameter=u.parameter,
                    table=u.name,
                    columns=tuple((c.name, c.type or "string") for c in visible.get(u.name, ())),
                )
                for u in model.upstreams
            ),
        )
        for model in models.values()
        if model.language == "python"
    ]
    return compile_functions(functions, cache_folder(root) / "python") if functions else {}


def _signatures(
    settings: Settings, models: Mapping[str, Model], sources: Mapping[str, Source], written: Mapping[str, str],
    linked: Linked, outputs: Mapping[str, Outputs], meant: Callable[[Model, Signature], Signature],
) -> dict[str, Signature]:  # fmt: skip
    """What decides each table, sources first, then models in dependency order.

    `meant` says what a model counts as whose code says this by itself.
    """
    signatures = {name: source_signature(source, written[name]) for name, source in sources.items()}
    tables = {name: Table(name=name, signature=signature) for name, signature in signatures.items()}
    for model in models.values():
        found = outputs[model.name]
        query = None
        if found.scopes:
            with suppress(Opaque):
                query = query_signature(found.scopes, {key: tables[name] for key, name in found.names.items()})
        spark = {**settings.spark, **model.spark}
        signature = meant(model, model_signature(model, query, linked.drafts[model.name].logic, spark, signatures))
        signatures[model.name] = signature
        tables[model.name] = Table(name=model.name, signature=signature, key=unique_columns(model))
    return signatures


def _key(model: Model | None) -> frozenset[str] | None:
    return unique_columns(model) if model else None


def _reached(name: str, models: Mapping[str, Model], changed: Collection[str]) -> tuple[str, ...]:
    """Which of these models are downstream of one, in dependency order."""
    reached = {name}
    for model in models.values():
        if any(u.name in reached for u in model.upstreams):
            reached.add(model.name)
    return tuple(n for n in models if n in reached and n in changed and n != name)


def _settings(root: Path, problems: list[Problem]) -> Settings:
    try:
        return load_settings(root)
    except ProjectError as error:
        problems.extend(error.problems)
        return Settings()


def _drafts(root: Path, problems: list[Problem]) -> Iterator[Draft]:
    """The models of all files, by path."""
    for path in model_files(root):
        if path.name.startswith("_"):
            continue
        try:
            if path.suffix == ".sql":
                yield read_sql_model(path, problems)
            else:
                yield from read_python_models(path, root, problems)
        except (UnicodeDecodeError, OSError) as error:
            problems.append(Problem(file=path, what="the file cannot be read", why=str(error), fix="save it as UTF-8"))
