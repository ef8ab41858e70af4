"""Which commits does a table's log have? It is listed once, and again when its folder says that it changed.

A folder's times move with every name that comes to it, goes or changes; what is in the files they do not tell, so that
is looked up each time. A mounted bucket's folders may have one time for ever, and a network's may be told late: so the
entry of the next commit is looked for as well. Logs of years have thousands of files, and planning asks for hundreds of
tables.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from backfill_assets.adapters.log_folder import Listing, entry_name, list_log
from backfill_assets.files.cache_files import read_private, write_private

_SETTLED = 2 * 10**9
"""Nanoseconds after which another change of a folder surely has another time: those of some disks are of whole seconds,
or are rounded to two."""
Folder: TypeAlias = tuple[int, int, int, int]
"""Which folder it is, and when a name in it changed last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """A log without holes, as it was listed."""

    folder: Folder
    commits: range
    beside: tuple[str, ...]

    def holds(self, folder: str) -> bool:
        """Whether it is what a listing would say now."""
        return self.folder == _stamp(folder) and not os.path.exists(f"{folder}/{entry_name(self.commits.stop)}")  # noqa: PTH110


class KnownLogs:
    """What was listed, in a file of the project's cache."""

    def __init__(self, file: Path, now: Callable[[], int] = time.time_ns) -> None:
        """`now`: nanoseconds since 1970."""
        self._file, self._now = file, now
        self._known = _read(file)
        self._seen: dict[str, _Listed] = {}
        """What somebody asked for."""
        self._news = False

    def listing(self, folder: str) -> Listing:
        """What `list_log` says. Raises OSError as it does."""
        known = self._seen.get(folder) or self._known.get(folder)
        if known is not None and known.holds(folder):
            self._seen[folder] = known
            return Listing(commits=known.commits, beside=known.beside)
        began, stamp = self._now(), _stamp(folder)  # first: what comes in between is seen the next time
        found = list_log(folder)
        if isinstance(found.commits, range) and max(stamp[2:]) < began - _SETTLED:
            self._seen[folder] = _Listed(folder=stamp, commits=found.commits, beside=found.beside)
            self._news = True
        return found

    def save(self) -> None:
        """Remember it for the next command, if any was listed anew."""
        if self._news:
            seen = dict(self._seen)
            said = {name: [log.folder, log.commits.start, log.commits.stop, log.beside] for name, log in seen.items()}
            with suppress(OSError):  # a disk that is full, a folder of somebody else's
                write_private(self._file, json.dumps(said))
                self._news = False


def _read(file: Path) -> Mapping[str, _Listed]:
    with suppress(OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError):
        return {
            str(name): _Listed(
                folder=(int(at[0]), int(at[1]), int(at[2]), int(at[3])),
                commits=range(first, end),
                beside=tuple(map(str, beside)),
            )
            for name, (at, first, end, beside) in json.loads(read_private(file)).items()
        }
    return {}  # there is none, half of one, or another release's


def _stamp(folder: str) -> Folder:
    found = os.stat(folder)  # noqa: PTH116
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
