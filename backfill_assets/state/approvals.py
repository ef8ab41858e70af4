"""Who said yes to what? Every approval ever given; each names the exact content that it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from backfill_assets.intervals import Ranges, ranges_from_json, ranges_json, utc
from backfill_assets.state.ledger import new_id
from backfill_assets.state.store import Row, Store, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One owner's yes to a plan: to the rows of `scope`, as `digest` identifies them, until `expires`."""

    plan: str
    environment: str
    digest: str
    scope: Mapping[str, Ranges]
    """Model → the published intervals that change."""
    owner: str
    """Whose models are accepted."""
    by: str
    at: datetime
    expires: datetime
    reason: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict[str, str])
    """Finding → why it may be so."""
    own: bool = False
    """Whether the plan's own author gave it."""
    signature: str = ""
    """An SSH signature of `statement` (`ssh-keygen -Y sign`); empty: nothing but the record says who it was."""

    @property
    def statement(self) -> str:
        """What is signed: everything above as one line of JSON, and a newline."""
        said = {
            "plan": self.plan,
            "environment": self.environment,
            "digest": self.digest,
            "scope": {model: ranges_json(ranges) for model, ranges in self.scope.items()},
            "owner": self.owner,
            "by": self.by,
            "at": self.at.isoformat(),
            "expires": self.expires.isoformat(),
            "reason": self.reason,
            "accepted": dict(self.accepted),
            "own": self.own,
        }
        return json.dumps(said, sort_keys=True) + "\n"


def approval_of(statement: str, signature: str = "") -> Approval:
    """The approval that a statement says. Raises ValueError, KeyError or TypeError when it is none."""
    said: dict[str, Any] = json.loads(statement)
    return Approval(
        plan=said["plan"],
        environment=said["environment"],
        digest=said["digest"],
        scope={model: ranges_from_json(parts) for model, parts in said["scope"].items()},
        owner=said["owner"],
        by=said["by"],
        at=utc(said["at"]),
        expires=utc(said["expires"]),
        reason=said["reason"],
        accepted=dict(said["accepted"]),
        own=bool(said["own"]),
        signature=signature,
    )


APPROVALS = TableSpec(
    name="approvals",
    columns={"id": "text", "plan": "text", "at": "time", "statement": "text", "signature": "text"},
)


class Approvals:
    """The append-only table of approvals. None is ever withdrawn: what it is about changes, or its time is over."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(APPROVALS)

    def put(self, approval: Approval) -> None:
        """Record it."""
        row: Row = {
            "id": new_id(),
            "plan": approval.plan,
            "at": approval.at,
            "statement": approval.statement,
            "signature": approval.signature,
        }
        self._table.append([row])

    def compact(self) -> None:
        """Join the small files that many appends left."""
        self._table.compact()

    def of(self, plans: list[str]) -> list[Approval]:
        """What was said about these plans, oldest first."""
        rows = self._table.read({"plan": plans})
        found = [approval_of(cast(str, row["statement"]), cast(str, row["signature"])) for row in rows]
        return sorted(found, key=lambda a: (a.at, a.owner))
