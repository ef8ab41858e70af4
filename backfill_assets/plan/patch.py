"""What does a plan put over what an environment shows, and what does it leave? Parts of history, not all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.errors import PlanError
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.model import Model, Project
from backfill_assets.state.environment import Environment, Pointer, Segment
from backfill_assets.state.versions import logic_of, revision_of

EVER = Interval(
    datetime.fromisoformat("1000-01-01T00:00:00+00:00"), datetime.fromisoformat("9999-12-31T00:00:00+00:00")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Rows of `version` for these intervals; around them the environment keeps what it shows."""

    version: str
    intervals: Ranges

    def segments(self, commit: int) -> tuple[Segment, ...]:
        """The patch's rows as they are at a commit of its table."""
        return tuple(Segment(version=self.version, commit=commit, interval=part) for part in self.intervals)


def overlay(below: Sequence[Segment], above: Sequence[Segment]) -> tuple[Segment, ...]:
    """Segments in order of time: those above, and what they leave of those below."""
    covered = Ranges.of(s.interval for s in above)
    left = [replace(s, interval=part) for s in below for part in Ranges((s.interval,)) - covered]
    return tuple(sorted([*left, *above], key=lambda s: s.interval))


def restated(pointer: Pointer | None, version: str) -> tuple[Segment, ...]:
    """The segments of a pointer that are revisions of a version: published corrections of its table."""
    segments = pointer.segments if pointer else ()
    return tuple(s for s in segments if s.version != version and logic_of(s.version) == version)


def restatement(
    project: Project,
    environment: Environment,
    restate: Sequence[tuple[str, Interval]],
    sources: Mapping[str, Mapping[str, object]],
) -> dict[str, Patch]:
    """The intervals to compute again, of the models that are named and of all that read them, in revisions.

    A revision's name follows from what is restated, what is shown and what the sources are: an interrupted restatement
    is taken up, one of later source data is another. Raises PlanError for what the environment does not show.
    """
    asked: dict[str, Ranges] = {}
    for name, interval in restate:
        model = _shown(project, environment, name)
        asked[name] = asked.get(name, Ranges()) | Ranges((model.cadence.cover(interval),))
    patches: dict[str, Patch] = {}
    for name, model in project.models.items():
        pointer = environment.pointers.get(name)
        if pointer is None:
            continue
        again = asked.get(name, Ranges())
        for upstream in model.upstreams:
            if upstream.name in patches:
                again = again | Ranges.of(reached(model, part) for part in patches[upstream.name].intervals)
        again = again & pointer.covers
        if again:
            _shown(project, environment, name)
            read = [[u.name, pin] for u in model.upstreams if (pin := sources.get(u.name))]
            revision = digest(
                str(again), pointer.id, read, [patches[u.name].version for u in model.upstreams if u.name in patches]
            )
            patches[name] = Patch(version=revision_of(pointer.version, revision[:8]), intervals=again)
    for name, ranges in asked.items():
        if name not in patches:
            raise PlanError(
                f"{environment.name} shows nothing of {name} in {ranges}",
                why=f"it shows {environment.pointers[name].covers}",
                fix="restate days that are published; others are built by `backfill apply`",
            )
    return patches


def reached(model: Model, upstream: Interval) -> Interval:
    """The model's intervals that read any of an upstream's interval: over it, and as many more as look back."""
    cadence = model.cadence
    return Interval(cadence.floor(upstream.start), cadence.shift(cadence.ceil(upstream.end), model.lookback))


def _shown(project: Project, environment: Environment, name: str) -> Model:
    if name not in project.models:
        raise PlanError(f"no model named {name}", why="--restate names a model and days", fix="check the name")
    pointer = environment.pointers.get(name)
    if pointer is None or pointer.version != project.fingerprints[name]:
        shows = f"{pointer.version}" if pointer else "nothing of it"
        raise PlanError(
            f"{name} cannot be restated: {environment.name} shows {shows}, the code says {project.fingerprints[name]}",
            why="a restatement computes published history again with the logic that is published",
            fix="promote the code's version first, or restate with the code that is published",
        )
    return project.models[name]
