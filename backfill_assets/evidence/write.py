"""How is a packet kept? A folder whose manifest, written last, holds the hash of every file; sealed by a promotion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from backfill_assets.errors import StateError

MANIFEST, PACKET, PAGE, TABLES = "manifest.json", "packet.json", "packet.html", "tables.json"
NOTE, MESSAGE = "release_note.md", "cutover_message.md"
FILES = (PACKET, PAGE, NOTE, MESSAGE, TABLES)


class Folder(Protocol):
    """A flat folder of files. A file that is written is there whole or not at all."""

    @property
    def location(self) -> str: ...

    def names(self) -> list[str]: ...

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, content: bytes) -> None: ...

    def delete(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of writing a packet. `changed` is False when the folder held exactly this before."""

    digest: str
    changed: bool


def evidence_path(warehouse: str, plan: str) -> str:
    """Where the packet of a plan is."""
    return f"{warehouse}/evidence/{plan}"


def as_json(value: object) -> bytes:
    """As all JSON files of a packet are written: the same content gives the same bytes."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def manifest(plan: str, files: Mapping[str, bytes]) -> bytes:
    """The list of files with their hashes."""
    listed = {name: {"sha256": _hash(files[name]), "bytes": len(files[name])} for name in sorted(files)}
    return as_json({"packet": 1, "plan": plan, "files": listed})


def write_packet(folder: Folder, plan: str, files: Mapping[str, bytes], *, sealed: bool) -> Written:
    """Put the packet into its folder; nothing is written when it is there already.

    `sealed` says that the plan is promoted: another packet in its place is refused, and so are files without a manifest
    that are not those to be written. The old manifest goes first and the new one comes last, so a folder without one is
    a packet that was not finished. Raises StateError.
    """
    wanted = manifest(plan, files)
    there = folder.read(MANIFEST)
    problems = problems_of(folder) if there is not None else []
    if there == wanted and not problems:
        return Written(digest=_hash(wanted), changed=False)
    if there is None:
        problems = [
            f"{name} is there without a manifest" for name in folder.names() if folder.read(name) != files.get(name)
        ]
    if sealed and (there is not None or problems):
        raise StateError(
            f"the packet of plan {plan} is sealed, and what should be written is another",
            why="; ".join(problems) or "the plan was promoted with the packet that is there",
            fix=f"leave {folder.location} as it is; when it was tampered with, restore it from a backup",
        )
    try:
        _replace(folder, {**files, MANIFEST: wanted})
    except OSError as error:
        raise StateError(
            f"the packet of plan {plan} cannot be written to {folder.location}",
            why=error.strerror or str(error),
            fix="make the warehouse writable, or free some room; then run the same command again",
        ) from None
    if problems := problems_of(folder):
        raise StateError(
            f"the packet of plan {plan} is not what was written",
            why=f"somebody else wrote there at the same time: {'; '.join(problems)}",
            fix="run the same command again",
        )
    return Written(digest=_hash(wanted), changed=True)


def _replace(folder: Folder, files: Mapping[str, bytes]) -> None:
    """Put the files, the manifest last, in the place of what is there."""
    folder.delete(MANIFEST)
    for name in folder.names():
        if name not in files:
            folder.delete(name)
    for name, content in files.items():
        folder.write(name, content)


def digest(folder: Folder) -> str:
    """SHA-256 of the packet's manifest: what a promotion's commit carries. Raises StateError for a damaged packet."""
    content = folder.read(MANIFEST)
    if problems := problems_of(folder):
        raise StateError(
            f"the packet at {folder.location} is damaged",
            why="; ".join(problems),
            fix="restore it from a backup; as long as the plan is not promoted, `backfill evidence` writes it again",
        )
    assert content is not None
    return _hash(content)


def problems_of(folder: Folder) -> list[str]:
    """All that the folder's files are not as the manifest says, by name; none for a whole packet."""
    content = folder.read(MANIFEST)
    if content is None:
        return [f"{MANIFEST} is missing: the packet was not finished, or somebody removed it"]
    try:
        said: dict[str, dict[str, Any]] = json.loads(content)["files"]
        plan = json.loads(content)["plan"]
        found: dict[str, bytes] = {}
        for name in said:
            if (file := folder.read(name)) is not None:
                found[name] = file
        problems = [f"{name} is missing" for name in said if name not in found]
        problems += [
            f"{name} was changed: it is not what {MANIFEST} says"
            for name, file in found.items()
            if said[name]["sha256"] != _hash(file)
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return [f"{MANIFEST} was changed: it cannot be read"]
    problems += [f"{MANIFEST} does not name {name}, which every packet has" for name in FILES if name not in said]
    problems += [f"{name} does not belong to the packet" for name in folder.names() if name not in (*said, MANIFEST)]
    if not problems and (content != manifest(plan, found) or json.loads(found[PACKET])["plan"]["id"] != plan):
        problems.append(f"{MANIFEST} was changed")
    return problems


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
