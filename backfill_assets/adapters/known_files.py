"""Which data files hold what is shown of a table? Its log says so, and it is remembered: no commit changes.

Plans look whether the files that are shown are there. To open a table of years takes several times as long as to look
at its files.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from backfill_assets.adapters.durable import local
from backfill_assets.adapters.log_folder import read_log
from backfill_assets.core.intervals import Interval
from backfill_assets.files.cache_files import read_private, write_private

_NEVER = 1.0
_AHEAD = 60.0
"""Seconds that the time of a file on another machine's disk may be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPart:
    """The files of an interval at a commit of a table on a local disk, and the rows that they have of it."""

    files: Mapping[str, int]
    """Path from the table's folder → bytes."""
    rows: int

    def is_there(self, location: str) -> bool:
        """Whether each of them is, of its size."""
        return all_there((f"{location}/{path}", size) for path, size in self.files.items())


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """What is remembered, in a folder of the project's cache: a file for each table and beginning of an interval, which
    the next commit's takes the place of."""

    folder: Path

    def read(self, location: str, interval: Interval, state: str) -> KnownPart | None:
        """What is known where the log tells the commit by this `state`; None where nothing is."""
        with suppress(OSError, ValueError, KeyError, TypeError):  # no file, half a file, one of another release
            said = json.loads(read_private(self._file(location, interval)))
            if said["of"] == _key(location, interval, state):
                return KnownPart(files={str(p): int(s) for p, s in said["files"].items()}, rows=int(said["rows"]))
        return None

    def keep(self, location: str, interval: Interval, state: str, part: KnownPart) -> None:
        """Remember a part. `state` is the log's as it was before the part was read from it."""
        said = {"of": _key(location, interval, state), **asdict(part)}
        with suppress(OSError):  # a disk that is full, a folder of somebody else's
            write_private(self._file(location, interval), json.dumps(said))

    def look_first(self, location: str, interval: Interval) -> None:
        """Something is wrong with the part: it is looked at before any other."""
        self.looked(location, interval)
        with suppress(OSError):
            os.utime(self._file(location, interval), (0, 0))

    def looked(self, location: str, interval: Interval) -> None:
        """Remember that somebody looks at the part right now, also where nothing else can be remembered of it."""
        file = self._file(location, interval)
        with suppress(OSError):
            if file.exists():
                os.utime(file)
            else:
                write_private(file, "{}")

    def last_look(self, location: str, interval: Interval) -> float | None:
        """When that was, in seconds since 1970: of this commit or an earlier one. 0.0: it was not as it should be; 1.0:
        never; None: it cannot be remembered."""
        file = self._file(location, interval)
        try:
            found = os.stat(file)  # noqa: PTH116
        except OSError:
            with suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return _NEVER if os.access(self.folder, os.W_OK) else None
        if not os.access(file, os.W_OK):
            return None
        return found.st_mtime if found.st_mtime <= time.time() + _AHEAD else _NEVER  # by a clock that was ahead

    def _file(self, location: str, interval: Interval) -> Path:
        name = hashlib.sha256(f"{location}\n{interval.start.isoformat()}".encode()).hexdigest()
        return self.folder / f"{name[:32]}.json"


def all_there(files: Iterable[tuple[str, int]]) -> bool:
    """Whether all of these files of a local disk are, of these sizes. Arrow's file system, which says what is wrong
    with one, takes four times as long."""
    try:
        for path, size in files:
            there = os.stat(path)  # noqa: PTH116  (a Path a file takes longer than the look at it)
            if there.st_size != size or not stat.S_ISREG(there.st_mode):
                return False
    except (OSError, ValueError):
        return False
    return True


def log_state(location: str, commit: int) -> str:
    """Another text for another commit, and after whatever is done to the files of the log that tell it; "" where it
    cannot be told, or is not on a local disk."""
    if (folder := local(location)) is None:
        return ""
    with suppress(OSError):
        log = read_log(folder)
        if log.head >= commit and not log.problem(commit):
            return repr((commit, log.state_at(commit)))
    return ""


def _key(location: str, interval: Interval, state: str) -> str:
    return hashlib.sha256(repr((location, str(interval), state)).encode()).hexdigest()
