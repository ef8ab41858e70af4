"""What is each token of a query? Words, names, literals and symbols as they are written, in their brackets.

sqlglot's tree says which words are columns, tables and aliases; what a query means is read off the tokens, of which
none is lost: a parser that takes two texts for one tree (precedence, adjacent literals, lost arguments) hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.sql.parsing import Sql
from backfill_assets.sql.signature.marks import Opaque


class TokenKind(Enum):
    WORD = auto()
    """A keyword or a function's name, upper-cased."""
    COLUMN = auto()
    """The first name of a column reference."""
    NAME = auto()
    """A table's, an alias's, a field's name as it is written."""
    STRING = auto()
    NUMBER = auto()
    SYMBOL = auto()


@dataclass(frozen=True, slots=True)
class Tok:
    """`text`: upper-cased words, literals with their quotes. `name`: what an identifier names, as written."""

    kind: TokenKind
    text: str
    name: str = ""
    start: int = 0
    role: str = ""
    """Of a name: what sqlglot's tree has it for."""
    parts: int = 1
    """Of a column: how many names are joined by dots."""

    def is_word(self, *words: str) -> bool:
        return self.kind is TokenKind.WORD and self.text in words

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.text in symbols


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """What is in a pair of brackets: `(`, `[`, or CASE with its END."""

    opened: str
    nodes: tuple[Node, ...]
    start: int = 0


Node = Tok | TokenGroup
_LITERALS = {
    TokenType.STRING: TokenKind.STRING, TokenType.RAW_STRING: TokenKind.STRING, TokenType.HEX_STRING: TokenKind.STRING,
    TokenType.BIT_STRING: TokenKind.STRING, TokenType.BYTE_STRING: TokenKind.STRING,
    TokenType.NATIONAL_STRING: TokenKind.STRING,
    TokenType.UNICODE_STRING: TokenKind.STRING, TokenType.NUMBER: TokenKind.NUMBER,
}  # fmt: skip
_CLOSES = {"(": ")", "[": "]"}
_HINT = re.compile(r"/\*\+[\s\w(),.`]*\*/")


def nodes_of(sql: Sql) -> tuple[Node, ...]:
    """The tokens of a text with one statement, in their brackets. Raises Opaque."""
    (statement,) = sql.statements
    names = _names(statement)
    toks = list(_toks(sql.code, sql.tokens, names))
    nodes, at = _grouped(toks, 0, "")
    if at != len(toks):
        raise Opaque("brackets that do not match")
    return nodes


def words_in(nodes: Sequence[Node]) -> Iterator[Tok]:
    """All tokens, in their brackets as well."""
    for node in nodes:
        if isinstance(node, TokenGroup):
            yield from words_in(node.nodes)
        else:
            yield node


def split(nodes: Sequence[Node], symbol: str = ",") -> list[tuple[Node, ...]]:
    """The parts between commas; none of nothing."""
    if not nodes:
        return []
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if isinstance(node, Tok) and node.is_symbol(symbol):
            parts.append([])
        else:
            parts[-1].append(node)
    if not all(parts):
        raise Opaque("a comma beside nothing")
    return [tuple(p) for p in parts]


def _names(statement: exp.Expr) -> Mapping[int, tuple[str, int]]:
    """What the identifier at an offset is for, and (of a column's first part) how many parts there are."""
    found: dict[int, tuple[str, int]] = {}
    for node in statement.walk(prune=lambda n: isinstance(n, exp.Hint)):
        if isinstance(node, exp.Column):
            parts = [p for p in node.parts if isinstance(p, exp.Identifier)]
            if parts and all(p.meta_get("start") is not None for p in parts):
                stars = len(node.parts) - len(parts)
                for index, part in enumerate(parts):
                    found[part.meta_get("start")] = ("column" if not index else "part", len(parts) + stars)
        elif isinstance(node, exp.Identifier) and (start := node.meta_get("start")) is not None:
            parent = node.parent
            found.setdefault(start, (f"{type(parent).__name__}.{node.arg_key}", 1))
    return found


def _toks(code: str, tokens: Sequence[Token], names: Mapping[int, tuple[str, int]]) -> Iterator[Tok]:
    last = -1
    for token in tokens:
        if token.start == last:  # `1L` comes as `1`, `::` and `L`, at one place
            continue
        last = token.start
        raw = code[token.start : token.end + 1]
        kind = token.token_type
        if kind is TokenType.HINT:
            if not _HINT.fullmatch(raw):
                raise Opaque("a hint")
        elif (literal := _LITERALS.get(kind)) is not None:
            yield Tok(literal, raw, start=token.start)
        elif token.start in names and (role := names[token.start]):
            as_column = role[0] == "column"
            yield Tok(
                TokenKind.COLUMN if as_column else TokenKind.NAME, token.text, token.text, token.start, role[0], role[1]
            )
        elif kind is TokenType.IDENTIFIER:
            yield Tok(TokenKind.NAME, token.text, token.text, token.start)
        elif raw[0].isalpha() or raw[0] == "_":
            if "/*" in raw or "--" in raw:
                raise Opaque("a comment within a keyword")
            for word in raw.split():
                yield Tok(TokenKind.WORD, word.upper(), word, token.start)
        else:
            yield Tok(TokenKind.SYMBOL, raw, start=token.start)


def _grouped(toks: Sequence[Tok], at: int, opened: str) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    while at < len(toks):
        tok = toks[at]
        if tok.kind is TokenKind.SYMBOL and tok.text in _CLOSES:
            inner, at = _grouped(toks, at + 1, tok.text)
            nodes.append(TokenGroup(tok.text, inner, tok.start))
        elif tok.is_word("CASE"):
            inner, at = _grouped(toks, at + 1, "CASE")
            nodes.append(TokenGroup("CASE", inner, tok.start))
        elif tok.kind is TokenKind.SYMBOL and tok.text in _CLOSES.values():
            if _CLOSES.get(opened) != tok.text:
                raise Opaque("brackets that do not match")
            return tuple(nodes), at + 1
        elif opened == "CASE" and tok.is_word("END"):
            return tuple(nodes), at + 1
        else:
            nodes.append(tok)
            at += 1
    if opened:
        raise Opaque("brackets that do not match")
    return tuple(nodes), at
