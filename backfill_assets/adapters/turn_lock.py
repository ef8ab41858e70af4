"""How does one process at a time build an interval of a version? By a lock on a part of a file, from begin to end.

The part is the interval, in seconds: those of batches that overlap do so as well. The kernel gives a lock back when its
process ends, however it ends. The files are empty, one a version, and stay: to delete one that somebody is about to
lock would let two build the same days.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from backfill_assets.adapters.durable import local
from backfill_assets.adapters.heartbeat import runs_folder
from backfill_assets.core.intervals import Interval

_SET = getattr(fcntl, "F_OFD_SETLK", None)
"""A lock of an open file: of one batch, where several of a process run side by side. Linux has them."""
_FIRST = datetime.fromisoformat("0001-01-01T00:00:00+00:00")
_OPEN = set[int]()
"""The files that this process has open: a fork of it, as of a pool in somebody's model, would keep their locks."""


def _close_in_child() -> None:
    for handle in _OPEN:
        with suppress(OSError):
            os.close(handle)
    _OPEN.clear()


os.register_at_fork(after_in_child=_close_in_child)


@contextmanager
def only_builder(warehouse: str, model: str, version: str, interval: Interval) -> Generator[bool]:
    """Whether nobody else builds any of the interval while the block runs: of all that see the warehouse's disk.

    True as well where nobody can tell: in an object store, where one process at a time has the lease of a table; on
    a disk or a system without such locks; for an account that may not write there. Delta refuses what two commit over
    each other.
    """
    folder = local(runs_folder(warehouse))
    handle = _opened(Path(folder, "locks"), model, version) if folder is not None and _SET is not None else None
    if handle is None:
        yield True
        return
    try:
        yield _is_locked(handle, interval)
    finally:
        _OPEN.discard(handle)
        os.close(handle)


def _opened(folder: Path, model: str, version: str) -> int | None:
    name = hashlib.sha256(f"{model}\n{version}".encode()).hexdigest()
    with suppress(OSError):
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _share(folder, stat.S_IRWXG)
        file = folder / f"{name[:32]}.lock"
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        _OPEN.add(handle)
        _share(file, stat.S_IRGRP | stat.S_IWGRP)
        return handle
    return None


def _share(path: Path, rights: int) -> None:
    """Give the group these rights where it may write to the folder: whatever the umask of who came first."""
    with suppress(OSError):  # somebody else's
        mode = path.stat().st_mode
        if path.parent.stat().st_mode & stat.S_IWGRP and mode & rights != rights:
            path.chmod(stat.S_IMODE(mode) | rights)


def _is_locked(handle: int, interval: Interval) -> bool:
    begin, end = (int((instant - _FIRST).total_seconds()) for instant in (interval.start, interval.end))
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, begin, end - begin, 0)
    try:
        fcntl.fcntl(handle, _SET or 0, wanted)
    except BlockingIOError:
        return False
    except OSError:  # a disk that has none, or does not let this process have one
        return True
    return True
