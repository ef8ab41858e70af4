"""What does a SQLMesh project say here? Its configuration, external models and SQL models, read as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError

from backfill_assets.core.errors import Problem, SettingsError
from backfill_assets.files.documents import Document, read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import name_problem
from backfill_assets.importing.found import (
    Left,
    ReadSource,
    Remark,
    TranslatedModel,
    Translation,
    Untranslatable,
    refused,
)
from backfill_assets.importing.header import model_text, plain
from backfill_assets.importing.query import Query, Table, dialect_problem, translate
from backfill_assets.importing.sqlmesh_audits import audits
from backfill_assets.importing.sqlmesh_file import ModelFile, Property, inside, read_model_file, split
from backfill_assets.importing.values import Value, of_type

_CONFIGS = ("config.yaml", "config.yml")
_DEFAULTS = ("dialect", "start", "owner", "cron")
_HARMLESS = frozenset({
    "gateways", "default_gateway", "default_connection", "default_test_connection", "default_scheduler", "project",
    "users", "notification_targets", "snapshot_ttl", "environment_ttl", "pinned_environments", "username",
    "variables", "default_target_environment", "log_limit", "cicd_bot", "format", "ui", "plan", "run", "linter",
    "disable_anonymized_analytics", "cache_dir", "janitor", "migration", "model_defaults",
    "environment_suffix_target", "physical_table_naming_convention", "model_naming",
})  # fmt: skip
"""Keys of a configuration that decide no row of a model that is translated."""
_PHYSICAL = frozenset({
    "partitioned_by", "clustered_by", "table_format", "storage_format", "physical_properties", "stamp", "formatting",
    "ignored_rules", "references", "column_descriptions", "tags", "optimize_query", "physical_version",
})  # fmt: skip
"""Properties that decide no row: what is not written into the header is a remark."""
_READ = frozenset({
    "name", "kind", "dialect", "owner", "start", "cron", "description", "grain", "grains", "audits", "enabled",
    "interval_unit", "allow_partials", "cron_tz",
})  # fmt: skip
_OTHER_PRECISION = (exp.DType.TIMESTAMP_NS, exp.DType.TIMESTAMP_MS, exp.DType.TIMESTAMP_S)
_DAILY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* \*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    wrong: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A model's file before its query is translated."""

    path: str
    written: str
    name: str
    file: ModelFile
    dialect: str
    header: Mapping[str, object]
    time_column: str
    grain: tuple[str, ...]
    audits: Property | None
    remarks: tuple[Remark, ...]


def read_sqlmesh(root: Path, sources: Mapping[str, Mapping[str, str]]) -> Translation:
    """All of the project in a folder. `sources` are those that are declared here already, with Spark types of columns.

    Raises SettingsError when the folder is no SQLMesh project.
    """
    root = root.resolve()
    if not (root / "models").is_dir():
        fix = "name the folder that has config.yaml and models/"
        raise SettingsError(f"{root} is no SQLMesh project", why="it has no folder `models`", fix=fix)
    found = Translation()
    config = _config(root)
    found.left += config.wrong
    tables = _external(root, found, config.defaults.get("dialect", ""))
    for name, columns in sources.items():
        tables[name.lower()] = Table(name=name, columns={c: of_type(t) for c, t in columns.items()})
    read = _models(root, config, found)
    if not config.wrong:
        _translate_all(read, tables, _own_audits(root), found)
    else:
        for one in read:
            what = "what the configuration says of all models is not translated"
            found.left.append(Left(model=one.written, place=f"{one.path}:{one.file.line}", what=what))
    used = {name for m in found.models.values() for name in m.reads}
    found.sources = {
        n: s for n, s in found.sources.items() if n in used and n.lower() not in {o.lower() for o in sources}
    }
    return found


def _config(root: Path) -> _Config:
    names = [n for n in (*_CONFIGS, "config.py") if (root / n).exists()]
    if names != [n for n in _CONFIGS if n in names][:1] or not names:
        name = names[-1] if names else "config.yaml"
        why = "a Python configuration is not executed" if name == "config.py" else "there is none, or there are two"
        fix = "write what it says as config.yaml: model_defaults with dialect and start"
        return _Config(wrong=(Left(place=f"{name}:1", what="the configuration is not read", why=why, fix=fix),))
    file = root / names[0]
    problems: list[Problem] = []
    document = _yaml(file, problems)
    if document is None or not isinstance(document.data, Mapping):
        return _Config(
            wrong=tuple(_left(p, root) for p in problems) or (Left(place=f"{names[0]}:1", what="no mapping"),)
        )
    wrong: list[Left] = []

    def odd(what: str, *path: str) -> None:
        why = "it is not known to leave the rows of all models as they are"
        wrong.append(Left(place=f"{names[0]}:{document.line_of(*path)}", what=what, why=why))

    for key in document.data:
        if str(key) not in _HARMLESS:
            odd(f"`{plain(str(key))}` of the configuration", str(key))
    if "session.timezone" in str(document.data).lower().replace(" ", "") and "UTC" not in str(document.data):
        odd("another time zone of the session", "gateways")
    defaults = document.data.get("model_defaults") or {}
    said: dict[str, str] = {}
    for key, value in defaults.items() if isinstance(defaults, Mapping) else ():
        if str(key) not in _DEFAULTS or not isinstance(value, str | date) or "{{" in str(value):
            odd(f"`{plain(str(key))}` of model_defaults", "model_defaults", str(key))
        else:
            said[str(key)] = str(value)
    return _Config(defaults=said, wrong=tuple(wrong))


def _yaml(file: Path, problems: list[Problem]) -> Document | None:
    text = read_text(file, problems)
    return read_yaml(text, file, problems) if text is not None else None


def _left(problem: Problem, root: Path) -> Left:
    return Left(place=problem.place(root), what=problem.what, why=problem.why, fix=problem.fix)


def _external(root: Path, found: Translation, usual: str) -> dict[str, Table]:
    """The external models with columns, by name; noted as sources."""
    tables: dict[str, Table] = {}
    files = [root / n for n in ("external_models.yaml", "external_models.yml", "schema.yaml")]
    files += sorted((root / "external_models").rglob("*.y*ml")) if (root / "external_models").is_dir() else []
    for file in files:
        if not file.exists() or not _within(file, root):
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
            dialect = item.get("dialect") or usual
            columns = _columns(item.get("columns"), str(dialect))
            if columns is None or item.get("gateway") or name.lower() in tables:
                what = f"the external model {plain(name)}"
                why = "its columns are not known, it is declared twice, or it is of one gateway"
                found.left.append(Left(place=place, what=what, why=why, fix="declare it in sources.yml"))
                continue
            for key in sorted(set(map(str, item)) - {"name", "columns", "description", "dialect"}):
                what = f"`{plain(key)}` of an external model is not carried over"
                found.remarks.append(Remark(model=plain(name), place=place, what=what))
            description = plain(str(item.get("description") or ""))
            found.sources[name] = ReadSource(name=name, table=name, columns=columns, description=description)
            tables[name.lower()] = Table(name=name, columns={c: of_type(t) for c, t in columns.items()})
    return tables


def _columns(said: object, dialect: str) -> dict[str, str] | None:
    """Columns as Spark types; None when one cannot be told."""
    if not isinstance(said, Mapping) or not said:
        return None
    found: dict[str, str] = {}
    for name, written in said.items():
        spark = spark_type(str(written), dialect)
        if spark is None:
            return None
        found[str(name)] = spark
    return found


def spark_type(written: str, dialect: str) -> str | None:
    """A type of a dialect as Spark writes it; None for one that is none."""
    try:
        found = exp.DataType.build(written, dialect=dialect or "duckdb")
    except (SqlglotError, ValueError, RecursionError):
        return None
    text = found.sql(dialect="spark").lower()
    plain_decimal = text in ("decimal", "decimal(18,3)") and "(" not in written
    if plain_decimal or found.this in _OTHER_PRECISION or "timestamp(" in written.lower():
        return None  # its digits are not those of Spark
    return {"timestamp_ntz": "timestamp"}.get(text, text)


def _models(root: Path, config: _Config, found: Translation) -> list[_Model]:
    read: list[_Model] = []
    for path in sorted((root / "models").rglob("*")):
        if path.suffix not in (".sql", ".py") or path.name == "__init__.py" or not path.is_file():
            continue
        place = path.relative_to(root).as_posix()
        if not _within(path, root):
            found.left.append(Left(place=f"{place}:1", what="the file leads out of the project"))
            continue
        if path.suffix == ".py":
            why, fix = "another tool's code is not executed", "write it as a model here (docs/python-models.md)"
            found.left.append(Left(place=f"{place}:1", what="a Python model", why=why, fix=fix))
            continue
        problems: list[Problem] = []
        text = read_text(path, problems)
        found.left += [_left(p, root) for p in problems]
        if text is None:
            continue
        written = ""
        try:
            file = _file(text, config)
            written = file.properties["name"].text if "name" in file.properties else ""
            if (model := _model(place, file, config, found)) is not None:
                read.append(model)
        except Untranslatable as error:
            found.left.append(refused(error, plain(written), place))
    return _without_twins(read, found)


def _file(text: str, config: _Config) -> ModelFile:
    """The file, read in its own dialect, or the project's."""
    dialect = config.defaults.get("dialect", "")
    said = re.search(r"(?:^|[\s(,])dialect\s+['\"]?(\w+)", text, re.MULTILINE | re.IGNORECASE)
    chosen = (said[1] if said else dialect).lower()
    if problem := dialect_problem(chosen):
        what = f"the dialect {plain(chosen) or '(none is said)'}"
        raise Untranslatable(what, why=problem, line=text.count("\n", 0, said.start(1)) + 1 if said else 1)
    file = read_model_file(text, chosen)
    own = file.properties.get("dialect")
    if (own.text.lower() if own else dialect.lower()) != chosen:
        raise Untranslatable("the dialect", why="it is not clear which one is meant", line=own.line if own else 1)
    return file


def _model(place: str, file: ModelFile, config: _Config, found: Translation) -> _Model | None:
    properties = file.properties
    name = properties.get("name")
    if name is None or not re.fullmatch(r"[\w.]+", name.text):
        raise Untranslatable(
            "the model's name", why="it has to be given, of letters, digits, _ and dots", line=file.line
        )
    if (enabled := properties.get("enabled")) is not None and enabled.text.lower() != "true":
        if enabled.text.lower() != "false":
            raise Untranslatable("`enabled`", line=enabled.line)
        at = f"{place}:{enabled.line}"
        found.remarks.append(Remark(model=name.text, place=at, what="not enabled there, so it is left out"))
        return None
    own = name.text.split(".")[-1]
    if problem := name_problem(own):
        raise Untranslatable(f"the name {plain(own)}", why=problem, line=name.line)
    remarks: list[Remark] = []
    for key, said in properties.items():
        if key in _PHYSICAL:
            remarks.append(Remark(model=name.text, place=f"{place}:{said.line}", what=f"`{key}` is not carried over"))
        elif key not in _READ:
            why = "it is not on the list of what leaves the rows as they are"
            raise Untranslatable(f"`{plain(key)}` of MODEL", why=why, line=said.line)
    kind = _kind(properties, file)
    header: dict[str, object] = {}
    for key in ("description", "owner"):
        text = properties[key].text if key in properties else config.defaults.get(key, "") if key == "owner" else ""
        if text:
            header[key] = plain(text)
    header["start"] = _start(properties, file, config)
    header |= _ready(properties, file, config)
    header |= _kind_header(kind, name.text, place, remarks)
    time_column = _time_column(kind, file)
    _plain_days(properties)
    _plain_partitions(properties, time_column)
    dialect = (properties["dialect"].text if "dialect" in properties else config.defaults.get("dialect", "")).lower()
    return _Model(
        path=place, written=name.text, name=own, file=file, dialect=dialect, header=header, time_column=time_column,
        grain=_grain(properties), audits=properties.get("audits"), remarks=tuple(remarks),
    )  # fmt: skip


def _kind(properties: Mapping[str, Property], file: ModelFile) -> Mapping[str, Property]:
    said = properties.get("kind")
    name = said.tokens[0].text.upper() if said is not None and said.tokens else "VIEW"
    if said is None or name != "INCREMENTAL_BY_TIME_RANGE":
        why = "a model here has rows of days (or hours, …): it is built, audited and restated by them"
        fix = "read its table as a source, or give it a time column and write it as INCREMENTAL_BY_TIME_RANGE"
        raise Untranslatable(f"the kind {name}", why=why, fix=fix, line=said.line if said else file.line)
    if said.within is None:
        raise Untranslatable("the kind has no time column", line=said.line)
    return said.within


def _kind_header(kind: Mapping[str, Property], model: str, place: str, remarks: list[Remark]) -> dict[str, object]:
    """What the header says of how it is built."""
    header: dict[str, object] = {}
    for key, said in kind.items():
        word = said.text.lower()
        match key:
            case "time_column":
                pass
            case "batch_size" | "batch_concurrency" if word.isdigit() and int(word):
                header[key] = int(word)
            case "lookback" if word.isdigit():
                if int(word):
                    header["settle"] = f"{word} days"
                    what = (
                        f"lookback {word} is `settle: {word} days` here: routine runs build such days again when a "
                        "source changed, where its sources can be watched (docs/late-data.md)"
                    )
                    remarks.append(Remark(model=model, place=f"{place}:{said.line}", what=what))
            case "partition_by_time_column" if word == "true":
                pass
            case "forward_only" | "disable_restatement" if word == "false":
                pass
            case _:
                why = "it is not on the list of what leaves the rows as they are"
                raise Untranslatable(f"`{plain(key)} {plain(word)}` of the kind", why=why, line=said.line)
    return header


def _time_column(kind: Mapping[str, Property], file: ModelFile) -> str:
    said = kind.get("time_column")
    if said is None:
        raise Untranslatable("the kind has no time column", line=file.line)
    within = inside(said.tokens)
    tokens = list(within if within is not None else said.tokens)
    if len(tokens) == 3 and tokens[1].text == "," and tokens[2].text == "%Y-%m-%d":
        tokens = tokens[:1]
    if len(tokens) != 1:
        why = "days are told by a DATE here; another format means a text or a number"
        raise Untranslatable("the time column's format", why=why, line=said.line)
    return tokens[0].text


def _start(properties: Mapping[str, Property], file: ModelFile, config: _Config) -> date:
    said = properties.get("start")
    text = said.text if said else config.defaults.get("start", "")
    line = said.line if said else file.line
    try:
        return date.fromisoformat(text.strip("'\""))
    except ValueError:
        why = f"it is {plain(text)!r}: a first day is needed" if text else "none is said"
        raise Untranslatable("`start`", why=why, fix="write it as '2024-01-01'", line=line) from None


def _ready(properties: Mapping[str, Property], file: ModelFile, config: _Config) -> dict[str, object]:
    said = properties.get("cron")
    text = (said.text if said else config.defaults.get("cron", "@daily")).strip("'\" ").lower()
    line = said.line if said else file.line
    if text in ("@daily", "@midnight"):
        return {}
    found = _DAILY.fullmatch(text)
    if found is None or int(found[1]) > 59 or int(found[2]) > 23:
        why = "known are @daily and once a day, as in '30 6 * * *'; intervals of others have another length"
        raise Untranslatable(f"the cron {plain(text)}", why=why, line=line)
    return {} if text == "0 0 * * *" else {"ready": text}


def _plain_days(properties: Mapping[str, Property]) -> None:
    """Refuse what makes other intervals than whole days of UTC."""
    for key, usual in (("interval_unit", "day"), ("allow_partials", "false"), ("cron_tz", "utc")):
        said = properties.get(key)
        if said is not None and said.text.strip("'\"").lower() != usual:
            raise Untranslatable(f"`{key} {plain(said.text)}`", why=f"known is {usual}", line=said.line)


def _plain_partitions(properties: Mapping[str, Property], time_column: str) -> None:
    """Refuse partitions that are not of days: SQLMesh replaces whole ones on Spark."""
    said = properties.get("partitioned_by")
    if said is None:
        return
    within = inside(said.tokens)
    parts = list(split(within if within is not None else said.tokens))
    if not any(len(p) == 1 and p[0].text.lower() == time_column.lower() for p in parts):
        why = "where partitions are replaced whole, others of the days in them are lost"
        fix = "partition by the time column itself, or leave it out"
        raise Untranslatable("`partitioned_by` without the time column", why=why, fix=fix, line=said.line)


def _grain(properties: Mapping[str, Property]) -> tuple[str, ...]:
    said = properties.get("grain") or properties.get("grains")
    if said is None:
        return ()
    within = inside(said.tokens)
    tokens = list(within if within is not None else said.tokens)
    if (again := inside(tokens)) is not None:
        tokens = list(again)
    names = [t.text for t in tokens if t.text != ","]
    if not names or not all(re.fullmatch(r"\w[\w ]*", n) for n in names) or len(tokens) != 2 * len(names) - 1:
        raise Untranslatable("the grain", why="known is one, of columns", line=said.line)
    return tuple(names)


def _without_twins(read: list[_Model], found: Translation) -> list[_Model]:
    names = [m.name.lower() for m in read]
    kept: list[_Model] = []
    for model in read:
        if names.count(model.name.lower()) > 1:
            at = f"{model.path}:{model.file.properties['name'].line}"
            what, why = f"the name {model.name}", "models have no schema here, and several end in this name"
            found.left.append(Left(model=model.written, place=at, what=what, why=why, fix="rename one of them"))
        else:
            kept.append(model)
    return kept


def _own_audits(root: Path) -> frozenset[str]:
    """The names that the project's own audits have."""
    found: set[str] = set()
    for path in sorted((root / "audits").rglob("*.sql")) if (root / "audits").is_dir() else ():
        text = read_text(path, []) if _within(path, root) else None
        found |= {m[1].lower() for m in re.finditer(r"\bname\s+['\"`]?(\w+)", text or "", re.IGNORECASE)}
    return frozenset(found)


def _translate_all(read: list[_Model], tables: dict[str, Table], own: frozenset[str], found: Translation) -> None:
    """Models after those that they read; what is left over is refused for its own reason."""
    pending, errors = list(read), dict[str, Untranslatable]()
    while pending:
        left: list[_Model] = []
        for model in pending:
            try:
                query = _translated(model, tables, own, found)
            except Untranslatable as error:
                errors[model.written] = error
                left.append(model)
            else:
                columns = {
                    n: Value(kind=v.kind, digits=v.digits, scale=v.scale, day=v.day) for n, v in query.columns.items()
                }
                tables[model.written.lower()] = Table(name=model.name, columns=columns)
        if len(left) == len(pending):
            break
        pending = left
    for model in pending:
        found.left.append(refused(errors[model.written], model.written, model.path))


def _translated(model: _Model, tables: Mapping[str, Table], own: frozenset[str], found: Translation) -> Query:
    query = translate(
        model.file.query, model.file.query_line, dialect=model.dialect, tables=tables, time_column=model.time_column,
        own=model.written,
    )  # fmt: skip
    grain = model.grain or query.key
    if not grain:
        fix = "write `grain (…)`: the columns that together tell one row from another"
        raise Untranslatable("the model has no grain", why="each model here has one", fix=fix, line=model.file.line)
    header = {**model.header, "grain": list(grain)}
    if query.time_column != "ds":
        header["time_column"] = query.time_column
    if model.audits is not None:
        header["audits"] = audits(model.audits, own, query.time_column)
    found.remarks += model.remarks
    if query.time_column != model.time_column:
        what = f"a column {query.time_column} is added: the day of {model.time_column}"
        found.remarks.append(Remark(model=model.written, place=f"{model.path}:{model.file.line}", what=what))
    found.models[model.name] = TranslatedModel(
        name=model.name,
        text=model_text(f"{model.path}:{model.file.line}", header, query.text),
        origin=f"{model.path}:{model.file.line}",
        reads=query.reads,
    )
    return query


def _within(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)
