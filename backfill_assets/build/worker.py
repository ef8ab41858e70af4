"""What do the steps of one job's build share? What came of them so far, and how they compute, tell and record.

Batches are built in `build/batch.py` and audited in `build/audit.py`, from several threads.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from backfill_assets.audits.judge import red
from backfill_assets.audits.result import AuditResult
from backfill_assets.build.alone import Alone
from backfill_assets.build.bench import Workbench
from backfill_assets.build.bisect import Budget
from backfill_assets.build.engine import Engine, Job
from backfill_assets.build.engine_restart import on_engine
from backfill_assets.build.events import BatchFailed
from backfill_assets.build.outcome import FailedInterval
from backfill_assets.core.errors import BackfillError, RunEndedError, StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.state.changes import Changes
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.removals import Removal

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Worker:
    """One job in one run, and what came of it so far."""

    bench: Workbench
    job: Job
    digest: str
    removals: frozenset[Removal]
    """What was known of removals before the first look."""
    engine: Engine
    """The one that was used last."""
    alone: Alone = field(default_factory=Alone)
    budget: Budget = field(default_factory=Budget)
    lock: threading.Lock = field(default_factory=threading.Lock)
    built: list[Interval] = field(default_factory=list[Interval])
    failures: list[FailedInterval] = field(default_factory=list[FailedInterval])
    results: list[AuditResult] = field(default_factory=list[AuditResult])
    rowless: list[Interval] = field(default_factory=list[Interval])
    later: list[Interval] = field(default_factory=list[Interval])
    """Batches that another process builds: looked at again when there is nothing else to do."""
    rows: int = 0
    bytes: int = 0
    changes: Changes | None = None
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def settled(self) -> Ranges:
        """What was tried and will not get better by trying again."""
        return Ranges.of(f.interval for f in self.failures) | red(self.results)

    def job_of(self, interval: Interval) -> Job:
        """The job with the sources as the interval reads them."""
        return self.job.reading(self.bench.sources(self.job.model.name, interval))

    def compute(self, do: Callable[[Engine], T], *, again: bool = True) -> T:
        """What `do` gives on the run's engine, which is the one to cancel from now on (`on_engine`)."""

        def noted(engine: Engine) -> T:
            self.engine = engine
            return do(engine)

        return on_engine(self.bench, self.job.model.name, noted, again=again)

    def entry(self, kind: Kind, interval: Interval, **more: object) -> Entry:
        """What the ledger is told of an interval, now."""
        blank = Entry(
            kind=kind,
            model=self.job.model.name,
            version=self.job.version,
            interval=interval,
            run=self.bench.run,
            at=datetime.now(UTC),
        )
        return replace(blank, **more)  # pyright: ignore[reportArgumentType]

    @contextmanager
    def recording(self) -> Generator[None]:
        """Time what is recorded inside, and end the run where it cannot be."""
        with self.timed("record"), must_record():
            yield

    @contextmanager
    def timed(self, phase: str) -> Generator[None]:
        """Add the time spent inside to one of the phases."""
        began = time.monotonic()
        try:
            yield
        finally:
            with self.lock:
                self.seconds[phase] += time.monotonic() - began

    def put_off(self, interval: Interval) -> None:
        """Leave a batch to the process that builds it, until all else is done."""
        with self.lock:
            self.later.append(interval)

    def take_later(self) -> list[Interval]:
        """What was put off, oldest first; nothing is afterwards."""
        with self.lock:
            found, self.later = sorted(self.later), []
        return found

    def fail(self, interval: Interval, error: BackfillError) -> None:
        """Keep that an interval failed for good, and tell it."""
        self.tell_failed(interval, str(error), again=False)
        with self.lock:
            self.failures.append(FailedInterval(interval=interval, error=str(error)))

    def tell_failed(self, interval: Interval, error: str, *, again: bool) -> None:
        """Tell who listens that an attempt failed; `again`: another one follows."""
        self.bench.listen(
            BatchFailed(
                model=self.job.model.name,
                interval=interval,
                intervals=self.job.model.cadence.count(interval),
                error=error,
                again=again,
            )
        )


@contextmanager
def must_record() -> Generator[None]:
    """A ledger that cannot be written ends the run: whatever is built from then on would be unknown."""
    try:
        yield
    except (StateError, OSError) as error:
        refusal = (
            error if isinstance(error, BackfillError) else StateError("cannot record what was done", why=str(error))
        )
        fix = refusal.fix or "see that the disk of the warehouse has room and can be written"
        raise RunEndedError(
            refusal.what, why=refusal.why, fix=f"{fix}; then run the same command again: finished batches are kept"
        ) from error
