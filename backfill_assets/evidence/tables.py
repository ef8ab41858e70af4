"""What is a version's table made of at a commit, and is it still? Its commits and its files, with their hashes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

from backfill_assets.core.codec import to_plain

SHOWN = 5
HASHED = 2 * 1024**3
"""Bytes of data files that a packet notes the hashes of, table by table: larger ones are compared by size only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """A commit that changed rows. `batch` is empty in one that this system did not make."""

    commit: int
    batch: str
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFile:
    """A file that the table consists of. `sha256` is empty where only its size was noted."""

    path: str
    bytes: int
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A version's table at `commit`: every commit up to it, oldest first, and its files by path.

    A file that is named by the log but is not there has -1 bytes.
    """

    model: str
    version: str
    commit: int
    commits: tuple[TableCommit, ...]
    files: tuple[EvidenceFile, ...]

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files)

    @property
    def hashed(self) -> int:
        """The bytes of the files whose hash is noted."""
        return sum(f.bytes for f in self.files if f.sha256)

    @property
    def foreign(self) -> tuple[int, ...]:
        """Commits that this system did not make."""
        return tuple(c.commit for c in self.commits if not c.batch)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return hashlib.sha256(json.dumps(to_plain(self), sort_keys=True).encode()).hexdigest()


class TableReader(Protocol):
    """Looks at the tables of a warehouse, without a JVM."""

    def state(self, model: str, version: str, commit: int, *, hash_up_to: int = HASHED) -> TableState | None:
        """The table at a commit; None when there is no such table or commit.

        With the SHA-256 of every file, where these have so many bytes at most.
        """
        ...


def table_differences(named: TableState, found: TableState | None) -> list[str]:
    """All that is not as it was, each with the name of the commit or the file."""
    where = f"{named.model}/{named.version}"
    if found is None:
        return [f"table {where} is gone, or has no commit {named.commit} any more"]
    problems: list[str] = []
    old, new = {c.commit: c for c in named.commits}, {c.commit: c for c in found.commits}
    for number in sorted(old.keys() | new.keys()):
        if number not in new:
            problems.append(f"commit {number} of {where} is gone")
        elif number not in old:
            problems.append(f"commit {number} of {where} was not there when the packet was written")
        elif not new[number].batch and old[number].batch:
            problems.append(f"commit {number} of {where} is foreign: something else than this system wrote it")
        elif old[number] != new[number]:
            problems.append(f"commit {number} of {where} is another: it was batch {old[number].batch or 'unknown'}")
    was, is_ = {f.path: f for f in named.files}, {f.path: f for f in found.files}
    gone = [p for p in was if p not in is_ or is_[p].bytes < 0]
    added = [p for p in is_ if p not in was]
    changed = [p for p, f in was.items() if p in is_ and is_[p].bytes >= 0 and not _same(f, is_[p])]
    problems += [f"file {where}/{p} is gone" for p in gone[:SHOWN]]
    problems += [f"file {where}/{p} was changed" for p in changed[:SHOWN]]
    problems += [f"file {where}/{p} is new in commit {named.commit}" for p in added[:SHOWN]]
    more = sum(max(len(found) - SHOWN, 0) for found in (gone, changed, added))
    return [*problems, f"and {more:,} more files of {where}"] if more else problems


def _same(one: EvidenceFile, other: EvidenceFile) -> bool:
    return one.bytes == other.bytes and (not one.sha256 or not other.sha256 or one.sha256 == other.sha256)
