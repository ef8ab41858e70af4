"""What may be set aside of a log that a loss of power damaged? Its newest entry, where nobody was ever told of it.

Entries are on the disk before anything counts on them, so that one which is empty or cut off was not acknowledged, as a
rule. What says otherwise (the note of a release, the ledger, a pointer) is believed: then something was lost, and a
backup has it. The entry is kept beside the warehouse's tables, and the warehouse's history says what was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.durable import local, sync
from backfill_assets.adapters.log_folder import HINT, LOG, check_log, entry_name, read_log
from backfill_assets.adapters.table_log import open_table
from backfill_assets.adapters.warehouse import event, read_identity, read_memory, write_identity
from backfill_assets.core.errors import StateError
from backfill_assets.core.settings import Settings
from backfill_assets.project.object_store import way_back
from backfill_assets.state.control import Control
from backfill_assets.state.environment import ENVIRONMENTS

CONTROL = "_control"
ASIDE = ".aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """What was set aside: of which table (its folder in the warehouse), which commit, and where it is now."""

    table: str
    commit: int
    place: str
    what: Literal["commit", "checkpoint"] = "commit"
    """A checkpoint that is set aside loses nothing: the entries say the same."""


def repair(settings: Settings, root: Path, *, by: str) -> tuple[SetAside, ...]:
    """Set aside the newest entry of each log that is whole but for it, and a newest checkpoint that cannot be read.
    Nothing is done to others; again is harmless.

    Raises StateError, before a table is touched, when the entry was acknowledged or more than it is damaged. Nothing
    else should write the warehouse meanwhile.
    """
    folder = local(settings.warehouse)
    if folder is None:
        raise StateError(
            f"there is nothing to repair in {settings.warehouse}",
            why="an object store shows an entry whole or not at all",
            fix=f"restore what is damaged from {way_back(settings.warehouse)}",
        )
    where = Path(folder)
    done = _set_aside(where, _damaged(where, CONTROL), _noted(settings, root))
    done += _set_checkpoints_aside(where)
    if any((where / CONTROL).glob(f"*/{LOG}")):
        done += _set_aside(where, _damaged(where, ""), _relied_on(Control.over(DeltaStore(settings.warehouse))))
    identity = read_identity(settings.warehouse)
    if done and identity is not None:
        why = "; ".join(f"{one.table} {one.what} {one.commit}" for one in done)
        history = (*identity.history, event("repaired", f"set aside: {why}", by))
        write_identity(settings.warehouse, replace(identity, history=history))
    return done


def _set_aside(where: Path, damaged: Mapping[str, int], known: Mapping[str, int]) -> tuple[SetAside, ...]:
    lost = {table: commit for table, commit in damaged.items() if commit <= known.get(table, -1)}
    if lost:
        raise StateError(
            f"{', '.join(f'commit {commit} of {table}' for table, commit in lost.items())} cannot be set aside",
            why="it was acknowledged: what relies on it is recorded, and its content is lost",
            fix="bring it back from a backup: backfill restore SRC",
        )
    done: list[SetAside] = []
    for table, commit in damaged.items():
        log, name = where / table / LOG, entry_name(commit)
        # The checkpoint of the same commit says as much.
        target = _move(where, log, [log / name, log / f".{name}.crc", *_checkpoint(log, commit)])
        done.append(SetAside(table=table, commit=commit, place=str(target / name)))
    return tuple(done)


def _set_checkpoints_aside(where: Path) -> tuple[SetAside, ...]:
    """The newest checkpoint of each control table that cannot be read for it alone: the entries since the one before
    say the same, so no row goes."""
    done: list[SetAside] = []
    for log in sorted((where / CONTROL).glob(f"*/{LOG}")):
        location, found = str(log.parent), read_log(str(log.parent))
        try:
            open_table(location)
            continue
        except StateError:
            named = sorted({int(f.name[:20]) for f in log.glob(f"{'[0-9]' * 20}.checkpoint*")})
        newest = named[-1] if named else -1
        without = replace(found, checkpoints=found.checkpoints - {newest})
        if check_log(location) < 0 or without.problem(found.head):
            continue
        target = _move(where, log, _checkpoint(log, newest), "-checkpoint")
        table = log.parent.relative_to(where).as_posix()
        done.append(SetAside(table=table, commit=newest, place=str(target), what="checkpoint"))
    return tuple(done)


def _checkpoint(log: Path, commit: int) -> list[Path]:
    """The files of a commit's checkpoint, and the hint that would lead to it."""
    return [*log.glob(f"{commit:020}.checkpoint*"), log / HINT]


def _move(where: Path, log: Path, files: Sequence[Path], what: str = "") -> Path:
    """Move files of a log that are there to a folder of now, which is returned; both are on the disk then."""
    table = log.parent.relative_to(where).as_posix()
    target = where / ASIDE / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{table.replace('/', '-')}{what}"
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.exists():
            file.rename(target / file.name)
    for place in (target, target.parent, where, log):
        sync(place)
    return target


def _damaged(where: Path, below: str) -> dict[str, int]:
    """The tables below a folder whose newest entry is damaged: folder in the warehouse → commit."""
    found: dict[str, int] = {}
    for log in sorted((where / below).glob(f"{'*' if below else '[!_.]*/*'}/{LOG}")):
        location = log.parent
        try:
            check_log(str(location))
        except StateError:
            head = read_log(str(location)).head
            if head > 0:
                check_log(str(location), head - 1)  # raises where more is damaged: that is in a backup only
            found[location.relative_to(where).as_posix()] = head
    return found


def _noted(settings: Settings, root: Path) -> dict[str, int]:
    """Control table → its newest commit that a release noted, in the warehouse or in the project's folder."""
    identity, memory = read_identity(settings.warehouse), read_memory(root, settings.warehouse)
    known = {f"{CONTROL}/{name}": commit for name, commit in identity.tables.items()} if identity else {}
    table = f"{CONTROL}/{ENVIRONMENTS.name}"
    releases = [known.get(table, -1), memory.commit if memory else -1]
    for name, commit in (memory.tables if memory else {}).items():
        known[f"{CONTROL}/{name}"] = max(known.get(f"{CONTROL}/{name}", -1), commit)
    return known | {table: max(releases)}


def _relied_on(control: Control) -> dict[str, int]:
    """Table of a version → its newest commit that the ledger or a pointer names."""
    found: dict[str, int] = {}
    for table, commit in _named(control):
        found[table] = max(found.get(table, -1), commit)
    return found


def _named(control: Control) -> Iterator[tuple[str, int]]:
    for entry in control.ledger.entries():
        yield f"{entry.model}/{entry.version}", entry.table_commit
    for name in control.environments.names():
        for pointer in control.environments.read(name).pointers.values():
            for segment in pointer.segments:
                yield f"{pointer.model}/{segment.version}", segment.commit
