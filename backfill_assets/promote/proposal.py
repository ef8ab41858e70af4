"""What would an environment show, and what is there of it? Pointers for a request, and how complete each model is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.core.intervals import NOTHING, Ranges, by_name
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.bounds import Bounded
from backfill_assets.plan.changes import days_gone
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import split_open
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.plan import asked_of
from backfill_assets.plan.stages import Request
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.pointers import patched, pin, shown_beside
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be shown of a model, and what there is of it. `lost` is shown now and would not be afterwards."""

    model: str
    version: str
    publish: Ranges
    have: Coverage
    lost: Ranges = NOTHING
    patched: bool = False

    @property
    def unbuilt(self) -> Ranges:
        return self.publish - self.have.built - self.have.empty

    @property
    def refused(self) -> dict[str, Ranges]:
        """Why it does not count → what was built of that."""
        return by_name({why: left} for part, why in self.have.refused if (left := self.unbuilt & Ranges((part,))))

    @property
    def unaudited(self) -> Ranges:
        return self.publish & self.have.unaudited

    @property
    def hollow(self) -> Ranges:
        """Declared complete without rows."""
        return self.publish & self.have.empty

    @property
    def ready(self) -> bool:
        return not (self.publish - self.have.green or self.lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The models of a request, and the pointers of those that are complete and would show something else."""

    wanted: tuple[Wanted, ...]
    pointers: tuple[Pointer, ...]

    @property
    def ready(self) -> bool:
        """Whether everything that was asked for is there."""
        return all(w.ready for w in self.wanted)


def propose(
    project: Bounded,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    request: Request,
    models: Sequence[str],
    patches: Mapping[str, Patch] | None = None,
) -> Proposal:
    """What these models would be shown as.

    A pointer pins the table commit that `facts.tables.coverage` was seen at, so that nothing written since can leak.
    """
    wanted: list[Wanted] = []
    pointers: list[Pointer] = []
    for name in models:
        shown = facts.environment.pointers.get(name)
        if patches and name in patches:
            patch = patches[name]
            have = facts.tables.of(name, patch.version)
            one = Wanted(model=name, version=patch.version, publish=patch.intervals, have=have, patched=True)
            wanted.append(one)
            if one.ready:
                pointers.append(patched(project, facts, versions, name, patch))
            continue
        one, held = _whole(project, facts, request, name)
        if not one.publish:
            continue
        wanted.append(one)
        if one.ready and (pointer := pin(project, facts, versions, name, one.publish, held)) != shown:
            pointers.append(pointer)
    return Proposal(wanted=tuple(wanted), pointers=tuple(pointers))


def _whole(project: Bounded, facts: Facts, request: Request, name: str) -> tuple[Wanted, Ranges]:
    """What is wanted of a model that is no patch, and what of it stays at the commit that it is shown at."""
    shown, version = facts.environment.pointers.get(name), project.fingerprints[name]
    older = held = Ranges()
    publish = asked = asked_of(project, facts, request, name)
    if shown and shown.version == version:
        beside = shown_beside(facts, name, version)
        older = beside.of_other_logic(version).covers
        publish = (publish | shown.covers) - older
        # An open interval that cannot be shown anew stays as it is shown: it holds up nothing.
        held = split_open(project.models[name], shown.covers, facts.now)[1] - asked - facts.tables.coverage[name].green
        publish = publish - held
    kept = publish | older | held | days_gone(project, facts, name, publish)
    lost = shown.covers - kept if shown and publish else NOTHING
    return Wanted(model=name, version=version, publish=publish, have=facts.tables.coverage[name], lost=lost), held


def moved_meanwhile(project: Project, name: str, shown: Pointer) -> Obstacle | None:
    """Why a run that extends what is shown must leave a model alone: somebody has released another version since."""
    if project.fingerprints.get(name) == shown.version:
        return None
    began = project.fingerprints.get(name)
    return Obstacle(
        model=name,
        what=f"shows {shown.version} by now, and {began or 'nothing'} when this run began: it is left as it is",
        remedy="run it again: it extends what is shown by then",
    )
