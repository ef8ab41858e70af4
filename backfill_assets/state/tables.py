"""What is in a version's table, as its own log says? And which of its commits does the ledger not know?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from backfill_assets.core.errors import DamagedLogError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.segments import IntervalCounts, Segments
from backfill_assets.state.changes import Changes
from backfill_assets.state.history import VersionHistory
from backfill_assets.state.ledger import Coverage, Dirt, Entry, Kind, coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCommit:
    """A commit of rows. `batch` and `interval` come from its metadata; both are empty in a foreign one.

    `rows` are those that a batch computed (read from the log alone: those that were written), `bytes` what was written.
    """

    table_commit: int
    batch: str
    interval: Interval | None
    rows: int
    bytes: int
    changes: Changes | None = None
    """What a MERGE did to rows; None for one that replaced its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Files and rows of a table at a commit, by start of the interval, as its log says."""

    files: Mapping[datetime, int]
    rows: Mapping[datetime, int]

    def of(self, interval: Interval) -> IntervalCounts:
        """What there is of an interval."""
        files, rows = (sum(n for at, n in counts.items() if interval.holds(at)) for counts in (self.files, self.rows))
        return IntervalCounts(interval=interval, files=files, rows=rows)


class TableLog(Protocol):
    """Reads the logs of version tables, without a JVM."""

    def head(self, model: str, version: str) -> int:
        """The number of the newest commit; -1 when there is no table."""
        ...

    def commits(self, model: str, version: str) -> list[DataCommit]:
        """Every commit that changed rows, oldest first."""
        ...

    def rows(self, model: str, version: str, commit: int) -> Mapping[datetime, int]:
        """Rows per value of the interval column (UTC instants) at a commit, from file statistics."""
        ...

    def files(self, model: str, version: str, commit: int) -> Mapping[datetime, frozenset[str]]:
        """The files per value of the interval column at a commit: where they are equal, the rows are."""
        ...

    def contents(self, model: str, version: str, commit: int) -> Contents:
        """How many files and rows there are of each. Raises StateError when the table is gone or damaged."""
        ...


@dataclass(frozen=True, slots=True)
class OneLook:
    """A TableLog that looks up the newest commit of each table once, for whoever asks for it several times."""

    log: TableLog
    heads: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def head(self, model: str, version: str) -> int:
        if (key := (model, version)) not in self.heads:
            self.heads[key] = self.log.head(model, version)
        return self.heads[key]

    def commits(self, model: str, version: str) -> list[DataCommit]:
        return self.log.commits(model, version)

    def rows(self, model: str, version: str, commit: int) -> Mapping[datetime, int]:
        return self.log.rows(model, version, commit)

    def files(self, model: str, version: str, commit: int) -> Mapping[datetime, frozenset[str]]:
        return self.log.files(model, version, commit)

    def contents(self, model: str, version: str, commit: int) -> Contents:
        return self.log.contents(model, version, commit)


def known_head(log: TableLog, model: str, version: str) -> int:
    """The newest commit; -1 where there is no table, or its log is damaged: for whoever looks at many.

    That is no reason to say nothing of other tables: `rehearse` says what is wrong with one that is shown. Whoever
    reads the table, writes it, or records anything of what it has, asks the log itself, and is refused.
    """
    try:
        return log.head(model, version)
    except DamagedLogError:
        return -1


def rows_of(log: TableLog, model: str, segments: Segments) -> dict[datetime, int]:
    """Rows by instant of segments of a model's tables, from file statistics.

    Raises StateError for a table that is gone or damaged.
    """
    return {
        at: rows
        for s in segments
        for at, rows in sorted(log.rows(model, s.version, s.commit).items())
        if s.interval.holds(at)
    }


def still_there(log: TableLog, model: str, segments: Segments) -> Segments:
    """The segments of a model whose table nobody has deleted."""
    return Segments(s for s in segments if known_head(log, model, s.version) >= s.commit)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """The folder of a version's table: what is in it, files of older commits and of writers that died included."""

    model: str
    version: str
    files: int
    bytes: int


_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """What was found of a segment's files: how many there are, and what is wrong with those that cannot be read."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    broken: tuple[str, ...] = ()
    at: frozenset[datetime] = frozenset()
    """The starts of the intervals whose files these are; empty where it is the whole table."""

    def damaged(self, interval: Interval) -> Ranges:
        """Of this interval, which was looked at, what cannot be read: starts only, where single files are."""
        if not self.broken:
            return NOTHING
        return Ranges.of(Interval(at, at + _MOMENT) for at in self.at) or Ranges((interval,))


class TableStorage(Protocol):
    """The folders of version tables, without a JVM."""

    def tables(self) -> list[StoredTable]:
        """Every folder that looks like a version's table."""
        ...

    def readable(self, model: str, version: str, commit: int, interval: Interval, *, footers: bool = True) -> Readable:
        """Whether the files of an interval are all there, at a commit, of their sizes, and (`footers`) have the rows
        that the log says."""
        ...

    def last_look(self, model: str, version: str, interval: Interval) -> float | None:
        """When an interval's files were last found to be there from here, in seconds since 1970; 0.0: they were not,
        when somebody looked last; 1.0: nobody looked. None where nobody remembers it."""
        ...

    def remove(self, model: str, version: str) -> None:
        """Delete the table's folder, its log first: what is left of it after a crash is no table. Again is harmless."""
        ...


def version_coverage(
    entries: Sequence[Entry], log: TableLog, *, model: str, version: str, audits: str, over: datetime | None = None
) -> tuple[Coverage, int]:
    """What a version amounts to now, and the table commit that this was seen at (-1: there is no table).

    `entries` are the version's own; what is partial counts if its interval ends after `over` (None: never). A table
    that vanished covers nothing, whatever the ledger says. Raises DamagedLogError: what is there cannot be told, and
    nothing is to be recorded of it.
    """
    head = log.head(model, version)
    if head < 0:
        return _without_table(entries, audits), head
    if isinstance(entries, VersionHistory) and entries.is_whole(head):
        return entries.coverage(audits, over), head
    there, spots = compare_log(entries, log, model, version, head)
    return coverage(there, audits=audits, over=over, dirt=spots, commit=head), head


def known_coverage(
    entries: Sequence[Entry], log: TableLog, *, model: str, version: str, audits: str, over: datetime | None = None
) -> tuple[Coverage, int]:
    """The same for whoever looks at many models: a table whose log is damaged covers nothing either."""
    try:
        return version_coverage(entries, log, model=model, version=version, audits=audits, over=over)
    except DamagedLogError:
        return _without_table(entries, audits), -1


def _without_table(entries: Sequence[Entry], audits: str) -> Coverage:
    return coverage([e for e in entries if e.kind in (Kind.EMPTY, Kind.WITHDRAWN)], audits=audits)


def vouched(
    entries: Sequence[Entry], log: TableLog, *, model: str, version: str, commit: int, partial: bool = False
) -> Ranges:
    """The intervals whose rows, at a commit, are of a batch that the ledger knows and no audit has failed since.

    `entries` are the version's own. What was built while it was open counts if `partial`: as what is shown does.
    """
    head = log.head(model, version)
    if head < commit:
        return NOTHING
    there, spots = compare_log(entries, log, model, version, head)
    failed: dict[str, list[Interval]] = defaultdict(list)
    for entry in there:
        if entry.kind is Kind.INVALIDATED:
            failed[entry.batch].append(entry.interval)
    over = datetime.min.replace(tzinfo=UTC) if partial else None
    found = coverage(there, audits="", over=over, dirt=spots, commit=commit)
    return Ranges.of(
        good for part, entry in found.sources for good in Ranges((part,)) - Ranges.of(failed.get(entry.batch, ()))
    )


def compare_log(
    entries: Sequence[Entry], log: TableLog, model: str, version: str, head: int
) -> tuple[Sequence[Entry], list[Dirt]]:
    """The entries whose batch is in the table (or that are about none), and the commits that have no entry. `head` is
    the table's newest commit.

    A batch is not in the table when the folder was deleted, or restored from a backup, and made anew: its entries must
    not vouch for commits that only have the same numbers.
    """
    recorded = {e.batch: e.table_commit for e in entries if e.kind is Kind.BUILT}
    if head == len(recorded) == len(set(recorded.values())):  # commit 0 creates the table; each later one is a batch
        return entries, []
    commits = log.commits(model, version)
    gone = recorded.keys() - {c.batch for c in commits}
    spots = [
        Dirt(table_commit=c.table_commit, interval=c.interval if c.batch else None, batch=c.batch)
        for c in commits
        if c.batch not in recorded
    ]
    return [e for e in entries if e.batch not in gone], spots
