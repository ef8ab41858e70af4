"""May these models be promoted? Everything that is in the way, each with its remedy; or the pointers to move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.intervals import NOTHING, Ranges
from backfill_assets.plan.category import affects, compare
from backfill_assets.plan.missing import needed, split_open
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.plan import Facts, asked_of, upstream_models
from backfill_assets.plan.stages import Request
from backfill_assets.plan.why import reads_of
from backfill_assets.promote.pointers import patched, pin, shown_beside
from backfill_assets.snapshots.model import UNKNOWN, Model, Project
from backfill_assets.state.environment import Environment, Pointer
from backfill_assets.state.ledger import Coverage, read_version
from backfill_assets.state.versions import Version, logic_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One thing in the way of a promotion. `intervals` may be empty when it is not about intervals."""

    model: str
    what: str
    intervals: Ranges = NOTHING
    remedy: str

    def __str__(self) -> str:
        at = f" {self.intervals}" if self.intervals else ""
        return f"{self.model}: {self.what}{at}\n  fix: {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's answer: open when nothing is in the way. `pointers` are what would move."""

    pointers: tuple[Pointer, ...]
    obstacles: tuple[Obstacle, ...]

    @property
    def open(self) -> bool:
        return not self.obstacles


def gate(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    request: Request,
    models: Sequence[str],
    patches: Mapping[str, Patch] | None = None,
) -> Verdict:
    """Look at every model that would move, and say all that is in the way at once.

    A pointer pins the table commit that `facts.coverage` was seen at, so that nothing written since can leak.
    """
    project = facts.bounded(project)
    pointers: list[Pointer] = []
    obstacles: list[Obstacle] = []
    for name in models:
        model = project.models[name]
        shown = facts.environment.pointers.get(name)
        if patches and name in patches:
            patch = patches[name]
            if found := _obstacles(model, facts.of(name, patch.version), patch.intervals, request):
                obstacles.extend(found)
            else:
                pointers.append(patched(project, facts, versions, name, patch))
            continue
        older = held = Ranges()
        publish = asked = asked_of(project, facts, request, name)
        if shown and shown.version == project.fingerprints[name]:
            beside = shown_beside(facts, name, project.fingerprints[name])
            older = Ranges.of(s.interval for s in beside if logic_of(s.version) != project.fingerprints[name])
            publish = (publish | shown.covers) - older
            # An open interval that cannot be shown anew stays as it is shown: it holds up nothing.
            held = split_open(model, shown.covers, facts.now)[1] - asked - facts.coverage[name].green
            publish = publish - held
        if not publish:
            continue
        found = _obstacles(model, facts.coverage[name], publish, request)
        if shown and (lost := shown.covers - publish - older - held):
            found.append(
                Obstacle(
                    model=name,
                    what=f"{facts.environment.name} would lose",
                    intervals=lost,
                    remedy="promote a range that holds them as well: backfill apply, then backfill promote",
                )
            )
        found.extend(_built_from_nothing(project, facts, model, publish))
        if found:
            obstacles.extend(found)
            continue
        pointer = pin(project, facts, versions, name, publish, held)
        if shown is None or pointer != shown:
            pointers.append(pointer)
    if not obstacles:
        after = {p.model: p.version for p in [*facts.environment.pointers.values(), *pointers]}
        obstacles.extend(mismatches(project, facts.environment, after, versions))
    return Verdict(pointers=tuple(pointers), obstacles=tuple(obstacles))


def _obstacles(model: Model, have: Coverage, publish: Ranges, request: Request) -> list[Obstacle]:
    found: list[Obstacle] = []
    remedy = f"backfill apply --select {model.name}{' --ignore-cron' * request.ignore_cron}"
    if lacking := publish - have.built - have.empty:
        found.append(
            Obstacle(
                model=model.name,
                what=f"{lacking.count(model.cadence)} intervals are not built, or failed their audits:",
                intervals=lacking,
                remedy=remedy,
            )
        )
    if pending := publish & have.unaudited:
        found.append(
            Obstacle(
                model=model.name,
                what=f"{pending.count(model.cadence)} intervals lack audits:",
                intervals=pending,
                remedy=remedy,
            )
        )
    if hollow := publish & have.empty:
        found.append(
            Obstacle(
                model=model.name,
                what="intervals are declared complete without rows:",
                intervals=hollow,
                remedy=f"backfill withdraw {model.name}:{hollow.intervals[0]}, then backfill apply; "
                "or promote a range without them (--start, --end)",
            )
        )
    return found


def _built_from_nothing(project: Project, facts: Facts, model: Model, publish: Ranges) -> list[Obstacle]:
    """What was computed from upstream intervals that are declared complete without rows."""
    found: list[Obstacle] = []
    for name, upstream in upstream_models(project, model).items():
        if not (empty := facts.coverage[name].empty):
            continue
        hollow = Ranges.of(
            unit
            for part, entry in facts.coverage[model.name].batches(publish)
            if read_version(entry, name) == project.fingerprints[name]
            for unit in model.cadence.split(part)
            if needed(model, upstream, unit) & empty
        )
        if hollow:
            found.append(
                Obstacle(
                    model=model.name,
                    what=f"intervals were computed from declared-empty ones of {name}:",
                    intervals=hollow,
                    remedy=f"backfill withdraw {name}:{empty.intervals[0]}, then backfill apply",
                )
            )
    return found


def mismatches(
    project: Project,
    environment: Environment,
    after: Mapping[str, str],
    versions: Mapping[tuple[str, str], Version],
) -> list[Obstacle]:
    """Models that would be shown beside a version of an upstream in which something that they read is different.

    `after` is model → version of all that the environment would show. What is shown that way already, and what is the
    same by its author's word, is no news.
    """
    before = {name: p.version for name, p in environment.pointers.items()}
    found: list[Obstacle] = []
    for name, version in after.items():
        if name in project.overrides and version == project.fingerprints.get(name):
            continue
        record = versions.get((name, version))
        for upstream, built_from in (record.upstream if record else {}).items():
            shown = after.get(upstream)
            if (before.get(name), before.get(upstream)) == (version, shown):
                continue
            if shown and shown != built_from and not _same_to(record, upstream, versions, built_from, shown):
                found.append(
                    Obstacle(
                        model=name,
                        what=f"was built from {upstream} {built_from}, but {environment.name} would show {shown}",
                        remedy=f"promote both together: backfill promote --select {upstream}+",
                    )
                )
    return found


def _same_to(
    reader: Version | None, upstream: str, versions: Mapping[tuple[str, str], Version], built_from: str, shown: str
) -> bool:
    """Whether two versions of an upstream agree in all that a model reads of it."""
    one, other = versions.get((upstream, built_from)), versions.get((upstream, shown))
    reads = frozenset(reads_of(reader.signature, upstream)) if reader else frozenset[str]()
    if one is None or other is None or not reads or UNKNOWN in (one.signature, other.signature):
        return False
    return not affects(compare(one.signature, other.signature), reads)
