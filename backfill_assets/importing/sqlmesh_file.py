"""What does a file of a SQLMesh model say? `MODEL (…);` and one query, read as text: nothing of it is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.importing.found import Untranslatable

_JINJA = re.compile(r"\{[{%#]")
_OPEN, _CLOSE = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)
_QUERY = ("SELECT", "WITH", "(", "FROM", "VALUES")


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
    """The properties of a model, by name, and its query as it is written; empty when it has none (a seed).

    `others` are further statements, with their lines. `defined` are `@DEF`initions, by lower-cased name. `problem` is
    why the query cannot be read.
    """

    line: int
    properties: Mapping[str, Property]
    query: str
    query_line: int
    others: tuple[tuple[int, str], ...] = ()
    defined: Mapping[str, str] | None = None
    problem: Untranslatable | None = None


def read_model_file(text: str, dialect: str) -> ModelFile:
    """The model in a file. Raises Untranslatable when it does not begin with one."""
    jinja = _JINJA.search(text)
    tokens = tokenized(text[: jinja.start()] if jinja is not None else text, dialect, cut=jinja is not None)
    if len(tokens) < 2 or tokens[0].text.upper() != "MODEL" or tokens[1].token_type is not TokenType.L_PAREN:
        raise Untranslatable("the file does not begin with MODEL (…)", line=tokens[0].line if tokens else 1)
    end = _closing(tokens, 1)
    properties = properties_in(text, tokens[2:end])
    rest = tokens[end + 1 :]
    if rest and rest[0].text != ";":
        raise Untranslatable("MODEL (…) is not followed by `;`", line=tokens[end].line)
    line = tokens[0].line
    if jinja is not None:
        at = text.count("\n", 0, jinja.start()) + 1
        fix = "write the query that it renders to (`sqlmesh render`) in its place, and import again"
        problem = Untranslatable("Jinja", why="templates are not evaluated", fix=fix, line=at)
        return ModelFile(line=line, properties=properties, query="", query_line=at, problem=problem)
    return _statements(text, line, properties, rest)


def _statements(text: str, line: int, properties: Mapping[str, Property], rest: Sequence[Token]) -> ModelFile:
    queries: list[Sequence[Token]] = []
    others: list[tuple[int, str]] = []
    defined: dict[str, str] = {}
    audit = False
    for statement in _split_at(rest, TokenType.SEMICOLON):
        first = statement[0].text.upper()
        said = text[statement[0].start : statement[-1].end + 1]
        word = statement[1].text.upper() if len(statement) > 1 else ""
        if audit:
            audit = False  # the query of an AUDIT that stands in the model's file
        elif first in _QUERY:
            queries.append(statement)
        elif first == "AUDIT":
            audit = True
        elif first == "@" and word == "DEF" and (given := inside(statement[2:])) is not None:
            parts = list(split(given))
            if len(parts) == 2 and len(parts[0]) == 1:
                defined[parts[0][0].text.lower()] = text[parts[1][0].start : parts[1][-1].end + 1]
            else:
                others.append((statement[0].line, said))
        else:
            others.append((statement[0].line, said))
    problem = None
    if len(queries) > 1:
        problem = Untranslatable(f"there are {len(queries)} queries", why="a model is one", line=queries[1][0].line)
    query = queries[0] if queries else []
    return ModelFile(
        line=line, properties=properties, query=text[query[0].start : query[-1].end + 1] if query else "",
        query_line=query[0].line if query else line, others=tuple(others), defined=defined, problem=problem,
    )  # fmt: skip


def properties_in(text: str, tokens: Sequence[Token]) -> dict[str, Property]:
    """`key value, key value`. Raises Untranslatable for a key that is said twice."""
    found: dict[str, Property] = {}
    for part in split(tokens):
        key = part[0].text.lower()
        if key in found:
            raise Untranslatable(f"`{key}` is given twice", line=part[0].line)
        said = text[part[1].start : part[-1].end + 1] if len(part) > 1 else ""
        if len(part) == 2 and part[1].token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            said = part[1].text
        bracketed = inside(part[2:]) if key == "kind" else None
        within = properties_in(text, bracketed) if bracketed is not None else None
        found[key] = Property(key=key, line=part[0].line, tokens=tuple(part[1:]), text=said, within=within)
    return found


def split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The parts between commas, outside of brackets; empty ones are left out."""
    yield from _split_at(tokens, TokenType.COMMA)


def _split_at(tokens: Sequence[Token], kind: TokenType) -> Iterator[list[Token]]:
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if token.token_type is kind and depth <= 0:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def statements_in(text: str) -> list[list[Token]]:
    """The statements of a text until its first Jinja. Raises Untranslatable."""
    jinja = _JINJA.search(text)
    tokens = tokenized(text[: jinja.start()] if jinja is not None else text, "", cut=jinja is not None)
    return list(_split_at(tokens, TokenType.SEMICOLON))


def inside(tokens: Sequence[Token]) -> Sequence[Token] | None:
    """What is within the brackets around all of these tokens; None when there are none."""
    if len(tokens) < 2 or tokens[0].token_type not in _OPEN or _closing(tokens, 0) != len(tokens) - 1:
        return None
    return tokens[1:-1]


def names_in(tokens: Sequence[Token]) -> list[str]:
    """Names in brackets or not: `a`, `(a, b)`, `[a, b]`, `("a as b", c)`; other tokens are left out."""
    while (within := inside(tokens)) is not None:
        tokens = within
    parts = list(split(tokens))
    if len(parts) == 1 and (within := inside(parts[0])) is not None:
        return names_in(within)
    found: list[str] = []
    for part in parts:
        within = inside(part)
        if within is not None:
            found += names_in(within)
        elif part:
            found.append(re.split(r"\s+as\s+", part[0].text, flags=re.IGNORECASE)[0].strip())
    return found


def _closing(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].token_type in _OPEN) - (tokens[index].token_type in _CLOSE)
        if depth == 0:
            return index
    raise Untranslatable("a bracket is not closed", line=tokens[start].line)


def tokenized(text: str, dialect: str, *, cut: bool = False) -> list[Token]:
    """The tokens of a text; of one that is `cut`, as many as can be read. Raises Untranslatable."""
    try:
        return list(sqlglot.tokenize(text, read=dialect))
    except SqlglotError:
        if cut and (at := text.rfind(";")) > 0:
            return tokenized(text[: at + 1], dialect, cut=True) if at + 1 < len(text) else []
        raise Untranslatable("the file cannot be read", why="a text or a comment in it is not closed") from None
    except ValueError:
        raise Untranslatable(f"the dialect {dialect}", why="it is not known") from None
