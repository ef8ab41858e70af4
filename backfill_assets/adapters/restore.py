"""How does a warehouse come back from a backup? Staged and checked first, then put in place; nothing is deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from backfill_assets.adapters.backup import (
    EVIDENCE,
    Manifest,
    copy,
    damaged_files,
    missing_data,
    missing_outside,
    on_disk,
    read_backup,
    sync_files,
)
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.durable import sync
from backfill_assets.adapters.log_folder import LOG
from backfill_assets.adapters.warehouse import (
    CONTROL,
    control_heads,
    event,
    read_identity,
    read_memory,
    write_identity,
    write_memory,
)
from backfill_assets.core.errors import StateError
from backfill_assets.core.settings import Settings
from backfill_assets.state.control import Control
from backfill_assets.state.identity import IDENTITY, Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of it. `aside` is where what was there before is kept; "" when nothing was."""

    manifest: Manifest
    lost: tuple[str, ...]
    aside: str
    missing: tuple[str, ...]
    """What environments show and the tables of versions, which may not be in the backup, or files of adopted tables,
    which are in none, do not give."""


def restore(source: Path, settings: Settings, root: Path, *, over_newer: bool, by: str) -> Restored:
    """Put a backup in the place of a project's warehouse.

    Raises StateError, and nothing is changed then, for a damaged backup or one of another project, and when anything
    that came after the backup would be lost, unless `over_newer`. Killed at any point, it is run again.
    """
    where, found = settings.warehouse, read_backup(source)
    folder = on_disk(where)
    if found.project != settings.name:
        raise StateError(
            f"the backup {source} is of project {found.project}, not of {settings.name}",
            why="its releases and approvals are of other models",
            fix="name another backup, or correct `name:` in backfill.yml",
        )
    lost = losses(where, found)
    if lost and not over_newer:
        raise StateError(
            f"the warehouse {where} has what the backup of {found.at} has not; nothing was changed",
            why="; ".join(lost),
            fix="use a newer backup; or `backfill restore --replace`: what is there now is kept beside it, unused",
        )
    aside = folder / f".replaced-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
    staged = folder / f".restoring-{os.getpid()}"
    for left in folder.glob(".restoring-*") if folder.is_dir() else ():  # of one that died
        shutil.rmtree(left)
    records = [name for name in found.files if name.startswith(f"{CONTROL}/")]
    _copy_checked(source, staged, records, found)
    _put_data(
        source, folder, aside, [n for n in found.files if n.split("/")[0] not in (CONTROL, EVIDENCE, IDENTITY)], found
    )
    _copy_checked(source, folder, [n for n in found.files if n.startswith(f"{EVIDENCE}/")], found)
    known, memory = _known(where), read_memory(root, where)
    _move(folder / CONTROL, aside / CONTROL)
    _move(staged / CONTROL, folder / CONTROL)
    shutil.rmtree(staged, ignore_errors=True)
    mine = read_identity(str(source))
    assert mine is not None
    generation = max(mine.generation, known.generation if known else 0, memory.generation if memory else 0) + 1
    history = (*(known.history if known else mine.history), event("restored", f"backup of {found.at}", by))
    mine = replace(mine, generation=generation, history=history)
    write_identity(where, mine)
    write_memory(root, where, None)
    write_memory(root, where, mine)
    kept = str(aside) if aside.is_dir() else ""
    missing = (*missing_data(where), *missing_outside(where))
    return Restored(manifest=found, lost=tuple(lost), aside=kept, missing=missing)


def losses(where: str, found: Manifest) -> list[str]:
    """What is in the warehouse, as far as can be told, and not in the backup."""
    lost: list[str] = []
    try:
        identity, heads = read_identity(where), control_heads(where)
    except StateError as error:
        return [f"it is damaged, so that nobody can tell ({error.what})"]
    if identity is not None and identity.warehouse != found.warehouse:
        lost.append(f"it is another warehouse, of project {identity.project}")
    newer = {table: head for table, head in heads.items() if head > found.tables.get(table, -1)}
    if newer:
        lost.append(
            f"newer records: {', '.join(f'{t} +{h - found.tables.get(t, -1)}' for t, h in sorted(newer.items()))}"
        )
        releases = Control.over(DeltaStore(where)).releases.everywhere()
        if after := [r.id for r in releases if r.revision > found.commit]:
            lost.append(f"releases: {', '.join(after)}")
    elif identity is not None and identity.release is not None and identity.release.commit > found.commit:
        lost.append(f"release {identity.release.id} of {identity.release.environment}, which {IDENTITY} names")
    return lost


def _known(where: str) -> Identity | None:
    try:
        return read_identity(where)
    except StateError:
        return None


def _copy_checked(source: Path, target: Path, names: Iterable[str], found: Manifest) -> None:
    """Copy, wait for the disk, and read again."""
    wanted = {name: found.files[name] for name in names}
    if not wanted:
        return
    copy(source, target, wanted)
    sync_files(target, wanted)
    if wrong := damaged_files(target, wanted):
        raise StateError(
            f"{target} does not keep what is written there", why="; ".join(wrong[:5]), fix="check the disk"
        )


def _put_data(source: Path, folder: Path, aside: Path, names: list[str], found: Manifest) -> None:
    """The tables of versions: what is there already stays; a table with another history goes aside as a whole.

    Data first and log entries last: a table that died half-way has fewer commits, and no holes.
    """
    by_table: dict[str, list[str]] = {}
    for name in names:
        by_table.setdefault("/".join(name.split("/")[:2]), []).append(name)
    for table, files in by_table.items():
        logs = [n for n in files if n.startswith(f"{table}/{LOG}/")]
        there = {n: found.files[n] for n in logs if (folder / n).exists()}
        if damaged_files(folder, there):
            _move(folder / table, aside / table)
        lacking = {n for n in files if not (folder / n).exists()}
        lacking |= set(_of_other_size(folder, files, found))
        _copy_checked(source, folder, sorted(lacking - set(logs)), found)
        _copy_checked(source, folder, sorted(lacking & set(logs)), found)


def _of_other_size(folder: Path, names: list[str], found: Manifest) -> list[str]:
    """Those that are there and have another size than in the backup."""
    return [n for n in names if (folder / n).exists() and (folder / n).stat().st_size != found.files[n].bytes]


def _move(old: Path, new: Path) -> None:
    if old.exists():
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        sync(new.parent)
        sync(old.parent)
