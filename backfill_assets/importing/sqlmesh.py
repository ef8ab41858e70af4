"""What does a SQLMesh project say here? Its configuration, external models, seeds and models, read as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

from backfill_assets.core.errors import Problem, SettingsError
from backfill_assets.files.documents import Document, read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import name_problem
from backfill_assets.importing.assemble import assemble
from backfill_assets.importing.foreign import Foreign
from backfill_assets.importing.found import Left, ReadSource, Remark, ToCheck, Translation, Untranslatable, refused
from backfill_assets.importing.header import plain
from backfill_assets.importing.resolve import Known
from backfill_assets.importing.seeds import seed_source
from backfill_assets.importing.sqlmesh_config import Config, read_config
from backfill_assets.importing.sqlmesh_file import ModelFile, Property, read_model_file
from backfill_assets.importing.sqlmesh_model import ModelReading, foreign_model, own_columns
from backfill_assets.importing.sqlmesh_python import python_model
from backfill_assets.importing.sqlmesh_seeds import seed_reading
from backfill_assets.importing.sqlmesh_unwritten import unwritten_checks
from backfill_assets.importing.types import malformed, spark_columns


def read_sqlmesh(
    root: Path,
    sources: Mapping[str, Mapping[str, str]],
    start: date | None,
    looked_at: Callable[[int, int], object],
) -> Translation:
    """All of the project in a folder. `sources` are those that are declared here already, with Spark types of columns;
    `start` is the first day of models that say none; `looked_at` hears how many models are, and of how many.

    Raises SettingsError when the folder is no SQLMesh project.
    """
    root = root.resolve()
    if not (root / "models").is_dir():
        fix = "name the folder that has config.yaml and models/"
        raise SettingsError(f"{root} is no SQLMesh project", why="it has no folder `models`", fix=fix)
    found = Translation()
    config = read_config(root)
    tables = _external(root, found, config.defaults.get("dialect", ""))
    for name, columns in sources.items():
        tables[name.lower()] = Known(name=name, columns={c.lower(): t for c, t in columns.items()})
    models = _models(root, config, found, tables)
    found.checks += config.checks
    found.left += unwritten_checks(root)
    assemble(_named(models), tables, found, start, looked_at)
    found.sources = {n: s for n, s in found.sources.items() if n.lower() not in {o.lower() for o in sources}}
    return found


def _external(root: Path, found: Translation, usual: str) -> dict[str, Known]:
    """The external models, by name; noted as sources where their columns are known."""
    tables: dict[str, Known] = {}
    files = [root / n for n in ("external_models.yaml", "external_models.yml", "schema.yaml")]
    files += sorted((root / "external_models").rglob("*.y*ml")) if (root / "external_models").is_dir() else []
    for file in files:
        if not file.exists() or not within(file, root):
            continue
        problems: list[Problem] = []
        document = _yaml(file, problems)
        found.left += [_left(p, root) for p in problems]
        items = cast("list[object]", document.data) if document and isinstance(document.data, list) else []
        for index, item in enumerate(items):
            assert document is not None
            place = f"{file.relative_to(root).as_posix()}:{document.line_of(index)}"
            if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
                found.left.append(Left(place=place, what="an external model without a name"))
                continue
            name = ".".join(p.strip('"`') for p in str(item["name"]).split("."))
            if (wrong := malformed(item.get("columns"))) is not None:
                found.left.append(_wrong_column(name, *wrong, root, document, index))
                tables[name.lower()] = Known(name=name, columns={}, broken=True)
                continue
            columns = spark_columns(item.get("columns"), str(item.get("dialect") or usual))
            if name.lower() in tables:
                why = "it is declared twice, for several gateways perhaps: the first is taken"
                found.checks.append(ToCheck(model=name, place=place, what=f"the external model {plain(name)}", why=why))
                continue
            if columns is None:
                continue  # its columns are guessed from its readers
            for key in sorted(set(map(str, item)) - {"name", "columns", "description", "dialect"}):
                what = f"`{plain(key)}` of an external model is not carried over"
                found.remarks.append(Remark(model=plain(name), place=place, what=what))
            description = plain(str(item.get("description") or ""))
            found.sources[name] = ReadSource(name=name, table=name, columns=columns, description=description)
            tables[name.lower()] = Known(name=name, columns={c.lower(): t for c, t in columns.items()})
    return tables


def _wrong_column(name: str, column: str, why: str, root: Path, document: Document, index: int) -> Left:
    place = f"{document.file.relative_to(root).as_posix()}:{document.line_of(index, 'columns', column)}"
    return Left(
        place=place, what=f"the column `{plain(column)}` of the external model {plain(name)}", why=plain(why),
        fix="write types with a comma in quotes (amount: 'decimal(18,4)'), and import again",
    )  # fmt: skip


def _yaml(file: Path, problems: list[Problem]) -> Document | None:
    text = read_text(file, problems)
    return read_yaml(text, file, problems) if text is not None else None


def _left(problem: Problem, root: Path) -> Left:
    return Left(place=problem.place(root), what=problem.what, why=problem.why, fix=problem.fix)


def _models(root: Path, config: Config, found: Translation, tables: dict[str, Known]) -> list[Foreign]:
    read: list[Foreign] = []
    own = _own_audits(root)
    for path in sorted((root / "models").rglob("*")):
        if path.suffix not in (".sql", ".py") or path.name == "__init__.py" or not path.is_file():
            continue
        place = path.relative_to(root).as_posix()
        if not within(path, root):
            found.left.append(Left(place=f"{place}:1", what="the file leads out of the project"))
            continue
        problems: list[Problem] = []
        text = read_text(path, problems)
        found.left += [_left(p, root) for p in problems]
        if text is None:
            continue
        if path.suffix == ".py":
            read += python_model(place, text, config.defaults.get("dialect", ""))
            continue
        said = ""
        try:
            file = _file(text, config)
            reading = ModelReading(place=place, file=file, config=config, own=own, found=found)
            said = reading.said
            if _kind(file, config) in ("SEED", "EXTERNAL"):
                _table(root, path, reading, tables)
            elif (model := foreign_model(reading)) is not None:
                read.append(model)
        except Untranslatable as error:
            found.left.append(refused(error, plain(said), place))
    return read


def _kind(file: ModelFile, config: Config) -> str:
    said = file.properties.get("kind")
    return (
        said.tokens[0].text.upper() if said is not None and said.tokens else config.defaults.get("kind", "VIEW").upper()
    )


def _file(text: str, config: Config) -> ModelFile:
    """The file, read in its own dialect, or the project's."""
    said = re.search(r"(?:^|[\s(,])dialect\s+['\"]?(\w+)", text, re.MULTILINE | re.IGNORECASE)
    chosen = (said[1] if said else config.defaults.get("dialect", "").split(",")[0]).strip().lower()
    return read_model_file(text, chosen)


def _table(root: Path, path: Path, reading: ModelReading, tables: dict[str, Known]) -> None:
    """A seed or an external model: a source here."""
    file, found, said = reading.file, reading.found, reading.said
    if not re.fullmatch(r"[\w.]+", said):
        raise Untranslatable(f"the name {plain(said)}", line=file.line)
    declared = own_columns(reading)
    kind = file.properties["kind"].within if "kind" in file.properties else None
    place = f"{reading.place}:{file.line}"
    text = file.properties.get("description")
    description = plain(text.text) if text is not None else ""
    csv = _path(root, path, kind["path"]) if kind is not None and "path" in kind else None
    if csv is not None:
        how = seed_reading(kind.get("csv_settings") if kind is not None else None)
        source = seed_source(said, csv, declared, place, description, delimiter=how.delimiter, texts=how.texts)
        why = "the copy is read without it"
        lost = [ToCheck(model=said, place=f"{reading.place}:{n}", what=w, why=why) for n, w in how.unknown]
        source = replace(source, checks=(*source.checks, *lost))
    else:
        why = "its file is not in the project: it is read from the table that it fills"
        lost = ToCheck(model=said, place=place, what="a seed without its file", why=why)
        checks = (lost,) if kind is not None and "path" in kind else ()
        source = ReadSource(name=said, table=said, columns=declared, description=description, checks=checks)
    if "audits" in file.properties:
        what = "the audits of a source are not carried over (`key:` in `backfill docs models`)"
        at = f"{reading.place}:{file.properties['audits'].line}"
        found.remarks.append(Remark(model=said, place=at, what=what))
    if source.columns:  # else they are guessed from its readers
        found.sources[said] = source
        unsure = bool(source.checks)
        columns = {c.lower(): t for c, t in source.columns.items()}
        tables[said.lower()] = Known(name=said, columns=columns, unsure=unsure)


def _path(root: Path, path: Path, said: Property) -> Path | None:
    """A seed's file; None when it is none of the project's."""
    text = said.text.strip("'\"")
    file = root / text.removeprefix("$root/") if text.startswith("$root/") else path.parent / text
    return file if within(file, root) and file.is_file() else None


def _named(models: list[Foreign]) -> list[Foreign]:
    """Models by their last name; those that share it by more of it."""
    names = [m.name.lower() for m in models]
    kept: list[Foreign] = []
    for model in models:
        if names.count(model.name.lower()) > 1:
            name = "__".join(model.said.split(".")[-2:])
            why = "models have no schema here, and several end in this name"
            check = model.check(model.line, f"it is called {name} here", why)
            model = replace(model, name=name, checks=(*model.checks, check))
        if (problem := name_problem(model.name)) or model.name.lower() in {k.name.lower() for k in kept}:
            why = problem or "several models would be called so"
            model = replace(model, problem=Untranslatable(f"the name {model.name}", why=why, line=model.line))
        kept.append(model)
    return kept


def _own_audits(root: Path) -> frozenset[str]:
    """The names that the project's own audits have."""
    found: set[str] = set()
    for path in sorted((root / "audits").rglob("*.sql")) if (root / "audits").is_dir() else ():
        text = read_text(path, []) if within(path, root) else None
        found |= {m[1].lower() for m in re.finditer(r"\bname\s+['\"`]?(\w+)", text or "", re.IGNORECASE)}
    return frozenset(found)


def within(path: Path, root: Path) -> bool:
    """Whether a path is of the project, also by where its links lead."""
    return path.resolve().is_relative_to(root)
