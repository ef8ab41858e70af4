"""What has to be done so that the environment shows the code's models, complete? The plan, from frozen facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from backfill_assets.errors import PlanError
from backfill_assets.intervals import Ranges
from backfill_assets.plan.category import Category, Change, compare
from backfill_assets.plan.missing import ready, wanted
from backfill_assets.plan.patch import Patch, forward, restatement
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Approve, Audit, Blocked, Build, Plan, Promote, Request, Stage
from backfill_assets.plan.why import reasons
from backfill_assets.snapshots.model import UNKNOWN, Model, Project, Signature
from backfill_assets.state.environment import Environment, Pointer, as_written
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import logic_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a plan is made from, besides the project: all read at one moment, before the plan is made."""

    now: datetime
    environment: Environment
    coverage: Mapping[str, Coverage]
    """Of the version that the code says, for every model."""
    heads: Mapping[str, int]
    """The table commit that each coverage was seen at; -1 where there is no table."""
    sources: Mapping[str, Mapping[str, object]]
    patched: Mapping[str, Coverage] = field(default_factory=dict[str, Coverage])
    """Of revisions, by their version; with `patched_heads`."""
    patched_heads: Mapping[str, int] = field(default_factory=dict[str, int])
    shown: Mapping[str, Signature] = field(default_factory=dict[str, Signature])
    """Of the version that the environment's pointer of a model shows."""

    def of(self, model: str, version: str) -> Coverage:
        """What a revision, or else the model's version of the code, amounts to."""
        known = self.coverage[model] if version == logic_of(version) else Coverage()
        return self.patched.get(version, known)

    def head(self, model: str, version: str) -> int:
        """The table commit at which that was seen."""
        return self.patched_heads.get(version, self.heads[model])


def make_plan(project: Project, facts: Facts, request: Request) -> Plan:
    """The stages that lead from the facts to what the request asks for.

    Raises PlanError for a reversed range, a range outside every model, an unknown model, or a restatement of what is
    not shown.
    """
    _check_range(request)
    if request.restate:
        patches = restatement(project, facts.environment, request.restate, facts.sources)
        asked = {name for name, _ in request.restate}
        return _patched(project, facts, request, patches, dict.fromkeys(asked, "restated"))
    if request.forward_only:
        changes = _changes(project, facts)
        selected = select_models(project, request.select)
        changed = [n for n in selected if changes[n].category not in (Category.NEW, Category.UNCHANGED)]
        patches = forward(project, facts.environment, changed, request.forward_only, facts.now)
        since = f"new logic from {request.forward_only:%Y-%m-%d} on"
        return _patched(project, facts, request, patches, dict.fromkeys(changed, since), changes)
    selected = select_models(project, request.select)
    changes = _changes(project, facts)
    stages: list[Stage] = []
    blocked: list[Blocked] = []
    kept: dict[str, str] = {}
    complete = {name: facts.coverage[name].complete for name in project.models}
    asked = Ranges()
    for name in selected:
        model, version, have = project.models[name], project.fingerprints[name], facts.coverage[name]
        want = wanted(model, now=facts.now, start=request.start, end=request.end, end_bounded=request.end_bounded)
        asked = asked | want
        recheck = want & have.unaudited
        if recheck:
            count = recheck.count(model.cadence)
            stages.append(Audit(model=name, version=version, intervals=recheck, count=count))
        missing = want - have.complete - have.unaudited
        upstreams = upstream_models(project, model)
        buildable, waiting = ready(model, missing, upstreams, complete)
        blocked.extend(
            Blocked(model=name, intervals=stuck, count=stuck.count(model.cadence), upstream=up, needs=needs)
            for up, (stuck, needs) in waiting.items()
        )
        if buildable:
            stages.append(
                Build(
                    model=name,
                    version=version,
                    intervals=buildable,
                    count=buildable.count(model.cadence),
                    batches=tuple(buildable.batches(model.cadence, model.batch_size)),
                    concurrency=model.batch_concurrency,
                    reason=_reason(facts, name, version, have),
                )
            )
        if not recheck and not missing:
            kept[name] = _kept(changes[name]) if want else "no interval of it is over yet"
        complete[name] = complete[name] | buildable | recheck
    if (request.start or request.end) and not asked:
        raise PlanError(
            "the range holds no interval of any selected model",
            why="; ".join(f"{n}: {_extent(project.models[n], facts.now)}" for n in selected),
            fix="choose --start and --end within a model's range",
        )
    stuck = {b.model for b in blocked}
    moves = tuple(
        (name, project.fingerprints[name])
        for name in selected
        if name not in stuck and _moves(facts.environment, project, name, complete[name])
    )
    if moves:
        stages.extend(_move(project, facts.environment, moves, {}))
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=selected,
        stages=tuple(stages),
        blocked=tuple(blocked),
        kept=kept,
        sources=facts.sources,
        changes={name: changes[name] for name in selected},
        because={name: reasons(project, name, changes) for name in selected},
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
                Build(
                    model=name,
                    version=patch.version,
                    intervals=missing,
                    count=missing.count(model.cadence),
                    batches=tuple(missing.batches(model.cadence, model.batch_size)),
                    concurrency=model.batch_concurrency,
                    reason=why.get(name) or f"reads restated days of {above}",
                )
            )
    if patches:
        moves = tuple((name, patch.version) for name, patch in patches.items())
        stages.extend(_move(project, facts.environment, moves, patches))
    changes = changes or {}
    return Plan(
        environment=facts.environment.name,
        now=facts.now,
        request=request,
        models=tuple(patches),
        stages=tuple(stages),
        blocked=(),
        kept={n: "not touched by this" for n in project.models if n not in patches},
        sources=facts.sources,
        patches=patches,
        changes={name: changes[name] for name in patches if name in changes},
        because={name: reasons(project, name, changes) for name in patches},
    )


def _move(
    project: Project, shown: Environment, moves: tuple[tuple[str, str], ...], patches: Mapping[str, Patch]
) -> list[Stage]:
    """The move, and before it the question to the owners of models whose published rows change."""
    owners: dict[str, tuple[str, ...]] = {}
    for name, version in moves:
        if (pointer := shown.pointers.get(name)) and _rewrites(pointer, version, patches.get(name)):
            owner = project.models[name].owner
            owners[owner] = (*owners.get(owner, ()), name)
    promote = Promote(environment=shown.name, models=moves)
    if not owners or not project.settings.approvals.required:
        return [promote]
    return [Approve(owners=tuple(sorted(owners.items()))), promote]


def _rewrites(pointer: Pointer, version: str, patch: Patch | None) -> bool:
    """Whether published intervals come from another table afterwards."""
    if patch is None:
        return pointer.version != version
    return bool(Ranges.of(s.interval for s in pointer.segments if s.version != version) & patch.intervals)


def upstream_models(project: Project, model: Model) -> dict[str, Model]:
    """The models (not sources) that a model reads."""
    return {u.name: project.models[u.name] for u in model.upstreams if u.name in project.models}


def _changes(project: Project, facts: Facts) -> dict[str, Change]:
    """How each model differs from what the environment shows of it."""
    changes: dict[str, Change] = {}
    for name in project.models:
        pointer = facts.environment.pointers.get(name)
        if pointer is None:
            changes[name] = Change(category=Category.NEW)
        elif pointer.version == project.fingerprints[name]:
            changes[name] = Change(category=Category.UNCHANGED)
        elif UNKNOWN not in (facts.shown.get(name, UNKNOWN), project.signatures.get(name, UNKNOWN)):
            changes[name] = compare(facts.shown[name], project.signatures[name])
        else:
            changes[name] = Change(category=Category.BREAKING, rows=True)
    return changes


def _check_range(request: Request) -> None:
    if request.start and request.end and request.start >= request.end:
        raise PlanError(
            f"the range {request.start:%Y-%m-%d} .. {request.end:%Y-%m-%d} is empty or reversed",
            why="--start must come before --end",
            fix="swap them; --start and --end both name days that are included",
        )


def _reason(facts: Facts, name: str, version: str, have: Coverage) -> str:
    pointer = facts.environment.pointers.get(name)
    if pointer and any(logic_of(s.version) != version for s in pointer.segments) and pointer.version == version:
        return f"{facts.environment.name} shows older logic before {_since(pointer, version):%Y-%m-%d}"
    if have.built or have.empty:
        return "intervals are missing"
    if pointer is None:
        return f"new in {facts.environment.name}"
    return (
        f"changed: {facts.environment.name} shows {pointer.version}" if pointer.version != version else "table is gone"
    )


def _since(pointer: Pointer, version: str) -> datetime:
    return min(s.interval.start for s in pointer.segments if logic_of(s.version) == version)


def _kept(change: Change) -> str:
    if change.category in (Category.NEW, Category.UNCHANGED):
        return "complete and audited"
    return "its code is that of a version that was built before: nothing to compute"


def _extent(model: Model, now: datetime) -> str:
    expected = model.expected(now).span
    return f"{expected}" if expected else f"starts {model.start:%Y-%m-%d}, nothing over yet"


def _moves(environment: Environment, project: Project, name: str, complete: Ranges) -> bool:
    pointer = environment.pointers.get(name)
    if pointer is None:
        return bool(complete)
    return (
        pointer.version != project.fingerprints[name]
        or bool(complete - pointer.covers)
        or as_written(pointer.columns, project.columns.get(name, ())) != pointer.columns
    )
