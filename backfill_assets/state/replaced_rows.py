"""Which published intervals would show other rows? By the data files behind two pointers, not by their versions."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.state.tables import DataCommit, TableLog


def replaced(before: Pointer | None, after: Pointer | None, log: TableLog, cadence: Cadence) -> Ranges:
    """The intervals that `before` shows and whose rows, or columns of them, are others in `after`, or gone.

    Rows are the same where both name one commit of a table, where the data files are the same, and where no commit in
    between wrote rows (`OPTIMIZE` only moves them). Raises StateError for a table that cannot be read.
    """
    if before is None:
        return NOTHING
    if after is None:
        return before.covers
    same = Ranges.of(
        part
        for one, other, common in before.segments.meetings(after.segments)
        if _columns_stay(before, one, after, other)
        for part in same_rows(before.model, one, other, Ranges((common,)), log, cadence)
    )
    return before.covers - same


def written_over(before: Pointer, after: Pointer, log: TableLog, cadence: Cadence) -> Ranges:
    """The intervals that both show of one table, and whose rows are others in `after`: somebody wrote over them."""
    return Ranges.of(
        part
        for one, other, common in before.segments.meetings(after.segments)
        if one.version == other.version
        for part in Ranges((common,)) - same_rows(before.model, one, other, Ranges((common,)), log, cadence)
    )


def same_rows(model: str, one: Segment, other: Segment, within: Ranges, log: TableLog, cadence: Cadence) -> Ranges:
    """Of intervals that two segments of a model have in common: those whose rows are the same in both."""
    if one.version != other.version:
        return NOTHING
    differ = within - same_files(model, one, other, within, log, cadence)
    if not differ:
        return within
    first, last = sorted((one.commit, other.commit))
    since = [c for c in log.commits(model, one.version) if first < c.table_commit <= last]
    return within - Ranges.of(u for u in differ.split(cadence) if any(_wrote(c, u) for c in since))


def same_files(model: str, one: Segment, other: Segment, within: Ranges, log: TableLog, cadence: Cadence) -> Ranges:
    """The same of two segments of one table: those whose rows are in the same files in both."""
    if one.commit == other.commit:
        return within
    here, there = (log.files(model, s.version, s.commit) for s in (one, other))
    odd = {at for at in here.keys() | there.keys() if here.get(at) != there.get(at)}
    return within - Ranges.of(u for u in within.split(cadence) if any(u.holds(at) for at in odd)) if odd else within


def _wrote(commit: DataCommit, unit: Interval) -> bool:
    """Whether a commit wrote rows of an interval: somebody else's may have anywhere."""
    return not commit.batch or commit.interval is None or commit.interval.intersection(unit) is not None


def _columns_stay(before: Pointer, one: Segment, after: Pointer, other: Segment) -> bool:
    """Whether all columns that a segment shows are there afterwards, of the same types to readers and in its table:
    older rows are shown in the types of the newest logic. New columns change no old one."""

    def lower(columns: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
        return {name.lower(): kind.lower() for name, kind in columns}

    shown, then = lower(before.columns), lower(after.columns)
    stored, kept = lower(one.columns or before.columns), lower(other.columns or after.columns)
    return all(then.get(n) == kind and kept.get(n) == stored[n] for n, kind in shown.items() if n in stored)
