"""What does a model of a manifest say: how it is built, its code, its header, its tests; and what has to be checked?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import cast

from backfill_assets.importing.dbt_jinja import Raw, without_jinja
from backfill_assets.importing.dbt_manifest import (
    PROJECT_FILE,
    DbtManifest,
    Node,
    declared_columns,
    depends_on,
    file_of,
    mapping,
    table_of,
)
from backfill_assets.importing.dbt_tests import audit
from backfill_assets.importing.foreign import Entry, Foreign, ForeignKind
from backfill_assets.importing.found import Remark, ToCheck, Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.importing.query import no_macro_names
from backfill_assets.importing.settle import LONGEST, TOO_LONG, settle
from backfill_assets.importing.types import spark_type

_KINDS = {
    "incremental": ForeignKind.FILTERED,
    "table": ForeignKind.TABLE,
    "view": ForeignKind.VIEW,
    "ephemeral": ForeignKind.PART,
}
_BATCHES = {"hour": "hourly", "day": "daily", "month": "monthly"}
_LENGTHS = {"hour": timedelta(hours=1), "month": timedelta(days=31), "year": timedelta(days=366)}
"""How long a batch is at most, where it is no day."""
_MERGING = ("snowflake", "bigquery", "databricks")
"""Adapters that merge where no strategy is said."""
_HARMLESS = frozenset({
    "materialized", "incremental_strategy", "event_time", "batch_size", "lookback", "begin", "unique_key",
    "partition_by", "enabled", "schema", "database", "tags", "meta", "docs", "group", "access", "persist_docs",
    "file_format", "on_configuration_change", "concurrent_batches", "owner", "node_color", "packages", "freshness",
    "cluster_by", "labels", "grants", "indexes", "unlogged", "transient", "dist", "sort", "table_format",
})  # fmt: skip
"""Configuration that is read, or that decides no row."""
_USUAL: Mapping[str, tuple[object, ...]] = {
    "on_schema_change": ("ignore", "fail"), "alias": (None,), "static_analysis": (None, "on"),
    "contract": ({"enforced": False, "alias_types": True}, {"enforced": False}),
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class _Reading:
    node: Node
    manifest: DbtManifest
    line: int
    checks: list[ToCheck] = field(default_factory=list[ToCheck])
    remarks: list[Remark] = field(default_factory=list[Remark])

    @property
    def name(self) -> str:
        return str(self.node.get("name"))

    def check(self, line: int, what: str, why: str = "") -> None:
        at = f"{file_of(self.node)}:{line}"
        self.checks.append(ToCheck(model=plain(self.name), place=at, what=plain(what), why=plain(why)))

    def remark(self, what: str) -> None:
        at = f"{file_of(self.node)}:{self.line}"
        self.remarks.append(Remark(model=plain(self.name), place=at, what=plain(what)))


def written_name(unique_id: str, node: Node) -> str:
    """How the code of a model names what it reads, once its Jinja is gone: two nodes never share it, and columns may
    be qualified by its last part, as by the table's."""
    alias = str(node.get("alias") or node.get("identifier") or node.get("name"))
    return f"dbt__{re.sub(r'[^a-z0-9]', '_', unique_id.lower())}.{re.sub(r'[^A-Za-z0-9_]', '_', alias)}"


def dbt_model(node: Node, manifest: DbtManifest, names: Mapping[str, str]) -> Foreign:
    """The model. `names` are those that sources and models have here, by unique id."""
    config = mapping(node.get("config"))
    reading = _Reading(node=node, manifest=manifest, line=_config_line(node))
    unique_id, name = str(node["unique_id"]), str(node.get("name"))
    kind, cadence = _kind(reading, config)
    problem = _refusal(node, config, reading.line)
    raw, cut = Raw(text=""), dict[str, str]()
    if problem is None:
        try:
            raw, cut = _code(reading, kind, config)
        except Untranslatable as error:
            problem = error
    time_column = _time_column(config, raw, kind)
    _filters(reading, config, raw, kind, time_column)
    key = _unique_key(config)
    by_key = key if kind is ForeignKind.FILTERED and time_column not in {k.lower() for k in key} else ()
    audits, unique = _audits(reading, names)
    header = _header(reading, config)
    described = {c: str(said.get("description") or "") for c, said in declared_columns(node).items()}
    return Foreign(
        key=written_name(unique_id, node).lower(), said=plain(name), name=names.get(unique_id, name),
        file=file_of(node), line=reading.line, kind=kind, dialect=manifest.dialect, query=raw.text, query_line=1,
        time_column=time_column, start=_start(reading, config), cadence=cadence, header=header,
        run="" if kind is ForeignKind.INTERVALS and str(config.get("batch_size")) not in _BATCHES else cadence,
        grain=() if by_key else unique or (key if len(key) > 1 else ()), by_key=by_key,
        guessed=bool(key) and not _merges(config, manifest.adapter), audits=audits, cut=cut,
        table=table_of(node),
        columns=_types(node, manifest.dialect), described=described, checks=tuple(reading.checks),
        remarks=tuple(reading.remarks), problem=problem,
    )  # fmt: skip


def _kind(reading: _Reading, config: Mapping[str, object]) -> tuple[ForeignKind, str]:
    kind = _KINDS.get(str(config.get("materialized")), ForeignKind.TABLE)
    if kind is not ForeignKind.FILTERED or config.get("incremental_strategy") != "microbatch":
        return kind, "daily"
    size = str(config.get("batch_size"))
    if size not in _BATCHES:
        reading.check(reading.line, f"batch_size: {size}", "intervals here are hours, days, weeks or months")
    return ForeignKind.INTERVALS, _BATCHES.get(size, "monthly" if size == "year" else "daily")


def _refusal(node: Node, config: Mapping[str, object], line: int) -> Untranslatable | None:
    if node.get("language") not in (None, "sql"):
        fix = "write it as a model here (`backfill docs python-models`)"
        return Untranslatable("a Python model", why="another tool's code is not executed", fix=fix, line=line)
    if node.get("resource_type") != "model" or str(config.get("materialized")) not in _KINDS:
        what = f"a {plain(str(node.get('resource_type')))}"
        if node.get("resource_type") == "model":
            what = f"materialized: {plain(str(config.get('materialized')))}"
        fix = "go on writing its table there, and read it as a source"
        return Untranslatable(what, why="no model here is like it", fix=fix, line=line)
    return None


def _code(reading: _Reading, kind: ForeignKind, config: Mapping[str, object]) -> tuple[Raw, dict[str, str]]:
    """The code without Jinja, and the inputs that a microbatch cuts, by the names in it. Raises Untranslatable."""
    node, every, said = reading.node, reading.manifest.every, reading.manifest.variables_of(reading.node)
    code = str(node.get("raw_code") or "")
    no_macro_names(code, 1)
    known = [d for d in depends_on(node) if d in every]
    cut: dict[str, str] = {}

    def resolve(said: str, arguments: tuple[str, ...], line: int) -> str:
        found = [d for d in known if _is(every[d], said, arguments, node)]
        if len(found) != 1:
            what = f"{said}({', '.join(arguments)})"
            raise Untranslatable(what, why="the manifest does not say what it is", line=line)
        written = written_name(found[0], every[found[0]])
        event = mapping(every[found[0]].get("config")).get("event_time") or every[found[0]].get("event_time")
        if kind is ForeignKind.INTERVALS and isinstance(event, str):
            cut[written.lower()] = event
        return written

    try:
        raw = without_jinja(code, resolve, said)
    except Untranslatable as error:
        compiled = str(node.get("compiled_code") or "")
        own = str(node.get("relation_name") or "\0")
        if not compiled or own in compiled:
            raise
        why = f"{error.what}: its lines are those of the manifest's compiled_code, with macros as they were then"
        reading.check(error.line, "the compiled code is translated", why)
        raw = Raw(text=_compiled(compiled, reading, cut, kind))
    if kind is ForeignKind.INTERVALS and config.get("begin") is None:
        reading.check(reading.line, "`begin` is not said")
    if kind is ForeignKind.INTERVALS and not cut:
        why = "no input has an `event_time`: dbt reads all of them in each batch; here rows are cut by the output's"
        reading.check(reading.line, f"event_time: {config.get('event_time')}", why)
    for line, name, what in raw.filled:
        why = "the manifest does not say what `vars:` has: the default is written"
        if name in said:
            why = f"as {PROJECT_FILE} says: what a run was told by `--vars` is not known"
        reading.check(line, what, why)
    return raw, cut


def _compiled(code: str, reading: _Reading, cut: dict[str, str], kind: ForeignKind) -> str:
    """The compiled code with the names that raw code has: relations become `written_name`."""
    every = reading.manifest.every
    code = re.sub(r"\b__dbt__cte__(\w+)", r"__dbt__cte__\1", code)
    for unique_id in sorted(
        (d for d in depends_on(reading.node) if d in every),
        key=lambda d: -len(str(every[d].get("relation_name") or "")),
    ):
        node = every[unique_id]
        relation = str(node.get("relation_name") or "")
        if not relation:
            continue
        written = written_name(unique_id, node)
        code = code.replace(relation, written)
        event = mapping(node.get("config")).get("event_time")
        if kind is ForeignKind.INTERVALS and isinstance(event, str):
            cut[written.lower()] = event
    return code


def _is(node: Node, kind: str, arguments: tuple[str, ...], reader: Node) -> bool:
    if kind == "source":
        return node.get("resource_type") == "source" and (node.get("source_name"), node.get("name")) == arguments
    package = arguments[0] if len(arguments) == 2 else None
    right = node.get("name") == arguments[-1] and package in (None, node.get("package_name"))
    return right and node.get("resource_type") in ("model", "seed", "snapshot")


def _time_column(config: Mapping[str, object], raw: Raw, kind: ForeignKind) -> str:
    """The column by whose values rows are of intervals; empty when nothing says it."""
    meta = mapping(config.get("meta"))
    partition = config.get("partition_by")
    said = mapping(partition).get("field") if isinstance(partition, Mapping) else partition
    first = said[0] if isinstance(said, list) and len(said) == 1 else said
    key = [k for k in _unique_key(config) if re.search(r"(^|_)(date|day|ds|dt)$", k.lower())]
    plain_partition = (
        first if kind is ForeignKind.FILTERED and config.get("incremental_strategy") == "insert_overwrite" else None
    )
    choices = (
        config.get("event_time"), meta.get("time_column"), plain_partition, raw.filtered, first,
        key[0] if kind is ForeignKind.FILTERED and len(key) == 1 else None,
    )  # fmt: skip
    return next((c.lower() for c in choices if isinstance(c, str) and re.fullmatch(r"\w+", c)), "")


def _filters(reading: _Reading, config: Mapping[str, object], raw: Raw, kind: ForeignKind, time_column: str) -> None:
    """Note what a day has here that dbt's own run may not have given it."""
    strategy = config.get("incremental_strategy")
    for line in raw.incremental:
        if line in raw.unusual:
            why = (
                "it is more than the rows after the newest one: a day has all of its rows here, as after a full refresh"
            )
            reading.check(line, "what is_incremental() adds is not carried over", why)
        else:
            why = "a day has all of its rows, as after a full refresh"
            reading.remark(f"is_incremental() of line {line} is not carried over: {why}")
    key = _unique_key(config)
    said = config.get("partition_by")
    by_day = (strategy == "delete+insert" and time_column in key) or (strategy == "insert_overwrite" and bool(said))
    if kind is ForeignKind.FILTERED and not by_day:
        why = "there rows of earlier runs stay where no new one has their key; here a day is replaced whole"
        if strategy == "insert_overwrite":
            why = "without `partition_by` a run there replaces all of the table by its rows; here a day is replaced"
        reading.check(reading.line, f"incremental_strategy: {strategy or 'the default'}", why)
    if said and kind in (ForeignKind.FILTERED, ForeignKind.INTERVALS) and said not in (time_column, [time_column]):
        why = "where partitions are replaced whole, others of the days in them are lost there"
        reading.check(reading.line, f"partition_by: {str(said)[:80]}", why)
    for key, value in config.items():
        if key not in _HARMLESS and not (value in _USUAL[key] if key in _USUAL else _empty(value)):
            reading.check(reading.line, f"`{key}: {str(value)[:80]}`", "it is not carried over")


def _empty(value: object) -> bool:
    """Whether it says nothing: dbt writes out the settings that nobody made."""
    if isinstance(value, dict):
        return all(_empty(each) for each in cast("dict[str, object]", value).values())
    return value in (None, [], "")


def _unique_key(config: Mapping[str, object]) -> tuple[str, ...]:
    said = config.get("unique_key")
    found = said if isinstance(said, list) else [said] if said else []
    return tuple(dict.fromkeys(str(i).strip() for i in found if re.fullmatch(r"\w+", str(i).strip())))


def _merges(config: Mapping[str, object], adapter: str) -> bool:
    """Whether rows are merged by `unique_key`, which makes it unique; else rows with its values are deleted first."""
    strategy = config.get("incremental_strategy")
    return strategy == "merge" or (strategy is None and adapter in _MERGING)


def _audits(reading: _Reading, names: Mapping[str, str]) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The audits, and the columns that a test says to be unique."""
    node, found = reading.node, list[Entry]()
    unique: tuple[str, ...] = ()
    for test in reading.manifest.tests.get(str(node["unique_id"]), ()):
        others = [d for d in depends_on(test) if d != node["unique_id"]]
        relation = names.get(others[0], "") if len(others) == 1 else ""
        try:
            found.append(audit(test, relation, reading.manifest.dialect))
        except Untranslatable as error:
            what = f"{error.what} is not carried over"
            reading.checks.append(
                ToCheck(model=plain(reading.name), place=f"{file_of(test)}:1", what=plain(what), why=plain(error.why))
            )
        else:
            said = mapping(found[-1].get("unique"))
            columns = said.get("columns")
            plain_where = str(said.get("where", "")).count(" AND ") == 0
            if isinstance(columns, list) and not unique and plain_where:
                unique = tuple(str(c) for c in columns)
    found += _constraints(reading)
    if not unique:
        keys = node.get("primary_key")
        unique = tuple(str(k) for k in keys) if isinstance(keys, list) else ()
    return tuple(found), unique


def _constraints(reading: _Reading) -> Iterator[Entry]:
    """A contract's constraints: audits, since they are checked here before rows are shown."""
    node = reading.node
    own = node.get("constraints")
    said = [(None, mapping(c)) for c in own] if isinstance(own, list) else []
    for column, declared in declared_columns(node).items():
        of_column = declared.get("constraints")
        said += [(column, mapping(c)) for c in of_column] if isinstance(of_column, list) else []
    for column, constraint in said:
        kind = str(constraint.get("type"))
        many = constraint.get("columns")
        columns = [column] if column else [str(c) for c in many] if isinstance(many, list) else []
        if kind in ("not_null", "primary_key") and columns:
            yield {"not_null": {"columns": columns}}
        if kind in ("unique", "primary_key") and columns:
            yield {"unique": {"columns": columns}}
        if kind not in ("not_null", "primary_key", "unique"):
            what = f"the constraint {kind} is not carried over"
            reading.check(reading.line, what, "write it as an audit (`backfill docs audits`)")


def _header(reading: _Reading, config: Mapping[str, object]) -> dict[str, object]:
    node, header = reading.node, dict[str, object]()
    if text := plain(str(node.get("description") or "")):
        header["description"] = text
    meta = mapping(config.get("meta"))
    owner = meta.get("owner") or mapping(node.get("meta")).get("owner") or _group_owner(reading)
    if isinstance(owner, str) and owner:
        header["owner"] = plain(owner)
    if config.get("incremental_strategy") == "microbatch":
        said = config.get("lookback", 1)
        number = said if isinstance(said, int) and not isinstance(said, bool) else 1
        if number > 0:
            one = _LENGTHS.get(str(config.get("batch_size")), timedelta(days=1))
            if number > LONGEST // one:
                reading.check(reading.line, f"lookback {number}", TOO_LONG)
                return header
            header["settle"] = written = settle(number * one)
            what = f"lookback {number} is `settle: {written}`: such intervals are built again when a source changed"
            reading.remark(what)
    return header


def _group_owner(reading: _Reading) -> str:
    group = reading.node.get("group")
    for said in mapping(reading.manifest.data.get("groups")).values():
        if mapping(said).get("name") == group and group:
            owner = mapping(mapping(said).get("owner"))
            return str(owner.get("email") or owner.get("name") or "")
    return ""


def _start(reading: _Reading, config: Mapping[str, object]) -> date | None:
    meta = mapping(config.get("meta"))
    text = str(config.get("begin") or meta.get("start") or "")
    if not text:
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        reading.check(reading.line, f"the first day {text}", "it is no date")
        return None


def _types(node: Node, dialect: str) -> dict[str, str]:
    """The columns of a node, when it declares the types of all of them."""
    found: dict[str, str] = {}
    for name, said in declared_columns(node).items():
        kind = spark_type(str(said.get("data_type")), dialect) if said.get("data_type") else None
        if kind is None:
            return {}
        found[name] = kind
    return found


def _config_line(node: Node) -> int:
    code = str(node.get("raw_code") or "")
    return code.count("\n", 0, max(code.find("config("), 0)) + 1
