"""Which audits here say what dbt's generic tests say?"""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.importing.found import Untranslatable
from backfill_assets.sql.text import quoted

Entry = Mapping[str, object]
_USUAL: Mapping[str, tuple[object, ...]] = {
    "enabled": (True,), "where": (None,), "limit": (None,), "fail_calc": ("count(*)",), "warn_if": ("!= 0",),
    "error_if": ("!= 0",), "database": (None,), "alias": (None,), "store_failures": (None, False, True),
    "store_failures_as": (None, "table", "view", "ephemeral"), "static_analysis": (None,), "sql_header": (None,),
}  # fmt: skip
_ANY = ("severity", "schema", "tags", "meta", "group", "materialized", "docs")


def audit(node: Mapping[str, object], relation: str) -> Entry:
    """The audit that a test of a model is; `relation` is the name here of what a test of relationships looks at.

    dbt looks at the whole table: so does `unique` here. Raises Untranslatable.
    """
    said = _mapping(node.get("test_metadata"))
    config = _mapping(node.get("config"))
    name, arguments = str(said.get("name")), dict(_mapping(said.get("kwargs")))
    arguments = {**arguments, **_mapping(arguments.pop("arguments", None))}
    what = f"the test {node.get('name')}"
    if said.get("namespace"):
        raise Untranslatable(what, why=f"tests of {said['namespace']} are not known")
    for key, value in config.items():
        if key in _ANY or (key in _USUAL and value in _USUAL[key]):
            continue
        if key not in _USUAL and value in (None, [], {}, False, ""):
            continue
        raise Untranslatable(what, why=f"its `{key}: {value}` is not known to mean the same here")
    severity = str(config.get("severity") or "ERROR").upper()
    if severity not in ("ERROR", "WARN"):
        raise Untranslatable(what, why=f"its severity is {severity}")
    options: dict[str, object] = {"severity": "warn"} if severity == "WARN" else {}
    column = arguments.pop("column_name", None)
    arguments.pop("model", None)
    if not isinstance(column, str) or not column.replace("_", "a").isalnum():
        raise Untranslatable(what, why="it is not about one column by its plain name")
    match name, set(arguments):
        case "not_null", given if not given:
            return {"not_null": {"columns": [column], **options}}
        case "unique", given if not given:
            where = f"{quoted(column)} IS NOT NULL"
            return {"unique": {"columns": [column], "where": where, "scope": "table", **options}}
        case "accepted_values", given if given <= {"values", "quote"}:
            values, quote = arguments.get("values"), arguments.get("quote", True)
            texts = isinstance(values, list) and all(isinstance(v, str) for v in values) and quote is True
            numbers = isinstance(values, list) and all(type(v) is int for v in values) and quote is False
            if values and (texts or numbers):
                return {"accepted_values": {"column": column, "values": values, **options}}
            raise Untranslatable(what, why="known are texts, and whole numbers with `quote: false`")
        case "relationships", given if given == {"to", "field"} and relation:
            return {
                "relationships": {"columns": [column], "to": relation, "fields": [str(arguments["field"])], **options}
            }
        case _:
            raise Untranslatable(
                what,
                why="known are not_null, unique, accepted_values and relationships",
                fix="write it as an audit of the model (docs/audits.md), and take it out there",
            )


def _mapping(value: object) -> Mapping[str, object]:
    return {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {}
