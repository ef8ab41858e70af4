"""Is a run still at work? Each of its processes gives a sign of life every few seconds; who gives none has stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

EVERY = 5.0
"""Seconds between two signs of life."""
STOPPED_AFTER = 30.0
"""Seconds without one after which a process is taken for stopped, wherever it ran. One from so far
ahead says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The last sign of life of one process of a run. `age` is in seconds, by the clock of the place where it is kept.

    `home` names the machine and the process namespace in which `pid` means something.
    """

    run: str
    home: str
    pid: int
    age: float
    routine: bool = False
    """Whether it is a routine run: it goes before heavy builds."""
    process: str = ""
    """What tells the process from all others, wherever they run; "" in those of earlier releases."""
    began: str = ""
    """When it began, as people read it, in UTC; "" where it does not say."""


def routine_at_work(beats: Sequence[Heartbeat], *, home: str, alive: Callable[[int], bool]) -> str:
    """The routine run that is at work, and since when, as the process that asks can tell; "" for none."""
    runs = {beat.run: beat.began for beat in sorted(beats, key=lambda b: b.run) if beat.routine}
    run = next((run for run in runs if not why_stopped(beats, run, home=home, alive=alive)), "")
    return f"{run} (since {runs[run]} UTC)" if run and runs[run] else run


def why_silent(beats: Iterable[Heartbeat], process: str) -> str:
    """Why a process is taken for stopped, whatever runs there; "" while it gives signs of life."""
    mine = [beat for beat in beats if beat.process == process]
    return _silence(min(mine, key=lambda b: abs(b.age))) if mine else "it ended without a word"


def why_stopped(beats: Iterable[Heartbeat], run: str, *, home: str, alive: Callable[[int], bool]) -> str:
    """Why a run is taken for stopped; "" while one of its processes is at work.

    `home` and `alive` are those of the process that asks: where it can see another one, that decides at once.
    """
    mine = [beat for beat in beats if beat.run == run]
    if not mine:
        return "it ended without a word"
    if any(abs(b.age) <= STOPPED_AFTER and (b.home != home or alive(b.pid)) for b in mine):
        return ""
    newest = min(mine, key=lambda b: abs(b.age))
    if newest.home == home and not alive(newest.pid):
        return f"its process {newest.pid} is gone"
    return _silence(newest)


def _silence(beat: Heartbeat) -> str:
    if abs(beat.age) <= STOPPED_AFTER:
        return ""
    if beat.age < 0:
        return f"its sign of life is {-beat.age:.0f} s ahead of the clock here"
    return f"no sign of life for {beat.age:.0f} s"
