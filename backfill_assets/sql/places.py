"""On which line is a part of a parsed query?"""

from __future__ import annotations

from sqlglot import exp


def line_of(node: exp.Expr) -> int:
    """The line of the first name in a tree that has a position (1 when none has)."""
    for inner in node.walk(bfs=False):
        if (line := inner.meta_get("line")) is not None:
            return line
    sibling = node.parent
    return next((n.meta_get("line") for n in sibling.walk() if n.meta_get("line")), 1) if sibling else 1
