"""How is it said which state of its sources the rest of a plan reads? A sentence each, with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.escaping import one_line
from backfill_assets.core.pin import Pin, made_anew, same_pin
from backfill_assets.plan.commands import withdraw_command
from backfill_assets.plan.frozen import Continued, Mixed, Moved
from backfill_assets.plan.stages import Plan


def frozen_words(plan: Plan) -> list[str]:
    """What `plan`, `apply` and Dagster's log say of sources that changed since an open plan froze them."""
    return continued_words(plan.continued, plan.sources)


def continued_words(found: Continued, pins: Mapping[str, Pin]) -> list[str]:
    """The same of how a plan is gone on with. `pins`: the sources otherwise."""
    kept = [
        f"{part.model} {part.intervals} reads {name} at {pin_text(pin)}, as plan {part.plan} froze it"
        + (f": it is at {pin_text(pins[name])} by now" if name in pins and not same_pin(pins[name], pin) else "")
        for part in found.frozen
        for name, pin in part.sources.items()
    ]
    return [*kept, *map(_moved, found.moved), *map(_mixed, found.mixed)]


def pin_text(pin: Pin) -> str:
    """`commit 5`, or how many files there were."""
    return f"commit {pin['commit']}" if "commit" in pin else f"{pin.get('count', 'other')} files"


def _moved(moved: Moved) -> str:
    anew = " of the table that was made anew" if made_anew(moved.then, moved.now) else ""
    return (
        f"{moved.model} {moved.intervals} reads {moved.source} at {pin_text(moved.now)}{anew}, "
        f"not at {pin_text(moved.then)} as plan {moved.plan} froze it: {one_line(moved.why)}"
    )


def _mixed(mixed: Mixed) -> str:
    then, now = mixed.then.get("count"), mixed.now.get("count")
    how = f"{then} files then, {now} now" if then != now else "a file was written again"
    changed = f"{mixed.source} changed since plan {mixed.plan} froze it ({how}), and files cannot be read as they were"
    if not mixed.built:
        return f"{changed}: {mixed.model} {mixed.rest} reads them as they are; nothing was built from the others"
    return (
        f"{changed}: {mixed.model} {mixed.built} was built from other files than {mixed.rest} will be\n"
        f"  fix: to build all of it from those that are there: backfill abandon {mixed.plan}; "
        f"{withdraw_command(mixed.model, mixed.built)}; then apply again"
    )
