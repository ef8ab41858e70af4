"""Is each of many names still there? Of those that were, only their number and the sum of their hashes are kept."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from functools import lru_cache
from hashlib import blake2b

_MODULUS = 2**64


def sum_of_names(names: Iterable[str]) -> str:
    """16 hex digits, the same in whichever order the names come."""
    return f"{sum(map(_hash, names)) % _MODULUS:016x}"


def are_gone(total: str, count: int, kept: Collection[str], came: Collection[str]) -> bool:
    """Whether some of the `count` names that add up to `total` are neither among `kept`, taken to have been there, nor
    among `came`, which may have been. False where nobody can tell: where more than two of `came` were there, and more
    than two were not.

    >>> before = sum_of_names(["a", "b", "c"])
    >>> are_gone(before, 3, ["a", "b"], ["c", "d", "e"]), are_gone(before, 3, ["a", "b"], ["d", "e"])
    (False, True)
    """
    there, hashes = count - len(kept), [*map(_hash, came)]
    if not 0 <= there <= len(hashes):
        return True
    rest = (int(total, 16) - sum(map(_hash, kept))) % _MODULUS
    if there > len(hashes) - there:  # those that were not there are fewer
        there, rest = len(hashes) - there, (sum(hashes) - rest) % _MODULUS
    known = set(hashes)
    match there:
        case 0:
            return rest != 0
        case 1:
            return rest not in known
        case 2:
            return not any((rest - one) % _MODULUS in known for one in hashes)
        case _:
            return False


@lru_cache(maxsize=2**17)
def _hash(name: str) -> int:
    return int.from_bytes(blake2b(os.fsencode(name), digest_size=8).digest(), "big")
