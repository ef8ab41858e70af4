"""Was an adopted table written to since? Its rows are shown as they were: what others add there is in no view."""

from __future__ import annotations

from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.watch.facts import AdoptedTable, WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def changed_adopted_tables(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each adopted table that is another one by now, or gone."""
    return tuple(
        Notice(
            kind=NoticeKind.ADOPTED,
            model=one.model,
            intervals=one.intervals,
            what=f"the adopted table {one.location} {what}",
            remedy=remedy,
        )
        for one in look.adopted
        if (what := _what(one))
        for remedy in [_remedy(one)]
    )


def _what(one: AdoptedTable) -> str:
    if one.head < 0:
        return f"is not there any more, or its log cannot be read; commit {one.commit} of it is shown"
    if not one.same:
        return f"was made anew; commit {one.commit} of the one before is shown"
    if one.head > one.commit:
        return f"was written to, it is at commit {one.head}; commit {one.commit} is shown, as it was"
    return ""


def _remedy(one: AdoptedTable) -> str:
    last = Ranges(tuple(one.intervals)[-1:])
    again = restate_command(restate_argument(one.model, last))
    stop = "stop its writers: the model's query has taken over" if one.head >= 0 else "bring its files back"
    return f"{stop}; {again}, for the days that are meant, computes them beside, and they need it no more"
