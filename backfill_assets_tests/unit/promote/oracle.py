"""May these rows be shown? Judged at each commit of an environment, by the rows that readers see and approvals' text.

Nothing of the gate is asked: what it says, what it calls changed, whose approval it takes to count are not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

from backfill_assets.core.intervals import Cadence
from backfill_assets.state.approvals import APPROVALS
from backfill_assets.state.columns import Columns
from backfill_assets.state.control import Control
from backfill_assets.state.environment import ENVIRONMENTS, Environment
from backfill_assets.state.store import ControlTable, Filter, Keep, Row, Sealed, Store, TableSpec
from backfill_assets_tests.fakes import FakeTables

DAYS = timedelta(days=14)
"""How long an approval holds, by the rules that the first release recorded."""


SETTLES = {"a": timedelta(days=3), "b": timedelta(days=3)}
"""How long rows of a day may come after it, by the same rules; a day more is there to look at the last of them."""
DAY = timedelta(days=1)


class Seen(NamedTuple):
    """What a reader sees of a day: the rows (no two computations give the same), and of which logic they are."""

    rows: int
    logic: str


Rows = Mapping[tuple[str, datetime], Seen]
"""Model and day → what is seen of it."""


def rows_of(environment: Environment, tables: FakeTables) -> dict[tuple[str, datetime], Seen]:
    """All that readers of an environment see, from the tables themselves."""
    found: dict[tuple[str, datetime], Seen] = {}
    for name, pointer in environment.pointers.items():
        for segment in pointer.segments:
            cells = tables.cells(name, segment.version, segment.commit)
            for unit in Cadence.DAILY.split(segment.interval):
                found[name, unit.start] = Seen(cells[unit.start].rows, segment.version.partition(".")[0])
    return found


class Names(NamedTuple):
    """Whom files name for a model: its owner, who validates it, and the owner of each critical consumer of it."""

    owner: str
    validation: str
    readers: Mapping[str, str]


@dataclass(kw_only=True)
class Oracle:
    """Holds what each release showed, what approvers looked at and who opened plans; `look` judges what is shown."""

    store: Store
    tables: FakeTables
    clock: Callable[[], datetime]
    declared: Callable[[], Mapping[str, Names]]
    """Model → whom the files name at this moment."""
    people: Mapping[str, str]
    """Account → person, by the rules that the first release recorded."""
    shown: Rows = field(default_factory=dict[tuple[str, datetime], Seen])
    out_of_sight: dict[str, Rows] = field(default_factory=dict[str, Rows])
    """Model that a rollback took out of sight → what was seen of it last."""
    lost: dict[tuple[str, datetime], Seen] = field(default_factory=dict[tuple[str, datetime], Seen])
    """The same of days of models that are seen."""
    releases: dict[str, Rows] = field(default_factory=dict[str, Rows])
    """Release → all that was seen after it."""
    names: dict[str, Names] = field(default_factory=dict[str, Names])
    """Model → who is asked by what was recorded, whatever files say since."""
    authors: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Plan → the accounts that opened it."""
    looked_at: dict[str, Rows] = field(default_factory=dict[str, Rows])
    """The text of a statement → what the candidate showed to whoever gave it."""
    replaced: dict[tuple[str, datetime], int] = field(default_factory=dict[tuple[str, datetime], int])
    """Model and day → how often other rows were shown in its place, but by late rows."""
    seen_before: dict[str, Mapping[tuple[str, datetime], int]] = field(
        default_factory=dict[str, Mapping[tuple[str, datetime], int]]
    )
    """The text of a statement → the same when it was given."""
    going_back_to: list[str] = field(default_factory=list[str])
    """The release that whoever acts goes back to; empty: nobody goes back."""
    project_clock: Callable[[], datetime]
    """By which days are over, for whoever acts."""
    latest: datetime = datetime(1, 1, 1, tzinfo=UTC)
    """The latest such instant of a release."""
    settling: int = 0
    """How many routine runs are looking at late rows at this moment."""
    came: Callable[[], Sequence[tuple[int, datetime]]] = lambda: ()
    """What came to the source: its commit, and the day that it is of."""
    computed_from: Callable[[int], int] = lambda _: 0
    """How far the source was when rows were computed."""
    went_back: set[tuple[str, datetime]] = field(default_factory=set[tuple[str, datetime]])
    """The days that somebody has gone back with, and nobody changed since, or undid."""
    before_back: tuple[str, set[tuple[str, datetime]]] | None = None
    """Since somebody went back, and did not undo that, as long as nobody decides on anything else: the release before,
    and `went_back` then."""
    newest: str = ""
    """The release that was made last."""
    problems: list[str] = field(default_factory=list[str])

    def look(self) -> None:
        """Judge what is shown by now, against what was shown before."""
        control = Control.over(self.store)
        prod = control.environments.read("prod")
        now = rows_of(prod, self.tables)
        others = [at for at, seen in self.shown.items() if (now[at].rows if at in now else 0) != seen.rows]
        target = self.releases[self.going_back_to[-1]] if self.going_back_to else None
        names = {name for name, _ in now}
        back = names & self.out_of_sight.keys()
        again = [self.out_of_sight.pop(name) for name in back]
        if target is None:  # what comes back by a release of its own is judged by what was seen of it last
            others += [at for rows in again for at, seen in rows.items() if at in now and now[at].rows != seen.rows]
        newest = {name: self.shown[name, day].logic for name, day in sorted(self.shown)}
        for at in now.keys() & self.lost.keys():
            seen = self.lost.pop(at)
            goes_on = now[at].logic == newest.get(at[0]) != seen.logic
            if target is None and now[at].rows != seen.rows and not goes_on and at not in others:
                others.append(at)
        declared = self.declared()
        moved, agreed = {name for name, _ in others}, set[str]()
        self.latest = max(self.latest, self.project_clock())
        decided = list[tuple[str, datetime]]()
        for name, day in others:
            if target is not None:
                decided.append((name, day))
                if not _back(target, now, name, day):
                    self.problems.append(f"{name} {day:%m-%d} went back to rows that the release did not show")
                continue
            if self.settling and self._settles(others, now, name, day):
                continue
            agreed.add(name)
            decided.append((name, day))
            for owner in _asked(self.names[name], declared[name]):
                if (name, day) not in now:
                    self.problems.append(f"{name} {day:%m-%d} is gone")
                elif not any(self._covers(said, now, name, day, moved) for said in self._approvals(owner)):
                    self.problems.append(f"{name} {day:%m-%d} shows other rows, and {owner or 'nobody'} said no yes")
        for at in decided:
            self.replaced[at] = self.replaced.get(at, 0) + 1
        for name in names | agreed:
            if name not in self.names:
                self.names[name] = declared[name]
            elif target is None and name in agreed:
                then, now_said = self.names[name], declared[name]
                readers = {**now_said.readers, **then.readers}
                self.names[name] = Names(now_said.owner, now_said.validation or then.validation, readers)
        shown_again = {at for at in now if at[0] in back}  # somebody decided so, also with the rows that it had
        if others or shown_again:
            self._go_back(set(others), bool(decided), shown_again)
        for name in {name for name, _ in self.shown} - names:
            self.out_of_sight[name] = {at: seen for at, seen in self.shown.items() if at[0] == name}
        self.lost |= {at: seen for at, seen in self.shown.items() if at[0] in names and at not in now}
        self.shown = now
        if made := control.releases.all("prod"):
            self.releases.setdefault(made[-1].id, now)
            self.newest = made[-1].id

    def _go_back(
        self, others: set[tuple[str, datetime]], decided: bool, shown_again: set[tuple[str, datetime]]
    ) -> None:
        """Note what somebody has gone back with by this commit; undone, it is as it was before."""
        before, there = self.went_back, self.before_back
        if not self.going_back_to:
            self.went_back = before - others - shown_again
            if decided or shown_again:
                self.before_back = None
        elif there is not None and there[0] == self.going_back_to[-1]:
            self.went_back, self.before_back = (before - others) | (there[1] & others), None
        else:
            self.went_back, self.before_back = before | others, (self.newest, before)

    def _settles(self, others: Sequence[tuple[str, datetime]], now: Rows, name: str, day: datetime) -> bool:
        """Whether its owner has consented beforehand: rows came late, within the window, and everything that reads the
        day goes with it."""
        window = SETTLES.get(name)
        if window is None or not {(name, day)} <= now.keys() & self.shown.keys() or (name, day) in self.went_back:
            return False
        if day + DAY + window + DAY <= self.latest or now[name, day].logic != self.shown[name, day].logic:
            return False
        if name == "b":
            return ("a", day) in others or ("a", day - DAY) in others
        known = self.computed_from(self.shown[name, day].rows)
        readers = [("b", d) for d in (day, day + DAY) if ("b", d) in self.shown]
        return all(r in others for r in readers) and any(
            commit > known and day <= of <= day + window for commit, of in self.came()
        )

    def _approvals(self, owner: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The texts, and what they say, of the approvals that hold for an owner at this moment."""
        for row in self.store.table(APPROVALS).read():
            text = cast(str, row["statement"])
            said, account = json.loads(text), cast(str, row["account"])
            given = min(datetime.fromisoformat(said["at"]), cast(datetime, row["recorded"]).astimezone(UTC))
            person = self.people.get(account, account)
            authors = {self.people.get(a, a) for a in self.authors.get(said["plan"], set())}
            if (
                said["environment"] == "prod"
                and said["owner"] == owner
                and said["by"] in (account, person)
                and (person == owner if owner else person not in authors)
                and person not in authors
                and given + DAYS > self.clock()
            ):
                yield text, said

    def _covers(
        self, approval: tuple[str, Mapping[str, Any]], now: Rows, name: str, day: datetime, moved: set[str]
    ) -> bool:
        """Whether it is about this day, and all rows in its scope, of models that moved, are those that were seen."""
        text, said = approval
        seen, scope = self.looked_at.get(text, {}), said["scope"]
        for model in moved & set(scope):
            for at in (at for at in now if at[0] == model and _within(scope[model], at[1])):
                if at not in seen or seen[at].rows != now[at].rows:
                    return False
        if self.replaced.get((name, day), 0) != self.seen_before.get(text, {}).get((name, day), 0):
            return False
        if _within(scope.get(name, []), day):
            return True
        since = said.get("onward", {}).get(name)
        if since is None or day < datetime.fromisoformat(since):
            return False
        last = max(at for at in seen if at[0] == name and _within(scope[name], at[1]))
        return seen[last].logic == now[name, day].logic


def _asked(then: Names, now: Names) -> set[str]:
    """All of them have to say yes. A model without an owner: anybody ("") but the author."""
    owners = {then.owner, now.owner} - {""} or {""}
    others = {then.validation, now.validation, *then.readers.values(), *now.readers.values()} - {""}
    return owners | others


def _within(pairs: Sequence[Sequence[str]], day: datetime) -> bool:
    return any(datetime.fromisoformat(a) <= day < datetime.fromisoformat(b) for a, b in pairs)


def _back(target: Rows, now: Rows, name: str, day: datetime) -> bool:
    """Whether a day shows what a release showed; where it showed nothing, rows of that logic, or nothing."""
    logics = {seen.logic for (model, _), seen in target.items() if model == name}
    if (name, day) not in now:
        return (name, day) not in target
    if (name, day) in target:
        return target[name, day].rows == now[name, day].rows
    return now[name, day].logic in logics


class Watched:
    """A store that calls `looked` after each commit to the table of environments, and whose clocks may be wrong."""

    def __init__(self, store: Store) -> None:
        self.inner, self.looked = store, _nothing
        self.skew = timedelta()
        """How far the clock of the machine that writes is off."""

    def table(self, spec: TableSpec) -> ControlTable:
        return _WatchedTable(self.inner.table(spec), spec, self)


@dataclass(frozen=True, slots=True)
class _WatchedTable:
    table: ControlTable
    spec: TableSpec
    store: Watched

    def read(self, where: Filter | None = None) -> list[Row]:
        return self.table.read(where)

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        return self.table.stream(where)

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        return self.table.columns(names, where, after=after)

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        return self.table.chosen(names, keep, after=after)

    def sealed(self) -> Sealed | None:
        return self.table.sealed()

    def revision(self) -> int:
        return self.table.revision()

    def state(self) -> str:
        return self.table.state()

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        return self.table.read_at(where)

    def append(self, rows: Sequence[Row]) -> None:
        self.table.append([self._by_that_clock(row) for row in rows])

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        found = self.table.replace(
            [self._by_that_clock(row) for row in rows], where=where, revision=revision, note=note
        )
        if self.spec.name == ENVIRONMENTS.name:
            self.store.looked()
        return found

    def compact(self, most_files: int = 64) -> None:
        self.table.compact(most_files)

    def _by_that_clock(self, row: Row) -> Row:
        """As a machine writes it whose clock is off."""
        if self.spec.name not in ("ledger", "proofs", "audits", "approvals"):
            return row
        return {
            n: v + self.store.skew if n in ("at", "recorded") and isinstance(v, datetime) else v for n, v in row.items()
        }


def _nothing() -> None:
    """Before anybody looks."""
