"""What is a source at this moment? Its Delta commit, or a digest of its files: what a plan freezes. No JVM."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from backfill_assets.adapters.source_columns import check_declared
from backfill_assets.adapters.source_files import SourceFile, can_list, files_at
from backfill_assets.adapters.source_table import source_table
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.model import Source
from backfill_assets.core.name_sum import sum_of_names
from backfill_assets.core.pin import Pin, made_anew
from backfill_assets.project.object_store import arrow_path, is_s3
from backfill_assets.project.settings import EMBEDDED_PROJECT

if TYPE_CHECKING:
    from deltalake import DeltaTable

MOST_OBJECTS = 50_000
"""Of a bucket: to list as many takes some ten seconds, each time a plan is made and a batch begins."""


class FilePins:
    """SourcePins that looks at the tables and files themselves."""

    def pin(self, source: Source) -> Mapping[str, object]:
        """Raises PlanError when the source's path holds nothing, or nothing of a column that it declares."""
        return self._state(source, check_declared)

    def state(self, source: Source) -> Mapping[str, object]:
        """The same, without a look into files. Raises PlanError when the source's path holds nothing."""
        return self._state(source, lambda *_: None)

    def _state(self, source: Source, look: Callable[[Source, Sequence[SourceFile]], None]) -> Mapping[str, object]:
        if source.path is None:
            return {"unpinned": f"catalog table {source.table}: read as it is when the build runs"}
        if source.format == "delta":
            table = source_table(source)
            if table is None:
                raise _absent(source, "there is no Delta table")
            return {"commit": table.version(), "table": str(table.metadata().id)}
        if not can_list(source.path):
            return {"unpinned": f"{source.format} files in an object store: read as they are when the build runs"}
        files = files_at(source.path, at_most=MOST_OBJECTS + 1)
        if len(files) > MOST_OBJECTS and is_s3(source.path):
            said = f"more than {MOST_OBJECTS:,} objects: read as they are when the build runs"
            return {"unpinned": f"{said}; a Delta table has commits instead"}
        if not files:
            raise _absent(source, "there are no files")
        look(source, files)
        names = sum_of_names("/".join(file.inside) for file in files)
        return {"files": digest_of(files), "count": len(files), "names": names}

    def not_there(self, source: Source, pin: Pin) -> str:
        """Why a Delta source cannot be read as a pin says any more; "" when it can. Its log is read, no rows."""
        assert source.path is not None
        commit = cast(int, pin["commit"])
        head = source_table(source)
        if head is None or head.version() < commit:
            return f"the table at {source.path} was made anew: it has no commit {commit} any more"
        try:
            then = source_table(source, commit)
        except StateError as error:
            return f"its log does not say any more what it was at commit {commit}: {error.why}"
        assert then is not None
        if made_anew(pin, {"table": str(then.metadata().id)}):
            return f"the table at {source.path} was made anew: its commit {commit} is another table's"
        removed = sorted(set(then.file_uris()) - set(head.file_uris()))
        gone = [f for f in removed if not _exists(f)]
        if gone:
            return f"{len(gone)} of the files of commit {commit} are gone (vacuumed)"
        return f"deletion vectors of commit {commit} are gone (vacuumed)" if _deletions_gone(then) else ""


def digest_of(files: Sequence[SourceFile]) -> str:
    """Another one when a file came, went, or was written again; not when the folder that holds them all was moved."""
    return _digest(("/".join(file.inside), file.stamp) for file in files)


def placed_digest_of(files: Sequence[SourceFile]) -> str:
    """The same of the first releases, which took in where the files are."""
    return _digest((file.place, file.stamp) for file in files)


def _digest(files: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, stamp in files:
        digest.update(os.fsencode(f"{name}\0{stamp}\n"))
    return digest.hexdigest()[:16]


def _exists(file: str) -> bool:
    from pyarrow.fs import FileType

    system, path = arrow_path(file)
    return system.get_file_info(path).type is FileType.File


def _deletions_gone(table: DeltaTable) -> bool:
    """Whether a file is gone that says which rows of others count as deleted. Not known of tables with features that
    this reader has not."""
    from deltalake.exceptions import DeltaError

    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return False
    try:
        for _ in cast(Any, table.deletion_vectors()):
            pass
    except DeltaError as error:
        return "File not found" in str(error)
    return False


_FIX_OF_THE_DEMO = """\
this is the demo, whose data `backfill demo` makes; for a project of your own: `backfill init DIR`, or --project DIR"""


_PATTERN = "*?[{"
_NO_PATTERN = "it is no pattern; of a folder all files are read, those of its folders too"


def _absent(source: Source, why: str) -> PlanError:
    return PlanError(
        f"source {source.name} has no data",
        why=f"{why} at {source.path}",
        fix=_FIX_OF_THE_DEMO
        if source.file.parent == EMBEDDED_PROJECT.resolve()
        else f"load the source, or correct its path in {source.file}:{source.line}"
        + any(sign in (source.path or "") for sign in _PATTERN) * f": {_NO_PATTERN}",
    )
