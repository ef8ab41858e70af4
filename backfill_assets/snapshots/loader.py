"""What does this project's folder say? All of its files read, checked against each other, and put into one value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from backfill_assets.errors import Problem, ProjectError
from backfill_assets.settings import Settings, load_settings
from backfill_assets.snapshots.assemble import build_model
from backfill_assets.snapshots.consumers import read_consumers
from backfill_assets.snapshots.draft import Draft
from backfill_assets.snapshots.fingerprint import model_signature, source_signature, unique_columns
from backfill_assets.snapshots.linking import link
from backfill_assets.snapshots.model import Column, ColumnRef, Model, Project
from backfill_assets.snapshots.outputs import model_columns
from backfill_assets.snapshots.python_models import read_python_models
from backfill_assets.snapshots.signature import Table, version_of
from backfill_assets.snapshots.sources import read_sources
from backfill_assets.snapshots.sql_models import read_sql_model

MODELS_FOLDER = "models"


def load_project(root: Path) -> Project:
    """Read the project in a folder. Raises ProjectError with every problem of every file at once."""
    root = root.resolve()
    problems: list[Problem] = []
    settings = _settings(root, problems)
    sources, written = read_sources(root, problems)
    drafts = list(_drafts(root, problems))
    linked = link(drafts, sources, problems)
    consumers = read_consumers(root, [d.name for d in drafts], problems)

    models: dict[str, Model] = {}
    columns: dict[str, tuple[Column, ...]] = {}
    lineage: dict[str, dict[str, tuple[ColumnRef, ...]]] = {}
    visible = {name: source.columns for name, source in sources.items()}
    signatures = {name: source_signature(source, written[name]) for name, source in sources.items()}
    tables = {name: Table(name=name, signature=signature) for name, signature in signatures.items()}
    for draft in linked.order:
        upstreams = linked.upstreams[draft.name]
        known = {u.name: visible.get(u.name, ()) for u in upstreams}
        outputs = model_columns(draft, known, tables, linked.spelling, problems)
        columns[draft.name], lineage[draft.name] = outputs.columns, dict(outputs.lineage)
        visible[draft.name] = outputs.columns if outputs.complete else ()
        if (model := build_model(draft, settings, upstreams, outputs, problems)) is None:
            continue
        models[draft.name] = model
        if not problems:
            spark = {**settings.spark, **model.spark}
            signature = model_signature(model, outputs.signature, draft.logic, spark, signatures)
            signatures[model.name] = signature
            tables[model.name] = Table(name=model.name, signature=signature, key=unique_columns(model))
    if problems:
        raise ProjectError(problems)
    return Project(
        root=root, settings=settings, models=models, sources=sources, consumers=consumers, columns=columns,
        lineage=lineage, signatures=signatures,
        fingerprints={name: version_of(signatures[name]) for name in models},
    )  # fmt: skip


def _settings(root: Path, problems: list[Problem]) -> Settings:
    try:
        return load_settings(root)
    except ProjectError as error:
        problems.extend(error.problems)
        return Settings()


def _drafts(root: Path, problems: list[Problem]) -> Iterator[Draft]:
    """The models of all files, by path."""
    folder = root / MODELS_FOLDER
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".sql", ".py") and not p.name.startswith("_")):
        try:
            if path.suffix == ".sql":
                yield read_sql_model(path, problems)
            else:
                yield from read_python_models(path, root, problems)
        except (UnicodeDecodeError, OSError) as error:
            problems.append(Problem(file=path, what="the file cannot be read", why=str(error), fix="save it as UTF-8"))
