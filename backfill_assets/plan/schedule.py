"""How long do tasks take side by side? Batches in a pool of workers, models each when what it reads is done."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from graphlib import TopologicalSorter
from itertools import count


def waves(seconds: Iterable[float], workers: int) -> float:
    """How long a pool of workers takes for tasks of these lengths, begun in this order, each as a worker is free.

    >>> waves([3, 1, 1, 1], 2)
    3
    """
    busy_until: list[float] = [0] * workers
    for task in seconds:
        heapq.heapreplace(busy_until, busy_until[0] + task)
    return max(busy_until)


def side_by_side(seconds: Mapping[str, float], reads: Mapping[str, Collection[str]], at_once: int) -> float:
    """How long models take of which each begins when those that it reads are done, at most `at_once` at a time.

    >>> side_by_side({"a": 5, "b": 2, "c": 1}, {"c": ["a", "b"]}, 2)
    6
    """
    graph = TopologicalSorter({name: reads.get(name, ()) for name in seconds})
    graph.prepare()
    now: float = 0
    order, ready, running = count(), deque[str](), list[tuple[float, int, str]]()
    while graph.is_active():
        ready.extend(graph.get_ready())
        while ready and len(running) < at_once:
            name = ready.popleft()
            heapq.heappush(running, (now + seconds[name], next(order), name))
        now, _, name = heapq.heappop(running)
        graph.done(name)
    return now
