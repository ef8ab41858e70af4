"""How does a table that is there become a model's first published version, without being computed again?

A Delta table in a folder is adopted in place: a log of ours names its files as they are at one commit. Any other table
is copied once, and the copy is compared. Either way the rows count as a revision of the model's own version: a plan
finds them complete, routine runs go on after them, and a restatement computes them anew beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from backfill_assets.adapters.adoption import (
    Rows,
    TablePlace,
    copy_rows,
    find_table,
    frame_of,
    reading,
    rows_by_file,
    rows_by_time,
    schema_columns,
    selected,
    table_columns,
)
from backfill_assets.adapters.data_files import AdoptedFrom, read_counts, write_counts
from backfill_assets.adapters.foreign_table import (
    ForeignTable,
    adopted_from,
    check_files,
    foreign_schema,
    read_foreign_table,
    write_link,
)
from backfill_assets.adapters.table_log import batch_metadata
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.gate import cases_of
from backfill_assets.app.release import mover
from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.build.events import Listener, silence
from backfill_assets.build.recheck import removed
from backfill_assets.build.version_tables import create_version
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pointer import Pointer, as_written
from backfill_assets.core.segments import Segment, Segments, adopted_of
from backfill_assets.plan.adoption import END_OF_TIME, Contained, casts, contained
from backfill_assets.plan.dropped_columns import view_columns
from backfill_assets.plan.faulty import refuse_faulty
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.select import one_of
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.proposal import Proposal, Wanted
from backfill_assets.promote.release import Attempt, release_case
from backfill_assets.state.environment import refuse_other_letters
from backfill_assets.state.ledger import Entry, Kind, coverage, new_id
from backfill_assets.state.versions import table_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What is asked for: which model gets which table (a path, or a catalog's name), and whether by a copy."""

    model: str
    table: str
    copy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What came of it."""

    model: str
    version: str
    place: TablePlace
    origin: AdoptedFrom | None
    """What was adopted in place; None: its rows were copied."""
    contained: Contained
    cadence: Cadence
    red: Ranges
    """Intervals in which a blocking audit fails: nothing is shown then."""
    failed: tuple[str, ...]
    """Which audits those are, and what else went wrong with them."""
    verdict: Verdict | None
    """What the gate said; None where it was not asked."""
    release: str = ""

    @property
    def shown(self) -> bool:
        """Whether the environment shows the rows now."""
        return bool(self.release)


def adopt(context: Context, asked: Adoption, listen: Listener = silence) -> Adopted:
    """Make a table's rows the model's first published ones, if the gate lets them through.

    Killed at any point, the next one goes on. Raises PlanError for a model that is shown already, for columns that are
    not the model's and for rows of no interval; StateError for a table that cannot be read, or not in place. What is
    shown already, and has lost its counts, is counted again.
    """
    refuse_faulty(context.project, Request(select=(asked.model,)))
    if asked.model not in context.project.models:
        one_of(list(context.project.models), asked.model)
    model, lost = context.project.models[asked.model], _uncounted(context, asked.model)
    if lost is None:
        shown = context.control.environments.read(context.environment).pointers
        _refuse_shown(shown, context.environment, model.name)
        refuse_other_letters(context.environment, shown, [model.name])
    spark = context.spark
    place = find_table(spark, asked.table, context.project.root)
    if lost is not None:
        with reading(place.text):
            return _count_again(context, model, place, lost)
    _refuse_own(context, place)
    in_place = place.format == "delta" and not asked.copy and bool(place.location)
    if not in_place and not asked.copy:
        raise StateError(
            f"{place.text} cannot be adopted in place",
            why=f"it is no Delta table in a folder: it is {place.format}",
            fix=f"backfill adopt {model.name} --table {place.text} --copy writes its rows into the warehouse",
        )
    with context.bench({}).beating():
        done = _taken(context, model, place, in_place=in_place, listen=listen)
    return done if done.red else _show(context, model, done)


def _taken(context: Context, model: Model, place: TablePlace, *, in_place: bool, listen: Listener) -> Adopted:
    """The table as the model's version, its rows audited; nothing is shown yet."""
    create_version(context.bench(listen=listen), model.name)
    if in_place:
        _refuse_other_types(context, model, place)
        foreign = read_foreign_table(place.location, time_column=model.time_column)
        with reading(place.text):
            one = _linked(context, model, foreign)
    else:
        foreign = None
        with reading(place.text):
            one = _copied(context, model, place)
    outcome = build(
        context.bench(patches={model.name: Patch(version=one.version, intervals=one.found.intervals)}, listen=listen),
        model.name,
        one.found.intervals,
    )
    failed = [f"{r.check} {r.interval}: {r.failures} rows" for r in outcome.results if r.blocking and not r.passed]
    failed += [f.error for f in outcome.failures]
    return Adopted(
        model=model.name,
        version=one.version,
        place=place,
        origin=foreign.origin if foreign else None,
        contained=one.found,
        cadence=model.cadence,
        red=one.found.intervals - outcome.green,
        failed=tuple(failed),
        verdict=None,
    )


def _refuse_other_types(context: Context, model: Model, place: TablePlace) -> None:
    """Raise PlanError for columns that no way can mend, before a refusal of this way leads to the other one."""
    record = context.control.versions.all()[model.name, context.project.fingerprints[model.name]]
    if said := foreign_schema(place.location):
        casts(model, record.columns, schema_columns(said), copying=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _There:
    """A version's table with the rows that were found."""

    version: str
    found: Contained


def _uncounted(context: Context, name: str) -> Segment | None:
    """What is shown of a model in place, and of which nobody can tell the rows by file any more."""
    pointer = context.control.environments.read(context.environment).pointers.get(name)
    for segment in pointer.segments.adopted if pointer else ():
        location = table_path(context.warehouse, name, segment.version)
        if adopted_from(location) is not None:
            try:
                read_counts(location)
            except StateError:
                return segment
    return None


def _count_again(context: Context, model: Model, place: TablePlace, lost: Segment) -> Adopted:
    """Write the counts of what is shown again, when it is of this table and still has the rows that were adopted."""
    shown = context.control.environments.read(context.environment).pointers
    location = table_path(context.warehouse, model.name, lost.version)
    origin = adopted_from(location)
    if origin is None or place.location != origin.location:
        _refuse_shown(shown, context.environment, model.name)
    files = rows_by_file(context.spark, location, model.time_column)
    rows = {at: n for at, n in _summed(files).items() if at is not None}
    for entry in context.control.ledger.entries([model.name], kinds=[Kind.BUILT]):
        found = sum(n for at, n in rows.items() if entry.interval.holds(at))
        if entry.version == lost.version and found != entry.rows:
            raise StateError(
                f"{place.text} does not have the rows that were adopted, of {entry.interval}",
                why=f"its files have {found} rows; {entry.rows} were adopted",
                fix="bring its files back as they were, and run it again; or restore the folder from a backup",
            )
    write_counts(location, _timed(files))
    covers = shown[model.name].segments.in_table(lost.version).covers
    [release, *_] = [
        release.id
        for release in context.control.releases.all(context.environment)
        if any(m.after and m.after.segments.in_table(lost.version) for m in release.moves)
    ]
    there = {at: n for at, n in rows.items() if any(part.holds(at) for part in covers)}
    return Adopted(
        model=model.name,
        version=lost.version,
        place=place,
        origin=origin,
        contained=Contained(intervals=covers, rows=there, gaps=NOTHING, later=0),
        cadence=model.cadence,
        red=NOTHING,
        failed=(),
        verdict=None,
        release=release,
    )


def _summed(files: Mapping[str, Rows]) -> Rows:
    total: dict[datetime | None, int] = defaultdict(int)
    for of in files.values():
        for at, rows in of.items():
            total[at] += rows
    return total


def _timed(files: Mapping[str, Rows]) -> dict[str, dict[datetime, int]]:
    return {path: {at: n for at, n in of.items() if at is not None} for path, of in files.items()}


def _refuse_shown(pointers: Mapping[str, Pointer], environment: str, name: str) -> None:
    if name in pointers:
        raise PlanError(
            f"{environment} shows {name} already",
            why="a table is adopted as a model's first version; published rows are replaced by rows that are compared",
            fix="backfill plan says what would change it; another `environment:` in the settings starts from nothing",
        )


def _refuse_own(context: Context, place: TablePlace) -> None:
    folder = f"{place.location.rstrip('/')}/"
    if place.location and folder.startswith(f"{context.warehouse.rstrip('/')}/"):
        raise PlanError(
            f"{place.location} is in the project's own warehouse",
            why="its tables are versions already, and the janitor deletes those that nothing needs",
            fix="name a table that somebody else made, outside of it",
        )


def _linked(context: Context, model: Model, foreign: ForeignTable) -> _There:
    """The version whose log names the table's files, with its rows counted, and the ledger's word for them."""
    record = context.control.versions.all()[model.name, context.project.fingerprints[model.name]]
    said = schema_columns(foreign.schema)
    casts(model, record.columns, said, copying=False)
    origin = foreign.origin
    version = adopted_of(record.version, _name(model, origin.location, str(origin.commit), origin.table))
    location = table_path(context.warehouse, model.name, version)
    _begin(context, model, version)
    span, batch = _whole(model), digest(version)[:16]
    context.control.versions.put(replace(record, version=version, created=datetime.now(UTC)))
    if context.log.head(model.name, version) < 0:
        columns = [name for name, _ in record.columns]
        check_files(foreign, columns)
        write_link(location, foreign.only(columns), metadata=batch_metadata(batch, span))
    files = rows_by_file(context.spark, location, model.time_column)
    found = contained(model, _summed(files), context.now())
    write_counts(location, _timed(files))
    read = {origin.location: {"commit": origin.commit, "table": origin.table}}
    _record(context, model, version, batch, found, commit=0, read=read)
    return _There(version=version, found=found)


def _copied(context: Context, model: Model, place: TablePlace) -> _There:
    """The version into which the table's rows are copied."""
    record = context.control.versions.all()[model.name, context.project.fingerprints[model.name]]
    whole = frame_of(context.spark, place)
    chosen = casts(model, record.columns, table_columns(whole), copying=True)
    names = [name for name, _ in record.columns]
    time = next(c for (c, _), n in zip(chosen, names, strict=True) if n.lower() == model.time_column.lower())
    found = contained(model, rows_by_time(whole, time), context.now())
    version = adopted_of(record.version, _name(model, place.location or place.table, str(found.rows)))
    _begin(context, model, version)
    context.control.versions.put(replace(record, version=version, created=datetime.now(UTC)))
    location = table_path(context.warehouse, model.name, version)
    job, batch, span = Job(model=model, version=version, inputs={}), new_id(), found.intervals.span
    assert span is not None
    context.control.ledger.append([_blank(model, version, batch, span)])
    commit = copy_rows(selected(whole, chosen, names, time), job, batch, span, location)
    if (copied := context.log.rows(model.name, version, commit)) != found.rows:
        differ = sorted(at for at in {*copied, *found.rows} if copied.get(at) != found.rows.get(at))
        raise StateError(
            f"the copy of {model.name} has not the rows that were counted, of {differ[0]:%Y-%m-%d %H:%M} for one",
            why="the table was written to between; nothing points at the copy",
            fix="run it again when nobody writes to the table",
        )
    read = {place.location or place.table: {"rows": sum(found.rows.values())}}
    _record(context, model, version, batch, found, commit=commit, read=read)
    return _There(version=version, found=found)


def _begin(context: Context, model: Model, version: str) -> None:
    if any(not r.done for r in context.control.removals.of([(model.name, version)])):
        raise removed(model.name)


def _name(model: Model, *said: str) -> str:
    """Of what, and judged by which audits: where these are others, the verdicts are."""
    return digest(*said, audits_digest(model))[:8]


def _whole(model: Model) -> Interval:
    """All the time that a model may have, as the link's commit says it; the ledger says what there is."""
    first = model.cadence.ceil(model.start)
    return Interval(first, model.end or END_OF_TIME)


def _blank(model: Model, version: str, batch: str, span: Interval) -> Entry:
    now = datetime.now(UTC)
    return Entry(kind=Kind.STARTED, model=model.name, version=version, interval=span, batch=batch, at=now)


def _record(
    context: Context,
    model: Model,
    version: str,
    batch: str,
    found: Contained,
    *,
    commit: int,
    read: Mapping[str, object],
) -> None:
    """Say in the ledger what there is, unless it says so; of what failed an audit again, which has it audited again."""
    known = [e for e in context.control.ledger.entries([model.name]) if (e.version, e.batch) == (version, batch)]
    said = coverage(known, audits=audits_digest(model)).built
    entries = [
        replace(
            _blank(model, version, batch, part),
            kind=Kind.BUILT,
            table_commit=commit,
            rows=sum(n for at, n in found.rows.items() if part.holds(at)),
            inputs=read,
        )
        for part in found.intervals - said
    ]
    context.control.ledger.append(entries)


def _show(context: Context, model: Model, done: Adopted) -> Adopted:
    def look() -> Attempt:
        facts = context.facts()
        _refuse_shown(facts.environment.pointers, context.environment, model.name)
        have, head = facts.tables.of(model.name, done.version), facts.tables.head(model.name, done.version)
        versions = context.control.versions.all()
        columns = view_columns(context.project, model.name, versions[model.name, done.version].columns)
        pointer = Pointer(
            model=model.name,
            time_column=model.time_column,
            timestamps=model.cadence is Cadence.HOURLY,
            columns=as_written(columns, context.project.columns.get(model.name, ())),
            segments=Segments.of_table(done.version, head, done.contained.intervals),
        )
        wanted = Wanted(
            model=model.name, version=done.version, publish=done.contained.intervals, have=have, patched=True
        )
        cases = cases_of(context, facts)
        found = find_changed_rows(context.project, facts, context.log, [pointer])
        case = Case(
            project=context.project,
            facts=facts,
            versions=versions,
            wanted=Proposal(wanted=(wanted,), pointers=(pointer,)),
            changed=found.changed,
            required=cases.required,
            owners=cases.owners,
            not_counted=cases.not_counted,
        )
        return Attempt(case=case)

    moved = release_case(mover(context), look, evidence=partial(seal_release, context))
    if not moved.moved:
        return replace(done, verdict=moved.verdict)
    publish_contracts(context.project, context.control, moved.environment, (model.name,), at=datetime.now(UTC))
    [release] = context.control.releases.all(context.environment)[-1:]
    return replace(done, verdict=moved.verdict, release=release.id)
