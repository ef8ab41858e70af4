"""What would going back do to one model? Its older pointer, and which newer intervals that has, lacks, or never has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.project.stored import described
from backfill_assets.state.ledger import Coverage, Entry
from backfill_assets.state.tables import TableLog, version_coverage
from backfill_assets.state.versions import Version, VersionRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackStep:
    """What going back does to one model. `older` is None when the older release did not show it: it goes."""

    model: str
    shown: Pointer | None
    older: Pointer | None
    cadence: Cadence = Cadence.DAILY
    batch_size: int = 1
    concurrency: int = 1
    taken: Segments = NO_ROWS
    """Newer intervals that are there in the older logic already."""
    missing: Ranges = NOTHING
    """Newer intervals that are not: to be built by the older version's own definition."""
    unaudited: Ranges = NOTHING
    """The same, built but not audited."""
    never: Ranges = NOTHING
    """Intervals that are shown and that the older version, by its own definition, does not have."""
    early: Ranges = NOTHING
    """Those of them that are not over yet by the older version's days, which are of another zone than what is shown."""
    behind: Ranges = NOTHING
    """Of a model that is not shown now: what is over by now, and later than what it showed. Routine runs build what
    there is of it: they know how far its sources are."""
    time_zone: str = ""
    """That of the older version's days; empty: UTC."""

    @property
    def lacks(self) -> Ranges:
        """The newer intervals that would be gone from sight if the pointer moved at once."""
        return self.missing | self.unaudited

    @property
    def pointer(self) -> Pointer | None:
        """What would be shown: the older segments as they were, and the newer intervals that there are."""
        return self.older and replace(self.older, segments=self.taken.over(self.older.segments))


def model_then(project: Project, versions: VersionRecords, name: str, version: str) -> Model | None:
    """The model as a version defines it; None when its record is too old to tell."""
    if project.fingerprints.get(name) == version:
        return project.models[name]
    try:
        return described(name, version, versions[name, version].definition)
    except (BackfillError, KeyError):
        return None


def rollback_step(
    model: Model | None,
    shown: Pointer | None,
    older: Pointer,
    record: Version | None,
    entries: Sequence[Entry],
    log: TableLog,
    now: datetime,
    days: Calendar | None,
) -> RollbackStep:
    """The way back to `older`, by the model of then (None: its record is too old to tell); `days` are those of what is
    shown, where that is known."""
    newer = (shown.covers - older.covers) if shown else NOTHING
    alike = shown.segments.of_logic(older.version) if shown else NO_ROWS
    own = record.columns if record else shown.columns if shown else ()
    taken = _with_columns(alike.cut(newer), own, older)
    rest = newer - taken.covers
    if model is None:
        return RollbackStep(model=older.model, shown=shown, older=older, taken=taken, never=rest)
    if shown and (span := shown.covers.span):  # its record says where it ended when it was first built
        model = model.reaching(model.cadence.ceil(span.end))
    rest = Ranges.of(model.cadence.cover(part) for part in rest) - older.covers
    have, head = Coverage(), -1
    if rest:
        digest = audits_digest(model)
        have, head = version_coverage(entries, log, model=model.name, version=older.version, audits=digest)
        parts = Segments.of_table(older.version, head, rest & have.green)
        columns = record.columns if record else older.columns
        taken = Segments((*taken, *_with_columns(parts, columns, older)))
    possible = (rest - have.green) & model.begun(now).until(model.calendar.over(now))  # shown: no `ready` counts
    never = rest - have.green - possible
    if days is not None and days.cadence != model.cadence:  # what is still to come of what is shown in part
        never = never.until(max(days.over(now), model.calendar.over(now)))
    other = days is not None and days.time_zone != model.time_zone
    early = never - never.until(model.calendar.over(now)) if other else NOTHING
    return RollbackStep(
        model=older.model,
        shown=shown,
        older=older,
        cadence=model.cadence,
        batch_size=model.batch_size,
        concurrency=model.batch_concurrency,
        taken=taken,
        missing=possible - have.unaudited,
        unaudited=possible & have.unaudited,
        never=never,
        early=early,
        behind=_after(older, model.expected(now)) if shown is None else NOTHING,
        time_zone=model.time_zone,
    )


def _after(older: Pointer, intervals: Ranges) -> Ranges:
    span = older.covers.span
    return intervals - intervals.until(span.end) if span else NOTHING


def _with_columns(segments: Segments, of: tuple[tuple[str, str], ...], older: Pointer) -> Segments:
    """Segments in a pointer of other columns: they say their own where they lack any of these."""
    wanted = set(older.columns)
    return Segments(replace(s, columns=there if wanted - set(there := s.columns or of) else ()) for s in segments)
