"""What do a project's files say? All of them read, checked against each other, and put into one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.errors import Problem, ProjectError
from backfill_assets.settings import Settings, cache_folder, load_settings
from backfill_assets.snapshots.assemble import build_model
from backfill_assets.snapshots.consumers import read_consumers
from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.draft import Draft
from backfill_assets.snapshots.files import model_files
from backfill_assets.snapshots.fingerprint import model_signature, source_signature, unique_columns
from backfill_assets.snapshots.linking import Linked, link
from backfill_assets.snapshots.model import Column, Model, Project, Signature, Source
from backfill_assets.snapshots.outputs import Outputs, compiled_columns, model_columns
from backfill_assets.snapshots.python_models import read_python_models
from backfill_assets.snapshots.python_sql import PythonFunction, PythonUpstream, compile_functions
from backfill_assets.snapshots.signature import Opaque, Table, query_signature, version_of
from backfill_assets.snapshots.sources import read_sources
from backfill_assets.snapshots.sql_models import read_sql_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A project, and the modules beside its models that it was read from. `lasting`: equal files give an equal one."""

    project: Project
    helpers: tuple[Path, ...]
    lasting: bool


def read_project(root: Path) -> Reading:
    """Read the project in a folder. Raises ProjectError with every problem of every file at once."""
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
    if problems:
        raise ProjectError(problems)
    compiled = _compiled(root, models, linked, visible)
    outputs |= {
        name: compiled_columns(outputs[name], text, visible, linked.spelling) for name, text in compiled.items() if text
    }
    signatures = _signatures(settings, models, sources, written, linked, outputs)
    project = Project(
        root=root, settings=settings, models=models, sources=sources,
        consumers=consumers.entries, consumers_verified=consumers.verified,
        columns={name: found.columns for name, found in outputs.items()},
        lineage={name: found.lineage for name, found in outputs.items()}, signatures=signatures,
        fingerprints={name: version_of(signatures[name]) for name in models},
    )  # fmt: skip
    return Reading(
        project=project,
        helpers=tuple({root / file for draft in linked.order for file in draft.modules}),
        lasting=not found_out and all(n in compiled for n, m in models.items() if m.language == "python"),
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
    linked: Linked, outputs: Mapping[str, Outputs],
) -> dict[str, Signature]:  # fmt: skip
    """What decides each table, sources first, then models in dependency order."""
    signatures = {name: source_signature(source, written[name]) for name, source in sources.items()}
    tables = {name: Table(name=name, signature=signature) for name, signature in signatures.items()}
    for model in models.values():
        found = outputs[model.name]
        query = None
        if found.scopes:
            with suppress(Opaque):
                query = query_signature(found.scopes, {key: tables[name] for key, name in found.names.items()})
        spark = {**settings.spark, **model.spark}
        signature = model_signature(model, query, linked.drafts[model.name].logic, spark, signatures)
        signatures[model.name] = signature
        tables[model.name] = Table(name=model.name, signature=signature, key=unique_columns(model))
    return signatures


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
