"""Which audits here say what SQLMesh's built-in ones say?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.sqlmesh_file import Property, inside, split

Entry = Mapping[str, object]


def audits(said: Property, own: Collection[str], time_column: str) -> list[Entry]:
    """The entries of a header for the `audits (…)` of a MODEL. `own` are names that the project gives audits itself.

    SQLMesh audits the range that it has just computed. Where that says more than a day at a time, the whole table is
    looked at here. Raises Untranslatable.
    """
    tokens = inside(said.tokens)
    if tokens is None:
        tokens = said.tokens
    return [entry for part in split(tokens) for entry in _audit(part, own, time_column)]


def _audit(part: Sequence[Token], own: Collection[str], time_column: str) -> list[Entry]:
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
        raise Untranslatable(f"the audit {name}", why="the project has an audit of its own by that name", line=line)

    def refuse(what: str) -> Untranslatable:
        why = "known are not_null, unique_values, unique_combination_of_columns, accepted_values and accepted_range"
        fix = "write it as an audit of the model (docs/audits.md), and take it out there"
        return Untranslatable(what, why=why, fix=fix, line=line)

    match (name, *sorted(arguments)):
        case "not_null", "columns":
            return [{"not_null": {"columns": _names(arguments["columns"], line), **options}}]
        case "unique_values", "columns":
            return [_unique([c], time_column, options) for c in _names(arguments["columns"], line)]
        case "unique_combination_of_columns", "columns":
            return [_unique(_names(arguments["columns"], line), time_column, options)]
        case "accepted_values", "column", "is_in":
            values = [_literal(v, line) for v in _items(arguments["is_in"])]
            if len({type(v) for v in values}) != 1:
                raise refuse("accepted_values of several types")
            column = _names(arguments["column"], line)[0]
            return [{"accepted_values": {"column": column, "values": values, **options}}]
        case "accepted_range", "column", *given if set(given) <= {"min_v", "max_v", "inclusive"}:
            if _word(arguments.get("inclusive", [])) not in ("", "true"):
                raise refuse("accepted_range without its bounds")
            bounds = {
                here: _number(arguments[there], line)
                for there, here in (("min_v", "min"), ("max_v", "max"))
                if there in arguments
            }
            if not bounds:
                raise refuse("accepted_range without bounds")
            return [{"range": {"column": _names(arguments["column"], line)[0], **bounds, **options}}]
        case _, *given:
            raise refuse(f"the audit {name}({', '.join(given)})")


def _unique(columns: list[str], time_column: str, options: Mapping[str, object]) -> Entry:
    dated = time_column.lower() in {c.lower() for c in columns}
    return {"unique": {"columns": columns, **({} if dated else {"scope": "table"}), **options}}


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
    if len(tokens) == 1 and tokens[0].token_type is TokenType.NUMBER and tokens[0].text.isdigit():
        return int(tokens[0].text)
    raise Untranslatable("a value of accepted_values", why="known are texts and whole numbers", line=line)


def _number(tokens: Sequence[Token], line: int) -> int | float:
    sign = -1 if tokens and tokens[0].text == "-" else 1
    rest = tokens[1:] if sign < 0 else tokens
    if len(rest) != 1 or rest[0].token_type is not TokenType.NUMBER:
        raise Untranslatable("a bound of accepted_range", why="known are numbers", line=line)
    text = rest[0].text
    return sign * (int(text) if text.isdigit() else float(text))
