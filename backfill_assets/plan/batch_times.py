"""What do the batches of a model that were built before say of the time that others take?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, log, sqrt
from statistics import fmean, median, quantiles

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model
from backfill_assets.core.segments import is_adopted, logic_of
from backfill_assets.core.wording import amount
from backfill_assets.plan.spread import NO_TIME, Spread
from backfill_assets.state.ledger import Entry, Kind

USEFUL = frozenset({Kind.BUILT, Kind.AUDITED, Kind.INVALIDATED})
"""The kinds of entries that say something about time."""


SURE, OTHER_LOGIC, FEW = 0.15, 0.3, 0.5
"""No range is narrower than this part of the likely value: at best; from another version; from fewer than 3 batches."""


BYTES = 3.0
"""How many times shorter or longer a batch may be than what another size took and the bytes that are read say of it."""


TICK = 1e-3
"""Seconds: no batch took less, whatever a clock said."""


@dataclass(frozen=True, slots=True, order=True)
class _Batch:
    """One BUILT entry, by how many intervals it held."""

    size: int
    seconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Seconds of a batch = `fixed` + `each` × its intervals, learnt from batches of `smallest` to `largest`.

    Real times lie between `down` and `up` times what the line says; `BYTES` times as far where it is by bytes.
    """

    fixed: float
    each: float
    smallest: int
    largest: int
    down: float
    up: float
    by_bytes: bool = False
    """Whether what is fixed of it comes from the bytes that are read."""

    def __call__(self, size: int) -> float:
        return self.fixed + self.each * size

    def spread(self, size: int) -> Spread:
        """Outside of the sizes that were seen, all may be fixed time or all proportional: the range holds both."""
        seen = min(max(size, self.smallest), self.largest)
        if self.by_bytes and seen != size:
            likely = self(size)
            return Spread(low=likely * self.down / BYTES, likely=likely, high=likely * self.up * BYTES)
        ends = self(seen), self(size), self(seen) * size / seen
        return Spread(low=min(ends) * self.down, likely=self(size), high=max(ends) * self.up)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What is known of a model: its batches' line, what an interval holds, how long the audits after a build take.

    `size` is that of the batches, where all have one (else 0); `beyond` says where other sizes are from then. `source`
    are the batches in few words.
    """

    version: str
    """Whose batches they are."""
    line: Line
    rows: float
    bytes: float
    audits: Spread
    words: str
    source: str
    size: int
    beyond: str


Shapes = Callable[[str], tuple[float, float] | None]
"""Of a model: seconds of a batch that are fixed, and those of an interval, by the bytes that it reads."""


def basis_of(
    history: Mapping[tuple[str, str], Sequence[Entry]],
    model: Model,
    version: str,
    *,
    sizes: Collection[int] = (),
    shapes: Shapes | None = None,
) -> Basis | None:
    """The version's own batches; else those of the same logic, or of the version that was built last. None: there are
    none. `shapes` is asked what other `sizes` take where all batches are of one."""
    batches = {
        v: _batches(entries, model.cadence)
        for (name, v), entries in history.items()
        if name == model.name and not is_adopted(v)  # nobody computed these rows
    }
    built = {v for v, found in batches.items() if found}
    logic = logic_of(version)
    others = sorted(built - {version}, key=lambda v: (logic_of(v) == logic, _newest(history[model.name, v]), v))
    chosen = version if version in built else others[-1] if others else None
    if chosen is None:
        return None
    found, same = batches[chosen], logic_of(chosen) == logic
    intervals = sum(b.size for b in found)
    many = f"{len(found)} batch{'es' * (len(found) != 1)} of "
    words = (
        f"from {many}this version, {amount(intervals, model.cadence)}"
        if same
        else f"from {many}version {chosen} (other logic)"
    )
    shape, only, beyond, by_bytes = None, 0, "", None
    if _one_size(found):
        shape = next((v for v in reversed(others) if v != chosen and not _one_size(batches[v])), None)
        only = found[0].size
        beyond = (
            f"; other sizes as in version {shape}" if shape else f", in proportion to {amount(only, model.cadence)}"
        )
        if shape is None and shapes and {*sizes} - {only} and (by_bytes := shapes(model.name)):
            beyond = "; other sizes by the bytes that they read"
    return Basis(
        version=chosen,
        line=_line(found, batches[shape] if shape else (), by_bytes, least=SURE if same else OTHER_LOGIC),
        rows=sum(b.rows for b in found) / intervals,
        bytes=sum(b.bytes for b in found) / intervals,
        audits=_audits(history[model.name, chosen]),
        words=words,
        source=f"what {many}{'this version' if same else f'version {chosen}'} took",
        size=only,
        beyond=beyond,
    )


def _batches(entries: Iterable[Entry], cadence: Cadence) -> list[_Batch]:
    """Sorted, so that the order in which entries come changes no sum."""
    sizes = ((cadence.count(e.interval), e) for e in entries if e.kind is Kind.BUILT and e.origin is None)
    return sorted(_Batch(size, max(e.seconds, TICK), e.rows, e.bytes) for size, e in sizes if size > 0)


def _newest(entries: Iterable[Entry]) -> tuple[int, datetime, str]:
    return max(e.order for e in entries if e.kind is Kind.BUILT)


def _one_size(batches: Sequence[_Batch]) -> bool:
    return batches[0].size == batches[-1].size


def _line(
    batches: Sequence[_Batch], shape: Sequence[_Batch], by_bytes: tuple[float, float] | None, *, least: float
) -> Line:
    """The line through the batches. `shape` are another version's, for batches of one size: its line, scaled to fit;
    so is the one `by_bytes`."""
    fixed, each = by_bytes or _fit(shape or batches)
    if (shape or by_bytes) and (there := fixed + each * batches[0].size):
        scale = fmean(b.seconds for b in batches) / there
        fixed, each = fixed * scale, each * scale
    least = FEW if len(batches) < 3 else OTHER_LOGIC if shape else least
    ratios = [b.seconds / (fixed + each * b.size) for b in batches if fixed + each * b.size] or [1.0]
    tenths = quantiles(ratios, n=10, method="inclusive") if len(ratios) > 1 else ratios
    learnt = 1 if shape or by_bytes or not (fixed and each) else 2
    down, up = _of_few(ratios, learnt) if len(ratios) < len(_T) + 1 else (1.0, 1.0)
    sizes = [b.size for b in (*batches, *shape)]
    return Line(
        fixed=fixed,
        each=each,
        smallest=min(sizes),
        largest=max(sizes),
        down=min(tenths[0], down, 1 - least),
        up=max(tenths[-1], up, 1 + least),
        by_bytes=by_bytes is not None,
    )


_T = (4.165, 2.282, 1.924, 1.778, 1.699, 1.650, 1.617, 1.592)
"""Student's t for 1, 2, … degrees of freedom, 85 % within: 8 of 10 hold, though times are not normal but skewed. From
ten batches on, a tenth of them says it."""


_FARTHEST = 10
"""How many times the likely time a scatter of few batches makes the most; two that differ much would say anything."""


def _of_few(ratios: Sequence[float], learnt: int) -> tuple[float, float]:
    """The least and the most that another batch takes, as a part of what the line says, in 8 of 10 cases.

    Few batches rarely show how far others lie from them. Times scatter by factors, so that is reckoned with their
    logarithms, upwards also with the times themselves; `learnt` is how many numbers the line was made of.
    """
    if len(ratios) <= learnt:
        return 1.0, 1.0
    free = len(ratios) - learnt
    wide = _T[free - 1] * sqrt(1 + 1 / len(ratios))
    logs = [log(ratio) for ratio in ratios]
    middle = fmean(logs)
    scatter = sqrt(sum((one - middle) ** 2 for one in logs) / free)
    factor = exp(min(wide * scatter, log(_FARTHEST)))
    return exp(middle) / factor, max(factor, 1 + wide * sqrt(sum((ratio - 1) ** 2 for ratio in ratios) / free))


def _fit(batches: Sequence[_Batch]) -> tuple[float, float]:
    """Least squares without negative parts: the best of the free line, the one through zero and the flat one.

    Batches of one size say nothing about the fixed part: it is 0 then.
    """
    size, seconds = fmean(b.size for b in batches), fmean(b.seconds for b in batches)
    through_zero = (0.0, sum(b.size * b.seconds for b in batches) / sum(b.size**2 for b in batches))
    if _one_size(batches):
        return through_zero
    each = sum((b.size - size) * (b.seconds - seconds) for b in batches) / sum((b.size - size) ** 2 for b in batches)
    free = (seconds - each * size, each)
    if min(free) >= 0:
        return free
    return min(
        through_zero,
        (seconds, 0.0),
        key=lambda line: sum((line[0] + line[1] * b.size - b.seconds) ** 2 for b in batches),
    )


def _audits(entries: Iterable[Entry]) -> Spread:
    """The time from a run's last batch to its last verdict. It is one scan of all, so it is taken as fixed."""
    built: dict[str, datetime] = {}
    judged: dict[str, datetime] = {}
    for entry in entries:
        if entry.kind is Kind.BUILT:
            built[entry.run] = max(entry.at, built.get(entry.run, entry.at))
        elif entry.audits:  # an INVALIDATED without them is a restatement
            judged[entry.run] = max(entry.at, judged.get(entry.run, entry.at))
    tails = [(judged[run] - built[run]).total_seconds() for run in built if run in judged]
    tails = [tail for tail in tails if tail >= 0]
    return Spread(low=min(tails), likely=median(tails), high=max(tails)) if tails else NO_TIME
