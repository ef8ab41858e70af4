"""Which files does a source consist of? Those of a folder on a disk, or the objects of a bucket; no JVM."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.project.object_store import SCHEME, arrow_path, is_s3, objects

if TYPE_CHECKING:
    from pyarrow import NativeFile


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A data file of a source. `stamp` is another one when the file was written again."""

    place: str
    """The path or URI, as Spark reads it."""
    inside: tuple[str, ...]
    """The parts of its path below the source's; of a source that is this one file, its name."""
    bytes: int
    written: datetime
    stamp: str
    alone: bool = False
    """Whether the source's path is this file, not a folder."""

    @contextmanager
    def opened(self) -> Generator[NativeFile]:
        """The file, to read any part of it. Raises OSError."""
        system, path = arrow_path(self.place)
        with system.open_input_file(path) as file:
            yield file

    @contextmanager
    def text(self) -> Generator[NativeFile]:
        """Its content from the beginning, unpacked where its name says that it is packed. Raises OSError."""
        system, path = arrow_path(self.place)
        with system.open_input_stream(path) as file:
            yield file


def can_list(path: str) -> bool:
    """Whether the files at a source's path can be told without Spark: on a disk, or in a bucket of S3's protocol."""
    return "://" not in path or is_s3(path)


def files_at(path: str) -> list[SourceFile]:
    """The data files at a path or URI (a file or a folder), sorted; names that start with `_` or `.` are not data.

    Raises SettingsError where a bucket cannot be reached.
    """
    found = _in_bucket(path) if is_s3(path) else _on_disk(Path(path))
    return [file for file in found if file.alone or not any(part.startswith(("_", ".")) for part in file.inside)]


def _on_disk(path: Path) -> list[SourceFile]:
    files = [path] if (alone := path.is_file()) else sorted(f for f in path.rglob("*") if f.is_file())
    return [_file(f, (f.name,) if alone else f.relative_to(path).parts, alone) for f in files]


def _file(path: Path, inside: tuple[str, ...], alone: bool) -> SourceFile:
    stat = path.stat()
    return SourceFile(
        place=str(path),
        inside=inside,
        bytes=stat.st_size,
        written=datetime.fromtimestamp(stat.st_mtime, UTC),
        stamp=f"{stat.st_size}\0{stat.st_mtime_ns}",
        alone=alone,
    )


def _in_bucket(location: str) -> list[SourceFile]:
    bucket, _, key = location.removeprefix(SCHEME).partition("/")
    return [
        SourceFile(
            place=f"{SCHEME}{bucket}/{one.key}",
            inside=(one.key.rsplit("/", 1)[-1],)
            if one.key == key
            else tuple(one.key[len(key) :].strip("/").split("/")),
            bytes=one.bytes,
            written=one.written,
            stamp=one.etag,
            alone=one.key == key,
        )
        for one in objects(location)
    ]
