"""Is a packet whole, and are the tables still what it says? Everything that is not, by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill_assets.evidence.tables import TableReader, differences, table_from_json
from backfill_assets.evidence.write import MANIFEST, PACKET, TABLES, Folder, digest, problems_of

if TYPE_CHECKING:
    from backfill_assets.evidence.shape import Packet


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `backfill verify` found. `tables` is None when they were not looked at."""

    plan: str
    problems: tuple[str, ...]
    files: int
    tables: int | None
    data_files: int
    hashed: int
    """How many of the data files were compared by their content, not only by their size."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, object]:
        return {
            "plan": self.plan,
            "ok": self.ok,
            "problems": list(self.problems),
            "files": self.files,
            "tables": self.tables,
            "data_files": self.data_files,
            "hashed": self.hashed,
        }


def verify(folder: Folder, tables: TableReader | None, *, expected: str = "") -> Verification:
    """Compare hashes, form and tables. `tables` is None where no warehouse is at hand.

    `expected` is the digest that the promotion's commit carries, where that is known.
    """
    problems = problems_of(folder)
    if expected and not problems:
        problems += _expected(folder, expected)
    whole = not problems
    plan, found = "", _Looked()
    if whole:
        plan = json.loads(folder.read(PACKET) or b"{}")["plan"]["id"]
        problems += form_problems(folder.read(PACKET) or b"")
        if tables is not None:
            found = _look(folder, tables)
            problems += found.problems
    return Verification(
        plan=plan,
        problems=tuple(problems),
        files=len(folder.names()),
        tables=found.tables if whole and tables is not None else None,
        data_files=found.data_files,
        hashed=found.hashed,
    )


def read_packet(folder: Folder) -> Packet | None:
    """The packet that is there; None when there is none, or not a finished one."""
    content = folder.read(PACKET) if folder.read(MANIFEST) is not None else None
    if content is None:
        return None
    from backfill_assets.evidence.shape import Packet

    digest(folder)  # a damaged one is refused
    return Packet.model_validate_json(content)


def form_problems(content: bytes) -> list[str]:
    """Where `packet.json` does not have the published form."""
    from pydantic import ValidationError

    from backfill_assets.evidence.shape import Packet

    try:
        Packet.model_validate_json(content)
    except ValidationError as error:
        return [f"{PACKET} has another form: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:10]]
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    problems: tuple[str, ...] = ()
    tables: int = 0
    data_files: int = 0
    hashed: int = 0


def _expected(folder: Folder, expected: str) -> list[str]:
    found = digest(folder)
    return [] if found == expected else [f"{MANIFEST} is another than the one that the promotion's commit names"]


def _look(folder: Folder, tables: TableReader) -> _Looked:
    named = [table_from_json(raw) for raw in json.loads(folder.read(TABLES) or b"{}")["tables"]]
    problems: list[str] = []
    hashed = 0
    for table in named:
        known = sum(bool(f.sha256) for f in table.files)
        hashed += known
        problems += differences(table, tables.state(table.model, table.version, table.commit, hashes=bool(known)))
    return _Looked(
        problems=tuple(problems), tables=len(named), data_files=sum(len(t.files) for t in named), hashed=hashed
    )
