"""What was found out about a plan before its promotion? Comparisons and reruns, and what a person has to accept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from backfill_assets.core.codec import as_list, to_plain
from backfill_assets.core.intervals import Ranges
from backfill_assets.state.ledger import new_id
from backfill_assets.state.rows import from_row, to_row
from backfill_assets.state.store import Records, Row, TableSpec

DIFF, CONSUMERS, KEPT = "diff", "consumers", "kept"
"""Kinds of proofs: old and new rows compared; consumers' queries asked again; tables that are kept, checked."""

LEFT = "left"
"""In the document of KEPT: readers that would keep old values, and in which intervals."""


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A difference that closes the gate until an owner accepts it by its name, with a reason."""

    name: str
    model: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One thing that was found out. It holds for the rows that `content` identifies, and for no others."""

    plan: str
    kind: str
    """DIFF, CONSUMERS or KEPT."""
    content: str
    at: datetime
    findings: tuple[Finding, ...] = ()
    document: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A hash of what was found out, whenever that was."""
        text = json.dumps(
            [self.kind, self.content, to_plain(self.findings), self.document], sort_keys=True, default=str
        )
        return hashlib.sha256(text.encode()).hexdigest()


PROOFS = TableSpec(
    name="proofs",
    columns={
        "id": "text",
        "plan": "text",
        "kind": "text",
        "content": "text",
        "at": "time",
        "findings": "text",
        "document": "text",
        "sequence": "int",
    },
    sequence="sequence",
)


class Proofs(Records):
    """The append-only table of proofs."""

    spec = PROOFS

    def put(self, proofs: Sequence[Proof]) -> None:
        """Record them, in one commit."""
        if proofs:
            self._table.append([to_row(PROOFS, proof, id=new_id()) for proof in proofs])

    def of(self, plan: str) -> tuple[Proof, ...]:
        """Everything that was found out about the plan, oldest first."""

        def order(row: Row) -> tuple[int, datetime, str]:
            return cast(int, row["sequence"]), cast(datetime, row["at"]), cast(str, row["id"])

        return tuple(from_row(Proof, row) for row in sorted(self._table.read({"plan": [plan]}), key=order))


def left_to_do(proofs: Iterable[Proof]) -> dict[str, Ranges]:
    """What proofs of one plan say has old values once it is promoted: readers, and in which intervals."""
    kept = newest_proofs(proofs).get(KEPT)
    said = cast(Mapping[str, Any], kept.document.get(LEFT) or {}) if kept else {}
    return {reader: Ranges.of_plain(parts) for reader, parts in said.items()}


def newest_proofs(proofs: Iterable[Proof], content: str | None = None) -> dict[str, Proof]:
    """Kind → the newest proof (of exactly this content)."""
    return {proof.kind: proof for proof in proofs if content in (None, proof.content)}
