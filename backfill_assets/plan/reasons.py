"""Why is a model rebuilt, or not? The chain of columns from what changed upstream to what reads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from backfill_assets.core.model import UNKNOWN, Project, Signature
from backfill_assets.core.wording import first_few
from backfill_assets.plan.category import Category, TableChange, affects
from backfill_assets.plan.own_change import UNTOLD, OwnChange

OWN_CODE = "its own code changed"
AS_WRITTEN = "its code is the same, but what it reads has other letters, types, order or keys of columns"
ROWS = "its rows"
"""What a column is said to be in when it decides which rows there are."""


def reasons(
    project: Project, name: str, changes: Mapping[str, TableChange], itself: OwnChange | None = None
) -> tuple[str, ...]:
    """One sentence for each upstream model that changed: which of its changed columns this model reads, and in what.

    So has what is otherwise of its sources, by `itself`. A model that changed without any of that changed in its own
    code; that is a sentence too.
    """
    found: list[str] = []
    own, touched = changes.get(name), False
    changed = own is not None and own.category not in (Category.UNCHANGED, Category.NEW)
    for upstream in project.models[name].upstreams:
        change = changes.get(upstream.name)
        if change is None or change.category in (Category.UNCHANGED, Category.NEW):
            continue
        reads = reads_of(project.signatures.get(name, UNKNOWN), upstream.name)
        if not reads:
            found.append(f"{_whole(project, name)}, so any change of {upstream.name} counts")
            touched = True
        elif hit := affects(change, frozenset(reads)):
            where = sorted({w for column in hit for w in reads[column]}, key=lambda w: (w != ROWS, w))
            what = (
                f"rows of {upstream.name}, which differ,"
                if change.rows
                else f"{upstream.name}.{first_few(sorted(hit))}"
            )
            found.append(f"reads {what} for {first_few(where)}")
            touched = True
        elif changed and (new := reads.keys() & {*change.added} - _read_then(itself, upstream.name)):
            # by a star, or under a name that meant something else
            where = sorted({w for column in new for w in reads[column]}, key=lambda w: (w != ROWS, w))
            came = first_few(sorted(new))
            found.append(f"reads {upstream.name}.{came}, which {upstream.name} did not have, for {first_few(where)}")
            touched = True
        else:
            moved = (*change.columns, *change.removed, *change.added)
            found.append(f"reads none of what changed in {upstream.name} ({first_few(moved)})")
    if not changed:
        return tuple(found)
    around = tuple(why for why in itself.around if not (touched and why == UNTOLD)) if itself else ()
    if (touched or around) and not (itself and itself.code):
        return (*around, *found)
    if itself and not itself.code:
        return (AS_WRITTEN, *around, *found)
    alone = name in project.whole and not touched
    whole = (f"{_whole(project, name)}: it is compared as a whole",) if alone else ()
    return (OWN_CODE, *whole, *around, *found)


def _read_then(itself: OwnChange | None, upstream: str) -> set[str]:
    return {ref.column for ref in itself.read if ref.table == upstream} if itself else set()


def _whole(project: Project, name: str) -> str:
    why = project.whole.get(name)
    return f"its column lineage is unknown ({why})" if why else "its column lineage is unknown"


def reads_of(signature: Signature, upstream: str) -> dict[str, set[str]]:
    """Which columns of an upstream a model reads, and for which of its columns (ROWS: for its rows). Empty: unknown."""
    found: dict[str, set[str]] = defaultdict(set)
    for ref in signature.row_reads:
        if ref.table == upstream:
            found[ref.column].add(ROWS)
    for column, refs in signature.column_reads.items():
        for ref in refs:
            if ref.table == upstream:
                found[ref.column].add(column)
    return dict(found)
