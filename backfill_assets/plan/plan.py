"""What has to be done so that the environment shows the code's models, complete? The plan, from frozen facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import UNKNOWN, Model, Project
from backfill_assets.core.pointer import as_written
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import listed
from backfill_assets.plan.adoption import kept_older, refuse_rebuilding
from backfill_assets.plan.away import away_sources, source_away
from backfill_assets.plan.bounds import Bounded, cut_offs
from backfill_assets.plan.build_stage import build_stage
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.changed_texts import ChangedText
from backfill_assets.plan.changes import changes_of, other_days, reverts, views
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.deleted_models import deleted_models
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.full_rebuild import full_rebuild
from backfill_assets.plan.gained import unread_gains
from backfill_assets.plan.left_open import left_open
from backfill_assets.plan.left_out import warn_of_left_out
from backfill_assets.plan.lineage_changes import LineageChange, describe, lineage_changes, written_in
from backfill_assets.plan.missing import needed, ready, split_open, upstream_models, wanted
from backfill_assets.plan.moving import held_back, move_stages, rewrites
from backfill_assets.plan.not_shown import not_shown
from backfill_assets.plan.older_logic import completion, refuse_mixing, refuse_waiting, to_come
from backfill_assets.plan.partial import UpstreamNow, outdated_partial
from backfill_assets.plan.patch import (
    Patch,
    affected_interval,
    forward,
    refuse_unpublished_inputs,
    restatement,
    segments_beside,
)
from backfill_assets.plan.renamed_columns import can_be_copied, renaming
from backfill_assets.plan.respelled import respelled, respelled_warnings
from backfill_assets.plan.scope import scope_suffix, with_scope
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stage_reasons import because, build_reason, extent, kept_reason, nothing_over, replaced_reason
from backfill_assets.plan.stages import (
    AuditStage,
    Blocked,
    Plan,
    Request,
    Stage,
)
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.plan.strategy import Strategy, strategies
from backfill_assets.plan.versions import invalidations
from backfill_assets.plan.warnings import (
    empty_models,
    other_types,
    overrides,
    refuted_texts,
    split_intervals,
    unknown_columns,
    warnings,
    wider_tolerances,
)


def make_plan(project: Project, facts: Facts, request: Request) -> Plan:
    """The stages that lead from the facts to what the request asks for.

    Raises PlanError for a reversed range, a range outside every model, an unknown model, or a restatement of what is
    not shown.
    """
    _check_range(request)
    bounded = facts.bounded(project)
    if request.restate:
        return _restated(bounded, facts, request)
    if request.forward_only:
        return _from_a_day(bounded, facts, request, request.forward_only)
    return _whole(bounded, facts, request, project)


def _restated(project: Bounded, facts: Facts, request: Request) -> Plan:
    """Published days are computed again."""
    patches = restatement(
        project,
        facts.environment,
        request.restate,
        facts.sources.pins,
        facts.now,
        facts.tables.lapsed,
        facts.shown.own_changes,
    )
    asked = list(dict.fromkeys(name for name, _ in request.restate))
    refuse_mixing(project, facts.environment, patches, asked)
    refuse_unpublished_inputs(project, facts.environment, patches, patches)
    _refuse_dropped_columns(project, facts, patches)
    if not facts.keeps_older:  # a routine run shows what is green of it, and says what waits
        _refuse_missing_inputs(_waiting(project, facts, request, patches))
    if request.where or request.ids:
        shown = facts.environment.pointers
        stale = stale_inputs(project, facts.environment, facts.tables.entries)
        patches = with_scope(project, patches, asked, request, shown, facts.standing, stale)
    plan = _patched(project, facts, request, patches, dict.fromkeys(asked, "computed again, as asked"))
    if request.all_versions:
        others = invalidations(request.restate, patches, facts.versions, facts.published)
        return replace(plan, stages=(*others, *plan.stages))
    return plan


def _from_a_day(project: Bounded, facts: Facts, request: Request, first: datetime) -> Plan:
    """New logic begins with the first day, and older rows stay."""
    changes = changes_of(project, facts)
    selected = select_models(project, request.select)
    if not any(name in facts.environment.pointers for name in selected):
        raise PlanError(
            "--forward-only has nothing to leave as it is",
            why=f"{facts.environment.name} shows none of {listed(selected)} yet",
            fix="backfill apply builds the whole history of what is new",
        )
    changed = [n for n in selected if changes[n].category not in (Category.NEW, Category.UNCHANGED)]
    if other := {name: said for name in changed for said in other_days(project, facts, name)}:
        name, said = next(iter(other.items()))
        raise PlanError(
            f"the new logic of {name} cannot begin with a day",
            why=f"{said[0]}: between the older days and the newer ones, hours would be there twice or be missing",
            fix="compute all of it, without --forward-only",
        )
    for name in changed:
        then, model = facts.environment.pointers.get(name), project.models[name]
        if then is not None and then.time_column.lower() != model.time_column.lower():
            raise PlanError(
                f"the new logic of {name} cannot begin with a day",
                why=f"its time column is `{model.time_column}`, and `{then.time_column}` in the rows that would stay",
                fix="compute all of it, without --forward-only, or keep the column's name",
            )
    patches = forward(project, facts.environment, changed, first, facts.now, ignore_cron=request.ignore_cron)
    since = f"new logic from {first:%Y-%m-%d} on, older rows stay"
    plan = _patched(project, facts, request, patches, dict.fromkeys(changed, since), changes)
    return replace(plan, warnings=(*plan.warnings, *split_intervals(project, facts, changed, first)))


def _whole(project: Bounded, facts: Facts, request: Request, unbounded: Project) -> Plan:
    """The selected models, each with its whole history; `unbounded` says what the data that they read cuts off."""
    selected = select_models(project, request.select)
    changes = changes_of(project, facts)
    refuse_rebuilding(project, facts.environment, selected, request)
    ranged = request.start or request.end  # older logic is replaced as a whole
    replacing: dict[str, Patch] = {}
    if not ranged and not facts.keeps_older:
        away = [name for name, model in project.models.items() if source_away(model, facts)]
        there = [name for name in selected if name not in {*away, *reach(away, project.downstream)}]
        replacing = completion(project, facts.environment, there, facts.now, facts.tables.lapsed)
    names = tuple(name for name in project.models if name in {*selected, *replacing})
    refuse_unpublished_inputs(project, facts.environment, replacing, names)
    mine = {name: changes[name] for name in names}
    back = {name: release for name in selected if (release := reverts(project, facts, name))}
    listing = views(project, facts, mine)
    renamed = {n: found for n in selected if n not in back and (found := renaming(project, facts, n))}
    strategies_of = strategies(mine, {}, dict(request.strategies), reverted=back, listing=listing, renamed=renamed)
    walk = _Walk(project=project, facts=facts, request=request, unbounded=unbounded)
    for name in names:
        if name in replacing:
            walk.replace_older(name, replacing)
        else:
            copied = renamed[name] if strategies_of.get(name) is Strategy.COLUMN_RENAME else None
            walk.complete_model(name, changes[name], copied)
    refuse_waiting(project, facts.environment, walk.later, walk.blocked)
    if (request.start or request.end) and not walk.asked:
        raise PlanError(
            "the range holds no interval of any selected model",
            why="; ".join(f"{n}: {extent(project.models[n], facts.now)}" for n in selected),
            fix="choose --start and --end within a model's range, and within what its sources have rows of",
        )
    held = held_back(project, strategies_of)
    strategies_of |= strategies({}, replacing, {})
    stuck = {b.model for b in walk.blocked}.union(held)
    moves = tuple(
        (name, replacing[name].version if name in replacing else project.fingerprints[name])
        for name in names
        if name in replacing
        or (
            name not in stuck | walk.reads_empty
            and (name in listing or _moves(project, facts, request, name, walk.complete[name], walk.building[name]))
        )
    )
    new = [name for name, change in mine.items() if change.category not in (Category.NEW, Category.UNCHANGED)]
    stages = walk.stages
    if moves:
        cut = [n for n in listing if changes[n].removed]
        stages = [*stages, *move_stages(project, facts, moves, replacing, cut, walk.building)]
    other_letters = respelled(project, facts, moves)
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=names,
        stages=tuple(stages),
        blocked=tuple(walk.blocked),
        kept=walk.kept,
        sources=facts.sources.pins,
        patches=replacing,
        changes=mine,
        because=because(project, facts, names, changes),
        strategies=strategies_of,
        reverts=back,
        views=listing,
        copies=walk.copies,
        held=held,
        cut_off=cut_offs(unbounded, project, names, facts.now),
        overrides=overrides(project, names),
        warnings=(
            *warnings(project, names),
            *refuted_texts(project, facts, names),
            *wider_tolerances(project, facts, names),
            *respelled_warnings(project, facts.environment.name, other_letters),
            *empty_models(project, facts, names),
            *other_types(project, facts, names),
            *unknown_columns(project, facts, names),
            *away_sources(project, facts, names),
            *unread_gains(project, facts, stages),
            *warn_of_left_out(unbounded, facts, names),
            *(() if request.select else deleted_models(project, facts)),
        ),
        texts=_texts(facts, names),
        whole=full_rebuild(project, facts.now, stages, () if walk.blocked else new, _begun(facts, new, back)),
        rewired=_rewired(project, facts, mine),
        respelled=other_letters,
    )


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The selected models, upstreams first: what is planned of them, and what each has then."""

    project: Bounded
    facts: Facts
    request: Request
    unbounded: Project
    stages: list[Stage] = field(default_factory=list[Stage])
    blocked: list[Blocked] = field(default_factory=list[Blocked])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    copies: dict[str, Copied] = field(default_factory=dict[str, Copied])
    building: dict[str, Ranges] = field(default_factory=dict[str, Ranges])
    later: dict[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Of models whose older logic is replaced: what of them the next plan builds."""
    reads_empty: set[str] = field(default_factory=set[str])
    asked: Ranges = NOTHING
    staying: dict[str, Ranges] = field(init=False)
    """What of each model stays although its code is another one: adopted rows."""
    complete: dict[str, Ranges] = field(init=False)

    def __post_init__(self) -> None:
        pointers, versions = self.facts.environment.pointers, self.project.fingerprints
        self.staying = {name: kept_older(pointers.get(name), versions[name]) for name in self.project.models}
        self.complete = {n: self.facts.tables.coverage[n].complete | stays for n, stays in self.staying.items()}

    def replace_older(self, name: str, replacing: Mapping[str, Patch]) -> None:
        """Build in a revision what is shown of a model in older logic."""
        project, facts, patch = self.project, self.facts, replacing[name]
        model, pointer = project.models[name], facts.environment.pointers[name]
        lapsed = facts.tables.coverage[name].lapsed
        later = self.later[name] = to_come(model, pointer, lapsed, facts.now)
        reason = replaced_reason(facts, model, replacing) + (f"; {later} follows by the next plan" if later else "")
        self.stages.extend(_patch_stages(project, facts, name, patch, reason))
        self.asked = self.asked | asked_of(project, facts, self.request, name)
        self.building[name] = patch.intervals
        self.complete[name] = patch.intervals | (pointer.covers - lapsed)

    def complete_model(self, name: str, change: TableChange, copied: Copied | None) -> None:
        """Audit and build what is missing of a model's version; `copied`: what of it can be, where it is shown under
        other names."""
        project, facts, request = self.project, self.facts, self.request
        model, version, have = project.models[name], project.fingerprints[name], facts.tables.coverage[name]
        in_range = asked_of(project, facts, request, name)
        want = in_range if name in dict(request.strategies) else in_range - self.staying[name]
        if request.ignore_cron:
            now = _upstreams_now(project, facts, model, self.building)
            have = have.without(outdated_partial(model, have, now, facts.sources.pins))
        self.asked = self.asked | in_range
        away = source_away(model, facts)
        recheck = NOTHING if away else want & have.unaudited
        if recheck:
            count = recheck.count(model.cadence)
            self.stages.append(AuditStage(model=name, version=version, intervals=recheck, count=count))
        missing = want - have.complete - (NOTHING if away else have.unaudited)
        upstreams = upstream_models(project, model)
        buildable, waiting = ready(
            model, missing, upstreams, self.complete, now=facts.now, ignore_cron=request.ignore_cron
        )
        if away and missing and name not in project.redeclared:  # a routine run holds these back, and says why
            buildable, waiting = NOTHING, {**waiting, away: (missing, missing)}
        self.building[name] = buildable
        self.blocked.extend(_blocked(model, waiting))
        if buildable and copied is not None:
            fit = can_be_copied(model, buildable, have.refused, facts.now)
            here = copied.cut(fit - self._computed_anew(model, upstreams))
            self.copies |= {name: here} if here.segments else {}
        if buildable:
            reason = build_reason(project, facts, name, have, buildable)
            copies = self.copies.get(name, NO_COPY)
            self.stages.append(build_stage(model, version, buildable, facts.now, reason=reason, copied=copies))
        if not recheck and not missing:
            self.kept[name] = (
                kept_reason(project, facts, name, change, want & have.empty)
                if in_range
                else nothing_over(self.unbounded.models[name], facts.now)
            )
        if _reads_declared_empty(facts, model, upstreams, want):
            self.reads_empty.add(name)
        self.complete[name] = self.complete[name] | buildable | recheck

    def _computed_anew(self, model: Model, upstreams: Mapping[str, Model]) -> Ranges:
        """The model's intervals that read what the plan builds of its upstreams."""
        return Ranges.of(
            affected_interval(model, above, part)
            for up, above in upstreams.items()
            for part in self.building.get(up, NOTHING)
        )


def by_now(project: Project, facts: Facts, stored: Plan) -> Plan:
    """A stored plan as it was opened: its stages, batches and patches. How its models differ is against what is shown
    by now, and so is what that stands on."""
    bound = facts.bounded(project)
    models = tuple(name for name in stored.models if name in project.models)
    request = stored.request
    changes = {} if request.restate else {n: c for n, c in changes_of(bound, facts).items() if n in models}
    return replace(
        stored,
        now=facts.now,
        models=models,
        changes=changes,
        views=views(bound, facts, {} if request.restate or request.forward_only else changes),
        overrides=overrides(project, models),
        texts=_texts(facts, models),
        respelled=respelled(bound, facts, [(n, v) for n, v in stored.moves if n in models]),
    )


def _patched(
    project: Project,
    facts: Facts,
    request: Request,
    patches: Mapping[str, Patch],
    why: Mapping[str, str],
    changes: Mapping[str, TableChange] | None = None,
) -> Plan:
    """A plan about parts of history: what is missing of each patch, then the move of all of them."""
    stages: list[Stage] = []
    # What is computed again moves as a whole, or not at all; it was built once from what it reads.
    blocked = _waiting(project, facts, request, patches) if request.forward_only else ()
    for name, patch in patches.items():
        above = ", ".join(u.name for u in project.models[name].upstreams if u.name in patches)
        reason = why.get(name) or f"reads what is computed again of {above}"
        waits = Ranges.of(part for b in blocked if b.model == name for part in b.intervals)
        stages.extend(_patch_stages(project, facts, name, patch, reason, waits))
    stuck = {b.model for b in blocked}
    moves = tuple((name, patch.version) for name, patch in patches.items() if name not in stuck)
    other_letters = respelled(project, facts, moves)
    if moves:
        stages.extend(move_stages(project, facts, moves, patches))
    changes = changes or {}
    touched = {name: change for name, change in changes.items() if name in patches}
    done = {name: patch.intervals & facts.tables.of(name, patch.version).complete for name, patch in patches.items()}
    again = {name: patch.intervals for name, patch in patches.items()}
    stays = (*not_shown(project, facts, request), *left_open(project, facts, again)) if request.restate else ()
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=tuple(patches),
        stages=tuple(stages),
        blocked=blocked,
        kept={n: "this plan changes nothing in it" for n in project.models if n not in patches},
        sources=facts.sources.pins,
        patches=patches,
        changes=touched,
        because=because(project, facts, patches, changes),
        strategies=strategies(touched, patches, dict(request.strategies)),
        overrides=overrides(project, patches),
        warnings=(
            *warnings(project, patches),
            *refuted_texts(project, facts, patches),
            *wider_tolerances(project, facts, patches),
            *respelled_warnings(project, facts.environment.name, other_letters),
            *stays,
        ),
        texts=_texts(facts, patches),
        whole=full_rebuild(project, facts.now, stages, list(why), done),
        rewired=_rewired(project, facts, touched),
        respelled=other_letters,
    )


def _waiting(project: Project, facts: Facts, request: Request, patches: Mapping[str, Patch]) -> tuple[Blocked, ...]:
    """What of patches waits for days of models that they read."""
    pointers, found = facts.environment.pointers, list[Blocked]()
    complete = {
        name: facts.tables.coverage[name].complete | kept_older(pointers.get(name), project.fingerprints[name])
        for name in project.models
    }
    for name in (name for name in project.models if name in patches):
        model, patch = project.models[name], patches[name]
        have = facts.tables.of(name, patch.version)
        missing = patch.intervals - have.complete - have.unaudited
        upstreams = upstream_models(project, model)
        good, waiting = ready(model, missing, upstreams, complete, now=facts.now, ignore_cron=request.ignore_cron)
        found.extend(_blocked(model, waiting))
        built = (have.built | have.empty | good) & patch.intervals
        complete[name] = (patch.below.covers - patch.intervals) | built
    return tuple(found)


def _refuse_dropped_columns(project: Project, facts: Facts, models: Collection[str]) -> None:
    """Raise PlanError where published days would be computed again, and all of them would lose columns."""
    changes = changes_of(project, facts)
    for name in models:
        if gone := changes[name].removed:
            raise PlanError(
                f"{name} cannot be computed again: the code does not list its {', '.join(gone)} any more",
                why=f"published history is computed again as {facts.environment.name} shows it",
                fix="promote the code without it first: backfill apply; or load the code that is published",
            )


def _refuse_missing_inputs(blocked: Sequence[Blocked]) -> None:
    """Raise PlanError where published history would be computed again from days that are not there: it is shown as a
    whole, or not at all."""
    if blocked:
        each, *rest = blocked
        raise PlanError(
            f"{each.model} {each.intervals} cannot be computed again yet: it reads {each.upstream} {each.needs}, which "
            "is not built and audited" + (f" (and {len(rest)} more)" if rest else ""),
            why="what is computed again is shown as a whole, or not at all",
            fix=f"backfill apply --promote --select {','.join(dict.fromkeys(b.upstream for b in blocked))}, then this; "
            "or leave these intervals out",
        )


def _blocked(model: Model, waiting: Mapping[str, tuple[Ranges, Ranges]]) -> Iterator[Blocked]:
    """What waits, as `ready` tells it."""
    for upstream, (late, needs) in waiting.items():
        count = late.count(model.cadence)
        yield Blocked(model=model.name, intervals=late, count=count, upstream=upstream, needs=needs)


def _patch_stages(
    project: Project, facts: Facts, name: str, patch: Patch, reason: str, waits: Ranges = NOTHING
) -> Iterator[Stage]:
    """What is to be audited and built of a patch, but for what `waits`."""
    model, have = project.models[name], facts.tables.of(name, patch.version)
    if (away := source_away(model, facts)) and patch.intervals - have.complete:
        raise facts.sources.away[away]
    if recheck := patch.intervals & have.unaudited:
        yield AuditStage(model=name, version=patch.version, intervals=recheck, count=recheck.count(model.cadence))
    if missing := patch.intervals - have.complete - have.unaudited - waits:
        yield build_stage(model, patch.version, missing, facts.now, reason=reason + scope_suffix(patch))


def _begun(facts: Facts, changed: Collection[str], reverted: Collection[str]) -> dict[str, Ranges]:
    """What there is already of the changed models' new versions; a revert finds the tables of its first time."""
    return {name: facts.tables.coverage[name].complete for name in changed if name not in reverted}


def _texts(facts: Facts, models: Collection[str]) -> tuple[ChangedText, ...]:
    """What of these models has to be tried on data before it counts as unchanged."""
    return tuple(t for t in facts.texts.unchecked if t.model in models)


def _rewired(project: Project, facts: Facts, changes: Mapping[str, TableChange]) -> tuple[LineageChange, ...]:
    """Which columns of the models that change read others than in what is shown."""
    return tuple(
        found
        for name, change in changes.items()
        if change.category not in (Category.NEW, Category.UNCHANGED) and name in facts.shown.signatures
        for found in lineage_changes(
            name,
            facts.shown.signatures[name],
            project.signatures.get(name, UNKNOWN),
            facts.shown.written.get(name, {}),
            written_in(project.models[name]),
            describe(project),
        )
    )


def asked_of(project: Project, facts: Facts, request: Request, name: str) -> Ranges:
    """The intervals that a request is about. A changed model replaces all that is shown of it: an open interval too,
    unless that is shown by days of another zone, in which it may be over."""
    pointer = facts.environment.pointers.get(name)
    changed = pointer is not None and pointer.version != project.fingerprints[name]
    replaced = pointer.covers if pointer and changed and not other_days(project, facts, name) else NOTHING
    return wanted(
        project.models[name],
        now=facts.now,
        start=request.start,
        end=request.end,
        end_bounded=request.end_bounded,
        ignore_cron=request.ignore_cron,
        shown=replaced,
    )


def _check_range(request: Request) -> None:
    if request.start and request.end and request.start >= request.end:
        raise UsageError(
            f"the range {request.start:%Y-%m-%d} .. {request.end:%Y-%m-%d} is empty or reversed",
            why="--start must come before --end",
            fix="swap them; --start and --end both name days that are included",
        )


def _reads_declared_empty(facts: Facts, model: Model, upstreams: Mapping[str, Model], want: Ranges) -> bool:
    """Whether the gate would refuse the model: what is wanted of it, or what that reads, is declared empty in part."""
    return bool(want & facts.tables.coverage[model.name].empty) or any(
        needed(model, upstream, part) & facts.tables.coverage[name].empty
        for name, upstream in upstreams.items()
        for part in want
    )


def _upstreams_now(
    project: Project, facts: Facts, model: Model, building: Mapping[str, Ranges]
) -> dict[str, UpstreamNow]:
    return {
        name: UpstreamNow(
            model=upstream,
            version=project.fingerprints[name],
            have=facts.tables.coverage[name],
            over=segments_beside(
                facts.environment.pointers.get(name), project.fingerprints[name], facts.tables.coverage[name]
            ),
            building=building.get(name, Ranges()),
        )
        for name, upstream in upstream_models(project, model).items()
    }


def _moves(project: Project, facts: Facts, request: Request, name: str, complete: Ranges, building: Ranges) -> bool:
    """Whether there is anything to show: another version, more intervals, or newer rows of those that are shown."""
    pointer = facts.environment.pointers.get(name)
    if not request.ignore_cron:
        over, open_ = split_open(project.models[name], complete, facts.now)
        complete = over | (open_ & pointer.covers) if pointer else over
    if pointer is None or not complete:
        return bool(complete)
    shown = pointer.segments.in_table(project.fingerprints[name])
    own, have = shown.covers & complete, facts.tables.coverage[name]
    return (
        bool(rewrites(pointer, project.fingerprints[name]))
        or bool(complete - pointer.covers)
        or bool(building & own)
        or any(have.newest(own & Ranges((s.interval,))) > s.commit for s in shown)
        or as_written(pointer.columns, project.columns.get(name, ())) != pointer.columns
    )
