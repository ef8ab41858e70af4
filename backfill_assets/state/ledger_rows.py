"""What does the ledger say of each version, row by row? In columns: the rows of a version together, by start and end.

Most of a ledger of years is in files that nobody writes again. What they say is put in this order once, and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from backfill_assets.state.columns import pairs
from backfill_assets.state.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from backfill_assets.state.columns import Columns, Flags, Numbers
    from backfill_assets.state.versions import VersionKey

COLUMNS = (
    "kind", "model", "version", "start", "end", "table_commit", "batch", "audits", "through", "rows", "sequence",
)  # fmt: skip
"""The columns of the ledger that these rows are made of."""
_NAME = re.compile("[0-9a-f]{16}")
_KINDS = {kind.value: place for place, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VersionRows:
    """Rows of the ledger, an array each column, by start and end of their intervals. Times are in microseconds."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    number: NDArray[np.int64]
    """The row's own, in the order of commits."""
    rows: NDArray[np.int64]
    batch: NDArray[np.int64]
    """Its name, as a number."""
    commit: NDArray[np.int32]
    """The table commit."""
    audits: NDArray[np.int32]
    """Which of the ledger's digests of audits."""
    kind: NDArray[np.int8]
    """The place among all kinds; -1: of another release."""
    partial: NDArray[np.int8]
    """1: its interval was still open."""

    def __len__(self) -> int:
        return len(self.start)

    def are(self, kinds: Iterable[Kind]) -> Flags:
        """Which rows are of these kinds."""
        import numpy as np

        wanted = np.zeros(len(_KINDS) + 1, np.bool_)  # the last one is for -1
        wanted[[_KINDS[kind] for kind in kinds]] = True
        return wanted[self.kind]

    def at(self, rows: Flags | Numbers | slice) -> VersionRows:
        """Some of the rows."""
        return VersionRows(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    @classmethod
    def joined(cls, parts: Sequence[VersionRows]) -> VersionRows:
        """The rows of all parts, in the order that they have to be in."""
        import numpy as np

        if len(parts) == 1:
            return parts[0]
        every = cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})
        return every.at(np.lexsort((every.end, every.start)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LedgerRows:
    """Rows of many versions, those of each together."""

    rows: VersionRows
    places: Mapping[VersionKey, tuple[int, int]]
    """The first of a version's rows, and the one after its last."""
    audits: tuple[str, ...] = ()
    """The digests that rows name."""
    last: int = -1
    """The largest number of all."""

    @classmethod
    def of(cls, said: Columns, audits: Sequence[str] = ()) -> LedgerRows:
        """From these COLUMNS; `audits` are digests that are known already."""
        import numpy as np

        every, told = pairs(said.texts["model"], said.texts["version"])
        order = np.lexsort((said.numbers["end"], said.numbers["start"], every))
        keys, first = np.unique(every[order], return_index=True)
        bounds = pairwise([*first.tolist(), len(order)])
        digests = {text: place for place, text in enumerate(audits)}
        texts = said.texts["audits"].values[:]
        named = np.array([digests.setdefault(text, len(digests)) for text in texts], np.int32)
        kinds = np.array([_KINDS.get(text, -1) for text in said.texts["kind"].values], np.int8)
        batches = np.array([*map(_number, said.texts["batch"].values)], np.uint64).view(np.int64)
        number = said.numbers["sequence"]
        rows = VersionRows(
            start=said.numbers["start"],
            end=said.numbers["end"],
            commit=said.numbers["table_commit"].astype(np.int32),
            number=number,
            rows=said.numbers["rows"],
            batch=batches[said.texts["batch"].codes],
            kind=kinds[said.texts["kind"].codes],
            audits=named[said.texts["audits"].codes],
            partial=(said.numbers["through"] != 0).astype(np.int8),
        )
        return cls(
            rows=rows.at(order),
            places={told(key): ends for key, ends in zip(keys.tolist(), bounds, strict=True)},
            audits=tuple(digests),
            last=int(number.max(initial=-1)),
        )

    def until(self, last: int) -> LedgerRows:
        """The rows whose numbers are not larger."""
        import numpy as np

        mine = self.rows.number <= last
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mine)])
        places = {key: (int(before[a]), int(before[b])) for key, (a, b) in self.places.items()}
        return LedgerRows(
            rows=self.rows.at(mine),
            places={key: (a, b) for key, (a, b) in places.items() if a < b},
            audits=self.audits,
            last=last,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllRows(Mapping["VersionKey", VersionRows]):
    """The rows of every version, from several parts of the ledger."""

    parts: Sequence[LedgerRows]

    @property
    def audits(self) -> tuple[str, ...]:
        """The digests that rows name."""
        return self.parts[-1].audits

    @property
    def last(self) -> int:
        """The largest number of all; -1 where there is no row."""
        return max(part.last for part in self.parts)

    def __getitem__(self, key: VersionKey) -> VersionRows:
        return VersionRows.joined([p.rows.at(slice(*p.places[key])) for p in self.parts if key in p.places])

    def __iter__(self) -> Iterator[VersionKey]:
        return iter(sorted({key for part in self.parts for key in part.places}))

    def __len__(self) -> int:
        return len({key for part in self.parts for key in part.places})


class KnownRows(Protocol):
    """Remembers rows, by the name of the part of a ledger that they are of."""

    def read(self, name: str) -> LedgerRows | None:
        """What is remembered; None where nothing is."""
        ...

    def keep(self, name: str, rows: LedgerRows) -> None:
        """Remember these rows in place of others."""
        ...


def _number(text: str) -> int:
    """Another number for another name, of 64 bits: names of batches are as long."""
    if _NAME.fullmatch(text):
        return int(text, 16)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
