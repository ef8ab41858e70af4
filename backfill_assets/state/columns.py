"""What do many rows say, column by column? Arrays, for questions about a million of them: no object a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Texts:
    """A column of text: which of `values` each row has."""

    codes: Numbers
    values: Sequence[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """From the text of each row."""
        import numpy as np

        places: dict[str, int] = {}
        codes = [places.setdefault(text, len(places)) for text in texts]
        return cls(codes=np.array(codes, np.int64), values=[*places])

    def are(self, wanted: Iterable[str]) -> Flags:
        """Which rows have one of these."""
        import numpy as np

        named = frozenset(map(str, wanted))
        return np.array([value in named for value in self.values], np.bool_)[self.codes]


def pairs(one: Texts, other: Texts) -> tuple[Numbers, Callable[[int], tuple[str, str]]]:
    """Two columns as one: a number that rows with the same two texts have, and what it stands for."""
    size = max(len(other.values), 1)
    firsts, seconds = one.values[:], other.values[:]  # made once: it is asked of every pair of every part of a table

    def told(number: int) -> tuple[str, str]:
        first, second = divmod(number, size)
        return firsts[first], seconds[second]

    return one.codes * size + other.codes, told


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """Some columns of rows, all in one order. Times are microseconds since 1970."""

    rows: int
    numbers: Mapping[str, Numbers]
    texts: Mapping[str, Texts]


def micros(instant: datetime) -> int:
    """An instant as columns have it.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (instant - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """The other way round."""
    return _EPOCH + timedelta(microseconds=value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
