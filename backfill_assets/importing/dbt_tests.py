"""Which audits here say what dbt's generic tests say, and those of dbt_utils?"""

from __future__ import annotations

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from backfill_assets.importing.dbt_manifest import mapping
from backfill_assets.importing.found import Untranslatable
from backfill_assets.sql.text import quoted

Entry = Mapping[str, object]
_USUAL: Mapping[str, tuple[object, ...]] = {
    "enabled": (True,), "limit": (None,), "fail_calc": ("count(*)",), "warn_if": ("!= 0",),
    "error_if": ("!= 0",), "database": (None,), "alias": (None,), "store_failures": (None, False, True),
    "store_failures_as": (None, "table", "view", "ephemeral"), "static_analysis": (None,), "sql_header": (None,),
}  # fmt: skip
_ANY = ("alias", "severity", "schema", "tags", "meta", "group", "materialized", "docs", "where")
_KNOWN = (
    "known are not_null, unique, accepted_values, relationships, and of dbt_utils unique_combination_of_columns, "
    "accepted_range, expression_is_true, not_null_proportion, not_constant, not_empty_string"
)


def audit(node: Mapping[str, object], relation: str, dialect: str) -> Entry:
    """The audit that a test of a model is; `relation` is the name here of what a test of relationships looks at.

    dbt looks at the whole table: so does `unique` here. Raises Untranslatable.
    """
    said = mapping(node.get("test_metadata"))
    config = mapping(node.get("config"))
    name, arguments = str(said.get("name")), dict(mapping(said.get("kwargs")))
    arguments = {**arguments, **mapping(arguments.pop("arguments", None))}
    what = f"the test {node.get('name')}"
    if said.get("namespace") not in (None, "", "dbt", "dbt_utils"):
        raise Untranslatable(what, why=f"tests of {said['namespace']} are not known", fix="write it as an audit")
    for key, value in config.items():
        if key in _ANY or (key in _USUAL and value in _USUAL[key]):
            continue
        if key not in _USUAL and value in (None, [], {}, False, ""):
            continue
        raise Untranslatable(what, why=f"its `{key}: {value}` is not known here", fix="write it as an audit")
    severity = str(config.get("severity") or "ERROR").upper()
    if severity not in ("ERROR", "WARN"):
        raise Untranslatable(what, why=f"its severity is {severity}")
    options: dict[str, object] = {"severity": "warn"} if severity == "WARN" else {}
    if config.get("where"):
        options["where"] = condition(str(config["where"]), dialect, what)
    arguments.pop("model", None)
    entry = _generic(name, arguments, options, relation, dialect, what)
    if entry is None:
        raise Untranslatable(what, why=_KNOWN, fix="write it as an audit of the model (`backfill docs audits`)")
    kind = next(iter(entry))
    if "where" in options and kind not in (
        "not_null",
        "unique",
        "accepted_values",
        "relationships",
        "range",
        "expression",
    ):
        raise Untranslatable(what, why="`where` is not known with it")
    return entry


def _generic(
    name: str, arguments: dict[str, object], options: dict[str, object], relation: str, dialect: str, what: str
) -> Entry | None:
    said = arguments.pop("column_name", None)
    column = str(said).strip('"`') if isinstance(said, str) and re.fullmatch(r"[\"`]?\w+[\"`]?", said) else ""
    match name, sorted(arguments):
        case "not_null", [] if column:
            return {"not_null": {"columns": [column], **options}}
        case "unique", [] if column:
            where = f"{quoted(column)} IS NOT NULL"
            if "where" in options:
                where = f"{where} AND ({options['where']})"
            return {"unique": {"columns": [column], **options, "where": where}}
        case "accepted_values", ["values"] | ["quote", "values"] if column:
            values, quote = arguments["values"], arguments.get("quote", True)
            if isinstance(values, list) and values and quote is True and all(isinstance(v, str) for v in values):
                return {"accepted_values": {"column": column, "values": values, **options}}
            if isinstance(values, list) and values and all(type(v) is int for v in values):
                return {"accepted_values": {"column": column, "values": values, **options}}
            raise Untranslatable(what, why="known are texts, and whole numbers with `quote: false`")
        case "relationships", ["field", "to"] if column:
            if not relation:
                raise Untranslatable(what, why="what it looks at is no model and no source here")
            field = str(arguments["field"]).strip('"`')
            return {"relationships": {"columns": [column], "to": relation, "fields": [field], **options}}
        case "unique_combination_of_columns", ["combination_of_columns"] | ["combination_of_columns", "quote_columns"]:
            columns = arguments["combination_of_columns"]
            if isinstance(columns, list) and all(isinstance(c, str) and re.fullmatch(r"\w+", c) for c in columns):
                return {"unique": {"columns": columns, **options}}
        case "accepted_range", given if column and set(given) <= {"min_value", "max_value", "inclusive"}:
            return _range(column, arguments, options)
        case "expression_is_true", ["expression"]:
            text = str(arguments["expression"])
            name_there = exp.to_identifier(column, quoted=True).sql(dialect=dialect or None)
            whole = f"{name_there} {text}" if column else text
            said_here = condition(whole, dialect, what)
            return {"expression": {"expression": f"coalesce({said_here}, true)", **options}}
        case "not_null_proportion", ["at_least"] if column:
            share = arguments["at_least"]
            if isinstance(share, int | float):
                return {"null_rate": {"column": column, "max_percent": round(100 - 100 * share, 6), **options}}
        case "not_constant", [] if column:
            return {"not_constant": {"columns": [column], **options}}
        case "not_empty_string", [] | ["trim_whitespace"] if column:
            value = f"trim({quoted(column)})" if arguments.get("trim_whitespace", True) else quoted(column)
            return {"expression": {"expression": f"{quoted(column)} IS NULL OR {value} <> ''", **options}}
        case _:
            pass
    return None


def _range(column: str, arguments: Mapping[str, object], options: Mapping[str, object]) -> Entry | None:
    bounds = {
        here: arguments[there] for there, here in (("min_value", "min"), ("max_value", "max")) if there in arguments
    }
    if not bounds or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in bounds.values()):
        return None
    if arguments.get("inclusive", True) is True:
        return {"range": {"column": column, **bounds, **options}}
    signs = {"min": ">", "max": "<"}
    said = " AND ".join(f"{quoted(column)} {signs[k]} {v}" for k, v in bounds.items())
    return {"expression": {"expression": f"{quoted(column)} IS NULL OR ({said})", **options}}


def condition(text: str, dialect: str, what: str) -> str:
    """A condition for Spark. Raises Untranslatable for Jinja, and for what is none."""
    if "{{" in text or "{%" in text:
        raise Untranslatable(what, why="Jinja in it is not evaluated")
    try:
        return sqlglot.transpile(text, read=dialect or None, write="spark")[0]
    except (SqlglotError, ValueError, RecursionError, IndexError):
        raise Untranslatable(what, why="its condition is not read") from None
