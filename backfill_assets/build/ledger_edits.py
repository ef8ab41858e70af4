"""What does somebody write into the ledger without building? Declared empty, withdrawn, invalidated intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.segments import NO_ROWS, Segments, logic_of
from backfill_assets.plan.adoption import kept_older
from backfill_assets.plan.commands import restate_all
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.plan import asked_of
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Invalidate, Request
from backfill_assets.plan.versions import shown_segments
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import DECIDING, Coverage, Entry, Kind, by_version, read_version
from backfill_assets.state.tables import TableLog, version_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Intervals of a model's version that are missing again: because they were named, or read some that were."""

    model: str
    version: str
    intervals: Ranges
    named: bool
    replaced: Ranges = NOTHING
    """Of which environments show other rows, that were restated or settled since: nothing is missing there, and older
    releases, which showed these, cannot be gone back to."""


def declare_empty(
    control: Control, log: TableLog, project: Project, facts: Facts, request: Request, *, by: str
) -> dict[str, Ranges]:
    """Record what is missing, of what the request is about, as complete without computing it; returns it by model.

    Intervals that are not over, that are built and wait for audits, or that are shown by older logic, stay as they are.
    Raises DamagedLogError, having written nothing, where nobody can tell what is missing.
    """
    found: dict[str, Ranges] = {}
    entries: list[Entry] = []
    for name in select_models(project, request.select):
        model, have = project.models[name], facts.tables.coverage[name]
        missing = asked_of(project, facts, request, name) & model.expected(facts.now)
        older = kept_older(facts.environment.pointers.get(name), project.fingerprints[name])
        if missing := missing - have.complete - have.unaudited - older:
            found[name] = missing
            log.commits(name, project.fingerprints[name])  # all of its log is looked at
            entries += [
                Entry(
                    kind=Kind.EMPTY,
                    model=name,
                    version=project.fingerprints[name],
                    interval=part,
                    table_commit=facts.tables.heads[name],
                    reason=f"declared complete by {by}",
                    at=datetime.now(UTC),
                )
                for part in missing
            ]
    control.ledger.append(entries)
    return found


def withdraw(
    control: Control,
    log: TableLog,
    project: Project,
    asked: Sequence[tuple[str, Interval]],
    *,
    now: datetime,
    by: str,
    reason: str = "",
) -> tuple[Withdrawn, ...]:
    """Make intervals of the code's versions missing again, and those that were built from them. Again is harmless.

    Raises PlanError, having written nothing, for an unknown model and for intervals that an environment shows; and
    for those that somebody published meanwhile, which stay shown.
    """
    select_models(project, [name for name, _ in asked])
    groups = by_version(control.ledger.entries(kinds=DECIDING))
    shown = shown_segments(control.lasting())
    gone: dict[str, Ranges] = {}
    found: list[Withdrawn] = []
    entries: list[Entry] = []
    for name, model in project.models.items():
        version = project.fingerprints[name]
        have, head = version_coverage(
            groups.get((name, version), []),
            log,
            model=name,
            version=version,
            audits=audits_digest(model),
            over=model.over(now),
        )
        named = Ranges.of(model.cadence.cover(interval) for each, interval in asked if each == name)
        built = [*have.batches(named), *_readers(project, model, have, gone)]
        parts = Ranges.of(part for part, _ in built) | (named & have.empty)
        if not parts:
            continue
        if seen := parts & shown.get((name, version), NO_ROWS).covers:
            read = {u.name for u in model.upstreams} & gone.keys()
            logics = {(each, logic_of(shown_version)) for each, shown_version in shown if each in read}
            other = bool(logics - {(each, project.fingerprints[each]) for each in read})
            raise _refusal(name, seen) if named else _refusal_of_reader(name, seen, gone, other=other)
        gone[name] = parts
        since = [s.covers for (each, v), s in shown.items() if each == name and logic_of(v) == version]
        replaced = parts & Ranges.of(part for covers in since for part in covers)
        found.append(Withdrawn(model=name, version=version, intervals=parts, named=bool(named), replaced=replaced))
        said = f"{reason or 'withdrawn'} (by {by})"
        blank = {"kind": Kind.WITHDRAWN, "model": name, "version": version, "table_commit": head, "reason": said}
        # With the batch's name: should the table be made anew, what is said of its batches goes with them.
        for part, batch in [*((p, e.batch) for p, e in built), *((p, "") for p in named & have.empty)]:
            entries.append(Entry(**blank, interval=part, batch=batch, at=datetime.now(UTC)))  # pyright: ignore[reportArgumentType]
    control.ledger.append(entries)
    if found:
        control.environments.fence()  # promotions that commit after it judge again, and see the withdrawal
        _refuse_published(found, shown_segments(control.lasting()))
    return tuple(found)


def _refuse_published(found: Sequence[Withdrawn], shown: Mapping[tuple[str, str], Segments]) -> None:
    seen = {d.model: part for d in found if (part := d.intervals & shown.get((d.model, d.version), NO_ROWS).covers)}
    if seen:
        raise PlanError(
            f"{', '.join(f'{name} {parts}' for name, parts in seen.items())} was published while it was withdrawn",
            why="it stays shown, and the ledger knows no batch of it any more: `watch` names it as well",
            fix=f"compute it again beside what is shown: {restate_all(seen)}",
        )


def invalidate(control: Control, log: TableLog, stages: Sequence[Invalidate], *, now: datetime, run: str) -> None:
    """Carry out the stages that let other versions' intervals count for nothing."""
    groups = by_version(control.ledger.entries([s.model for s in stages], kinds=DECIDING)) if stages else {}
    entries: list[Entry] = []
    for stage in stages:
        of = groups.get((stage.model, stage.version), [])
        have, head = version_coverage(of, log, model=stage.model, version=stage.version, audits="", over=now)
        entries += [
            Entry(
                kind=Kind.INVALIDATED,
                model=stage.model,
                version=stage.version,
                interval=part,
                table_commit=head,
                batch=entry.batch,
                run=run,
                reason=stage.reason,
                at=datetime.now(UTC),
            )
            for part, entry in have.batches(stage.intervals)
        ]
    control.ledger.append(entries)


def _readers(
    project: Project, model: Model, have: Coverage, gone: Mapping[str, Ranges]
) -> list[tuple[Interval, Entry]]:
    """What is built of a model from intervals that go, by what its entries say that they read."""
    found: dict[Interval, Entry] = {}
    for upstream in model.upstreams:
        again = Ranges.of(
            affected_interval(model, project.models[upstream.name], part) for part in gone.get(upstream.name, Ranges())
        )
        version = project.fingerprints.get(upstream.name)
        found |= {part: e for part, e in have.batches(again) if read_version(e, upstream.name) == version}
    return list(found.items())


def _refusal(name: str, seen: Ranges) -> PlanError:
    return PlanError(
        f"cannot withdraw {name} {seen}: it is published",
        why="what an environment shows is replaced, never taken away",
        fix=f"compute it again beside what is shown: {restate_all({name: seen})}",
    )


def _refusal_of_reader(name: str, seen: Ranges, gone: Mapping[str, Ranges], *, other: bool) -> PlanError:
    """`other`: what is shown of what the reader was built from is of other logic."""
    asked = ", ".join(f"{each} {parts}" for each, parts in gone.items())
    return PlanError(
        f"cannot withdraw {asked}: {name} {seen} was built from it, and is published",
        why="what an environment shows is replaced, never taken away",
        fix=f"load the code that is shown, and compute {name} again by that: {restate_all({name: seen})}, then "
        "backfill promote PLAN, which it names; then this"
        if other
        else f"compute it again, with what reads it, beside what is shown: {restate_all(gone)}",
    )
