"""What does a machine without power leave of a folder? What was synced, and of the rest a name without content, or not
even that.

`Disk` watches `os.fsync`. A file's content is kept when it was synced after it was last written; its name when its
folder was synced after it came there. delta-rs writes without syncing, and Spark too: what they write is lost unless we
sync it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass(slots=True)
class Disk:
    """What has reached the disk, of one folder."""

    root: Path
    contents: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Inode → size and time of the last change, when it was synced."""
    names: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    """Inode of a folder → what was in it when it was synced."""
    after: Callable[[], object] | None = None
    """Called after each sync: a moment at which power may be lost."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, handle: int) -> None:
        with self.lock:
            self._note(handle)

    def _note(self, handle: int) -> None:
        seen = os.fstat(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_dir():
            self.names[seen.st_ino] = frozenset(p.name for p in path.iterdir())
        else:
            self.contents[seen.st_ino] = (seen.st_size, seen.st_mtime_ns)
        if self.after is not None:
            self.after()

    def keep(self) -> None:
        """Whatever is there now was written long ago."""
        for path in [self.root, *self.root.rglob("*")]:
            seen = path.stat()
            if path.is_dir():
                self.names[seen.st_ino] = frozenset(p.name for p in path.iterdir())
            else:
                self.contents[seen.st_ino] = (seen.st_size, seen.st_mtime_ns)

    def crash(self, target: Path, *, empty: bool) -> Path:
        """The folder as it is found after the power came back. `empty`: names are kept, what was not synced is empty;
        otherwise names that were not synced are gone."""
        shutil.rmtree(target, ignore_errors=True)
        self._copy(self.root, target, empty)
        return target

    def _copy(self, source: Path, target: Path, empty: bool) -> None:
        target.mkdir(parents=True)
        known = self.names.get(source.stat().st_ino, frozenset())
        for path in source.iterdir():
            if path.name not in known and not empty:
                continue
            if path.is_dir():
                self._copy(path, target / path.name, empty)
                continue
            seen = path.stat()
            kept = self.contents.get(seen.st_ino) == (seen.st_size, seen.st_mtime_ns)
            (target / path.name).write_bytes(path.read_bytes() if kept else b"")


@contextmanager
def watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Disk]:
    """The disk under a folder that exists."""
    disk, real = Disk(root), os.fsync
    disk.keep()

    def fsync(handle: int) -> None:
        real(handle)
        if Path(f"/proc/self/fd/{handle}").readlink().is_relative_to(root.parent):
            disk.note(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield disk
