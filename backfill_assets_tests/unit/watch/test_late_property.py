"""Is exactly that proposed which a day by day look finds? Any history of loads, builds and restatements."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Source
from backfill_assets.plan.source_history import SourceChange, SourceHistory
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import a_model
from backfill_assets_tests.unit.watch.watch_world import Lookout

DAYS = 12
CADENCES = [Cadence.DAILY, Cadence.WEEKLY]
START = utc("2024-01-01")  # a Monday


class Loads:
    """A SourceReader over loads in memory, the same that are pinned."""

    def __init__(self) -> None:
        self.loads: list[set[int]] = []

    def history(self, source: Source, since: int) -> SourceHistory:
        changes = [
            SourceChange(name=f"commit {n}", commit=n, touches=Ranges.of(day(d) for d in touched))
            for n, touched in enumerate(self.loads)
        ]
        return SourceHistory(changes=changes, since=-1, head=len(self.loads) - 1)

    def newest(self, source: Source) -> datetime | None:
        return None

    def ready_until(self, source: Source) -> datetime | None:
        return None


class Kept(Lookout):
    def pin(self) -> dict[str, object]:
        assert isinstance(self.reader, Loads)
        return {"commit": len(self.reader.loads) - 1}


def day(number: int) -> Interval:
    start = START + timedelta(days=number)
    return Interval(start, start + timedelta(days=1))


load = st.sets(st.integers(0, DAYS + 2), min_size=1, max_size=3)
steps = st.lists(st.one_of(load, st.just("a day"), st.just("restate")), max_size=12)


@settings(max_examples=60, deadline=None)
@given(steps=steps, cadence=st.sampled_from(CADENCES), lookback=st.integers(0, 3))
def test_the_days_that_a_brute_force_look_finds(steps: list[set[int] | str], cadence: Cadence, lookback: int) -> None:
    """Every shown interval that reads a day which was loaded after it was built; no other."""
    loads = Loads()
    loads.loads.append(set(range(DAYS)))
    source = Source(name="raw", path="/nowhere", time_column="at", file=Path("/nowhere"))
    lookout = Kept(a_model("m", "raw", cadence=cadence, lookback=lookback, start=START), source=source, reader=loads)
    lookout.now = utc("2024-01-09T12:00")
    built: dict[datetime, int] = {}  # start of a shown interval → the last load that it read

    def reads(start: datetime) -> set[int]:
        length = 1 if cadence is Cadence.DAILY else 7
        first = (start - START).days
        return set(range(first - lookback * length, first + length))

    def go_on() -> None:
        lookout.release()
        unit = timedelta(days=1 if cadence is Cadence.DAILY else 7)
        start = START
        while start + unit <= lookout.now:
            built.setdefault(start, len(loads.loads) - 1)
            start += unit

    def expected() -> set[datetime]:
        return {s for s, n in built.items() if any(reads(s) & later for later in loads.loads[n + 1 :])}

    def found() -> set[datetime]:
        return {i.start for n in lookout.notices() for a in [n.intervals] if n.restate for i in a.split(cadence)}

    go_on()
    for step in steps:
        if isinstance(step, set):
            loads.loads.append(step)
        elif step == "a day":
            lookout.now += timedelta(days=1)
            go_on()
        elif late := next((n for n in lookout.notices() if n.restate), None):
            lookout.release(Request(restate=tuple((late.model, i) for i in late.intervals)))
            built |= {i.start: len(loads.loads) - 1 for i in late.intervals.split(cadence)}
        assert found() == expected()
