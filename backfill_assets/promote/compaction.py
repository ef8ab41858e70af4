"""How do many corrections of a table become one? Their rows are copied as they are, compared, and pointed at.

Each restatement leaves a table of its own, and every view of the model opens all of them. Joined, they are one revision
beside the version's table, which stays as it was built: whoever goes back to an older release finds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backfill_assets.build.engine import Engine, Job
from backfill_assets.errors import StateError
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.plan.patch import overlay
from backfill_assets.promote.promote import ViewCatalog, promote
from backfill_assets.snapshots.digest import digest
from backfill_assets.snapshots.model import Model, Project
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, Pointer, Segment
from backfill_assets.state.ledger import DECIDING, Entry, Kind, by_version, coverage, new_id
from backfill_assets.state.tables import TableLog, vouched
from backfill_assets.state.versions import Version, logic_of, revision_of

MOST_CORRECTIONS = 10
"""Tables of corrections that a pointer may have. A view opens each: about 0.1 s, and a branch of every query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Corrections of one model, from more tables than it should have, and the revision that takes their rows."""

    pointer: Pointer
    corrections: tuple[Segment, ...]
    version: str

    @property
    def tables(self) -> int:
        return len({s.version for s in self.corrections})

    @property
    def intervals(self) -> Ranges:
        return Ranges.of(s.interval for s in self.corrections)


def crowds(
    control: Control, log: TableLog, project: Project, environment: Environment, most: int = MOST_CORRECTIONS
) -> list[Crowd]:
    """The environment's models that show more than `most` tables of corrections.

    Not those that an open plan is about, that the project does not know as they are shown, or of whose rows the ledger
    does not know everything: these are left as they are.
    """
    planned = {target.model for plan in control.plans.all() if plan.live for target in plan.targets}
    found: list[Crowd] = []
    for name, pointer in environment.pointers.items():
        model = project.models.get(name)
        mine = [s for s in pointer.segments if logic_of(s.version) == pointer.version != s.version]
        corrections = tuple(s for s in mine if not s.columns)
        crowd = Crowd(
            pointer=pointer,
            corrections=corrections,
            version=revision_of(pointer.version, digest("joined", pointer.id)[:8]),
        )
        if crowd.tables <= most or name in planned or model is None or model.time_column != pointer.time_column:
            continue
        if _is_vouched_for(control, log, crowd):
            found.append(crowd)
    return found


def join(
    crowd: Crowd,
    control: Control,
    log: TableLog,
    model: Model,
    engine: Callable[[], Engine],
    *,
    seen: Environment,
    views: ViewCatalog | None,
    by: str,
) -> Environment:
    """Copy the corrections' rows into one table, and point the environment at it. Again after a crash is harmless.

    The environment afterwards. Raises BuildError, StateError when the copy is not equal, PromotionError when the
    environment moved; nothing is changed then.
    """
    pointer = crowd.pointer
    job, batch, run = Job(model=model, version=crowd.version, inputs={}), new_id(), new_id()
    control.versions.put(_record(control.versions.all(), crowd))
    blank = Entry(kind=Kind.STARTED, model=model.name, version=crowd.version, interval=_span(crowd), at=_clock())
    blank = replace(blank, batch=batch, run=run, reason=f"{crowd.tables} tables of corrections are joined")
    control.ledger.append([blank])
    commit = engine().copy(job, batch, crowd.corrections).table_commit
    copied = tuple(Segment(version=crowd.version, commit=commit, interval=part) for part in crowd.intervals)
    columns = [name for name, _ in pointer.columns]
    if differ := engine().differing(model, columns, crowd.corrections, copied):
        raise StateError(
            f"the joined corrections of {model.name} are not equal to what is shown, in {differ}",
            why="what was read is not what was written; nothing points at the copy",
            fix="run `backfill janitor --apply` again; if it stays so, the disk or a table is damaged",
        )
    rows = log.rows(model.name, crowd.version, commit)
    control.ledger.append(_copied_entries(control, log, crowd, replace(blank, table_commit=commit), rows))
    joined = replace(pointer, segments=overlay(pointer.segments, copied))
    return promote(control.environments, seen, [joined], views, by=by, compaction=True)


def _span(crowd: Crowd) -> Interval:
    span = crowd.intervals.span
    assert span is not None
    return span


def _record(versions: Mapping[tuple[str, str], Version], crowd: Crowd) -> Version:
    newest = max((versions[crowd.pointer.model, s.version] for s in crowd.corrections), key=lambda v: v.created)
    return replace(newest, version=crowd.version, created=_clock())


def _is_vouched_for(control: Control, log: TableLog, crowd: Crowd) -> bool:
    name = crowd.pointer.model
    groups = by_version(control.ledger.entries([name], kinds=DECIDING))
    return all(
        not Ranges((s.interval,))
        - vouched(groups.get((name, s.version), []), log, model=name, version=s.version, commit=s.commit)
        for s in crowd.corrections
    )


def _copied_entries(
    control: Control, log: TableLog, crowd: Crowd, blank: Entry, rows: Mapping[datetime, int]
) -> list[Entry]:
    """What the ledger says of the corrections, said of their copy: what they were computed from, what audits found."""
    name, now = crowd.pointer.model, _clock()
    groups = by_version(control.ledger.entries([name], kinds=DECIDING))
    found: list[Entry] = []
    for segment in crowd.corrections:
        mine = groups[name, segment.version]
        there = coverage(mine, audits="", commit=segment.commit)
        for part, entry in there.batches(Ranges((segment.interval,))):
            count = sum(n for at, n in rows.items() if part.start <= at < part.end)
            found.append(
                replace(blank, kind=Kind.BUILT, interval=part, inputs=entry.inputs, rows=count, at=now, reason="")
            )
            found += [
                replace(blank, kind=Kind.AUDITED, interval=passed, audits=audit.audits, at=now, reason="")
                for audit in mine
                if audit.kind is Kind.AUDITED and audit.batch == entry.batch
                for passed in Ranges((audit.interval,)) & Ranges((part,))
            ]
    return found


def _clock() -> datetime:
    return datetime.now(UTC)
