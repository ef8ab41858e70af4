"""What is in an expression, before its columns are looked up? Asked of the nodes of its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from backfill_assets.sql.signature.clauses import Nodes, is_query
from backfill_assets.sql.signature.functions import AGGREGATE
from backfill_assets.sql.signature.marks import Opaque
from backfill_assets.sql.signature.tokens import Node, Tok, TokenGroup, TokenKind, words_in

_T = TypeVar("_T")


def aggregates(nodes: Sequence[Node]) -> bool:
    """Whether an expression aggregates the rows of its own SELECT: not in a subquery, not by a window."""
    for index, node in enumerate(nodes):
        if isinstance(node, TokenGroup):
            before = nodes[index - 1] if index else None
            called = before.name.upper() if isinstance(before, Tok) and before.kind is TokenKind.WORD else ""
            if called in AGGREGATE and not quantified(nodes, index - 1) and not is_windowed(nodes, index + 1):
                return True
            if not is_query(node) and aggregates(node.nodes):
                return True
    return False


def quantified(nodes: Sequence[Node], at: int) -> bool:
    """Whether a word is that of `LIKE ANY (…)`, `LIKE SOME (…)` or `LIKE ALL (…)`."""
    word, before = nodes[at], nodes[at - 1] if at else None
    like = isinstance(before, Tok) and before.is_word("LIKE", "ILIKE")
    return like and isinstance(word, Tok) and word.is_word("ANY", "SOME", "ALL")


def has_window(nodes: Sequence[Node]) -> bool:
    """Whether any part of it sees the rows of a window."""
    return any(t.is_word("OVER") for t in words_in(nodes))


def names_column(nodes: Sequence[Node]) -> bool:
    """Whether any column is read, in brackets as well: what reads none is a constant."""
    return any(t.kind is TokenKind.COLUMN for t in words_in(nodes))


def is_windowed(nodes: Sequence[Node], at: int) -> bool:
    """Whether a call whose brackets end before `at` is followed by OVER."""
    while at < len(nodes):
        node = nodes[at]
        if isinstance(node, Tok) and node.is_word("OVER"):
            return True
        if isinstance(node, Tok) and node.is_word("FILTER", "IGNORE", "RESPECT"):
            at += 2
        elif isinstance(node, Tok) and node.is_word("WITHIN"):
            at += 3
        else:
            return False
    return False


def variables_of(nodes: Sequence[Node]) -> frozenset[str]:
    """The names that lambdas of an expression bind."""
    found: set[str] = set()
    for before, node in pairwise(nodes):
        if isinstance(node, Tok) and node.is_symbol("->"):
            found |= {t.name.lower() for t in words_in([before]) if t.name}
    return frozenset(found)


def variable(nodes: Nodes) -> str:
    """The name that one argument of a lambda binds. Raises Opaque."""
    if len(nodes) != 1 or not isinstance(nodes[0], Tok) or not nodes[0].name:
        raise Opaque("a lambda")
    return nodes[0].name


def written(nodes: Sequence[Node]) -> list[object]:
    """Tokens as they are written, where names of columns become names of fields."""
    return [[n.opened, written(n.nodes)] if isinstance(n, TokenGroup) else (n.name or n.text) for n in nodes]


def conjuncts(nodes: Nodes) -> list[Nodes]:
    """The parts that AND joins; all of it as one, where an OR or a lambda takes them in."""
    if any(isinstance(n, Tok) and (n.is_word("OR") or n.is_symbol("->")) for n in nodes):
        return [nodes]
    return [tuple(part) for part in split_and(nodes, lambda n, word: isinstance(n, Tok) and n.is_word(word))]


def split_and(parts: Sequence[_T], means: Callable[[_T, str], bool]) -> list[list[_T]]:
    """What AND joins; the AND of BETWEEN is no such one."""
    found: list[list[_T]] = [[]]
    between = False
    for part in parts:
        if means(part, "AND") and not between:
            found.append([])
            continue
        between = means(part, "BETWEEN") or (between and not means(part, "AND"))
        found[-1].append(part)
    return found
