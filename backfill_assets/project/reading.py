"""What do a project's files say? All of them read, checked against each other, and put into one value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.masking import with_masks
from backfill_assets.core.model import Column, Model, Override, Project, Signature, Source
from backfill_assets.core.readiness import with_readiness
from backfill_assets.core.settings import Settings
from backfill_assets.core.settling import settling_windows
from backfill_assets.project.algorithm import version_of
from backfill_assets.project.all_columns import all_columns
from backfill_assets.project.assemble import build_model
from backfill_assets.project.audit_links import link_audits
from backfill_assets.project.consumers import DeclaredConsumers, read_consumers
from backfill_assets.project.draft import Draft
from backfill_assets.project.faults import source_faults
from backfill_assets.project.files import misnamed, model_files
from backfill_assets.project.fingerprint import declared_key, model_signature, source_signature, unique_columns
from backfill_assets.project.later_reads import later_remarks, source_reads
from backfill_assets.project.linking import Linked, link
from backfill_assets.project.missing_names import missing_names
from backfill_assets.project.outputs import Outputs
from backfill_assets.project.override import check_overrides
from backfill_assets.project.pivoted_columns import columns_by_values
from backfill_assets.project.python_files import read_python_models
from backfill_assets.project.records import ReadRecords, Records, named, recorded_as
from backfill_assets.project.repeatable import (
    hidden_uses,
    not_executed,
    not_taken_apart,
    refusals,
    remarks,
    typed_uses,
    unread,
    unseen,
)
from backfill_assets.project.settings import cache_folder, read_settings
from backfill_assets.project.sources import Sources, read_sources
from backfill_assets.project.spark_settings import read_as_usual
from backfill_assets.project.sql_files import read_sql_model
from backfill_assets.project.time_zones import misread_bounds, unnamed_zone, zone_problems
from backfill_assets.project.undeclared_lookback import earlier_remarks
from backfill_assets.project.whole_intervals import cut_intervals, first_starts, short_first_interval
from backfill_assets.python_models.compiled import PythonFunction, compile_functions
from backfill_assets.sql.nondeterministic import FunctionUse
from backfill_assets.sql.signature import Opaque, Table, query_signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A project, and the modules beside its models that it was read from. `lasting`: equal files give an equal one, as
    long as the data of the sources that were `found_out` says the same columns."""

    project: Project
    helpers: tuple[Path, ...]
    lasting: bool
    found_out: frozenset[str]
    records: Records
    """What it took from the records, for models with an override."""
    drafts: Mapping[str, Draft]
    outputs: Mapping[str, Outputs]
    """By model: what is known from its own file, and of its query."""


def read_project(
    root: Path,
    records: ReadRecords,
    *,
    recorded: bool = False,
    faults: bool = False,
    columns: Mapping[str, tuple[Column, ...]] | None = None,
) -> Reading:
    """Read the project in a folder. Raises ProjectError with every problem of every file at once.

    `records` reads those of a warehouse. `recorded`: the files are a version's, of its record. What audits name need
    not be there, and what a later release asks authors to write is not asked for. `faults`: problems that may be there
    because of what sources say by now are these (`Project.faults`). `columns`: those that undeclared sources are taken
    to have.
    """
    files = _read_files(root, recorded=recorded, faults=faults, said=columns)
    python = {name for name, model in files.models.items() if model.language == "python"}
    strange = files.settings.untrusted and python
    there = records(files.settings.warehouse) if strange or any(m.same_as for m in files.models.values()) else {}
    counted, starts = _counted_as(root, files, there), first_starts(files.models)
    windows = settling_windows(files.models, files.sources.entries)
    project = Project(
        root=root, settings=files.settings, models=files.models, sources=files.sources.entries,
        consumers=files.consumers.entries, consumers_verified=files.consumers.verified,
        columns={name: found.columns for name, found in files.outputs.items()},
        lineage={name: found.lineage for name, found in files.outputs.items()}, signatures=counted.signatures,
        fingerprints={name: version_of(counted.signatures[name]) for name in files.models},
        overrides=counted.overrides, whole={name: one_line(why) for name, why in counted.whole.items()},
        warnings={n: (*counted.warnings[n], *_remarks(root, files, counted, starts, windows, n)) for n in files.models},
        faults=files.faults,
        reads_until={
            n: source_reads(files.outputs[n], files.models[n], files.models, files.sources.entries, files.visible)
            for n in windows
        },
    )  # fmt: skip
    return Reading(
        project=project,
        helpers=tuple({root / file for draft in files.linked.order for file in draft.modules}),
        lasting=not files.settings.untrusted and python <= files.compiled.keys() and not files.faults,
        found_out=files.sources.found_out,
        records=named(files.models, there),
        drafts=files.linked.drafts,
        outputs=files.outputs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """What the files say, read and checked against each other; nothing of it is hashed yet."""

    settings: Settings
    sources: Sources
    linked: Linked
    consumers: DeclaredConsumers
    models: Mapping[str, Model]
    outputs: Mapping[str, Outputs]
    compiled: Mapping[str, str | None]
    """The SQL of Python models; None for those that are not run."""
    failed: Mapping[str, str]
    """Python models that this machine could not take apart, and what failed of it."""
    whole: Mapping[str, str]
    """Python models that have no SQL, and what of their code stands in its way."""
    visible: Mapping[str, tuple[Column, ...]]
    """By model and source: the columns that readers see."""
    hidden: Mapping[str, Sequence[FunctionUse]]
    """By model: uses of functions that depend on more than their arguments."""
    problems: list[Problem]
    """Those of what Python models were compiled to."""
    faults: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict[str, tuple[Problem, ...]])


def _read_files(
    root: Path,
    *,
    recorded: bool,
    faults: bool,
    unknown: Collection[str] = (),
    said: Mapping[str, tuple[Column, ...]] | None = None,
) -> _Files:
    """Raises ProjectError with every problem of every file. Those that may be there because of what the data of sources
    says are `faults`, if the project has no other ones: `unknown` are the models and sources that have such. `said`:
    the columns that undeclared sources are taken to have."""
    problems: list[Problem] = []
    settings = read_settings(root, problems)
    problems += misnamed(root)
    declared = read_sources(root, problems, guessing=not settings.untrusted, recorded=said)
    problems = [p for p in problems if not any(p in declared.faults.get(name, ()) for name in unknown)]
    drafts = list(_drafts(root, problems, recorded=recorded))
    linked = link(drafts, declared.entries, problems, certain=declared.certain)
    consumers = read_consumers(root, [d.name for d in drafts], settings.environment, problems)

    failed: dict[str, str] = {}
    whole: dict[str, str] = {}

    def compiling(functions: list[PythonFunction]) -> Mapping[str, str | None]:
        if settings.untrusted:
            return {f.name: None for f in functions}
        return compile_functions(functions, cache_folder(root) / "python", failed, whole)

    spark = None if recorded else settings.spark
    columns = all_columns(root, linked, declared.entries, compiling, problems, spark=spark, unknown=unknown)
    models: dict[str, Model] = {}
    hidden: dict[str, Sequence[FunctionUse]] = {}
    for draft in linked.order:
        upstreams = tuple(
            replace(u, columns=tuple(c.name for c in columns.visible.get(u.name, ())))
            for u in linked.upstreams[draft.name]
        )
        if (model := build_model(draft, settings, upstreams, columns.outputs[draft.name], problems)) is not None:
            models[draft.name] = replace(model, files=_texts(root, draft))
        hidden[draft.name] = typed_uses(draft, [columns.visible.get(u.name, ()) for u in upstreams])
        problems += refusals(draft, root, [*draft.uses, *hidden[draft.name]])
    problems += zone_problems(models, linked.drafts)
    for name, found in columns.outputs.items():
        problems += misread_bounds(linked.drafts[name], found, columns.visible)
    if not recorded:
        models = link_audits(root, models, declared.entries, columns.visible, problems, certain=declared.certain)
    if faults and problems and (found := source_faults(linked, declared, problems, models)):
        with suppress(ProjectError):  # what the files say is wrong as well
            files = _read_files(root, recorded=recorded, faults=False, unknown={*found, *declared.faults})
            return replace(files, faults=found)
    if problems:
        raise ProjectError(problems)
    for name, text in columns.compiled.items():
        reads = [columns.visible.get(u.name, ()) for u in models[name].upstreams]
        hidden[name] = hidden_uses(linked.drafts[name], text, reads)
        problems += refusals(linked.drafts[name], root, hidden[name])
    lineage = {name: found.lineage for name, found in columns.outputs.items()}
    written = {name: [c.name for c in found.columns] for name, found in columns.outputs.items()}
    return _Files(
        settings=settings,
        sources=declared,
        linked=linked,
        consumers=consumers,
        models=with_readiness(with_masks(models, declared.entries, lineage, written)),
        outputs=columns.outputs,
        compiled=columns.compiled,
        failed=failed,
        whole=whole,
        visible=columns.visible,
        hidden=hidden,
        problems=problems,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedAs:
    """What each model counts as, by its code and by what its author declares of it (`same_as`)."""

    signatures: Mapping[str, Signature]
    overrides: Mapping[str, Override]
    warnings: Mapping[str, Sequence[Problem]]
    whole: Mapping[str, str]
    """Models that cannot be taken apart, and what of their code stands in the way."""
    tables: Mapping[str, Table]
    """Models and sources as their readers' queries see them."""


def _counted_as(root: Path, files: _Files, there: Records) -> _CountedAs:
    """Raises ProjectError with what is wrong with the code of Python models, and with declarations."""
    problems = [*files.problems]
    warnings: dict[str, list[Problem]] = {name: [] for name in files.models}
    overrides: dict[str, Override] = {}

    def meant(model: Model, own: Signature) -> Signature:
        if files.settings.untrusted:
            own = recorded_as(model, own, there)
        counts_as, override = check_overrides(root, model, own, there, problems, warnings[model.name])
        if override is not None:
            overrides[model.name] = override
        return counts_as

    signatures, opaque = _signatures(files, meant)
    if problems:
        raise ProjectError(problems)
    if overrides:
        plain, _ = _signatures(files, lambda _, own: own)
        changed = {n for n in files.models if version_of(plain[n]) != version_of(signatures[n])}
        overrides = {n: replace(o, reaches=_reached(n, files.models, changed)) for n, o in overrides.items()}
    tables = {
        n: Table(
            name=n, signature=s, key=_key(n, files.models, files.sources.entries), columns=files.visible.get(n, ())
        )
        for n, s in signatures.items()
    }
    placed = {n: f"{files.models[n].path.relative_to(root).as_posix()}: {why}" for n, why in opaque.items()}
    return _CountedAs(
        signatures=signatures, overrides=overrides, warnings=warnings, whole={**placed, **files.whole}, tables=tables
    )


def _remarks(
    root: Path,
    files: _Files,
    counted: _CountedAs,
    starts: Mapping[str, datetime],
    windows: Mapping[str, timedelta],
    name: str,
) -> Iterator[Problem]:
    """What is to be said of a model whose code is right; `starts` are where all of them begin, `windows` how long their
    intervals stay provisional."""
    draft = files.linked.drafts[name]
    yield from unseen(draft, root)
    yield from unread(draft, root, files.compiled.get(name))
    yield from columns_by_values(draft, root)
    if files.settings.untrusted and files.models[name].language == "python":
        yield not_executed(draft)
    if name in files.failed:
        yield not_taken_apart(draft, files.failed[name])
    yield from missing_names(draft, root, files.models[name], files.whole.get(name, ""), files.visible)
    yield from cut_intervals(draft, files.models[name])
    yield from short_first_interval(draft, files.models[name], files.models, starts)
    yield from unnamed_zone(draft, files.models[name], files.models, files.sources.entries)
    yield from earlier_remarks(draft, files.outputs[name], files.models, files.sources.entries, files.visible)
    yield from later_remarks(draft, files.outputs[name], files.models, files.sources.entries, files.visible, windows)
    yield from remarks(draft, files.hidden.get(name, ()), files.outputs[name], counted.tables)


def _texts(root: Path, draft: Draft) -> dict[str, str]:
    """The model's file and those of the project that it imports, by their place in the project."""
    own = draft.path.relative_to(root).as_posix()
    return {own: draft.text} | {
        name: (root / name).read_text(encoding="utf-8-sig")
        for name in draft.modules
        if name != own and name.endswith(".py")
    }


def _signatures(
    files: _Files, meant: Callable[[Model, Signature], Signature]
) -> tuple[dict[str, Signature], dict[str, str]]:
    """What decides each table, sources first, then models in dependency order; and what keeps queries from being taken
    apart, by model.

    `meant` says what a model counts as whose code says this by itself.
    """
    opaque: dict[str, str] = {}
    sources, written = files.sources.entries, files.sources.written
    signatures = {name: source_signature(source, written[name]) for name, source in sources.items()}
    tables = {
        name: Table(name=name, signature=s, key=declared_key(sources[name]), columns=files.visible[name])
        for name, s in signatures.items()
    }
    for model in files.models.values():
        found = files.outputs[model.name]
        query = None
        spark = {**files.settings.spark, **model.spark}
        if found.sql and read_as_usual(spark):
            try:
                query = query_signature(found.sql, {key: tables[name] for key, name in found.names.items()})
            except Opaque as why:
                opaque[model.name] = str(why)
        logic = files.linked.drafts[model.name].logic
        signature = meant(model, model_signature(model, query, logic, spark, signatures, files.visible))
        signatures[model.name] = signature
        tables[model.name] = Table(
            name=model.name, signature=signature, key=unique_columns(model), columns=files.visible[model.name]
        )
    return signatures, opaque


def _key(name: str, models: Mapping[str, Model], sources: Mapping[str, Source]) -> frozenset[str] | None:
    return unique_columns(models[name]) if name in models else declared_key(sources[name])


def _reached(name: str, models: Mapping[str, Model], changed: Collection[str]) -> tuple[str, ...]:
    """Which of these models are downstream of one, in dependency order."""
    reached = {name}
    for model in models.values():
        if any(u.name in reached for u in model.upstreams):
            reached.add(model.name)
    return tuple(n for n in models if n in reached and n in changed and n != name)


def _drafts(root: Path, problems: list[Problem], *, recorded: bool) -> Iterator[Draft]:
    """The models of all files, by path."""
    for path in model_files(root):
        if path.name.startswith("_"):
            continue
        if path.suffix == ".sql":
            yield read_sql_model(path, problems, recorded=recorded)
        else:
            yield from read_python_models(path, root, problems)
