"""What of some intervals of a model is missing? Asked of the ledger and the tables, right before it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.build.bench import Workbench
from backfill_assets.build.outcome import FailedInterval, Outcome, Wait
from backfill_assets.build.recheck import current_coverage, removals_of
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.adoption import kept_older
from backfill_assets.plan.missing import batches, ready, upstream_models
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.removals import Removal


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingWork:
    """What is missing of the intervals of a model's version that somebody asked for."""

    model: Model
    version: str
    requested: Ranges
    to_compute: Ranges
    """What can be computed by now, without `waits`."""
    to_audit: Ranges
    """What is built, and has no verdict yet."""
    waits: tuple[Wait, ...]
    coverage: Mapping[str, Coverage]
    """Of the model and of all that it reads."""
    heads: Mapping[tuple[str, str], int]
    """The newest commits of their tables."""
    removals: frozenset[Removal]
    """The table's, by the janitor."""

    @property
    def missing(self) -> Ranges:
        return self.to_compute | self.to_audit

    def untouched(self, *failures: FailedInterval) -> Outcome:
        """What came of it where nothing is done."""
        have = self.coverage[self.model.name]
        return Outcome(
            model=self.model.name,
            version=self.version,
            requested=self.requested,
            green=self.requested & have.complete,
            partial=self.requested & have.green & have.partial,
            failures=failures,
            waits=self.waits,
        )

    def refused(self, why: str) -> Outcome:
        """What came of it where none of it may be done."""
        span = self.missing.span or self.requested.span
        assert span is not None
        return self.untouched(FailedInterval(interval=span, error=why))


def find_work(bench: Workbench, name: str, intervals: Ranges) -> MissingWork:
    """What of these intervals of a model's current version is not built, or not audited."""
    model = bench.project.models[name]
    removals = removals_of(bench, name)  # before the look: a table that was seen may be removed at any time
    coverage, heads = current_coverage(bench, name)
    have = coverage[name]
    absent = intervals - have.complete - have.unaudited
    # Nothing to read there yet: it would pass for complete without rows. A correction has its own intervals.
    beyond = Ranges() if name in bench.patches else absent - model.begun(bench.now)
    shown = bench.pointers()
    readable = {n: of.complete | _kept_beside(bench, shown, n) for n, of in coverage.items() if n != name}
    to_compute, waiting = ready(
        model,
        absent - beyond,
        upstream_models(bench.project, model),
        readable,
        now=bench.now,
        ignore_cron=bench.ignore_cron,
    )
    waits = tuple(Wait(intervals=stuck, upstream=up, needs=lack) for up, (stuck, lack) in waiting.items())
    if beyond:
        reads = ", ".join(u.name for u in model.upstreams)
        waits = (Wait(intervals=beyond, upstream=reads or name, needs=beyond), *waits)
    return MissingWork(
        model=model,
        version=bench.version(name),
        requested=intervals,
        to_compute=to_compute,
        to_audit=intervals & have.unaudited,
        waits=waits,
        coverage=coverage,
        heads=heads,
        removals=removals,
    )


def _kept_beside(bench: Workbench, shown: Mapping[str, Pointer], name: str) -> Ranges:
    """What an upstream shows of an older version, and nothing of its current one takes the place of."""
    if name in bench.patches:
        return NOTHING
    return kept_older(shown.get(bench.project.models[name].name), bench.project.fingerprints[name])


def batches_of(bench: Workbench, model: Model, intervals: Ranges) -> list[Interval]:
    """The intervals in the plan's batches; what it has none for in new ones, each of one state of the sources."""
    planned = [part for batch in bench.planned.get(model.name, ()) for part in Ranges((batch,)) & intervals]
    rest = bench.read_alike(model.name, intervals - Ranges.of(planned))
    return sorted([*planned, *(batch for part, _ in rest for batch in batches(model, part, bench.now))])
