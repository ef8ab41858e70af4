"""What becomes of another tool's project here? Model files, and a report of what to check and what is left."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.files.saving import save_text
from backfill_assets.importing.found import Left, ReadSource, TranslatedModel, Translation
from backfill_assets.project.files import MODELS_FOLDER, model_files
from backfill_assets.project.records import no_records
from backfill_assets.sql.unlogged import unlogged

if TYPE_CHECKING:
    from backfill_assets.importing.report import Imported

REPORT = "import_report.md"
"""Written anew by each import. It says what was not translated, and is read by nobody else."""
_SETTINGS = """\
# Settings of this project; `backfill docs settings` lists them all.
environment: prod
warehouse: .backfill/warehouse
"""
_SOURCES, _CONSUMERS = "sources.yml", "consumers.yml"


def import_project(
    root: Path,
    tool: str,
    origin: Path,
    start: date | None = None,
    looked_at: Callable[[int, int], object] = lambda number, of: None,
) -> Imported:
    """Write a model's file for each model of another tool's project that can be expressed here, and a report.

    `tool` is sqlmesh (`origin` is its folder) or dbt (its manifest); `start` is the first day of models that say none.
    `looked_at` hears how many models are, and of how many. Nothing of it is executed, and no file is written over but
    the report. Raises SettingsError when there is no such project, ProjectError when the files here have problems.
    """
    from backfill_assets.importing.dbt import read_dbt
    from backfill_assets.importing.header import consumers_text, sources_text
    from backfill_assets.importing.report import Imported, report
    from backfill_assets.importing.sqlmesh import read_sqlmesh

    declared = _declared(root)
    with unlogged():
        found = (read_sqlmesh if tool == "sqlmesh" else read_dbt)(origin, declared, start, looked_at)
    there = {p.stem.lower(): p for p in model_files(root)} if (root / MODELS_FOLDER).is_dir() else {}
    fresh, kept = _apart(found, there, root)
    entries = [_entry(s) for s in found.sources.values()]
    missing: dict[str, str] = {}
    lacks = bool(entries) and (root / _SOURCES).exists()
    if lacks:
        missing[_SOURCES] = sources_text(entries)
        for name in [n for n, m in fresh.items() if set(m.reads) & found.sources.keys()]:
            _leave(found, fresh.pop(name), "it reads a source that sources.yml lacks", "add what the report lists")
    sources = sources_text(entries) if entries and not lacks else ""
    _drop_readers(found, fresh, there)
    seeds = dict(s.seed for s in found.sources.values() if s.seed is not None)
    _check(root, fresh, sources, seeds, found, there)
    needed = any(set(m.reads) & found.sources.keys() for m in fresh.values())
    consumers = consumers_text(_of_models(found, {n.lower(): n for n in [*fresh, *_stems(there)]}))
    if consumers and (root / _CONSUMERS).exists():
        missing[_CONSUMERS], consumers = consumers, ""
    if consumers and not _consumers_load(root, fresh, sources, seeds, consumers):
        why, fix = "they are no entries of consumers.yml", "write them yourself (`backfill docs consumers`)"
        found.left.append(Left(place="manifest.json:1", what="exposures", why=why, fix=fix))
        consumers = ""
    if lacks:  # what the entries name, for when they are added
        for path, text in seeds.items():
            save_text(root / path, text, new=True)
    written = _write(root, fresh, sources if needed else "", seeds if needed else {}, consumers)
    for left in found.left:
        name = left.model.split(".")[-1].lower()
        if name in there:
            kept.append(
                (_relative(there[name], root), "it is there already, although this is not translated (any more)")
            )
    shown = {*fresh, *(n for n in found.models if n.lower() in there)}
    parts = {i for s in shown for i in found.models[s].inlined}
    read = {name for n in shown for name in found.models[n].reads}
    done = Imported(
        written=tuple(written), kept=tuple(dict(kept).items()),
        models=tuple(m for n, m in found.models.items() if n in shown),
        within={n: p for n, p in found.within.items() if n.lower() in parts},
        checks=(*found.checks, *(c for n, s in found.sources.items() if n in read for c in s.checks)),
        left=tuple(found.left), remarks=tuple(found.remarks), missing=missing,
    )  # fmt: skip
    save_text(root / REPORT, report(tool, done))
    return done


def _stems(there: Mapping[str, Path]) -> list[str]:
    return [p.stem for p in there.values()]


def _of_models(found: Translation, models: Mapping[str, str]) -> list[Mapping[str, object]]:
    """Consumers of the models that are here, and of nothing else; what they read besides is noted as left."""
    written: list[Mapping[str, object]] = []
    for one in found.consumers:
        said = one["reads"]
        reads = [str(r) for r in said] if isinstance(said, list) else []
        kept = [models[r.lower()] for r in reads if r.lower() in models]
        if kept:
            written.append({**one, "reads": kept})
        if lost := [r for r in reads if r.lower() not in models]:
            name = str(one["name"])
            why = f"consumers.yml has it as a reader of {', '.join(kept)} alone"
            if not kept:
                why = "it reads no model that is written here, so that consumers.yml does not have it"
            found.left.append(
                Left(
                    place=found.consumer_places.get(name, "manifest.json:1"),
                    what=f"the exposure {name} reads {', '.join(lost)}: no model here", why=why,
                    fix="when that is a model here, add it to `reads:` in consumers.yml (`backfill docs consumers`)",
                )
            )  # fmt: skip
    return written


def _declared(root: Path) -> dict[str, Mapping[str, str]]:
    """The sources that are declared here, with the types of their columns."""
    from backfill_assets.project.sources import read_sources

    problems: list[Problem] = []
    sources = read_sources(root, problems)
    if problems:
        raise ProjectError(problems)
    return {name: {c.name: c.type or "" for c in s.columns} for name, s in sources.entries.items()}


def _apart(
    found: Translation, there: Mapping[str, Path], root: Path
) -> tuple[dict[str, TranslatedModel], list[tuple[str, str]]]:
    """The models that have no file yet, and the files that stay."""
    fresh: dict[str, TranslatedModel] = {}
    kept: list[tuple[str, str]] = []
    for name, model in found.models.items():
        file = there.get(name.lower())
        if file is None:
            fresh[name] = model
            continue
        same = file.suffix == ".sql" and file.read_bytes() == model.text.encode()
        why = "it is the same" if same else "it is not what would be written now: remove it to have that"
        kept.append((_relative(file, root), why))
    return fresh, kept


def _drop_readers(found: Translation, fresh: dict[str, TranslatedModel], there: Mapping[str, Path]) -> None:
    """Leave out models that read one that is neither written nor there."""
    every = found.models.keys()
    while gone := [
        n for n, m in fresh.items() if any(r in every and r not in fresh and r.lower() not in there for r in m.reads)
    ]:
        for name in gone:
            _leave(found, fresh.pop(name), "it reads a model that is not written", "see what is said of that")


def _leave(found: Translation, model: TranslatedModel, what: str, fix: str = "", why: str = "") -> None:
    found.left.append(Left(model=model.name, place=model.origin, what=what, why=why, fix=fix))


def _check(
    root: Path, fresh: dict[str, TranslatedModel], sources: str, seeds: Mapping[str, str], found: Translation,
    there: Mapping[str, Path],
) -> None:  # fmt: skip
    """Leave out the models with which the project would not load. Raises ProjectError when it does not without them."""
    from backfill_assets.project.reading import read_project

    with tempfile.TemporaryDirectory(prefix="backfill-import-") as place:
        trial = Path(place).resolve()
        files = _lay(root, trial, fresh, sources, seeds)
        while fresh:
            try:
                read_project(trial, no_records)
                return
            except ProjectError as error:
                ours = {files[p.file]: p for p in reversed(error.problems) if files.get(p.file) in fresh}
                if not ours:
                    problems = [
                        Problem(file=root / p.file.relative_to(trial), line=p.line, what=p.what, why=p.why, fix=p.fix)
                        if p.file.is_relative_to(trial)
                        else p
                        for p in error.problems
                    ]
                    raise ProjectError(problems) from None
                for name, problem in ours.items():
                    what = "its translation is not a model of this project"
                    _leave(found, fresh.pop(name), what, problem.fix, f"{problem.what}: {problem.why}")
                _drop_readers(found, fresh, there)
                for file, name in files.items():
                    if name not in fresh:
                        file.unlink(missing_ok=True)


def _lay(
    root: Path, trial: Path, fresh: Mapping[str, TranslatedModel], sources: str, seeds: Mapping[str, str]
) -> dict[Path, str]:
    """A copy of the project with what would be written; its new files, with the names of models."""
    for name in ("backfill.yml", _SOURCES, _CONSUMERS):
        if (root / name).exists():
            shutil.copyfile(root / name, trial / name)
    for name in (MODELS_FOLDER, "audits"):
        if (root / name).is_dir():
            shutil.copytree(root / name, trial / name)
    (trial / MODELS_FOLDER).mkdir(exist_ok=True)
    if sources:
        (trial / _SOURCES).write_text(sources, encoding="utf-8")
    for path, text in seeds.items():
        save_text(trial / path, text)
    files = {trial / MODELS_FOLDER / f"{n}.sql": n for n in fresh}
    for file, name in files.items():
        file.write_text(fresh[name].text, encoding="utf-8")
    return files


def _consumers_load(
    root: Path, fresh: Mapping[str, TranslatedModel], sources: str, seeds: Mapping[str, str], consumers: str
) -> bool:
    """Whether the project loads with a consumers.yml beside what is written."""
    from backfill_assets.project.reading import read_project

    with tempfile.TemporaryDirectory(prefix="backfill-import-") as place:
        trial = Path(place).resolve()
        _lay(root, trial, fresh, sources, seeds)
        (trial / _CONSUMERS).write_text(consumers, encoding="utf-8")
        try:
            read_project(trial, no_records)
        except ProjectError:
            return False
    return True


def _write(
    root: Path, fresh: Mapping[str, TranslatedModel], sources: str, seeds: Mapping[str, str], consumers: str
) -> list[str]:
    texts = {f"{MODELS_FOLDER}/{name}.sql": model.text for name, model in fresh.items()}
    if sources:
        texts = {**seeds, _SOURCES: sources, **texts}  # first: a model without its source does not load
    if consumers:
        texts[_CONSUMERS] = consumers
    if fresh:
        texts = {"backfill.yml": _SETTINGS, **texts}
    written: list[str] = []
    for path, text in texts.items():
        if save_text(root / path, text, new=True):
            written.append(path)
    return written


def _entry(source: ReadSource) -> dict[str, object]:
    place = {"table": source.table} if source.seed is None else {"path": source.seed[0], "format": "csv"}
    described = {"description": source.description} if source.description else {}
    return {"name": source.name, **place, **described, **source.more, "columns": dict(source.columns)}


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
