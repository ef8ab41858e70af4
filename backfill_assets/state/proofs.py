"""What was found out about a plan before its promotion? Comparisons and reruns, and what a person has to accept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from backfill_assets.state.ledger import new_id
from backfill_assets.state.store import Row, Store, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A difference that closes the gate until an owner accepts it by its name, with a reason."""

    name: str
    model: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The newest of its kind about a plan. It holds for the rows that `content` identifies, and for no others."""

    plan: str
    kind: str
    """`diff`, `consumers`, `kept`."""
    content: str
    at: datetime
    findings: tuple[Finding, ...] = ()
    document: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A hash of what was found out, whenever that was."""
        findings = [[f.name, f.model, f.text] for f in self.findings]
        text = json.dumps([self.kind, self.content, findings, self.document], sort_keys=True, default=str)
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
    },
)


class Proofs:
    """The append-only table of proofs."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(PROOFS)

    def put(self, proofs: Sequence[Proof]) -> None:
        """Record them, in one commit."""
        if proofs:
            self._table.append([_row(proof) for proof in proofs])

    def compact(self) -> None:
        """Join the small files that many appends left."""
        self._table.compact()

    def of(self, plan: str) -> dict[str, Proof]:
        """Kind → the newest proof about the plan."""
        rows = sorted(self._table.read({"plan": [plan]}), key=lambda r: (cast(datetime, r["at"]), cast(str, r["id"])))
        return {cast(str, row["kind"]): _proof(row) for row in rows}


def _row(proof: Proof) -> Row:
    return {
        "id": new_id(),
        "plan": proof.plan,
        "kind": proof.kind,
        "content": proof.content,
        "at": proof.at,
        "findings": json.dumps([[f.name, f.model, f.text] for f in proof.findings]),
        "document": json.dumps(proof.document, sort_keys=True, default=str),
    }


def _proof(row: Row) -> Proof:
    findings: list[tuple[str, str, str]] = json.loads(cast(str, row["findings"]))
    return Proof(
        plan=cast(str, row["plan"]),
        kind=cast(str, row["kind"]),
        content=cast(str, row["content"]),
        at=cast(datetime, row["at"]),
        findings=tuple(Finding(name=name, model=model, text=text) for name, model, text in findings),
        document=json.loads(cast(str, row["document"])),
    )
