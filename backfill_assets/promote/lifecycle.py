"""What happens to a plan between its opening and its end? It is stored, gets a candidate environment, and loses it.

Whatever ends here ends without a trace in prod: only rows of plans and of candidates are written.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import (
    BackfillError,
    ConflictError,
    DamagedLogError,
    PlanError,
    PromotionError,
    too_busy,
)
from backfill_assets.core.escaping import one_line
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer, lists
from backfill_assets.core.wording import first_few
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.leases import Again, Claim, Collision, ParallelPlan, claim, targets
from backfill_assets.plan.stages import AuditStage, ModelVersion, Plan, Promote
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.promote.candidate import candidate, known_target
from backfill_assets.promote.planned import stored_patches
from backfill_assets.promote.promote import ViewCatalog
from backfill_assets.promote.reachable import reachable
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.shown_state import ShownState
from backfill_assets.state.tables import TableLog, known_head
from backfill_assets.state.versions import table_path

Views = Callable[[], ViewCatalog | None]
"""Opens the shared catalog, if there is one; called only when a candidate really moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A plan that may be built now."""

    plan: PlanRecord
    """The stored plan: an older one when this one is what is left of it."""
    superseded: tuple[PlanRecord, ...]
    continues: bool = False
    """Whether an older one is gone on with."""
    beside: tuple[ParallelPlan, ...] = ()
    """Open plans of the same versions by other requests: they stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableTable:
    """A version table that nothing reaches any more. `bytes` were written to it in all."""

    model: str
    version: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """A plan that came to nothing, and the tables that only it had."""

    plan: PlanRecord
    already: bool
    """It had been abandoned before."""
    freed: tuple[UnreachableTable, ...]


def store_plan(control: Control, plan: Plan, *, by: str, views: Views, code: Mapping[str, str]) -> Opened | None:
    """Store the plan and take its leases, before anything is built; None for a plan without stages.

    Older plans of the same person that it replaces end. `code` is the version of each model in the loaded code.
    Raises PlanError when another person's plan is in the way, and when the stored plan that it goes on with is for
    something else.
    """
    if not plan.stages:
        return None
    end_killed(control, plan.environment, by=by, views=views)
    for _ in attempts():
        records, revision = control.plans.read_at()
        found = _claim(control, plan, records, by=by, code=code)
        if found.collisions:
            raise refusal(plan, found.collisions, by=by)
        record = found.continues or _new(plan, by)
        if found.continues:
            _explain(control, found.continues, plan.request.why)
        else:
            try:
                control.plans.put(record, plan.to_json(), revision=revision)
            except ConflictError:
                continue
        control.plans.mark(found.supersedes, PlanStatus.SUPERSEDED, by=by, at=datetime.now(UTC))
        for old in found.supersedes:
            _move(control, old.candidate, lambda _: {}, views)
        continues = found.continues is not None
        return Opened(plan=record, superseded=found.supersedes, continues=continues, beside=found.beside)
    raise too_busy("the plans are too busy")


def record_move(
    control: Control,
    plan: Plan,
    pointers: Sequence[Pointer],
    *,
    by: str,
    views: Views,
    code: Mapping[str, str],
) -> PlanRecord:
    """The stored plan of a move that is about to happen: the one that this plan continues, or a new one.

    Nothing moves without a record of what somebody wanted, also when all of it was built before.
    """
    if not plan.stages:
        moved = tuple(ModelVersion(model=p.model, version=p.version) for p in pointers)
        plan = replace(plan, stages=(Promote(environment=plan.environment, models=moved),))
    for _ in attempts():
        records, revision = control.plans.read_at()
        found = _claim(control, plan, records, by=by, code=code)
        if found.continues:
            return found.continues
        record = _new(plan, by)
        with suppress(ConflictError):
            control.plans.put(record, plan.to_json(), revision=revision)
            control.plans.mark(found.supersedes, PlanStatus.SUPERSEDED, by=by, at=datetime.now(UTC))
            for old in found.supersedes:
                _move(control, old.candidate, lambda _: {}, views)
            return record
    raise too_busy("the plans are too busy")


def read_claim(control: Control, plan: Plan, *, by: str, code: Mapping[str, str]) -> Claim:
    """What `open_plan` would find; nothing is written."""
    records = control.plans.all()
    return _claim(control, plan, records, by=by, code=code) if records else Claim()


def _explain(control: Control, record: PlanRecord, why: str) -> None:
    """Keep what the plan is for, where nothing is kept yet: people approve it by that."""
    stored = control.plans.why(record.id) if why else ""
    if why and not stored:
        control.plans.explain(record, why)
    elif stored != why:
        raise PlanError(
            f"{plan_text(record)} says already what it is for",
            why=f"“{one_line(stored)}”: owners decide by that, so that it stays",
            fix=f"leave --why out to go on with it, or end it with `backfill abandon {record.id}` and apply again",
        )


def refusal(plan: Plan, collisions: Sequence[Collision], *, by: str) -> PlanError:
    """Why a plan cannot be applied, and what to do about it."""
    ends = " ".join(c.plan.id for c in collisions[:1])
    own = all(c.plan.by == by for c in collisions)
    return PlanError(
        f"cannot apply plan {plan.id}: {'; '.join(map(collision_text, collisions))}",
        why=f"it is another request, which never takes over from an open one, and both replace rows of {ends}"
        if own
        else f"both build other versions of the same models, and {plan.environment} can show only one of them",
        fix=f"promote it first (`backfill promote {ends}`), or end it with `backfill abandon {ends}`, then plan again"
        if own
        else f"wait until it is promoted and plan again, or end it with `backfill abandon {ends}`; "
        "--select builds other models meanwhile",
    )


def collision_text(collision: Collision) -> str:
    """`plan ab12 (by ana, since 14:02 UTC) also changes campaign_performance`."""
    return f"{plan_text(collision.plan)} also changes {', '.join(collision.models)}"


def parallel_plan_text(beside: ParallelPlan) -> str:
    """`plan ab12 (by ana, since 14:02 UTC) is open for the same versions: …`, and what to do about it."""
    if beside.moves:
        return (
            f"{plan_text(beside.plan)} is open and moves {first_few(beside.moves)} as well (`"
            f"{apply_command(beside.request)}`), and stays as it is: when one of both is promoted, `backfill plan` "
            f"says what the other one still lacks; `backfill abandon {beside.plan.id}` ends it"
        )
    return (
        f"{plan_text(beside.plan)} is open for the same versions, by another request, and stays as it is: "
        f"`{apply_command(beside.request)}` {_AGAIN[beside.again]}, `backfill abandon {beside.plan.id}` ends it"
    )


_AGAIN: Mapping[Again, str] = {
    Again.CONTINUES: "goes on with it",
    Again.REPLACES: "would now make another plan, which replaces it",
    Again.ANOTHER: "no longer continues it",
}


def plan_text(record: PlanRecord) -> str:
    """A plan with its owner and its age; the date is left out on the same day."""
    form = "%H:%M" if record.created.date() == datetime.now(UTC).date() else "%Y-%m-%d %H:%M"
    return f"plan {record.id} (by {record.by}, since {record.created:{form}} UTC)"


def move_candidate(
    control: Control, project: Project, facts: Callable[[], Facts], plan: str, *, by: str, views: Views
) -> Environment | None:
    """Point the plan's candidate environment at what is complete by now; None when the plan has ended meanwhile.

    `facts` are read again whenever somebody else moved the candidate at the same time.
    """
    record = find_plan(control, plan)
    if not record.live:
        return None

    def now(seen: Environment) -> Mapping[str, Pointer]:
        nonlocal found
        found = facts()
        patches = stored_patches(project, found, stored) if stored else {}
        return candidate(project, found, control.versions.all(), record.targets, seen, patches)

    found: Facts | None = None
    stored = stored_plan(control, record.id)
    shown = _move(control, record.candidate, now, views)
    if not find_plan(control, record.id).live:
        _move(control, record.candidate, lambda _: {}, views)
        return None
    if record.status is PlanStatus.OPEN and found is not None and _complete(project, found, record):
        control.plans.mark([record], PlanStatus.APPLIED, by=by, at=datetime.now(UTC))
    return shown


def end_abandoned(control: Control, log: TableLog, warehouse: str, plan: str, *, by: str, views: Views) -> Abandoned:
    """End the plan and drop its candidate environment; what only it had is left to the janitor. Again is harmless.

    Raises PlanError for an unknown plan, and for one that was promoted; also where that was killed before it said so.
    """
    record = find_plan(control, plan)
    if record.live:
        end_killed(control, record.environment, by=by, views=views)
        record = find_plan(control, plan)
    if record.status is PlanStatus.PROMOTED:
        raise PlanError(
            f"plan {record.id} cannot be abandoned",
            why=f"it was promoted to {record.environment} at {record.since:%Y-%m-%d %H:%M} UTC",
            fix="to undo it: backfill rollback",
        )
    already = record.status is PlanStatus.ABANDONED
    if not already:
        control.plans.mark([record], PlanStatus.ABANDONED, by=by, at=datetime.now(UTC))
    _move(control, record.candidate, lambda _: {}, views)
    environments = [control.environments.read(name) for name in control.environments.names()]
    kept = reachable(environments, control.plans.all(), control.versions.all())
    alone = [(m, v) for m, v in record.versions.items() if (m, v) not in kept and known_head(log, m, v) >= 0]
    return Abandoned(
        plan=find_plan(control, record.id),
        already=already,
        freed=tuple(
            UnreachableTable(model=m, version=v, path=table_path(warehouse, m, v), bytes=_bytes(log, m, v))
            for m, v in alone
        ),
    )


def _bytes(log: TableLog, model: str, version: str) -> int:
    """What was written to a table; 0 where its log does not say it any more."""
    try:
        return sum(commit.bytes for commit in log.commits(model, version))
    except DamagedLogError:
        return 0


def end_promoted(
    control: Control, shown: Environment, *, by: str, views: Views, beside: Collection[str] = ()
) -> tuple[PlanRecord, ...]:
    """End every open plan of which the environment shows all that it built, and those `beside`; their candidates go."""
    ended = fulfilled(control, shown)
    known = {record.id for record in ended}
    done = [*ended, *(r for r in control.plans.all() if r.live and r.id in set(beside) - known)]
    return _end(control, done, by=by, views=views)


def end_applied(control: Control, shown: Environment, *, by: str, views: Views) -> tuple[PlanRecord, ...]:
    """End every plan that is applied and moves nothing: it only audited what its environment shows."""
    done = [r for r in fulfilled(control, shown) if r.status is PlanStatus.APPLIED]
    return _end(control, [r for r in done if _only_audits(stored_plan(control, r.id))], by=by, views=views)


def _only_audits(plan: Plan | None) -> bool:
    return plan is not None and all(isinstance(stage, AuditStage) for stage in plan.stages)


def end_killed(control: Control, environment: str, *, by: str, views: Views) -> tuple[PlanRecord, ...]:
    """End every open plan whose promotion was killed when it had moved, and had not ended it: the newest release names
    its packet; or an older one does, and what it built is shown still. (A plan that was rolled back may be open again.)
    """
    live = [r for r in control.plans.all() if r.live and r.environment == environment]
    releases = control.releases.all(environment) if live else []
    if not releases:
        return ()
    sealed, newest = {plan for release in releases for plan in release.evidence}, releases[-1].evidence
    shown = control.environments.read(environment)
    done = [r for r in live if r.id in newest or (r.id in sealed and _shows(shown, r))]
    return _end(control, done, by=by, views=views)


def _end(control: Control, done: Sequence[PlanRecord], *, by: str, views: Views) -> tuple[PlanRecord, ...]:
    control.plans.mark(done, PlanStatus.PROMOTED, by=by, at=datetime.now(UTC))
    for record in done:
        _move(control, record.candidate, lambda _: {}, views)
    return tuple(done)


def fulfilled(control: Control, shown: Environment) -> list[PlanRecord]:
    """The open plans of which the environment shows (or would show) all that they built."""
    return [r for r in control.plans.all() if r.live and r.environment == shown.name and _shows(shown, r)]


def ended_text(control: Control, plan: str) -> str:
    """That a plan was given up, when, and which newer one took its place; "" as long as it is open, of a promoted one,
    and while nobody can tell."""
    with suppress(OSError, BackfillError):  # a store that is away for a moment
        record = find_plan(control, plan)
        if record.status is PlanStatus.ABANDONED:
            return f"plan {record.id} was abandoned at {record.since:%Y-%m-%d %H:%M} UTC"
        if record.status is PlanStatus.SUPERSEDED:
            newer = newer_plan(control, record)
            by = f", by {record.by}'s plan {newer.id}" if newer else ""
            return f"plan {record.id} was superseded at {record.since:%Y-%m-%d %H:%M} UTC{by}"
    return ""


def newer_plan(control: Control, record: PlanRecord) -> PlanRecord | None:
    """The newest open plan of the same person of any of the same models; None where it has ended as well."""
    found = (r for r in control.plans.all() if r.live and r.by == record.by and {*r.versions} & {*record.versions})
    return max(found, key=lambda r: r.created, default=None)


def find_plan(control: Control, name: str) -> PlanRecord:
    """The stored plan that somebody means: its id, `plan-<id>`, or a beginning of its id that no other has.

    Raises PlanError, naming the ones that come close.
    """
    records = {r.id: r for r in control.plans.all()}
    wanted = name.removeprefix("plan-")
    meant = [r for i, r in records.items() if i == wanted] or [
        r for i, r in records.items() if wanted and i.startswith(wanted)
    ]
    if len(meant) == 1:
        return meant[0]
    close = [r.id for r in meant] or difflib.get_close_matches(wanted, records, n=3, cutoff=0.4)
    live = [r.id for r in records.values() if r.live]
    raise PlanError(
        f"several plans begin with {wanted}" if meant else f"no plan {wanted}",
        why=f"open are: {', '.join(live)}" if live else "no plan is open",
        fix=f"did you mean {', '.join(close)}?" if close else "see `backfill plans`: `backfill apply` stores a plan",
    )


def named_or_newest_plan(control: Control, name: str | None) -> PlanRecord:
    """The plan that somebody names (`find_plan`), or else the newest one: open ones first, then promoted ones.

    Raises PlanError when there is none.
    """
    if name:
        return find_plan(control, name)
    records = control.plans.all()
    found = [r for r in records if r.live] or [r for r in records if r.status is PlanStatus.PROMOTED]
    if not found:
        raise PlanError("there is no plan yet", why="`backfill apply` stores the first one", fix="backfill apply")
    return found[-1]


def only_open_plan(control: Control) -> PlanRecord:
    """The open plan, when there is exactly one. Raises PlanError, naming them, otherwise."""
    live = [r for r in control.plans.all() if r.live]
    if len(live) == 1:
        return live[0]
    raise PlanError(
        "several plans are open" if live else "no plan is open",
        why=f"they are: {', '.join(r.id for r in live)}" if live else "there is no candidate to compare with",
        fix="name one of them" if live else "apply a plan first, or name two sides: A..B",
    )


def _claim(control: Control, plan: Plan, records: Sequence[PlanRecord], *, by: str, code: Mapping[str, str]) -> Claim:
    shown = control.environments.read(plan.environment)

    def patched(record: PlanRecord) -> dict[str, Ranges]:
        stored = stored_plan(control, record.id) if plan.patches else None
        return {name: patch.intervals for name, patch in stored.patches.items()} if stored else {}

    return claim(
        plan,
        records,
        shown,
        by=by,
        request_of=lambda record: stored_request(control, record.id),
        code=code,
        patched=patched,
    )


def _new(plan: Plan, by: str) -> PlanRecord:
    now = datetime.now(UTC)
    return PlanRecord(
        id=plan.id,
        environment=plan.environment,
        targets=targets(plan),
        created=now,
        by=by,
        status=PlanStatus.OPEN,
        since=now,
    )


def _move(
    control: Control, name: str, wanted: Callable[[Environment], Mapping[str, Pointer]], views: Views
) -> Environment:
    """Make a candidate show what is wanted of it, in one commit; nothing is written when it does already."""
    for _ in attempts():
        seen = control.environments.read(name)
        pointers = wanted(seen)
        moved = [p for m, p in pointers.items() if seen.pointers.get(m) != p]
        gone = sorted(set(seen.pointers) - set(pointers))
        if not moved and not gone:
            return seen
        with suppress(PromotionError):  # somebody else moved the same models: look again
            shown = control.environments.flip(seen, moved, remove=gone, release=name, at=datetime.now(UTC))
            if (catalog := views()) is not None:
                catalog.settle(shown, [*(p.model for p in moved), *gone])
            return shown
    raise too_busy(f"{name} is too busy")


def _complete(project: Project, facts: Facts, record: PlanRecord) -> bool:
    have = [(target, known_target(project, facts, target)) for target in record.targets]
    return all(
        there is not None and not target.intervals - (there.complete - _red(facts, target)) for target, there in have
    )


def _red(facts: Facts, target: PlanTarget) -> Ranges:
    """What is shown of a target and is red: it stays shown."""
    own = facts.environment.versions.get(target.model) == target.version
    return facts.standing.get(target.model, ShownState()).failed if own else NOTHING


def _shows(shown: Environment, record: PlanRecord) -> bool:
    return all(shows_target(shown, target) for target in record.targets)


def shows_target(shown: Environment, target: PlanTarget) -> bool:
    """Whether an environment shows all that a plan built of a model."""
    pointer = shown.pointers.get(target.model)
    own = [s for s in pointer.segments if target.version in (s.version, s.logic)] if pointer else []
    if not own or (pointer and not lists(pointer, target.columns)):
        return False
    return not target.intervals - Ranges.of(s.interval for s in own)
