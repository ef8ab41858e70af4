"""How far is it? A bar a model with rows, rate and time left; plain lines where the output is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

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
from backfill_assets.cli.terminal import err, styled
from backfill_assets.core.model import Project


@contextmanager
def live_progress(project: Project) -> Generator[Listener]:
    """A listener that shows events on standard error while the block runs."""
    console = err()
    if not console.is_terminal:
        yield _Lines(console)
        return
    bars = Progress(
        TextColumn("{task.fields[mark]}"),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}s"),
        TextColumn("{task.fields[rows]:,} rows"),
        TextColumn("[dim]{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    with bars:
        yield _Bars(bars, project)


@contextmanager
def counting(what: str) -> Generator[Callable[[int, int], object]]:
    """Who is told how many of how many are done, and shows it on standard error while the block runs: as a bar, or as a
    line for each hundred where the output is no terminal."""
    console = err()
    if not console.is_terminal:

        def line(number: int, of: int) -> None:
            if number % 100 == 0 and number < of:
                console.print(f"{number:,} of {of:,} {what}", highlight=False, markup=False)

        yield line
        return
    with Progress(BarColumn(bar_width=28), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn(),
                  console=console, transient=True) as bars:  # fmt: skip
        task = bars.add_task(what, total=None)
        yield lambda number, of: bars.update(task, completed=number, total=of)


class _Bars:
    """Events as bars."""

    def __init__(self, bars: Progress, project: Project) -> None:
        self._bars, self._project = bars, project
        self._tasks: dict[str, TaskID] = {}
        self._rows: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._lock = Lock()

    def __call__(self, event: Event) -> None:
        with self._lock:
            match event:
                case ModelStarted():
                    unit = self._project.models[event.model].cadence.unit
                    self._tasks[event.model] = self._bars.add_task(
                        event.model, total=event.intervals or None, rows=0, rate="", unit=unit, mark=" "
                    )
                    self._rows[event.model], self._began[event.model] = 0, time.monotonic()
                case BatchStarted():
                    pass
                case BatchWaits():
                    self._bars.console.print(styled("[yellow]waiting[/] {}", _waits(event)))
                case BatchDone():
                    self._rows[event.model] += event.rows
                    rows, spent = self._rows[event.model], time.monotonic() - self._began[event.model]
                    self._bars.update(
                        self._tasks[event.model], advance=event.intervals, rows=rows, rate=f"{rows / spent:,.0f}/s"
                    )
                case Audited():
                    if event.red:
                        self._bars.update(self._tasks[event.model], mark="[red]✗")
                        self._bars.console.print(styled("[red]audits failed[/] {} {}", event.model, event.red))
                case BatchFailed():
                    said = event.error.splitlines()
                    again = "trying again" if event.again else "given up"
                    self._bars.console.print(
                        styled("[red]{}[/] {}: {}", again, said[0], said[1] if len(said) > 1 else "")
                    )
                    if not event.again:
                        self._bars.update(self._tasks[event.model], mark="[red]✗")
                case BatchDivided():
                    self._bars.console.print(
                        styled(
                            "[yellow]trying the parts of[/] {} {}: {}", event.model, event.interval, _why(event.error)
                        )
                    )
                case EngineRestarted():
                    self._bars.console.print(styled("[yellow]starting it again[/] {}", event.error.splitlines()[0]))
                case Held():
                    self._bars.console.print(styled("[yellow]{}[/] {}", _held(event), event.why))
                case Resumed():
                    self._bars.console.print(styled("[green]going on[/]"))
                case ModelDone():
                    self._bars.stop_task(self._tasks[event.model])


class _Lines:
    """Events as lines, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        self._told: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case ModelStarted():
                self._total[event.model], self._done[event.model] = event.intervals, 0
                batches = f"{event.batches} batch{'es' * (event.batches != 1)}"
                self._say(f"{event.model}: {_intervals(event.intervals)} in {batches}")
            case BatchStarted():
                pass
            case BatchWaits():
                self._say(f"waiting: {_waits(event)}")
            case BatchDone():
                self._done[event.model] += event.intervals
                at = f"{self._done[event.model]}/{self._total[event.model]}"
                merged = f" ({event.changes})" if event.changes else ""
                self._say(f"{event.model}: {at} {event.interval} {event.rows:,} rows in {event.seconds:.1f} s{merged}")
            case Audited():
                said = f"AUDITS FAILED on {event.red}" if event.red else event.verdict
                self._say(f"{event.model}: audited {_intervals(event.intervals)} in {event.seconds:.1f} s: {said}")
            case BatchFailed():
                again = "failed, trying again" if event.again else "failed"
                self._say(f"{event.model}: {event.interval} {again}{self._reason(event)}")
            case BatchDivided():
                self._say(f"{event.model}: {event.interval} failed, trying its parts{self._reason(event)}")
            case EngineRestarted():
                self._say(f"{event.error}\nstarting it again; what was under way is done again")
            case Held():
                self._say(f"{_held(event)}: {event.why}")
            case Resumed():
                self._say("going on")
            case ModelDone():
                pass

    def _reason(self, event: BatchFailed | BatchDivided) -> str:
        """What went wrong, unless that is what was last said of the model: a batch and all its parts may fail alike."""
        why = "\n".join(event.error.splitlines()[1:])
        if why and self._told.get(event.model) == why:
            return " for the same reason"
        self._told[event.model] = why
        return f": {event.error}"

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)


def _intervals(count: int) -> str:
    return f"{count:,} interval{'s' * (count != 1)}"


def _waits(event: BatchWaits) -> str:
    """Who builds what this run wants as well."""
    return f"{event.model} {event.interval} is built by {event.by}"


def _held(event: Held) -> str:
    """What becomes of a run that is held."""
    return "waiting" if event.waits else "nothing more is begun"


def _why(error: str) -> str:
    lines = error.splitlines()
    return lines[1] if len(lines) > 1 else lines[0]
