"""What came to a source after rows were computed from it, and which of a model's intervals does that reach?

By its log, or by its files' times: the watch tells late data so, routine runs what they settle, and the gate which rows
are older than those that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pin import Pin, made_anew
from backfill_assets.plan.patch import affected_interval

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """Something that changed a source's rows: a Delta commit, or a file that was written.

    `touches` is the time that its files may hold rows of; None: they do not say.
    """

    name: str
    touches: Ranges | None
    commit: int = -1
    at: datetime | None = None
    """Of a file: when it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHistory:
    """What is known of a source's changes: those after the commit `since`, or all its files as they are now."""

    changes: Sequence[SourceChange] = ()
    since: int = -1
    """Delta: what came after this commit is known, what came until then is not."""
    head: int = -1
    """Delta: the newest commit."""
    tables: Sequence[tuple[int, str]] = ()
    """Delta: the table's id from a commit on, as far as that is known; oldest first. A table that was deleted and made
    again has another one; so has one that was replaced within its log."""
    digest: str = ""
    """Files: of all of them, as a pin says it."""
    unwatched: str = ""
    """Why nobody can tell; the rest is empty then."""

    def table_at(self, commit: int) -> str:
        """The table's id at a commit; empty where it is not known."""
        return next((table for since, table in reversed(self.tables) if since <= commit), "")


def changes_since(said: Pin, began: datetime, history: SourceHistory) -> list[SourceChange]:
    """The changes that came after what a batch read that `began` then."""
    if "commit" in said:
        read = cast(int, said["commit"])
        if read > history.head or made_anew(said, _table_at(history, read)):
            return [SourceChange(name="the table was made anew", touches=None)]
        return [c for c in history.changes if c.commit > read]
    if said["files"] == history.digest:
        return []
    return _files_since(said, began, history)


def touched_by(model: Model, changes: list[SourceChange], back: timedelta) -> tuple[Ranges, list[SourceChange], bool]:
    """The model's intervals that the changes reach, the changes, and whether one of them does not say. `back`: how much
    earlier than a source says what it changed may belong."""
    vague = any(c.touches is None for c in changes)
    spans = (t for c in changes if c.touches is not None for t in c.touches)
    touched = Ranges.of(Interval(max(t.start, _FIRST + back) - back, t.end) for t in spans)
    return Ranges.of(affected_interval(model, None, t) for t in touched), changes, vague


def _table_at(history: SourceHistory, commit: int) -> Pin:
    table = history.table_at(commit)
    return {"table": table} if table else {}


def _files_since(said: Pin, began: datetime, history: SourceHistory) -> list[SourceChange]:
    """The files that were written after the batch ended, and, where these do not explain it, that some are gone.

    A batch checks before it begins that the files are those of its plan, so a younger file is another one.
    """
    young = [c for c in history.changes if c.at is not None and c.at > began]
    old, count = len(history.changes) - len(young), cast(int, said.get("count", 0))
    if old > count or count - old > len(young) or not young:
        gone = "files were removed, or replaced by ones with an older time"
        return [*young, SourceChange(name=gone, touches=None)]
    return young
