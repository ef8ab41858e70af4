"""Which audits here say what SQLMesh's built-in ones say?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.importing.numbers import whole
from backfill_assets.importing.sqlmesh_file import Property, inside, split
from backfill_assets.sql.text import quoted

Entry = Mapping[str, object]
_CONDITIONAL = ("not_null", "unique", "range", "accepted_values", "expression")
_KNOWN = (
    "known are not_null, unique_values, unique_combination_of_columns, accepted_values, not_accepted_values, "
    "accepted_range, forall, number_of_rows, not_constant, not_null_proportion and not_empty_string"
)


def audits(said: Property, own: Collection[str], dialect: str) -> tuple[list[Entry], list[Untranslatable]]:
    """The entries of a header for the `audits (…)` of a MODEL, and those that have none, each with why.

    `own` are names that the project gives audits itself. SQLMesh audits the range that it has just computed. What is
    unique is asked of the whole table here, unless the time column is in it.
    """
    tokens = inside(said.tokens)
    if tokens is None:
        tokens = said.tokens
    entries: list[Entry] = []
    lost: list[Untranslatable] = []
    for part in split(tokens):
        try:
            entries += _audit(part, own, dialect)
        except Untranslatable as error:
            lost.append(_whole(part[0].text, error))
    return entries, lost


def _whole(name: str, error: Untranslatable) -> Untranslatable:
    """An audit is carried over with all that it says, or not at all."""
    if error.what.startswith("the audit "):
        return error
    why = f"{error.what}: {error.why}" if error.why else error.what
    return Untranslatable(f"the audit {plain(name)}", why=why, fix=error.fix, line=error.line)


def _audit(part: Sequence[Token], own: Collection[str], dialect: str) -> list[Entry]:
    line, name = part[0].line, part[0].text.lower()
    arguments = _arguments(part)
    options: dict[str, object] = {}
    if name.endswith("_non_blocking"):
        name, options["severity"] = name.removesuffix("_non_blocking"), "warn"
    if (blocking := arguments.pop("blocking", None)) is not None:
        if _word(blocking) not in ("true", "false"):
            raise Untranslatable(f"`blocking` of the audit {name}", line=line)
        if _word(blocking) == "false":
            options["severity"] = "warn"
    if name in own:
        fix = "write it in audits/ (`backfill docs audits`)"
        raise Untranslatable(f"the audit {name}", why="it is one of the project's own", fix=fix, line=line)
    if (condition := arguments.pop("condition", None)) is not None:
        options["where"] = _sql(condition, dialect, line)
    entries = _known(name, arguments, options, dialect, line)
    if "where" in options and any(kind not in _CONDITIONAL for e in entries for kind in e):
        raise Untranslatable(f"`condition` of the audit {name}", line=line)
    return entries


def _known(
    name: str, arguments: dict[str, Sequence[Token]], options: dict[str, object], dialect: str, line: int
) -> list[Entry]:
    def refuse(what: str) -> Untranslatable:
        fix = "write it as an audit of the model (`backfill docs audits`)"
        return Untranslatable(what, why=_KNOWN, fix=fix, line=line)

    def column() -> str:
        return _names(arguments["column"], line)[0]

    match (name, *sorted(arguments)):
        case "not_null", "columns":
            return [{"not_null": {"columns": _names(arguments["columns"], line), **options}}]
        case "unique_values", "columns":
            return [{"unique": {"columns": [c], **options}} for c in _names(arguments["columns"], line)]
        case "unique_combination_of_columns", "columns":
            return [{"unique": {"columns": _names(arguments["columns"], line), **options}}]
        case "accepted_values", "column", "is_in":
            values = [_literal(v, line) for v in _items(arguments["is_in"])]
            if len({type(v) for v in values}) != 1:
                raise refuse("accepted_values of several types")
            return [{"accepted_values": {"column": column(), "values": values, **options}}]
        case "not_accepted_values", "column", "is_in":
            values = [_literal(v, line) for v in _items(arguments["is_in"])]
            if not values:
                raise refuse("not_accepted_values of nothing")
            said = ", ".join(str(v) if isinstance(v, int) else "'" + v.replace("'", "''") + "'" for v in values)
            name = quoted(column())
            return [{"expression": {"expression": f"{name} IS NULL OR {name} NOT IN ({said})", **options}}]
        case "accepted_range", "column", *given if set(given) <= {"min_v", "max_v", "inclusive"}:
            bounds = {
                here: _number(arguments[there], line)
                for there, here in (("min_v", "min"), ("max_v", "max"))
                if there in arguments
            }
            if not bounds:
                raise refuse("accepted_range without bounds")
            if _word(arguments.get("inclusive", [])) in ("", "true"):
                return [{"range": {"column": column(), **bounds, **options}}]
            signs = {"min": ">", "max": "<"}
            said = " AND ".join(f"{quoted(column())} {signs[k]} {v}" for k, v in bounds.items())
            return [{"expression": {"expression": f"{quoted(column())} IS NULL OR ({said})", **options}}]
        case "forall", "criteria" if _items(arguments["criteria"]):
            return [
                {"expression": {"expression": f"coalesce({_sql(item, dialect, line)}, true)", **options}}
                for item in _items(arguments["criteria"])
            ]
        case "number_of_rows", "threshold":
            return [{"completeness": {"min_rows": max(int(_number(arguments["threshold"], line)) + 1, 1), **options}}]
        case "not_constant", "column":
            return [{"not_constant": {"columns": [column()], **options}}]
        case "not_null_proportion", "column", "threshold":
            share = round(100 - 100 * float(_number(arguments["threshold"], line)), 6)
            return [{"null_rate": {"column": column(), "max_percent": share, **options}}]
        case "not_empty_string", "column":
            name = quoted(column())
            return [{"expression": {"expression": f"{name} IS NULL OR {name} <> ''", **options}}]
        case _, *given:
            raise refuse(f"the audit {name}({', '.join(given)})")


def _sql(tokens: Sequence[Token], dialect: str, line: int) -> str:
    """A condition, for Spark."""
    text = " ".join(_written(t, dialect) for t in tokens)
    if not text:
        raise Untranslatable("a condition of an audit", why="it is empty", line=line)
    if "@" in text:
        raise Untranslatable(f"`{text[:80]}`", why="macros are not evaluated", line=line)
    try:
        return sqlglot.transpile(text, read=dialect or None, write="spark")[0]
    except (SqlglotError, ValueError, RecursionError):
        raise Untranslatable(f"`{text[:80]}`", why="it is not read", line=line) from None


def _written(token: Token, dialect: str) -> str:
    if token.token_type is TokenType.STRING:
        return "'" + token.text.replace("'", "''") + "'"
    if token.token_type is TokenType.IDENTIFIER:
        return exp.to_identifier(token.text, quoted=True).sql(dialect=dialect or None)
    return token.text


def _arguments(part: Sequence[Token]) -> dict[str, Sequence[Token]]:
    if len(part) == 1:
        return {}
    tokens = inside(part[1:])
    if tokens is None:
        raise Untranslatable(f"the audit {part[0].text}", why="it is not read", line=part[0].line)
    found: dict[str, Sequence[Token]] = {}
    for one in split(tokens):
        key = one[0].text.lower()
        signs = [t for t in one[1:3] if t.text in (":", "=", ":=")]
        if not signs or key in found or one[1] is not signs[0]:
            raise Untranslatable(f"an argument of the audit {part[0].text}", line=one[0].line)
        found[key] = one[1 + len(signs) :]
    return found


def _items(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    within = inside(tokens)
    return list(split(within if within is not None else tokens))


def _names(tokens: Sequence[Token], line: int) -> list[str]:
    found: list[str] = []
    for item in _items(tokens):
        if len(item) != 1 or item[0].token_type in (TokenType.STRING, TokenType.NUMBER):
            raise Untranslatable("an audit of something else than columns", line=line)
        found.append(item[0].text)
    if not found:
        raise Untranslatable("an audit without columns", line=line)
    return found


def _word(tokens: Sequence[Token]) -> str:
    return tokens[0].text.lower() if len(tokens) == 1 else "" if not tokens else "?"


def _literal(tokens: Sequence[Token], line: int) -> str | int:
    if len(tokens) == 1 and tokens[0].token_type is TokenType.STRING and "@" not in tokens[0].text:
        return tokens[0].text
    if len(tokens) == 1 and tokens[0].token_type is TokenType.NUMBER and (found := whole(tokens[0].text)) is not None:
        return found
    raise Untranslatable("a value of accepted_values", why="known are texts and whole numbers", line=line)


def _number(tokens: Sequence[Token], line: int) -> int | float:
    sign = -1 if tokens and tokens[0].text == "-" else 1
    rest = tokens[1:] if sign < 0 else tokens
    if len(rest) != 1 or rest[0].token_type is not TokenType.NUMBER:
        raise Untranslatable("a bound of accepted_range", why="known are numbers", line=line)
    text = rest[0].text
    try:
        found = number if (number := whole(text)) is not None else float(text)
    except ValueError:
        found = inf
    if found == inf:
        raise Untranslatable(f"the number {text[:40]}", why="it is too large, or in another form", line=line)
    return sign * found
