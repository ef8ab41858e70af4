"""A text that remembers how it was made, so that a part of it can be made otherwise and the rest stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

Path = tuple[int, ...]
Part = "str | Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of a query. `again` makes another in its place; `others` are the texts that it could be instead.

    `separator`: its parts are a list of at least `least` items. Two parts of one `kind` and `scope` may change places.
    """

    parts: tuple[str | Node, ...]
    kind: str = ""
    scope: object = None
    again: Callable[[], Node] | None = None
    others: tuple[str, ...] = ()
    separator: str | None = None
    least: int = 1

    def __str__(self) -> str:
        return (self.separator or "").join(map(str, self.parts))


def seq(*parts: str | Node) -> Node:
    return Node(parts=parts)


def listed(items: Sequence[str | Node], separator: str = ", ", least: int = 1) -> Node:
    return Node(parts=tuple(items), separator=separator, least=least, kind="list")


def nodes(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    yield path, node
    for index, part in enumerate(node.parts):
        if isinstance(part, Node):
            yield from nodes(part, (*path, index))


def put(node: Node, path: Path, new: Node) -> Node:
    """The tree with another part at a path."""
    if not path:
        return new
    inner = node.parts[path[0]]
    assert isinstance(inner, Node)
    parts = list(node.parts)
    parts[path[0]] = put(inner, path[1:], new)
    return replace(node, parts=tuple(parts))
