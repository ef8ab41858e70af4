"""Do the newest intervals have about as many rows as those before them?"""

from __future__ import annotations

from statistics import median

from backfill_assets.core.intervals import Ranges
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind

NEWEST = 3
"""How many intervals are looked at: what a weekend without anybody leaves."""
BEFORE = 14
"""How many they are compared with: two weeks, so that weekdays and weekends are among them."""
FEWEST = 3
"""Fewer say nothing of what is usual (the audit `trend` holds to the same)."""
FACTOR = 2.0
"""Fewer than half, or more than twice as many: a weekend is not that, a load that ran twice or half is. Sharper bounds
are for the audit `trend`, which knows its model."""


def row_counts(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each model whose newest intervals have far more or fewer rows than is usual."""
    found: list[Notice] = []
    for name, pointer in look.environment.pointers.items():
        model, counts = look.project.models.get(name), look.rows.get(name)
        if model is None or counts is None:
            continue
        shown = list((pointer.covers & model.expected(look.now)).split(model.cadence))
        newest, before = shown[-NEWEST:], shown[-NEWEST - BEFORE : -NEWEST]
        if len(before) < FEWEST:
            continue
        usual = median(counts.get(i.start, 0) for i in before)
        odd = [i for i in newest if not usual / FACTOR <= counts.get(i.start, 0) <= usual * FACTOR]
        if odd:
            said = ", ".join(f"{counts.get(i.start, 0)} in {i}" for i in odd)
            found.append(
                Notice(
                    kind=NoticeKind.ROWS,
                    model=name,
                    intervals=Ranges.of(odd),
                    what=f"rows: {said}; usual are {usual:g} (median of the {len(before)} before)",
                    remedy="look at the source for these; if it is right so, nothing has to be done",
                )
            )
    return tuple(found)
