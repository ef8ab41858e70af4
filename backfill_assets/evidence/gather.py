"""What is known of a plan? Its records, tables, audits and consumers, read in one go and without a JVM."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.result import AuditResult
from backfill_assets.build.apply import MODELS_AT_ONCE
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Consumer, Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import NO_ROWS, Segments, logic_of
from backfill_assets.core.settings import Cost
from backfill_assets.core.settling import settling_windows
from backfill_assets.evidence.inputs import ChangedModel, Inputs, Judged, JudgedApproval
from backfill_assets.evidence.tables import HASHED, TableReader
from backfill_assets.plan.actual import TIMED, Actual, actual
from backfill_assets.plan.batch_times import USEFUL
from backfill_assets.plan.commands import other_code_remedy
from backfill_assets.plan.estimate import PlanEstimate, estimate
from backfill_assets.plan.lineage_changes import describe, lineage_changes, written_then
from backfill_assets.plan.maintenance import maintenance
from backfill_assets.plan.stages import AuditStage, Build, Plan
from backfill_assets.plan.stored import stored_plan
from backfill_assets.project.stored import from_definition
from backfill_assets.state.approvals import Approval
from backfill_assets.state.at_work import seconds_at_work
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind, by_version
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.proofs import newest_proofs
from backfill_assets.state.releases import PointerMove, Release, TakenOut, out_of_sight, taken_out
from backfill_assets.state.replaced_rows import replaced
from backfill_assets.state.rules import RulesInForce
from backfill_assets.state.settling import LAST_LOOK, Settling, settling
from backfill_assets.state.tables import TableLog, rows_of, still_there, version_coverage
from backfill_assets.state.versions import Version, VersionKey, VersionRecords, cadences_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredFrom:
    """Where all of it is read."""

    project: Project
    control: Control
    log: TableLog
    tables: TableReader


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPlan:
    """What is recorded of a plan's models, before any of their tables is looked at."""

    plan: PlanRecord
    said: Plan
    before: Mapping[str, Pointer] | None
    """What was shown before it moved; None: nobody knows."""
    out: Mapping[str, TakenOut]
    """What was not shown any more by then."""
    pinned: Mapping[str, Pointer]
    """What it shows, or is about to show."""
    versions: VersionRecords
    entries: Sequence[Entry]
    results: Mapping[VersionKey, Sequence[AuditResult]]
    unsettled: Settling


def gather(
    origin: GatheredFrom,
    plan: PlanRecord,
    *,
    after: Mapping[str, Pointer] | None = None,
    judged: Judged | None = None,
    rules: RulesInForce | None = None,
) -> Inputs:
    """Everything that a packet of this plan is made from.

    `after` is what the environment is about to show; None: it does not move now. `judged` is the plan as the gate looks
    at it (None: it has ended, or is another code's), `rules` those in force.
    Raises StateError for a plan without a document, and for a version whose definition cannot be read any more.
    """
    project, control = origin.project, origin.control
    known = _of_plan(origin, plan, after)
    said = known.said
    subjects = _subjects(origin, known)
    models = {s.target.model: s.model for s in subjects}
    others = _others(project, said, models)
    entries = [*known.entries, *(control.ledger.entries(list(others), kinds=USEFUL) if others else ())]
    guess, took = _spent(plan, said, entries, cadences_of(known.versions), models | others, project.settings.cost)
    consumers, windows = project.consumers.values(), project.settings.windows
    seen = judged or _unjudged(control, plan)
    return Inputs(
        plan=plan,
        said=said,
        subjects=subjects,
        promoting=after is not None,
        before_known=known.before is not None,
        consumers=_readers(consumers, models.keys() | said.kept),
        consumers_confirmed=project.consumers_verified,
        estimate=guess,
        actual=took,
        maintenance=maintenance(windows, said, models, consumers, guess, plan.created),
        exceptions=_exceptions(plan, known.entries),
        approvals=seen.approvals,
        proofs=newest_proofs(seen.proofs),
        content=seen.content,
        impacts=seen.impacts,
        rules=rules,
        asked=seen.asked,
        amendment=seen.amendment,
    )


def _of_plan(origin: GatheredFrom, plan: PlanRecord, after: Mapping[str, Pointer] | None) -> _OfPlan:
    control, promoted = origin.control, plan.status is PlanStatus.PROMOTED
    said = stored_plan(control, plan.id)
    if said is None:
        raise StateError(f"plan {plan.id} has no content", why="an earlier release stored it", fix="apply it again")
    now = control.environments.read(plan.environment)
    releases = control.releases.all(plan.environment)
    if after is None and promoted:
        release = _release_of(releases, plan)
        before = release and {m.model: m.before for m in release.moves if m.before is not None}
        earlier = [r for r in releases if release and r.revision < release.revision]
    else:
        before, earlier = now.pointers, releases
    return _OfPlan(
        plan=plan,
        said=said,
        before=before,
        out=taken_out(earlier, out_of_sight(earlier), now.removals),
        pinned=after or (now.pointers if promoted else {}),
        versions=control.versions.all(),
        entries=control.ledger.entries([t.model for t in plan.targets]),
        results=_results_by_version(control, plan.targets),
        unsettled=_unsettled(origin.project, control, plan, said.now, set(before or ())),
    )


def _unjudged(control: Control, plan: PlanRecord) -> Judged:
    approvals = tuple(map(_unchecked, control.approvals.of([plan.id])))
    return Judged(approvals=approvals, proofs=control.proofs.of(plan.id))


def _unchecked(approval: Approval) -> JudgedApproval:
    return JudgedApproval(approval=approval)


def _release_of(releases: Sequence[Release], plan: PlanRecord) -> Release | None:
    """The release of a promoted plan; None when none is recorded of it."""
    for release in reversed(releases):
        moves = {m.model: m for m in release.moves}
        mine = [t for t in plan.targets if t.model in moves]
        if mine and not release.back_to and all(_brings(moves[t.model], t) for t in mine):
            return release
    return None


def _brings(move: PointerMove, target: PlanTarget) -> bool:
    """Whether a release began to show a version."""

    def shows(pointer: Pointer | None) -> bool:
        return pointer is not None and target.version in {pointer.version, *(s.version for s in pointer.segments)}

    return shows(move.after) and not shows(move.before)


def _subjects(origin: GatheredFrom, known: _OfPlan) -> tuple[ChangedModel, ...]:
    """Each model that the plan changes. What is hashed has a limit for all tables together."""
    entries, found, left = by_version(known.entries), list[ChangedModel](), HASHED
    for target in known.plan.targets:
        subject = _subject(origin, known, target, entries.get((target.model, target.version), []), left)
        found.append(subject)
        left -= subject.table.hashed if subject.table else 0
    return tuple(found)


def _subject(
    origin: GatheredFrom, known: _OfPlan, target: PlanTarget, entries: Sequence[Entry], hash_up_to: int
) -> ChangedModel:
    project, log, versions = origin.project, origin.log, known.versions
    name, version = target.model, target.version
    before, out, pinned = (known.before or {}).get(name), known.out.get(name), known.pinned.get(name)
    patch = part.intervals if (part := known.said.patches.get(name)) else None
    record, results = versions.get((name, version)), known.results.get((name, version), [])
    model = _model(project, name, version, record, other_code_remedy(known.plan))
    have, head = version_coverage(entries, log, model=name, version=version, audits=audits_digest(model))
    mine = pinned.segments.in_table(version) if pinned else NO_ROWS
    commit = max((s.commit for s in mine), default=head)
    shown = mine.covers or (patch & have.complete if patch is not None else have.complete)
    kept = before.covers - shown if before and patch is not None else Ranges()
    batches = tuple(have.batches(shown & have.green))
    was = before or (out and out.last)
    old = versions.get((name, was.version)) if was else None
    brings = pinned or (replace(was, segments=Segments.of_table(version, commit, shown)) if was else None)
    left_out = target.intervals - shown if mine else Ranges()  # built, but what moves does not show it
    return ChangedModel(
        target=replace(target, intervals=target.intervals - left_out),
        model=model,
        record=record,
        before=before,
        old=old,
        out=None if before else out,
        same_rows=not before and out is not None and not _others_than(out, brings, log, model.cadence),
        complete=have.complete,
        shown=shown,
        kept=kept,
        provisional=known.unsettled.provisional(name, model.calendar, shown),
        missing=((patch if patch is not None else _expected(known.said, model)) - have.complete) | left_out,
        table=origin.tables.state(name, version, commit, hash_up_to=hash_up_to) if commit >= 0 else None,
        batches=batches,
        results=_newest_of(results, (*batches, *(() if mine else _refused(entries, have.refused, target.intervals)))),
        old_rows=_rows(log, was, shown) if was else {},
        new_rows=_within(log.rows(name, version, commit), shown) if commit >= 0 else {},
        rewired=_rewired(project, old, record),
    )


def _expected(plan: Plan, model: Model) -> Ranges:
    """What the model had to have as the plan was made: not of what there were no rows of in its sources."""
    cut_off = Ranges.of(i for cut in plan.cut_off if cut.model == model.name for i in cut.intervals)
    return model.expected(plan.now) - cut_off


def _others_than(out: TakenOut, now: Pointer | None, log: TableLog, cadence: Cadence) -> Ranges:
    """What comes back of a model with other rows than it had, as far as it can be told."""
    try:
        return out.removed | replaced(out.last, now, log, cadence)
    except StateError:
        return out.last.covers


def _unsettled(
    project: Project, control: Control, plan: PlanRecord, now: datetime, shown: AbstractSet[str]
) -> Settling:
    """Which intervals of these models are provisional at `now`: by the rules in force; by the files for what is not
    `shown` yet, as its first release records these."""
    found = settling(control, plan.environment, now)
    declared = settling_windows(project.models, project.sources)
    new = {t.model for t in plan.targets} - shown - found.since.keys()
    first = {name: found.clock - declared[name] - LAST_LOOK for name in new if name in declared}
    days = {name: Cadence.DAILY.floor(since) for name, since in first.items()}
    return replace(found, since={**found.since, **first}, since_days={**found.since_days, **days})


def _rewired(project: Project, old: Version | None, new: Version | None) -> tuple[str, ...]:
    """Which columns of a version read others than those of the one before it."""
    if old is None or new is None or old.version == new.version:
        return ()
    said = written_then(old.definition), written_then(new.definition)
    return tuple(r.text for r in lineage_changes(new.model, old.signature, new.signature, *said, describe(project)))


def _model(project: Project, name: str, version: str, record: Version | None, otherwise: str) -> Model:
    if project.fingerprints.get(name) == logic_of(version):
        return project.models[name]
    if record is None:
        raise StateError(
            f"nothing is recorded of version {version} of {name}",
            why="it was never built, and the code is another by now",
            fix=otherwise,
        )
    return from_definition(name, version, {**record.definition, "helpers": []})  # to be told of, not to be executed


def _results_by_version(
    control: Control, targets: Sequence[PlanTarget]
) -> Mapping[tuple[str, str], Sequence[AuditResult]]:
    """What the audits found, oldest first, by model and version: read by one look at all."""
    found: dict[tuple[str, str], list[AuditResult]] = {(t.model, t.version): [] for t in targets}
    for result in control.results.read(models=[t.model for t in targets]):
        if (mine := found.get((result.model, result.version))) is not None:
            mine.append(result)
    return found


def _newest_of(results: Sequence[AuditResult], batches: Sequence[tuple[Interval, Entry]]) -> tuple[AuditResult, ...]:
    """The newest result for each check and interval, of these batches."""
    parts: dict[str, list[Interval]] = {}
    for interval, entry in batches:
        parts.setdefault(entry.batch, []).append(interval)
    newest: dict[tuple[str, Interval], AuditResult] = {}
    for result in results:
        if any(Ranges((part,)) & Ranges((result.interval,)) for part in parts.get(result.batch, ())):
            newest[result.check, result.interval] = result
    return tuple(sorted(newest.values(), key=lambda r: (r.check, r.interval)))


def _refused(
    entries: Sequence[Entry], refused: Sequence[tuple[Interval, str]], within: Ranges
) -> Iterator[tuple[Interval, Entry]]:
    """By which batch something was found that keeps out intervals which were built: of each part the newest finding."""
    found = [entry for entry in entries if entry.kind is Kind.INVALIDATED and entry.batch]
    for interval, reason in refused:
        mine = [e for e in found if e.reason == reason and Ranges((e.interval,)) & Ranges((interval,))]
        newest = max(mine, key=lambda e: (e.table_commit, *e.order), default=None)
        if newest is not None:
            yield from ((part, newest) for part in Ranges((interval,)) & within)


def _rows(log: TableLog, pointer: Pointer, within: Ranges) -> dict[datetime, int]:
    return rows_of(log, pointer.model, still_there(log, pointer.model, pointer.segments.cut(within)))


def _within(rows: Mapping[datetime, int], ranges: Ranges) -> dict[datetime, int]:
    parts = list(ranges)
    return {at: n for at, n in sorted(rows.items()) if any(p.holds(at) for p in parts)}


def _readers(consumers: Iterable[Consumer], models: Collection[str]) -> tuple[Consumer, ...]:
    return tuple(c for c in consumers if any(name in models for name in c.reads))


def _others(project: Project, said: Plan, mine: Collection[str]) -> dict[str, Model]:
    """What else building everything again would build; of older records, and of models that are gone: nothing."""
    names = {stage.model for stage in said.whole} - set(mine)
    return {name: project.models[name] for name in names if name in project.models}


def _spent(
    plan: PlanRecord,
    said: Plan,
    entries: Sequence[Entry],
    cadences: Mapping[tuple[str, str], Cadence],
    models: Mapping[str, Model],
    price: Cost | None,
) -> tuple[PlanEstimate, Actual]:
    """The estimate as the ledger had it when the plan was opened, and what its stages took since."""
    stages = said.work
    earlier = [e for e in entries if e.kind in USEFUL and e.at < plan.created]
    whole = said.whole if all(s.model in models for s in said.whole) else ()
    guess = estimate(stages, earlier, models, at_once=MODELS_AT_ONCE, price=price, whole=whole, cadences=cadences)
    took = actual(entries, stages, models, began=plan.created, price=price)
    seconds = _at_work(entries, stages, plan.created)
    return guess, replace(
        took,
        seconds=seconds,
        used=price and price.units_per_hour * seconds / 3600,
        cost=price and price.per_hour * seconds / 3600,
    )


def _exceptions(plan: PlanRecord, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The reasons that were given for batches outside of the windows."""
    mine = {(t.model, t.version) for t in plan.targets}
    begun = (e for e in entries if e.kind is Kind.STARTED and e.at >= plan.created and (e.model, e.version) in mine)
    return tuple(dict.fromkeys(e.reason for e in begun if e.reason))


def _at_work(entries: Sequence[Entry], stages: Sequence[Build | AuditStage], since: datetime) -> float:
    """Seconds in which runs worked on the stages."""
    runs: dict[str, list[Entry]] = {}
    for entry in entries:
        mine = any(
            (entry.model, entry.version) == (s.model, s.version) and Ranges((entry.interval,)) & s.intervals
            for s in stages
        )
        if mine and entry.run and entry.at >= since and entry.kind in TIMED:
            runs.setdefault(entry.run, []).append(entry)
    return sum(seconds_at_work(found) for found in runs.values())
