"""How far is the building of a plan? Each model's days by what became of them, its pace, and what failed last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backfill_assets.adapters.heartbeat import machine_name, read_heartbeats
from backfill_assets.app.context import Context
from backfill_assets.app.status import RunPace, pace_of
from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.processes import is_running
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.commands import again_command, apply_command
from backfill_assets.plan.stages import Request
from backfill_assets.plan.stored import stored_plan
from backfill_assets.project.stored import from_definition
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.heartbeats import why_stopped
from backfill_assets.state.in_flight import unfinished
from backfill_assets.state.ledger import Entry, Kind, by_version
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.tables import known_coverage
from backfill_assets.state.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProgress:
    """What the plan builds of one model; `green`, `unaudited` and what is left are disjoint."""

    model: Model
    wanted: Ranges
    green: Ranges
    unaudited: Ranges
    running: tuple[Entry, ...]
    """Batches that began, of runs that are at work."""
    stopped: tuple[tuple[Entry, str], ...]
    """Those of runs that are not, and why they are taken for stopped."""
    failures: tuple[Entry, ...]
    """The last word on intervals that are not green, the newest first."""
    pace: RunPace | None
    request: Request = field(default_factory=Request)
    """What the plan was made for."""

    @property
    def retried(self) -> tuple[tuple[Interval, str], ...]:
        """Each range that failed, or stopped, and is not at work again: with the command that tries it again alone."""
        ends = [*self.failures, *(entry for entry, _ in self.stopped)]
        again = Ranges.of(e.interval for e in ends) & (self.missing - Ranges.of(e.interval for e in self.running))
        return tuple((part, again_command(self.request, self.model.name, Ranges((part,)))) for part in again)

    @property
    def missing(self) -> Ranges:
        return self.wanted - self.green


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """A plan's models, in its order, and the command that goes on with what is left."""

    record: PlanRecord
    models: tuple[ModelProgress, ...]
    again: str

    @property
    def at_work(self) -> bool:
        return any(m.running for m in self.models)


def read_build_progress(context: Context, plan: str) -> BuildProgress:
    """How far a plan is: by the ledger, the tables' logs, the runs' signs of life. Raises PlanError, StateError."""
    record = find_plan(context.control, plan)
    versions, beats = context.control.versions.all(), read_heartbeats(context.warehouse)
    names = [t.model for t in record.targets]
    entries, here = by_version(context.control.ledger.entries(names)), machine_name()
    found: list[ModelProgress] = []
    said = stored_plan(context.control, record.id)
    for target in record.targets:
        model = _model(context, target.model, target.version, versions)
        if model is None or not target.intervals:
            continue
        mine = entries.get((target.model, target.version), [])
        have, _ = known_coverage(
            mine, context.log, model=target.model, version=target.version, audits=audits_digest(model)
        )
        green, unaudited = have.complete & target.intervals, have.unaudited & target.intervals
        begun = [e for e in unfinished(mine) if Ranges((e.interval,)) & (target.intervals - green)]
        why = {e.run: why_stopped(beats, e.run, home=here, alive=is_running) for e in begun}
        running = tuple(e for e in begun if not why[e.run])
        missing = (target.intervals - green).count(model.cadence)
        found.append(
            ModelProgress(
                model=model,
                wanted=target.intervals,
                green=green,
                unaudited=unaudited,
                running=running,
                stopped=tuple((e, why[e.run]) for e in begun if why[e.run]),
                failures=_failures(mine, target.intervals - green),
                pace=pace_of(mine, running, model.cadence, missing),
                request=said.request if said else Request(),
            )
        )
    return BuildProgress(record=record, models=tuple(found), again=apply_command(said.request) if said else "")


def _model(context: Context, name: str, version: str, versions: Mapping[tuple[str, str], Version]) -> Model | None:
    """By the code that the version is of; None where it was never built, and the loaded code is another."""
    if context.project.fingerprints.get(name) == logic_of(version):
        return context.project.models[name]
    record = versions.get((name, version))
    # Told of, not executed.
    return from_definition(name, version, {**record.definition, "helpers": []}) if record else None


def _failures(entries: list[Entry], left: Ranges) -> tuple[Entry, ...]:
    """Of each interval that is left the newest word, where that is a failure."""
    found: list[Entry] = []
    later = Ranges()
    for entry in reversed(entries):
        mine = Ranges((entry.interval,))
        if entry.kind in (Kind.FAILED, Kind.INVALIDATED) and (mine & left) - later:
            found.append(entry)
        if entry.kind in (Kind.FAILED, Kind.INVALIDATED, Kind.BUILT, Kind.STARTED):
            later = later | mine
    return tuple(found)
