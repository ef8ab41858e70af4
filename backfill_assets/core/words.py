"""How are names said in a sentence?"""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', '')
    """
    every = list(names)
    return f"{', '.join(every[:-1])} {last} {every[-1]}" if len(every) > 1 else "".join(every)
