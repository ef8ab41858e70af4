"""Do a model's rows depend on how its intervals are cut into batches? One of the first batch is computed alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from backfill_assets.build.engine import Job, OneAlone
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Model

_NAMED = 5
"""Columns that a refusal names."""


@dataclass(slots=True)
class Alone:
    """What one batch of a model's run told of all of them. Batches that end at the same time wait for it."""

    told: bool = False
    refusal: BuildError | None = None
    unsteady: tuple[str, ...] = ()
    """Columns of which the same batch gave other values once more, and nobody said that they may."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, job: Job, batch: Interval, ask: Callable[[], OneAlone | None]) -> None:
        """Raise BuildError where an interval of a batch has other rows alone. A batch of one interval is that; one that
        tells nothing leaves it to the next."""
        if job.model.cadence.count(batch) < 2:
            return
        with self.lock:
            if not self.told and (found := ask()) is not None:
                self.told, self.refusal = True, None if found.same else _refusal(job.model, batch, found)
                self.unsteady = () if job.model.allow_nondeterministic else found.unsteady
        self.begin(job, batch)

    def begin(self, job: Job, batch: Interval) -> None:
        """Raise what was found already: nothing more has to be computed to be refused."""
        if self.refusal is not None and job.model.cadence.count(batch) > 1:
            raise self.refusal


def _refusal(model: Model, batch: Interval, found: OneAlone) -> BuildError:
    (together, alone), unit = found.rows, model.cadence.unit
    more = f" and {len(found.columns) - _NAMED} more columns" if len(found.columns) > _NAMED else ""
    other = f"other values of {', '.join(found.columns[:_NAMED])}{more} than"
    other = other if together == alone else f"{alone} rows, not {together} as"
    where = "batch_size=1` into its decorator" if model.language == "python" else "batch_size: 1` into its header"
    return BuildError(
        f"rows of {model.name} depend on which {unit}s are computed with them",
        why=f"{found.interval}, computed by itself, has {other} in the batch {batch}; batches follow the machine, so "
        "another run, a restatement or a routine run would give others again",
        fix=f"let windows, groups, joins and subqueries go by {model.time_column}, read earlier {unit}s by `lookback`, "
        f"and order by a unique key; or write `{where}: each {unit} is computed by itself then",
    )
