"""Which columns does a view have of each of its tables? Cast where that is safe, NULL for what a table lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.sql.types import safe_cast
from backfill_assets.state.view_types import ONE_TYPE, not_safe, stored_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A column of a view, by name and Spark type, and what of one table it shows."""

    name: str
    kind: str
    stored: str = ""
    """Empty: the table lacks it, and the view says NULL."""
    stored_kind: str = ""


def view_columns(pointer: Pointer, wanted: Sequence[tuple[str, str]], segment: Segment) -> Iterator[ViewColumn]:
    """What a segment's table gives of the wanted columns, in their order.

    Raises PromotionError when a cast could lose values.
    """
    there = stored_columns(pointer, segment)
    for name, kind in wanted:
        stored, stored_kind = there.get(name.lower(), ("", kind))
        if not safe_cast(stored_kind, kind):
            raise PromotionError(
                f"column {name} of {pointer.model} cannot be {kind}: "
                f"it is {stored_kind} in the rows of {segment.interval}",
                why=not_safe(stored_kind, kind),
                fix=ONE_TYPE
                if tuple(wanted) == pointer.columns
                else "add the column under a new name, move the readers, and remove the old one later",
            )
        yield ViewColumn(name=name, kind=kind, stored=stored, stored_kind=stored_kind if stored else "")
