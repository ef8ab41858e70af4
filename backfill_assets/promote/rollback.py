"""What would it be to go back to an older release? An older pointer a model, and the newer intervals that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.contracts.publish import promoted_headers
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.errors import BackfillError, PromotionError, StateError
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import first_few
from backfill_assets.plan.followed import followed, read_by_now
from backfill_assets.plan.missing import USUAL, ready, upstream_models
from backfill_assets.plan.older_sources import History, came_between
from backfill_assets.plan.published import held_against, published
from backfill_assets.plan.stages import AuditStage, Build, Plan, Request, Stage
from backfill_assets.plan.taking_out import TakingOut, taking_out
from backfill_assets.project.stored import UNSAID, HeaderThen
from backfill_assets.promote.mismatches import mismatches
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rollback_reads import ReadApart, apart_after
from backfill_assets.promote.rollback_step import RollbackStep, model_then, rollback_step
from backfill_assets.promote.rollback_target import Change, Target, rollback_target
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, EntriesByVersion, by_version
from backfill_assets.state.releases import Release, grown
from backfill_assets.state.replaced_rows import written_over
from backfill_assets.state.rules import Rules, declared_rules
from backfill_assets.state.settling import settling_by
from backfill_assets.state.shown_state import shown_state
from backfill_assets.state.tables import TableLog, version_coverage
from backfill_assets.state.versions import Version, VersionRecords, beside, built_from


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRollback:
    """A way back, as things are now. `obstacles` forbid it; `losses` forbid it unless somebody wants it at once."""

    environment: Environment
    after: Environment
    """What the environment would show."""
    release: Release
    """The one to go back to."""
    steps: tuple[RollbackStep, ...]
    settled: tuple[str, ...] = ()
    """What only routine runs have replaced rows of since, and has nothing to do with what goes back: it stays."""
    obstacles: tuple[Obstacle, ...] = ()
    losses: tuple[Obstacle, ...] = ()
    apart: tuple[ReadApart, ...] = ()
    """What of the losses would be shown, beside rows that it was not computed from."""
    follows: tuple[Version, ...] = ()
    """What is to be recorded first: versions that stay, which the code computes without what goes."""
    project: Project | None = field(default=None, repr=False)
    """The project as the older release shows it, when everything in it can still be executed."""
    undo: str = ""
    """The release that was the last one: named, it undoes the rollback."""
    done: Release | None = None
    """The rollback that was the last change, where no release was named: then there is nothing left to do."""

    @property
    def pointers(self) -> tuple[Pointer, ...]:
        return tuple(p for s in self.steps if (p := s.pointer) is not None)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(s.model for s in self.steps if s.older is None)

    @property
    def lacking(self) -> bool:
        """Whether newer intervals have to be built or audited first."""
        return any(s.lacks for s in self.steps)


def propose_rollback(
    project: Project,
    control: Control,
    log: TableLog,
    history: History,
    *,
    environment: str,
    now: datetime,
    release: str | None = None,
    select: Sequence[str] = (),
    exact: bool = True,
) -> ProposedRollback:
    """What going back to a release (a name; None: before the last change) would be. Reads only, and only records; the
    `history` of sources is asked for where rows were built anew. `exact`: also on what routine runs alone have settled
    since, and has nothing to do with the rest; so it is where models are named.

    Of models that are named, and that the code does not have any more, it may be `nothing`: they are not shown then.
    Where no release is named and the last change is a rollback, that is `done`: somebody who was killed, or another
    one, runs it again. The release before it is named to undo it; then what settled since stays as well. Raises
    PromotionError where that went back with some models only, and others are left.
    """
    seen = control.environments.read(environment)
    releases, versions = control.releases.all(environment), control.versions.all()
    records = _Records(
        project=project, control=control, log=log, now=now, seen=seen, releases=releases, versions=versions,
        headers=promoted_headers(control, environment),
    )  # fmt: skip
    target = rollback_target(project, seen, releases, release=release, select=select, exact=exact)
    way = _way(records, target)
    if target.done is not None:
        if way.steps:
            raise _in_part(target.done, target.older, [s.model for s in way.steps])
        before, last = target.done.before, target.done.last
        return ProposedRollback(environment=seen, after=seen, release=target.older, steps=(), done=last, undo=before.id)
    follows = _follows(records, way) if target.older.shows_nothing else {}
    obstacles = _obstacles(records, target, way, follows)
    lost = _lost(records, way, follows, history)
    return ProposedRollback(
        environment=seen,
        after=way.after,
        release=target.older,
        undo=releases[-1].id if releases else "",
        steps=way.steps,
        settled=way.settled,
        obstacles=tuple(obstacles),
        losses=lost.losses,
        apart=lost.apart,
        follows=tuple(follows.values()),
        project=lost.project,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """The code, what is recorded, and the clock: a way back is found by nothing else."""

    project: Project
    control: Control
    log: TableLog
    now: datetime
    seen: Environment
    releases: Sequence[Release]
    versions: VersionRecords
    headers: Mapping[tuple[str, str], HeaderThen]
    """Those that versions were promoted with last, where they are not those of their records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """What goes back, and what does not although it is another by now."""

    steps: tuple[RollbackStep, ...]
    left: tuple[RollbackStep, ...]
    """What they would be for the models that stay."""
    settled: tuple[str, ...]
    """Those of these that stay because only routine runs have replaced rows of them."""
    after: Environment
    """What would be shown."""
    entries: EntriesByVersion
    """What decides in the ledger, of the models of all these steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    """What would be gone from sight, and the project by whose definitions more cannot be built."""

    losses: tuple[Obstacle, ...]
    apart: tuple[ReadApart, ...]
    project: Project | None
    """None: not everything in it can be executed any more, and `losses` say why."""


def _way(records: _Records, target: Target) -> _Way:
    """The steps to the target."""
    moved = _moved(records, target)
    entries = by_version(records.control.ledger.entries(moved, kinds=DECIDING)) if moved else {}
    every = [_step(records, target, entries, name) for name in moved]
    settled = () if target.exact else _settled_alone(every, records.releases, target.older, records.versions)
    steps = tuple(s for s in every if (not target.chosen or s.model in target.chosen) and s.model not in settled)
    left = tuple(s for s in every if s not in steps)
    return _Way(steps=steps, left=left, settled=settled, after=_after(records.seen, steps), entries=entries)


def _moved(records: _Records, target: Target) -> list[str]:
    """The models of which something else is shown now than then."""
    moves = [m for r in records.releases if r.revision > target.older.revision for m in r.moves if not m.growth]
    over = {m.model: Ranges.of(i for o in moves if o.model == m.model for i in o.changed or ()) for m in moves}
    names = sorted(target.chosen if target.older.shows_nothing else over)
    shown, then = records.seen.pointers, target.then
    return [n for n in names if _differs(shown.get(n), then.get(n), over.get(n, NOTHING), records.log)]


def _step(records: _Records, target: Target, entries: EntriesByVersion, name: str) -> RollbackStep:
    shown, then = records.seen.pointers.get(name), target.then.get(name)
    if then is None:
        return RollbackStep(model=name, shown=shown, older=None)
    versions, log, now = records.versions, records.log, records.now
    model = model_then(records.project, versions, name, then.version)
    record = versions.get((name, then.version))
    header = records.headers.get((name, then.version)) or (HeaderThen.of(record.definition) if record else None)
    if model and header:
        model = held_against(model, header)
    older = _without_parts(then, model, entries, log, now)
    mine = entries.get((name, then.version), [])
    newer = versions.get((name, shown.version)) if shown else None
    days = Calendar.of_definition(newer.definition) if newer else None
    return rollback_step(model, shown, older, record, mine, log, now, days)


def _obstacles(records: _Records, target: Target, way: _Way, follows: Mapping[str, Version]) -> list[Obstacle]:
    """What forbids it, whatever somebody is ready to lose."""
    project, seen, after, steps = records.project, records.seen, way.after, way.steps
    gone = {t for t, r in records.control.removals.all().items() if r.revision > target.older.revision}
    found = [*_removed_since(steps, gone), *_apart(records, target, way)]
    staying = beside(records.versions, after.versions)
    if not target.older.shows_nothing:
        return [*found, *_still_read(after, staying, steps, target.older)]
    reads = read_by_now(project, seen, staying, follows)
    return [*found, *_read_on(taking_out(project, seen, reads, [s.model for s in steps]), steps)]


def _lost(records: _Records, way: _Way, follows: Mapping[str, Version], history: History) -> _Lost:
    """What is lost on it, by the versions that are recorded and those that are to be."""
    project, control, seen, now = records.project, records.control, records.seen, records.now
    steps, after = way.steps, way.after
    versions = {**records.versions, **{(v.model, v.version): v for v in follows.values()}}
    try:
        as_it_was = published(project, after, versions, records.headers)
        as_it_was, problem = _reaching(as_it_was, steps), None
    except BackfillError as error:
        as_it_was, problem = None, error
    rules = control.rules.in_force(seen.name, declared_rules(project)).rules
    waits = _waits(as_it_was, after, steps, control, records.log, now) if as_it_was else ()
    losses = [*_not_built(steps, problem), *waits, *_redeclared(steps, as_it_was), *_consumers(project, rules, steps)]
    showed = {s.model: s.older.covers for s in steps if s.older}
    reach = settling_by(control.rules.of(seen.name), records.releases, now).reach
    came = came_between(as_it_was or project, history, reach)
    apart = apart_after(as_it_was or project, control.ledger, way.entries, seen, after, showed, came)
    return _Lost(losses=(*losses, *(each.loss for each in apart)), apart=tuple(apart), project=as_it_was)


def _in_part(done: Change, older: Release, left: Sequence[str]) -> PromotionError:
    """The refusal to guess what is meant after a rollback, to `older`, of some models, while others are `left`."""
    return PromotionError(
        f"the last change, {done.last.id}, is a rollback of other models than {', '.join(left)}",
        why="to go back with these and to undo it are both before the last change",
        fix=f"go back with these: backfill rollback {older.id} --select {','.join(left)}; or undo it: "
        f"backfill rollback {done.before.id}",
    )


def rollback_work(found: ProposedRollback, now: datetime, sources: Mapping[str, Mapping[str, object]]) -> Plan:
    """What has to be built and audited before the pointers may move, in dependency order."""
    assert found.project is not None
    steps = {s.model: s for s in found.steps if s.lacks}
    names = tuple(name for name in found.project.models if name in steps)
    stages: list[Stage] = []
    for name in names:
        step, version = steps[name], found.project.fingerprints[name]
        if step.unaudited:
            count = step.unaudited.count(step.cadence)
            stages.append(AuditStage(model=name, version=version, intervals=step.unaudited, count=count))
        if step.missing:
            stages.append(
                Build(
                    model=name,
                    version=version,
                    intervals=step.missing,
                    count=step.missing.count(step.cadence),
                    batches=tuple(step.missing.batches(step.cadence, step.batch_size or USUAL)),
                    concurrency=step.concurrency,
                    reason=f"{found.environment.name} has gained them since release {found.release.id}",
                )
            )
    return Plan(
        environment=found.environment.name,
        now=now,
        request=Request(),
        models=names,
        stages=tuple(stages),
        blocked=(),
        kept={},
        sources=sources,
    )


def _differs(shown: Pointer | None, older: Pointer | None, over: Ranges, log: TableLog) -> bool:
    """Whether going back from one to the other is more than to give up newer intervals, which nobody wants. `over` are
    those that releases since have changed."""
    if shown is None or older is None:
        return shown is not older
    if not grown(older, shown):
        return True
    with suppress(StateError):  # the rehearsal says what cannot be read
        return bool(over and over & written_over(older, shown, log, Cadence.DAILY))
    return False


def _without_parts(
    older: Pointer, model: Model | None, entries: EntriesByVersion, log: TableLog, now: datetime
) -> Pointer:
    """What is shown of a model then, but the parts of intervals that were open and are over by now: these are built."""
    if model is None:
        return older
    with suppress(StateError):  # the rehearsal says what cannot be read
        over = shown_state(older, entries, log, audits=None).partial.until(model.calendar.over(now))
        return replace(older, segments=older.segments.without(over)) if over else older
    return older


def _after(seen: Environment, steps: Sequence[RollbackStep]) -> Environment:
    moved = {s.model: p for s in steps if (p := s.pointer) is not None}
    kept = {name: p for name, p in seen.pointers.items() if name not in {s.model for s in steps}}
    return replace(seen, pointers=kept | moved)


def _removed_since(steps: Sequence[RollbackStep], gone: Collection[tuple[str, str]]) -> list[Obstacle]:
    found: list[Obstacle] = []
    for step in steps:
        shown = dict.fromkeys(s.version for s in step.older.segments) if step.older else ()
        if step.older and (lost := [version for version in shown if (step.model, version) in gone]):
            found.append(
                Obstacle(
                    model=step.model,
                    what=f"the janitor has removed {first_few(lost)}, which showed",
                    intervals=Ranges.of(i for version in lost for i in step.older.segments.in_table(version).covers),
                    remedy="go back to a newer release, or promote the code of that time again: backfill apply",
                )
            )
    return found


def _apart(records: _Records, target: Target, way: _Way) -> list[Obstacle]:
    """Models that would be shown beside rows that they were not computed from, as a part of a release stays."""
    project, seen, versions = records.project, records.seen, records.versions
    earlier = {name: pointer.version for name, pointer in target.then.items()}
    names = {s.model for s in [*way.steps, *way.left]}
    together = f"go back with all of them: backfill rollback {target.older.id} --select {','.join(sorted(names))}"
    found = mismatches(project, seen, way.after.versions, versions, earlier, remedy=lambda _: together)
    told = {o.model for o in found}
    for step in way.steps:
        for other in way.left:
            corrected = _same_logic(step) or _same_logic(other)
            if corrected and other.model not in told and (why := _belong_together(step, other, versions)):
                found.append(Obstacle(model=other.model, what=why, remedy=together))
    return found


def _belong_together(goes: RollbackStep, stays: RollbackStep, versions: VersionRecords) -> str:
    """Why what would be shown of both belongs together: one was computed from what the other showed beside it; "" when
    it does not."""

    def reads(name: str, pointer: Pointer | None, upstream: str) -> bool:
        version = versions.get((name, pointer.version)) if pointer else None
        return version is not None and upstream in {up for up, _ in built_from(version)}

    if reads(goes.model, goes.older, stays.model):
        return f"what {goes.model} showed then was computed from it as it was then, and it would stay as it is now"
    if reads(stays.model, stays.shown, goes.model):
        return f"was computed from {goes.model} as it is shown now, and would stay"
    return ""


def _follows(records: _Records, way: _Way) -> dict[str, Version]:
    """By model: what is recorded as computed from what goes, stays, and is computed without it by the code."""
    project, after, gone = records.project, way.after, {s.model for s in way.steps}
    versions = beside(records.versions, after.versions)
    held = {n for n, p in after.pointers.items() if (v := versions.get((n, p.version))) and v.upstream.keys() & gone}
    if not held & project.models.keys():
        return {}
    found = followed(project, after, versions, records.control.text_checks.all())
    return {name: version for name, version in found.items() if name in held}


def _read_on(out: TakingOut, steps: Sequence[RollbackStep]) -> list[Obstacle]:
    """Models that stay and are computed from one that goes for good: nothing would extend them."""
    named = {s.model for s in steps}
    both = f"{out.first}; then let both go: {out.command}" if out.first else f"let both go: {out.command}"
    remedies = [(name, of, out.steps) for name, of in out.held.items()]
    remedies += [(name, of, both) for name, of in out.together.items() if name not in named]
    return [
        Obstacle(
            model=name,
            what=f"reads {', '.join(of)}, and would stay: routine runs could not extend it any more",
            remedy=remedy,
        )
        for name, of, remedy in remedies
    ]


def _still_read(
    after: Environment, versions: VersionRecords, steps: Sequence[RollbackStep], release: Release
) -> list[Obstacle]:
    """Models that stay and are computed from one that goes: nothing would extend them."""
    gone = [s.model for s in steps if s.older is None]
    readers = {
        name: [m for m in gone if (v := versions.get((name, p.version))) and m in v.upstream]
        for name, p in after.pointers.items()
    }
    every = ",".join(sorted({*gone, *(name for name, of in readers.items() if of)}))
    return [
        Obstacle(
            model=name,
            what=f"reads {', '.join(of)}, and would stay: routine runs could not extend it any more",
            remedy=f"let both go: backfill rollback {release.id} --select {every}; or promote a {name} that does not "
            f"read {', '.join(of)}",
        )
        for name, of in readers.items()
        if of
    ]


def _settled_alone(
    steps: Sequence[RollbackStep], releases: Sequence[Release], older: Release, versions: VersionRecords
) -> tuple[str, ...]:
    """What only routine runs have replaced rows of since, and neither reads what goes back nor was read for it."""
    since = [r for r in releases if r.revision > older.revision and not r.settling]
    decided = {m.model for r in since for m in r.moves if not m.growth}
    together = [s for s in steps if s.model in decided]
    for goes in together:
        together += [s for s in steps if s not in together and _belong_together(goes, s, versions)]
    return tuple(s.model for s in steps if s not in together)


def _reaching(project: Project, steps: Sequence[RollbackStep]) -> Project:
    """The project, its models without an end before what they lack."""
    ends = {s.model: span.end for s in steps if (span := s.lacks.span)}
    return replace(project, models={n: m.reaching(ends[n]) if n in ends else m for n, m in project.models.items()})


def _same_logic(step: RollbackStep) -> bool:
    return bool(step.shown and step.older and step.shown.version == step.older.version)


def _not_built(steps: Sequence[RollbackStep], problem: BackfillError | None) -> list[Obstacle]:
    """Intervals that would be gone from sight, and that building cannot bring back."""
    found: list[Obstacle] = []
    for step in steps:
        if gone := step.never - step.early:
            found.append(
                Obstacle(
                    model=step.model,
                    what="the older version does not have, by its own definition,",
                    intervals=gone,
                    remedy="--now goes back without them",
                )
            )
        if step.early:
            days = step.time_zone or "UTC"
            found.append(
                Obstacle(
                    model=step.model,
                    what=f"the older version's days are those of {days}, by which it is not over yet:",
                    intervals=step.early,
                    remedy="wait until then; --now goes back without them",
                )
            )
        if step.lacks and problem:
            found.append(
                Obstacle(
                    model=step.model,
                    what=f"the older version cannot be extended ({problem.what}; {problem.why}) by",
                    intervals=step.lacks,
                    remedy=f"{problem.fix}; --now goes back without them",
                )
            )
    return found


def _waits(
    older: Project, after: Environment, steps: Sequence[RollbackStep], control: Control, log: TableLog, now: datetime
) -> Iterator[Obstacle]:
    """Intervals that cannot be built: a model that they read is not shown by now, so that going back brings no more of
    it than it showed."""
    building = {s.model: s.missing for s in steps if s.missing and s.model in older.models}
    read = {n: m for name in building for n, m in upstream_models(older, older.models[name]).items()}
    entries = by_version(control.ledger.entries(list(read), kinds=DECIDING)) if read else {}
    there = {s.model: s.lacks for s in steps}
    for name, upstream in read.items():
        version = older.fingerprints[name]
        own, audits = entries.get((name, version), []), audits_digest(upstream)
        have, _ = version_coverage(own, log, model=name, version=version, audits=audits)
        shown = after.pointers[name].covers if name in after.pointers else NOTHING
        there[name] = there.get(name, NOTHING) | have.green | shown
    for name, missing in building.items():
        model = older.models[name]
        _, waiting = ready(model, missing, upstream_models(older, model), there, now=now)
        for other, (stuck, lack) in waiting.items():
            yield Obstacle(
                model=name,
                what=f"the older version reads {lack} of {other}, which is not shown now, and which nothing builds:",
                intervals=stuck,
                remedy="--now goes back without them; then backfill routine, which builds what both lack",
            )


def _redeclared(steps: Sequence[RollbackStep], older: Project | None) -> list[Obstacle]:
    """Intervals that the older version would compute from something else than what it was published from."""
    other = {name: why for name, why in older.redeclared.items() if why != UNSAID} if older else {}
    return [
        Obstacle(
            model=step.model,
            what=f"the older version cannot be extended ({other[step.model]}) by",
            intervals=step.missing,
            remedy="put it back (the source, the settings, the code) while you go back; --now goes back without them",
        )
        for step in steps
        if step.missing and step.model in other
    ]


def _consumers(project: Project, rules: Rules, steps: Sequence[RollbackStep]) -> list[Obstacle]:
    """Who reads what would be gone, by the files and by the rules in force: an edited file hides nobody."""
    readers = [(c.name, c.owner, c.reads) for c in project.consumers.values()]
    readers += [(name, reader.owner, reader.reads) for name, reader in rules.consumers.items()]
    found = [
        Obstacle(
            model=step.model,
            what=f"it would not be shown any more, and {name} reads it",
            remedy=f"tell {owner or name}; --now goes back, and the view is dropped",
        )
        for step in steps
        if step.older is None
        for name, owner, reads in readers
        if step.model in reads
    ]
    return list({str(o): o for o in found}.values())
