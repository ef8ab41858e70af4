"""What does a dbt manifest say here? Incremental and microbatch models of days, from their raw code and its tests.

Only the manifest is read: no path in it is opened, no Jinja is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from backfill_assets.core.errors import SettingsError
from backfill_assets.files.validation import name_problem
from backfill_assets.importing.days import MACRO
from backfill_assets.importing.dbt_jinja import Raw, without_jinja
from backfill_assets.importing.dbt_tests import audit
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
from backfill_assets.importing.query import Query, Table, dialect_problem, no_macro_names, translate
from backfill_assets.importing.sqlmesh import spark_type
from backfill_assets.importing.values import of_type

Node = Mapping[str, object]
_LARGEST = 200 * 1024 * 1024
_VERSIONS = ("v10", "v11", "v12")
_HARMLESS = frozenset({
    "materialized", "incremental_strategy", "event_time", "batch_size", "lookback", "begin", "unique_key",
    "partition_by", "enabled", "schema", "database", "tags", "meta", "docs", "group", "access", "persist_docs",
    "file_format", "on_configuration_change", "concurrent_batches", "owner", "node_color", "packages", "freshness",
})  # fmt: skip
"""Configuration that is read, or that decides no row."""
_USUAL: Mapping[str, tuple[object, ...]] = {
    "on_schema_change": ("ignore", "fail"), "alias": (None,), "static_analysis": (None, "on"),
    "contract": ({"enforced": False, "alias_types": True}, {"enforced": False}),
}  # fmt: skip
_STRATEGIES = ("microbatch", "delete+insert", "insert_overwrite")
_OWN_MACROS = re.compile(
    r"(\w+__)?(ref|source|config|is_incremental|test_(not_null|unique|accepted_values|relationships)"
    r"|materialization_incremental_\w+|get_(incremental|delete_insert|insert_overwrite|merge)\w*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    nodes: Mapping[str, Node]
    sources: Mapping[str, Node]
    dialect: str
    tests: Mapping[str, Sequence[Node]]
    """Of the models, by their unique id."""


def read_dbt(file: Path, sources: Mapping[str, Mapping[str, str]]) -> Translation:
    """All of a manifest. `sources` are those that are declared here already, with Spark types of columns.

    Raises SettingsError when the file is no manifest that is known.
    """
    data = _load(file)
    found = Translation()
    manifest = _manifest(data, found)
    own = {
        name.lower(): Table(name=name, columns={c: of_type(t) for c, t in cs.items()}) for name, cs in sources.items()
    }
    tables = {key: own.get(t.name.lower(), t) for key, t in _sources(manifest, found).items()}
    for node in manifest.sources.values():  # a source without columns there may be declared here
        name = f"{node.get('source_name')}.{node.get('name')}".lower()
        if name in own:
            tables[str(node["unique_id"])] = own[name]
    problems = [*_project_problems(data, manifest)]
    found.left += problems
    models = [n for n in manifest.nodes.values() if n.get("resource_type") == "model"]
    for node in manifest.nodes.values():
        kind, name = node.get("resource_type"), str(node.get("name"))
        if kind in ("snapshot", "seed"):
            what, why = f"a {kind}", "a model here is a query over days"
            found.left.append(
                Left(model=plain(name), place=_place(node), what=what, why=why, fix="declare it as a source")
            )
        elif kind == "test" and not node.get("test_metadata"):
            what = f"the singular test {plain(name)}"
            found.left.append(Left(place=_place(node), what=what, fix="write it in audits/ (docs/audits.md)"))
        if name.lower() in own and kind in ("model", "seed", "snapshot"):
            tables[str(node["unique_id"])] = own[name.lower()]
    for word in ("exposures", "metrics", "semantic_models", "unit_tests", "saved_queries"):
        for node in _items(data.get(word)).values():
            fix = "write consumers.yml (docs/consumers.md)" if word == "exposures" else ""
            what = f"{word}: {plain(str(node.get('name')))}"
            found.left.append(Left(place=_place(node), what=what, why="it is not translated", fix=fix))
    for unique_id in _items(data.get("disabled")):
        found.remarks.append(
            Remark(model=plain(unique_id), place="manifest.json:1", what="disabled, so it is left out")
        )
    if problems:
        for node in models:
            what = "what the manifest says of all models is not translated"
            found.left.append(Left(model=plain(str(node.get("name"))), place=_place(node), what=what))
        return found
    _translate_all(_distinct(models, found), manifest, tables, found)
    used = {name for m in found.models.values() for name in m.reads}
    found.sources = {n: s for n, s in found.sources.items() if n in used and n.lower() not in own}
    return found


def _load(file: Path) -> Mapping[str, object]:
    def refuse(why: str) -> SettingsError:
        return SettingsError(f"{file} is no dbt manifest", why=why, fix="name target/manifest.json of `dbt parse`")

    try:
        if not file.is_file():
            raise refuse("there is no such file")
        if file.stat().st_size > _LARGEST:
            raise refuse(f"it has more than {_LARGEST:,} bytes")
        data = json.loads(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise refuse("it is not UTF-8") from None
    except RecursionError:
        raise refuse("it is nested too deeply") from None
    except ValueError as error:
        raise refuse(f"it is no JSON: {error}") from None
    except OSError as error:
        raise refuse(error.strerror or str(error)) from None
    metadata = data.get("metadata") if isinstance(data, dict) else None
    schema = str(metadata.get("dbt_schema_version")) if isinstance(metadata, dict) else ""
    if not any(schema.endswith(f"/manifest/{version}.json") for version in _VERSIONS):
        raise refuse(f"its schema is {plain(schema) or 'not said'}; known are {', '.join(_VERSIONS)}")
    return data


def _items(value: object) -> dict[str, Node]:
    """The nodes of a part of the manifest: those that are mappings."""
    if not isinstance(value, Mapping):
        return {}
    return {str(k): {**n, "unique_id": str(k)} for k, n in value.items() if isinstance(n, Mapping)}


def _manifest(data: Mapping[str, object], found: Translation) -> _Manifest:
    nodes, sources = _items(data.get("nodes")), _items(data.get("sources"))
    tests: dict[str, list[Node]] = {}
    for node in nodes.values():
        if node.get("resource_type") == "test" and node.get("test_metadata"):
            depends = _mapping(node.get("depends_on")).get("nodes")
            about = [str(d) for d in depends] if isinstance(depends, list) else []
            attached = [str(node["attached_node"])] if node.get("attached_node") else about
            for unique_id in attached:
                tests.setdefault(unique_id, []).append(node)
                if unique_id in sources:
                    what = f"the test {plain(str(node.get('name')))} of a source"
                    found.left.append(Left(place=_place(node), what=what, fix="see `key:` in docs/models.md"))
    metadata = _mapping(data.get("metadata"))
    return _Manifest(nodes=nodes, sources=sources, dialect=str(metadata.get("adapter_type") or ""), tests=tests)


def _project_problems(data: Mapping[str, object], manifest: _Manifest) -> Iterator[Left]:
    """What makes it unknown what any model says."""
    if problem := dialect_problem(manifest.dialect):
        yield Left(place="manifest.json:1", what=f"the adapter {plain(manifest.dialect) or '(none)'}", why=problem)
    for macro in _items(data.get("macros")).values():
        package = str(macro.get("package_name") or "")
        if package.startswith("dbt_") or package == "dbt":
            if package in ("dbt", f"dbt_{manifest.dialect}", "dbt_spark"):
                continue
            if package in ("dbt_utils", "dbt_expectations", "dbt_date"):
                continue
        if _OWN_MACROS.fullmatch(str(macro.get("name"))):
            what = f"the macro {plain(str(macro.get('name')))}"
            yield Left(place=_place(macro), what=what, why="the project changes by it what dbt's own words mean")


def _sources(manifest: _Manifest, found: Translation) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for unique_id, node in manifest.sources.items():
        name = f"{node.get('source_name')}.{node.get('name')}"
        said = _mapping(node.get("columns"))
        columns: dict[str, str] = {}
        for column in said.values():
            kind = _mapping(column).get("data_type")
            spark = spark_type(str(kind), manifest.dialect) if kind else None
            if spark is not None:
                columns[str(_mapping(column).get("name"))] = spark
        if len(columns) < len(said) or not columns:
            continue
        parts = [str(node.get(k)) for k in ("schema", "identifier")]
        place = ".".join(p if re.fullmatch(r"\w+", p) else f"`{p}`" for p in parts)
        tables[unique_id] = Table(name=name, columns={c: of_type(t) for c, t in columns.items()})
        description = plain(str(node.get("description") or ""))
        found.sources[name] = ReadSource(name=name, table=place, columns=columns, description=description)
        if _mapping(node.get("freshness")).get("error_after") and node.get("loaded_at_field"):
            what = "its freshness is not carried over: write `freshness: 36h`"
            found.remarks.append(Remark(model=plain(name), place=_place(node), what=what))
    return tables


def _distinct(models: list[Node], found: Translation) -> list[Node]:
    names = [str(n.get("name")).lower() for n in models]
    kept: list[Node] = []
    for node in models:
        name = str(node.get("name"))
        if names.count(name.lower()) > 1 or name_problem(name):
            why = name_problem(name) or "several models are called so; there are no packages and versions here"
            found.left.append(Left(model=plain(name), place=_place(node), what=f"the name {plain(name)}", why=why))
        else:
            kept.append(node)
    return kept


def _translate_all(models: list[Node], manifest: _Manifest, tables: dict[str, Table], found: Translation) -> None:
    pending, errors = list(models), dict[str, Untranslatable]()
    while pending:
        left: list[Node] = []
        for node in pending:
            unique_id = str(node["unique_id"])
            try:
                query = _translated(node, manifest, tables, found)
            except Untranslatable as error:
                errors[unique_id] = error
                left.append(node)
            else:
                tables[unique_id] = Table(name=str(node.get("name")), columns=query.columns)
        if len(left) == len(pending):
            break
        pending = left
    for node in pending:
        where = plain(str(node.get("original_file_path") or "manifest.json"))
        found.left.append(refused(errors[str(node["unique_id"])], plain(str(node.get("name"))), where))


def _translated(node: Node, manifest: _Manifest, tables: Mapping[str, Table], found: Translation) -> Query:
    config = _mapping(node.get("config"))
    name, line = str(node.get("name")), _config_line(node)
    strategy = _strategy(node, config, line)
    raw, inputs = _raw(node, manifest, tables, strategy)
    wanted = _time_column(config, strategy, line)
    query = _dated(raw, inputs, manifest.dialect, wanted, guess=strategy != "microbatch")
    if strategy == "microbatch" and config.get("begin") is None:
        raise Untranslatable("`begin` is not said", line=line)
    entries: list[Mapping[str, object]] = []
    unique: list[tuple[str, ...]] = []
    for test in manifest.tests.get(str(node["unique_id"]), ()):
        where = plain(str(test.get("original_file_path") or "manifest.json"))
        try:
            entries.append(audit(test, _relation(test, node, tables)))
        except Untranslatable as error:
            raise Untranslatable(error.what, why=error.why, fix=error.fix, file=where) from None
        if "unique" in entries[-1]:
            unique.append((str(_mapping(entries[-1]["unique"])["columns"][0]),))  # pyright: ignore
    key = _unique_key(config)
    grain = query.key or (unique[0] if unique else ()) or (key if len(key) > 1 else ())
    if not grain:
        fix = "add a `unique` test of the key column, or a unique_key of several columns"
        raise Untranslatable(
            "what tells one row from another is not said", why="each model has a grain", fix=fix, line=line
        )
    header: dict[str, object] = {}
    if text := plain(str(node.get("description") or "")):
        header["description"] = text
    header |= {"start": _start(node, config, line), "grain": list(grain)}
    if query.time_column != "ds":
        header["time_column"] = query.time_column
    remarks = [*_lookback(config, strategy, header)]
    if entries:
        header["audits"] = entries
    if raw.incremental:
        remarks.append(
            f"is_incremental() of line {raw.incremental[0]} is not carried over: a day has all of its rows, as after a "
            "full refresh"
        )
    if query.time_column != wanted:
        remarks.append(f"a column {query.time_column} is added: the day of {wanted}")
    origin = f"{plain(str(node.get('original_file_path') or 'manifest.json'))}:{line}"
    found.remarks += [Remark(model=name, place=origin, what=what) for what in remarks]
    text = model_text(origin, header, query.text)
    found.models[name] = TranslatedModel(name=name, text=text, origin=origin, reads=query.reads)
    return query


def _strategy(node: Node, config: Mapping[str, object], line: int) -> str:
    """The incremental strategy. Raises Untranslatable for all configuration that is not known."""
    kind = config.get("materialized")
    if kind != "incremental":
        why = "a model here has rows of days: it is built, audited and restated by them"
        fix = "declare its table as a source in sources.yml, or make it incremental by a date column"
        raise Untranslatable(f"materialized: {plain(str(kind))}", why=why, fix=fix, line=line)
    if node.get("language") not in (None, "sql"):
        raise Untranslatable("a Python model", why="another tool's code is not executed", line=line)
    if node.get("version") is not None or node.get("constraints"):
        raise Untranslatable("versions and constraints of a model", line=line)
    for column in _mapping(node.get("columns")).values():
        if _mapping(column).get("constraints"):
            raise Untranslatable("constraints of a column", line=line)
    for key, value in config.items():
        if key in _HARMLESS or value in _USUAL.get(key, (None, [], {}, "")):
            continue
        what = f"`{plain(key)}: {plain(str(value))}`"
        raise Untranslatable(what, why="it is not on the list of what leaves the rows as they are", line=line)
    strategy = config.get("incremental_strategy")
    if strategy not in _STRATEGIES:
        why = f"known are {', '.join(_STRATEGIES)}, which replace whole days; others leave or keep old rows"
        raise Untranslatable(f"incremental_strategy: {plain(str(strategy))}", why=why, line=line)
    if strategy == "microbatch" and config.get("batch_size") != "day":
        what = f"batch_size: {plain(str(config.get('batch_size')))}"
        raise Untranslatable(what, why="known are batches of a day", line=line)
    return str(strategy)


def _time_column(config: Mapping[str, object], strategy: str, line: int) -> str:
    """The column by whose values dbt replaces rows."""
    if strategy == "microbatch":
        wanted, what = [config.get("event_time")], "event_time"
        said = config.get("partition_by")
        if said and (said if isinstance(said, list) else [said]) != wanted:
            why = "where partitions are replaced whole, others of the days in them are lost"
            raise Untranslatable(f"`partition_by: {plain(str(said))}`", why=why, line=line)
    elif strategy == "insert_overwrite":
        said = config.get("partition_by")
        wanted, what = said if isinstance(said, list) else [said], "partition_by"
    else:
        # Of a longer key, the day is the column that config meta names nowhere: only the day alone is known.
        wanted, what = list(_unique_key(config)), "unique_key"
        event = config.get("event_time")
        if event in wanted:
            wanted = [event]
    if len(wanted) != 1 or not isinstance(wanted[0], str) or not re.fullmatch(r"\w+", wanted[0]):
        why = "the column is needed by whose days rows are replaced"
        fix = "with delete+insert, let event_time name the day's column of unique_key" if what == "unique_key" else ""
        raise Untranslatable(f"`{what}: {plain(str(config.get(what)))}`", why=why, fix=fix, line=line)
    return wanted[0]


def _unique_key(config: Mapping[str, object]) -> tuple[str, ...]:
    said = config.get("unique_key")
    items = said if isinstance(said, list) else [said] if said else []
    return tuple(str(i) for i in items)


def _raw(node: Node, manifest: _Manifest, tables: Mapping[str, Table], strategy: str) -> tuple[Raw, dict[str, Table]]:
    """The code without Jinja, and the tables that it reads, by the name in it."""
    code = str(node.get("raw_code") or "")
    no_macro_names(code, 1)
    depends = _mapping(node.get("depends_on")).get("nodes")
    known = [str(d) for d in depends] if isinstance(depends, list) else []
    inputs: dict[str, Table] = {}

    def resolve(kind: str, arguments: tuple[str, ...], line: int) -> str:
        said = f"{kind}({', '.join(arguments)})"
        every = {**manifest.nodes, **manifest.sources}
        found = [d for d in known if d in every and _is(every[d], kind, arguments)]
        if len(found) != 1:
            raise Untranslatable(said, why="the manifest does not say what it is", line=line)
        [unique_id] = found
        table = tables.get(unique_id)
        if table is None:
            fix = "declare it in sources.yml with its columns, and import again"
            raise Untranslatable(said, why="it is not translated, or its columns are not known", fix=fix, line=line)
        event = _mapping(every[unique_id].get("config")).get("event_time") or every[unique_id].get("event_time")
        if strategy == "microbatch":
            table = _cut(table, str(event or "").lower(), said, line)
        # dbt writes the relation's identifier: columns may be qualified by it
        alias = str(every[unique_id].get("alias") or every[unique_id].get("identifier") or every[unique_id].get("name"))
        if not re.fullmatch(r"\w+", alias):
            raise Untranslatable(said, why=f"its table is called {plain(alias)}", line=line)
        written = f"dbt_{known.index(unique_id)}.{alias}"
        inputs[written.lower()] = table
        return written

    raw = without_jinja(code, resolve)
    if re.search(rf"\b{MACRO}", raw.text):
        raise Untranslatable(f"`{MACRO}` in a name")
    return raw, inputs


def _cut(table: Table, event: str, said: str, line: int) -> Table:
    """An input as a microbatch reads it: cut to the batch by its own event_time, or whole when it has none."""
    columns = {name.lower(): value for name, value in table.columns.items()}
    dated = {name for name, value in columns.items() if value.day}
    if not event:
        if dated:
            why = "it has no event_time: dbt reads all of its rows in each batch, and here it is read by its days"
            raise Untranslatable(said, why=why, fix="give it an event_time", line=line)
        return table
    if event not in columns or columns[event].kind not in ("date", "timestamp") or (dated and event not in dated):
        why = f"its event_time, {plain(event)}, is not known to be the day of its rows"
        raise Untranslatable(said, why=why, line=line)
    return Table(name=table.name, columns={c: replace(v, day=v.day or c == event) for c, v in columns.items()})


def _is(node: Node, kind: str, arguments: tuple[str, ...]) -> bool:
    if kind == "source":
        return node.get("resource_type") == "source" and (node.get("source_name"), node.get("name")) == arguments
    package = arguments[0] if len(arguments) == 2 else node.get("package_name")
    right = node.get("name") == arguments[-1] and node.get("package_name") == package
    return right and node.get("resource_type") in ("model", "seed", "snapshot")


def _dated(raw: Raw, inputs: Mapping[str, Table], dialect: str, wanted: str, *, guess: bool) -> Query:
    """The query with a proof that its rows are of days: by the inputs' own days, or (`guess`) by a column of one."""
    tries: list[dict[str, Table]] = [dict(inputs)]
    undated = {t.name for t in inputs.values() if not any(v.day for v in t.columns.values())}
    for name in sorted(undated) if guess else ():
        table = next(t for t in inputs.values() if t.name == name)
        for column, value in table.columns.items():
            if value.kind in ("date", "timestamp"):
                marked = Table(name=name, columns={**table.columns, column: replace(value, day=True)})
                tries.append({k: marked if t.name == name else t for k, t in inputs.items()})
    first: Untranslatable | None = None
    for tables in tries[:200]:
        try:
            return translate(raw.text, 1, dialect=dialect, tables=tables, time_column=wanted, own="")
        except Untranslatable as error:
            first = error
    assert first is not None
    raise first


def _relation(test: Node, node: Node, tables: Mapping[str, Table]) -> str:
    """The name here of the other table that a test looks at; empty when it has none."""
    depends = _mapping(test.get("depends_on")).get("nodes")
    others = [str(d) for d in depends if d != node["unique_id"]] if isinstance(depends, list) else []
    return tables[others[0]].name if len(others) == 1 and others[0] in tables else ""


def _start(node: Node, config: Mapping[str, object], line: int) -> date:
    meta = _mapping(config.get("meta"))
    text = str(config.get("begin") or meta.get("start") or "")
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)([T ]00:00:00(\+00:00|Z)?)?", text)
    try:
        return date.fromisoformat(found[1] if found else "")
    except ValueError:
        why = f"it is {plain(text)!r}" if text else "dbt does not say it of other strategies than microbatch"
        fix = "write the first day as `begin: 2024-01-01`, or as `start` in config's meta"
        raise Untranslatable("the first day", why=why, fix=fix, line=line) from None


def _lookback(config: Mapping[str, object], strategy: str, header: dict[str, object]) -> Iterator[str]:
    if strategy != "microbatch":
        return
    said = config.get("lookback", 1)
    days = said if isinstance(said, int) and not isinstance(said, bool) else 1
    if days > 0:
        header["settle"] = f"{days} days"
        yield (
            f"lookback {days} is `settle: {days} days`: routine runs build such days again when a source "
            "changed, where its sources can be watched (docs/late-data.md)"
        )


def _config_line(node: Node) -> int:
    code = str(node.get("raw_code") or "")
    return code.count("\n", 0, max(code.find("config("), 0)) + 1


def _place(node: Node) -> str:
    return f"{plain(str(node.get('original_file_path') or 'manifest.json'))}:1"


def _mapping(value: object) -> Mapping[str, object]:
    return {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {}
