"""Do a model's rows depend on how its intervals are cut into batches? One of the first batch is computed alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from backfill_assets.build.engine import Job, OtherAlone
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval

Ask = Callable[[], OtherAlone | None]


@dataclass(slots=True)
class Alone:
    """What one batch of a model's run told of all of them. Batches that end at the same time wait for it."""

    asked: bool = False
    refusal: BuildError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, job: Job, batch: Interval, ask: Ask) -> None:
        """Raise BuildError where an interval of a batch has other rows alone. A batch of one interval is that."""
        if job.model.cadence.count(batch) < 2:
            return
        with self.lock:
            if not self.asked:
                found = ask()
                self.asked, self.refusal = True, found and _refusal(job, batch, found)
        self.begin(job, batch)

    def begin(self, job: Job, batch: Interval) -> None:
        """Raise what was found already: nothing more has to be computed to be refused."""
        if self.refusal is not None and job.model.cadence.count(batch) > 1:
            raise self.refusal


def _refusal(job: Job, batch: Interval, found: OtherAlone) -> BuildError:
    model, (together, alone) = job.model, found.rows
    differ = f"other values of {', '.join(found.columns)}" if together == alone else f"{alone} rows, not {together}"
    return BuildError(
        f"rows of {model.name} depend on which {model.cadence.unit}s are computed with them",
        why=f"{found.interval}, computed by itself, has {differ}, as in the batch {batch}; batches follow the machine, "
        f"so another run, a restatement or a routine run would publish other rows",
        fix=f"let windows, groups and subqueries go by {model.time_column}, and read earlier {model.cadence.unit}s by "
        f"`lookback`; or write `batch_size: 1` into the header: each {model.cadence.unit} is computed by itself then",
    )
