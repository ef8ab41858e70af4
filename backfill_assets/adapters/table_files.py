"""Which commits and files is a version's table made of? From its log, and from the files themselves. No JVM."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import unquote

from backfill_assets.adapters.data_files import is_outside
from backfill_assets.adapters.folder import file_system
from backfill_assets.adapters.table_log import HARMLESS, data_commit, history, open_table
from backfill_assets.core.errors import StateError
from backfill_assets.evidence.tables import EvidenceFile, TableCommit, TableState
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

HASHED = 2 * 1024**3
"""Bytes: the files of a larger table are compared by size only, unless somebody asks for more."""


class DeltaTableFiles:
    """A TableReader over the version tables of one warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse

    def state(self, model: str, version: str, commit: int, *, hashes: bool | None = None) -> TableState | None:
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
        wanted = named <= HASHED if hashes is None else hashes
        system = file_system(location)
        with ThreadPoolExecutor(max_workers=8) as pool:
            files = list(pool.map(lambda path: _look(system, path, wanted), paths))
        return TableState(model=model, version=version, commit=commit, commits=tuple(commits), files=tuple(files))


def _look(system: FileSystem, path: str, hashed: bool) -> EvidenceFile:
    from pyarrow.fs import FileType, LocalFileSystem

    system = LocalFileSystem() if is_outside(path) else system
    info = system.get_file_info(path)
    if info.type is not FileType.File:
        return EvidenceFile(path=path, bytes=-1)
    if not hashed:
        return EvidenceFile(path=path, bytes=info.size)
    seen = hashlib.sha256()
    with system.open_input_stream(path) as stream:
        while block := stream.read(1 << 20):
            seen.update(block)
    return EvidenceFile(path=path, bytes=info.size, sha256=seen.hexdigest())
