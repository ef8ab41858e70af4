"""How is a warehouse copied while others work, so that the copy is of one instant? And what is a whole copy?

The newest commits of all control tables are listed twice: when nothing moved in between, they are of one instant, and a
commit of a Delta table never changes. So pointers never name what is not in the copy. The manifest comes last.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.data_files import COUNTS, is_outside, origin_of
from backfill_assets.adapters.durable import AT_ONCE, local, sync, write_durably
from backfill_assets.adapters.log_folder import LOG, entry_name, read_log
from backfill_assets.adapters.table_log import DeltaTableLog, open_table
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.adapters.warehouse import CONTROL, control_heads, newest_release, read_identity
from backfill_assets.core.codec import from_plain, to_fields
from backfill_assets.core.errors import SettingsError, StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.reachable import reachable
from backfill_assets.state.control import Control
from backfill_assets.state.environment import ENVIRONMENTS
from backfill_assets.state.identity import IDENTITY, Identity
from backfill_assets.state.table_contents import with_counts

MANIFEST, EVIDENCE = "backup.json", "evidence"
BEGUN = "backup.begun.json"
"""What a folder has that a backup of a warehouse is being copied to, until its manifest is there."""
_LOOKS = 200
_OF_DISKS = frozenset({"lost+found"})
"""What an empty disk has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a backup."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup consists of: without it, it was not finished."""

    warehouse: str
    project: str
    at: str
    release: str
    """The last one in it; "" before the first."""
    commit: int
    """Of the table of environments, that made the release."""
    tables: Mapping[str, int]
    """Control table → its newest commit in the backup."""
    data: bool
    """Whether the tables of versions are in it."""
    files: Mapping[str, File]

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files.values())

    def to_json(self) -> dict[str, object]:
        """As it is stored."""
        return {"backup": 1, **to_fields(self)}


def backup(warehouse: str, target: Path, *, data: bool) -> Manifest:
    """Copy the records, the identity and the evidence packets, and (`data`) every table that they lead to.

    Raises StateError when there is nothing to copy, when the target holds a finished backup or anything else, or when
    the copy is not what was read. Killed at any point, it is run again.
    """
    source = on_disk(warehouse)
    target = target.absolute()
    if target.is_relative_to(source.absolute()):
        raise StateError(
            f"{target} is inside of the warehouse",
            why="what is lost with it is no backup",
            fix="name a folder elsewhere",
        )
    if (target / MANIFEST).exists():
        raise StateError(
            f"{target} holds a backup already", why="a backup is never written over", fix="name a new folder"
        )
    identity = read_identity(warehouse)
    if identity is None:
        raise StateError(
            f"there is nothing to back up in {warehouse}",
            why=f"it has no {IDENTITY}",
            fix="backfill apply makes a new warehouse; `backfill migrate` one of an older release a new one",
        )
    heads = _one_instant(warehouse)
    release = newest_release(warehouse, heads.get(ENVIRONMENTS.name, -1))
    identity = replace(identity, tables=heads, release=release)
    try:
        _begin(target, identity)
        made = _written(source, target, identity, data=data)
        (target / BEGUN).unlink()
        return made
    except OSError as error:
        raise StateError(
            f"the backup cannot be written to {target}",
            why=error.strerror or str(error),
            fix="name a folder that can be written and has room, then run it again: what is copied is kept",
        ) from None


def _begin(target: Path, identity: Identity) -> None:
    """Say whose backup the folder is going to hold. Raises StateError where it has anything but the beginning of it."""
    begun = (json.dumps({"warehouse": identity.warehouse}) + "\n").encode()
    for growing in target.glob(f".{BEGUN}.*"):  # of a backup that was killed before it began
        growing.unlink(missing_ok=True)
    there = sorted(f.name for f in target.iterdir() if f.name not in _OF_DISKS) if target.exists() else []
    if BEGUN in there and (target / BEGUN).read_bytes() == begun:
        return
    if there:
        raise StateError(
            f"{target} is not empty",
            why=f"a backup writes over nothing, and it has {', '.join(there[:3])}{' …' * (len(there) > 3)}",
            fix="name a folder that does not exist, or is empty",
        )
    write_durably(target / BEGUN, begun)


def _written(source: Path, target: Path, identity: Identity, *, data: bool) -> Manifest:
    """The copy, with its manifest last."""
    heads, release = identity.tables, identity.release
    names = [name for table, head in heads.items() for name in _of_table(source, f"{CONTROL}/{table}", head)]
    names += [str(f.relative_to(source)) for f in sorted((source / EVIDENCE).rglob("[!.]*")) if f.is_file()]
    files = copy(source, target, names)
    files[IDENTITY] = _put(target, IDENTITY, identity.to_json().encode())
    wrong = _other_rows(source, target, heads)  # now: those who build remove what is old of the ledger's log
    if data:
        files |= copy(source, target, _reached(source, target))
    sync_files(target, files)
    made = Manifest(
        warehouse=identity.warehouse,
        project=identity.project,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        release=release.id if release else "",
        commit=release.commit if release else -1,
        tables=heads,
        data=data,
        files=dict(sorted(files.items())),
    )
    _compare(target, made, wrong)
    write_durably(target / MANIFEST, (json.dumps(made.to_json(), indent=1) + "\n").encode())
    return made


def read_backup(source: Path) -> Manifest:
    """The manifest of a backup of which every file is as it was written, and is a warehouse's. Raises StateError."""
    try:
        found = from_plain(Manifest, json.loads((source / MANIFEST).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        raise StateError(
            f"{source} is no backup, or one that was not finished",
            why=f"there is no {MANIFEST}, which is written last",
            fix="name another folder, or run `backfill backup` again",
        ) from None
    except OSError as error:
        raise StateError(
            f"the backup {source} cannot be read", why=str(error.strerror), fix="mount it, or name another folder"
        ) from None
    except (ValueError, RecursionError):
        raise StateError(
            f"{source / MANIFEST} is damaged", why="it has another form", fix="use another backup"
        ) from None
    if strange := [name for name in [*found.files, *(f"{CONTROL}/{t}/{LOG}" for t in found.tables)] if _strange(name)]:
        raise StateError(
            f"{source / MANIFEST} names files that are not of a warehouse; nothing was read or written",
            why=", ".join(map(repr, strange[:5])),
            fix="use another backup: `backfill backup` wrote no such names",
        )
    if wrong := damaged_files(source, found.files):
        raise StateError(
            f"the backup {source} is damaged", why="; ".join(wrong[:5]), fix="use another backup, or another copy of it"
        )
    return found


def _strange(name: str) -> bool:
    """Whether no file of a warehouse has this name below it: it leads elsewhere, or to what the program keeps aside."""
    parts = name.split("/")
    depth = 1 if name == IDENTITY else 2 if parts[0] == EVIDENCE else 3
    return (
        len(parts) < depth
        or parts[0].startswith(".")
        or any(part in ("", ".", "..") for part in parts)
        or "\\" in name
        or "\0" in name
    )


def damaged_files(folder: Path, files: Mapping[str, File]) -> list[str]:
    """The files that are missing or have another content, by name."""

    def one(item: tuple[str, File]) -> str:
        name, said = item
        try:
            found = _hash_of(folder / name)
        except OSError as error:
            return f"{name}: {error.strerror}"
        return "" if found == said else f"{name} has another content"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [problem for problem in pool.map(one, files.items()) if problem]


def copy(source: Path, target: Path, names: Iterable[str]) -> dict[str, File]:
    """Copy files by their names below a folder; what was read of each."""

    def one(name: str) -> tuple[str, File]:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        seen, size = hashlib.sha256(), 0
        with (source / name).open("rb") as read, place.open("wb") as written:
            while block := read.read(1 << 20):
                seen.update(block)
                written.write(block)
                size += len(block)
        return name, File(bytes=size, sha256=seen.hexdigest())

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(pool.map(one, names))


def missing_data(warehouse: str) -> list[str]:
    """What the environments of a warehouse show and its own tables do not give, a line a model."""
    log = DeltaTableLog(warehouse)
    return [f"{name} {p.model}: {lack}" for name, p in _shown(warehouse) if (lack := _lack(log, p))]


def missing_outside(warehouse: str) -> list[str]:
    """Which files of adopted tables that the environments of a warehouse show are not there, a line a model: they are
    in no backup. Nothing of what `missing_data` names."""
    log, storage, found = DeltaTableLog(warehouse), DeltaTableStorage(warehouse), list[str]()
    for name, pointer in _shown(warehouse):
        adopted = pointer.segments.adopted
        if not adopted or _lack(log, pointer):
            continue
        try:
            gone = [
                problem
                for part in adopted
                for problem in storage.readable(
                    pointer.model, part.version, part.commit, part.interval, footers=False
                ).broken
            ]
        except OSError as error:
            found.append(f"{name} {pointer.model}: its adopted table cannot be looked at: {error.strerror or error}")
            continue
        if gone := list(dict.fromkeys(gone)):
            more = f", and {len(gone) - 3:,} more" if len(gone) > 3 else ""
            found.append(f"{name} {pointer.model}: of its adopted table {', '.join(gone[:3])}{more}")
    return found


def _shown(warehouse: str) -> list[tuple[str, Pointer]]:
    """The pointers of each environment that lasts, with its name."""
    environments = Control.over(DeltaStore(warehouse)).lasting()
    return [(shown.name, pointer) for shown in environments for pointer in shown.pointers.values()]


def _lack(log: DeltaTableLog, pointer: Pointer) -> str:
    try:
        with_counts(log, [pointer])
    except StateError as error:
        return error.what
    return ""


def on_disk(location: str) -> Path:
    """The folder of a warehouse. Raises SettingsError for an object store."""
    folder = local(location)
    if folder is None:
        raise SettingsError(
            f"{location} is in an object store",
            why="backfill backup and restore copy folders",
            fix="use the store's own versions or copies: records first, then data",
        )
    return Path(folder)


def _one_instant(warehouse: str) -> dict[str, int]:
    for _ in range(_LOOKS):
        one, other = control_heads(warehouse), control_heads(warehouse)
        if one == other:
            return one
    raise StateError(
        "the records are too busy to be copied", why="they moved all the time", fix="try again in a minute"
    )


def _of_table(source: Path, table: str, head: int) -> list[str]:
    """The files of a table at a commit: its log up to there, and the data files."""
    log = read_log(str(source / table))
    names = [f"{table}/{LOG}/{entry_name(n)}" for n in log.entries if n <= head]
    for commit in (c for c in log.checkpoints if c <= head):
        names += [f"{table}/{LOG}/{f.name}" for f in (source / table / LOG).glob(f"{commit:020}.checkpoint*")]
    opened = open_table(str(source / table), head)
    assert opened is not None
    if origin_of(opened) is not None:  # its files are another's: what is kept of it is what names them
        return [*names, f"{table}/{COUNTS}"]
    paths = opened.get_add_actions(flatten=True).column("path").to_pylist()
    return [*names, *(f"{table}/{unquote(path)}" for path in paths)]


def _reached(source: Path, target: Path) -> list[str]:
    """The files of every table that the copied records lead to, of each commit that something may point at."""
    control = Control.over(DeltaStore(str(target)))
    environments = [control.environments.read(name) for name in control.environments.names()]
    tables = reachable(environments, control.plans.all(), control.versions.all(), control.releases.everywhere())
    names: set[str] = set()
    for model, version in tables:
        table = f"{model}/{version}"
        log = read_log(str(source / table))
        names |= set(_of_table(source, table, log.head)) if log.head >= 0 else set()
        for number in log.entries:
            for line in (source / table / LOG / entry_name(number)).read_text(encoding="utf-8").splitlines():
                added = json.loads(line).get("add") if line.startswith('{"add"') else None
                if added and not is_outside(added["path"]) and (source / table / unquote(added["path"])).exists():
                    names.add(f"{table}/{unquote(added['path'])}")
    return sorted(names)


def _other_rows(source: Path, target: Path, heads: Mapping[str, int]) -> list[str]:
    """The control tables that have other rows in the copy than in the original at the same commits."""
    wrong: list[str] = []
    for table, head in heads.items():
        counts: list[int] = []
        for folder in (source, target):
            opened = open_table(str(folder / CONTROL / table), head)
            counts.append(sum(opened.get_add_actions(flatten=True).column("num_records").to_pylist()) if opened else -1)
        if len(set(counts)) > 1:
            wrong.append(f"{table} has {counts[1]} rows, not {counts[0]}")
    return wrong


def _compare(target: Path, made: Manifest, wrong: Sequence[str]) -> None:
    """Raise StateError unless the copy has the rows of the original (`wrong`: not), and is on the disk so."""
    wrong = [*wrong, *damaged_files(target, made.files)]
    if made.data:
        wrong += missing_data(str(target))
    if wrong:
        raise StateError(
            f"the backup in {target} is not what was copied",
            why="; ".join(wrong[:5]),
            fix="run `backfill backup` again",
        )


def _put(target: Path, name: str, content: bytes) -> File:
    write_durably(target / name, content)
    return File(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _hash_of(path: Path) -> File:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return File(bytes=opened.tell(), sha256=digest)


def sync_files(target: Path, names: Iterable[str]) -> None:
    """Wait until these files below a folder are on the disk, with the folders that lead to them."""
    names = list(names)
    folders = {parent for name in names for parent in (target / name).parents if parent.is_relative_to(target)}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(sync, [target / name for name in names]))
        list(pool.map(sync, sorted(folders, key=lambda f: len(f.parts), reverse=True)))
    sync(target.parent)
