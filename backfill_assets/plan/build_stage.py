"""What does a plan say of the intervals of a version that are to be built?"""

from __future__ import annotations

from datetime import datetime

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.missing import split_open
from backfill_assets.plan.renamed_columns import batches_apart
from backfill_assets.plan.stages import Build


def build_stage(
    model: Model, version: str, intervals: Ranges, now: datetime, *, reason: str, copied: Copied = NO_COPY
) -> Build:
    """The stage that builds these intervals, in batches as the model wants them; what is `copied` in batches apart."""
    return Build(
        model=model.name,
        version=version,
        intervals=intervals,
        count=intervals.count(model.cadence),
        batches=batches_apart(model, intervals, now, copied),
        concurrency=model.batch_concurrency,
        reason=reason,
        open=split_open(model, intervals, now)[1],
    )
