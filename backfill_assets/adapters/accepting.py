"""How is a warehouse accepted that is not as its identity says? By somebody, with a reason, and it is written down."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from backfill_assets.adapters.warehouse import (
    as_it_is,
    control_heads,
    event,
    read_identity,
    read_memory,
    read_warehouse,
    write_identity,
    write_memory,
)
from backfill_assets.core.errors import BackfillError, StateError
from backfill_assets.core.settings import Settings
from backfill_assets.project.object_store import way_back
from backfill_assets.state.identity import FORMAT, READER, WRITER, Identity, Memory, WarehouseState, refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseStatus:
    """A warehouse as it is, and what is wrong with it; `problem` is None when nothing is."""

    location: str
    identity: Identity | None
    tables: int
    old: bool
    problem: BackfillError | None

    def to_json(self) -> dict[str, object]:
        """As `backfill warehouse --json` prints it."""
        said, release = self.identity, self.identity.release if self.identity else None
        return {
            "location": self.location,
            "warehouse": said and said.warehouse,
            "project": said and said.project,
            "format": said.format if said else 1 if self.old else None,
            "generation": said and said.generation,
            "release": release and {"id": release.id, "environment": release.environment, "commit": release.commit},
            "control_tables": self.tables,
            "history": [dict(h) for h in said.history] if said else [],
            "problem": self.problem and str(self.problem),
        }


def warehouse_status(settings: Settings, root: Path) -> WarehouseStatus:
    """Look at a project's warehouse without refusing anything."""
    where = settings.warehouse
    memory = read_memory(root, where)
    try:
        found = read_warehouse(where, memory)
    except StateError as error:
        return WarehouseStatus(location=where, identity=None, tables=0, old=False, problem=error)
    problem = _refusal(found, settings, memory)
    return WarehouseStatus(
        location=where, identity=found.identity, tables=len(found.heads), old=found.old, problem=problem
    )


def migrate(settings: Settings, root: Path, *, by: str) -> Identity | None:
    """Give a warehouse of an older release its identity; None when it has one already. Again is harmless.

    No interval is audited again: the records stay as they are. Raises StateError for a warehouse that is lost or
    belongs to another project.
    """
    where = settings.warehouse
    memory = read_memory(root, where)
    found = read_warehouse(where, memory)
    refuse(found, project=settings.name, memory=memory)
    if found.identity is not None:
        return None
    if not found.heads:
        raise StateError(
            f"there is nothing to migrate in {where}",
            why="no control table is there",
            fix="a new warehouse needs no migration: backfill apply makes it",
        )
    made = Identity(warehouse=uuid.uuid4().hex, project=settings.name, history=(event("migrated", by=by),))
    made = as_it_is(where, made)
    write_identity(where, made)
    write_memory(root, where, made)
    return made


def adopt(settings: Settings, root: Path, *, by: str, why: str) -> Identity:
    """Take a warehouse for this project's, with the records as they are now. Raises StateError when there are none."""
    where = settings.warehouse
    if not control_heads(where) and read_identity(where) is None:
        raise StateError(
            f"there is nothing to adopt in {where}",
            why="neither an identity nor a control table is there",
            fix=f"mount the folder, {way_back(where)}, or name another `warehouse:`",
        )
    there = read_identity(where) or Identity(warehouse=uuid.uuid4().hex, project=settings.name)
    memory = read_memory(root, where)
    generation = max(there.generation, memory.generation if memory else 0) + 1
    history = (*there.history, event("adopted", why, by))
    made = replace(there, project=settings.name, generation=generation, history=history)
    made = replace(as_it_is(where, made), format=FORMAT, reader=READER, writer=WRITER)
    write_memory(root, where, None)
    write_identity(where, made)
    write_memory(root, where, made)
    return made


def forget(settings: Settings, root: Path) -> bool:
    """Remember nothing of the warehouse any more: it was deleted on purpose. Whether anything was remembered."""
    there = read_memory(root, settings.warehouse) is not None
    write_memory(root, settings.warehouse, None)
    return there


def _refusal(found: WarehouseState, settings: Settings, memory: Memory | None) -> BackfillError | None:
    try:
        refuse(found, project=settings.name, memory=memory)
    except StateError as error:
        return error
    return None
