"""What lies in the cache folder and was not made lately? Only the files that this system puts there."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_FOLDERS = ("project", "python", "files", "sources", "ledger", "logs")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFile:
    """A file that can be made again."""

    path: Path
    bytes: int


def old_cache_files(folder: Path, *, before: datetime) -> list[CacheFile]:
    """The files under the cache folder that were written before an instant."""
    found: list[CacheFile] = []
    for name in _FOLDERS:
        for path in sorted((folder / name).glob("*")):
            with suppress(FileNotFoundError):  # a plan just put it in another one's place
                said = path.stat()
                if path.is_file() and datetime.fromtimestamp(said.st_mtime, UTC) < before:
                    found.append(CacheFile(path=path, bytes=said.st_size))
    return found


def remove_cache_files(files: Iterable[CacheFile]) -> None:
    """Delete them; another process may have done so."""
    for file in files:
        file.path.unlink(missing_ok=True)
