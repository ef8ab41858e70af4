"""Which columns of two versions are one column under two names? Those of equal meaning, by the versions' signatures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from backfill_assets.core.model import Signature


def renamed_from(old: Signature, new: Signature, columns: Sequence[str]) -> dict[str, str]:
    """What columns (lower-cased) of a version were called in another one, where that was another name."""
    found: dict[str, str] = {}
    for column in columns:
        same = [before for before, meaning in old.columns.items() if meaning == new.columns.get(column)]
        if same and column not in same:
            found[column] = same[0]
    return found


def masked_under_any_name(masks: Collection[str], versions: Iterable[Signature]) -> frozenset[str]:
    """The masked columns (lower-cased), and those of any of the versions that are one of them by another name."""
    names = [(meaning, name) for version in versions for name, meaning in version.columns.items()]
    hidden = {meaning for meaning, name in names if name in masks}
    return frozenset(masks) | {name for meaning, name in names if meaning in hidden}
