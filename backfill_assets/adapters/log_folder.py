"""Is the log of a Delta table on a local disk whole? Neither Spark nor delta-rs says so when an entry is empty.

A machine that loses power may leave an entry's name without its content. Readers of the Delta protocol take an empty
entry for a commit that did nothing, and show fewer rows without a word (seen with Spark 4.2 and deltalake 1.6).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from backfill_assets.core.errors import StateError

LOG = "_delta_log"
_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json)")
_LOOKS = 3
"""A listing is not taken at one instant: what seems to be missing in it may have been written meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFolder:
    """The files of a log by the commit that they are of: bytes of each entry, and the checkpoints that are complete."""

    entries: Mapping[int, int] = field(default_factory=dict[int, int])
    checkpoints: frozenset[int] = frozenset()

    @property
    def head(self) -> int:
        """The number of the newest commit; -1 when there is no table."""
        return max(self.entries, default=-1)

    def problem(self, commit: int) -> str:
        """Why the table at a commit cannot be told from this log; "" when it can.

        From the newest checkpoint up to the commit, or from the beginning, every entry has to be there.
        """
        begin = max((c for c in self.checkpoints if c <= commit), default=-1)
        for number in range(begin + 1, commit + 1):
            if number not in self.entries:
                return f"{entry_name(number)} is missing"
            if not self.entries[number]:
                return f"{entry_name(number)} is empty"
        return ""


def entry_name(commit: int) -> str:
    """The file name of a commit's log entry."""
    return f"{commit:020}.json"


def read_log(location: str) -> LogFolder:
    """What is in the log's folder; nothing when there is none. Raises NotADirectoryError when it is a file."""
    entries: dict[int, int] = {}
    parts: dict[tuple[int, int], set[int]] = {}
    try:
        with os.scandir(f"{location}/{LOG}") as found:
            for file in found:
                if entry := _ENTRY.fullmatch(file.name):
                    entries[int(entry[1])] = file.stat().st_size
                elif (part := _CHECKPOINT.fullmatch(file.name)) and file.stat().st_size:
                    of = int(part[3] or 1)
                    parts.setdefault((int(part[1]), of), set()).add(int(part[2] or 1))
    except FileNotFoundError:
        return LogFolder()
    whole = frozenset(commit for (commit, of), have in parts.items() if len(have) == of)
    return LogFolder(entries=entries, checkpoints=whole)


def check_log(location: str, commit: int | None = None) -> int:
    """Raise StateError unless the log says what the table is at a commit (None: the newest); returns its number.

    -1 when there is no table at all.
    """
    problem = ""
    for _ in range(_LOOKS):
        log = read_log(location)
        wanted = log.head if commit is None else commit
        problem = log.problem(wanted) or (_cut(location, wanted) if wanted in log.entries else "")
        if not problem or log.head < 0:
            return min(wanted, log.head)
    raise damaged(location, problem)


def damaged(location: str, why: str) -> StateError:
    """The refusal to read a table whose log is not whole."""
    return StateError(
        f"the log of the table {location} is damaged; nothing is read from it",
        why=why,
        fix="backfill warehouse --repair sets a newest entry aside that nobody was told of; restore the folder from a "
        "backup otherwise. `backfill doctor --deep` names all that is damaged in the warehouse",
    )


def _cut(location: str, commit: int) -> str:
    """Whether an entry ends within a line: what a crash leaves of a file that was not on the disk yet."""
    path = f"{location}/{LOG}/{entry_name(commit)}"
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (this is asked of every table by every plan)
            file.seek(max(os.fstat(file.fileno()).st_size - 8, 0))
            return "" if file.read().rstrip().endswith(b"}") else f"{entry_name(commit)} is cut off"
    except FileNotFoundError:  # the janitor removes the table, newest entry first
        return f"{entry_name(commit)} is missing"
