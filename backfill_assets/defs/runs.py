"""What do all steps of a Dagster run share? Its name in the ledger, and the sources as they were at its start.

The runs of one Dagster backfill share both: a commit of a source that one of them froze is what the later ones read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

import dagster as dg

from backfill_assets.app.carry_out import Follow
from backfill_assets.app.context import Context
from backfill_assets.audits.reads import audit_tables
from backfill_assets.build.bench import Workbench
from backfill_assets.build.events import (
    Audited,
    BatchDivided,
    BatchDone,
    BatchFailed,
    BatchStarted,
    EngineRestarted,
    Event,
    Held,
    Listener,
    ModelDone,
    ModelStarted,
    Resumed,
)
from backfill_assets.build.hold import Hold
from backfill_assets.core.pin import made_anew
from backfill_assets.defs.names import model_key, run_tag
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.request_parsing import reason_of
from backfill_assets.plan.stages import Plan
from backfill_assets.promote.lifecycle import ended_text

BACKFILL_TAG = "dagster/backfill"
NO_WAIT_TAG, OUTSIDE_WINDOWS_TAG = "backfill/no_wait", "backfill/outside_windows"
"""What the options of `apply` are to a range that somebody materializes: `true`, and a reason; said of the run, so of
all projects that it is about."""
_KEPT_RUNS = 20


class Runs:
    """The workbenches of this process's runs."""

    def __init__(self, workspace: Context) -> None:
        self.workspace = workspace
        self._pins: dict[str, FrozenPins] = {}
        self._lock = threading.Lock()

    def bench(self, context: dg.AssetExecutionContext) -> Workbench:
        """The workbench of the run that the context is of. Its progress goes to the run's log."""
        with self._lock:
            backfill = (
                Backfill(context.instance, context.run, run_tag(self.workspace.project, "sources"))
                if BACKFILL_TAG in context.run.tags
                else None
            )
            frozen = FrozenPins(self.workspace, self._sources(context), backfill)
            pins = self._pins.setdefault(context.run.run_id, frozen)
            while len(self._pins) > _KEPT_RUNS:
                del self._pins[next(iter(self._pins))]
        log = Log(context)
        return self.workspace.bench(pins, run=run_name(context.run), listen=tell(log.info, log.warning))

    def _sources(self, context: dg.AssetExecutionContext) -> list[str]:
        """The sources that the run's models and their audits read."""
        project = self.workspace.project
        selection = context.run.asset_selection
        models = [m for m in project.models.values() if not selection or model_key(project, m.name) in selection]
        read = {name for m in models for name in (*(u.name for u in m.upstreams), *audit_tables(m))}
        return [name for name in project.sources if name in read]


class Backfill:
    """The runs of the Dagster backfill that a run is of: what they froze is in their tags."""

    def __init__(self, instance: dg.DagsterInstance, run: dg.DagsterRun, tag: str) -> None:
        """`tag` holds the pins of the project's Delta sources, by source, as JSON."""
        self._instance, self._run, self._tag = instance, run, tag

    def share(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
        """The pins, of Delta sources those of the first run that froze them. Files cannot be read as they were."""
        commits = {name: dict(pin) for name, pin in pins.items() if "commit" in pin}
        self._instance.add_run_tags(self._run.run_id, {self._tag: json.dumps(commits, sort_keys=True)})
        wanted = dg.RunsFilter(tags={BACKFILL_TAG: self._run.tags[BACKFILL_TAG]})
        shared = dict(pins)
        for record in self._instance.get_run_records(filters=wanted):  # the newest first
            said = json.loads(record.dagster_run.tags.get(self._tag, "{}"))
            frozen = {name: pin if isinstance(pin, dict) else {"commit": pin} for name, pin in said.items()}
            shared |= {n: pin for n, pin in frozen.items() if n in commits and not made_anew(pin, commits[n])}
        return shared


class FrozenPins(Mapping[str, Mapping[str, object]]):
    """What each source is, looked at once, all of them together, when the first is needed."""

    def __init__(self, workspace: Context, sources: Collection[str], backfill: Backfill | None = None) -> None:
        self._workspace, self._sources, self._backfill = workspace, sources, backfill
        self._lock = threading.Lock()
        self._pins: dict[str, Mapping[str, object]] | None = None

    def __getitem__(self, name: str) -> Mapping[str, object]:
        known = self._workspace.project.sources
        with self._lock:
            if self._pins is None:
                pins = {n: self._workspace.pins.pin(known[n]) for n in self._sources}
                self._pins = self._backfill.share(pins) if self._backfill else pins
            if name not in self._pins:  # a run whose selection Dagster does not say
                self._pins[name] = self._workspace.pins.pin(known[name])
            return self._pins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def run_name(run: dg.DagsterRun) -> str:
    """How the ledger names a run: all runs of one Dagster backfill are one."""
    return run.tags.get(BACKFILL_TAG) or run.run_id


def hold_of(place: Context, tags: Mapping[str, str], plan: str) -> Hold:
    """What holds the steps of a run up that builds of a stored plan ("": of none). Raises UsageError for a reason that
    says nothing."""
    reason = reason_of(tags.get(OUTSIDE_WINDOWS_TAG), f"the tag {OUTSIDE_WINDOWS_TAG}")
    hold = place.hold(regardless=reason, waits=tags.get(NO_WAIT_TAG, "").lower() not in ("true", "1", "yes"))
    if plan:
        hold.plan_ended = lambda: ended_text(place.control, plan)
    return hold


def following(step: dg.OpExecutionContext) -> Follow:
    """Writes a plan's progress to the log of a step."""

    def follow(_: Context, __: Plan, ___: str) -> AbstractContextManager[Listener]:
        return nullcontext(tell(Log(step).info, Log(step).warning))

    return follow


def tell(info: Callable[[str], None], warning: Callable[[str], None]) -> Listener:
    """A listener that writes a build's progress as lines of a log."""

    def listen(event: Event) -> None:
        match event:
            case ModelStarted():
                info(f"{event.model}: {event.intervals} intervals to build, in {event.batches} batches")
            case BatchStarted():
                info(f"{event.model}: building {event.interval}" + _attempt(event.attempt))
            case BatchDone():
                info(f"{event.model}: {event.interval} built, {event.rows} rows in {event.seconds:.1f} s")
            case Audited():
                if event.red:
                    warning(f"{event.model}: a blocking audit failed in {event.red}")
                else:
                    info(f"{event.model}: {event.intervals} intervals audited in {event.seconds:.1f} s, all green")
            case BatchFailed():
                warning(f"{event.model}: {event.interval} failed{', trying again' * event.again}: {event.error}")
            case BatchDivided():
                warning(f"{event.model}: {event.interval} failed, trying its parts: {event.error}")
            case EngineRestarted():
                warning(f"{event.error}\nstarting it again; what was under way is done again")
            case Held():
                warning(f"{'waiting' if event.waits else 'nothing more is begun'}: {event.why}")
            case Resumed():
                info("going on")
            case ModelDone():
                pass

    return listen


def _attempt(number: int) -> str:
    return f" (attempt {number})" if number > 1 else ""
