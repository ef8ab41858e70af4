"""Does a table, at a commit, still give what was promoted of it? Counted by a promotion, compared by whoever reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.state.tables import Contents, TableLog


def with_counts(log: TableLog, pointers: Sequence[Pointer]) -> tuple[Pointer, ...]:
    """The pointers, each segment with what its table holds of it: what a promotion writes down.

    Raises StateError when a table does not give what an earlier promotion counted, or cannot be read.
    """
    seen: dict[tuple[str, str, int], Contents] = {}

    def count(model: str, segment: Segment) -> Segment:
        key = (model, segment.version, segment.commit)
        if key not in seen:
            seen[key] = log.contents(*key)
        if why := difference(segment, seen[key]):
            raise changed_table_error(model, segment, why)
        return replace(segment, held=seen[key].of(segment.interval))

    return tuple(replace(p, segments=Segments(count(p.model, s) for s in p.segments)) for p in pointers)


def difference(segment: Segment, there: Contents) -> str:
    """How a table's contents differ from what was promoted of a segment; "" when they do not, or nobody counted."""
    if segment.held is None or (found := there.of(segment.held.interval)) == segment.held:
        return ""
    was = segment.held
    return f"{found.rows} rows in {found.files} files of {was.interval}; {was.rows} in {was.files} were promoted"


def changed_table_error(model: str, segment: Segment, why: str) -> StateError:
    """The refusal to take a table's rows for those that were promoted."""
    return StateError(
        f"the table of {model} {segment.version} does not give at commit {segment.commit} what was promoted",
        why=f"it has {why}: its log or a file is damaged",
        fix="bring its files back as they were, from a backup; or restate the days that are lost: `backfill plan` "
        "names them, and the command; see `backfill doctor --deep`",
    )
