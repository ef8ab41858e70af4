"""What does the page of a running build show? A strip of days a model, its pace, and what failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backfill_assets.app.build_progress import BuildProgress, ModelProgress
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.settings import DagsterNames
from backfill_assets.core.wording import amount
from backfill_assets.evidence.formatting import number
from backfill_assets.evidence.plot import band
from backfill_assets.plan.commands import job_config
from backfill_assets.project.dagster_address import launchpad_of_apply

FAILURES = 10
"""How many of a model are listed."""
STATES = (
    ("there", "green"), ("waits", "built, not audited"), ("works", "at work"), ("lacking", "failed or stopped"),
    ("left", "left"),
)  # fmt: skip
"""Classes of a strip, and what they stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStrip:
    """A model's line."""

    model: str
    strip: str
    days: tuple[str, str]
    done: str
    pace: str
    running: list[str]
    problems: list[tuple[str, str]]
    """Which interval, and why."""
    left_out: int
    retried: list[Retry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How a range is tried again, alone: the command, and the launchpad of Dagster where it is filled in ("": nobody
    said where that is, or a job cannot say it)."""

    days: str
    command: str
    launchpad: str


def model_strip(m: ModelProgress, names: DagsterNames | None) -> ModelStrip:
    """A model's days as a strip, and how fast it goes. `names`: what jobs are called in Dagster."""
    unit, working = m.model.cadence, Ranges.of(e.interval for e in m.running)
    failed = Ranges.of([*(e.interval for e in m.failures), *(e.interval for e, _ in m.stopped)]) & m.wanted
    rest = m.missing - m.unaudited
    parts = [
        ("left", rest - working - failed),
        ("there", m.green),
        ("waits", m.unaudited - working),
        ("lacking", (failed & m.missing) - working),
        ("works", working & m.wanted),
    ]
    problems = [(str(e.interval), e.reason or "no reason was recorded") for e in m.failures]
    problems += [(str(e.interval), f"it stopped: {why}") for e, why in m.stopped]
    span = m.wanted.span
    assert span is not None  # what builds nothing is left out
    return ModelStrip(
        model=m.model.name,
        strip=band(span, parts),
        days=(f"{span.start:%Y-%m-%d}", f"{unit.shift(unit.ceil(span.end), -1):%Y-%m-%d}"),
        done=f"{m.green.count(unit):,} of {amount(m.wanted.count(unit), unit)} green",
        pace=_pace(m),
        running=[str(e.interval) for e in m.running],
        problems=problems[:FAILURES],
        left_out=max(len(problems) - FAILURES, 0),
        retried=[
            Retry(days=str(part), command=command, launchpad=_launchpad(m, command, names or DagsterNames()))
            for part, command in m.retried[:FAILURES]
        ],
    )


def strips(found: BuildProgress, names: DagsterNames | None = None) -> list[ModelStrip]:
    """A line a model."""
    return [model_strip(m, names) for m in found.models]


def _launchpad(m: ModelProgress, command: str, names: DagsterNames) -> str:
    if m.request.ids is not None:  # a file of the machine on which somebody gave the command
        return ""
    return launchpad_of_apply(names, job_config(command))


def _pace(m: ModelProgress) -> str:
    """`12 days a minute, 3,400 rows a second; about 4 minutes left`."""
    if m.pace is None or not m.pace.intervals:
        return "its first batch is at work" if m.running else ""
    rate = 60 * m.pace.intervals / m.pace.seconds
    rows = number(round(m.pace.rows / m.pace.seconds))
    said = f"{number(round(rate, 1))} {m.model.cadence.unit}s a minute, {rows} rows a second"
    return f"{said}; about {_time(m.pace.left)} left" if m.pace.left else said


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(timedelta(seconds=seconds) / timedelta(minutes=1))
    return f"{minutes} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
