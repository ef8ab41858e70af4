"""What has to be read to compare a model? Days that both sides show, unless they are the same files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from backfill_assets.compare.diff import ModelDiff, SameFiles
from backfill_assets.compare.renames import masked_under_any_name, renamed_from
from backfill_assets.compare.sides import VERSION_SIGN, Side
from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.replaced_rows import same_files
from backfill_assets.state.tables import TableLog
from backfill_assets.state.versions import Version, cadences_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Two pointers of a model and what is asked of them. `compared` has to be read: the days of both, without those
    that are proved to be the same."""

    model: Model
    old: Pointer | None
    new: Pointer | None
    compared: Ranges
    proofs: tuple[SameFiles, ...]
    only_old: Ranges
    only_new: Ranges
    slices: tuple[str, ...] = ()
    tolerance: float
    mask: frozenset[str] = frozenset()
    """Lower-cased names."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns of the key, and the time column, that the old side has under another name: new → old, lower-cased."""
    until: str = ""
    """The release that took the old side out of sight; "": it is shown, or named as it was."""
    taken: tuple[str, str] = ("", "")
    """Of a sample of entities: the SQL condition of its rows, on the old side and on the new one."""

    def unread(self) -> ModelDiff:
        """What can be told without reading a row."""
        return ModelDiff(
            model=self.model.name,
            grain=self.model.grain,
            time_column=self.model.time_column,
            tolerance=self.tolerance,
            old=tables(self.old),
            new=tables(self.new),
            compared=self.compared,
            proofs=self.proofs,
            only_old=self.only_old,
            only_new=self.only_new,
            until=self.until,
        )


def ask(
    model: Model,
    old: Pointer | None,
    new: Pointer | None,
    log: TableLog,
    *,
    within: Interval | None = None,
    slices: Sequence[str] = (),
    tolerance: float | None = None,
    mask: Iterable[str] = (),
    renamed: Mapping[str, str] | None = None,
    until: str = "",
    others: Collection[Cadence] = (),
) -> Question:
    """Compare what two pointers show (None: nothing), within a range that is widened to whole intervals (None: all).

    `slices` and `mask` come on top of the model's own; `tolerance` replaces its. `others` are other cadences of what is
    shown: a day of one side is compared with the whole week of the other one.
    """
    either = (old.covers if old else NOTHING) | (new.covers if new else NOTHING)
    asked = either & Ranges((within,)) if within else either

    def whole(ranges: Ranges) -> Ranges:
        for cadence in (*others, model.cadence):
            ranges = Ranges.of(map(cadence.cover, ranges))
        return ranges

    bounds = whole(asked)

    def shown(pointer: Pointer | None) -> Ranges:
        return pointer.covers & bounds if pointer else NOTHING

    proofs = tuple(_proofs(model, old, new, log, bounds)) if old and new else ()
    same = Ranges.of(p.interval for p in proofs)
    compared = (whole((shown(old) & shown(new)) - same) if others else shown(old) & shown(new)) - same
    return Question(
        model=model,
        old=old,
        new=new,
        compared=compared,
        proofs=proofs,
        only_old=shown(old) - shown(new) - compared,
        only_new=shown(new) - shown(old) - compared,
        slices=tuple(dict.fromkeys((*model.slices, *slices))),
        tolerance=model.tolerance if tolerance is None else tolerance,
        mask=frozenset(c.lower() for c in (*model.mask, *mask)),
        renamed=renamed or {},
        until=until,
    )


def questions(
    project: Project,
    versions: Mapping[tuple[str, str], Version],
    log: TableLog,
    old: Side,
    new: Side,
    *,
    models: Sequence[str] = (),
    within: Interval | None = None,
    slices: Sequence[str] = (),
    tolerance: float | None = None,
) -> list[Question]:
    """What to ask of each model (none named: of all that either side shows), in dependency order.

    What any version that is shown was masked for stays masked, whatever another one calls it. Floats are as close as
    the old side was published with, where the model says less by now. A slice is told of the models that have its
    column. Raises UsageError for a model or a column that no side has.
    """
    either = {**old.pointers, **new.pointers}
    for name in models:
        if name not in either or name not in project.models:
            raise UsageError(
                f"neither {old.name} nor {new.name} shows {name}",
                why=f"they show: {', '.join(n for n in project.models if n in either) or 'no model of the project'}",
                fix="name one of these",
            )
    if VERSION_SIGN in old.name + new.name and not models:
        models = [n for n in project.models if n in old.pointers and n in new.pointers]
    asked = [n for n in project.models if n in either and (not models or n in models)]
    columns = {name: {c.lower() for c, _ in either[name].columns} for name in asked}
    for name in slices:
        if not any(name.lower() in there for there in columns.values()):
            raise UsageError(
                f"no model that is compared has a column {name}",
                why=f"compared are: {', '.join(asked) or 'none'}",
                fix="name a column of one of them",
            )
    found: list[Question] = []
    for name in asked:
        model = project.models[name]
        one, other = old.pointers.get(name), new.pointers.get(name)
        mask = ever_masked(model.mask, [p for p in (one, other) if p], versions)
        wanted = [s for s in slices if s.lower() in columns[name]]
        called = _renamed(model, one, other, versions)
        shown = {(p.model, s.version) for p in (one, other) if p for s in p.segments}
        cadences = set(cadences_of({key: versions[key] for key in shown if key in versions}).values())
        found.append(
            ask(
                model,
                one,
                other,
                log,
                within=within,
                slices=wanted,
                tolerance=least_tolerance(model, one, versions) if tolerance is None else tolerance,
                mask=mask,
                renamed=called,
                until=old.until.get(name, ""),
                others=sorted(cadences - {model.cadence}, key=str),
            )
        )
    return found


def least_tolerance(model: Model, old: Pointer | None, versions: Mapping[tuple[str, str], Version]) -> float:
    """How far apart floats may be: what the model says, or what any version that the old side shows was published with.
    Nobody widens it for the change that comes with it."""
    records = [versions.get((model.name, segment.version)) for segment in old.segments] if old else []
    said = [r.tolerance for r in records if r is not None and r.tolerance is not None]
    return min([model.tolerance, *said])


def ever_masked(
    mask: Iterable[str], pointers: Iterable[Pointer], versions: Mapping[tuple[str, str], Version]
) -> frozenset[str]:
    """Columns, lower-cased, that `mask` names or that any version which these pointers show was masked for, by every
    name that one of them gives it."""
    shown = {(p.model, s.version) for p in pointers for s in p.segments}
    records = [versions[v] for v in shown if v in versions]
    masks = [*mask, *(c for r in records for c in cast(list[str], r.definition.get("mask", [])))]
    return frozenset(masked_under_any_name({c.lower() for c in masks}, [r.signature for r in records]))


def _renamed(
    model: Model, old: Pointer | None, new: Pointer | None, versions: Mapping[tuple[str, str], Version]
) -> Mapping[str, str]:
    """What of the key the old side has under another name, as the versions' signatures prove it."""
    was, now = (versions.get((model.name, p.version)) if p else None for p in (old, new))
    if was is None or now is None:
        return {}
    return renamed_from(was.signature, now.signature, [c.lower() for c in (*model.grain, model.time_column)])


def tables(pointer: Pointer | None) -> tuple[str, ...]:
    """The tables that a pointer shows, and their commits."""
    return tuple(dict.fromkeys(f"{s.version} at commit {s.commit}" for s in pointer.segments)) if pointer else ()


def _proofs(model: Model, old: Pointer, new: Pointer, log: TableLog, bounds: Ranges) -> Iterable[SameFiles]:
    for one, other, common in old.segments.meetings(new.segments):
        if one.version != other.version:
            continue
        parts = Ranges((common,)) & bounds
        same = same_files(model.name, one, other, parts, log, model.cadence)
        if same:
            rows = log.rows(model.name, other.version, other.commit)
            for part in same:
                yield SameFiles(
                    interval=part,
                    version=one.version,
                    commits=(one.commit, other.commit),
                    rows=sum(n for at, n in rows.items() if part.holds(at)),
                )
