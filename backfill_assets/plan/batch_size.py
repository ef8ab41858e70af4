"""How many intervals does a batch compute, of a model that does not say? As many as about a minute takes.

A batch takes some seconds however short it is, and some for each interval. Both come from the batches that were built
before, where there are any; else from the bytes of what it reads and the cores of the machine. Where the first part is
large, as where no file can be left out, batches are longer, so that it is paid seldom.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.wording import amount, listed
from backfill_assets.plan.batch_times import Basis
from backfill_assets.plan.estimate_text import duration
from backfill_assets.plan.missing import USUAL
from backfill_assets.plan.source_bytes import Reads

TARGET = 60.0
"""Seconds that a batch should take: so much is lost at most when a run is killed, or goes on past a window's end."""
MOST_FIXED = 0.1
"""The part of a batch's time that what it takes however short it is should be at most."""
SOME_MORE = 0.25
"""A batch may be longer by this part when there is one less then."""
MOST_INTERVALS = 10_000
"""Each is a file at least, and all files of a batch are in one commit."""
OF_MEMORY = 2
"""Bytes of files that a batch may process, for each byte of memory. Packed rows are several times as large in memory;
joins and sorts spill to the disk, and the more they do, the slower they are."""
TELLING = 2
"""How many times the smallest of batches the largest has to be before a line through them says what is fixed."""

START = 2.0
"""Seconds of a core for a batch without rows: planning its query, a commit, two records of the ledger. This and the
next three are what the demo and TPC-H took (docs/performance.md): half or twice as much elsewhere."""
INTERVAL = 0.01
"""Seconds of a core for an interval without rows: its file."""
SCAN = 40e6
"""Bytes of a file that a core reads in a second when hardly any row of it stays."""
WORK = 5e6
"""Bytes of a file whose rows a core joins, groups, sorts and writes in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What builds run on: cores, and bytes of memory."""

    cores: int
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds of a batch = `fixed` + `each` × its intervals, and the bytes that each interval's rows are of. `basis`
    says what that is from; `whole` which sources each batch reads all of, and their bytes."""

    fixed: float
    each: float
    bytes: float
    basis: str
    whole: tuple[tuple[str, int], ...] = ()

    def __call__(self, size: int) -> float:
        return self.fixed + self.each * size


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """Intervals a batch, and why so many, in a short sentence."""

    size: int
    why: str


def pace_by_bytes(reads: Reads, machine: Machine, concurrency: int) -> Pace | None:
    """What is expected of a batch beside which others run; None where nobody knows the size of what it reads."""
    if reads.unknown:
        return None
    cores = max(machine.cores / concurrency, 0.5)
    return Pace(
        fixed=START / min(cores, 1) + reads.fixed / (SCAN * cores),
        each=(INTERVAL + reads.more / SCAN + reads.each / WORK) / cores,
        bytes=reads.each,
        basis=f"{size_of(reads.total)} to read on {machine.cores} core{'s' * (machine.cores != 1)}",
        whole=reads.whole,
    )


def pace_by_batches(basis: Basis, expected: Pace | None) -> Pace:
    """What batches that were built before took; where their sizes do not tell what of it is fixed, that is the part
    that was `expected`."""
    line, middle = basis.line, (basis.line.smallest + basis.line.largest) / 2
    took = line.fixed + line.each * middle
    if line.largest >= TELLING * line.smallest:
        fixed, each = line.fixed, line.each
    elif expected:
        scale = took / (expected.fixed + expected.each * middle)
        fixed, each = scale * expected.fixed, scale * expected.each
    else:
        fixed = min(START, took / 2)
        each = (took - fixed) / middle
    bytes_, whole = (expected.bytes, expected.whole) if expected else (0.0, ())
    return Pace(fixed=fixed, each=each, bytes=bytes_, basis=basis.source, whole=whole)


def batch_size(pace: Pace | None, machine: Machine, count: int, cadence: Cadence, *, unknown: str = "") -> Sized:
    """The size of batches for `count` intervals. `pace`: None where nobody knows what reading `unknown` takes."""
    if pace is None:
        return Sized(size=USUAL, why=f"batches of {amount(USUAL, cadence)}: nobody knows how large {unknown} is")
    minute = (TARGET - pace.fixed) / pace.each if pace.each else inf
    seldom = pace.fixed * (1 / MOST_FIXED - 1) / pace.each if pace.each else inf
    fits = machine.memory * OF_MEMORY / pace.bytes if pace.bytes else inf
    most = max(1.0, min(max(minute, seldom), fits, MOST_INTERVALS))
    if most >= count / (1 + SOME_MORE):
        if pace.whole and pace(count) > TARGET:
            return Sized(size=count, why=f"one batch: {_whole(pace)}")
        took = pace(count)
        return Sized(size=count, why=f"one batch of about {duration(took, took)}, by {pace.basis}")
    size = ceil(count / ceil(count / most - SOME_MORE))
    words = f"batches of {amount(size, cadence)}"
    if most == fits:
        return Sized(size=size, why=f"{words}: larger batches would not fit into {size_of(machine.memory)} of memory")
    if most == MOST_INTERVALS:
        return Sized(size=size, why=f"{words}: a commit holds no more")
    if seldom > minute:
        fixed = _whole(pace) if pace.whole else f"{duration(pace.fixed, pace.fixed)} of each is fixed time"
        return Sized(size=size, why=f"{words}: {fixed}, by {pace.basis}" if not pace.whole else f"{words}: {fixed}")
    took = pace(size)
    return Sized(size=size, why=f"{words}, about {duration(took, took)} each, by {pace.basis}")


def size_of(bytes_: float) -> str:
    """Bytes in two digits.

    >>> size_of(1_234_567_890), size_of(4 << 30), size_of(12_345)
    ('1.2 GB', '4.3 GB', '12 kB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes_ >= size:
            value = bytes_ / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}".replace(".0 ", " ")
    return f"{bytes_:.0f} B"


def _whole(pace: Pace) -> str:
    """What every batch reads all of, as a reason."""
    names = listed(name for name, _ in pace.whole)
    are = "are" if len(pace.whole) > 1 else "is"
    size = size_of(sum(size for _, size in pace.whole))
    return f"{names} {are} not partitioned by the model's days, so each batch reads all {size}"
