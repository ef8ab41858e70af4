"""Which rows of a model can still be read? Of those whose files are lost nobody knows what they were."""

from __future__ import annotations

from backfill_assets.adapters.table_storage import DeltaTableStorage, is_lost
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments


def without_lost(warehouse: str, model: Model, segments: Segments) -> Segments:
    """The segments without the intervals of which a file is not there, or is cut: files are looked at, not into. What
    this account may not read, or a disk does not give now, is not lost: whoever reads it says so."""
    storage, lost = DeltaTableStorage(warehouse), Ranges()
    for segment in segments:
        found = storage.readable(model.name, segment.version, segment.commit, segment.interval, footers=False)
        if found.broken and all(map(is_lost, found.broken)):
            lost |= Ranges.of(model.cadence.cover(part) for part in found.damaged(segment.interval))
    return segments.without(lost)
