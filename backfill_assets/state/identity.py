"""Whose warehouse is this, and how far has it come? Kept beside the records, so that lost or older ones are noticed.

A promotion writes its release and the newest commit of each control table into `warehouse.json`, after the commit that
moved the pointers: a crash in between leaves an older note, which is still true. What people say (rules, approvals,
plans, findings, withdrawals) is noted likewise. Records that are behind the note are not those of this warehouse as it
was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from backfill_assets.core.errors import StateError
from backfill_assets.project.object_store import way_back

IDENTITY = "warehouse.json"
FORMAT = 2
"""How records are laid out. 1: as releases before this file wrote them; 2: with this file, and counts in pointers."""
READER, WRITER = 1, 2
"""The oldest format that a program must know to read, and to write, the records that this one writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRelease:
    """The newest release that is known, and the commit of the table of environments that made it."""

    id: str
    environment: str
    commit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What `warehouse.json` says."""

    warehouse: str
    """An id of its own, which copies of it share."""
    project: str
    """The name of the project that it belongs to."""
    format: int = FORMAT
    reader: int = READER
    """The oldest format that a program must know to read the records."""
    writer: int = WRITER
    """The same, to write them."""
    generation: int = 0
    """How often it was restored from a backup, or adopted as it was found."""
    release: LastRelease | None = None
    tables: Mapping[str, int] = field(default_factory=dict[str, int])
    """Control table → its newest commit when this was written: it cannot have fewer."""
    history: tuple[Mapping[str, str], ...] = ()
    """What was done to the warehouse as a whole: created, migrated, adopted, restored; by whom, when and why."""

    def to_json(self) -> str:
        """As it is stored."""
        said = {
            "warehouse": self.warehouse,
            "project": self.project,
            "format": {"version": self.format, "reader": self.reader, "writer": self.writer},
            "generation": self.generation,
            "release": self.release
            and {"id": self.release.id, "environment": self.release.environment, "commit": self.release.commit},
            "tables": dict(sorted(self.tables.items())),
            "history": [dict(h) for h in self.history],
        }
        return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


def identity_from_json(text: str, where: str) -> Identity:
    """Raises StateError when the text is no identity."""
    try:
        raw: dict[str, Any] = json.loads(text)
        release = raw["release"]
        return Identity(
            warehouse=str(raw["warehouse"]),
            project=str(raw["project"]),
            format=int(raw["format"]["version"]),
            reader=int(raw["format"]["reader"]),
            writer=int(raw["format"]["writer"]),
            generation=int(raw["generation"]),
            release=LastRelease(id=release["id"], environment=release["environment"], commit=int(release["commit"]))
            if release
            else None,
            tables={str(name): int(commit) for name, commit in raw["tables"].items()},
            history=tuple(raw["history"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise StateError(
            f"{where} is damaged",
            why="it does not say whose warehouse this is, nor how far its records go",
            fix=f"restore it from {'a backup (backfill restore)' if '://' not in where else way_back(where)}, "
            "or, if the records are right as they are, "
            "delete it and run `backfill migrate`",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What this machine's project folder remembers of a warehouse: a second place, for when the first is gone."""

    warehouse: str
    generation: int
    release: str
    commit: int
    tables: Mapping[str, int] = field(default_factory=dict[str, int])
    """Control table of what people said → the newest commit of it that was noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseState:
    """What is there now, as far as it can be told without reading rows."""

    location: str
    identity: Identity | None
    heads: Mapping[str, int]
    """Control table → its newest commit; only those that are there."""
    closed: frozenset[str] = frozenset()
    """Control tables that are there, and that this account may not read: nobody can tell their newest commits."""
    data: bool = False
    """Whether there are tables of versions; not looked at when there are control tables or an identity."""
    noted: str = ""
    """The release that the log of environments names at the commit of the identity's last release."""
    remembered: str | None = None
    """The same at the commit that the project remembers; None when the log does not say it (any more)."""

    @property
    def old(self) -> bool:
        """Whether a release before the identity file made it."""
        return self.identity is None and bool(self.heads)


def refuse(found: WarehouseState, *, project: str, memory: Memory | None) -> None:
    """Raise StateError when the warehouse is not this project's, or not as far as it was: nothing is read from it."""
    where, identity = found.location, found.identity
    if identity is None:
        _refuse_lost(found, memory)
        return
    if identity.reader > FORMAT:
        raise StateError(
            f"the warehouse {where} was written by a newer release of backfill-assets",
            why=f"its records need format {identity.reader}, this program knows {FORMAT}",
            fix="upgrade backfill-assets here",
        )
    if identity.project != project:
        raise StateError(
            f"the warehouse {where} belongs to project {identity.project}, not to {project}",
            why="two projects in one warehouse would take each other's tables and releases for their own",
            fix="set another `warehouse:` in backfill.yml; or, if the project was renamed, "
            "`backfill warehouse --adopt --why REASON`",
        )
    behind = {t: c for t, c in identity.tables.items() if t not in found.closed and found.heads.get(t, -1) < c}
    last = identity.release
    if behind:
        names = ", ".join(
            f"{t} ends at commit {found.heads[t]} of {c}" if t in found.heads else f"{t} is gone"
            for t, c in sorted(behind.items())
        )
        raise _older(where, f"{IDENTITY} knows newer ones: {names}")
    if last is not None and found.noted != last.id:
        raise _older(where, f"commit {last.commit} of environments should be release {last.id} of {last.environment}")
    if memory is not None and memory.warehouse != identity.warehouse:
        raise StateError(
            f"the warehouse {where} is another one than this project has used",
            why=f"it is {identity.warehouse}, with {memory.warehouse} there was release {memory.release}",
            fix=f"mount the right folder; {_ON_PURPOSE}",
        )
    if memory is not None and _forgotten(memory, identity, found.remembered):
        raise _older(where, f"this project has seen release {memory.release}, after what {IDENTITY} knows")
    if memory is not None and memory.generation == identity.generation:
        since = {t: c for t, c in memory.tables.items() if found.heads.get(t, -1) < c}
        if since:
            seen = ", ".join(f"commit {c} of {t}" for t, c in sorted(since.items()))
            raise _older(where, f"this project has seen {seen}, after what {IDENTITY} knows")


def _forgotten(memory: Memory, identity: Identity, there: str | None) -> bool:
    """Whether the release that a project remembers is gone. `there`: the one that the log has at its commit.

    The log decides, not the note: where no lock is, another machine's older note may overtake a newer one.
    """
    if memory.generation != identity.generation:
        return memory.generation > identity.generation
    last = identity.release.commit if identity.release else -1
    return memory.commit > last if there is None else memory.release != there


def _refuse_lost(found: WarehouseState, memory: Memory | None) -> None:
    if memory is not None:
        raise StateError(
            f"the warehouse {found.location} is gone, or is not mounted",
            why=f"there is no {IDENTITY} in it, and this project has seen release {memory.release} there",
            fix=f"mount the folder, or {way_back(found.location)}; {_ON_PURPOSE}",
        )
    if found.data and not found.heads:
        raise StateError(
            f"the warehouse {found.location} has lost its records",
            why=f"there are tables of versions, and neither {IDENTITY} nor control tables",
            fix=f"{way_back(found.location)}; or, to begin anew, name another `warehouse:` or empty the folder",
        )


_ON_PURPOSE = "if it was deleted or replaced on purpose, `backfill warehouse --forget`"


def _older(where: str, why: str) -> StateError:
    return StateError(
        f"the records of the warehouse {where} are lost, or older than they were",
        why=why,
        fix=f"{way_back(where)}{'' if '://' in where else ' from a newer backup'}; or, if they are right as they are, "
        "`backfill warehouse --adopt --why REASON`: what came after them is lost then",
    )
