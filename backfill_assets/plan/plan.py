"""What has to be done so that the environment shows the code's models, complete? The plan, from frozen facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import UNKNOWN, Model, Project
from backfill_assets.core.pointer import Pointer, as_written
from backfill_assets.plan.adoption import adopted_note, kept_older, refuse_rebuilding
from backfill_assets.plan.bounds import cut_offs
from backfill_assets.plan.build_stage import build_stage
from backfill_assets.plan.category import Category, Change
from backfill_assets.plan.changed_texts import ChangedText, unchecked
from backfill_assets.plan.changes import changes_of, other_days, reverts, unproved, views, without_days
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.full_rebuild import full_rebuild
from backfill_assets.plan.lineage_changes import LineageChange, describe, lineage_changes, written_in
from backfill_assets.plan.missing import needed, ready, split_open, wanted
from backfill_assets.plan.partial import UpstreamNow, outdated_partial
from backfill_assets.plan.patch import Patch, affected_interval, forward, restatement, segments_beside
from backfill_assets.plan.reasons import reasons
from backfill_assets.plan.renamed_columns import can_be_copied, renaming
from backfill_assets.plan.scope import scope_suffix, with_scope
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import (
    Approve,
    Audit,
    Blocked,
    ModelVersion,
    Owned,
    Plan,
    Promote,
    Request,
    Stage,
)
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.plan.strategy import Strategy, strategies
from backfill_assets.plan.versions import invalidations
from backfill_assets.plan.warnings import empty_models, overrides, warnings
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.required_approvals import merged_roles, needed_from
from backfill_assets.state.rules import declared_rules


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


def _restated(project: Project, facts: Facts, request: Request) -> Plan:
    """Published days are computed again."""
    lapsed = {name: have.lapsed for name, have in facts.coverage.items()}
    patches = restatement(project, facts.environment, request.restate, facts.sources, facts.now, lapsed)
    asked = list(dict.fromkeys(name for name, _ in request.restate))
    if request.where or request.ids:
        shown = facts.environment.pointers
        stale = stale_inputs(project, facts.environment, facts.entries)
        patches = with_scope(project, patches, asked, request, shown, facts.standing, stale)
    plan = _patched(project, facts, request, patches, dict.fromkeys(asked, "computed again, as asked"))
    if request.all_versions:
        others = invalidations(request.restate, patches, facts.versions, facts.published)
        return replace(plan, stages=(*others, *plan.stages))
    return plan


def _from_a_day(project: Project, facts: Facts, request: Request, first: datetime) -> Plan:
    """New logic begins with the first day, and older rows stay."""
    changes = changes_of(project, facts)
    selected = select_models(project, request.select)
    changed = [n for n in selected if changes[n].category not in (Category.NEW, Category.UNCHANGED)]
    if other := {name: said for name in changed for said in other_days(project, facts, name)}:
        name, said = next(iter(other.items()))
        raise PlanError(
            f"the new logic of {name} cannot begin with a day",
            why=f"{said[0]}: hours would be twice or nowhere between the older days and the newer ones",
            fix="compute all of it, without --forward-only",
        )
    patches = forward(project, facts.environment, changed, first, facts.now, ignore_cron=request.ignore_cron)
    since = f"new logic from {first:%Y-%m-%d} on, older rows stay"
    return _patched(project, facts, request, patches, dict.fromkeys(changed, since), changes)


def _whole(project: Project, facts: Facts, request: Request, unbounded: Project) -> Plan:
    """The selected models, each with its whole history; `unbounded` says what the data that they read cuts off."""
    selected = select_models(project, request.select)
    changes = changes_of(project, facts)
    refuse_rebuilding(project, facts.environment, selected, request)
    mine = {name: changes[name] for name in selected}
    back = {name: release for name in selected if (release := reverts(project, facts, name))}
    listing = views(project, facts, mine)
    renamed = {n: found for n in selected if n not in back and (found := renaming(project, facts, n))}
    strategies_of = strategies(mine, {}, dict(request.strategies), reverted=back, listing=listing, renamed=renamed)
    copies: dict[str, Copied] = {}
    stages: list[Stage] = []
    blocked: list[Blocked] = []
    kept: dict[str, str] = {}
    complete = {name: facts.coverage[name].complete for name in project.models}
    pointers = facts.environment.pointers
    staying = {
        name: kept_older(pointers.get(name), project.fingerprints[name], all_of_it=facts.keeps_older)
        for name in project.models
    }
    building: dict[str, Ranges] = {}
    reads_empty: set[str] = set()
    asked = Ranges()
    for name in selected:
        model, version, have = project.models[name], project.fingerprints[name], facts.coverage[name]
        in_range = asked_of(project, facts, request, name)
        want = in_range if name in dict(request.strategies) else in_range - staying[name]
        if request.ignore_cron:
            have = have.without(
                outdated_partial(model, have, _upstreams_now(project, facts, model, building), facts.sources)
            )
        asked = asked | in_range
        recheck = want & have.unaudited
        if recheck:
            count = recheck.count(model.cadence)
            stages.append(Audit(model=name, version=version, intervals=recheck, count=count))
        missing = want - have.complete - have.unaudited
        upstreams = upstream_models(project, model)
        there = {up: complete[up] | staying[up] for up in upstreams}
        buildable, waiting = ready(model, missing, upstreams, there, now=facts.now, ignore_cron=request.ignore_cron)
        building[name] = buildable
        blocked.extend(
            Blocked(model=name, intervals=stuck, count=stuck.count(model.cadence), upstream=up, needs=needs)
            for up, (stuck, needs) in waiting.items()
        )
        if buildable:
            if strategies_of.get(name) is Strategy.COLUMN_RENAME:
                fit = can_be_copied(model, buildable, have.refused, facts.now)
                anew = Ranges.of(
                    affected_interval(model, above, part)
                    for up, above in upstreams.items()
                    for part in building.get(up, Ranges())
                )
                here = renamed[name].cut(fit - anew)
                copies |= {name: here} if here.segments else {}
            stages.append(
                build_stage(
                    model,
                    version,
                    buildable,
                    facts.now,
                    reason=_reason(project, facts, name, have, buildable),
                    copied=copies.get(name, NO_COPY),
                )
            )
        if not recheck and not missing:
            kept[name] = _kept(project, facts, name, changes[name], want & have.empty) if in_range else _NOTHING_OVER
        if _reads_declared_empty(facts, model, upstreams, want):
            reads_empty.add(name)
        complete[name] = complete[name] | buildable | recheck
    if (request.start or request.end) and not asked:
        raise PlanError(
            "the range holds no interval of any selected model",
            why="; ".join(f"{n}: {_extent(project.models[n], facts.now)}" for n in selected),
            fix="choose --start and --end within a model's range, and within what its sources have rows of",
        )
    held = _held(project, strategies_of)
    stuck = {b.model for b in blocked}.union(held)
    moves = tuple(
        (name, project.fingerprints[name])
        for name in selected
        if name not in stuck | reads_empty
        and (name in listing or _moves(project, facts, request, name, complete[name], building[name]))
    )
    new = [name for name, change in mine.items() if change.category not in (Category.NEW, Category.UNCHANGED)]
    if moves:
        stages.extend(_move(project, facts, moves, {}, complete, [n for n in listing if changes[n].removed]))
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=selected,
        stages=tuple(stages),
        blocked=tuple(blocked),
        kept=kept,
        sources=facts.sources,
        changes=mine,
        because=_because(project, facts, selected, changes),
        strategies=strategies_of,
        reverts=back,
        views=listing,
        copies=copies,
        held=held,
        cut_off=cut_offs(unbounded, project, selected, facts.now),
        overrides=overrides(project, selected),
        warnings=(*warnings(project, selected), *empty_models(project, facts, selected)),
        texts=_texts(facts, selected),
        whole=full_rebuild(project, facts.now, stages, () if blocked else new, _begun(facts, new, back)),
        rewired=_rewired(project, facts, mine),
    )


def by_now(project: Project, facts: Facts, stored: Plan) -> Plan:
    """A stored plan as it was opened: its stages, batches and patches. How its models differ is against what is shown
    by now, and so is what that stands on."""
    bound = facts.bounded(project)
    models = tuple(name for name in stored.models if name in project.models)
    changes = {} if stored.request.restate else {n: c for n, c in changes_of(bound, facts).items() if n in models}
    return replace(
        stored,
        now=facts.now,
        models=models,
        changes=changes,
        views=views(bound, facts, {} if stored.patches else changes),
        overrides=overrides(project, models),
        texts=_texts(facts, models),
    )


def _patched(
    project: Project,
    facts: Facts,
    request: Request,
    patches: Mapping[str, Patch],
    why: Mapping[str, str],
    changes: Mapping[str, Change] | None = None,
) -> Plan:
    """A plan about parts of history: what is missing of each patch, then the move of all of them."""
    stages: list[Stage] = []
    for name, patch in patches.items():
        model, have = project.models[name], facts.of(name, patch.version)
        if recheck := patch.intervals & have.unaudited:
            count = recheck.count(model.cadence)
            stages.append(Audit(model=name, version=patch.version, intervals=recheck, count=count))
        if missing := patch.intervals - have.complete - have.unaudited:
            above = ", ".join(u.name for u in model.upstreams if u.name in patches)
            stages.append(
                build_stage(
                    model,
                    patch.version,
                    missing,
                    facts.now,
                    reason=(why.get(name) or f"reads what is computed again of {above}") + scope_suffix(patch),
                )
            )
    if patches:
        moves = tuple((name, patch.version) for name, patch in patches.items())
        stages.extend(_move(project, facts, moves, patches, {}))
    changes = changes or {}
    touched = {name: change for name, change in changes.items() if name in patches}
    done = {name: patch.intervals & facts.of(name, patch.version).complete for name, patch in patches.items()}
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=tuple(patches),
        stages=tuple(stages),
        blocked=(),
        kept={n: "this plan changes nothing in it" for n in project.models if n not in patches},
        sources=facts.sources,
        patches=patches,
        changes=touched,
        because=_because(project, facts, patches, changes),
        strategies=strategies(touched, patches, dict(request.strategies)),
        overrides=overrides(project, patches),
        warnings=warnings(project, patches),
        texts=_texts(facts, patches),
        whole=full_rebuild(project, facts.now, stages, list(why), done),
        rewired=_rewired(project, facts, touched),
    )


def _begun(facts: Facts, changed: Collection[str], reverted: Collection[str]) -> dict[str, Ranges]:
    """What there is already of the changed models' new versions; a revert finds the tables of its first time."""
    return {name: facts.coverage[name].complete for name in changed if name not in reverted}


def _texts(facts: Facts, models: Collection[str]) -> tuple[ChangedText, ...]:
    """What of these models has to be tried on data before it counts as unchanged."""
    return tuple(t for t in unchecked(facts.rewritten, facts.text_checks) if t.model in models)


def _rewired(project: Project, facts: Facts, changes: Mapping[str, Change]) -> tuple[LineageChange, ...]:
    """Which columns of the models that change read others than in what is shown."""
    return tuple(
        found
        for name, change in changes.items()
        if change.category not in (Category.NEW, Category.UNCHANGED) and name in facts.shown
        for found in lineage_changes(
            name,
            facts.shown[name],
            project.signatures.get(name, UNKNOWN),
            facts.written.get(name, {}),
            written_in(project.models[name]),
            describe(project),
        )
    )


def _because(
    project: Project, facts: Facts, names: Iterable[str], changes: Mapping[str, Change]
) -> dict[str, tuple[str, ...]]:
    found = {
        name: without_days(project, facts, name) or unproved(project, facts, name) or reasons(project, name, changes)
        for name in names
    }
    return {name: said for name, said in found.items() if said}


def _move(
    project: Project,
    facts: Facts,
    moves: tuple[tuple[str, str], ...],
    patches: Mapping[str, Patch],
    complete: Mapping[str, Ranges],
    cut: Collection[str] = (),
) -> list[Stage]:
    """The move, and before it the question to the owners of models whose published rows change or lose columns."""
    shown, rules = facts.environment, facts.rules_for(project)
    files = declared_rules(project, beside=rules)
    asked: dict[str, list[str]] = {}
    roles: dict[str, tuple[str, ...]] = {}
    for name, version in moves:
        pointer = shown.pointers.get(name)
        if pointer and (
            name in cut
            or _rewrites(pointer, version, patches.get(name), complete.get(name, NOTHING), facts.keeps_older)
        ):
            needed_here = needed_from(rules, files, name)
            roles = merged_roles([*roles.items(), *needed_here.items()])
            for owner in needed_here:
                asked.setdefault(owner, []).append(name)
    promote = Promote(environment=shown.name, models=tuple(ModelVersion(model=m, version=v) for m, v in moves))
    if not asked or not rules.approvals.required:
        return [promote]
    owners = (Owned(owner=owner, models=tuple(names), roles=roles[owner]) for owner, names in sorted(asked.items()))
    return [Approve(owners=tuple(owners)), promote]


def _held(project: Project, ways: Mapping[str, Strategy]) -> tuple[str, ...]:
    """What a dual run does not move: its model, and what was built from that."""
    dual = [f"{name}+" for name, way in ways.items() if way is Strategy.DUAL_RUN]
    return select_models(project, dual) if dual else ()


def _rewrites(pointer: Pointer, version: str, patch: Patch | None, complete: Ranges, keeps_older: bool) -> Ranges:
    """The published intervals that come from another table afterwards: within one they are never written again.

    A version that is shown replaces what is left of older logic once it has all of that, but in routine runs.
    """
    if patch is not None:
        return pointer.segments.in_other_tables(version).covers & patch.intervals
    if pointer.version != version:
        return pointer.covers
    older = pointer.older.covers
    return older if not keeps_older and not older - complete else NOTHING


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


_NOTHING_OVER = "no interval of it is over yet"


def upstream_models(project: Project, model: Model) -> dict[str, Model]:
    """The models (not sources) that a model reads."""
    return {u.name: project.models[u.name] for u in model.upstreams if u.name in project.models}


def _check_range(request: Request) -> None:
    if request.start and request.end and request.start >= request.end:
        raise UsageError(
            f"the range {request.start:%Y-%m-%d} .. {request.end:%Y-%m-%d} is empty or reversed",
            why="--start must come before --end",
            fix="swap them; --start and --end both name days that are included",
        )


def _reason(project: Project, facts: Facts, name: str, have: Coverage, missing: Ranges) -> str:
    pointer, version = facts.environment.pointers.get(name), project.fingerprints[name]
    if pointer and pointer.older and pointer.version == version:
        since = pointer.segments.of_logic(version)[0].interval.start
        return f"{facts.environment.name} shows older logic before {since:%Y-%m-%d}"
    if missing and not missing - have.lapsed:
        return "was built before it was over"
    if release := reverts(project, facts, name):
        return f"a revert to the code of release {release}: this is not in its tables"
    if why := dict.fromkeys(reason for part, reason in have.refused if missing & Ranges((part,))):
        return f"was built and does not count: {'; '.join(why)}"
    if have.built or have.empty:
        return "intervals are missing"
    if pointer is None:
        return f"new in {facts.environment.name}"
    if pointer.version == version:
        return "intervals are missing"
    return f"changed: {facts.environment.name} shows {pointer.version}"


def _reads_declared_empty(facts: Facts, model: Model, upstreams: Mapping[str, Model], want: Ranges) -> bool:
    """Whether the gate would refuse the model: what is wanted of it, or what that reads, is declared empty in part."""
    return bool(want & facts.coverage[model.name].empty) or any(
        needed(model, upstream, part) & facts.coverage[name].empty
        for name, upstream in upstreams.items()
        for part in want
    )


def _kept(project: Project, facts: Facts, name: str, change: Change, empty: Ranges) -> str:
    about = [o.model for o in project.overrides.values() if name in (o.model, *o.reaches)]
    if about and change.category is Category.UNCHANGED:
        return f"declared equivalent (same_as{f' of {about[0]}' if about[0] != name else ''})"
    if empty:
        return f"complete; {empty} is declared empty, and is never published"
    pointer = facts.environment.pointers.get(name)
    if change.category in (Category.NEW, Category.UNCHANGED):
        adopted = pointer.segments.adopted.covers if pointer else NOTHING
        return adopted_note(project.models[name], adopted) if adopted else "complete and audited"
    if pointer and pointer.version == project.fingerprints[name]:
        return "only its view changes: the tables stay, nothing to compute"
    if release := reverts(project, facts, name):
        return f"a revert to the code of release {release}: its tables are used again, nothing to compute"
    return "its code is that of a version that was built before: nothing to compute"


def _extent(model: Model, now: datetime) -> str:
    expected = model.expected(now).span
    said = f"{expected}" if expected else f"starts {model.start:%Y-%m-%d}, nothing over yet"
    over = model.calendar.over(now)
    ended = [unit for unit in model.begun(now).split(model.cadence) if model.over(now) < unit.end <= over]
    return f"{said}; {ended[0]} counts as over at {model.over_from(ended[0].end):%Y-%m-%d %H:%M} UTC" if ended else said


def _upstreams_now(
    project: Project, facts: Facts, model: Model, building: Mapping[str, Ranges]
) -> dict[str, UpstreamNow]:
    return {
        name: UpstreamNow(
            model=upstream,
            version=project.fingerprints[name],
            have=facts.coverage[name],
            over=segments_beside(
                facts.environment.pointers.get(name), project.fingerprints[name], facts.coverage[name]
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
    if pointer is None:
        return bool(complete)
    shown = pointer.segments.in_table(project.fingerprints[name])
    own, have = shown.covers & complete, facts.coverage[name]
    return (
        bool(_rewrites(pointer, project.fingerprints[name], None, complete, facts.keeps_older))
        or bool(complete - pointer.covers)
        or bool(building & own)
        or any(have.newest(own & Ranges((s.interval,))) > s.commit for s in shown)
        or as_written(pointer.columns, project.columns.get(name, ())) != pointer.columns
    )
