"""What was built from rows that do not count any more, as an audit failed on them after they were read?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.reach import reach
from backfill_assets.core.segments import NO_ROWS, logic_of
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stale_inputs import tables_read
from backfill_assets.plan.versions import is_shown, shown_segments
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import DECIDING, Entry, Kind, by_version, coverage
from backfill_assets.state.versions import VersionKey

Gone = dict[VersionKey, list[tuple[Interval, int]]]
"""By table: intervals that do not count any more, each with the commit in which they were written."""
_EVER = datetime.min.replace(tzinfo=UTC)


def refused_readers(
    control: Control,
    project: Project,
    table: VersionKey,
    refused: Sequence[tuple[Interval, Entry]],
    *,
    run: str,
    why: str,
) -> list[Entry]:
    """The entries that let what was built from `refused` batches of a table count for nothing either, through all that
    read it by the loaded code: of other code the gate says what it read. What an environment shows stays as it is, and
    so does what read that."""
    shown = shown_segments(control.lasting()) if refused else {}
    own = [(part, e.table_commit) for part, e in refused if not is_shown(part, e, shown.get(table, NO_ROWS))]
    readers_of = project.readers()
    below = reach([table[0]], lambda name: readers_of.get(name, ())) if own else ()
    if not below:
        return []
    groups = by_version(control.ledger.entries(below, kinds=DECIDING))
    named = f"{table[0]} {Ranges.of(part for part, _ in own)}"
    gone: Gone = {table: own}
    found: list[Entry] = []
    for model in (model for name, model in project.models.items() if name in below):
        for key in [k for k in groups if k[0] == model.name and logic_of(k[1]) == project.fingerprints[k[0]]]:
            for part, entry in _read_by(project, model, groups[key], gone):
                if is_shown(part, entry, shown.get(key, NO_ROWS)):
                    continue
                gone.setdefault(key, []).append((part, entry.table_commit))
                found.append(
                    Entry(
                        kind=Kind.INVALIDATED,
                        model=model.name,
                        version=entry.version,
                        interval=part,
                        table_commit=entry.table_commit,
                        batch=entry.batch,
                        run=run,
                        reason=f"read {named} before {why}",
                        at=datetime.now(UTC),
                    )
                )
    return found


def _read_by(project: Project, model: Model, entries: Sequence[Entry], gone: Gone) -> Iterator[tuple[Interval, Entry]]:
    """What batches of a model's table computed from what is gone, open intervals included."""
    above = {u.name for u in model.upstreams} & project.models.keys()
    parts = [(name, part) for (name, _), batches in gone.items() if name in above for part, _ in batches]
    near = Ranges.of(affected_interval(model, project.models[name], part) for name, part in parts)
    have = coverage([e for e in entries if near & Ranges((e.interval,))], audits="", over=_EVER)
    for part, entry in have.batches(near):
        again = Ranges.of(
            affected_interval(model, project.models[name], over)
            for name, said in cast(Mapping[str, Mapping[str, Any]], entry.inputs or {}).items()
            if name in above and "version" in said
            for version, commit, there in tables_read(said, needed(model, project.models[name], part))
            for interval, written in gone.get((name, version), ())
            if written <= commit
            for over in there & Ranges((interval,))
        )
        for interval in Ranges((part,)) & again:
            yield interval, entry
