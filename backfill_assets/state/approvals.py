"""Who approved what? Every approval ever given; each names the exact content that it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

from backfill_assets.core.errors import StateError
from backfill_assets.core.formats import NewerError, refuse_newer
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.state.ledger import new_id
from backfill_assets.state.rows import to_row
from backfill_assets.state.statement import statement_fields
from backfill_assets.state.store import Records, Row, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One owner's approval of a plan: of the rows of `scope`, as `digest` identifies them.

    What is claimed makes the statement, which may be signed. Whether it counts, and for how long, is decided where it
    is used, from what the system recorded beside it.
    """

    plan: str
    """Or the id of a proposed change of the rules."""
    environment: str
    digest: str
    scope: Mapping[str, Ranges]
    """Model → the published intervals that change."""
    owner: str
    """Whose models are accepted."""
    by: str
    """Who they say they are."""
    at: datetime
    """When they say it was."""
    reason: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict[str, str])
    """Finding → why it may be so."""
    onward: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Model → from when on intervals that the environment gains before the promotion are covered as well: its scope
    goes to the end of what was shown."""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else the statement says: its `FORMAT`, where it says one; earlier releases wrote `own` and `expires`. It is
    signed, and never read otherwise."""
    signature: str = ""
    """An SSH signature of `statement` (`ssh-keygen -Y sign`); empty: the account is all that says who it was."""
    account: str = ""
    """Not claimed but recorded: the account that gave it; empty in records of earlier releases."""
    host: str = ""
    """The machine on which it was given."""
    recorded: datetime | None = None
    """When it was recorded, by the clock of that machine."""

    @property
    def since(self) -> datetime:
        """From when on its days are counted: when it was recorded, or when it says that it was given, if earlier."""
        return min(self.at, self.recorded or self.at)

    @property
    def statement(self) -> str:
        """What is signed: all that is claimed, as one line of JSON, and a newline."""
        said = {
            "plan": self.plan,
            "environment": self.environment,
            "digest": self.digest,
            "scope": {model: ranges.to_plain() for model, ranges in self.scope.items()},
            "owner": self.owner,
            "by": self.by,
            "at": self.at.isoformat(),
            "reason": self.reason,
            "accepted": dict(self.accepted),
        }
        if self.onward:
            said["onward"] = {model: since.isoformat() for model, since in self.onward.items()}
        return json.dumps({**self.more, **said}, sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedApproval:
    """A record whose statement was cut, or edited to be none: what it was about nobody can say any more."""

    plan: str
    account: str
    at: datetime
    why: str

    def __str__(self) -> str:
        by = f" by {self.account}" if self.account else ""
        return (
            f"an approval of {self.plan}, of {self.at:%Y-%m-%d %H:%M:%S} UTC{by} in _control/approvals, is damaged and "
            f"counts for nothing ({self.why})"
        )


FORMAT = 1
"""How statements are written; those that say none are of the first format."""
FORMATTED: Mapping[str, Any] = {"format": FORMAT}
"""What new statements say of it."""
TO_COME = "to come"
"""The signature of an approval that is judged before it is signed."""
_CLAIMED = frozenset({"plan", "environment", "digest", "scope", "owner", "by", "at", "reason", "accepted"})


def approval_of(statement: str, signature: str = "") -> Approval:
    """The approval that a statement says. Raises ValueError, which says what of it is wrong, when it is none."""
    said = statement_fields(statement)
    refuse_newer(said.get("format", FORMAT), FORMAT)
    if missing := sorted(_CLAIMED - set(said)):
        raise ValueError(f"it lacks {', '.join(missing)}")
    scope, accepted = said["scope"], said["accepted"]
    parts = {model: Ranges.of_plain(pairs) for model, pairs in cast(dict[str, Any], scope).items()}
    at = utc(_text(said, "at"))
    try:
        later = cast(dict[str, Any], said.get("onward", {}))
        onward = {model: utc(_text(later, model)) for model in later}
    except (TypeError, ValueError):
        raise ValueError("`onward` holds no times") from None
    return Approval(
        plan=_text(said, "plan"),
        environment=_text(said, "environment"),
        digest=_text(said, "digest"),
        scope=parts,
        owner=_text(said, "owner"),
        by=_text(said, "by"),
        at=at,
        reason=_text(said, "reason"),
        accepted={name: _text(cast(dict[str, Any], accepted), name) for name in cast(dict[str, Any], accepted)},
        more={name: value for name, value in said.items() if name not in _CLAIMED | {"onward"}},
        onward=onward,
        signature=signature,
    )


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said[name]
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"`{name}` is no text")
    return value


APPROVALS = TableSpec(
    name="approvals",
    columns={
        "id": "text",
        "plan": "text",
        "at": "time",
        "statement": "text",
        "signature": "text",
        "account": "text",
        "host": "text",
        "recorded": "time",
        "sequence": "int",
    },
    sequence="sequence",
)


class Approvals(Records):
    """The append-only table of approvals. None is ever withdrawn: what it is about changes, or its time is over."""

    spec = APPROVALS

    def put(self, approval: Approval) -> None:
        """Record it, as given by its account on its host just now."""
        recorded = approval.recorded or datetime.now(UTC)
        self._table.append([to_row(APPROVALS, approval, id=new_id(), recorded=recorded)])

    def of(self, plans: list[str]) -> list[Approval]:
        """What was recorded for these plans, oldest first, but what is damaged: an approval only ever opens the gate,
        and one that nobody can read counts for nothing. Raises StateError for one of a newer format."""
        return [a for a in self.recorded(plans) if isinstance(a, Approval)]

    def recorded(self, plans: list[str]) -> list[Approval | DamagedApproval]:
        """The same with what is damaged."""
        rows = sorted(
            self._table.read({"plan": plans}), key=lambda r: (cast(int, r["sequence"]), cast(datetime, r["at"]))
        )
        return [found for row in rows if (found := _approval(row)).plan in plans]


def _approval(row: Row) -> Approval | DamagedApproval:
    try:
        given = approval_of(cast(str, row["statement"]), cast(str, row["signature"]))
    except NewerError as error:
        fix = "upgrade this program; what it does not understand, it does not judge"
        raise StateError(f"an approval of {row['plan']} cannot be read", why=str(error), fix=fix) from None
    except ValueError as error:
        return DamagedApproval(
            plan=cast(str, row["plan"]), account=cast(str, row["account"]), at=cast(datetime, row["at"]), why=str(error)
        )
    account, recorded = cast(str, row["account"]), cast(datetime, row["recorded"])
    return replace(given, account=account, host=cast(str, row["host"]), recorded=recorded if account else None)
