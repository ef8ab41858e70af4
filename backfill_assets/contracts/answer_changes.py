"""What of a consumer's answer is another one over the new rows? In words, from two stored answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

StoredAnswer = Mapping[str, Any]
"""An answer as plain values (`Reruns.to_json`)."""
MOST_NAMED = 3
"""How many columns, or values of a row, are told."""


def answer_changes(shown: StoredAnswer | None, candidate: StoredAnswer) -> str:
    """How many rows came or went, which totals moved, and else which value of the first rows; "" where nobody can tell.

    >>> answer_changes({"rows": 3, "sums": {"spend": 200.0}}, {"rows": 2, "sums": {"spend": 150.0}})
    '3 rows → 2; spend, total 200 → 150 (-25.0 %)'
    """
    if shown is None or shown.get("error") or candidate.get("error"):
        return ""
    found = [f"{shown['rows']:,} rows → {candidate['rows']:,}"] if shown["rows"] != candidate["rows"] else []
    found += list(_columns(shown, candidate))
    sums = list(_sums(shown.get("sums", {}), candidate.get("sums", {})))
    found += sums[:MOST_NAMED] + ([f"and {len(sums) - MOST_NAMED} more totals"] if len(sums) > MOST_NAMED else [])
    if not sums:
        found += list(_values(shown, candidate))[:MOST_NAMED]
    same = shown.get("checksum") == candidate.get("checksum")
    return "; ".join(found) or ("the same values" if same else "other values, the same totals")


def _columns(shown: StoredAnswer, candidate: StoredAnswer) -> Iterator[str]:
    old, new = shown.get("columns", ()), candidate.get("columns", ())
    if more := [c for c in new if c not in old]:
        yield f"new: {', '.join(more)}"
    if gone := [c for c in old if c not in new]:
        yield f"gone: {', '.join(gone)}"


def _sums(old: Mapping[str, float | None], new: Mapping[str, float | None]) -> Iterator[str]:
    """Totals that moved, the most moved first."""
    moves: list[tuple[float, str]] = []
    for name in old.keys() & new.keys():
        one, other = old[name], new[name]
        if one == other:
            continue
        if one is None or other is None or not one:
            moves.append((-1.0, f"{name}, total {_number(one)} → {_number(other)}"))
            continue
        share = (other - one) / abs(one)
        if abs(share) > 1e-9:
            percent = f"{100 * share:+.1f} %" if abs(share) >= 0.0005 else f"{100 * share:+.1g} %"
            moves.append((-abs(share), f"{name}, total {_number(one)} → {_number(other)} ({percent})"))
    yield from (text for _, text in sorted(moves))


def _values(shown: StoredAnswer, candidate: StoredAnswer) -> Iterator[str]:
    """What differs in the first row that does, of those that were kept."""
    if shown.get("columns") != candidate.get("columns"):
        return
    for one, other in zip_longest(shown.get("sample", ()), candidate.get("sample", ())):
        if one is None or other is None:
            return
        if one != other:
            row = ", ".join(str(v) for v, w in zip(one, other, strict=False) if v == w)
            for name, v, w in zip(shown["columns"], one, other, strict=False):
                if v != w:
                    yield f"{name} {v} → {w}{f' ({row})' if row else ''}"
            return


def _number(value: float | None) -> str:
    return (
        "none" if value is None else f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"
    )
