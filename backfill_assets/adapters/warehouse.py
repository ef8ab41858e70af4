"""Is this the warehouse that it should be? Looked at before any record is read, and noted after each release."""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backfill_assets.adapters.control_delta import DeltaStore, Guard
from backfill_assets.adapters.durable import local, sync, sync_commits, write_durably
from backfill_assets.adapters.log_folder import LOG, check_log, damaged, entry_name, read_log
from backfill_assets.adapters.table_log import open_table
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.core.errors import StateError
from backfill_assets.core.settings import Settings
from backfill_assets.files.no_access import NoAccessError, no_access
from backfill_assets.project.settings import state_root
from backfill_assets.state.approvals import APPROVALS
from backfill_assets.state.environment import ENVIRONMENTS, releases_of
from backfill_assets.state.identity import (
    FORMAT,
    IDENTITY,
    Identity,
    LastRelease,
    Memory,
    WarehouseState,
    identity_from_json,
    refuse,
)
from backfill_assets.state.ledger import Kind
from backfill_assets.state.plans import PLANS
from backfill_assets.state.proofs import PROOFS
from backfill_assets.state.rules import RULES
from backfill_assets.state.salt import SALT
from backfill_assets.state.store import Row

CONTROL = "_control"
MEMORY = "warehouses.json"
SECRET = frozenset({SALT.name})
"""Control tables that some accounts need not read."""
JUDGED_BY = frozenset({APPROVALS.name, PLANS.name, PROOFS.name, RULES.name})
"""Control tables of which each record is noted: what people said, and what the gate judges by. Builds write the others
all the time: those are noted with a release, and when somebody withdraws rows."""


def open_store(settings: Settings, root: Path, *, remember: bool = True) -> DeltaStore:
    """The control tables of a project's warehouse. Raises StateError when it is not the one that it should be.

    `remember`: note in the project's `.backfill/` how far the warehouse has come.
    """
    where = settings.warehouse
    memory = read_memory(root, where)  # first: what is found later is not older, unless something is wrong
    found = read_warehouse(where, memory)
    refuse(found, project=settings.name, memory=memory)
    identity = found.identity
    if identity is not None and remember:
        identity = _caught_up(where, identity, found.heads, memory)
        if identity.release is not None:
            write_memory(root, where, identity)
    return DeltaStore(where, WarehouseGuard(settings, root, identity, old=found.old))


class WarehouseGuard(Guard):
    """Keeps `warehouse.json` beside the control tables of one project."""

    def __init__(self, settings: Settings, root: Path, identity: Identity | None, *, old: bool) -> None:
        self._settings, self._root, self._identity, self._old = settings, root, identity, old

    def least(self, table: str) -> int:
        return self._identity.tables.get(table, -1) if self._identity else -1

    def before_write(self) -> None:
        where = self._settings.warehouse
        if self._old:
            raise StateError(
                f"the warehouse {where} was made by an older release: it can be read, and not be written",
                why=f"it has no {IDENTITY}, which says whose it is and how far it has come",
                fix="run `backfill migrate` once",
            )
        if self._identity is None:
            self._identity = create(where, self._settings.name)
        if self._identity.writer > FORMAT:
            raise StateError(
                f"the warehouse {where} is written by a newer release of backfill-assets",
                why=f"who writes has to know format {self._identity.writer}, this program knows {FORMAT}",
                fix="upgrade backfill-assets here",
            )

    def after_append(self, table: str, rows: Sequence[Row]) -> None:
        if table in JUDGED_BY or any(row.get("kind") == Kind.WITHDRAWN.value for row in rows):
            with suppress(OSError, StateError):  # it is recorded: the next note makes up for this one
                write_memory(self._root, self._settings.warehouse, _note(self._settings.warehouse))

    def after_replace(self, table: str, rows: Sequence[Row], note: Mapping[str, str], commit: int) -> None:
        if table in JUDGED_BY:
            self.after_append(table, rows)
        if table != ENVIRONMENTS.name:
            return
        for row in rows:
            name = str(row["environment"])
            if name.endswith(releases_of("")):
                release = LastRelease(id=note["release"], environment=name.removesuffix(releases_of("")), commit=commit)
                with suppress(OSError, StateError):  # the pointers have moved: the next command makes up for the note
                    write_memory(self._root, self._settings.warehouse, _note(self._settings.warehouse, release))


def read_warehouse(where: str, memory: Memory | None = None) -> WarehouseState:
    """What is in a warehouse, also of what a project remembers of it. Raises StateError when its identity, or the log
    of a control table, is damaged."""
    identity = read_identity(where)
    heads, closed = _heads(where)
    data = identity is None and not heads and bool(DeltaTableStorage(where).tables())
    last = identity.release if identity is not None else None
    wanted = {last.commit} if last else set[int]()
    wanted |= {memory.commit} if identity and memory else set()  # nearly always the same
    found = {commit: _release_at(where, commit) for commit in wanted}
    return WarehouseState(
        location=where,
        identity=identity,
        heads=heads,
        closed=closed,
        data=data,
        noted=(last and found[last.commit]) or "",
        remembered=found[memory.commit] if identity and memory else None,
    )


def read_identity(where: str) -> Identity | None:
    """What `warehouse.json` says; None when there is none. Raises StateError when it is damaged."""
    content = _read(where, IDENTITY)
    return None if content is None else identity_from_json(content.decode(errors="replace"), f"{where}/{IDENTITY}")


def write_identity(where: str, identity: Identity) -> None:
    """Put it in the place of what is there."""
    _write(where, IDENTITY, identity.to_json().encode())


def create(where: str, project: str) -> Identity:
    """The identity of a new warehouse; that of another process which was quicker."""
    with _locked(where):
        there = read_identity(where)
        if there is None:
            there = Identity(warehouse=uuid.uuid4().hex, project=project, history=(event("created"),))
            write_identity(where, there)
            there = read_identity(where) or there  # an object store has no lock: who wrote last is right
        return there


def event(what: str, why: str = "", by: str = "") -> dict[str, str]:
    """A line of the identity's history."""
    said = {"what": what, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    return said | {k: v for k, v in (("by", by), ("why", why)) if v}


def control_heads(where: str) -> dict[str, int]:
    """The newest commit of each control table that is there, but for secret ones that this account may not read. Raises
    StateError when a log is damaged."""
    return _heads(where)[0]


def _heads(where: str) -> tuple[dict[str, int], frozenset[str]]:
    """The same, and the secret tables that this account may not read: who approves needs none of them."""
    folder = local(where)
    if folder is None:
        from backfill_assets.adapters.folder import ArrowFolder

        names = {n.split("/")[0] for n in ArrowFolder(f"{where}/{CONTROL}").names() if f"/{LOG}/" in n}
        opened = {name: open_table(f"{where}/{CONTROL}/{name}") for name in names}
        return {name: table.version() for name, table in opened.items() if table is not None}, frozenset()
    try:
        with os.scandir(f"{folder}/{CONTROL}") as entries:
            names = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except FileNotFoundError:
        return {}, frozenset()
    except PermissionError:
        raise no_access(f"{folder}/{CONTROL}") from None
    except NotADirectoryError:
        raise damaged(f"{folder}/{CONTROL}", "it is a file, where the folder of all records belongs") from None
    heads, closed = dict[str, int](), set[str]()
    for name in names:
        try:
            heads[name] = check_log(f"{folder}/{CONTROL}/{name}")
        except NoAccessError:
            if name not in SECRET:
                raise
            closed.add(name)
    return {name: head for name, head in heads.items() if head >= 0}, frozenset(closed)


def as_it_is(where: str, identity: Identity) -> Identity:
    """The identity with the records as they are now: their newest commits, and the newest release among them."""
    heads, closed = _heads(where)
    unseen = {table: commit for table, commit in identity.tables.items() if table in closed}
    return replace(
        identity, tables={**unseen, **heads}, release=newest_release(where, heads.get(ENVIRONMENTS.name, -1))
    )


def _caught_up(where: str, identity: Identity, heads: Mapping[str, int], memory: Memory | None) -> Identity:
    """With what nobody noted, or what an older note was written over: whoever recorded it died, could not write after
    the commit, or was overtaken."""
    known = identity.release.commit if identity.release else -1
    folder = local(where)
    if folder is not None:
        head = read_log(f"{folder}/{CONTROL}/{ENVIRONMENTS.name}").head
    else:  # each look at a commit is a request
        head = max(known, memory.commit if memory and memory.generation == identity.generation else -1)
    last = newest_release(where, head, after=known)
    if last is None and all(heads.get(table, -1) <= identity.tables.get(table, -1) for table in JUDGED_BY):
        return identity
    with suppress(OSError):
        return _note(where, last)
    return _further(identity, heads, last)  # for somebody who may only read


def newest_release(where: str, until: int, *, after: int = -1) -> LastRelease | None:
    """The newest release among some commits of the table of environments: one that adds a release's record."""
    for commit in range(until, after, -1):
        for action in _actions(where, commit):
            added = action.get("add") or {}
            name = (added.get("partitionValues") or {}).get("environment") or ""
            if added.get("dataChange") and name.endswith(releases_of("")):
                release = str(_info(where, commit).get("release", ""))
                return LastRelease(id=release, environment=name.removesuffix(releases_of("")), commit=commit)
    return None


def _release_at(where: str, commit: int) -> str | None:
    """The release that one commit of the table of environments made; "": none; None when the log does not say it."""
    there = newest_release(where, commit, after=commit - 1)
    return there.id if there is not None else "" if _actions(where, commit) else None


def _note(where: str, release: LastRelease | None = None) -> Identity:
    """Write down how far the records are, and a release, unless a newer one is known. Where there is no lock (an object
    store, another machine), whoever is overtaken leaves an older note, which is true as well."""
    with _locked(where):
        there = _there(where)
        if release is not None and there.release is not None and there.release.commit >= release.commit:
            return there
        heads = control_heads(where)
        for table in heads.keys() - {t for t, head in there.tables.items() if heads.get(t) == head}:
            sync_commits(f"{where}/{CONTROL}/{table}", [heads[table]])  # what is noted outlives a loss of power
        there = _there(where)  # that took a while, and others may have noted more
        noted = _further(there, heads, release)
        write_identity(where, noted)
        return noted


def _further(identity: Identity, heads: Mapping[str, int], release: LastRelease | None) -> Identity:
    """The later of what it says and what was found, table by table."""
    known = identity.release
    newer = release if release and (known is None or known.commit < release.commit) else known
    tables = {t: max(heads.get(t, -1), identity.tables.get(t, -1)) for t in (*identity.tables, *heads)}
    return replace(identity, release=newer, tables=tables)


def _there(where: str) -> Identity:
    there = read_identity(where)
    if there is None:
        raise StateError(f"{where}/{IDENTITY} is gone")
    return there


def _info(where: str, commit: int) -> dict[str, Any]:
    return next((a["commitInfo"] for a in _actions(where, commit) if "commitInfo" in a), {})


def _actions(where: str, commit: int) -> list[dict[str, Any]]:
    content = _read(where, f"{CONTROL}/{ENVIRONMENTS.name}/{LOG}/{entry_name(commit)}")
    return [json.loads(line) for line in (content or b"").decode().splitlines() if line.strip()]


# --- what the project's folder remembers ------------------------------------------------------------------------------


def read_memory(root: Path, where: str) -> Memory | None:
    """What the project remembers of a warehouse. A memory that cannot be read is none."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        said = json.loads(_memory(root).read_text(encoding="utf-8"))[where]
        return Memory(
            warehouse=str(said["warehouse"]),
            generation=int(said["generation"]),
            release=str(said["release"]),
            commit=int(said["commit"]),
            tables={str(table): int(commit) for table, commit in said.get("tables", {}).items()},
        )
    return None


def write_memory(root: Path, where: str, identity: Identity | None) -> None:
    """Remember how far a warehouse has come; None: forget it. A folder that cannot be written remembers nothing.

    What is remembered already is not taken back: an identity may be another machine's older note.
    """
    said = None
    if identity is not None and (last := identity.release) is not None:
        said = Memory(
            warehouse=identity.warehouse,
            generation=identity.generation,
            release=last.id,
            commit=last.commit,
            tables={t: commit for t, commit in identity.tables.items() if t in JUDGED_BY},
        )
    before = read_memory(root, where)
    if said and before and (before.warehouse, before.generation) == (said.warehouse, said.generation):
        tables = {t: max(before.tables.get(t, -1), said.tables.get(t, -1)) for t in (*before.tables, *said.tables)}
        said = replace(before if before.commit > said.commit else said, tables=tables)
    if before == said:
        return
    known: Any = {}
    with suppress(OSError, ValueError, RecursionError):
        known = json.loads(_memory(root).read_text(encoding="utf-8"))
    others = {place: m for place, m in known.items() if place != where} if isinstance(known, dict) else {}
    known = others | ({where: asdict(said)} if said else {})
    with suppress(OSError):
        write_durably(_memory(root), (json.dumps(known, indent=1) + "\n").encode())


def _memory(root: Path) -> Path:
    return state_root(root) / ".backfill" / MEMORY


# --- files at a folder or a URI ---------------------------------------------------------------------------------------


def _read(where: str, name: str) -> bytes | None:
    folder = local(where)
    if folder is None:
        from backfill_assets.adapters.folder import ArrowFolder

        return ArrowFolder(where).read(name)
    try:
        return Path(folder, name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise no_access(Path(folder, name)) from None
    except IsADirectoryError:
        return b""  # it says nothing


def _write(where: str, name: str, content: bytes) -> None:
    folder = local(where)
    if folder is None:
        from backfill_assets.adapters.folder import ArrowFolder

        ArrowFolder(where).write(name, content)
    else:
        write_durably(Path(folder, name), content)


@contextmanager
def _locked(where: str) -> Generator[None]:
    """One process of this machine at a time."""
    folder = local(where)
    if folder is None:
        yield
        return
    new = not Path(folder).is_dir()
    Path(folder).mkdir(parents=True, exist_ok=True)
    if new:
        sync(Path(folder).parent)
    place = Path(folder, f".{IDENTITY}.lock")
    if place.exists() and not os.access(place, os.W_OK):
        raise no_access(place)
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
