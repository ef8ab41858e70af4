"""What does the ledger say of every version? Most intervals were built and audited, and that is all: columns tell it.

Entries are read of the others, and of a version that somebody asks for.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.lazy_sequence import LazySequence
from backfill_assets.core.segments import Segment
from backfill_assets.state.columns import instant
from backfill_assets.state.ledger import DECIDING, Coverage, Entry, Kind, Ledger, by_version, coverage
from backfill_assets.state.pieces import BuiltEntries, Pieces
from backfill_assets.state.plain_intervals import VersionColumns, among, version_columns

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from backfill_assets.state.columns import Columns, Flags, Numbers
    from backfill_assets.state.store import Keep
    from backfill_assets.state.versions import VersionKey

_WHERE = ("kind", "model", "version", "start", "sequence")
"""The columns that say of which version and interval an entry is."""
_FEW = 3
"""So many versions are read one by one; who asks for more gets all by one look."""


@dataclass(slots=True, kw_only=True, eq=False)
class VersionHistory(LazySequence[Entry]):
    """The entries of one version, oldest first: read when somebody looks at them."""

    key: VersionKey
    batches: int
    """BUILT entries."""
    even: bool
    """Whether each of these is of a batch and a table commit of its own."""
    commit: int
    """The newest table commit that an entry names."""
    decides: bool
    """Whether there are others than those that say that a batch failed."""
    plain: Pieces
    """The intervals of which nothing else is recorded than that they were built, and audited, as they are: by the
    newest build of each."""
    verdicts: tuple[Numbers, NDArray[np.int32]]
    """Places in `plain`, and with which audits the batch passed (their place in `audits`)."""
    audits: Sequence[str]
    _reader: _Reader = field(repr=False)

    def is_whole(self, head: int) -> bool:
        """Whether the version's table, whose newest commit is `head`, has what is recorded, and nothing else: commit 0
        creates it, each later one is a batch."""
        return self.even and head == self.batches and self.commit <= head

    def shown(self, segment: Segment) -> Pieces | None:
        """What of a segment the newest builds of plain intervals made; None where it shows an older build of one."""
        pieces = self.plain.within(Ranges((segment.interval,)))
        return None if len(pieces) and pieces.commit.max() > segment.commit else pieces

    @property
    def others(self) -> Sequence[Entry]:
        """The entries that are about none of `plain`, oldest first."""
        return self._reader.others(self.key)

    def passed(self, pieces: Pieces, audits: str | None, *, or_any: bool = False) -> Flags:
        """Which of the version's pieces these audits (None: whichever; `or_any`: also those that nobody named) passed
        on."""
        import numpy as np

        places, codes = self.verdicts
        if audits is not None:
            wanted = {audits, ""} if or_any else {audits}
            places = places[np.array([text in wanted for text in self.audits], np.bool_)[codes]]
        found = np.zeros(len(self.plain), np.bool_)
        found[places] = True
        return found[pieces.whole]

    def coverage(self, audits: str, over: datetime | None) -> Coverage:
        """What they add up to, where the table `is_whole`."""
        rest = coverage(self.others, audits=audits, over=over)
        good = self.passed(self.plain, audits)
        return Coverage(
            green=rest.green | self.plain.where(good).covers,
            unaudited=rest.unaudited | self.plain.where(~good).covers,
            empty=rest.empty,
            lapsed=rest.lapsed,
            refused=rest.refused,
            sources=BuiltEntries(rest.sources, (self.plain,)),
        )

    def __bool__(self) -> bool:
        """Whether anything is recorded that decides what there is."""
        return self.decides

    def __len__(self) -> int:
        return len(self._listed())

    def _listed(self) -> Sequence[Entry]:
        return self._reader.entries(self.key)


class History(Mapping["VersionKey", Sequence[Entry]]):
    """The ledger's entries by model and version, as they were when it was looked at; but those that say that a batch
    began."""

    def __init__(self, ledger: Ledger) -> None:
        rows = ledger.rows()
        told = (version_columns(key, mine) for key, mine in rows.items() if mine.are(DECIDING | {Kind.FAILED}).any())
        found = [*told]
        reader = _Reader(ledger, rows.last, found)
        self._versions = {each.key: _version(each, rows.audits, reader) for each in found}

    def __getitem__(self, key: VersionKey) -> VersionHistory:
        return self._versions[key]

    def __iter__(self) -> Iterator[VersionKey]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)


class _Reader:
    """Reads entries as they were when the columns were read: what is appended since is not among them."""

    def __init__(self, ledger: Ledger, last: int, versions: Sequence[VersionColumns]) -> None:
        self._ledger, self._last = ledger, last
        self._others_of = [each.others for each in versions]
        self._in_others = sum(each.in_others for each in versions)
        self._since = min((each.since for each in versions), default=-1)
        self._lock = threading.Lock()
        self._read: dict[VersionKey, Sequence[Entry]] = {}
        self._others: Mapping[VersionKey, Sequence[Entry]] | None = None
        self._all = False

    def others(self, key: VersionKey) -> Sequence[Entry]:
        """The entries of a version that are about none of its plain intervals. Those of all are read at once."""
        with self._lock:
            if self._others is None:
                after = self._since - 1  # those of a ledger of years are nearly always new
                read = self._ledger.chosen(_WHERE, self._of_others(), after=after) if self._in_others else []
                if len(read) != self._in_others:
                    raise _lost()
                self._others = by_version(read)
            return self._others.get(key, ())

    def entries(self, key: VersionKey) -> Sequence[Entry]:
        """All entries of a version, oldest first."""
        with self._lock:
            if key not in self._read and not self._all:
                self._all = len(self._read) >= _FEW
                models = None if self._all else [key[0]]
                read = by_version(
                    e for e in self._ledger.entries(models, kinds=DECIDING | {Kind.FAILED}) if e.sequence <= self._last
                )
                self._read = {**read, **self._read}
            return self._read.get(key, ())

    def _of_others(self) -> Keep:
        inside = among(self._others_of)

        def keep(said: Columns) -> Flags:
            deciding = said.texts["kind"].are(DECIDING)
            return inside(said) & deciding & (said.numbers["sequence"] <= self._last)

        return keep


def _version(said: VersionColumns, audits: Sequence[str], reader: _Reader) -> VersionHistory:
    import numpy as np

    plain = said.plain

    def load() -> Sequence[Entry]:
        built = {(e.interval, e.table_commit): e for e in reader.entries(said.key) if e.kind is Kind.BUILT}
        ends = zip(plain.start.tolist(), plain.end.tolist(), plain.commit.tolist(), strict=True)
        try:
            return [built[Interval(instant(start), instant(end)), commit] for start, end, commit in ends]
        except KeyError:
            raise _lost() from None

    pieces = Pieces(
        start=plain.start, end=plain.end, commit=plain.commit, rows=plain.rows, whole=np.arange(len(plain.start)),
        load=functools.cache(load),
    )  # fmt: skip
    return VersionHistory(
        key=said.key, batches=said.batches, decides=said.decides, even=said.even, commit=said.commit, plain=pieces,
        verdicts=(said.passed, said.verdicts), audits=audits, _reader=reader,
    )  # fmt: skip


def _lost() -> StateError:
    return StateError(
        "the ledger has lost entries while it was read",
        why="another one was put in its place, as from a backup",
        fix="run the command again",
    )
