"""What came to a source after rows were computed from it, and which of a model's intervals does that reach?

By its log, or by its files' times: the watch tells late data so, routine runs what they settle, and the gate which rows
are older than those that are shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.name_sum import are_gone
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
    coarse: bool = False
    """Whether a file of it has rows of several days, and does not say which of them are others now."""


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
    digests: Collection[str] = ()
    """Files: of all of them, as a pin says it, or one of an earlier release."""
    unwatched: str = ""
    """Why nobody can tell; the rest is empty then."""

    def table_at(self, commit: int) -> str:
        """The table's id at a commit; empty where it is not known."""
        return next((table for since, table in reversed(self.tables) if since <= commit), "")


def changes_since(said: Pin, began: datetime, history: SourceHistory) -> list[SourceChange]:
    """The changes that came after what a batch read that `began` then."""
    if "commit" in said:
        read = cast(int, said["commit"])
        if _anew(said, history):
            return [SourceChange(name="the table was made anew", touches=None)]
        return [c for c in history.changes if c.commit > read]
    if said["files"] in history.digests:
        return []
    return _files_since(said, began, history)


Reached = tuple[Ranges, Sequence[SourceChange], bool]
"""A model's intervals that changes reach, these changes, and whether one of them does not say what it touches."""


def touched_by(model: Model, changes: Sequence[SourceChange], back: timedelta) -> Reached:
    """The model's intervals that the changes reach, the changes, and whether one of them does not say. `back`: how much
    earlier than a source says what it changed may belong."""
    spans = Ranges.of(span for change in changes for span in spans_of(change, back))
    return _reached(model, spans), changes, any(c.touches is None for c in changes)


class TouchedSince:
    """What `touched_by` says of what came after any commit of a Delta source: added up once, from the newest change to
    the oldest. A source has a commit a day, and so have the batches that read it."""

    def __init__(self, model: Model, history: SourceHistory, back: timedelta) -> None:
        self._model, self._history, self._back = model, history, back
        self._changes = sorted(history.changes, key=lambda c: c.commit)
        spans, vague = NOTHING, False
        self._after = [(spans, vague)]
        for change in reversed(self._changes):
            spans = spans | Ranges.of(spans_of(change, back))
            vague = vague or change.touches is None
            self._after.append((spans, vague))
        self._after.reverse()
        self._commits = [c.commit for c in self._changes]

    def since(self, said: Pin, began: datetime) -> Reached:
        """The intervals touched by changes of the source after the pin `said`, for a batch that began at `began`."""
        if "commit" not in said or _anew(said, self._history):
            return touched_by(self._model, changes_since(said, began, self._history), self._back)
        at = bisect_right(self._commits, cast(int, said["commit"]))
        spans, vague = self._after[at]
        return _reached(self._model, spans), self._changes[at:], vague


def spans_of(change: SourceChange, back: timedelta) -> list[Interval]:
    """The times that a change touches; `back`: how much earlier than it says its rows may belong."""
    return [Interval(max(t.start, _FIRST + back) - back, t.end) for t in change.touches or ()]


def _reached(model: Model, spans: Ranges) -> Ranges:
    return Ranges.of(affected_interval(model, None, span) for span in spans)


def _anew(said: Pin, history: SourceHistory) -> bool:
    """Whether the table was made anew since a commit of it was read."""
    read = cast(int, said["commit"])
    return read > history.head or made_anew(said, _table_at(history, read))


def _table_at(history: SourceHistory, commit: int) -> Pin:
    table = history.table_at(commit)
    return {"table": table} if table else {}


def _files_since(said: Pin, began: datetime, history: SourceHistory) -> list[SourceChange]:
    """The files that were written after the batch ended, and, where these do not explain it, that some are gone.

    A batch checks before it begins that the files are those of its plan, so a younger file is another one.
    """
    young = [c for c in history.changes if c.at is not None and c.at > began]
    old = [c.name for c in history.changes if c.at is None or c.at <= began]
    if not young or _are_gone(said, old, [c.name for c in young]):
        gone = "files were removed, or replaced by ones with an older time"
        return [*young, SourceChange(name=gone, touches=None)]
    return young


def _are_gone(said: Pin, old: Sequence[str], young: Sequence[str]) -> bool:
    """Whether some of the files that were read are not there any more, as far as their number and names tell."""
    count = cast(int, said.get("count", 0))
    if "names" in said:
        return are_gone(cast(str, said["names"]), count, old, young)
    return not 0 <= count - len(old) <= len(young)
