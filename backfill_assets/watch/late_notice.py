"""What is said of published intervals that were built before their sources changed, and what builds them again?"""

from __future__ import annotations

from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.patch import restatement
from backfill_assets.plan.taking_out import out_command
from backfill_assets.watch.before_restating import before_restating
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def late_notice(
    look: WatchFacts, name: str, intervals: Ranges, what: str, *, restated: Ranges, otherwise: str = ""
) -> Notice:
    """A finding about intervals of a model: a restatement computes what is `restated` of them again, with all that
    reads it; `otherwise` is what computes the rest."""
    patches = restatement(look.project, look.environment, [(name, part) for part in restated], {}, look.now, {})
    arguments, restating = restate_argument(name, restated), _restating(restate_argument(name, restated))
    remedy = before_restating(look, patches or [name]) + "; ".join(filter(None, (otherwise, restating)))
    if name not in look.fingerprints:
        readers = [n for n in patches if n in look.fingerprints and name in _models_read(look, n)]
        arguments = tuple(each for n in readers for each in restate_argument(n, patches[n].intervals))
        itself = "; ".join(filter(None, (otherwise, restating)))
        remedy = _without_code(look, name, readers, _restating(arguments), itself)
    return Notice(
        kind=NoticeKind.LATE,
        model=name,
        intervals=intervals,
        what=what,
        remedy=remedy,
        downstream={reader: patch.intervals for reader, patch in patches.items() if reader != name},
        restate=arguments,
    )


def _restating(arguments: tuple[str, ...]) -> str:
    return f"{restate_command(arguments)}, then backfill promote PLAN, which it names" if arguments else ""


def _models_read(look: WatchFacts, name: str) -> set[str]:
    return {u.name for u in look.project.models[name].upstreams}


def _without_code(look: WatchFacts, name: str, readers: list[str], reading: str, itself: str) -> str:
    """What to do about a model that the code does not have: its readers are computed again from what the code reads."""
    first = f"{before_restating(look, readers)}{reading}; then " if readers else ""
    back = f"; or put its file back, then {itself}" if itself else "; or put its file back"
    out = f"take it out of {look.environment.name}: {out_command(_going(look, name))}"
    return f"the code has no {name} any more: {first}{out}{back}"


def _going(look: WatchFacts, name: str) -> list[str]:
    """It, and all that is shown, reads it and is not in the code either: they go together."""
    going = [name]
    for each in going:
        going += [
            n
            for n in look.environment.pointers
            if n not in going
            and n not in look.fingerprints
            and n in look.project.models
            and each in _models_read(look, n)
        ]
    return sorted(going)
