"""A pair on which something is wrong, made as small as it stays wrong: for people to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from backfill_assets_tests.fuzz.case import Pair

_TOKEN = re.compile(
    r"\s*(?:'(?:[^'\\]|\\.|'')*'|\"[^\"]*\"|`[^`]*`|\w+(?:\.\w+)*|<=>|\|>|<>|<=|>=|!=|\|\||<<|>>|->|::|.)", re.DOTALL
)
Aligned = list[tuple[str, str]]
"""Tokens of the old text beside those of the new one; empty where only one has any."""


def shrunk(pair: Pair, wrong: Callable[[Pair], bool], budget: int = 400) -> Pair:
    """The smallest pair found of which `wrong` still holds. `budget`: how often that may be asked."""
    left = budget

    def still(candidate: Pair) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and candidate.old != candidate.new and wrong(candidate)

    moved = True
    while moved and left > 0:
        moved = False
        for candidate in _smaller(pair):
            if left <= 0:
                break
            if still(candidate):
                pair, moved = candidate, True
                break
    return pair


def _smaller(pair: Pair) -> Iterator[Pair]:
    """Candidates, those that leave out most first."""
    for name in reversed(list(pair.old)):
        if len(pair.old) > 1:
            yield replace(pair, old=_without(pair.old, name), new=_without(pair.new, name))
    parts: list[tuple[int, Pair]] = []
    for name in pair.old:
        aligned = _aligned(pair.old[name], pair.new[name])
        for keep, size in _cuts(aligned):
            kept = [aligned[i] for i in keep]
            old, new = "".join(o for o, _ in kept).strip(), "".join(n for _, n in kept).strip()
            parts.append((size, replace(pair, old={**pair.old, name: old}, new={**pair.new, name: new})))
    yield from (candidate for _, candidate in sorted(parts, key=lambda p: -p[0]))


def _cuts(aligned: Aligned) -> Iterator[tuple[list[int], int]]:
    """Which tokens to keep, and how many go: balanced parentheses and some tokens in a row."""
    count = len(aligned)
    everything = range(count)

    def without(first: int, last: int) -> tuple[list[int], int]:
        return [i for i in everything if not first <= i < last], last - first

    opened: list[int] = []
    for index, (old, new) in enumerate(aligned):
        text = (old or new).strip()
        if text == "(":
            opened.append(index)
        elif text == ")" and opened:
            first = opened.pop()
            yield without(first, index + 1)
            if first:
                yield without(first - 1, index + 1)
            yield [i for i in everything if i not in (first, index)], 2
            if first:
                yield [i for i in everything if i not in (first - 1, first, index)], 3
                yield [i for i in everything if first < i < index], count - (index - first - 1)
    for size in (24, 12, 8, 6, 5, 4, 3, 2, 1):
        for first in range(count - size + 1):
            if size <= 6 or first % (size // 3) == 0:
                yield without(first, first + size)


def _aligned(old: str, new: str) -> Aligned:
    one, other = _TOKEN.findall(old), _TOKEN.findall(new)
    found: Aligned = []
    matcher = SequenceMatcher(a=[t.strip() for t in one], b=[t.strip() for t in other], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            found += zip(one[i1:i2], other[j1:j2], strict=True)
        else:
            found += [(token, "") for token in one[i1:i2]]
            found += [("", token) for token in other[j1:j2]]
    return found


def _without(models: object, name: str) -> dict[str, str]:
    assert isinstance(models, dict)
    return {n: t for n, t in models.items() if n != name}
