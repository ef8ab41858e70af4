"""Which tables does the janitor remove, or has it removed? A row per table, beside the pointers.

They are in the environments' table because one commit decides between pointing at a table and removing it: whoever
comes second finds another revision, looks again, and sees what the first one did.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import ConflictError, too_busy
from backfill_assets.core.processes import is_running
from backfill_assets.state.environment import ENVIRONMENTS, GONE, MARKED, REMOVALS, table_of
from backfill_assets.state.ledger import new_id
from backfill_assets.state.store import Filter, Row, Store
from backfill_assets.state.versions import VersionKey

DIES_AFTER = timedelta(hours=24)
"""How long a janitor is taken to be alive when nothing else tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One table's removal: begun (`done` is false) or over. `at` is of the real clock."""

    id: str
    model: str
    version: str
    done: bool
    at: datetime
    revision: int
    """After which revision it was marked for deletion: no release that is older can be gone back to any more."""
    by: str
    why: str
    bytes: int
    host: str
    pid: int

    @property
    def table(self) -> VersionKey:
        return self.model, self.version

    def owned(self, *, now: datetime) -> bool:
        """Whether the janitor that began it may still be at it."""
        if now - self.at >= DIES_AFTER or (self.host, self.pid) == (socket.gethostname(), os.getpid()):
            return False
        if self.host != socket.gethostname():
            return True
        return is_running(self.pid)


class Removals:
    """The rows of removals. A table has one at most: the last one."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(ENVIRONMENTS)

    def all(self) -> dict[VersionKey, Removal]:
        """Every removal, by table."""
        rows = self._table.read({"environment": [REMOVALS]})
        return {r.table: r for r in map(_removal, rows)}

    def of(self, tables: Collection[VersionKey]) -> list[Removal]:
        """The last removals of these tables."""
        names = [f"{model}/{version}" for model, version in tables]
        return [_removal(row) for row in self._table.read({"environment": [REMOVALS], "model": names})]

    def mark_for_deletion(
        self, tables: Mapping[VersionKey, tuple[str, int]], *, revision: int, by: str
    ) -> list[Removal]:
        """Begin to remove tables (why, and how many bytes), in one commit: from now on nothing can be pointed at them.

        Raises ConflictError, having written nothing, when any environment moved since `revision`: look again.
        """
        begun = [
            Removal(
                id=new_id(),
                model=model,
                version=version,
                done=False,
                at=datetime.now(UTC),
                revision=revision + 1,
                by=by,
                why=why,
                bytes=size,
                host=socket.gethostname(),
                pid=os.getpid(),
            )
            for (model, version), (why, size) in tables.items()
        ]
        if begun:
            self._table.replace(list(map(_row, begun)), where=_where(begun), revision=revision, note=_NOTE)
        return begun

    def take_over(self, removals: Collection[Removal]) -> list[Removal]:
        """Go on with what a dead janitor began, under one's own name. One that moved meanwhile is left out."""
        mine = [replace(r, host=socket.gethostname(), pid=os.getpid(), at=datetime.now(UTC)) for r in removals]
        return self._put(mine, expected={r.table: r for r in removals})

    def finish(self, removal: Removal) -> None:
        """The table is gone."""
        self._put([replace(removal, done=True, at=datetime.now(UTC))], expected={removal.table: removal})

    def unmark(self, removals: Collection[Removal]) -> None:
        """Somebody came to need these tables: they stay."""
        self._put([], expected={r.table: r for r in removals})

    def _put(self, rows: Sequence[Removal], expected: Mapping[VersionKey, Removal]) -> list[Removal]:
        """Write rows in the place of those that are expected to be there, as far as they still are."""
        for _ in attempts():
            revision = self._table.revision()
            there = self.all()
            still = {table: r for table, r in expected.items() if there.get(table) == r}
            new = [r for r in rows if r.table in still]
            try:
                if still:
                    where = _where(list(still.values()))
                    self._table.replace(list(map(_row, new)), where=where, revision=revision, note=_NOTE)
                return new
            except ConflictError:
                continue
        raise too_busy("environments are too busy")


_NOTE = {"janitor": "removals"}


def _where(removals: Sequence[Removal]) -> Filter:
    return {"environment": [REMOVALS], "model": [f"{r.model}/{r.version}" for r in removals]}


def _row(removal: Removal) -> Row:
    said = {"by": removal.by, "why": removal.why, "bytes": removal.bytes, "host": removal.host, "pid": removal.pid}
    return {
        "environment": REMOVALS,
        "model": f"{removal.model}/{removal.version}",
        "pointer_id": removal.id,
        "pointer": json.dumps(said | {"revision": removal.revision}),
        "release": GONE if removal.done else MARKED,
        "at": removal.at,
    }


def _removal(row: Row) -> Removal:
    model, version = table_of(row)
    said = json.loads(cast(str, row["pointer"]))
    return Removal(
        id=cast(str, row["pointer_id"]),
        model=model,
        version=version,
        done=row["release"] == GONE,
        at=cast(datetime, row["at"]),
        **said,
    )
