"""Which part of a batch is it that cannot be computed? Halves of what failed, until single intervals are left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from backfill_assets.core.errors import BuildError, HeldError
from backfill_assets.core.intervals import Cadence, Interval

MOST_FAILURES = 64
"""Failed attempts that are spent on a model in one run. One bad interval in a batch of n costs about log2(n)."""
HOPELESS = 8
"""Parts of a batch of which every one failed: it is the whole that is wrong, and it is not looked into further."""

Failed = tuple[Interval, BuildError]


@dataclass(slots=True)
class Budget:
    """What may still be spent, by all batches of a model together."""

    left: int = MOST_FAILURES
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spend(self) -> None:
        """One attempt failed."""
        with self.lock:
            self.left -= 1


def bisect(
    whole: Interval,
    error: BuildError,
    cadence: Cadence,
    attempt: Callable[[Interval], BuildError | None],
    budget: Budget,
) -> list[Failed]:
    """The parts of an interval that cannot be computed, oldest first, each with its own error.

    `attempt` computes a part and keeps it, or returns why it cannot. All parts of a size are tried before smaller ones,
    so that what succeeds is known early. An error that says it is not about a part ends the search there. A part that
    was not begun is told as such: nothing was spent on it.
    """
    level: list[Failed] = [(whole, error)]
    isolated: list[Failed] = []
    succeeded = False
    while level:
        failed: list[Failed] = []
        for interval, why in level:
            halves = halved(interval, cadence)
            if not halves or not why.divisible or budget.left <= 0:
                isolated.append((interval, why))
                continue
            for half in halves:
                found = attempt(half)
                if isinstance(found, HeldError):
                    isolated.append((half, found))
                elif found is not None:
                    budget.spend()
                    failed.append((half, found))
                else:
                    succeeded = True
        if not succeeded and len(failed) >= HOPELESS and not isolated:
            return [(whole, _hopeless(error, len(failed)))]
        level = failed
    return sorted(isolated, key=lambda f: f[0])


def halved(interval: Interval, cadence: Cadence) -> tuple[Interval, ...]:
    """Two parts of about the same number of single intervals; none for a single one.

    >>> from backfill_assets.core.intervals import Interval
    >>> [str(half) for half in halved(Interval.of("2024-01-01", "2024-01-06"), Cadence.DAILY)]
    ['2024-01-01..2024-01-02', '2024-01-03..2024-01-05']
    """
    count = cadence.count(interval)
    if count < 2:
        return ()
    middle = cadence.shift(interval.start, count // 2)
    return Interval(interval.start, middle), Interval(middle, interval.end)


def _hopeless(error: BuildError, parts: int) -> BuildError:
    return type(error)(error.what, why=f"{error.why}; so do its {parts} parts, tried one by one", fix=error.fix)
