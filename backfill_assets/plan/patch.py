"""What does a plan put over what an environment shows, and what does it leave? Parts of history, not all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.errors import PlanError
from backfill_assets.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.plan.missing import wanted
from backfill_assets.plan.select import one_of
from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.model import Model, Project
from backfill_assets.state.environment import Environment, Pointer, Segment
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import revision_of

EVER = Interval(
    datetime.fromisoformat("1000-01-01T00:00:00+00:00"), datetime.fromisoformat("9999-12-31T00:00:00+00:00")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Rows of `version` for these intervals, over the segments `below`: what the environment keeps around them."""

    version: str
    intervals: Ranges
    below: tuple[Segment, ...] = ()

    def segments(self, commit: int) -> tuple[Segment, ...]:
        """The patch's rows as they are at a commit of its table."""
        return tuple(Segment(version=self.version, commit=commit, interval=part) for part in self.intervals)


def overlay(below: Sequence[Segment], above: Sequence[Segment]) -> tuple[Segment, ...]:
    """Segments in order of time: those above, and what they leave of those below."""
    covered = Ranges.of(s.interval for s in above)
    left = [replace(s, interval=part) for s in below for part in Ranges((s.interval,)) - covered]
    return joined([*left, *above])


def joined(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """The same rows in order of time, neighbours of one table at one commit as one segment."""
    found: list[Segment] = []
    for segment in sorted(segments, key=lambda s: s.interval):
        last = found[-1] if found else None
        if last and replace(last, interval=segment.interval) == segment and last.interval.end == segment.interval.start:
            found[-1] = replace(last, interval=Interval(last.interval.start, segment.interval.end))
        else:
            found.append(segment)
    return tuple(found)


def kept_segments(pointer: Pointer | None, version: str) -> tuple[Segment, ...]:
    """What a pointer that shows a version shows beside its table: corrections, and older rows of a change that was made
    forward only. Nothing when it shows another version."""
    if pointer is None or pointer.version != version:
        return ()
    return tuple(s for s in pointer.segments if s.version != version)


def stays_beside(pointer: Pointer | None, version: str, have: Coverage) -> tuple[Segment, ...]:
    """What is read of a version from other tables and commits than its newest: what a pointer shows beside its table,
    and what it shows as it was before somebody else wrote there."""
    return joined([*kept_segments(pointer, version), *have.held])


def restatement(
    project: Project,
    environment: Environment,
    restate: Sequence[tuple[str, Interval]],
    sources: Mapping[str, Mapping[str, object]],
    now: datetime,
    lapsed: Mapping[str, Ranges],
) -> dict[str, Patch]:
    """The intervals to compute again, of the models that are named and of all that read them, in revisions.

    A revision's name follows from what is restated, what is shown and what the sources are: an interrupted restatement
    is taken up, one of later source data is another. Open intervals, and `lapsed` ones, are not among them: they are
    built again in any case. Raises PlanError for what the environment does not show.
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
        again = (again & pointer.covers & model.expected(now)) - lapsed.get(name, NOTHING)
        if again:
            _shown(project, environment, name)
            read = [[u.name, pin] for u in model.upstreams if (pin := sources.get(u.name))]
            revision = digest(
                str(again), pointer.id, read, [patches[u.name].version for u in model.upstreams if u.name in patches]
            )
            version = revision_of(pointer.version, revision[:8])
            patches[name] = Patch(version=version, intervals=again, below=pointer.segments)
    for name, ranges in asked.items():
        if name not in patches:
            raise PlanError(
                f"{environment.name} shows nothing of {name} in {ranges} that is over",
                why=f"it shows {environment.pointers[name].covers}",
                fix="restate days that are published; others are built by `backfill apply`, open ones by --ignore-cron",
            )
    return patches


def forward(
    project: Project,
    environment: Environment,
    changed: Sequence[str],
    since: datetime,
    now: datetime,
    *,
    ignore_cron: bool = False,
) -> dict[str, Patch]:
    """The changed models' new versions from a day on, over their old rows until then. An open interval is one of them
    when it is shown, or with `ignore_cron`.

    Raises PlanError for a day after which no interval of a changed model is over.
    """
    patches: dict[str, Patch] = {}
    for name in changed:
        model, pointer = project.models[name], environment.pointers[name]
        start = model.cadence.ceil(since)
        later = Ranges((Interval(start, EVER.end),))
        intervals = wanted(model, now=now, ignore_cron=ignore_cron, shown=pointer.covers) & later
        if not intervals:
            raise PlanError(
                f"no {model.cadence.value} interval of {name} from {start:%Y-%m-%d} on is over yet",
                why="the new logic needs at least one interval to begin with",
                fix="name an earlier day, or wait until that one is over",
            )
        below = overlay([replace(s, interval=p) for s in pointer.segments for p in Ranges((s.interval,)) - later], [])
        patches[name] = Patch(version=project.fingerprints[name], intervals=intervals, below=below)
    return patches


def reached(model: Model, upstream: Interval) -> Interval:
    """The model's intervals that read any of an upstream's interval: over it, and as many more as look back."""
    return reach(model.cadence, model.lookback, upstream)


def reach(cadence: Cadence, lookback: int, upstream: Interval) -> Interval:
    """The same for a model of which only that is known."""
    return Interval(cadence.floor(upstream.start), cadence.shift(cadence.ceil(upstream.end), lookback))


def _shown(project: Project, environment: Environment, name: str) -> Model:
    if name not in project.models:
        one_of(list(project.models), name)
    pointer = environment.pointers.get(name)
    if pointer is None or pointer.version != project.fingerprints[name]:
        shows = f"{pointer.version}" if pointer else "nothing of it"
        raise PlanError(
            f"{name} cannot be restated: {environment.name} shows {shows}, the code says {project.fingerprints[name]}",
            why="a restatement computes published history again with the logic that is published",
            fix="promote the code's version first, or restate with the code that is published",
        )
    return project.models[name]
