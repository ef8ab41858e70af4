"""What does Spark read that sqlglot does not? Tokens put so that its parser takes them; the text stays as it is.

The tree says which names are tables, columns and functions. What a query *means* is read off the tokens of its text
(`signature`), and Spark runs the text: so a tree may say a thing in other words here, as long as it names the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot.tokenizer_core import Token, TokenType

Tokens = list[Token]
_SET_OPERATIONS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_AMOUNTS = frozenset({TokenType.ALL, TokenType.DISTINCT})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_NESTED_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_ENDS = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM})
_VALUES = _NAMES | {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER, TokenType.STRING}
JOINING_WORDS = frozenset({
    "ANTI", "CROSS", "EXCEPT", "FULL", "INNER", "INTERSECT", "JOIN", "LATERAL", "LEFT", "MINUS", "NATURAL", "ON",
    "RIGHT", "SEMI", "UNION", "USING",
})  # fmt: skip
"""Words of joins and set operations, which are names as well, but no aliases of tables ("strict non-reserved" in
Spark's reference)."""
_STEPS = frozenset({
    TokenType.DROP, TokenType.SET, TokenType.OFFSET, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY,
})  # fmt: skip
"""Steps behind `|>` that sqlglot does not know."""
_OTHER_COLUMNS = frozenset({TokenType.ALIAS, *_STEPS, *_SET_OPERATIONS})
"""Those whose columns its tree does not tell."""


def whole_texts(code: str, tokens: Sequence[Token]) -> Tokens:
    """With `'a''b'` as one text, in which the doubled quote stands for one; sqlglot takes it for `'a' 'b'`."""
    found: Tokens = []
    for token in tokens:
        before = found[-1] if found else None
        if (
            before is not None
            and before.token_type is token.token_type is TokenType.STRING
            and before.end + 1 == token.start
            and (quote := code[token.start]) == code[before.end]
        ):
            text = before.text + quote + token.text
            found[-1] = Token(TokenType.STRING, text, before.line, before.col, before.start, token.end)
        else:
            found.append(token)
    return found


def readable(tokens: Sequence[Token]) -> tuple[Tokens, bool]:
    """The tokens for sqlglot's parser, and whether the columns of its tree are the query's."""
    found = list(tokens)
    for change in _CHANGES:
        found = change(found)
    columns = True
    for change in _CHANGES_OF_COLUMNS:
        changed = change(found)
        columns = columns and changed is found
        found = changed
    return found, columns


def _unsigned_shifts(tokens: Tokens) -> Tokens:
    """`>>>` as `>>`; but where it ends types (`array<struct<a: map<string, int>>>`)."""
    shifts: set[int] = set()
    types = 0
    for i, token in enumerate(tokens):
        before = _type(tokens, i - 1) if _type(tokens, i - 2) is not TokenType.DOT else None  # `t.map < 3`
        if token.token_type is TokenType.LT and before in _NESTED_TYPES:
            types += 1
        elif token.token_type is TokenType.GT and types:
            types -= 1
        elif (
            all(t.token_type is TokenType.GT for t in tokens[i : i + 3])
            and len(tokens) > i + 2
            and token.end + 1 == tokens[i + 1].start
            and tokens[i + 1].end + 1 == tokens[i + 2].start
        ):
            shifts.add(i + 2)
    return [t for i, t in enumerate(tokens) if i not in shifts]


def _whole_tables(tokens: Tokens) -> Tokens:
    """`TABLE t` where a query stands, as `SELECT * FROM t`: sqlglot takes it for a column `TABLE` called `t`."""
    found: Tokens = []
    for at, token in enumerate(tokens):
        following = _type(tokens, at + 1)
        if token.token_type is TokenType.TABLE and following in _NAMES and _begins_query(tokens, at):
            texts = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
            found += [_like(token, kind, text) for kind, text in texts]
        else:
            found.append(token)
    return found


def _begins_query(tokens: Tokens, at: int) -> bool:
    before = _type(tokens, at - 1)
    if before in _AMOUNTS:
        before = _type(tokens, at - 2)
    return before in (None, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.SEMICOLON, *_SET_OPERATIONS)


def _names_behind_as(tokens: Tokens) -> Tokens:
    """`x AS select`, `x AS not`: any word is a name there."""
    reserved = (TokenType.SELECT, TokenType.NOT)
    return [
        _like(token, TokenType.VAR, token.text)
        if token.token_type in reserved
        and _type(tokens, at - 1) is TokenType.ALIAS
        and _type(tokens, at + 1) in (None, *_ENDS)
        else token
        for at, token in enumerate(tokens)
    ]


def _names_of_joins(tokens: Tokens) -> Tokens:
    """`struct(x left)` as `struct(x AS left)`."""
    found: Tokens = []
    for at, token in enumerate(tokens):
        ends = _type(tokens, at + 1) in (TokenType.COMMA, TokenType.R_PAREN)
        if token.text.upper() in JOINING_WORDS and _type(tokens, at - 1) in _VALUES and ends:
            found += [_like(token, TokenType.ALIAS, "AS"), _like(token, TokenType.VAR, token.text)]
        else:
            found.append(token)
    return found


def _names_beside_dots(tokens: Tokens) -> Tokens:
    """`raw.union`, `minus.id`; in `ON .5 < x` there is a number behind the dot."""

    def named(at: int) -> bool:
        behind = _type(tokens, at + 1) is TokenType.DOT and _type(tokens, at + 2) is not TokenType.NUMBER
        return behind or _type(tokens, at - 1) is TokenType.DOT

    return [
        _like(token, TokenType.VAR, token.text) if token.text.upper() in JOINING_WORDS and named(at) else token
        for at, token in enumerate(tokens)
    ]


def _windows_as_names(tokens: Tokens) -> Tokens:
    """`window(at, '1 hour')`, and columns of that name: the clause WINDOW is followed by a name, AS and brackets."""
    return [
        _like(token, TokenType.VAR, token.text)
        if token.token_type is TokenType.WINDOW
        and not (_type(tokens, at + 2) is TokenType.ALIAS and _type(tokens, at + 3) is TokenType.L_PAREN)
        else token
        for at, token in enumerate(tokens)
    ]


def _binary_with_a_space(tokens: Tokens) -> Tokens:
    """`X '1F'` as `X'1F'`."""
    found: Tokens = []
    for token in tokens:
        before = found[-1] if found else None
        if before and before.text.upper() == "X" and token.token_type is TokenType.STRING:
            found[-1] = _like(before, TokenType.HEX_STRING, token.text)
        else:
            found.append(token)
    return found


def _levels_of_recursion(tokens: Tokens) -> Tokens:
    """`MAX RECURSION LEVEL 5` left out."""
    found: Tokens = []
    at = 0
    while at < len(tokens):
        words = [t.text.upper() for t in tokens[at : at + 3]]
        if words == ["MAX", "RECURSION", "LEVEL"] and _type(tokens, at + 3) is TokenType.NUMBER:
            at += 4
        else:
            found.append(tokens[at])
            at += 1
    return found


def _collations_of_types(tokens: Tokens) -> Tokens:
    """`STRING COLLATE UTF8_LCASE` as `STRING`: sqlglot takes the collation for a column."""
    found: Tokens = []
    at = 0
    while at < len(tokens):
        found.append(tokens[at])
        at += 1
        if found[-1].token_type is TokenType.TEXT and _type(tokens, at) is TokenType.COLLATE:
            at += 2
    return found if len(found) < len(tokens) else tokens


def _pipes(tokens: Tokens) -> Tokens:
    """`|> DROP a`, `|> SET a = b` and the like as `|> EXTEND …`, queries of set operations in brackets."""
    steps = [at for at, token in enumerate(tokens) if token.token_type is TokenType.PIPE_GT]
    if not any(_type(tokens, at + 1) in _OTHER_COLUMNS for at in steps):
        return tokens
    found = list(tokens)
    for step in reversed(steps):
        token = _at(found, step + 1)
        if token is None:
            continue
        if token.token_type in _STEPS:
            found[step + 1] = _like(token, TokenType.VAR, "EXTEND")
        elif token.token_type in _SET_OPERATIONS:
            first = step + 2 + (_type(found, step + 2) in _AMOUNTS)
            last = _end_of_step(found, first)
            opened, closed = _like(token, TokenType.L_PAREN, "("), _like(token, TokenType.R_PAREN, ")")
            found = [*found[:first], opened, *found[first:last], closed, *found[last:]]
    return found


def _end_of_step(tokens: Tokens, at: int) -> int:
    depth = 0
    while (kind := _type(tokens, at)) is not None:
        if not depth and kind in (TokenType.PIPE_GT, TokenType.R_PAREN, TokenType.SEMICOLON):
            break
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        at += 1
    return at


def _at(tokens: Tokens, at: int) -> Token | None:
    return tokens[at] if 0 <= at < len(tokens) else None


def _type(tokens: Tokens, at: int) -> TokenType | None:
    token = _at(tokens, at)
    return token.token_type if token else None


def _like(token: Token, kind: TokenType, text: str) -> Token:
    """Another token at the same place."""
    return Token(kind, text, token.line, token.col, token.start, token.end)


Change = Callable[[Tokens], Tokens]
_CHANGES: tuple[Change, ...] = (
    _unsigned_shifts, _whole_tables, _names_behind_as, _names_beside_dots, _names_of_joins, _windows_as_names,
    _binary_with_a_space, _levels_of_recursion,
)  # fmt: skip
_CHANGES_OF_COLUMNS: tuple[Change, ...] = (_collations_of_types, _pipes)
"""These give back what they are given where they change nothing."""
