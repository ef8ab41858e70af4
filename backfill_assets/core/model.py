"""What is a model, a source, a project? The frozen values that everything else reasons about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.codec import as_list
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.cron import over_from, over_until
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence, Interval, Ranges, begun, closed
from backfill_assets.core.settings import Settings

STABLE_KEY = "stable_key"
"""The kind of the audit that finds keys which are in several intervals."""

Language = Literal["sql", "python"]
Write = Literal["replace", "merge"]
TOLERANCE = 1e-9
"""How far apart two floats may be and still count as equal, relative to the larger one, where a model does not say."""


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as declared or resolved. `type` is a Spark SQL type (`decimal(18,4)`), None when nobody knows it yet."""

    name: str
    type: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One check of a model's rows. `name` is unique in its model; `arguments` depend on the kind (`docs/audits.md`)."""

    name: str
    kind: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    blocking: bool = True
    line: int = 0


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that decided the rows of a period; open where it has no end, or no beginning."""

    text: str
    since: datetime | None = None
    until: datetime | None = None
    """The first instant that it does not hold for any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a header promises in its `contract:`, beyond types, grain, audits and descriptions."""

    semantics: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the values of a column mean: unit, zone, rule. By the name that the header gives."""
    deletes: str = ""
    late_rows: str = ""
    rules: tuple[Rule, ...] = ()
    validation_owner: str = ""


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class SortColumn:
    """One column of the order in which rows of one key are ranked; the first one stays. NULL comes last in any case."""

    column: str
    descending: bool

    def __str__(self) -> str:
        return f"{self.column} {'desc' if self.descending else 'asc'}"


EXACT = SortColumn(column="*", descending=False)
"""In place of an order: of rows of one key that are equal in all columns one stays, and no others may be there."""


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A table that a model reads: `name` of the model or source, and what its code calls it (`parameter`: Python).

    `columns`: all of them, in the order in which the code reads them (`SELECT *`); none where nobody knows them.
    """

    name: str
    parameter: str = ""
    columns: tuple[str, ...] = ()


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRef:
    """A column of a model or source."""

    table: str
    column: str


Refs = frozenset[ColumnRef]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What decides a table: 16 hex digits for its rows and for each column (by lower-cased name), and what they read.

    Tables with equal row hashes have the same rows; where a column's hash is equal as well, the same values in it.
    `row_reads` are the upstream columns that decide which rows there are, `column_reads` those that decide a value.
    """

    rows: str
    columns: Mapping[str, str]
    row_reads: Refs = frozenset()
    column_reads: Mapping[str, Refs] = field(default_factory=dict[str, Refs])
    would_read: Refs = frozenset()
    """Columns that would decide something if an upstream had them: a name that means another column now, and `*`, which
    stands for all columns of the table and for their order."""
    code: str = ""
    """Of a table that counts as like another by its author's word: the version that the code is by itself."""
    whole: str = ""
    """Of a Python model: the hash of all that it could depend on, which needs none of its code to run."""


ALL = "*"
"""In `Signature.would_read`: any column that the table may get, and its place."""
UNKNOWN = Signature(rows="", columns={})
"""Of a table of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAs:
    """What an author says: code whose own version is `code` gives the rows of `version`, and its values in `columns`.

    No columns: all that the version has and the code still gives. `line` is where the file says it.
    """

    version: str
    code: str = ""
    columns: tuple[str, ...] = ()
    reason: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """An author's word that holds: the model counts as what `version` is, in its rows and in these columns."""

    model: str
    version: str
    code: str
    columns: tuple[str, ...]
    reason: str
    place: str
    """The file and line that says so."""
    reaches: tuple[str, ...] = ()
    """The models downstream that would count as other versions without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One table's definition, as its file says it. `code` is the SQL text below the header, or the Python source."""

    name: str
    path: Path
    language: Language
    code: str
    code_line: int = 0
    """Where in its file the code begins; 0: it was read from a record, and the file may be another by now."""
    text: str = ""
    """A digest of the code, with what it imports of the project; without comments and spacing."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of its file, and of those that it imports of the project, by their place in the project."""
    description: str = ""
    owner: str = ""
    cadence: Cadence = Cadence.DAILY
    time_zone: str = ""
    """The zone whose local days its intervals consist of, as in `Europe/Berlin`; empty: UTC."""
    start: datetime
    end: datetime | None = None
    time_column: str = "ds"
    grain: tuple[str, ...]
    lookback: int = 0
    settle: float = 0
    """Seconds after an interval in which rows of it may still come, by its header; see `core/settling.py`."""
    ready: str = ""
    """A cron expression: an interval counts as over at its first tick at or after the end. Empty: at the end."""
    upstream_ready: tuple[str, ...] = ()
    """The expressions of all models that it reads, directly or not: it waits for their ticks as well."""
    upstream_cadence: Cadence | None = None
    """Of a model of local days: the longest intervals of UTC that it reads of models, directly or not. It waits for
    their ends."""
    longer: tuple[tuple[Cadence, ...], ...] = ()
    """What it waits for of models that it reads by the same days, directly or not: intervals that do not end within its
    own, as a month does not within a day, each with those that it waits for itself, as a month for its last week."""
    whole_until: datetime | None = None
    """Where the last interval ends that an environment shows whole: up to there all are over, whatever these say."""
    write: Write = "replace"
    dedupe: tuple[SortColumn, ...] = ()
    """Of rows of one grain and interval the first in this order stays. Empty: two such rows are an error. Only EXACT:
    equal ones are one."""
    updated_at: str | None = None
    """The column that says when a row's values last moved; it takes no part in telling. The system adds it when the
    query does not give it."""
    batch_size: int = 0
    """Intervals a batch, as the header or the settings say; 0: they do not, and the plan finds out."""
    batch_concurrency: int = 1
    retries: int = 4
    timeout: int | None = None
    pool: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    columns: tuple[Column, ...] = ()
    promised: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types that its header declares, by column. The first table of a version is held against them."""
    audits: tuple[Audit, ...] = ()
    upstreams: tuple[Upstream, ...] = ()
    terms: Terms = field(default_factory=Terms)
    helpers: tuple[str, ...] = ()
    """The project's files, other than its own, that a Python model imports."""
    code_version: str = ""
    """A text of the author's that is a part of the version: another one, and all of it is computed again."""
    same_as: SameAs | None = None
    allow_nondeterministic: str = ""
    """Why it may give something else when it is built again; empty: it must not."""
    slices: tuple[str, ...] = ()
    """The columns by whose values a diff is told, besides by day."""
    mask: tuple[str, ...] = ()
    """The columns whose values nobody should see: the header's, and those computed from masked ones upstream."""
    unmask: Mapping[str, str] = field(default_factory=dict[str, str])
    """Column → why its values may be seen although they are computed from masked ones."""
    tolerance: float = TOLERANCE
    """Floats that are no further apart than this, relative to the larger one, are equal in a diff."""

    @property
    def calendar(self) -> Calendar:
        """Its intervals."""
        return Calendar(self.cadence, self.time_zone)

    @property
    def crons(self) -> tuple[str, ...]:
        """The cron expressions that decide when an interval counts as over; none: its end does."""
        return (self.ready, *self.upstream_ready) if self.ready else self.upstream_ready

    @property
    def waits(self) -> bool:
        """Whether anything but its own end decides when an interval counts as over."""
        return bool(self.crons or self.upstream_cadence or self.longer)

    def over(self, now: datetime) -> datetime:
        """Where the last interval ends that counts as over at `now`."""
        tick = over_until(self.crons, now)
        days = self.calendar.days_over(self.upstream_cadence.floor(tick) if self.upstream_cadence else tick)
        over = min(self.cadence.floor(_last(chain, days)) for chain in ((), *self.longer))
        if self.whole_until is None:
            return over
        return max(over, self.cadence.floor(min(self.whole_until, self.calendar.over(now))))

    def over_from(self, end: datetime) -> datetime:
        """When, in UTC, the interval that ends there counts as over."""
        instant = max(self.calendar.instant(_first(chain, end)) for chain in ((), *self.longer))
        return over_from(self.crons, self.upstream_cadence.ceil(instant) if self.upstream_cadence else instant)

    def reaching(self, end: datetime) -> Model:
        """The model, which does not end before that."""
        return replace(self, end=end) if self.end is not None and self.end < end else self

    def expected(self, now: datetime) -> Ranges:
        """The intervals that this model should have at `now`."""
        return closed(self.cadence, start=self.start, now=self.over(now), end=self.end)

    def begun(self, now: datetime) -> Ranges:
        """These, and the open ones: they have begun and do not count as over at `now`."""
        return begun(self.cadence, start=self.start, now=self.calendar.begun(now), end=self.end)

    def window(self, interval: Interval) -> Interval:
        """What this model reads of its upstreams to compute the interval: it and the `lookback` ones before it."""
        start = self.cadence.shift(self.cadence.floor(interval.start), -self.lookback)
        return Interval(start, self.cadence.ceil(interval.end))


def _last(chain: Sequence[Cadence], days: datetime) -> datetime:
    """Where the last interval of the chain's first cadence ends that is over when these days are."""
    for cadence in reversed(chain):
        days = cadence.floor(days)
    return days


def _first(chain: Sequence[Cadence], end: datetime) -> datetime:
    """Which days have to be over before all intervals of a chain are that reach this end."""
    for cadence in chain:
        end = cadence.ceil(end)
    return end


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReady:
    """How a source says that all rows of a time are there."""

    file: str = ""
    """The name of a file that a day's folder gets when the day is complete. Empty: there is a row of a later time."""
    every_day: bool = True
    """Whether each day gets a folder: one that has none between others is not complete."""

    @property
    def awaited(self) -> str:
        """What a time waits for.

        >>> SourceReady(file="_SUCCESS").awaited, SourceReady().awaited
        ('until the folder of every day has `_SUCCESS` (`every_day`)', 'until there is a row of a later time')
        """
        if not self.file:
            return "until there is a row of a later time"
        if not self.every_day:
            return f"until each folder has `{self.file}`"
        return f"until the folder of every day has `{self.file}` (`every_day`)"


def deciding_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a source that decide which rows it has. Whether a line that cannot be read is refused or NULL is
    none of them: where nothing was refused, both give the same."""
    refusing = (("mode", "FAILFAST"), ("mode", "PERMISSIVE"))
    return {name: value for name, value in options.items() if (name.lower(), value.upper()) not in refusing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table that others write. Exactly one of `path` (absolute, or a URI) and `table` (a catalog name) is set."""

    name: str
    format: str = "delta"
    path: str | None = None
    table: str | None = None
    time_column: str | None = None
    columns: tuple[Column, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    key: tuple[str, ...] = ()
    """Columns that no two of its rows share, as its entry says; every build that reads it looks."""
    mask: tuple[str, ...] = ()
    """The columns whose values nobody should see, nor anything computed from them."""
    owner: str = ""
    freshness_hours: float | None = None
    settle: float = 0
    """Seconds after a day, or another interval, in which rows of it may still come."""
    ready: SourceReady | None = None
    """Nothing that reads it is expected of a time before it says so; None: it says nothing."""
    cut_off: bool = True
    """Whether models end, for now, where its rows end; else what comes later has no rows, and that is all right."""
    description: str = ""
    declared: str = ""
    """Its entry in `sources.yml` as JSON, with the columns that were found."""
    file: Path
    line: int = 0

    def option(self, name: str, default: str = "") -> str:
        """What an option says; `name` in lower case, as Spark compares them."""
        return next((value for key, value in self.options.items() if key.lower() == name), default)

    @property
    def separator(self) -> str:
        """What is between the values of its CSV files: a tab may be written as an escape."""
        return (self.option("sep") or self.option("delimiter", ",")).replace("\\t", "\t")

    @property
    def columns_by(self) -> Literal["name", "header", "place"]:
        """How its files' values go to its columns: by names that the format has. Those of CSV files by the file's
        header where it has one, unless `enforceSchema` says what else counts, and by their places where it has none."""
        if self.format != "csv" or not self.columns:
            return "name"
        headed = self.option("header", "false").lower() == "true" and not self.option("enforceschema")
        return "header" if headed else "place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Everything that a project's folder says, checked. `models` is in dependency order.

    `columns` and `lineage` are keyed by model name; a model whose columns cannot be resolved without running it (some
    Python) has its declared columns there, and no lineage. `signatures` says of each model and source what decides its
    rows and columns.
    """

    root: Path
    settings: Settings
    models: Mapping[str, Model]
    sources: Mapping[str, Source]
    consumers: Mapping[str, Consumer]
    columns: Mapping[str, tuple[Column, ...]]
    lineage: Mapping[str, Mapping[str, tuple[ColumnRef, ...]]]
    fingerprints: Mapping[str, str]
    """Each model's version: 16 hex digits that change exactly when its table may; of what cannot be computed now
    (`faults`) and what reads that, the one that it has with the columns that its sources had."""
    signatures: Mapping[str, Signature] = field(default_factory=dict[str, Signature])
    consumers_verified: date | None = None
    """When somebody last made sure that nobody is missing among the consumers; None: nobody ever did."""
    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    """The authors' words that hold, by model."""
    warnings: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict[str, tuple[Problem, ...]])
    """What is odd about a model without being wrong."""
    faults: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict[str, tuple[Problem, ...]])
    """Models that cannot be computed as the data of their sources is by now: a column is gone, a table is not there. No
    file of the project says so, and nothing that is published depends on it."""
    whole: Mapping[str, str] = field(default_factory=dict[str, str])
    """Models that cannot be taken apart, and what of their code stands in the way, with its place."""
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Columns (lower-cased) that a model's table has and its view does not list: the code dropped them, and the version
    that is shown is kept. That version's own definition computes its next intervals."""
    reads_until: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Of models with a settling window: source → how many seconds after its end an interval reads rows of it, by its
    time column. Sources of which nobody can tell are not there."""
    redeclared: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of a project as an environment shows it: models of which a source, the Spark settings, or a file that no record
    has, are others than when the version was published, or may be, each with what it is."""

    @property
    def column_names(self) -> dict[str, list[str]]:
        """The names of each model's columns, in order; none where nobody knows them."""
        return {name: [column.name for column in self.columns.get(name, ())] for name in self.models}

    def readers(self) -> dict[str, list[str]]:
        """Model or source → the models that read it directly, in dependency order."""
        found: dict[str, list[str]] = {}
        for model in self.models.values():
            for name in dict.fromkeys(upstream.name for upstream in model.upstreams):
                found.setdefault(name, []).append(model.name)
        return found

    def downstream(self, name: str) -> tuple[str, ...]:
        """The models that read this model or source directly, in dependency order."""
        return tuple(m.name for m in self.models.values() if any(u.name == name for u in m.upstreams))
