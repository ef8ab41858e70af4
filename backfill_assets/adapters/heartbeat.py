"""Where are a run's signs of life? A small file a process in `_control/runs/`, written again every few seconds.

Not a commit of a control table: that would be seventeen thousand a day. What is in the folder decides nothing about
rows; should it be lost, `status` takes running batches for stopped ones until their runs write it again. The locks of
`turn_lock.py` lie below it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from backfill_assets.adapters.folder import ArrowFolder, file_system
from backfill_assets.core.errors import StateError
from backfill_assets.project.object_store import is_s3
from backfill_assets.state.heartbeats import EVERY, STOPPED_AFTER, Heartbeat

FORGET_AFTER = 7 * 24 * 3600
"""Seconds after which the file of a process that was killed is removed by the next run."""


def runs_folder(warehouse: str) -> str:
    """Where the files of all runs are."""
    return f"{warehouse}/_control/runs"


@contextmanager
def sending_heartbeats(warehouse: str, run: str, *, routine: bool = False) -> Generator[None]:
    """Give signs of life for the run while the block runs; blocks of one run in one process share them. `routine`: it
    is a routine run, which goes before heavy builds."""
    key = warehouse, run
    with _LOCK:
        heart = _HEARTS.get(key)
        if heart is None:
            heart = _HEARTS[key] = _Heart(ArrowFolder(runs_folder(warehouse)), run, routine)
            heart.start()
        heart.users += 1
    try:
        yield
    finally:
        with _LOCK:
            heart.users -= 1
            if not heart.users:
                del _HEARTS[key]
                heart.stop()


def check_heard(warehouse: str, run: str) -> None:
    """In an object store, raise StateError when others may take this process for stopped, and what it writes over."""
    heart = _HEARTS.get((warehouse, run))
    if is_s3(warehouse) and heart is not None and (silent := heart.silence()):
        raise StateError(
            f"this run may have been taken for stopped in {warehouse}",
            why=f"its last sign of life was written {silent:.0f} s ago; in an object store one process at a time may "
            "write to a version's table, and another may have begun",
            fix="see that `_control/runs` there can be written, and that the machine does not sleep",
        )


def silent_for(warehouse: str, process: str) -> float | None:
    """Seconds since the last sign of life of a process that is at work, by the clock of the warehouse's store; None for
    one that has stopped. Raises StateError when this process's own sign of life is not there."""
    here, beats = process_token(), read_heartbeats(warehouse)
    own = min((beat.age for beat in beats if beat.process == here), default=None)
    if own is None:
        raise StateError(
            f"nobody can tell who writes in {warehouse}",
            why="no sign of life of this process is in _control/runs",
            fix="allow s3:PutObject and s3:ListBucket there, and run it again",
        )
    # This one's was given just now. Two machines may have one name: whether there is such a process here tells nothing.
    ages = [beat.age - own for beat in beats if beat.process == process]
    return min((max(age, 0.0) for age in ages if abs(age) <= STOPPED_AFTER), default=None)


def read_heartbeats(warehouse: str) -> list[Heartbeat]:
    """The last sign of life of every process that has not ended in order."""
    from pyarrow.fs import FileSelector, FileType

    folder, found = ArrowFolder(runs_folder(warehouse)), list[Heartbeat]()
    if "://" not in folder.location and not Path(folder.location).is_dir():
        return found
    now = datetime.now(UTC)
    for info in file_system(folder.location).get_file_info(FileSelector("", allow_not_found=True)):
        if info.type is not FileType.File or not info.base_name.endswith(".json") or info.base_name.startswith("."):
            continue
        with suppress(
            ValueError, KeyError, TypeError, OverflowError, RecursionError
        ):  # somebody else's file, or one that is cut
            said: dict[str, Any] = json.loads(folder.read(info.base_name) or b"")
            age = (now - info.mtime).total_seconds()
            beat = Heartbeat(run=said["run"], home=said["home"], pid=int(said["pid"]), age=age)
            process, routine = str(said.get("process", "")), bool(said.get("routine"))
            found.append(replace(beat, process=process, routine=routine, began=_minute(said.get("began"))))
    return found


def _minute(said: object) -> str:
    return f"{datetime.fromisoformat(said).astimezone(UTC):%Y-%m-%d %H:%M}" if isinstance(said, str) else ""


def process_token() -> str:
    """What tells this process from all others, wherever they run."""
    return _token(os.getpid())


@cache
def _token(pid: int) -> str:
    """What tells this process from all others, wherever they run; a fork is another one."""
    return uuid.uuid4().hex


def machine_name() -> str:
    """The machine and the process namespace that this process is in."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        space = 0
    return f"{socket.gethostname()}/{space}"


@dataclass(slots=True)
class _Heart:
    """The signs of life of one run in this process. A disk that cannot take them stops no build."""

    folder: ArrowFolder
    run: str
    routine: bool = False
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    users: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    heard: float = field(default_factory=time.time)
    """When the last one was written. Not by the monotonic clock, which stands still while a machine sleeps."""
    lost: float = 0.0
    """How long it was silent, once that was too long: it stays so, as others may have begun meanwhile."""

    def silence(self) -> float:
        """Seconds without a sign of life, if they are too many to go on; else 0."""
        passed = time.time() - self.heard
        if not self.lost and passed > STOPPED_AFTER / 2:
            self.lost = passed
        return self.lost

    @property
    def name(self) -> str:
        return f"{self.run}.{socket.gethostname()}.{os.getpid()}.{process_token()[:8]}.json"

    def start(self) -> None:
        self.beat()
        threading.Thread(target=self._beat_on, name=f"heartbeat-{self.run}", daemon=True).start()

    def beat(self) -> None:
        said = {"run": self.run, "home": machine_name(), "pid": os.getpid(), "at": datetime.now(UTC).isoformat()}
        said |= {"process": process_token(), "began": self.began}
        said |= {"routine": True} if self.routine else {}
        if self.silence() and is_s3(self.folder.location):
            return  # whoever took over meanwhile must not be stopped by it
        with suppress(OSError):
            began = time.time()
            self.folder.write(self.name, json.dumps(said).encode())
            self.heard = began

    def stop(self) -> None:
        self.over.set()
        with suppress(OSError):
            self.folder.delete(self.name)

    def _beat_on(self) -> None:
        self._tidy()
        while not self.over.wait(EVERY):
            self.beat()
            if self.over.is_set():  # it was stopped meanwhile: the file that it left has to go again
                self.stop()

    def _tidy(self) -> None:
        from pyarrow.fs import FileSelector, FileType

        with suppress(OSError):
            system = file_system(self.folder.location)
            for info in system.get_file_info(FileSelector("", allow_not_found=True)):
                if info.type is FileType.File and time.time() - info.mtime.timestamp() > FORGET_AFTER:
                    system.delete_file(info.path)


_LOCK = threading.Lock()
_HEARTS: dict[tuple[str, str], _Heart] = {}
