"""What is said of an interval of a version, one thing at a time? What an entry of the ledger is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from backfill_assets.core.codec import of_fields, to_fields
from backfill_assets.core.intervals import Interval
from backfill_assets.state.changes import Changes


class Kind(StrEnum):
    """What an entry says of its interval. Only STARTED and FAILED change nothing: they are there for people."""

    STARTED = "started"
    """A batch began."""
    BUILT = "built"
    """Rows were committed, in `table_commit`; no audit has looked at them yet."""
    AUDITED = "audited"
    """Every blocking audit of the digest in `audits` passed on what `batch` built."""
    FAILED = "failed"
    """A batch gave up; `reason` says why. What was there before still is."""
    INVALIDATED = "invalidated"
    """What was built does not count (an audit failed, it was restated, an input changed)."""
    EMPTY = "empty"
    """Recorded as complete without computing it, because somebody asked for that."""
    WITHDRAWN = "withdrawn"
    """An EMPTY or a BUILT that no longer counts, because somebody said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What computed rows that were copied: a batch of another version's table, and when it began to read its inputs."""

    version: str
    commit: int
    batch: str
    began: datetime
    scope: str = ""
    """Of rows that were computed within a scope: which. Those outside of it were copied."""
    by_key: bool = False
    """Whether that is of all rows of a key for which the scope holds."""
    read: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the rows of a scope were computed from: the newest that any of these rows read, while `inputs` are of the
    oldest. Empty where there is no scope."""

    def to_plain(self) -> dict[str, Any]:
        """As it is stored."""
        return {name: said for name, said in to_fields(self).items() if said or name not in ("scope", "by_key", "read")}

    @classmethod
    def of_plain(cls, raw: Mapping[str, Any]) -> Origin:
        return of_fields(cls, raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened to one range of one version. `inputs` maps each upstream to what was read of it.

    `rows` are those that were computed, `bytes` those that were written; `changes` says what a MERGE did, None for a
    batch that replaced its interval.
    """

    kind: Kind
    model: str
    version: str
    interval: Interval
    table_commit: int = -1
    batch: str = ""
    attempt: int = 1
    run: str = ""
    audits: str = ""
    inputs: Mapping[str, object] | None = None
    rows: int = 0
    bytes: int = 0
    changes: Changes | None = None
    seconds: float = 0.0
    reason: str = ""
    through: datetime | None = None
    """Of a BUILT that is partial: the instant at which its interval was still open. None: it was over."""
    at: datetime
    id: str = ""
    origin: Origin | None = None
    """Of a BUILT whose rows were copied, all of them under other names or those outside a scope: what computed them,
    from the `inputs`."""
    sequence: int = 0
    """Its place in the order in which entries were committed; the ledger gives it. 0: of an older release."""

    @property
    def began(self) -> datetime:
        """When the batch that computed the rows, or the oldest of them, began to read its inputs."""
        return self.origin.began if self.origin else self.at - timedelta(seconds=self.seconds)

    @property
    def computed_by(self) -> Origin:
        """What computed the rows: this batch, unless all of them were copied."""
        if self.origin and not self.origin.scope:
            return self.origin
        read = self.origin.read if self.origin else {}
        return Origin(version=self.version, commit=self.table_commit, batch=self.batch, began=self.began, read=read)

    @property
    def newest(self) -> tuple[Mapping[str, object], datetime]:
        """What the newest of the rows were computed from, and when their batch began to read it."""
        if self.origin and self.origin.read:
            return self.origin.read, self.at - timedelta(seconds=self.seconds)
        return self.inputs or {}, self.began

    @property
    def order(self) -> tuple[int, datetime, str]:
        """What is larger happened later. Clocks decide only among entries of older releases."""
        return self.sequence, self.at, self.id


DECIDING = frozenset(Kind) - {Kind.STARTED, Kind.FAILED}
"""The kinds that coverage is computed from."""
