"""What does a version's table look like? Its full schema before the first row, partitioned by the interval column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.control_delta import KEEP_FOR_EVER
from backfill_assets.adapters.durable import sync_commits
from backfill_assets.adapters.table_log import open_table
from backfill_assets.audits.reads import columns as audit_columns
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.model import Model
from backfill_assets.project.object_store import delta_options
from backfill_assets.sql.text import within
from backfill_assets.sql.types import in_yaml, same_type

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql.types import DataType, StructType

PROPERTIES = {
    **KEEP_FOR_EVER,  # a pinned commit must stay readable for as long as anything points at it
    "delta.enableDeletionVectors": "false",  # every reader can read it
    "delta.checkpointInterval": "50",
}

_OF_SPARK = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""What Delta calls otherwise than Spark."""


def create_version_table(
    job: Job, schema: StructType, location: str, *, promised: bool = False
) -> tuple[tuple[str, str], ...]:
    """Create the table unless it exists; returns its columns as (name, Spark type). `promised`: it is the first of its
    version, and has to have the types that the header declares.

    Raises BuildError when the schema lacks the time column or the grain, when a type is not the declared one or cannot
    be stored, or when the table exists with another schema (an input's types changed since).
    """
    _check(job.model, schema)
    columns = tuple((f.name, f.dataType.simpleString()) for f in schema.fields)
    table = open_table(location)
    if table is None:
        if promised:
            _check_promised(job.model, schema)
        from deltalake import DeltaTable, Schema
        from deltalake.exceptions import DeltaError

        try:
            DeltaTable.create(
                location,
                schema=Schema.from_json(json.dumps(_as_delta(job.model, schema))),
                mode="ignore",
                partition_by=[_spelled(schema, job.model.time_column)],
                configuration=PROPERTIES,
                description=job.model.description or None,
                name=job.model.name,
                storage_options=delta_options(location),
            )
        except DeltaError as error:
            table = open_table(location)  # another run created it at the same moment
            if table is None:
                raise BuildError(
                    f"cannot create the table of {job.model.name}", why=str(error), fix=f"check {location}"
                ) from None
        table = table or open_table(location)
        sync_commits(location, [0])
    assert table is not None
    _refuse_others(job, schema, table)
    return columns


def check_columns(job: Job, schema: StructType, location: str, interval: Interval) -> None:
    """Raise BuildError where what is computed for an interval has other columns than the version's table.

    A column less would be NULL in these rows, and nothing else would tell.
    """
    table = open_table(location)
    if table is None:
        raise BuildError(f"the table of {job.model.name} is gone", why=location, fix="run it again")
    _refuse_others(job, schema, table, interval)


def _refuse_others(job: Job, schema: StructType, table: DeltaTable, interval: Interval | None = None) -> None:
    model = job.model
    there = {f["name"].lower(): f["type"] for f in json.loads(table.schema().to_json())["fields"]}
    mine = {f["name"].lower(): f["type"] for f in _as_delta(model, schema)["fields"]}
    if there == mine:
        return
    others = [_types(c, mine[c], there[c]) for c in sorted(set(mine) & set(there)) if mine[c] != there[c]]
    differ = sorted(set(there) ^ set(mine)) or others
    why = "something that it reads has other columns, or of other types, than when the version was made"
    fix = (
        "see `backfill plan`: with the source's columns declared in sources.yml as they are now it is a new "
        "version, to be applied and promoted; declared as they were then, this one goes on"
    )
    if model.language == "python":
        why += '; or columns follow from the values that are read, as by `.pivot("shop")`, or from the interval'
        fix += '; where they follow from values, name these in the code, as in `.pivot("shop", ["a", "b"])`, and cast: '
        fix += "that is a new version whose columns stay the same"
    of = f" for {interval}" if interval else ""
    raise BuildError(
        f"{model.name} computes other columns{of} than its version {job.version} has: {', '.join(differ)}",
        why=why,
        fix=fix,
    )


def _types(name: str, mine: object, there: object) -> str:
    """A column of another type, with both where they are short."""
    if isinstance(mine, str) and isinstance(there, str):
        return f"{name} ({_OF_SPARK.get(mine, mine)}, not {_OF_SPARK.get(there, there)})"
    return name


def in_interval(model: Model, *parts: Interval) -> str:
    """The SQL condition for the model's rows of an interval, or of any of several, with literals."""
    return within(model.time_column, parts, timestamps=model.cadence is Cadence.HOURLY)


def _check(model: Model, schema: StructType) -> None:
    fields = {f.name.lower(): f for f in schema.fields}
    if len(fields) < len(schema.fields):
        names = [f.name.lower() for f in schema.fields]
        raise BuildError(
            f"{model.name} has two columns named {next(n for n in names if names.count(n) > 1)}",
            fix="give each output column a name of its own",
        )
    wanted = {column: "audits" for audit in model.audits for column in audit_columns(audit)}
    wanted |= {c.name: "columns" for c in model.columns}
    wanted |= dict.fromkeys(model.grain, "grain") | {model.time_column: "time_column"}
    for name, said in wanted.items():
        if name.lower() not in fields:
            raise BuildError(
                f"{model.name} has no column {name}",
                why=f"`{said}` names it, the output has: {', '.join(f.name for f in schema.fields)}",
                fix=f"correct `{said}` in {model.path}, or select the column",
            )
    for field in schema.fields:
        inside = {each.typeName() for each in _leaves(field.dataType)}
        if "void" in inside:
            whole = field.dataType.simpleString()
            raise BuildError(
                f"column {field.name} of {model.name} has no type",
                why="it is always NULL" if whole == "void" else f"it is {whole}: what is void there is always NULL",
                fix="cast it: CAST(NULL AS STRING)"
                if whole == "void"
                else "cast it, as in CAST(array() AS ARRAY<STRING>)",
            )
        if any(getattr(each, "collation", _NO_COLLATION) != _NO_COLLATION for each in _leaves(field.dataType)):
            raise BuildError(
                f"column {field.name} of {model.name} is {field.dataType.simpleString()}",
                why="a Delta table holds no collations",
                fix=f"compare and group by it, and give CAST(… AS STRING) AS {field.name}",
            )
        if inside & _INTERVALS:
            raise BuildError(
                f"column {field.name} of {model.name} is {field.dataType.simpleString()}",
                why="a Delta table holds no intervals of time",
                fix="make it a number, as by timestampdiff(SECOND, begins, ends), or a text: CAST(… AS STRING)",
            )
    want = "timestamp" if model.cadence is Cadence.HOURLY else "date"
    have = fields[model.time_column.lower()].dataType.simpleString()
    if have != want:
        raise BuildError(
            f"time column {model.time_column} of {model.name} is {have}, not {want}",
            why=f"a {model.cadence.value} model's table is partitioned by it, one partition an interval",
            fix=f"CAST(… AS {want.upper()}) AS {model.time_column}, cut to the start of the interval",
        )


def _check_promised(model: Model, schema: StructType) -> None:
    """Raise BuildError where the header declares another type than is computed: plans go by it. A table that is there
    was made before anybody looked."""
    given = {f.name.lower(): f.dataType.simpleString() for f in schema.fields}
    wrong = {n: type_ for n, type_ in model.promised.items() if not same_type(given.get(n.lower(), type_), type_)}
    if wrong:
        name, type_ = next(iter(wrong.items()))
        raise BuildError(
            "; ".join(
                f"column {n} of {model.name} is declared {t}, and is {given[n.lower()]}" for n, t in wrong.items()
            ),
            why="plans go by the types of columns where they say what a change leaves as it is",
            fix=f"write `type: {in_yaml(given[name.lower()])}` under `columns` in {model.path}, or cast it to {type_}",
        )


_NO_COLLATION = "UTF8_BINARY"
_INTERVALS = {"interval", "daytimeinterval", "yearmonthinterval"}


def _leaves(kind: DataType) -> Iterator[DataType]:
    """The types that a type consists of."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case ArrayType():
            yield from _leaves(kind.elementType)
        case MapType():
            yield from (*_leaves(kind.keyType), *_leaves(kind.valueType))
        case StructType():
            yield from (leaf for field in kind.fields for leaf in _leaves(field.dataType))
        case _:
            yield kind


def _as_delta(model: Model, schema: StructType) -> dict[str, Any]:
    """Spark's JSON of a schema is Delta's; every column is nullable (audits say what may not be), with its comment."""
    comments = {c.name.lower(): c.description for c in model.columns if c.description}
    described = json.loads(schema.json())
    for field in described["fields"]:
        comment = comments.get(field["name"].lower())
        field["metadata"] = {"comment": comment} if comment else {}
        field["nullable"] = True
        field["type"] = _nullable(field["type"])
    return described


def _nullable(kind: Any) -> Any:
    """A type whose nested fields are nullable too."""
    if not isinstance(kind, dict):
        return kind
    loose = dict(kind)
    match kind["type"]:
        case "array":
            loose |= {"containsNull": True, "elementType": _nullable(kind["elementType"])}
        case "map":
            loose |= {"valueContainsNull": True, "valueType": _nullable(kind["valueType"])}
        case "struct":
            loose["fields"] = [
                {**f, "nullable": True, "metadata": {}, "type": _nullable(f["type"])} for f in kind["fields"]
            ]
        case _:
            pass
    return loose


def _spelled(schema: StructType, name: str) -> str:
    return next(f.name for f in schema.fields if f.name.lower() == name.lower())
