"""Of which intervals does the ledger say nothing but that they were built and audited? Told from its columns.

Entries that overlap, one after the other, are a group. A group is plain when all of its entries are of one and the same
interval, and a build of it that was over has the last word, whatever was said of builds before: it made the rows. Of
all other groups (what an audit failed on, what was withdrawn, intervals that overlap) the entries decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from backfill_assets.state.columns import pairs
from backfill_assets.state.ledger import DECIDING, Kind

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns, Flags, Numbers
    from backfill_assets.state.store import Keep
    from backfill_assets.state.versions import VersionKey


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
    verdicts: Numbers
    """Of which audits each of these is: the place in the column's values."""
    others: Stretches
    """The groups that are not plain."""
    in_others: int
    """How many entries are in these."""


def version_columns(said: Columns) -> list[VersionColumns]:
    """What columns of the ledger say of each version of which more is recorded than that batches began. Only the kinds
    that decide are looked at."""
    import numpy as np

    kind = said.texts["kind"]
    every, told = pairs(said.texts["model"], said.texts["version"])
    deciding = np.flatnonzero(kind.are(DECIDING))
    rows = deciding[np.lexsort((said.numbers["end"][deciding], said.numbers["start"][deciding], every[deciding]))]
    keys = every[rows]
    found: list[VersionColumns] = []
    for key in np.unique(every[kind.are(DECIDING | {Kind.FAILED})]).tolist():
        first, last = np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right")
        found.append(_version(told(key), said, rows[first:last]))
    return found


def _version(key: VersionKey, said: Columns, rows: Numbers) -> VersionColumns:
    """Of one version, from its rows by start and end."""
    import numpy as np

    start, end, commit, number, through = (
        said.numbers[name][rows] for name in ("start", "end", "table_commit", "sequence", "through")
    )
    batch = said.texts["batch"].codes[rows]
    kind = said.texts["kind"].at(rows)
    built, audited = kind.are((Kind.BUILT,)), kind.are((Kind.AUDITED,))
    reach, first = _groups(start, end)
    if not len(first):
        none = np.zeros(0, np.int64)
        nothing = Intervals(start=none, end=none, commit=none, rows=none)
        return VersionColumns(
            key=key, batches=0, even=True, decides=False, commit=-1, plain=nothing, passed=none, verdicts=none,
            others=Stretches(key=key, start=none, end=none), in_others=0,
        )  # fmt: skip
    group = _which(first, len(rows))
    same = _same(start, end, first)
    # Who has the last word is told as `coverage` tells it: by table commit, then by number. Those that have the same of
    # both (older releases gave no number) have it together, and then their times would decide.
    newest = ~audited & (commit == _most(np.where(audited, _LEAST, commit), first)[group])
    newest &= number == _most(np.where(newest, number, _LEAST), first)[group]
    alone = np.add.reduceat(newest.astype(np.int64), first) == 1
    plain = same & alone & np.logical_or.reduceat(newest & built & (through == 0), first)
    maker = np.full(len(first), -1, np.int64)
    last = np.flatnonzero(newest & plain[group])
    maker[group[last]] = batch[last]
    plain &= ~np.logical_or.reduceat(~(built | audited) & (batch == maker[group]), first)  # what is said of these rows
    made = last[plain[group[last]]]  # one of each plain group, in their order
    place = np.cumsum(plain) - 1
    verdict = np.flatnonzero(audited & plain[group] & (batch == maker[group]))
    builds = int(built.sum())
    return VersionColumns(
        key=key,
        batches=builds,
        even=len(np.unique(batch[built])) == builds == len(np.unique(commit[built])),
        decides=True,
        commit=int(commit.max()),
        plain=Intervals(start=start[made], end=end[made], commit=commit[made], rows=said.numbers["rows"][rows][made]),
        passed=place[group[verdict]],
        verdicts=said.texts["audits"].codes[rows][verdict],
        others=Stretches(key=key, start=start[first][~plain], end=_ends(reach, first)[~plain]),
        in_others=int((~plain)[group].sum()),
    )


def last_words(said: Columns) -> list[Stretches]:
    """Where the last word of a version's STARTED, BUILT and FAILED entries may be that a batch began, by groups of them
    as above. Groups of several intervals are all among them."""
    import numpy as np

    kind, sequence = said.texts["kind"], said.numbers["sequence"]
    every, told = pairs(said.texts["model"], said.texts["version"])
    some = np.flatnonzero(kind.are((Kind.STARTED, Kind.BUILT, Kind.FAILED)))
    rows = some[np.lexsort((said.numbers["end"][some], said.numbers["start"][some], every[some]))]
    began = kind.at(rows).are((Kind.STARTED,))
    keys, begins = np.unique(every[rows], return_index=True)
    found: list[Stretches] = []
    for key, (begin, over) in zip(keys.tolist(), pairwise([*begins.tolist(), len(rows)]), strict=True):
        start, end = (said.numbers[name][rows[begin:over]] for name in ("start", "end"))
        reach, first = _groups(start, end)
        number = sequence[rows[begin:over]]
        newest = number == np.maximum.reduceat(number, first)[_which(first, len(number))]
        open_ = np.logical_or.reduceat(newest & began[begin:over], first) | ~_same(start, end, first)
        found.append(Stretches(key=told(key), start=start[first][open_], end=_ends(reach, first)[open_]))
    return found


_LEAST = -(2**63)


def _most(numbers: Numbers, first: Numbers) -> Numbers:
    """The largest number of each group."""
    import numpy as np

    return np.maximum.reduceat(numbers, first)


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
