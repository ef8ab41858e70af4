"""Is a consumer kept on a release for longer than somebody said, or on rows that cannot be read any more?"""

from __future__ import annotations

from collections.abc import Iterator

from backfill_assets.promote.rehearsal import damages
from backfill_assets.watch.facts import PinFacts, WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def pins(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each model of a pin that is overdue, of nobody any more, damaged, or whose view says otherwise; and
    of one that nobody has finished."""
    unfinished = [
        Notice(kind=NoticeKind.PINNED, model=model, what=f"{one.consumer} {one.what}", remedy=one.remedy)
        for one in look.interrupted
        for model in one.promotion.models
    ]
    return (*(notice for one in look.pins for notice in _of(look, one)), *unfinished)


def _of(look: WatchFacts, one: PinFacts) -> Iterator[Notice]:
    pin = one.pin
    kept = f"{pin.consumer} is kept on release {pin.release}"
    end = f"backfill unpin {pin.consumer}"
    again = f"{end}; or, for longer, backfill pin {pin.consumer} {pin.release} --until DAY"
    wrong: list[tuple[str, str]] = []
    if pin.overdue(look.now.date()):
        wrong.append((f"{kept} until {pin.until}, which is over", again))
    if not one.known:
        wrong.append((f"{kept}, and consumers.yml does not name it any more", end))
    for model in sorted(pin.pointers):
        for what, remedy in wrong:
            yield Notice(kind=NoticeKind.PINNED, model=model, what=what, remedy=remedy)
        if model in one.views:
            mend = f"backfill pin {pin.consumer} {pin.release} --until {pin.until} writes it again"
            yield Notice(kind=NoticeKind.PINNED, model=model, what=f"{kept}: {one.views[model]}", remedy=mend)
    damaged = damages(look.project, one.proofs)
    for proof in one.proofs:
        mend = f"restore the files from a backup, or {end}"
        for what, intervals in damaged.get(proof.model, {}).items():
            said = f"{kept}, which cannot be read: {what}"
            yield Notice(kind=NoticeKind.PINNED, model=proof.model, intervals=intervals, what=said, remedy=mend)
