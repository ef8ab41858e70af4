"""What happens when somebody ends a command? Nothing else begins, what is done is kept, and how to go on is said."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from backfill_assets.cli.terminal import err, styled
from backfill_assets.core.wording import amount

if TYPE_CHECKING:
    from backfill_assets.app.context import Context
    from backfill_assets.plan.stages import Plan

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@dataclass(slots=True)
class Ending:
    """The signal that ends the command, if one came."""

    number: int = 0

    @property
    def code(self) -> int:
        """What a shell expects of a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.number

    def __call__(self, number: int, _: FrameType | None) -> None:
        if self.number:  # the second one: not even what is under way is waited for
            os._exit(self.code)
        self.number = number
        logging.disable(logging.CRITICAL)  # py4j logs each call that loses its JVM, pages of it
        raise KeyboardInterrupt


@contextmanager
def listening() -> Generator[Ending]:
    """SIGTERM is what Ctrl-C is while the block runs: a KeyboardInterrupt in the main thread."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    before = {number: signal.signal(number, ending) for number in WORDS}
    try:
        yield ending
    finally:
        logging.disable(logging.NOTSET)
        for number, handler in before.items():
            signal.signal(number, handler)


def say_ended(ending: Ending) -> None:
    """The last words."""
    console, word = err(), WORDS.get(signal.Signals(ending.number), "ended")
    console.print(
        styled(
            "[bold red]backfill:[/] [bold]{}[/]: finished batches are kept; the same command goes on from there", word
        )
    )
    console.print(f"  {shlex.join(['backfill', *sys.argv[1:]])}")


def say_done(context: Context, made: Plan, run: str) -> None:
    """What a run that is ended got done, a line a model."""
    from backfill_assets.cli.ranges import short
    from backfill_assets.core.intervals import Ranges
    from backfill_assets.state.ledger import Kind

    entries = [e for e in context.control.ledger.entries(list(made.models)) if e.run == run]
    wanted: dict[str, Ranges] = {}
    for stage in made.work:
        wanted[stage.model] = wanted.get(stage.model, Ranges()) | stage.intervals
    for name, asked in wanted.items():
        built = Ranges.of(e.interval for e in entries if e.model == name and e.kind is Kind.BUILT) & asked
        green = Ranges.of(e.interval for e in entries if e.model == name and e.kind is Kind.AUDITED) & asked
        cadence = context.project.models[name].cadence
        said = f"{built.count(cadence)} of {amount(asked.count(cadence), cadence)} built"
        if waiting := (built - green).count(cadence):
            said += f", {waiting} of them to be audited by the next run"
        err().print(f"  {name}: {said}" + (f" ({short(built)})" if built else ""))
