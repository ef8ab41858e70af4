"""How do many corrections of a table become one? Their rows are copied as they are, compared, and pointed at.

Each restatement leaves a table of its own, and every view of the model opens all of them. Joined, they are one revision
beside the version's table, which stays as it was built: whoever goes back to an older release finds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backfill_assets.build.engine import Engine, Job
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import BackfillError, DamagedLogError, PromotionError, StateError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, is_adopted, revision_of
from backfill_assets.plan.facts import Facts
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.promote.proposal import Proposal
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, Entry, Kind, by_version, coverage, new_id
from backfill_assets.state.tables import TableLog, vouched
from backfill_assets.state.versions import Version

MOST_CORRECTIONS = 10
"""Tables of corrections that a pointer may have. Each adds 0.13 s to every query of the view, 0.4 s to the first one
of a session (measured on 2 cores, with up to 40 tables of one row)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """Corrections of one model, from more tables than it should have, and the revision that takes their rows."""

    pointer: Pointer
    corrections: Segments
    version: str

    @property
    def tables(self) -> int:
        return len({s.version for s in self.corrections})

    @property
    def intervals(self) -> Ranges:
        return self.corrections.covers


def find_many_corrections(
    control: Control, log: TableLog, project: Project, environment: Environment, most: int = MOST_CORRECTIONS
) -> list[Corrections]:
    """The environment's models that show more than `most` tables of corrections.

    Not those that an open plan is about, whose code is another one than what is shown, or of whose rows the records do
    not know everything: these are left as they are.
    """
    planned, records = _planned(control), control.versions.all()
    found: list[Corrections] = []
    for name, pointer in environment.pointers.items():
        mine = pointer.segments.of_logic(pointer.version).in_other_tables(pointer.version)
        crowd = Corrections(
            pointer=pointer,
            corrections=Segments(s for s in mine if not s.columns and not is_adopted(s.version)),
            version=revision_of(pointer.version, digest("joined", pointer.id)[:8]),
        )
        if crowd.tables <= most or name in planned or project.fingerprints.get(name) != pointer.version:
            continue
        recorded = all((name, s.version) in records for s in crowd.corrections)
        if recorded and _is_vouched_for(control, log, crowd):
            found.append(crowd)
    return found


def compact(
    crowd: Corrections,
    control: Control,
    log: TableLog,
    model: Model,
    engine: Callable[[], Engine],
    *,
    show: Callable[[Pointer], Environment],
) -> Environment:
    """Copy the corrections' rows into one table, and let `show` point the environment at it. Again after a crash is
    harmless.

    The environment afterwards. Raises, and nothing is shown otherwise then, BuildError or StateError when there is no
    equal copy, and what `show` raises.
    """
    now, span = datetime.now(UTC), crowd.intervals.span
    assert span is not None
    blank = Entry(kind=Kind.STARTED, model=model.name, version=crowd.version, interval=span, at=now)
    blank = replace(blank, batch=new_id(), run=new_id(), reason=f"{crowd.tables} tables of corrections are joined")
    control.versions.put(_record(control.versions.all(), crowd))
    control.ledger.append([blank])
    try:
        joined = _copied(crowd, control, log, model, engine, blank)
        return show(joined)
    except BackfillError as error:
        control.ledger.append([replace(blank, kind=Kind.FAILED, at=datetime.now(UTC), reason=str(error))])
        raise


def compaction_case(
    crowd: Corrections, pointer: Pointer, control: Control, project: Project, facts: Facts, log: TableLog
) -> Case:
    """What the gate is asked about a copy that was compared. Raises PromotionError when the model moved, or a plan of
    it was opened, while it was made."""
    name = pointer.model
    if facts.environment.pointers.get(name) != crowd.pointer or name in _planned(control):
        raise PromotionError(
            f"the corrections of {name} were not joined: it moved, or a plan of it was opened, meanwhile",
            why="what was copied is not all that is shown by now, or not what the plan is about",
            fix="run `backfill janitor --apply` again, after the plan if there is one",
        )
    found = find_changed_rows(project, facts, log, [pointer])
    left = {model: part - crowd.intervals for model, part in found.changed.items()}
    return Case(
        purpose=Purpose.JOIN,
        project=project,
        facts=facts,
        versions=control.versions.all(),
        wanted=Proposal(wanted=(), pointers=(pointer,)),
        changed={model: part for model, part in left.items() if part},
    )


def _copied(
    crowd: Corrections, control: Control, log: TableLog, model: Model, engine: Callable[[], Engine], blank: Entry
) -> Pointer:
    """Make the copy, compare it, and record what it is: the pointer that shows it."""
    pointer = crowd.pointer
    if any(not r.done for r in control.removals.of([(model.name, crowd.version)])):
        raise StateError(
            f"an earlier copy of the corrections of {model.name} is being removed",
            why="the janitor came first",
            fix="let `backfill janitor --apply` finish, then run it again",
        )
    job = Job(model=model, version=crowd.version, inputs={})
    commit = engine().copy(job, blank.batch, crowd.corrections).table_commit
    copied = Segments.of_table(crowd.version, commit, crowd.intervals)
    columns = [name for name, _ in pointer.columns]
    if differ := engine().differing(model, columns, crowd.corrections, copied):
        raise StateError(
            f"the joined corrections of {model.name} are not equal to what is shown, in {differ}",
            why="what was read is not what was written; nothing points at the copy",
            fix="run `backfill janitor --apply` again; if it stays so, the disk or a table is damaged",
        )
    rows = log.rows(model.name, crowd.version, commit)
    entries = _copied_entries(control, crowd, model, replace(blank, table_commit=commit, reason=""), rows)
    control.ledger.append(entries)
    return replace(pointer, segments=copied.over(pointer.segments))


def _planned(control: Control) -> set[str]:
    return {target.model for plan in control.plans.all() if plan.live for target in plan.targets}


def _record(versions: Mapping[tuple[str, str], Version], crowd: Corrections) -> Version:
    newest = max((versions[crowd.pointer.model, s.version] for s in crowd.corrections), key=lambda v: v.created)
    return replace(newest, version=crowd.version, created=datetime.now(UTC))


def _is_vouched_for(control: Control, log: TableLog, crowd: Corrections) -> bool:
    name = crowd.pointer.model
    groups = by_version(control.ledger.entries([name], kinds=DECIDING))
    try:
        return all(
            not Ranges((s.interval,))
            - vouched(groups.get((name, s.version), []), log, model=name, version=s.version, commit=s.commit)
            for s in crowd.corrections
        )
    except DamagedLogError:
        return False


def _copied_entries(
    control: Control, crowd: Corrections, model: Model, blank: Entry, rows: Mapping[datetime, int]
) -> list[Entry]:
    """What the ledger says of the corrections, said of their copy: when and from what they were computed, and what
    audits found. A part of a batch took its part of the batch's time."""
    groups = by_version(control.ledger.entries([model.name], kinds=DECIDING))
    found: list[Entry] = []
    for segment in crowd.corrections:
        mine = groups[model.name, segment.version]
        there = coverage(mine, audits="", commit=segment.commit)
        for part, entry in there.batches(Ranges((segment.interval,))):
            share = model.cadence.count(part) / model.cadence.count(entry.interval)
            count = sum(n for at, n in rows.items() if part.holds(at))
            same = replace(
                blank, kind=Kind.BUILT, interval=part, inputs=entry.inputs, at=entry.at, rows=count, origin=entry.origin
            )
            found.append(replace(same, bytes=round(entry.bytes * share), seconds=entry.seconds * share))
            found += [
                replace(blank, kind=Kind.AUDITED, interval=passed, audits=audit.audits, at=audit.at)
                for audit in mine
                if audit.kind is Kind.AUDITED and audit.batch == entry.batch
                for passed in Ranges((audit.interval,)) & Ranges((part,))
            ]
    return found
