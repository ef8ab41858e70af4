"""On which line is a part of a parsed query?"""

from __future__ import annotations

from sqlglot import exp


def line_of(node: exp.Expr) -> int:
    """The line of the first name in a tree that has a position; where none has, of one around it, or else 1."""
    for inner in node.walk(bfs=False):
        if (line := inner.meta_get("line")) is not None:
            return line
    around = node.parent.walk() if node.parent else ()
    return next((line for other in around if (line := other.meta_get("line"))), 1)
