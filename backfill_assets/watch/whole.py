"""Is what the pointers name all there, and do the views say the same?"""

from __future__ import annotations

from datetime import timedelta

from backfill_assets.promote.rehearsal import doubtful, unreadable
from backfill_assets.state.versions import logic_of
from backfill_assets.watch.look import Look
from backfill_assets.watch.notice import Kind, Notice

STUCK_AFTER = timedelta(hours=1)
"""A promotion takes seconds, and minutes with many views in a shared catalog."""


def whole(look: Look) -> tuple[Notice, ...]:
    """A notice for each model with files that cannot be read, rows that the ledger does not vouch for, a version
    without a record, or a view that says something else."""
    found: list[Notice] = []
    open_one = look.environment.promotion
    if open_one is not None and look.at - open_one.opened > STUCK_AFTER:
        found.append(
            Notice(
                kind=Kind.POINTER,
                model=", ".join(open_one.models),
                what=f"release {open_one.release} was opened at {open_one.opened:%Y-%m-%d %H:%M} UTC, never finished",
                remedy="backfill promote finishes or withdraws it",
            )
        )
    found += [
        Notice(
            kind=Kind.POINTER,
            model=o.model,
            intervals=o.intervals,
            what=o.what.rstrip(","),
            remedy="see `backfill releases`, then `backfill rollback RELEASE`; or restore the files from a backup",
        )
        for o in [*unreadable(look.proofs), *doubtful([p for p in look.proofs if not p.broken])]
    ]
    for name, pointer in look.environment.pointers.items():
        named = {v for s in pointer.segments for v in (s.version, logic_of(s.version))}
        lacking = {v for v in named if (name, v) not in look.versions}
        found += [
            Notice(
                kind=Kind.POINTER,
                model=name,
                what=f"version {version} has no record: routine runs cannot extend it",
                remedy="restore `_control/versions` from a backup, or promote another version",
            )
            for version in sorted(lacking)
        ]
    found += [
        Notice(
            kind=Kind.VIEW,
            model=name,
            what=what,
            remedy="its next release writes the view again; until then query another way",
        )
        for name, what in sorted(look.views.items())
    ]
    return tuple(found)
