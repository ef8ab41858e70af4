"""Is a partial build still what its inputs say? What it read is in its ledger entry; what there is now is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pin import same_pin
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.missing import needed
from backfill_assets.state.ledger import Coverage, Entry
from backfill_assets.state.pieces import BuiltEntries


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamNow:
    """An upstream model as it would be read now. `building` is what is built of it before its reader is."""

    model: Model
    version: str
    have: Coverage
    over: Segments = NO_ROWS
    building: Ranges = NOTHING


def outdated_partial(
    model: Model,
    have: Coverage,
    upstreams: Mapping[str, UpstreamNow],
    pins: Mapping[str, Mapping[str, object]],
    *,
    run: str = "",
) -> Ranges:
    """The partial intervals of the model that would be computed from other data now than they were.

    Of a source that cannot be pinned nobody knows: it counts as other data. What `run` itself built does not count.
    """
    return Ranges.of(
        part
        for part, entry in BuiltEntries.of(have.sources).single  # no plain interval is partial
        if entry.through and not (run and entry.run == run) and _moved(model, part, entry, upstreams, pins)
    )


def over_json(segments: Segments) -> list[dict[str, object]]:
    """How a ledger entry says which segments were read instead of the version's own table."""
    return [{"version": s.version, "commit": s.commit, "of": str(s.interval)} for s in segments]


def _moved(
    model: Model,
    part: Interval,
    entry: Entry,
    upstreams: Mapping[str, UpstreamNow],
    pins: Mapping[str, Mapping[str, object]],
) -> bool:
    read = cast(Mapping[str, Mapping[str, Any]], entry.inputs or {})
    for upstream in model.upstreams:
        said = read.get(upstream.name, {})
        if upstream.name not in upstreams:
            pin = pins.get(upstream.name)
            if pin is None or "unpinned" in pin or not same_pin(said, pin):
                return True
            continue
        there = upstreams[upstream.name]
        reads = needed(model, there.model, part)
        if (
            said.get("version") != there.version
            or said.get("over", []) != over_json(there.over)
            or reads & there.building
            or any(newer.table_commit > said["commit"] for _, newer in there.have.batches(reads))
        ):
            return True
    return False
