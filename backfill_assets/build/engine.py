"""What does a build ask of the thing that computes? The port that Spark implements, and that tests fake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from backfill_assets.audits.counts import Counts
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Source
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.ids import Ids
from backfill_assets.plan.partial import over_json
from backfill_assets.plan.patch import RowScope
from backfill_assets.state.tables import DataCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """An upstream model as a job reads it: one version at one commit, with restated days from the tables in `over`. All
    of it is in these where the version has no table (`commit` is -1).

    `columns`: all, in the order in which the job's code reads them, whatever order the table has; none: the table's.
    """

    model: Model
    version: str
    commit: int
    over: Segments = NO_ROWS
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """A source as a job reads it: `pin` is what the plan froze. `columns` as those of a model."""

    source: Source
    pin: Mapping[str, object]
    columns: tuple[str, ...] = ()


Input = ModelInput | SourceInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One version to build, with everything it reads. `inputs` is keyed by upstream name.

    `shown` is what the environment shows of the model, `beside` what of it stays around the version's own rows.
    Of a `scope` only its rows are computed: the others are copied from the segments `below`. `ids` are its keys, where
    it is one of keys. `taken` is an SQL condition: only rows for which it holds are written, and no others are copied.
    """

    model: Model
    version: str
    inputs: Mapping[str, Input]
    shown: Segments = NO_ROWS
    beside: Segments = NO_ROWS
    scope: RowScope | None = None
    ids: Ids | None = None
    below: Segments = NO_ROWS
    taken: str = ""

    def reading(self, pins: Mapping[str, Mapping[str, object]]) -> Job:
        """The same job, of these states of its sources."""
        inputs = {
            name: replace(read, pin=pins[read.source.name]) if isinstance(read, SourceInput) else read
            for name, read in self.inputs.items()
        }
        return replace(self, inputs=inputs)

    def inputs_json(self) -> dict[str, object]:
        """What it reads, as the ledger says it."""
        return {name: _input_json(read) for name, read in self.inputs.items()}


def _input_json(read: Input) -> dict[str, object]:
    match read:
        case ModelInput():
            said: dict[str, object] = {"version": read.version, "commit": read.commit}
            if read.over:
                said["over"] = over_json(read.over)
            return said
        case SourceInput():
            return dict(read.pin)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownModel:
    """Another model as audits look at it: in these segments of its tables, beside what is declared `empty` of it."""

    model: Model
    segments: Segments
    empty: Ranges = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReads:
    """What a model's audits look at beside the rows that they judge.

    `tables` are other models and sources by name, `shown` what the environment shows of the model itself in other
    tables, `around` its built or shown intervals near the judged ones; `built` is what there is of the version itself.
    """

    tables: Mapping[str, ShownModel | SourceInput] = field(default_factory=dict[str, "ShownModel | SourceInput"])
    shown: Segments = NO_ROWS
    around: Segments = NO_ROWS
    built: Ranges = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAlone:
    """An interval of a batch, computed by itself: the columns that have other values then, and how many rows it has in
    the batch's commit and alone."""

    interval: Interval
    columns: tuple[str, ...]
    rows: tuple[int, int]
    unsteady: tuple[str, ...] = ()
    """Columns that have other values as well when the whole batch is computed once more: not the batch decides them."""

    @property
    def same(self) -> bool:
        """Whether it is what the batch has."""
        return not self.columns and self.rows[0] == self.rows[1]


class Engine(Protocol):
    """Computes and audits. All methods may be called from several threads."""

    def prepare(self, job: Job, sample: Interval) -> tuple[tuple[str, str], ...]:
        """Make sure that the version's table exists, with its full schema; returns its columns (name, type).

        `sample` is any interval of the job. Raises BuildError when the output cannot be such a table.
        """
        ...

    def write(self, job: Job, batch: str, interval: Interval) -> DataCommit:
        """Compute the interval and commit exactly its rows, in a commit of the batch's own even if none differs.

        Raises BuildError, TransientBuildError when it may pass; also where rows outside of the job's scope were
        committed that are not those that are shown.
        """
        ...

    def one_alone(self, job: Job, commit: int, interval: Interval) -> OneAlone | None:
        """Compute one interval of a batch's commit by itself, and compare; None where that tells nothing of the model:
        its code goes interval by interval, or the batch has too few rows."""
        ...

    def copy(self, job: Job, batch: str, segments: Segments) -> DataCommit:
        """Commit the rows of segments of the model's other tables, as they are, to the job's version, which is created.

        What is between the segments is left without rows.
        """
        ...

    def copy_renamed(
        self, job: Job, batch: str, interval: Interval, segments: Segments, columns: Sequence[tuple[str, str]]
    ) -> DataCommit:
        """Commit the interval's rows of segments of the model's other tables to the job's version, which is there.

        `columns`: every column of it, lower-cased, as it is called in the segments and here. Raises BuildError where
        the columns or their types are others.
        """
        ...

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Mapping[datetime, Counts]:
        """Run every audit of the model over these intervals at this commit, in as few passes as possible."""
        ...

    def sample(
        self, job: Job, commit: int, intervals: Ranges, reads: AuditReads, audit: str
    ) -> Mapping[datetime, Sequence[str]]:
        """A few keys of rows that fail the audit, by start of the interval."""
        ...

    def differing(
        self,
        model: Model,
        columns: Sequence[str],
        shown: Segments,
        built: Segments,
        before: Mapping[str, str] = MappingProxyType({}),
    ) -> Ranges:
        """The intervals, of those that both have, in which these columns hold other rows.

        `before`: what columns (lower-cased) are called in what is shown, where that is another name.
        """
        ...

    def cancel(self) -> None:
        """Stop everything that is running."""
        ...
