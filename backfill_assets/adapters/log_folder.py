"""Is the log of a Delta table on a local disk whole? Neither Spark nor delta-rs says so when an entry lost its content.

A machine that loses power may leave an entry's name without its content, or with the first lines of it. Readers of the
Delta protocol take that for a commit that did nothing, or less, and show fewer rows without a word (seen with Spark 4.2
and deltalake 1.6). What an entry lost is told by what its own first line counts: see `log_entry.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from backfill_assets.adapters.log_entry import flaw
from backfill_assets.core.errors import DamagedLogError
from backfill_assets.files.no_access import no_access
from backfill_assets.project.object_store import way_back

LOG = "_delta_log"
HINT = "_last_checkpoint"
"""The file that says with which checkpoint readers begin."""
Stamp: TypeAlias = tuple[int, int]
"""Bytes of a file, and when it was written last, in nanoseconds."""
_JSON = ".json"
_ENTRY_LENGTH = 20 + len(_JSON)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json)")
_LOOKS = 3
"""A listing is not taken at one instant: what seems to be missing in it may have been written meanwhile."""
_whole: dict[str, Stamp] = {}
"""Entries that this process has found whole, as they were then: no commit changes, and logs are opened many times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The names in the folder of a log that say something."""

    commits: range | frozenset[int] = range(0)
    """Which entries are there; a range where none is missing in between, as nearly always."""
    beside: tuple[str, ...] = ()
    """The files of checkpoints, and the hint."""


class Entries(Mapping[int, Stamp]):
    """The entries of a log and their stamps, each looked up when somebody asks: of the thousands of a table of years,
    plans ask about those after the newest checkpoint. The stamp of one that is gone by then: nothing."""

    def __init__(self, folder: str, commits: range | frozenset[int]) -> None:
        self._folder, self._commits = folder, commits
        self.newest: int = max(commits, default=-1) if isinstance(commits, frozenset) else commits.stop - 1
        """The largest number of all; -1 where there is none."""

    def __getitem__(self, commit: int) -> Stamp:
        if commit not in self:
            raise KeyError(commit)
        return _stamp(f"{self._folder}/{entry_name(commit)}")

    def __contains__(self, commit: object) -> bool:
        return commit in self._commits

    def __iter__(self) -> Iterator[int]:
        return iter(self._commits)

    def __len__(self) -> int:
        return len(self._commits)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFolder:
    """The files of a log by the commit that they are of: each entry, and the checkpoints that are complete."""

    entries: Entries = field(default_factory=lambda: Entries("", range(0)))
    checkpoints: frozenset[int] = frozenset()
    beside: frozenset[tuple[str, Stamp]] = frozenset()
    """The files of checkpoints, and the hint."""

    @property
    def head(self) -> int:
        """The number of the newest commit; -1 when there is no table."""
        return self.entries.newest

    def needed(self, commit: int) -> range:
        """The entries that tell the table at a commit: those after its newest checkpoint, or all."""
        return range(max((c for c in self.checkpoints if c <= commit), default=-1) + 1, commit + 1)

    @property
    def state(self) -> object:
        """Equal to that of another look where what tells the newest commit was not touched in between."""
        return self.state_at(self.head)

    def state_at(self, commit: int) -> object:
        """The same of any commit."""
        told = (*self.needed(commit), commit)
        return tuple(sorted(self.beside)), tuple((number, self.entries.get(number)) for number in told)

    def problem(self, commit: int) -> str:
        """Why the table at a commit cannot be told from this log, as far as a listing says; "" when it can."""
        for number in self.needed(commit):
            if number not in self.entries:
                return f"{entry_name(number)} is missing"
            if not self.entries[number][0]:
                return f"{entry_name(number)} is empty"
        return ""


def list_log(folder: str) -> Listing:
    """What a log's folder has. Raises OSError."""
    names = os.listdir(folder)  # noqa: PTH208  (a thousand a table, of hundreds of tables, every plan)
    long = [name for name in names if len(name) == _ENTRY_LENGTH]
    beside = (name for name in names if len(name) != _ENTRY_LENGTH)
    return Listing(
        commits=_commits(long), beside=tuple(sorted(n for n in beside if n == HINT or _CHECKPOINT.fullmatch(n)))
    )


def _commits(names: Sequence[str]) -> range | frozenset[int]:
    """The numbers of the entries among names of that length. All at once where they are entries in a row."""
    text = "".join(names)
    ends = all(text[20 + at :: _ENTRY_LENGTH] == letter * len(names) for at, letter in enumerate(_JSON))
    if ends and text.isascii() and text.count(_JSON) == len(names) and text.replace(_JSON, "").isdecimal():
        first, last = int(min(names)[:20]), int(max(names)[:20])
        if last - first + 1 == len(names):
            return range(first, last + 1)
    found = frozenset(int(n[:20]) for n in names if n.isascii() and n.endswith(_JSON) and n[:20].isdecimal())
    return found or range(0)


def entry_name(commit: int) -> str:
    """The file name of a commit's log entry."""
    return f"{commit:020}.json"


def read_log(location: str, listing: Callable[[str], Listing] = list_log) -> LogFolder:
    """What is in the log's folder; nothing when there is none. Raises NotADirectoryError when it is a file, and
    NoAccessError where this account may not look."""
    parts: dict[tuple[int, int], set[int]] = {}
    beside: set[tuple[str, Stamp]] = set()
    try:
        listed = listing(f"{location}/{LOG}")
    except FileNotFoundError:
        return LogFolder()
    except PermissionError:
        raise no_access(f"{location}/{LOG}") from None
    for name in listed.beside:
        size, written = _stamp(f"{location}/{LOG}/{name}")
        beside.add((name, (size, written)))
        if size and (part := _CHECKPOINT.fullmatch(name)):
            of = int(part[3] or 1)
            parts.setdefault((int(part[1]), of), set()).add(int(part[2] or 1))
    whole = frozenset(commit for (commit, of), have in parts.items() if len(have) == of)
    return LogFolder(entries=Entries(f"{location}/{LOG}", listed.commits), checkpoints=whole, beside=frozenset(beside))


def _stamp(path: str) -> Stamp:
    """Of a file that went since it was listed, as Spark's hint does while it is written again: nothing."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return 0, 0
    except PermissionError:
        raise no_access(path) from None
    return found.st_size, found.st_mtime_ns


def check_log(
    location: str, commit: int | None = None, *, every: bool = True, listing: Callable[[str], Listing] = list_log
) -> int:
    """Raise DamagedLogError when the log does not say what the table is at a commit (None: the newest), or this account
    may not read it (NoAccessError); returns its number.

    -1 when there is no table at all. `every` False: of the older entries only whether they are there, which is what
    planning asks about thousands of them; nobody opens a table without the rest.
    """
    problem = ""
    for _ in range(_LOOKS):
        try:
            log = read_log(location, listing)
        except NotADirectoryError:
            raise damaged(location, f"it is a file, or {LOG} is one, where a folder belongs") from None
        wanted = log.head if commit is None else commit
        problem = log.problem(wanted) or _flawed(location, log, log.needed(wanted) if every else (), wanted)
        if not problem or log.head < 0:
            return min(wanted, log.head)
    raise damaged(location, problem)


def damaged(location: str, why: str) -> DamagedLogError:
    """The refusal to read a table whose log is not whole; `fix` is for tables of the warehouse."""
    return DamagedLogError(
        f"the log of the table {location} is damaged; nothing is read from it",
        why=why,
        fix=(
            f"restore it from {way_back(location)}"
            if "://" in location
            else "backfill warehouse --repair sets a newest entry aside that nobody was told of; restore the folder "
            "from a backup otherwise"
        )
        + ". `backfill doctor --deep` names all that is damaged in the warehouse",
    )


def _flawed(location: str, log: LogFolder, needed: Collection[int], newest: int) -> str:
    for number in (n for n in (*needed, newest) if n in log.entries):
        if why := _flaw(f"{location}/{LOG}/{entry_name(number)}", number, log.entries[number]):
            return f"{entry_name(number)} {why}"
    return ""


def _flaw(path: str, commit: int, stamp: Stamp) -> str:
    if _whole.get(path) == stamp:
        return ""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  (this is asked of every table by every plan)
            why = flaw(file.read(), commit)
    except FileNotFoundError:  # the janitor removes the table, newest entry first
        return "is missing"
    except IsADirectoryError:
        return "is a folder"
    except PermissionError:
        raise no_access(path) from None
    if not why:
        _whole[path] = stamp
    return why
