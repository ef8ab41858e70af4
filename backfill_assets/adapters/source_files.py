"""Which files does a source consist of? Those of a folder on a disk, or the objects of a bucket; no JVM."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from backfill_assets.project.object_store import SCHEME, arrow_path, is_s3, objects, raise_if_away

if TYPE_CHECKING:
    from pyarrow import NativeFile


T = TypeVar("T")
_MARK = "_$folder$"
"""What Hadoop's older clients put beside a folder; no data."""
_PATTERN = frozenset("*?[{")
"""A path of these is a pattern to Spark; no object is called so."""


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

    @property
    def folder_columns(self) -> tuple[str, ...]:
        """The columns that its folders say (`day=2024-03-01/`), in lower case."""
        return tuple(part.partition("=")[0].lower() for part in self.inside[:-1] if "=" in part)

    @contextmanager
    def opened(self) -> Generator[NativeFile]:
        """The file, to read any part of it. Raises OSError."""
        system, path = arrow_path(self.place)
        with _answering(self.place), system.open_input_file(path) as file:
            yield file

    @contextmanager
    def text(self) -> Generator[NativeFile]:
        """Its content from the beginning, unpacked where its name says that it is packed. Raises OSError."""
        system, path = arrow_path(self.place)
        with _answering(self.place), system.open_input_stream(path) as file:
            yield file


@contextmanager
def _answering(place: str) -> Generator[None]:
    """A store that does not give an object says nothing of the object: UnreachableError, not just any OSError. What is
    read of an object may be no Parquet: that is said of the object."""
    try:
        yield
    except OSError as error:
        raise_if_away(place, error)
        raise


def can_list(path: str) -> bool:
    """Whether the files at a source's path can be told without Spark: on a disk, or in a bucket of S3's protocol."""
    return "://" not in path or (is_s3(path) and not _PATTERN.intersection(path))


def files_at(path: str, *, at_most: int | None = None) -> list[SourceFile]:
    """The data files at a path or URI (a file or a folder), sorted; names that start with `_` or `.` are not data.

    `at_most`: of a bucket, whose list comes a thousand at a time, only about so many. Raises SettingsError where a
    bucket cannot be reached.
    """
    return _in_bucket(path, at_most) if is_s3(path) else _on_disk(Path(path))


def newest(files: Iterable[SourceFile], at_most: int) -> list[SourceFile]:
    """Those that were written last, the newest first."""
    return sorted(files, key=lambda file: file.written, reverse=True)[:at_most]


def each_file(files: Sequence[SourceFile], look: Callable[[SourceFile], T]) -> Iterable[T]:
    """What a look at each of the files tells, in their order; of a bucket's, many at once."""
    if not files or not is_s3(files[0].place):
        return map(look, files)
    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(look, files))


def _is_data(inside: tuple[str, ...]) -> bool:
    return not any(part.startswith(("_", ".")) for part in inside)


def _on_disk(path: Path) -> list[SourceFile]:
    if path.is_file():
        one = _file(path, (path.name,), alone=True)
        return [one] if one is not None else []
    found = ((file, file.relative_to(path).parts) for file in path.rglob("*"))
    # What is hidden is not looked at: a writer at work comes and goes there.
    looked = (_file(file, parts) for file, parts in sorted(found) if _is_data(parts) and file.is_file())
    return [file for file in looked if file is not None]


def _file(path: Path, inside: tuple[str, ...], *, alone: bool = False) -> SourceFile | None:
    try:
        stat = path.stat()
    except FileNotFoundError:  # it went since it was listed
        return None
    return SourceFile(
        place=str(path),
        inside=inside,
        bytes=stat.st_size,
        written=datetime.fromtimestamp(stat.st_mtime, UTC),
        stamp=f"{stat.st_size}\0{stat.st_mtime_ns}",
        alone=alone,
    )


def _in_bucket(location: str, at_most: int | None) -> list[SourceFile]:
    bucket, _, key = location.removeprefix(SCHEME).partition("/")
    found: list[SourceFile] = []
    for one in objects(location, at_most=at_most):
        alone = one.key == key
        inside = (one.key.rsplit("/", 1)[-1],) if alone else tuple(one.key[len(key) :].strip("/").split("/"))
        if alone or (_is_data(inside) and not inside[-1].endswith(_MARK)):
            place = f"{SCHEME}{bucket}/{one.key}"
            found.append(
                SourceFile(
                    place=place, inside=inside, bytes=one.bytes, written=one.written, stamp=one.etag, alone=alone
                )
            )
    return found
