"""Is a packet whole, and are the tables still what it says? Everything that is not, by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backfill_assets.core.codec import from_plain
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.release_tables import Pointed, Tables, look_at_pointers
from backfill_assets.evidence.tables import TableReader, TableState, table_differences
from backfill_assets.evidence.write import MANIFEST, PACKET, RELEASE, TABLES, Folder, packet_digest, problems_of
from backfill_assets.state.approvals import Approval, approval_of

if TYPE_CHECKING:
    from backfill_assets.evidence.shape import Packet

Genuine = Callable[[str, Approval], str]
"""(text of allowed_signers, approval) → why its signature is not genuine; "" when it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `backfill verify` found. `tables` is None when they were not looked at."""

    plan: str
    """Or the release."""
    problems: tuple[str, ...]
    files: int
    tables: int | None
    data_files: int
    hashed: int
    """How many of the data files were compared by their content, not only by their size."""
    signatures: int = 0
    """How many approvals' signatures were checked again, against the signers that were in force."""
    kind: str = "plan"
    """Or "release": what the packet is about."""
    rests_on: tuple[str, ...] = ()
    """Other plans for which approvals of it were given: their packets say of which rows."""
    removed: tuple[str, ...] = ()
    """What the janitor did, of all that is not as it was: a sentence a table."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, object]:
        return {
            self.kind: self.plan,
            "ok": self.ok,
            "problems": list(self.problems),
            "files": self.files,
            "tables": self.tables,
            "data_files": self.data_files,
            "hashed": self.hashed,
            "signatures": self.signatures,
            "rests_on": list(self.rests_on),
            "removed": list(self.removed),
        }


def verify(
    folder: Folder,
    tables: TableReader | None,
    *,
    pointed: Tables | None = None,
    expected: str = "",
    genuine: Genuine | None = None,
) -> Verification:
    """Compare hashes, form and tables, and check signatures. `tables` is None where no warehouse is at hand; the
    pointers of a release are held against `pointed`.

    `expected` is the digest that the promotion's commit carries, where that is known. `genuine` checks an approval's
    signature against the text of an `allowed_signers`; None: they are not checked.
    """
    problems = problems_of(folder)
    if expected and not problems:
        problems += _expected(folder, expected)
    whole = not problems
    plan, found, signed, rests_on = "", _Looked(), 0, ()
    if whole and folder.read(RELEASE) is not None:
        said = json.loads(folder.read(RELEASE) or b"{}")
        looked = look_at_pointers(said, pointed) if pointed else Pointed()
        return Verification(
            plan=said["release"],
            kind="release",
            problems=looked.problems,
            files=len(folder.names()),
            tables=looked.tables if pointed else None,
            data_files=looked.data_files,
            hashed=0,
        )
    if whole:
        plan = json.loads(folder.read(PACKET) or b"{}")["plan"]["id"]
        problems += form_problems(folder.read(PACKET) or b"")
        if tables is not None:
            found = _look(folder, tables)
            problems += found.problems
        if genuine is not None and (packet := read_packet(folder)) is not None:
            signed = sum(bool(a.signature) for a in packet.approvals) if packet.rules else 0
            rests_on = tuple(dict.fromkeys(a.plan for a in packet.approvals if a.plan and not a.doubt))
            problems += signature_problems(packet, genuine)
    is_packet = folder.read(MANIFEST) is not None  # else it may be any folder, with whatever is in it
    return Verification(
        plan=plan,
        problems=tuple(problems),
        files=len(folder.names()) if is_packet else 0,
        tables=found.tables if whole and tables is not None else None,
        data_files=found.data_files,
        hashed=found.hashed,
        signatures=signed,
        rests_on=rests_on,
    )


def signature_problems(packet: Packet, genuine: Genuine) -> list[str]:
    """Which approvals counted in the packet, and do not have the signature that its rules ask for."""
    if packet.rules is None:
        return []
    found: list[str] = []
    required = packet.rules.approvals.get("signatures") == "required"
    for part in packet.approvals:
        if part.doubt:
            continue
        at = f"the approval of {part.by} at {part.at}"
        try:
            given = replace(approval_of(part.statement, part.signature), recorded=utc(part.recorded or part.at))
        except (ValueError, KeyError, TypeError) as error:
            found.append(f"{at} has no statement: {error}")
            continue
        claimed = (given.plan, given.environment, given.by, given.owner, given.digest, given.at.isoformat())
        if claimed != (part.plan or packet.plan.id, packet.plan.environment, part.by, part.owner, part.digest, part.at):
            found.append(f"{at} is not what its statement says")
        elif part.signature and (problem := genuine(packet.rules.signers, given)):
            found.append(f"{at} does not count: {problem}")
        elif required and not part.signature:
            found.append(f"{at} is not signed, and the rules asked for it")
    return found


def read_packet(folder: Folder) -> Packet | None:
    """The packet that is there; None when there is none, or not a finished one."""
    content = folder.read(PACKET) if folder.read(MANIFEST) is not None else None
    if content is None:
        return None
    from backfill_assets.evidence.shape import Packet

    packet_digest(folder)  # a damaged one is refused
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
    found = packet_digest(folder)
    return [] if found == expected else [f"{MANIFEST} is another than the one that the promotion's commit names"]


def _look(folder: Folder, tables: TableReader) -> _Looked:
    named = [from_plain(TableState, raw) for raw in json.loads(folder.read(TABLES) or b"{}")["tables"]]
    problems: list[str] = []
    hashed = 0
    for table in named:
        known = sum(bool(f.sha256) for f in table.files)
        hashed += known
        found = tables.state(table.model, table.version, table.commit, hash_up_to=sys.maxsize if known else -1)
        problems += table_differences(table, found)
    return _Looked(
        problems=tuple(problems), tables=len(named), data_files=sum(len(t.files) for t in named), hashed=hashed
    )
