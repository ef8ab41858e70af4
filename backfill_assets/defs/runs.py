"""What do all steps of a Dagster run share? Its name in the ledger, and the sources as they were at its start.

The steps of a run may be processes of their own, and the runs of one Dagster backfill share both: a commit of a source
that one of them froze is what the later ones read. It is kept in the tags of runs, which every process sees.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import dagster as dg

from backfill_assets.app.carry_out import Follow
from backfill_assets.app.context import Context
from backfill_assets.audits.reads import tables_read
from backfill_assets.build.bench import Workbench
from backfill_assets.build.events import (
    Audited,
    BatchDivided,
    BatchDone,
    BatchFailed,
    BatchStarted,
    BatchWaits,
    EngineRestarted,
    Event,
    Held,
    Listener,
    ModelDone,
    ModelStarted,
    Resumed,
)
from backfill_assets.build.hold import Hold
from backfill_assets.core.errors import BackfillError, SettingsError
from backfill_assets.core.pin import made_anew
from backfill_assets.defs.names import model_key, run_tag
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.facts import pinned
from backfill_assets.plan.request_parsing import reason_of
from backfill_assets.plan.stages import Plan
from backfill_assets.project.spark_settings import settings_that_count
from backfill_assets.promote.lifecycle import ended_text

BACKFILL_TAG = "dagster/backfill"
NO_WAIT_TAG, OUTSIDE_WINDOWS_TAG = "backfill/no_wait", "backfill/outside_windows"
"""What the options of `apply` are to a range that somebody materializes: `true`, and a reason; said of the run, so of
all projects that it is about."""
_KEPT_RUNS = 20


class Runs:
    """The workbenches of this process's runs."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._pins: dict[str, FrozenPins] = {}
        self._lock = threading.Lock()

    def bench(self, step: dg.AssetExecutionContext) -> Workbench:
        """The workbench of the run that the step is of. Its progress goes to the run's log.

        Raises SettingsError when steps of a project with other Spark settings share this process's session.
        """
        require_same_session(step.run.run_id, self.context)
        with self._lock:
            told = ToldPins(step.instance, step.run, run_tag(self.context.project, "sources"))
            frozen = FrozenPins(self.context, self._sources(step), told)
            pins = self._pins.setdefault(step.run.run_id, frozen)
            while len(self._pins) > _KEPT_RUNS:
                del self._pins[next(iter(self._pins))]
        log = Log(step)
        return self.context.bench(pins, run=run_name(step.run), listen=tell(log.info, log.warning))

    def _sources(self, step: dg.AssetExecutionContext) -> list[str]:
        """The sources that the run's models and their audits read."""
        project = self.context.project
        selection = step.run.asset_selection
        models = [m for m in project.models.values() if not selection or model_key(project, m.name) in selection]
        read = {name for m in models for name in tables_read(m)}
        return [name for name in project.sources if name in read]


def require_same_session(run: str, context: Context) -> None:
    """Raise SettingsError when a step of another project, whose Spark settings are others, ran in this process before:
    its session would compute this one's rows."""
    project = context.project
    root, conf = _SESSIONS.setdefault(run, (project.root, settings_that_count(context.spark_conf())))
    while len(_SESSIONS) > _KEPT_RUNS:
        del _SESSIONS[next(iter(_SESSIONS))]
    if root != project.root and conf != settings_that_count(context.spark_conf()):
        raise SettingsError(
            f"the run has steps of {root.name} and of {project.root.name}, whose Spark settings are others",
            why="the steps of a run in one process share one Spark session",
            fix="launch a run for each of both; or use an executor with a process a step, see `backfill docs dagster`",
        )


_SESSIONS: dict[str, tuple[Path, Mapping[str, str]]] = {}
"""Run → the project that came first in this process, and how it wants the session."""


class ToldPins:
    """What the other steps of a run, and the other runs of its Dagster backfill, froze: it is in the runs' tags."""

    def __init__(self, instance: dg.DagsterInstance, run: dg.DagsterRun, tag: str) -> None:
        """`tag` holds the pins of the project's Delta sources, by source, as JSON."""
        self._instance, self._run, self._tag = instance, run, tag

    def share(self, pins: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
        """The pins, of Delta sources those of whoever froze them first. Files cannot be read as they were."""
        commits = {name: dict(pin) for name, pin in pins.items() if "commit" in pin}
        if not commits:
            return dict(pins)
        before = self._told(self._instance.get_run_by_id(self._run.run_id) or self._run)
        commits |= {n: pin for n, pin in before.items() if n not in pins or self._counts(n, pin, commits)}
        if commits != before:
            self._instance.add_run_tags(self._run.run_id, {self._tag: json.dumps(commits, sort_keys=True)})
        shared = dict(pins) | {name: commits[name] for name in pins if name in commits}
        if BACKFILL_TAG in self._run.tags:
            wanted = dg.RunsFilter(tags={BACKFILL_TAG: self._run.tags[BACKFILL_TAG]})
            for record in self._instance.get_run_records(filters=wanted):  # the newest first
                told = self._told(record.dagster_run)
                shared |= {n: pin for n, pin in told.items() if n in pins and self._counts(n, pin, commits)}
        return shared

    def _counts(self, name: str, pin: Mapping[str, object], now: Mapping[str, Mapping[str, object]]) -> bool:
        return name in now and not made_anew(pin, now[name])

    def _told(self, run: dg.DagsterRun) -> dict[str, dict[str, object]]:
        said = json.loads(run.tags.get(self._tag, "{}"))
        return {name: pin if isinstance(pin, dict) else {"commit": pin} for name, pin in said.items()}


class FrozenPins(Mapping[str, Mapping[str, object]]):
    """What each source is, looked at once, all of them together, when the first is needed. One that cannot be looked at
    then is not among them for the whole run: why is raised where a step asks for it."""

    def __init__(self, context: Context, sources: Collection[str], told: ToldPins) -> None:
        self._context, self._sources, self._told = context, sources, told
        self._lock = threading.Lock()
        self._pins: dict[str, Mapping[str, object]] | None = None
        self._away: Mapping[str, BackfillError] = {}

    def __getitem__(self, name: str) -> Mapping[str, object]:
        pins = self._looked()
        with self._lock:
            if name in self._away:
                raise self._away[name]
            if name not in pins:  # a run whose selection Dagster does not say
                pins[name] = self._context.pins.pin(self._context.project.sources[name])
            return pins[name]

    def __contains__(self, name: object) -> bool:
        return name in self._looked()

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._looked()))

    def __len__(self) -> int:
        return len(self._looked())

    def _looked(self) -> dict[str, Mapping[str, object]]:
        known = self._context.project.sources
        with self._lock:
            if self._pins is None:
                there, self._away = pinned(self._context.pins, [known[name] for name in self._sources])
                self._pins = self._told.share(there)
            return self._pins


def run_name(run: dg.DagsterRun) -> str:
    """How the ledger names a run: all runs of one Dagster backfill are one."""
    return run.tags.get(BACKFILL_TAG) or run.run_id


def hold_of(context: Context, tags: Mapping[str, str], plan: str) -> Hold:
    """What holds the steps of a run up that builds of a stored plan ("": of none). Raises UsageError for a reason that
    says nothing."""
    reason = reason_of(tags.get(OUTSIDE_WINDOWS_TAG), f"the tag {OUTSIDE_WINDOWS_TAG}")
    hold = context.hold(regardless=reason, waits=tags.get(NO_WAIT_TAG, "").lower() not in ("true", "1", "yes"))
    if plan:
        hold.plan_ended = lambda: ended_text(context.control, plan)
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
            case BatchWaits():
                info(f"{event.model}: waiting for {event.interval}, which is built by {event.by}")
            case BatchDone():
                info(f"{event.model}: {event.interval} built, {event.rows} rows in {event.seconds:.1f} s")
            case Audited():
                if event.red:
                    warning(f"{event.model}: a blocking audit failed in {event.red}")
                else:
                    info(
                        f"{event.model}: {event.intervals} intervals audited in {event.seconds:.1f} s, {event.verdict}"
                    )
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
