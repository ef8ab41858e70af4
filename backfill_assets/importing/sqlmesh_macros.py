"""What stands for SQLMesh's macros in a query? Bounds become names, variables and `@DEF`initions their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from backfill_assets.importing.bounds import HIGH, LOW, MACRO
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.query import no_macro_names
from backfill_assets.importing.sqlmesh_file import tokenized

Values = Mapping[str, str | int | float | bool]
_BOUNDS = frozenset((*LOW, *HIGH))
_LONGEST = 20_000
"""Characters of a definition, at most: one that uses another twice doubles it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The query without macros, of as many lines; `filled` are what was put in, with their lines."""

    text: str
    filled: tuple[tuple[int, str], ...]


def without_macros(query: str, dialect: str, line: int, variables: Values, defined: Mapping[str, str]) -> Filled:
    """The query with the macros that can be told. Raises Untranslatable for the first that cannot."""
    known: dict[str, str | Untranslatable] = {}
    for name, text in defined.items():  # each may use those before it
        try:
            known[name] = f"({_filled(text, dialect, line, variables, known).text})"
        except Untranslatable as error:
            known[name] = error
    return _filled(query, dialect, line, variables, known)


def _filled(
    query: str, dialect: str, line: int, variables: Values, defined: Mapping[str, str | Untranslatable]
) -> Filled:
    no_macro_names(query, line)
    pieces: list[str] = []
    filled: list[tuple[int, str]] = []
    at = 0
    tokens = tokenized(query, dialect)
    for index, token in enumerate(tokens):
        if "@" not in token.text or token.start < at:
            continue
        here = line + token.line - 1
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or token.text != "@":
            said = query[token.start : token.end + 1]
            if token.token_type is TokenType.STRING and not any(
                f"@{w}" in token.text for w in ("{", *_BOUNDS, *variables)
            ):
                continue  # an address, say: no macro is called so
            raise Untranslatable(f"`{said[:80]}`", why="SQLMesh evaluates an @ in it, also in texts", line=here)
        if following is None or following.start != token.end + 1:
            raise Untranslatable("`@`", why="it is not followed by a macro's name", line=here)
        name = following.text.lower()
        if name in _BOUNDS:
            pieces += [query[at : token.start], MACRO]
            at = token.end + 1
            continue
        called = tokens[index + 2] if index + 2 < len(tokens) and tokens[index + 2].text == "(" else None
        value, end = None, following.end
        why = "macros are not evaluated; known are the bounds of the interval, variables of config.yaml and @DEF"
        if name == "var" and called is not None and index + 4 < len(tokens) and tokens[index + 4].text == ")":
            value, end = _text(variables.get(tokens[index + 3].text.lower())), tokens[index + 4].end
            why = (
                f"config.yaml has no variable `{tokens[index + 3].text[:80]}` that is a text, a number or a truth value"
            )
        elif called is None and name in defined:
            value = _definition(name, defined[name], here)
        elif called is None and name in variables:
            value = _text(variables[name])
        if value is None:
            fix = "write what it renders to (`sqlmesh render`) in its place, and import again"
            raise Untranslatable(f"`@{following.text[:80]}`", why=why, fix=fix, line=here)
        lost = query.count("\n", token.start, end + 1)
        pieces += [query[at : token.start], value.replace("\n", " "), "\n" * lost]
        filled.append((here, f"`{query[token.start : end + 1]}` is {value.replace(MACRO, '@')[:80]}"))
        at = end + 1
    return Filled(text="".join([*pieces, query[at:]]), filled=tuple(filled))


def _definition(name: str, value: str | Untranslatable, line: int) -> str:
    if isinstance(value, Untranslatable):
        raise Untranslatable(f"{value.what} in @DEF({name}, …)", why=value.why, fix=value.fix, line=line)
    if len(value) > _LONGEST:
        raise Untranslatable(f"`@{name}`", why=f"it comes to {len(value):,} characters", line=line)
    return value


def _text(value: str | int | float | bool | None) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return str(value)
