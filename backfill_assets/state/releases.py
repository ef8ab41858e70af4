"""Which releases did an environment have? Who moved which models from where to where, and what it showed at each."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from backfill_assets.core.errors import PromotionError, StateError
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.pointer import Pointer, pointer_from_json
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.state.environment import ENVIRONMENTS, releases_of
from backfill_assets.state.kept import Kept
from backfill_assets.state.release_note import note_from_json
from backfill_assets.state.replaced_rows import written_over
from backfill_assets.state.store import Row, Store
from backfill_assets.state.tables import TableLog


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerMove:
    """What one release did to one model. None: the environment did not show it before, or does not any more."""

    model: str
    before: Pointer | None
    after: Pointer | None
    compaction: bool = False
    """Whether it points at copies of the same rows."""
    changed: Ranges | None = None
    """The published intervals that have other rows by it, as the gate judged it by batches and commits; None in records
    of earlier releases."""

    @property
    def growth(self) -> bool:
        """Whether what was shown before stayed as it was: all that it did was to add intervals, or to copy."""
        if self.before is None or self.after is None:
            return False
        return self.compaction or (not self.changed and grown(self.before, self.after))

    @property
    def again(self) -> Ranges:
        """Shown before and after, with other rows."""
        if self.before is None or self.after is None:
            return Ranges()
        return elsewhere(self.before, self.after) | ((self.changed or Ranges()) & self.after.covers)

    @property
    def difference(self) -> Difference:
        """What is shown otherwise by it. Where columns come, go or move, all intervals count as `changed`: then only
        other tables tell of other rows."""
        said = Difference(model=self.model, one=self.before, other=self.after)
        return said if said.column_lines else replace(said, rewritten=self.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One promotion or rollback that happened. `at` is of the real clock."""

    id: str
    environment: str
    revision: int
    """The one after what was seen: releases are in this order, whatever clocks say."""
    at: datetime
    by: str
    back_to: str
    """For a rollback, the release that it went back to."""
    moves: tuple[PointerMove, ...]
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plan → the digest of its packet."""
    at_once: bool = False
    """For a rollback: whether it took losses, or rows that nobody vouches for, into the bargain (`--now`)."""
    rules: Mapping[str, object] = field(default_factory=dict[str, object])
    """Which rules were in force (`RulesInForce.to_json`); empty in releases of earlier versions."""
    clock: datetime | None = None
    """The project's clock, by which intervals were over; None in releases of earlier versions."""
    settling: bool = False
    """Whether a routine run replaced provisional intervals by it: no change that anybody decided on."""
    pin: Mapping[str, object] = field(default_factory=dict[str, object])
    """In a pinned consumer's environment: what it is kept on (`state/pinned.py`); empty when that is over."""

    @property
    def shows_nothing(self) -> bool:
        """Whether it is what was before the first release."""
        return self.id == NOTHING_SHOWN

    @property
    def approvals_off(self) -> bool:
        """Whether nobody had to approve anything."""
        return self.rules.get("required") is False

    @property
    def compaction(self) -> bool:
        """Whether no row is another one."""
        return all(move.compaction for move in self.moves)

    @property
    def growth(self) -> bool:
        """Whether it only added intervals."""
        return all(move.growth for move in self.moves)


NOTHING_SHOWN = "nothing"
"""The name of what was shown before the first release."""


def before_all(environment: str) -> Release:
    """What was before an environment's first release, as one: it showed nothing."""
    never = datetime.fromtimestamp(0, UTC)
    return Release(id=NOTHING_SHOWN, environment=environment, revision=-1, at=never, by="", back_to="", moves=())


class Releases:
    """The records that promotions wrote in the commits in which they moved the pointers."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(ENVIRONMENTS)
        self._kept: dict[str, Kept[Mapping[tuple[object, ...], Release]]] = {}
        """By environment; releases by their records."""

    def all(self, environment: str) -> list[Release]:
        """Every release of the environment, oldest first."""

        kept = self._kept.setdefault(environment, Kept({}))

        def read() -> Mapping[tuple[object, ...], Release]:
            """What was read before is not parsed again: of a thousand releases one is new."""
            rows = {(*row.values(),): row for row in self._table.read({"environment": [releases_of(environment)]})}
            found = {key: kept.value.get(key) or _release(environment, row) for key, row in rows.items()}
            return dict(sorted(found.items(), key=lambda each: each[1].revision))

        return [*kept.of(self._table, read).values()]

    def everywhere(self) -> list[Release]:
        """Every release of every environment."""
        names = {cast(str, row["environment"]).removesuffix(releases_of("")) for row in self._table.read()}
        return [r for name in sorted(names) for r in self.all(name)]


def grown(before: Pointer, after: Pointer) -> bool:
    """Whether a pointer shows what another one shows, and at most more intervals of the same logic."""
    return (
        before.columns == after.columns
        and before.version == after.version
        and not before.covers - after.covers
        and not elsewhere(before, after)
    )


def elsewhere(one: Pointer, other: Pointer) -> Ranges:
    """The time in which both show rows, but of different tables. Commits of one table are for `Move.changed` and for
    `compare` to tell apart, as the gate does.
    """
    same = Ranges.of(common for a, b, common in one.segments.meetings(other.segments) if a.version == b.version)
    return (one.covers & other.covers) - same


def shown_at(current: Mapping[str, Pointer], releases: Sequence[Release], release: Release) -> dict[str, Pointer]:
    """What the environment showed after a release: the present, with every later release undone, newest first."""
    shown = dict(current)
    for later in sorted(releases, key=lambda r: r.revision, reverse=True):
        if later.revision <= release.revision:
            break
        for move in later.moves:
            shown.pop(move.model, None)
            if move.before is not None:
                shown[move.model] = move.before
    return shown


def out_of_sight(releases: Sequence[Release]) -> dict[str, Pointer]:
    """Model → what releases have shown of it and the last of them does not: whole models, and intervals of others, as
    they were shown last."""
    found: dict[str, Pointer] = {}
    for release in sorted(releases, key=lambda r: r.revision):
        for move in release.moves:
            seen = move.after.covers if move.after else NOTHING
            known = found.pop(move.model, None)
            older = (
                Segments(replace(s, columns=s.columns or known.columns) for s in known.segments) if known else NO_ROWS
            )
            gone = move.before.segments.without(seen) if move.before else NO_ROWS
            if (left := gone.over(older.without(seen))) and (last := move.before if gone else known):
                found[move.model] = replace(last, segments=left)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOut:
    """A model that an environment showed once, and shows no more."""

    last: Pointer
    """As it was shown last."""
    release: str
    """The one that took it out of sight."""
    removed: Ranges = NOTHING
    """Of which the janitor removed the tables since."""

    @property
    def left(self) -> Pointer | None:
        """What is there still of what was shown."""
        segments = self.last.segments.without(self.removed)
        return replace(self.last, segments=segments) if segments else None


def taken_out(
    releases: Sequence[Release], last: Mapping[str, Pointer], removals: Mapping[tuple[str, str], int]
) -> dict[str, TakenOut]:
    """Model → what was shown of it last, of the whole models that the last of these releases does not show any more.

    `last` is what is `out_of_sight` by these releases. `removals` are of model and version: the revision at which the
    janitor last removed the table. One that was built again since, and shown, is there.
    """
    gone: dict[str, Release] = {}
    for release in sorted(releases, key=lambda r: r.revision):
        for move in release.moves:
            gone.pop(move.model, None)
            if move.before is not None and move.after is None:
                gone[move.model] = release

    def removed(pointer: Pointer, since: Release) -> Ranges:
        tables = ((s, removals.get((pointer.model, s.version), -1)) for s in pointer.segments)
        return Ranges.of(s.interval for s, at in tables if at >= since.revision)

    return {
        name: TakenOut(last=last[name], release=out.id, removed=removed(last[name], out))
        for name, out in gone.items()
        if name in last
    }


def replacements(releases: Sequence[Release]) -> dict[str, dict[str, Ranges]]:
    """Model → release → the published intervals whose rows are others since that release; of several the last one says.

    What a settling window covers is no decision of anybody.
    """
    found: dict[str, dict[str, Ranges]] = {}
    for release in sorted(releases, key=lambda r: r.revision):
        for move in () if release.settling else release.moves:
            if move.after is None or move.compaction:
                continue
            if others := move.again | ((move.changed or NOTHING) & move.after.covers):
                before = found.get(move.model, {})
                left = {name: rest for name, ranges in before.items() if (rest := ranges - others)}
                found[move.model] = left | {release.id: others}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one look at an environment shows of a model otherwise than another one."""

    model: str
    one: Pointer | None
    other: Pointer | None
    rewritten: Ranges = NOTHING
    """Shown by both from one table, whose rows of it are others at the other commit."""

    @property
    def changed(self) -> Ranges:
        """Shown by both, with other rows."""
        return elsewhere(self.one, self.other) | self.rewritten if self.one and self.other else Ranges()

    @property
    def gained(self) -> Ranges:
        return (self.other.covers if self.other else Ranges()) - (self.one.covers if self.one else Ranges())

    @property
    def lost(self) -> Ranges:
        return (self.one.covers if self.one else Ranges()) - (self.other.covers if self.other else Ranges())

    @property
    def added(self) -> tuple[str, ...]:
        """Columns that only the other one shows."""
        there = dict(self.one.columns) if self.one else {}
        return tuple(c for c, _ in self.other.columns if c not in there) if self.one and self.other else ()

    @property
    def removed(self) -> tuple[str, ...]:
        """Columns that only the one shows."""
        there = dict(self.other.columns) if self.other else {}
        return tuple(c for c, _ in self.one.columns if c not in there) if self.one and self.other else ()

    @property
    def retyped(self) -> tuple[str, ...]:
        """Columns of both that have another type in the other one."""
        there = dict(self.other.columns) if self.other else {}
        return tuple(c for c, t in self.one.columns if there.get(c, t) != t) if self.one and self.other else ()

    def lines(self, say: Callable[[Ranges], str] = str) -> list[str]:
        """What is different, a line for each kind; `say` writes ranges."""
        ranges = (("other rows", self.changed), ("new intervals", self.gained), ("intervals gone", self.lost))
        return [*(f"{what}: {say(part)}" for what, part in ranges if part), *self.column_lines]

    @property
    def column_lines(self) -> list[str]:
        """Those about columns."""
        columns = (("new columns", self.added), ("columns gone", self.removed), ("of another type", self.retyped))
        said = [f"{what}: {', '.join(names)}" for what, names in columns if names]
        other = self.one and self.other and self.one.columns != self.other.columns
        return said or ["columns in another order"] * bool(other)


def compare(
    one: Mapping[str, Pointer],
    other: Mapping[str, Pointer],
    log: TableLog | None = None,
    cadences: Mapping[str, Cadence] | None = None,
) -> list[Difference]:
    """Every model that is shown otherwise: by its tables, and by the batches of their commits where there is a `log`.
    A table that is gone or damaged is taken for the same at every commit. Models are of `cadences`, or else daily."""

    def rewritten(a: Pointer | None, b: Pointer | None) -> Ranges:
        if log is None or a is None or b is None:
            return NOTHING
        try:
            return written_over(a, b, log, (cadences or {}).get(a.model, Cadence.DAILY))
        except StateError:
            return NOTHING

    pairs = [(m, one.get(m), other.get(m)) for m in sorted({*one, *other})]
    found = [Difference(model=m, one=a, other=b, rewritten=rewritten(a, b)) for m, a, b in pairs]
    return [
        d for d in found if d.changed or d.gained or d.lost or (d.one and d.other and d.one.columns != d.other.columns)
    ]


def refuse_lost(releases: Sequence[Release]) -> None:
    """Raises StateError when a release was made by recorded rules: for an environment of which none are there."""
    if named := next((r for r in reversed(releases) if r.rules.get("number")), None):
        raise StateError(
            f"the rules of {named.environment} are gone",
            why=f"release {named.id} was made by record {named.rules['number']} of them, and the table has none",
            fix="restore _control/rules from a backup; nothing can be planned or promoted before",
        )


def find_release(releases: Sequence[Release], name: str) -> Release:
    """The release that somebody means: its id, or a beginning or an end of it that no other has.

    Raises PromotionError, naming the ones that come close.
    """
    ids = {r.id: r for r in releases}
    meant = [ids[name]] if name in ids else [r for i, r in ids.items() if name and i.startswith(name)]
    meant = meant or [r for i, r in ids.items() if name and i.endswith(name)]
    if len(meant) == 1:
        return meant[0]
    close = [r.id for r in meant][-3:] or difflib.get_close_matches(name, ids, n=3, cutoff=0.4)
    raise PromotionError(
        f"several releases are called {name}" if meant else f"no release {name}",
        why=f"the newest are: {', '.join([*ids][:-4:-1])}" if ids else "there was no release yet",
        fix=f"did you mean {', '.join(close)}?" if close else "see `backfill releases`",
    )


def _release(environment: str, row: Row) -> Release:
    said = json.loads(cast(str, row["pointer"]))
    note = note_from_json(said)
    return Release(
        id=cast(str, row["release"]),
        environment=environment,
        revision=said["revision"],
        at=cast(datetime, row["at"]),
        by=note.by,
        back_to=note.back_to,
        evidence=note.evidence,
        rules=note.rules,
        at_once=note.at_once,
        clock=note.clock,
        settling=note.settling,
        pin=note.pin,
        moves=tuple(
            PointerMove(
                model=model,
                before=pointer_from_json(before) if before else None,
                after=pointer_from_json(after) if after else None,
                compaction=note.compaction,
                changed=None if note.changed is None else note.changed.get(model, NOTHING),
            )
            for model, before, after in said["moves"]
        ),
    )
