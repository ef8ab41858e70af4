"""Of which intervals does the ledger say nothing but that they were built and audited? Told from its columns.

Entries that overlap, one after the other, are a group. A group is plain when all of its entries are of one and the same
interval, and a build of it that was over has the last word, whatever was said of builds before: it made the rows. Of
all other groups (what an audit failed on, what was withdrawn, intervals that overlap) the entries decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill_assets.state.columns import pairs
from backfill_assets.state.entries import DECIDING, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from backfill_assets.state.columns import Columns, Flags, Numbers
    from backfill_assets.state.ledger_rows import VersionRows
    from backfill_assets.state.store import Keep
    from backfill_assets.state.versions import VersionKey


_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Some intervals of a version by start, each as its newest build left it."""

    start: Numbers
    end: Numbers
    commit: Numbers
    rows: Numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretches:
    """Stretches of time of one version, by start, that do not overlap."""

    key: VersionKey
    start: Numbers
    end: Numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VersionColumns:
    """What the ledger says of one version."""

    key: VersionKey
    batches: int
    """BUILT entries."""
    even: bool
    """Whether each of these is of a batch and a table commit of its own."""
    decides: bool
    """Whether there is more than that batches failed."""
    commit: int
    """The newest table commit that an entry names."""
    plain: Intervals
    passed: Numbers
    """Places in `plain` that have a verdict, once a verdict."""
    verdicts: NDArray[np.int32]
    """Of which audits each of these is: the place among the ledger's digests."""
    others: Stretches
    """The groups that are not plain."""
    in_others: int
    """How many entries are in these."""
    since: int
    """The smallest number of these."""


def version_columns(key: VersionKey, rows: VersionRows) -> VersionColumns:
    """What its rows say of a version. Only the kinds that decide are looked at."""
    import numpy as np

    rows = rows.at(rows.are(DECIDING))
    built, audited = rows.are((Kind.BUILT,)), rows.are((Kind.AUDITED,))
    reach, first = _groups(rows.start, rows.end)
    if not len(first):
        none = np.zeros(0, np.int64)
        nothing = Intervals(start=none, end=none, commit=none, rows=none)
        return VersionColumns(
            key=key, batches=0, even=True, decides=False, commit=-1, plain=nothing, passed=none,
            verdicts=none.astype(np.int32),
            others=Stretches(key=key, start=none, end=none), in_others=0, since=_MOST,
        )  # fmt: skip
    group = _which(first, len(rows))
    same = _same(rows.start, rows.end, first)
    commit = rows.commit.astype(np.int64)
    newest = _last_words(rows, ~audited, first, group)
    alone = np.add.reduceat(newest.astype(np.int64), first) == 1
    plain = same & alone & np.logical_or.reduceat(newest & built & (rows.partial == 0), first)
    maker = np.zeros(len(first), np.int64)
    last = np.flatnonzero(newest & plain[group])
    maker[group[last]] = rows.batch[last]
    of_maker = plain[group] & (rows.batch == maker[group])
    plain &= ~np.logical_or.reduceat(~(built | audited) & of_maker, first)  # something was said of these rows
    made = last[plain[group[last]]]  # one of each plain group, in their order
    place = np.cumsum(plain) - 1
    verdict = np.flatnonzero(audited & of_maker & plain[group])
    builds, others = int(built.sum()), ~plain[group]
    return VersionColumns(
        key=key,
        batches=builds,
        even=_differ(rows.batch[built]) and _differ(commit[built]),
        decides=True,
        commit=int(commit.max()),
        plain=Intervals(start=rows.start[made], end=rows.end[made], commit=commit[made], rows=rows.rows[made]),
        passed=place[group[verdict]],
        verdicts=rows.audits[verdict],
        others=Stretches(key=key, start=rows.start[first][~plain], end=_ends(reach, first)[~plain]),
        in_others=int(others.sum()),
        since=int(rows.number[others].min(initial=_MOST)),
    )


def _last_words(rows: VersionRows, among: Flags, first: Numbers, group: Numbers) -> Flags:
    """Which of these rows have the last word in their groups, as `coverage` tells it: by table commit, then by number.
    Those that have the same of both (older releases gave no number) have it together, and then their times would
    decide."""
    import numpy as np

    commit = rows.commit.astype(np.int64)
    newest = among & (commit == _most(np.where(among, commit, _LEAST), first)[group])
    return newest & (rows.number == _most(np.where(newest, rows.number, _LEAST), first)[group])


def not_built_last(key: VersionKey, rows: VersionRows) -> tuple[Stretches, int]:
    """Where another word than that it was built is the last one of a version's intervals, on its rows or on its
    batches, and the smallest number of these entries; by groups as above. Groups of several intervals are all among
    them."""
    import numpy as np

    rows = rows.at(~rows.are((Kind.AUDITED,)))
    if not len(rows):
        return Stretches(key=key, start=rows.start, end=rows.end), _MOST
    reach, first = _groups(rows.start, rows.end)
    group, deciding = _which(first, len(rows)), rows.are(DECIDING)
    built = rows.are((Kind.BUILT,))
    batches = built | ~deciding
    newest = rows.number == _most(np.where(batches, rows.number, _LEAST), first)[group]
    other = (_last_words(rows, deciding, first, group) & ~built) | (newest & batches & ~built)
    left = np.logical_or.reduceat(other, first) | ~np.logical_or.reduceat(built, first)
    left |= ~_same(rows.start, rows.end, first)
    left &= np.logical_or.reduceat(rows.are((Kind.STARTED, Kind.FAILED, Kind.INVALIDATED)), first)
    where = Stretches(key=key, start=rows.start[first][left], end=_ends(reach, first)[left])
    return where, int(rows.number[left[group]].min(initial=_MOST))


def _most(numbers: Numbers, first: Numbers) -> Numbers:
    """The largest number of each group."""
    import numpy as np

    return np.maximum.reduceat(numbers, first)


def _differ(numbers: Numbers) -> bool:
    """Whether none of them is there twice."""
    import numpy as np

    found = np.sort(numbers)
    return bool((found[1:] != found[:-1]).all())


def _groups(start: Numbers, end: Numbers) -> tuple[Numbers, Numbers]:
    """How far intervals reach, by start, with all before them; and the first of each group of those that overlap, one
    after the other."""
    import numpy as np

    reach = np.maximum.accumulate(end)
    begins = np.ones(len(start), np.bool_)
    begins[1:] = start[1:] >= reach[:-1]
    return reach, np.flatnonzero(begins)


def _which(first: Numbers, rows: int) -> Numbers:
    """The group of each interval."""
    import numpy as np

    return np.repeat(np.arange(len(first)), np.diff(np.append(first, rows)))


def _ends(reach: Numbers, first: Numbers) -> Numbers:
    """The end of each group."""
    import numpy as np

    return reach[np.append(first[1:], len(reach)) - 1]


def _same(start: Numbers, end: Numbers, first: Numbers) -> Flags:
    """Whether all intervals of a group are one and the same."""
    import numpy as np

    one = np.maximum.reduceat(start, first) == start[first]
    return one & (np.maximum.reduceat(end, first) == np.minimum.reduceat(end, first))


def among(stretches: Sequence[Stretches]) -> Keep:
    """Says which rows begin in one of these stretches of their version."""
    import numpy as np

    places = {v.key: at for at, v in enumerate(stretches)}
    starts = np.concatenate([np.zeros(0, np.int64), *(v.start for v in stretches)])
    ends = np.concatenate([np.zeros(0, np.int64), *(v.end for v in stretches)])
    of = np.repeat(np.arange(len(stretches)), [len(v.start) for v in stretches])
    times = np.unique(starts)

    def ordered(version: Numbers, start: Numbers) -> Numbers:
        """In the order of versions, and of starts in each."""
        return version * (len(times) + 1) + np.searchsorted(times, start, "right")

    groups = ordered(of, starts)

    def keep(said: Columns) -> Flags:
        if not len(groups):
            return np.zeros(said.rows, np.bool_)
        every, told = pairs(said.texts["model"], said.texts["version"])
        keys, mine = np.unique(every, return_inverse=True)
        known = [places.get(told(key), -1) for key in keys.tolist()]
        version, start = np.array(known, np.int64)[mine], said.numbers["start"]
        at = np.searchsorted(groups, ordered(version, start), "right") - 1
        return (at >= 0) & (version >= 0) & (of[at] == version) & (start < ends[at])

    return keep
