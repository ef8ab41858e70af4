"""When is something on the disk? Files, and the folders that name them, are synced before they count.

A write that returned is in the memory of the machine; a loss of power takes it, or leaves a name without content.
Object stores acknowledge what is stored, so only local folders are looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from backfill_assets.adapters.log_folder import HINT, LOG, entry_name, read_log

AT_ONCE = 16
"""Files that are synced together: the disk writes them in one go (270 files: 0.06 s, one after the other 0.53 s)."""
_FEW = 4
"""Fewer files are synced without threads."""
_synced: dict[tuple[str, int], int] = {}
"""A table's folder, with the inode of its log → up to which commit this process has synced the log's entries."""
_ABOVE = 3
"""Folders above a table's own: the model's or `_control`, the warehouse, and where that is."""


def local(location: str) -> str | None:
    """The path of a folder on this machine's disks; None for an object store."""
    if "://" not in location:
        return location
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme == "file" else None


def sync(path: str | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(target: Path, content: bytes) -> None:
    """Put a file in the place of what is there: another process, or a crash, finds the old one or the new one."""
    there = next(p for p in target.parents if p.is_dir())
    target.parent.mkdir(parents=True, exist_ok=True)
    growing = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with growing.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        growing.replace(target)
    except OSError:
        growing.unlink(missing_ok=True)
        raise
    for folder in target.parents:
        sync(folder)
        if folder == there:
            break


def sync_commits(location: str, commits: Iterable[int]) -> None:
    """Wait until these commits of a Delta table are on the disk: their data files, their log entries, the folders.

    Nothing is done for an object store.
    """
    folder = local(location)
    if folder is None:
        return
    wanted = frozenset(commits)
    if not wanted:
        return
    data = [f"{folder}/{name}" for number in wanted for name in _added(folder, number)]
    log, new = read_log(folder), max(wanted)
    known = (folder, os.stat(f"{folder}/{LOG}").st_ino)  # noqa: PTH116
    begin = max((c for c in log.checkpoints if c < min(wanted)), default=-1)
    first = min(wanted) <= 1 or known not in _synced  # a folder that is made anew may have the inode of the old one
    begin = begin if first else max(begin, min(_synced[known], min(wanted) - 1))
    # Others may have committed in between, and not synced yet: without their entries there would be a hole in the log.
    entries = [f"{folder}/{LOG}/{entry_name(n)}" for n in log.entries if begin < n <= new]
    checkpoints = {n for n in log.checkpoints if begin < n <= new}  # who wrote one may have died over it
    for number in wanted | checkpoints:  # a checkpoint, and what Delta knows of the table at the commit
        entries += [str(f) for f in Path(folder, LOG).glob(f"*{number:020}.c*")]
    if checkpoints:
        entries.append(f"{folder}/{LOG}/{HINT}")
    for files in (data, entries):  # an entry that is on the disk names files that are there
        _sync_all([*files, *filter(os.path.exists, map(_sums, files))])
        _sync_all(_folders(folder, files))
    sync(folder)
    if first:  # whoever made the table may have died before it did this
        for above in list(Path(folder).parents)[:_ABOVE]:
            with suppress(PermissionError):  # the folder that the warehouse is in need not be ours
                sync(above)
    _synced[known] = max(new, _synced.get(known, -1))


def _sync_all(paths: list[str]) -> None:
    if len(paths) < _FEW:
        for path in paths:
            sync(path)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(sync, paths))


def sync_since(location: str, seen: int) -> None:
    """Wait until every commit of a table after `seen` is on the disk."""
    folder = local(location)
    if folder is not None:
        sync_commits(folder, (n for n in sorted(read_log(folder).entries) if n > seen))


def _folders(folder: str, files: Iterable[str]) -> list[str]:
    """The folders of these files below a folder, the deepest first: contents before the names that lead there."""
    found = {os.path.dirname(file) for file in files}  # noqa: PTH120
    for each in list(found):
        while len(each) > len(folder):
            found.add(each)
            each = os.path.dirname(each)  # noqa: PTH120
    return sorted(found, key=len, reverse=True)


def _sums(file: str) -> str:
    folder, _, name = file.rpartition("/")
    return f"{folder}/.{name}.crc"


def _added(folder: str, commit: int) -> list[str]:
    """The data files that a commit added, from the table's folder."""
    with open(f"{folder}/{LOG}/{entry_name(commit)}", encoding="utf-8") as lines:  # noqa: PTH123
        actions = (json.loads(line) for line in lines if line.startswith('{"add"'))
        return [unquote(action["add"]["path"]) for action in actions]
