"""What was built from rows that do not count any more, as an audit failed on them after they were read?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.segments import NO_ROWS
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stale_inputs import tables_read
from backfill_assets.plan.versions import shown_segments
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import DECIDING, Entry, Kind, by_version, coverage
from backfill_assets.state.versions import VersionKey


def refused_readers(
    control: Control, project: Project, table: VersionKey, refused: Ranges, *, run: str, why: str
) -> list[Entry]:
    """The entries that let what was built from `refused` intervals of a table count for nothing either, through all
    that read it. What an environment shows stays as it is, and so does what read that."""
    below, shown = (_below(project, table[0]), shown_segments(control.lasting())) if refused else ((), {})
    refused -= shown.get(table, NO_ROWS).covers
    if not below or not refused:
        return []
    groups = by_version(control.ledger.entries([m.name for m in below], kinds=DECIDING))
    gone, found = {table: refused}, list[Entry]()
    for model in below:
        for key in [key for key in groups if key[0] == model.name]:
            have = coverage(groups[key], audits="")
            for part, entry in have.batches(have.built - shown.get(key, NO_ROWS).covers):
                for upstream, read in _read_of(project, model, part, entry, gone).items():
                    again = Ranges.of(affected_interval(model, project.models[upstream], r) for r in read)
                    for interval in Ranges((part,)) & again - gone.get(key, NOTHING):
                        gone[key] = gone.get(key, NOTHING) | Ranges((interval,))
                        found.append(
                            Entry(
                                kind=Kind.INVALIDATED,
                                model=model.name,
                                version=entry.version,
                                interval=interval,
                                table_commit=entry.table_commit,
                                batch=entry.batch,
                                run=run,
                                reason=f"read {table[0]} {refused} before {why}",
                                at=datetime.now(UTC),
                            )
                        )
    return found


def _below(project: Project, name: str) -> tuple[Model, ...]:
    """The models that read a model, directly or through others; each after what it reads."""
    found = {name: True}
    for model in project.models.values():
        if any(upstream.name in found for upstream in model.upstreams):
            found[model.name] = True
    return tuple(project.models[each] for each in found if each != name)


def _read_of(
    project: Project, model: Model, part: Interval, entry: Entry, gone: Mapping[VersionKey, Ranges]
) -> dict[str, Ranges]:
    """Upstream → what a batch read of its intervals that are gone."""
    found: dict[str, Ranges] = {}
    for name, said in cast(Mapping[str, Mapping[str, Any]], entry.inputs or {}).items():
        if name in project.models and "version" in said:
            for version, _, there in tables_read(said, needed(model, project.models[name], part)):
                if read := there & gone.get((name, version), NOTHING):
                    found[name] = found.get(name, NOTHING) | read
    return found
