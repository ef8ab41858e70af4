"""Which commits and files is a version's table made of? From its log, and from the files themselves. No JVM."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import unquote

from backfill_assets.adapters.data_files import is_outside
from backfill_assets.adapters.file_sizes import NO_FILE, file_sizes, listed_sizes
from backfill_assets.adapters.table_log import HARMLESS, data_commit, history, open_table
from backfill_assets.core.errors import StateError
from backfill_assets.evidence.tables import HASHED, EvidenceFile, TableCommit, TableState
from backfill_assets.project.object_store import arrow_path
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_AT_ONCE = 50
"""Small files of a local disk that one thread hashes one after the other: to hand one over takes as long."""
_SMALL = 2**20
"""Bytes of a file of which that holds."""


class DeltaTableFiles:
    """A TableReader over the version tables of one warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse

    def state(self, model: str, version: str, commit: int, *, hash_up_to: int = HASHED) -> TableState | None:
        location = table_path(self._warehouse, model, version)
        try:
            table = open_table(location, commit)
            if table is None:
                return None
            log = history(location)
        except StateError:  # no such commit, or a log that cannot be read
            return None
        commits: list[TableCommit] = []
        for info in reversed(log):
            if info["version"] <= commit and info["operation"] not in HARMLESS:
                found = data_commit(info)
                i = found.interval
                start, end = (i.start.isoformat(), i.end.isoformat()) if i else ("", "")
                commits.append(TableCommit(commit=found.table_commit, batch=found.batch, start=start, end=end))
        actions = table.get_add_actions(flatten=True)
        paths = sorted(map(unquote, actions.column("path").to_pylist()))
        named = sum(actions.column("size_bytes").to_pylist())
        files = _files(location, paths, hashed=named <= hash_up_to)
        return TableState(model=model, version=version, commit=commit, commits=tuple(commits), files=tuple(files))


def _files(location: str, paths: Sequence[str], *, hashed: bool) -> Iterator[EvidenceFile]:
    """The files at these paths, which are a table's, or in full those of another one."""
    from pyarrow.fs import LocalFileSystem

    disk, (system, root) = LocalFileSystem(), arrow_path(location)
    outside = [path for path in paths if is_outside(path)]
    inside = {path: f"{root}/{path}" for path in paths if not is_outside(path)}
    listed = listed_sizes(system, root, len(inside), len(inside))
    sizes = dict(zip(inside, file_sizes(system, list(inside.values()), listed), strict=True))
    sizes |= dict(zip(outside, file_sizes(disk, outside, {}), strict=True))

    def look(path: str) -> EvidenceFile:
        digest = ""
        if hashed and sizes[path] != NO_FILE:
            digest = _sha256(system, inside[path]) if path in inside else _sha256(disk, path)
        return EvidenceFile(path=path, bytes=sizes[path], sha256=digest)

    small = system.type_name == "local" and sum(sizes.values()) < len(paths) * _SMALL
    step = _AT_ONCE if small else 1
    parts = [paths[at : at + step] for at in range(0, len(paths), step)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        for found in pool.map(lambda part: list(map(look, part)), parts):
            yield from found


def _sha256(system: FileSystem, path: str) -> str:
    seen = hashlib.sha256()
    with system.open_input_stream(path) as stream:
        while block := stream.read(1 << 20):
            seen.update(block)
    return seen.hexdigest()
