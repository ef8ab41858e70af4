"""What lies in the folders of version tables? Listed, looked into and deleted by Arrow's file systems: no JVM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from backfill_assets.adapters.data_files import IntervalFile, data_files
from backfill_assets.adapters.durable import local
from backfill_assets.adapters.file_sizes import NO_FILE, file_sizes, listed_sizes
from backfill_assets.adapters.known_files import KnownFiles, KnownPart, all_there, log_state
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval
from backfill_assets.files.no_access import no_access
from backfill_assets.project.object_store import SCHEME, arrow_path, raise_if_away, reaching
from backfill_assets.state.tables import Readable, StoredTable
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

LOG = "_delta_log"
_NO_TABLE, _MISSING, _NOT_BYTES = "there is no table at", "is missing", "bytes, not"


class DeltaTableStorage:
    """A TableStorage over the version tables of one warehouse. `known`: what is remembered of their files."""

    def __init__(self, warehouse: str, known: KnownFiles | None = None) -> None:
        self._warehouse, self._known = warehouse, known

    def tables(self) -> list[StoredTable]:
        if (folder := local(self._warehouse)) is not None and not os.path.lexists(folder):
            return []  # the first plan of a project loads no Arrow to find that
        with reaching(self._warehouse):
            return sorted(self._tables(), key=lambda t: (t.model, t.version))

    def _tables(self) -> Iterator[StoredTable]:
        from pyarrow.fs import FileType

        system, root = arrow_path(self._warehouse)
        for model in _children(system, root):
            if model.type != FileType.Directory or model.base_name.startswith(("_", ".")):
                continue
            for version in _children(system, model.path):
                inside = {info.base_name for info in _children(system, version.path)}
                if LOG in inside:
                    files = [i for i in _children(system, version.path, deep=True) if i.type == FileType.File]
                    size = sum(i.size or 0 for i in files)
                    yield StoredTable(model=model.base_name, version=version.base_name, files=len(files), bytes=size)

    def readable(self, model: str, version: str, commit: int, interval: Interval, *, footers: bool = True) -> Readable:
        location = table_path(self._warehouse, model, version)
        state = log_state(location, commit) if self._known else ""
        remembered = self._known if local(location) is not None else None
        known = remembered.read(location, interval, state) if remembered and state and not footers else None
        if remembered and known and known.is_there(location):
            remembered.looked(location, interval)
            return Readable(files=len(known.files), rows=known.rows, bytes=sum(known.files.values()))
        try:
            table = open_table(location, commit)
        except StateError as error:
            return Readable(broken=(f"{location} has no commit {commit}: {error.why}",))
        if table is None:
            return Readable(broken=(f"{_NO_TABLE} {location}",))
        every = list(data_files(table))
        files = [file for file in every if interval.holds(file.at)]
        whole = {file.path: file for file in files}
        problems = _problems(location, list(whole.values()), len({file.path for file in every}), footers)
        rows = sum(f.rows for f in files)
        if remembered and any(problems.values()):
            remembered.look_first(location, interval)
        elif remembered and (not state or any(f.elsewhere for f in files)):
            remembered.looked(location, interval)
        elif remembered:
            part = KnownPart(files={f.path: f.bytes for f in whole.values()}, rows=rows)
            remembered.keep(location, interval, state, part)
        return Readable(
            files=len(whole),
            rows=rows,
            bytes=sum(f.bytes for f in whole.values()),
            broken=tuple(p for p in problems.values() if p),
            at=frozenset(f.at for f in files if problems[f.path]),
        )

    def last_look(self, model: str, version: str, interval: Interval) -> float | None:
        location = table_path(self._warehouse, model, version)
        return self._known.last_look(location, interval) if self._known and local(location) is not None else None

    def remove(self, model: str, version: str) -> None:
        from pyarrow.fs import FileType

        system, path = arrow_path(table_path(self._warehouse, model, version))
        # The pointer to the checkpoint, then the newest commit first: what a crash leaves is the table as it once was.
        log = [i for i in _children(system, f"{path}/{LOG}", deep=True) if i.type == FileType.File]
        try:
            for info in sorted(log, key=lambda i: i.base_name, reverse=True):
                system.delete_file(info.path)
            if system.get_file_info(path).type == FileType.Directory:
                system.delete_dir(path)
        except PermissionError:
            if "://" in self._warehouse:
                raise
            closed = (folder for folder, *_ in os.walk(path) if not os.access(folder, os.W_OK | os.X_OK))
            raise no_access(next(closed, path)) from None


def _problems(location: str, files: Sequence[IntervalFile], among: int, footers: bool) -> dict[str, str]:
    """Path → what is wrong with a data file of the table's `among`: its size and (`footers`) its footer are looked at,
    not its rows. Empty when nothing is."""
    system, root = arrow_path(location)
    places = [file.path if file.elsewhere else f"{root}/{file.path}" for file in files]
    here = system.type_name == "local"
    if here and not footers and all_there((place, file.bytes) for place, file in zip(places, files, strict=True)):
        return dict.fromkeys((file.path for file in files), "")
    found = _sizes(system, places, files, _listed(system, root, len(files), among))
    if footers:
        with ThreadPoolExecutor(max_workers=8 if here else 32) as pool:  # in an object store one waits for each
            found = list(pool.map(lambda p, f, why: why or _footer(system, p, f), places, files, found))
    return dict(zip((file.path for file in files), found, strict=True))


def _listed(system: FileSystem, root: str, wanted: int, among: int) -> Mapping[str, int]:
    try:
        return listed_sizes(system, root, wanted, among)
    except OSError as error:  # whoever asks for single files says of which
        _raise_if_away(system, root, error)
        return {}


def _sizes(
    system: FileSystem, places: Sequence[str], files: Sequence[IntervalFile], listed: Mapping[str, int]
) -> list[str]:
    try:
        sizes = file_sizes(system, places, listed)
    except OSError as error:
        _raise_if_away(system, places[0], error)
        if len(files) > 1:  # one of them, and it does not say which
            each = zip(places, files, strict=True)
            return [why for place, file in each for why in _sizes(system, [place], [file], listed)]
        return [f"{file.path}: {str(error).splitlines()[0]}" for file in files]
    return [
        f"{file.path} {_MISSING}"
        if size == NO_FILE
        else f"{file.path} has {size} {_NOT_BYTES} {file.bytes}"
        if size != file.bytes
        else ""
        for file, size in zip(files, sizes, strict=True)
    ]


def is_lost(problem: str) -> bool:
    """Whether what is wrong with a table or a file is that it is gone, or cut."""
    return problem.startswith(_NO_TABLE) or problem.endswith(_MISSING) or f" {_NOT_BYTES} " in problem


def _raise_if_away(system: FileSystem, place: str, error: Exception) -> None:
    if system.type_name == "s3":
        raise_if_away(f"{SCHEME}{place}", error)


def _footer(system: FileSystem, place: str, file: IntervalFile) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with system.open_input_file(place) as opened:
            rows = pq.ParquetFile(opened).metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        _raise_if_away(system, place, error)
        return f"{file.path}: {str(error).splitlines()[0]}"
    return "" if rows == file.in_all else f"{file.path} has {rows} rows, not {file.in_all}"


def _children(system: FileSystem, path: str, *, deep: bool = False) -> Iterable[FileInfo]:
    from pyarrow.fs import FileSelector

    return system.get_file_info(FileSelector(path, allow_not_found=True, recursive=deep))
