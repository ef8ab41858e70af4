"""What does a plan put over what an environment shows, and what does it leave? Parts of history, not all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from backfill_assets.core.calendar import UTC_TIME, Calendar
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pin import state_of
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import NO_ROWS, Segments, revision_of
from backfill_assets.plan.missing import wanted
from backfill_assets.plan.own_change import OwnChange
from backfill_assets.plan.select import asked_of_each, one_of
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage

ALL_TIME = Interval(
    datetime.fromisoformat("1000-01-01T00:00:00+00:00"), datetime.fromisoformat("9999-12-31T00:00:00+00:00")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScope:
    """Rows of restated intervals that are computed again: those for which `where` holds."""

    where: str
    """A condition on one row, in SQL; of keys that a file named, which these are, in words."""
    columns: tuple[str, ...]
    """The columns (lower-cased) that it names; of keys, in the order of their values."""
    by_key: bool = False
    """Whether it names columns that are no part of the key: then all rows of a key for which it holds, in what is shown
    or in what is computed, are computed again."""
    ids: str = ""
    """The digest of the keys that the request names (`plan/ids.py`), where `where` is no condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Rows of `version` for these intervals, over the segments `below`: what the environment keeps around them."""

    version: str
    intervals: Ranges
    below: Segments = NO_ROWS
    scope: RowScope | None = None
    """The rows that are computed; all others of these intervals are copied from `below`. None: all are computed."""
    whole: str = ""
    """Why all are, where the request has a scope."""

    def segments(self, commit: int) -> Segments:
        """The patch's rows as they are at a commit of its table."""
        return Segments.of_table(self.version, commit, self.intervals)


def kept_segments(pointer: Pointer | None, version: str) -> Segments:
    """What a pointer that shows a version shows beside its table: corrections, and older rows of a change that was made
    forward only. Nothing when it shows another version."""
    if pointer is None or pointer.version != version:
        return NO_ROWS
    return pointer.segments.in_other_tables(version)


def segments_beside(pointer: Pointer | None, version: str, have: Coverage) -> Segments:
    """What is read of a version from other tables and commits than its newest: what a pointer shows beside its table,
    and what it shows as it was before somebody else wrote there."""
    return Segments((*kept_segments(pointer, version), *have.shown_apart)).joined()


def restatement(
    project: Project,
    environment: Environment,
    restate: Sequence[tuple[str, Interval]],
    sources: Mapping[str, Mapping[str, object]],
    now: datetime,
    lapsed: Mapping[str, Ranges],
    itself: Mapping[str, OwnChange] = MappingProxyType({}),
) -> dict[str, Patch]:
    """The intervals to compute again, of the models that are named and of all that read them, in revisions.

    A revision's name follows from what is restated, what is shown and what the sources are: an interrupted restatement
    is taken up, one of later source data is another. Open intervals, and `lapsed` ones, are not among them: they are
    built again in any case. Raises PlanError for what the environment does not show; `itself` says why it does not.
    """
    for name, _ in restate:
        _shown(project, environment, name, itself)
    asked = asked_of_each(project, restate)
    patches: dict[str, Patch] = {}
    for name, model in project.models.items():
        pointer = environment.pointers.get(name)
        if pointer is None:
            continue
        again = asked.get(name, Ranges())
        for upstream in model.upstreams:
            if upstream.name in patches:
                above = project.models[upstream.name]
                parts = patches[upstream.name].intervals
                again = again | Ranges.of(affected_interval(model, above, part) for part in parts)
        again = (again & pointer.covers & model.expected(now)) - lapsed.get(name, NOTHING)
        if again:
            _shown(project, environment, name, itself)
            read = [[u.name, state_of(pin)] for u in model.upstreams if (pin := sources.get(u.name))]
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


def refuse_unpublished_inputs(
    project: Project, environment: Environment, patches: Mapping[str, Patch], beside: Collection[str]
) -> None:
    """Raise PlanError where published history would be computed again from another version of a model than is shown,
    and than moves `beside` it: it would be shown beside rows that it was not computed from."""
    for name in patches:
        for upstream in project.models[name].upstreams:
            if upstream.name in beside or upstream.name not in project.models:
                continue
            pointer, version = environment.pointers.get(upstream.name), project.fingerprints[upstream.name]
            if pointer is None or pointer.version != version:
                shown = pointer.version if pointer else "nothing of it"
                raise PlanError(
                    f"{name} cannot be computed again: it reads {upstream.name}, of which {environment.name} shows "
                    f"{shown}, and the code says {version}",
                    why="published history is computed again from what is published beside it",
                    fix=f"promote the code's version of {upstream.name} first; or load the code that is published",
                )


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

    Raises PlanError for a day after which no interval of a changed model is over, and for one that leaves a hole after
    the old rows.
    """
    patches: dict[str, Patch] = {}
    for name in changed:
        model, pointer = project.models[name], environment.pointers[name]
        start = model.cadence.ceil(since)
        later = Ranges((Interval(start, ALL_TIME.end),))
        needed = wanted(model, now=now, ignore_cron=ignore_cron, shown=pointer.covers)
        intervals = needed & later
        if not intervals:
            raise PlanError(
                f"no {model.cadence.value} interval of {name} from {start:%Y-%m-%d} on is over yet",
                why="the new logic needs at least one interval to begin with",
                fix=f"name {_last_first(project, changed, now)}an earlier day, or wait until that one is over",
            )
        _refuse_hole(name, environment, needed - later, start)
        below = pointer.segments.without(later).joined()
        patches[name] = Patch(version=project.fingerprints[name], intervals=intervals, below=below)
    return patches


def _refuse_hole(name: str, environment: Environment, before: Ranges, start: datetime) -> None:
    """Raise PlanError where the old rows end earlier than the new logic begins; `before`: what is needed until then."""
    shown = environment.pointers[name].covers.span
    if shown and (hole := before & Ranges((Interval(shown.end, ALL_TIME.end),))):
        raise PlanError(
            f"{environment.name} would show no rows of {name} in {hole}",
            why=f"its older rows end before {shown.end:%Y-%m-%d}, and the new logic would begin with {start:%Y-%m-%d}",
            fix=f"begin where they end: --forward-only {shown.end:%Y-%m-%d}",
        )


def _last_first(project: Project, changed: Sequence[str], now: datetime) -> str:
    """The last day from which each of the models has an interval that is over, with `or`; "" where there is none."""
    spans = [(project.models[name], project.models[name].expected(now).span) for name in changed]
    last = [model.cadence.shift(span.end, -1) for model, span in spans if span]
    return f"{Cadence.DAILY.floor(min(last)):%Y-%m-%d} or " if last and len(last) == len(spans) else ""


def affected_interval(model: Model, upstream: Model | None, part: Interval) -> Interval:
    """The model's intervals that read any of these of an upstream model (None: of this time of a source): over it, and
    as many more as look back."""
    return affected_by(model.calendar, model.lookback, upstream.calendar if upstream else UTC_TIME, part)


def affected_by(calendar: Calendar, lookback: int, upstream: Calendar, part: Interval) -> Interval:
    """The same for models of which only that is known."""
    over = calendar.seen_from(upstream, part) or calendar.cadence.cover(part)
    return Interval(over.start, calendar.cadence.shift(over.end, lookback))


def _shown(project: Project, environment: Environment, name: str, itself: Mapping[str, OwnChange]) -> Model:
    if name not in project.models:
        one_of(list(project.models), name)
    pointer, version = environment.pointers.get(name), project.fingerprints[name]
    if pointer is not None and pointer.version == version:
        return project.models[name]
    found = itself.get(name)
    if pointer is not None and found is not None and found.around and not found.code:
        raise PlanError(
            f"{name} cannot be restated: {environment.name} shows {pointer.version}, it would be {version} by now",
            why=f"its code is the same, but {'; '.join(found.around)}",
            fix=f"compute all of it by that and promote it: backfill apply --select {name}; or put that back as it was",
        )
    raise PlanError(
        f"{name} cannot be restated: {environment.name} shows {pointer.version if pointer else 'nothing of it'}, the"
        f" code says {version}",
        why="a restatement computes published history again with the logic that is published",
        fix="promote the code's version first, or restate with the code that is published",
    )
