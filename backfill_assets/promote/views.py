"""What does the view of a model say? SQL over pinned segments, plain or ready to flip with the environment's commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.sql.text import quoted, within
from backfill_assets.sql.types import safe_cast
from backfill_assets.state.environment import ENVIRONMENTS
from backfill_assets.state.versions import table_path


def view_name(environment: str, model: str) -> str:
    """The view's qualified name."""
    return f"{quoted(environment)}.{quoted(model)}"


def plain_view(pointer: Pointer, warehouse: str) -> str:
    """The view's query: the union of the pointer's tables, each pinned to its commit and cut to its segments' days."""
    return _UNION.join(_branches(pointer, pointer.columns, warehouse))


def expanded_view(old: Pointer, new: Pointer, environment: str, warehouse: str, *, cutover: datetime) -> str:
    """The view's query while a promotion is under way: the old rows until the cutover, then what the environment says.

    The cutover lies after the environment's commit. A query has one `current_timestamp()`, for all views that it reads;
    each view's look at the environment's table is a subquery of its own, and a commit may fall between two of them.
    Whoever resolved the view and reads it after further releases gets the old rows where these went back, else the new.

    It keeps the old columns: new ones are cast to them, removed ones are NULL. Raises PromotionError when a cast could
    lose values. The branch that is off reads no files: the check becomes a partition filter.
    """
    table = f"{warehouse}/_control/{ENVIRONMENTS.name}"
    where = f"environment = '{environment}' AND model = '{old.model}'"
    now = f"(SELECT coalesce(max(pointer_id), '') FROM delta.`{table}` WHERE {where})"
    at = f"TIMESTAMP '{cutover:%Y-%m-%d %H:%M:%S.%f}Z'"
    still = f"(current_timestamp() < {at} OR {now} = '{old.id}')"
    already = f"current_timestamp() >= {at} AND {now} <> '{old.id}'"
    before = [f"{branch} AND {still}" for branch in _branches(old, old.columns, warehouse)]
    after = [f"{branch} AND {already}" for branch in _branches(new, old.columns, warehouse)]
    return _UNION.join([*before, *after])


_UNION = "\nUNION ALL\n"


def _branches(pointer: Pointer, wanted: Sequence[tuple[str, str]], warehouse: str) -> list[str]:
    """A query for each table that the pointer shows, which ends in a condition."""
    return [
        f"SELECT {_selected(pointer, wanted, segment)} FROM "
        f"delta.`{table_path(warehouse, pointer.model, segment.version)}` VERSION AS OF {segment.commit} "
        f"WHERE {within(pointer.time_column, parts, timestamps=pointer.timestamps)}"
        for segment, parts in pointer.segments.tables()
    ]


def _selected(pointer: Pointer, wanted: Sequence[tuple[str, str]], segment: Segment) -> str:
    """The select list that gives a segment's rows the wanted columns: cast where safe, NULL for what it lacks."""
    there = {name.lower(): (name, kind) for name, kind in segment.columns or pointer.columns}
    parts: list[str] = []
    for name, kind in wanted:
        found = there.get(name.lower())
        if found is None:
            parts.append(f"CAST(NULL AS {kind}) AS {quoted(name)}")
        elif found == (name, kind):
            parts.append(quoted(name))
        elif found[1] == kind:
            parts.append(f"{quoted(found[0])} AS {quoted(name)}")
        elif safe_cast(found[1], kind):
            parts.append(f"CAST({quoted(found[0])} AS {kind}) AS {quoted(name)}")
        else:
            raise PromotionError(
                f"column {name} of {pointer.model} changes from {kind} to {found[1]}",
                why="some rows or readers expect the one type and some the other, and this cast could lose values",
                fix="add the column under a new name, move the readers, and remove the old one later",
            )
    return ", ".join(parts)
