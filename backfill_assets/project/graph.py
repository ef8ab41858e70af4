"""In which order do models depend on each other, and where is a cycle?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter


def ordered(upstreams: Mapping[str, Iterable[str]]) -> list[str]:
    """The keys, each after all keys that it depends on; by name where that leaves a choice.

    Raises graphlib.CycleError when there is no such order.

    >>> ordered({"b": ["a"], "a": [], "c": []})
    ['a', 'c', 'b']
    """
    sorter = TopologicalSorter({key: [u for u in above if u in upstreams] for key, above in upstreams.items()})
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order


def cycles(upstreams: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """One chain for each knot of models that depend on themselves: `("a", "b", "a")` says that a reads b, b reads a.

    >>> cycles({"a": ["b"], "b": ["a"], "c": ["a"]})
    [('a', 'b', 'a')]
    """
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start in sorted(upstreams):
        path: list[str] = []
        on_path: set[str] = set()
        pending = [(start, iter(sorted(u for u in upstreams[start] if u in upstreams)))] if start not in done else []
        while pending:
            node, above = pending[-1]
            if not path or path[-1] != node:
                path.append(node)
                on_path.add(node)
            for upstream in above:
                if upstream in on_path:
                    found.append((*path[path.index(upstream) :], upstream))
                elif upstream not in done:
                    pending.append((upstream, iter(sorted(u for u in upstreams[upstream] if u in upstreams))))
                    break
            else:
                pending.pop()
                path.pop()
                on_path.discard(node)
                done.add(node)
    return found
