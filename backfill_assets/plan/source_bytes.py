"""How many bytes does a batch read? From the sizes and the days of its sources' files, and from what upstreams hold.

A file is read when its days meet those of the batch. So of files that hold all days each batch reads all, however few
intervals it has; of files of a day each it reads its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import ALL, Model, Project
from backfill_assets.state.ledger import EntriesByVersion, Entry, Kind

_HARDLY_CUT = 0.5
"""A source counts as read whole by each batch when a batch of one interval reads at least this part of it, …"""
_OF_ALL = 0.1
"""… and is named when it has at least this part of all bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedFile:
    """A file of a source: between which times it has rows (None: nobody knows), and its bytes."""

    days: Ranges | None
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Bytes that a batch reads whatever its length (`fixed`), and more with each interval (`more`); `each` are those
    of an interval's own rows, which are joined, grouped and written.

    `whole` are the sources that every batch reads all of, with their bytes, the largest first; small ones are not
    named. `unknown` are upstreams of which nobody knows the size.
    """

    fixed: float
    more: float
    each: float
    total: float
    whole: tuple[tuple[str, int], ...] = ()
    unknown: tuple[str, ...] = ()


def batch_reads(
    project: Project, model: Model, parts: Mapping[str, Sequence[TimedFile]], history: EntriesByVersion, now: datetime
) -> Reads:
    """What batches of a model read. `parts` are the files of the sources that anybody can list, `history` is what the
    ledger says of tables; of a model that is not built yet, what it is made from stands for its rows."""
    span = model.begun(now).span
    unit = (span.end - span.start) / max(model.cadence.count(span), 1) if span else timedelta(days=1)
    lasting = span.end - span.start if span else unit
    fixed = more = each = total = 0.0
    whole: list[tuple[str, int]] = []
    unknown: list[str] = []
    for name, direct in _leaves(project, model, history):
        if name in project.models:
            bytes_, seconds = _held(history[name, project.fingerprints[name]])
            share = bytes_ * (unit.total_seconds() / seconds) if seconds else 0.0
            more, each, total = more + share, each + share, total + bytes_
            continue
        if name not in parts:
            unknown.append(name)
            continue
        source = parts[name]
        size = sum(part.bytes for part in source)
        extent = Ranges.of(day for part in source for day in part.days or ()).span
        known = all(part.days is not None for part in source) and extent is not None
        stretch = max((extent.end - extent.start) if known and extent else lasting, unit)
        share = size * (unit / stretch)
        cut = not direct or (known and _filters(project, model, name))
        always = sum(part.bytes * min(1.0, _width(part) / stretch) for part in source) if known else float(size)
        always = (always if cut else float(size)) if direct else 0.0
        step = (size - always) * (unit / stretch)
        fixed, more, each, total = fixed + always, more + step, each + share, total + size
        if direct and always + step >= _HARDLY_CUT * size and stretch > 2 * unit:
            whole.append((name, size))
    fixed += model.lookback * more
    named = sorted((one for one in whole if one[1] >= _OF_ALL * total), key=lambda one: (-one[1], one[0]))
    return Reads(fixed=fixed, more=more, each=each, total=total, whole=tuple(named), unknown=tuple(sorted(unknown)))


def _leaves(project: Project, model: Model, history: EntriesByVersion) -> Iterator[tuple[str, bool]]:
    """What a model reads that has a size, each once: sources and built models, and whether it reads them itself."""
    seen: set[str] = set()
    todo = [(upstream.name, True) for upstream in model.upstreams]
    while todo:
        name, direct = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        above = project.models.get(name)
        if above is None or any(e.kind is Kind.BUILT for e in history.get((name, project.fingerprints[name]), ())):
            yield name, direct
        else:
            todo += [(upstream.name, False) for upstream in above.upstreams]


def _held(entries: Collection[Entry]) -> tuple[int, float]:
    """The bytes that were written of a model, and the seconds of time that these hold."""
    built = [e for e in entries if e.kind is Kind.BUILT]
    seconds = sum((e.interval.end - e.interval.start).total_seconds() for e in built)
    return sum(e.bytes for e in built), seconds


def _filters(project: Project, model: Model, source: str) -> bool:
    """Whether a model's rows are decided by the source's time column. Where nobody knows, they are."""
    signature, column = project.signatures.get(model.name), project.sources[source].time_column
    if signature is None or not signature.row_reads or column is None:
        return column is not None
    named = {ref.column.lower() for ref in signature.row_reads if ref.table == source}
    return column.lower() in named or ALL in named


def _width(part: TimedFile) -> timedelta:
    span = part.days.span if part.days else None
    return span.end - span.start if span else timedelta(0)
