"""Which release changed last what readers see, other than by what routine runs do? Was it a rollback, and does it undo
one?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from backfill_assets.state.releases import NOTHING_SHOWN, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A release that did more than routine runs do, and the one before it."""

    before: Release
    last: Release


def last_change(releases: Sequence[Release], models: Collection[str] = ()) -> Change | None:
    """The last release, of these that are oldest first, that did more than routine runs do; to `models`, where some are
    named."""
    for before, last in reversed(list(pairwise(releases))):
        if not last.settling and any(not m.growth and (not models or m.model in models) for m in last.moves):
            return Change(before=before, last=last)
    return None


def last_rollback(releases: Sequence[Release], models: Collection[str] = ()) -> Change | None:
    """The last change where it is a rollback; not one that undid another, nor one that took models out."""
    change = last_change(releases, models)
    if change is None or change.last.back_to in ("", NOTHING_SHOWN):
        return None
    return None if undone_by(change.last, releases, models) else change


def undone_by(rollback: Release, releases: Sequence[Release], models: Collection[str] = ()) -> Release | None:
    """The earlier rollback that a rollback undoes, as it goes back to what was before that; None: it undoes none."""
    earlier = last_change(releases[: releases.index(rollback)], models)
    undoes = earlier is not None and earlier.last.back_to and earlier.before.id == rollback.back_to
    return earlier.last if earlier and undoes else None
