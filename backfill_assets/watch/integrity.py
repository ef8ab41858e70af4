"""Is what the pointers name all there, and do the views say the same?"""

from __future__ import annotations

from datetime import timedelta

from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.faults import FaultKind, faults
from backfill_assets.promote.mismatches import shown_apart
from backfill_assets.promote.rehearsal import damages
from backfill_assets.watch.before_restating import before_restating
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind

_BACKUP = "; or restore the files from a backup"
STUCK_AFTER = timedelta(hours=1)
"""A promotion takes seconds, and minutes with many views in a shared catalog."""


def integrity(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each model with files that cannot be read, rows that the ledger does not vouch for, a version
    without a record, an upstream of another version, or a view that says something else."""
    found: list[Notice] = []
    open_one = look.environment.promotion
    if open_one is not None and look.at - open_one.opened > STUCK_AFTER:
        found.append(
            Notice(
                kind=NoticeKind.POINTER,
                model=", ".join(open_one.models),
                what=f"release {open_one.release} was opened at {open_one.opened:%Y-%m-%d %H:%M} UTC, never finished",
                remedy="backfill promote finishes or withdraws it",
            )
        )
    found += [
        Notice(
            kind=NoticeKind.POINTER,
            model=f.model,
            intervals=f.intervals,
            what=f"{f.kind.value}: {f.what}; it stays shown",
            remedy=f"{f.remedy}{_BACKUP if f.kind is FaultKind.DAMAGED else ''}",
        )
        for f in faults(look.project, look.environment, look.standing, damages(look.project, look.proofs))
    ]
    for name, pointer in look.environment.pointers.items():
        named = {v for s in pointer.segments for v in (s.version, s.logic)}
        lacking = {v for v in named if (name, v) not in look.versions}
        found += [
            Notice(
                kind=NoticeKind.POINTER,
                model=name,
                what=f"version {version} has no record: routine runs cannot extend it",
                remedy="restore `_control/versions` from a backup, or promote another version",
            )
            for version in sorted(lacking)
        ]
    found += [
        Notice(
            kind=NoticeKind.UPSTREAM,
            model=m.model,
            what=f"was built from {m.upstream} {m.built_from}, but {look.environment.name} shows {m.shown}",
            remedy="backfill plan says what builds it anew; or go back to a release of both: backfill releases",
        )
        for m in shown_apart(look.project, look.environment, look.versions)
        if m not in look.kept
    ]
    found += [
        Notice(
            kind=NoticeKind.UPSTREAM,
            model=o.model,
            intervals=o.intervals,
            what=f"was built from other rows of {o.upstream} {o.of} than {look.environment.name} shows",
            remedy=f"{before_restating(look, [o.model])}{restate_command(restate_argument(o.model, o.intervals))}, "
            "then backfill promote PLAN, which it names; or go back to a release of both: backfill releases",
        )
        for o in look.older
    ]
    found += [
        Notice(
            kind=NoticeKind.VIEW,
            model=name,
            what=what,
            remedy="its next release writes the view again, or backfill janitor --apply where `tables:` is set; "
            "until then query another way",
        )
        for name, what in sorted(look.views.items())
    ]
    return tuple(found)
