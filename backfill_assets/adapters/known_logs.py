"""Which commits does a table's log have? It is listed once, and again when its folder says that it changed.

A folder's times move with every name that comes to it, goes or changes; what is in the files they do not tell, so that
is looked up each time. Logs of years have thousands of files, and planning asks for hundreds of tables.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from backfill_assets.adapters.log_folder import Listing, list_log
from backfill_assets.files.cache_files import read_private, write_private

_SETTLED = 2 * 10**9
"""Nanoseconds after which another change of a folder surely has another time: those of some disks are of whole seconds,
or are rounded to two."""
Folder: TypeAlias = tuple[int, int, int, int]
"""Which folder it is, and when a name in it changed last."""


class KnownLogs:
    """What was listed, in a file of the project's cache."""

    def __init__(self, file: Path, now: Callable[[], int] = time.time_ns) -> None:
        """`now`: nanoseconds since 1970."""
        self._file, self._now = file, now
        self._known: dict[str, tuple[Folder, Listing]] | None = None
        self._news = False

    def listing(self, folder: str) -> Listing:
        """What `list_log` says. Raises OSError as it does."""
        if self._known is None:
            self._known = self._read()
        found = os.stat(folder)  # noqa: PTH116  (before the listing: what comes in between is seen the next time)
        stamp = found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        if (known := self._known.get(folder)) and known[0] == stamp:
            return known[1]
        listed = list_log(folder)
        if isinstance(listed.commits, range) and max(stamp[2:]) < self._now() - _SETTLED:
            self._known[folder] = stamp, listed
            self._news = True
        return listed

    def save(self) -> None:
        """Remember what was listed anew for the next command."""
        if not self._news or self._known is None:
            return
        said = {
            folder: [stamp, listed.commits.start, listed.commits.stop, listed.beside]
            for folder, (stamp, listed) in self._known.items()
            if isinstance(listed.commits, range) and os.path.isdir(folder)  # noqa: PTH112
        }
        with suppress(OSError):  # a disk that is full, a folder of somebody else's
            write_private(self._file, json.dumps(said))
            self._news = False

    def _read(self) -> dict[str, tuple[Folder, Listing]]:
        with suppress(
            OSError, ValueError, TypeError, AttributeError, LookupError
        ):  # none, half of one, another release's
            return {
                str(folder): (
                    (int(stamp[0]), int(stamp[1]), int(stamp[2]), int(stamp[3])),
                    Listing(commits=range(first, end), beside=tuple(map(str, beside))),
                )
                for folder, (stamp, first, end, beside) in json.loads(read_private(self._file)).items()
            }
        return {}
