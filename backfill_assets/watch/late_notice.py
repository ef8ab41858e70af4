"""What is said of published intervals that were built before their sources changed, and what builds them again?"""

from __future__ import annotations

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.reach import reach
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.patch import restatement
from backfill_assets.plan.taking_out import out_command
from backfill_assets.watch.before_restating import before_restating, open_restatement
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def late_notice(
    look: WatchFacts, name: str, intervals: Ranges, what: str, *, restated: Ranges, otherwise: str = ""
) -> Notice:
    """A finding about intervals of a model: a restatement computes what is `restated` of them again, with all that
    reads it; `otherwise` is what computes the rest."""
    patches = restatement(look.project, look.environment, [(name, part) for part in restated], {}, look.now, {})
    arguments = restate_argument(name, restated)
    itself = "; ".join(filter(None, (otherwise, _restating(arguments))))
    if name in look.fingerprints:
        before = before_restating(look, patches or [name])
        remedy = before + itself
    else:
        readers = [n for n in look.project.downstream(name) if n in patches and n in look.fingerprints]
        arguments = tuple(each for n in readers for each in restate_argument(n, patches[n].intervals))
        before = before_restating(look, readers)
        remedy = _without_code(look, name, before + _restating(arguments), itself)
    return Notice(
        kind=NoticeKind.LATE,
        model=name,
        intervals=intervals,
        what=what,
        remedy=remedy,
        downstream={reader: patch.intervals for reader, patch in patches.items() if reader != name},
        restate=arguments,
        waits=bool(before),
        first=open_restatement(look, patches or [name]),
    )


def _restating(arguments: tuple[str, ...]) -> str:
    return f"{restate_command(arguments)}, then backfill promote PLAN, which it names" if arguments else ""


def _without_code(look: WatchFacts, name: str, reading: str, itself: str) -> str:
    """What to do about a model that the code does not have: its readers are computed again from what the code reads
    (`reading`), and it goes, with those that the code does not have either; or its file comes back."""

    def gone(above: str) -> list[str]:
        return [
            n for n in look.project.downstream(above) if n in look.environment.pointers and n not in look.fingerprints
        ]

    first = f"{reading}; then " if reading else ""
    out = f"take it out of {look.environment.name}: {out_command(sorted((name, *reach([name], gone))))}"
    back = f"put its file back{f', then {itself}' if itself else ''}"
    return f"the code has no {name} any more: {first}{out}; or {back}"
