"""Use case: where does everything stand? Each model's coverage, what is shown of it, what runs, what failed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backfill_assets.adapters.heartbeat import machine_name, read_heartbeats
from backfill_assets.app.context import Context
from backfill_assets.app.faults import find_faults
from backfill_assets.app.writers import Writer, read_writers
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.processes import is_running
from backfill_assets.plan.away import away_sources
from backfill_assets.plan.deleted_models import deleted_models
from backfill_assets.plan.faults import Fault
from backfill_assets.plan.left_out import warn_of_left_out
from backfill_assets.plan.stages import PlanWarning
from backfill_assets.promote.interrupted_pins import InterruptedPin, interrupted_pins
from backfill_assets.state.at_work import seconds_at_work
from backfill_assets.state.heartbeats import Heartbeat, why_stopped
from backfill_assets.state.in_flight import open_or_failed, unfinished
from backfill_assets.state.ledger import Entry, Kind, by_version
from backfill_assets.state.pinned import PinnedConsumer, pinned_consumers


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A batch that began and did not end, of a run that gives no sign of life."""

    entry: Entry
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPace:
    """How fast the run that is under way goes: its finished intervals and rows since it began, and what that says."""

    intervals: int
    rows: int
    seconds: float
    left: float | None
    """Seconds until nothing is missing, at this pace; None before the first batch is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """One model: the code's version, how much of it there is, and what the environment shows."""

    model: str
    version: str
    calendar: Calendar
    expected: Ranges
    green: Ranges
    unaudited: Ranges
    partial: Ranges
    """What of the open interval is built."""
    shown_version: str | None
    shown: Ranges
    provisional: Ranges
    """What of it routine runs may still replace, as its sources change."""
    running: tuple[Entry, ...]
    stopped: tuple[Stopped, ...]
    pace: RunPace | None
    last_failure: Entry | None
    red: Ranges = NOTHING
    """What is shown of this version, and an audit has failed on it since."""

    @property
    def cadence(self) -> Cadence:
        """How long its intervals are."""
        return self.calendar.cadence

    @property
    def missing(self) -> Ranges:
        return self.expected - self.green - self.red


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStatus:
    """Whether batches of heavy builds begin."""

    windows: str
    held: str
    """Why none begins; "" where they do."""
    open_until: str
    """On the clock of the windows; "" outside of them."""
    waiting: tuple[str, ...]
    """The runs that wait to begin or to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatus:
    """The whole project at one moment."""

    environment: str
    now: datetime
    revision: int
    models: tuple[ModelStatus, ...]
    rules: tuple[str, ...] = ()
    """That approvals are off, and where files say other rules than those in force."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with rows that are shown."""
    windows: WindowStatus | None = None
    """None: heavy builds run at any time."""
    pins: tuple[PinnedConsumer, ...] = ()
    """Consumers that are kept on a release."""
    interrupted: tuple[InterruptedPin, ...] = ()
    """Those whose views nobody has put right since a command died."""
    deleted: tuple[PlanWarning, ...] = ()
    """Models that are shown and that the code does not have any more."""
    left_out: tuple[PlanWarning, ...] = ()
    """Models of which days are shown from before their `start:`, or after their `end:`."""
    away: tuple[PlanWarning, ...] = ()
    """Sources that cannot be looked at."""
    writers: tuple[Writer, ...] = ()
    """Who writes to which table; in an object store one process at a time does."""

    def to_json(self) -> dict[str, object]:
        """As plain values; intervals are half-open ISO pairs."""
        return {
            **({"windows": to_plain(self.windows)} if self.windows else {}),
            **({"writers": [w.to_json() for w in self.writers]} if self.writers else {}),
            "environment": self.environment,
            "now": self.now.isoformat(),
            "revision": self.revision,
            "rules": list(self.rules),
            "faults": to_plain(self.faults),
            "deleted": to_plain(self.deleted),
            "left_out": to_plain(self.left_out),
            "away": to_plain(self.away),
            "pins": [p.to_json() | {"overdue": p.overdue(self.now.date())} for p in self.pins],
            "interrupted_pins": [p.to_json() for p in self.interrupted],
            "models": [
                {
                    "model": m.model,
                    "version": m.version,
                    "cadence": m.cadence.value,
                    **({"time_zone": m.calendar.time_zone} if m.calendar.time_zone else {}),
                    "expected": m.expected.count(m.cadence),
                    "green": m.green.to_plain(),
                    "red": m.red.to_plain(),
                    "unaudited": m.unaudited.to_plain(),
                    "partial": m.partial.to_plain(),
                    "missing": m.missing.to_plain(),
                    "shown_version": m.shown_version,
                    "shown": m.shown.to_plain(),
                    "provisional": m.provisional.to_plain(),
                    "running": [
                        {"interval": str(e.interval), "since": e.at.isoformat(), "run": e.run, "attempt": e.attempt}
                        for e in m.running
                    ],
                    "stopped": [
                        {
                            "interval": str(s.entry.interval),
                            "since": s.entry.at.isoformat(),
                            "run": s.entry.run,
                            "why": s.why,
                        }
                        for s in m.stopped
                    ],
                    "pace": m.pace
                    and {
                        "intervals": m.pace.intervals,
                        "rows": m.pace.rows,
                        "seconds": round(m.pace.seconds, 1),
                        "seconds_left": m.pace.left and round(m.pace.left, 1),
                    },
                    "last_failure": m.last_failure
                    and {
                        "interval": str(m.last_failure.interval),
                        "at": m.last_failure.at.isoformat(),
                        "reason": m.last_failure.reason,
                    },
                }
                for m in self.models
            ],
        }


def read_status(context: Context) -> ProjectStatus:
    """The project's status, from the ledger and the environment."""
    facts = context.facts()
    models = facts.bounded(context.project).models
    entries = by_version(open_or_failed(context.control.ledger))
    beats, here = read_heartbeats(context.warehouse), machine_name()
    found: list[ModelStatus] = []
    for name, model in models.items():
        version, covered = context.project.fingerprints[name], facts.tables.coverage[name]
        mine = entries.get((name, version), [])
        pointer = facts.environment.pointers.get(name)
        state = facts.standing.get(name) if pointer and pointer.version == version else None
        red = state.failed if state else NOTHING
        missing = model.expected(facts.now) - covered.complete
        begun = unfinished(mine)
        why = {e.run: why_stopped(beats, e.run, home=here, alive=is_running) for e in begun}
        running = tuple(e for e in begun if not why[e.run])
        stopped = [Stopped(entry=e, why=why[e.run]) for e in begun if why[e.run] and missing & Ranges((e.interval,))]
        failures = [e for e in mine if e.kind in (Kind.FAILED, Kind.INVALIDATED)]
        found.append(
            ModelStatus(
                model=name,
                version=version,
                calendar=model.calendar,
                expected=model.expected(facts.now),
                green=(covered.complete & model.expected(facts.now)) - red,
                red=red,
                unaudited=covered.unaudited & model.expected(facts.now),
                partial=covered.partial,
                shown_version=pointer.version if pointer else None,
                shown=pointer.covers if pointer else Ranges(),
                provisional=_replaceable(facts.provisional(model), context.project.models[name]),
                running=running,
                stopped=tuple(stopped),
                pace=_pace(context, running, model.cadence, missing.count(model.cadence)),
                last_failure=next((e for e in reversed(failures) if e.interval not in covered.complete), None),
            )
        )
    return ProjectStatus(
        environment=facts.environment.name,
        now=facts.now,
        revision=facts.environment.revision,
        models=tuple(found),
        rules=facts.rules.notes if facts.rules else (),
        faults=find_faults(context, facts),
        deleted=deleted_models(context.project, facts),
        left_out=warn_of_left_out(context.project, facts, list(context.project.models)),
        away=away_sources(context.project, facts, context.project.models),
        windows=_windows(context, found, beats),
        pins=pinned_consumers(context.control, context.environment),
        interrupted=interrupted_pins(context.control, context.environment, now=datetime.now(UTC)),
        writers=read_writers(context),
    )


def _replaceable(provisional: Ranges, model: Model) -> Ranges:
    """What lies beyond its header's `end` stays as it is."""
    return provisional.until(model.cadence.floor(model.end)) if model.end else provisional


def _pace(context: Context, running: tuple[Entry, ...], cadence: Cadence, missing: int) -> RunPace | None:
    """The same of what runs, by all that is recorded of it."""
    known = context.control.ledger.entries([running[-1].model]) if running else []
    return pace_of([e for e in known if e.version == running[-1].version], running, cadence, missing)


def _windows(context: Context, models: Sequence[ModelStatus], beats: Sequence[Heartbeat]) -> WindowStatus | None:
    windows, held = context.project.settings.windows, context.hold().why()
    if windows is None:
        return None
    now_open, here = windows.open_at(context.clock()), machine_name()
    building = {entry.run for m in models for entry in m.running}
    alive = {b.run for b in beats if not b.routine and not why_stopped(beats, b.run, home=here, alive=is_running)}
    return WindowStatus(
        windows=str(windows),
        held=held,
        open_until=windows.told(now_open.end) if now_open else "",
        waiting=tuple(sorted(alive - building)) if held else (),
    )


def pace_of(entries: list[Entry], running: tuple[Entry, ...], cadence: Cadence, missing: int) -> RunPace | None:
    """The pace of the run that the batches in flight are of; None when nothing runs."""
    if not running:
        return None
    run = running[-1].run
    done = [e for e in entries if e.run == run and e.kind is Kind.BUILT]
    intervals = sum(cadence.count(e.interval) for e in done)
    seconds = max(seconds_at_work((e for e in entries if e.run == run), datetime.now(UTC)), 0.001)
    return RunPace(
        intervals=intervals,
        rows=sum(e.rows for e in done),
        seconds=seconds,
        left=seconds / intervals * missing if intervals else None,
    )
