"""What is reached from names, step by step: the models above or below others."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def reach(names: Iterable[str], step: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """All that steps lead to from these names, the nearest first, each once.

    >>> reads = {"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": ()}
    >>> reach(["d"], lambda name: reads[name])
    ('b', 'c', 'a')
    """
    found, level = dict[str, None](), list(names)
    while level:
        level = list(dict.fromkeys(to for name in level for to in step(name) if to not in found))
        found.update(dict.fromkeys(level))
    return tuple(found)
