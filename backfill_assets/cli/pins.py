"""How do pinned consumers look: what each is kept on, until when, and what changes for it afterwards?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rich.text import Text

from backfill_assets.cli.ranges import short
from backfill_assets.cli.releases import difference_json
from backfill_assets.cli.terminal import out
from backfill_assets.promote.interrupted_pins import InterruptedPin
from backfill_assets.promote.pinning import Pinned, Unpinned
from backfill_assets.state.pinned import PinnedConsumer


def print_pinned(done: Pinned) -> None:
    """What a consumer is kept on, and what it was kept on before."""
    console, pin, before = out(), done.pin, done.before
    console.print(Text(pin_line(pin)))
    if not done.moved:
        console.print("It was before; nothing was changed.")
    elif before is not None and before.release != pin.release:
        console.print(Text(f"It was kept on {before.release} until {before.until}: it moves.", style="yellow"))
    elif before is not None:
        console.print(Text(f"It was kept there until {before.until}."))
    console.print(Text("It reads " + ", ".join(f"{pin.schema}.{name}" for name in pin.pointers)))
    for obstacle in done.doubtful:
        doubt = f"{obstacle.model} {obstacle.intervals}: {obstacle.what} it is shown as it was then"
        console.print(Text(doubt, style="yellow"))
    console.print(Text(f"Next: backfill unpin {pin.consumer}, by {pin.until}"))


def pinned_json(done: Pinned) -> dict[str, object]:
    """A pin that was set as plain values."""
    return {
        **done.pin.to_json(),
        "before": done.before and done.before.to_json(),
        "changed": done.moved,
        "doubtful": [str(obstacle) for obstacle in done.doubtful],
    }


def print_unpinned(done: Unpinned) -> None:
    """What changes for a consumer that reads the environment again."""
    console, pin = out(), done.pin
    if pin is None:
        console.print(Text(f"{done.consumer} is not pinned: it reads {done.environment}."))
        return
    console.print(Text(pin_line(pin)))
    changed = {change.model: change for change in done.changes}
    console.print(f"What changes for it when it reads {done.environment} again:")
    for name in sorted(pin.pointers):
        lines = changed[name].lines(short) if name in changed else ["the same rows"]
        if name in changed and changed[name].other is None:
            lines = [f"{done.environment} does not show it any more"]
        console.print(Text(f"  {name}", style="bold") + Text(f"  {'; '.join(lines)}"))
    if done.notice:
        console.print(Text(f"Tell {done.owner or 'its owner'}, who wants {done.notice} days' notice of a change."))
    if done.done:
        console.print(
            Text(f"It reads {done.environment} from now on; the views of {pin.schema} are gone.", style="green")
        )
    else:
        console.print(Text(f"Nothing was changed. Next: backfill unpin {done.consumer}"))


def unpinned_json(done: Unpinned) -> dict[str, object]:
    """Pins that were taken off as plain values."""
    return {
        "consumer": done.consumer,
        "environment": done.environment,
        "pin": done.pin and done.pin.to_json(),
        "changes": [difference_json(change) for change in done.changes],
        "owner": done.owner or None,
        "notice_days": done.notice,
        "done": done.done,
    }


def print_pins(pins: Sequence[PinnedConsumer], today: date) -> None:
    """A line for each pinned consumer."""
    for pin in pins:
        over = pin.overdue(today)
        late = f"; that day is over: backfill unpin {pin.consumer}, or pin it anew" if over else ""
        out().print(Text(f"pinned   {pin_line(pin)}{late}", style="yellow" if over else ""))


def print_interrupted(pins: Sequence[InterruptedPin]) -> None:
    """A line for each consumer whose views nobody has put right since a command died."""
    for pin in pins:
        out().print(Text(f"pinned?  {pin.consumer} {pin.what}\n  fix: {pin.remedy}", style="yellow"))


def pin_line(pin: PinnedConsumer) -> str:
    """`cfo_weekly_export is kept on release r2024… until 2024-07-31, by ana: the quarter is being closed`."""
    why = f": {pin.reason}" if pin.reason else ""
    return f"{pin.consumer} is kept on release {pin.release} until {pin.until}, by {pin.by}{why}"
