"""What became of the world since a plan was stored? An amendment of it, printed and kept: never a silent new plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pin import Pin, same_pin
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen_text import pin_text
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.stages import Plan
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRelease:
    """A release that moved a model of the plan meanwhile. The plan's `intervals` are put over what it shows; none: the
    plan replaces all of it."""

    model: str
    environment: str
    release: str
    version: str
    """What it shows of the model; "": nothing any more."""
    intervals: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntervals:
    """Intervals that the plan did not have, and has now."""

    model: str
    intervals: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSource:
    """A source that was another one when the plan was made."""

    source: str
    then: Pin
    now: Pin


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """How a plan differs by now from what was stored of it; all empty where it does not."""

    plan: str
    releases: tuple[OtherRelease, ...] = ()
    intervals: tuple[NewIntervals, ...] = ()
    sources: tuple[OtherSource, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """A sentence for each difference."""
        return (
            *(f"since plan {self.plan}: {_release_text(one)}" for one in self.releases),
            *(f"since plan {self.plan}: {one.model} {one.intervals} was added" for one in self.intervals),
            *(f"since plan {self.plan}: {_source_text(one)}" for one in self.sources),
        )


def amend(
    project: Project,
    record: PlanRecord,
    stored: Plan,
    facts: Facts,
    *,
    releases: Sequence[Release],
    patches: Mapping[str, Patch],
    gives: Mapping[str, Ranges],
) -> Amendment:
    """What is different from the plan as it was `stored`. `releases` are all of its environment, oldest first;
    `patches` are its parts of history as they are now, `gives` what it builds or shows by now, by model."""
    models = [name for name in record.versions if name in project.models]
    bounded = facts.bounded(project)
    return Amendment(
        plan=record.id,
        releases=tuple(_releases(record, releases, patches)),
        intervals=tuple(
            NewIntervals(model=name, intervals=new)
            for name in models
            if (new := _new_intervals(bounded, name, stored, facts, patches.get(name), gives))
        ),
        sources=tuple(
            OtherSource(source=name, then=then, now=facts.sources.pins[name])
            for name, then in stored.sources.items()
            if name in facts.sources.pins and not same_pin(then, facts.sources.pins[name])
        ),
    )


def _releases(record: PlanRecord, releases: Sequence[Release], patches: Mapping[str, Patch]) -> list[OtherRelease]:
    newest: dict[str, OtherRelease] = {}
    for release in releases:
        if release.at <= record.created or record.id in release.evidence:
            continue
        for move in release.moves:
            if move.model in record.versions and not move.compaction:
                patch = patches.get(move.model)
                newest[move.model] = OtherRelease(
                    model=move.model,
                    environment=release.environment,
                    release=release.id,
                    version=move.after.version if move.after else "",
                    intervals=patch.intervals if patch else NOTHING,
                )
    return list(newest.values())


def _new_intervals(
    project: Project, name: str, stored: Plan, facts: Facts, patch: Patch | None, gives: Mapping[str, Ranges]
) -> Ranges:
    if patch is not None and name in stored.patches:
        return patch.intervals - stored.patches[name].intervals
    model = project.models[name]
    return (model.expected(facts.now) - model.expected(stored.now)) & gives.get(name, NOTHING)


def _source_text(one: OtherSource) -> str:
    if "commit" not in one.then or "commit" not in one.now:
        return f"source {one.source} has other files"
    return f"source {one.source} was at {pin_text(one.then)}, and is at {pin_text(one.now)}"


def _release_text(one: OtherRelease) -> str:
    shows = f"shows {one.version}" if one.version else "shows nothing of it"
    then = f"its {one.intervals} are put over that" if one.intervals else "the plan replaces that"
    return f"{one.environment} moved to release {one.release} for {one.model}, which {shows}; {then}"
