"""What does a file of a SQLMesh model say? `MODEL (…);` and one query, read as text: nothing of it is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.importing.days import MACRO
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.query import no_macro_names

_JINJA = re.compile(r"\{[{%#]")
_MACROS = {f"{end}_{form}" for end in ("start", "end") for form in ("ds", "date", "dt", "ts", "dtntz")}
_OPEN, _CLOSE = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property of a MODEL or of its kind: the tokens of its value, and where it is."""

    key: str
    line: int
    tokens: tuple[Token, ...]
    text: str
    """The value as written, without the quotes around a text."""
    within: Mapping[str, Property] | None = None
    """`kind NAME (key value, …)`: what is in the brackets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """The properties of a model, by name, and its query as it is written."""

    line: int
    properties: Mapping[str, Property]
    query: str
    query_line: int


def read_model_file(text: str, dialect: str) -> ModelFile:
    """The model in a file. Raises Untranslatable when the file is more, or something else, than a model and a query."""
    if (found := _JINJA.search(text)) is not None:
        raise Untranslatable("Jinja", why="templates are not evaluated", line=_at(text, found.start()))
    tokens = _tokens(text, dialect)
    if len(tokens) < 2 or tokens[0].text.upper() != "MODEL" or tokens[1].token_type is not TokenType.L_PAREN:
        raise Untranslatable("the file does not begin with MODEL (…)", line=tokens[0].line if tokens else 1)
    end = _closing(tokens, 1)
    properties = properties_in(text, tokens[2:end])
    if end + 1 >= len(tokens) or tokens[end + 1].text != ";":
        raise Untranslatable("MODEL (…) is not followed by `;`", line=tokens[end].line)
    rest = tokens[end + 2 :]
    while rest and rest[-1].text == ";":
        rest = rest[:-1]
    if not rest:
        raise Untranslatable("the model has no query", line=tokens[end].line)
    for token in rest:
        if token.text == ";" and token.token_type is TokenType.SEMICOLON:
            why = "statements before or after the query, audits and ON_VIRTUAL_UPDATE have no place here"
            raise Untranslatable("there is more than one statement", why=why, line=token.line)
    query = text[rest[0].start : rest[-1].end + 1]
    return ModelFile(
        line=tokens[0].line,
        properties=properties,
        query=_marked(query, dialect, rest[0].line),
        query_line=rest[0].line,
    )


def properties_in(text: str, tokens: Sequence[Token]) -> dict[str, Property]:
    """`key value, key value`. Raises Untranslatable for a key that is said twice."""
    found: dict[str, Property] = {}
    for part in split(tokens):
        key = part[0].text.lower()
        if key in found:
            raise Untranslatable(f"`{key}` is given twice", line=part[0].line)
        said = text[part[1].start : part[-1].end + 1] if len(part) > 1 else ""
        if len(part) == 2 and part[1].token_type is TokenType.STRING:
            said = part[1].text
        bracketed = inside(part[2:]) if key == "kind" else None
        within = properties_in(text, bracketed) if bracketed is not None else None
        found[key] = Property(key=key, line=part[0].line, tokens=tuple(part[1:]), text=said, within=within)
    return found


def split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The parts between commas, outside of brackets; empty ones are left out."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if token.token_type is TokenType.COMMA and depth == 0:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def inside(tokens: Sequence[Token]) -> Sequence[Token] | None:
    """What is within the brackets around all of these tokens; None when there are none."""
    if len(tokens) < 2 or tokens[0].token_type not in _OPEN or _closing(tokens, 0) != len(tokens) - 1:
        return None
    return tokens[1:-1]


def _closing(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].token_type in _OPEN) - (tokens[index].token_type in _CLOSE)
        if depth == 0:
            return index
    raise Untranslatable("a bracket is not closed", line=tokens[start].line)


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return list(sqlglot.tokenize(text, read=dialect))
    except SqlglotError:
        raise Untranslatable("the file cannot be read", why="a text or a comment in it is not closed") from None


def _marked(query: str, dialect: str, line: int) -> str:
    """The query with names in the place of `@start_ds` and its like. Every other `@` is refused."""
    no_macro_names(query, line)
    pieces: list[str] = []
    at = 0
    tokens = _tokens(query, dialect)
    for index, token in enumerate(tokens):
        if "@" not in token.text:
            continue
        here = line + token.line - 1
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.text != "@" or following is None or following.start != token.end + 1:
            said = query[token.start : token.end + 1]
            raise Untranslatable(f"`{said[:80]}`", why="SQLMesh evaluates an @ in it, also in texts", line=here)
        if following.text.lower() not in _MACROS:
            why = "macros and variables are not evaluated; known are " + ", ".join(f"@{m}" for m in sorted(_MACROS))
            raise Untranslatable(f"`@{following.text[:80]}`", why=why, line=here)
        pieces += [query[at : token.start], MACRO]
        at = token.end + 1
    return "".join([*pieces, query[at:]])


def _at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
