"""May the next batch of a heavy build begin? Not outside of the windows, and not while a routine run is under way.

Asked between batches, never in the middle of one: what has begun is written, recorded and audited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from backfill_assets.build.events import Held, Listener, Resumed
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.windows import Windows

LOOK_AGAIN = 30.0
"""Seconds after which a build that is held looks again, at most."""
ROUTINE_AGAIN = 5.0
"""The same while a routine run is under way."""


def real_clock() -> datetime:
    """Windows are those of people and machines: no setting fixes their clock."""
    return datetime.now(UTC)


def _nothing() -> str:
    return ""


@dataclass(slots=True, kw_only=True)
class Hold:
    """What holds a run up between its batches. Asked by several threads."""

    windows: Windows | None = None
    """None: a batch may begin at any time, whatever else runs."""
    regardless: str = ""
    """Why batches begin whatever else runs, also outside of the windows; "": they do not."""
    waits: bool = True
    """Whether it waits until the next batch may begin; otherwise nothing more begins, and the run ends."""
    routine: Callable[[], str] = _nothing
    """The routine run that is under way; "" for none."""
    plan_ended: Callable[[], str] = _nothing
    """Why the plan that is built is not wanted any more; "" as long as it is open."""
    now: Callable[[], datetime] = real_clock
    """The clock on the wall."""
    sleep: Callable[[threading.Event, float], object] = threading.Event.wait
    """Waits for the event, so many seconds at most."""
    ended: str = ""
    """Why no batch begins any more; "" as long as one may."""
    with_plan: bool = False
    """Whether that is so because the plan has ended: no run goes on with it."""
    _since: datetime | None = None
    """Since when it waits; None: batches begin."""
    _waited: list[Interval] = field(default_factory=list[Interval])
    """When it waited before."""
    _told: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def waited(self) -> Ranges:
        """When it waited, and no batch began: those that had begun may have run on."""
        with self._lock:
            now = self.now()
            since = self._since or now
            return Ranges.of([*self._waited, *([Interval(since, now)] if since < now else [])])

    def why(self) -> str:
        """Why no batch may begin right now; "" where one may."""
        return self.ended or self._why()[0]

    def may_begin(self, stop: threading.Event, listen: Listener) -> bool:
        """Wait until a batch may begin; False where none begins any more, as the run stops or does not wait."""
        while not stop.is_set() and not self.ended:
            why, seconds = self._why()
            if over := self.plan_ended():
                self._end(over, listen)
                return False
            self._tell(why, listen)
            if not why:
                return True
            if self.waits:
                self.sleep(stop, seconds)
        return False

    def exception(self) -> str:
        """What is recorded of a batch that begins now although it is outside of the windows; "" of all others."""
        outside = self.regardless and self.windows and not self.windows.open_at(self.now())
        return f"outside of the windows: {self.regardless}" if outside else ""

    def _why(self) -> tuple[str, float]:
        """Why no batch may begin now, "" where one may, and after how many seconds to look again."""
        if self.windows is None or self.regardless:
            return "", 0.0
        now = self.now()
        if self.windows.open_at(now) is None:
            opens = next(self.windows.coming(now)).start
            why = f"heavy builds run in windows ({self.windows}); the next one opens at {self.windows.told(opens)}"
            return why, min(LOOK_AGAIN, (opens - now).total_seconds())
        if run := self.routine():
            return f"the routine run {run} goes first; if it hangs, end it, or use --outside-windows", ROUTINE_AGAIN
        return "", 0.0

    def _end(self, why: str, listen: Listener) -> None:
        with self._lock:
            if self.ended:  # another thread saw it
                return
            self.ended, self.with_plan = why, True
            self._stop_waiting()
            listen(Held(why=why, waits=False))

    def _stop_waiting(self) -> None:
        now = self.now()
        if self._since is not None and self._since < now:
            self._waited.append(Interval(self._since, now))
        self._since = None

    def _tell(self, why: str, listen: Listener) -> None:
        with self._lock:
            if why and self.waits and self._since is None:
                self._since = self.now()
            if not why:
                self._stop_waiting()
            if why and not self.waits:
                self.ended = why
            if why != self._told:
                self._told = why
                listen(Held(why=why, waits=self.waits) if why else Resumed())
