"""How is a packet kept? A folder whose manifest, written last, holds the hash of every file; sealed by a promotion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from backfill_assets.core.errors import StateError

MANIFEST, PACKET, PAGE, TABLES = "manifest.json", "packet.json", "packet.html", "tables.json"
NOTE, MESSAGE = "release_note.md", "cutover_message.md"
KEYS = "ids.csv"
"""In the packet of a plan that was made of a file's keys: these."""
RELEASE, RELEASE_PAGE = "release.json", "release.md"
FILES = (PACKET, PAGE, NOTE, MESSAGE, TABLES)
RELEASE_FILES = (RELEASE, RELEASE_PAGE)


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


def evidence_path(warehouse: str, name: str) -> str:
    """Where the packet of a plan or of a release is."""
    return f"{warehouse}/evidence/{name}"


def as_json(value: object) -> bytes:
    """As a packet's JSON files are written, but for the manifest: the same content gives the same bytes. What holds no
    further maps and lists, and is short, is one line: a batch, a file and its hash."""
    return (_laid_out(value, "\n") + "\n").encode()


def _laid_out(value: object, line: str) -> str:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(each, dict | list) for each in cast(Iterable[object], held)):
        text = _in_a_line(value)
        if not held or len(text) <= _LONG:
            return text
    deeper = f"{line} "
    if isinstance(value, dict):
        said = cast(dict[str, object], value)
        items = (f"{_in_a_line(str(name))}: {_laid_out(each, deeper)}" for name, each in said.items())
        return f"{{{deeper}{f',{deeper}'.join(items)}{line}}}"
    return f"[{deeper}{f',{deeper}'.join(_laid_out(each, deeper) for each in cast(list[object], value))}{line}]"


_LONG = 200
"""Characters of a line that people still read: of a longer one each item is a line."""
_in_a_line = json.JSONEncoder(ensure_ascii=False).encode


def manifest(name: str, files: Mapping[str, bytes], kind: str = "plan") -> bytes:
    """The list of files with their hashes. `kind` is what the packet is about, and `name` which one."""
    listed = {file: {"sha256": _hash(files[file]), "bytes": len(files[file])} for file in sorted(files)}
    return (json.dumps({"packet": 1, kind: name, "files": listed}, indent=1, ensure_ascii=False) + "\n").encode()


def write_packet(folder: Folder, name: str, files: Mapping[str, bytes], *, sealed: bool, kind: str = "plan") -> Written:
    """Put the packet into its folder; nothing is written when it is there already.

    `kind` is what the packet is about, `name` which one. `sealed` says that a release names it: another packet in its
    place is refused, and so are files without a manifest that are not those to be written. The old manifest goes first
    and the new one comes last, so a folder without one is a packet that was not finished. Raises StateError.
    """
    wanted = manifest(name, files, kind)
    there = folder.read(MANIFEST)
    problems = problems_of(folder) if there is not None else []
    if there == wanted and not problems:
        return Written(digest=_hash(wanted), changed=False)
    if there is None:
        problems = [
            f"{file} is there without a manifest" for file in folder.names() if folder.read(file) != files.get(file)
        ]
    if sealed and (there is not None or problems):
        raise StateError(
            f"the packet of {kind} {name} is sealed, and what should be written is another",
            why="; ".join(problems) or f"the {kind} was released with the packet that is there",
            fix=f"leave {folder.location} as it is; when it was tampered with, restore it from a backup",
        )
    try:
        _replace(folder, {**files, MANIFEST: wanted})
    except OSError as error:
        raise StateError(
            f"the packet of {kind} {name} cannot be written to {folder.location}",
            why=error.strerror or str(error),
            fix="make the warehouse writable, or free some room; then run the same command again",
        ) from None
    if problems := problems_of(folder):
        raise StateError(
            f"the packet of {kind} {name} is not what was written",
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


def packet_digest(folder: Folder) -> str:
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


def digest_of(folder: Folder) -> str:
    """The same of what is there, whole or not; "" where there is no manifest."""
    content = folder.read(MANIFEST)
    return "" if content is None else _hash(content)


def problems_of(folder: Folder) -> list[str]:
    """All that the folder's files are not as the manifest says, by name; none for a whole packet."""
    content = folder.read(MANIFEST)
    if content is None:
        return [f"{MANIFEST} is missing: the packet was not finished, or somebody removed it"]
    try:
        whole = json.loads(content)
        said: dict[str, dict[str, Any]] = whole["files"]
        kind = "release" if "release" in whole else "plan"
        about, wanted = whole[kind], RELEASE_FILES if kind == "release" else FILES
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [f"{MANIFEST} was changed: it cannot be read"]
    problems += [f"{MANIFEST} does not name {name}, which every packet has" for name in wanted if name not in said]
    problems += [f"{name} does not belong to the packet" for name in folder.names() if name not in (*said, MANIFEST)]
    if not problems and (content != manifest(about, found, kind) or _about(kind, found) != about):
        problems.append(f"{MANIFEST} was changed")
    return problems


def _about(kind: str, files: Mapping[str, bytes]) -> str:
    """What the packet says itself that it is about."""
    return json.loads(files[RELEASE])["release"] if kind == "release" else json.loads(files[PACKET])["plan"]["id"]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
