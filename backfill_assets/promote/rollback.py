"""What would it be to go back to an older release? An older pointer a model, and the newer intervals that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.errors import BackfillError, PromotionError, StateError
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.followed import followed, read_by_now
from backfill_assets.plan.missing import USUAL, ready, upstream_models
from backfill_assets.plan.older_sources import History, came_between
from backfill_assets.plan.published import published
from backfill_assets.plan.select import one_of
from backfill_assets.plan.stages import AuditStage, Build, Plan, Request, Stage
from backfill_assets.plan.taking_out import TakingOut, taking_out
from backfill_assets.project.stored import UNSAID
from backfill_assets.promote.mismatches import mismatches
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rollback_reads import ReadApart, apart_after
from backfill_assets.promote.rollback_step import RollbackStep, model_then, rollback_step
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, EntriesByVersion, by_version
from backfill_assets.state.releases import NOTHING_SHOWN, Release, before_all, find_release, grown, shown_at
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


def find_older(releases: Sequence[Release], name: str | None, models: Collection[str] = ()) -> Release:
    """The release to go back to: the named one, or the one before the last change.

    `models` says of which of them (empty: of any). Raises PromotionError when there is none.
    """
    if name is not None:
        return find_release(releases, name)
    if (change := last_change(releases, models)) is not None:
        return change[0]
    about = f" of {', '.join(models)}" if models else ""
    raise PromotionError(
        f"there is no older release{about} to go back to",
        why="its first release is what is shown, and new intervals" if releases else "there was no release yet",
        fix="see `backfill releases`",
    )


def last_change(releases: Sequence[Release], models: Collection[str] = ()) -> tuple[Release, Release] | None:
    """The last release that did more than routine runs do, after the one before it."""
    for before, last in reversed(list(pairwise(releases))):
        if not last.settling and any(not m.growth and (not models or m.model in models) for m in last.moves):
            return before, last
    return None


def last_rollback(releases: Sequence[Release], models: Collection[str] = ()) -> tuple[Release, Release] | None:
    """The last change, after the release before it, where it is a rollback; not one that undid another, nor one that
    took models out."""
    change = last_change(releases, models)
    if change is None or change[1].back_to in ("", NOTHING_SHOWN):
        return None
    earlier = last_change(releases[: releases.index(change[1])], models)
    undoes = earlier is not None and earlier[1].back_to and earlier[0].id == change[1].back_to
    return None if undoes else change


def _in_part(done: Release, older: Release, before: Release, left: Sequence[str]) -> PromotionError:
    """The refusal to guess what is meant after a rollback, to `older`, of some models, while others are `left`."""
    return PromotionError(
        f"the last change, {done.id}, is a rollback of other models than {', '.join(left)}",
        why="to go back with these and to undo it are both before the last change",
        fix=f"go back with these: backfill rollback {older.id} --select {','.join(left)}; or undo it: "
        f"backfill rollback {before.id}",
    )


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
    seen, done = control.environments.read(environment), None
    releases, versions = control.releases.all(environment), control.versions.all()
    known = sorted({m.model for r in releases for m in r.moves} | set(seen.pointers))
    chosen = tuple(one_of(known, name) for part in select for name in part.replace(",", " ").split())
    if release == NOTHING_SHOWN:
        _refuse_code(project, seen, chosen)
        older, then = before_all(environment), dict[str, Pointer]()
    else:
        older, change = find_older(releases, release, chosen), last_rollback(releases, chosen)
        if change is not None and older == change[0]:
            if release is None:
                older, done = find_release(releases, change[1].back_to), change
            exact = False
        then = shown_at(seen.pointers, releases, older)
    moves = [m for r in releases if r.revision > older.revision for m in r.moves if not m.growth]
    over = {m.model: Ranges.of(i for o in moves if o.model == m.model for i in o.changed or ()) for m in moves}
    names = sorted(chosen if older.shows_nothing else over)
    moved = [n for n in names if _differs(seen.pointers.get(n), then.get(n), over.get(n, NOTHING), log)]
    entries = by_version(control.ledger.entries(moved, kinds=DECIDING)) if moved else {}

    def step(name: str) -> RollbackStep:
        shown, wanted = seen.pointers.get(name), then.get(name)
        if wanted is None:
            return RollbackStep(model=name, shown=shown, older=None)
        model = model_then(project, versions, name, wanted.version)
        wanted = _without_parts(wanted, model, entries, log, now)
        mine = entries.get((name, wanted.version), [])
        record, newer = versions.get((name, wanted.version)), versions.get((name, shown.version)) if shown else None
        days = Calendar.of_definition(newer.definition) if newer else None
        return rollback_step(model, shown, wanted, record, mine, log, now, days)

    every = [step(name) for name in moved]
    settled = () if exact or chosen else _settled_alone(every, releases, older, versions)
    steps = [s for s in every if (not chosen or s.model in chosen) and s.model not in settled]
    if done is not None:
        before, last = done
        if steps:
            raise _in_part(last, older, before, [s.model for s in steps])
        return ProposedRollback(environment=seen, after=seen, release=older, steps=(), done=last, undo=before.id)
    left = [s for s in every if s not in steps]
    after = _after(seen, steps)
    gone = {t for t, r in control.removals.all().items() if r.revision > older.revision}
    obstacles = [*_removed_since(steps, gone), *_apart(project, after, seen, then, versions, steps, left, older)]
    staying = beside(versions, after.versions)
    follows: dict[str, Version] = {}
    if older.shows_nothing:
        follows = _follows(project, after, staying, control, steps)
        versions |= {(v.model, v.version): v for v in follows.values()}
        reads = read_by_now(project, seen, staying, follows)
        obstacles += _read_on(taking_out(project, seen, reads, [s.model for s in steps]), steps)
    else:
        obstacles += _still_read(after, staying, steps, older)
    try:
        as_it_was = published(project, after, versions)
        problem = None
    except BackfillError as error:
        as_it_was, problem = None, error
    rules = control.rules.in_force(environment, declared_rules(project)).rules
    waits = _waits(as_it_was, after, steps, control, log, now) if as_it_was else ()
    losses = [*_losses(steps, problem), *waits, *_redeclared(steps, as_it_was), *_consumers(project, rules, steps)]
    showed = {s.model: s.older.covers for s in steps if s.older}
    came = came_between(as_it_was or project, history, settling_by(control.rules.of(environment), releases, now).reach)
    apart = apart_after(as_it_was or project, control.ledger, entries, seen, after, showed, came)
    return ProposedRollback(
        environment=seen,
        after=after,
        release=older,
        undo=releases[-1].id if releases else "",
        steps=tuple(steps),
        settled=settled,
        obstacles=tuple(obstacles),
        losses=(*losses, *(each.loss for each in apart)),
        apart=tuple(apart),
        follows=tuple(follows.values()),
        project=as_it_was,
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
    return [
        Obstacle(
            model=step.model,
            what=f"the janitor has removed {version}, which showed",
            intervals=step.older.segments.in_table(version).covers,
            remedy="go back to a newer release, or promote the code of that time again: backfill apply",
        )
        for step in steps
        if step.older
        for version in dict.fromkeys(s.version for s in step.older.segments)
        if (step.model, version) in gone
    ]


def _apart(
    project: Project,
    after: Environment,
    seen: Environment,
    then: Mapping[str, Pointer],
    versions: VersionRecords,
    steps: Sequence[RollbackStep],
    left: Sequence[RollbackStep],
    release: Release,
) -> list[Obstacle]:
    """Models that would be shown beside rows that they were not computed from, as a part of a release stays."""
    earlier = {name: pointer.version for name, pointer in then.items()}
    names = {s.model for s in [*steps, *left]}
    together = f"go back with all of them: backfill rollback {release.id} --select {','.join(sorted(names))}"
    found = mismatches(project, seen, after.versions, versions, earlier, remedy=lambda _: together)
    told = {o.model for o in found}
    for step in steps:
        for other in left:
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


def _refuse_code(project: Project, seen: Environment, chosen: Sequence[str]) -> None:
    """Raise PromotionError unless all that nobody is to see any more is named, and is no model of the code."""
    if not chosen:
        raise PromotionError(
            f"{seen.name} is not emptied",
            why="no model is named, and all of them would go",
            fix=f"name those that are to go: backfill rollback {NOTHING_SHOWN} --select MODEL",
        )
    if there := [name for name in chosen if name in project.models]:
        raise PromotionError(
            f"{', '.join(there)} cannot be taken out of {seen.name}",
            why="the code has it: it would be promoted again, and whoever reads the code takes it to be there",
            fix="delete its file first; or go back to an older release of it, see `backfill releases`",
        )


def _follows(
    project: Project, after: Environment, versions: VersionRecords, control: Control, steps: Sequence[RollbackStep]
) -> dict[str, Version]:
    """By model: what is recorded as computed from what goes, stays, and is computed without it by the code."""
    gone = {s.model for s in steps}
    held = {n for n, p in after.pointers.items() if (v := versions.get((n, p.version))) and v.upstream.keys() & gone}
    if not held & project.models.keys():
        return {}
    found = followed(project, after, versions, control.text_checks.all())
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


def _same_logic(step: RollbackStep) -> bool:
    return bool(step.shown and step.older and step.shown.version == step.older.version)


def _losses(steps: Sequence[RollbackStep], problem: BackfillError | None) -> list[Obstacle]:
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
