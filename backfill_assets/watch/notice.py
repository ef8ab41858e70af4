"""What does the watch say? Something that it found about one model or source, with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from backfill_assets.core.intervals import NOTHING, Ranges


class NoticeKind(StrEnum):
    """What a notice is about. All but SETTLING and UNWATCHED are findings."""

    LATE = "late_source_data"
    """A source changed in time that is built and shown already."""
    SETTLING = "settling"
    """A source changed in time that is shown and provisional: the next routine run builds it again."""
    FIRST_RUN = "first_run"
    """No routine run has extended a model since its last change, though an interval is due."""
    STALE = "freshness"
    """A model's newest interval, or a source's newest row, is older than it should be."""
    ROWS = "row_count"
    """An interval has far more or fewer rows than those before it."""
    POINTER = "pointer_drift"
    """What a pointer names is not there, or not as the ledger knows it."""
    UPSTREAM = "upstream_drift"
    """A model is shown beside another version of an upstream, or other rows of it, than what it was built from."""
    VIEW = "view_drift"
    """A view of a shared catalog does not say what the environment does."""
    ADOPTED = "adopted_table"
    """A table that was adopted is another one by now than the commit that is shown."""
    PINNED = "pinned_consumer"
    """A consumer is kept on a release longer than it should be, or what it is kept on cannot be read."""
    UNWATCHED = "unwatched"
    """What nobody can tell, said so that silence is not taken for good news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing that the watch says. `model` is what it is about: a model, or a source where `source` says so."""

    kind: NoticeKind
    model: str
    what: str
    intervals: Ranges = NOTHING
    remedy: str = ""
    source: bool = False
    downstream: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """What else a restatement computes again: the models that read these intervals."""
    restate: tuple[str, ...] = ()
    """What a late notice asks `--restate` for."""
    waits: bool = False
    """Whether something else has to be done before that, as the remedy says."""
    first: str = ""
    """What becomes before that of an open plan that computes them again already; part of the remedy."""

    def __str__(self) -> str:
        days = f" {self.intervals}" if self.intervals else ""
        return f"{self.model}{days}: {self.what}{f'; {self.remedy}' if self.remedy else ''}"

    @property
    def finding(self) -> bool:
        """Whether somebody has to do something."""
        return self.kind not in (NoticeKind.SETTLING, NoticeKind.UNWATCHED)

    def to_json(self) -> dict[str, object]:
        """As `backfill watch --json` prints it; ends of intervals are exclusive."""
        return {
            "kind": self.kind.value,
            "source" if self.source else "model": self.model,
            "intervals": _ranges(self.intervals),
            "what": self.what,
            "remedy": self.remedy,
            "downstream": {name: _ranges(found) for name, found in self.downstream.items()},
        }


def _ranges(ranges: Ranges) -> list[dict[str, str]]:
    return [{"start": i.start.isoformat(), "end": i.end.isoformat()} for i in ranges]
