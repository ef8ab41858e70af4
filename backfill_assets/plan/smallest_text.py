"""How is it said that less than a plan builds would do: for whom, what it saves, what it leaves, how to ask for it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.wording import SHOWN, amount, first_few, listed
from backfill_assets.plan.commands import with_why
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import duration, money
from backfill_assets.plan.smallest import ReadingConsumer, Smallest
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.strategy import PROOF, Strategy


def smallest_words(plan: Plan, models: Mapping[str, Model], estimate: PlanEstimate) -> list[str]:
    """Sentences about the smallest window that consumers need; none where there is no question of it. Names in them
    are as their files say them: whoever shows them makes them inert."""
    found = plan.smallest
    if found is None:
        return []
    if found.reason:
        return [f"No shorter history is proposed: {found.reason}."]
    said: list[str] = []
    if plan.request.forward_only:
        said += [_fit(plan, found)]
    if plan.smaller or (found.since and not found.missed):
        said += [
            f"Less history would do for consumers: {_needed(found, models)}, because {_who(found.readers)}.",
            _saved(plan, estimate),
            _left(found, plan.environment),
        ]
    return said


def smallest_command(plan: Plan) -> str:
    """The command of the smaller plan, as a shell takes it; "" where none is offered."""
    return with_why(plan.smallest.command, plan.request) if plan.smallest and plan.smallest.command else ""


def smallest_note(found: Smallest, environment: str) -> str:
    """Since when an environment shows which logic; nothing where all of it is of one."""
    if found.since is None:
        return ""
    if found.option == "start":
        return (
            f"{environment} has no rows before {found.since:%Y-%m-%d} then, until the next routine run builds them;"
            f" a header that says `start: {found.since:%Y-%m-%d}` leaves them out for good."
        )
    return (
        f"{environment} then has two logics: the new one from {found.since:%Y-%m-%d} on, what it shows now before"
        " that. The release note says so; routine runs leave it so, and the next plan without --forward-only proposes"
        " the older days."
    )


def _fit(plan: Plan, found: Smallest) -> str:
    since = plan.request.forward_only
    if found.missed:
        return (
            f"{_who(found.missed)}: that goes back further than {since:%Y-%m-%d}, so that they see rows of both"
            f" logics in {plan.environment}."
            + (f" From {found.since:%Y-%m-%d} on, all that they read is of the new one." if found.since else "")
        )
    return f"All that consumers declare to read of what changes is of the new logic: {_who(found.readers)}."


def _needed(found: Smallest, models: Mapping[str, Model]) -> str:
    parts = [
        f"{amount(Ranges((need,)).count(models[name].cadence), models[name].cadence)} of {name}, {need}"
        for name, need in found.needs.items()
        if name not in found.later
    ]
    return listed(parts) if len(parts) <= SHOWN else first_few(parts)


def _who(readers: Sequence[ReadingConsumer]) -> str:
    said = [f"{r.consumer} reads {'all' if r.history is None else f'{r.history} days'} of {r.model}" for r in readers]
    return first_few(said)


def _saved(plan: Plan, estimate: PlanEstimate) -> str:
    count, whole = sum(b.count for b in plan.smaller), sum(s.count for s in estimate.stages)
    less = f"It builds {count:,} instead of {whole:,} intervals"
    full, part = estimate.total.seconds, estimate.smallest.total.seconds if estimate.smallest else None
    if full is None or part is None or estimate.smallest is None:
        return f"{less}; what that saves nobody knows yet."
    saved = full.likely - part.likely
    said, instead, much = duration(part.low, part.high), duration(full.low, full.high), duration(saved, saved)
    if estimate.price:
        price = estimate.price
        hour = price.per_hour / 3600
        said += f" and {money(price.currency, part.low * hour, part.high * hour)}"
        instead += f" and {money(price.currency, full.low * hour, full.high * hour)}"
        much += f" and {money(price.currency, saved * hour, saved * hour)}"
    basis = listed(dict.fromkeys(stage.takes.basis for stage in estimate.smallest.stages))
    if saved <= 0 or part.high > full.high:
        return f"{less}, in {said} instead of {instead}: that may take no less. Estimated {basis}."
    share = f", {saved / full.likely:.0%}" if full.likely else ""
    return f"{less}, in {said} instead of {instead}: about {much} less{share}. Estimated {basis}."


def _left(found: Smallest, environment: str) -> str:
    said = [smallest_note(found, environment)]
    if found.option == "forward-only":
        said.insert(0, f"By {Strategy.FORWARD_ONLY}: {PROOF[Strategy.FORWARD_ONLY]}.")
    if found.null_before:
        said.append(f"Rows before it have NULL in {first_few(found.null_before)}.")
    if found.later:
        said.append(f"{first_few(found.later)} {'come' if len(found.later) > 1 else 'comes'} with a plan afterwards.")
    return " ".join(said)
