"""How may a project be set up? The fields of `backfill.yml`, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from backfill_assets.core.windows import Windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the machine costs while it works: the price of a core-hour and how many cores, or of a DBU and how many."""

    currency: str
    per_core_hour: float | None = None
    cores: int | None = None
    per_dbu: float | None = None
    dbu_per_hour: float | None = None

    @property
    def unit(self) -> str:
        """What is paid for."""
        return "DBU" if self.per_dbu else "core-hours"

    @property
    def units_per_hour(self) -> float:
        """How many of them an hour on the wall takes."""
        return self.dbu_per_hour or self.cores or 0

    @property
    def per_hour(self) -> float:
        """The price of an hour on the wall."""
        return self.units_per_hour * (self.per_dbu or self.per_core_hour or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """Where tables of versions have names in a shared catalog: its own name in Spark, and a schema for them alone."""

    schema: str
    catalog: str = "spark_catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRules:
    """Whose approval a change of published history needs, and what counts as one."""

    required: bool = True
    self: bool = False
    """Whether the author of a plan may approve it; that it was so is recorded."""
    days: int = 14
    """After so many days an approval is over."""
    signatures: str = "optional"
    """`required`: only approvals with an SSH signature of somebody in `allowed_signers` count."""
    consumers: str = "none"
    """`high`: the owners of consumers of high criticality are asked as well, about the models that these read."""
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Owner → the people who may approve for it. One that is not here: the owner's own accounts and keys only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagsterNames:
    """What Dagster calls the things of a project, where it has other ones beside it."""

    key_prefix: tuple[str, ...] = ()
    """What the keys of all its assets, and the keys of the tags of its runs, begin with."""
    job_prefix: str = ""
    """What the names of its jobs, schedules, sensors, ops, resources and groups begin with."""
    existing_assets: tuple[str, ...] = ()
    """Sources that are somebody else's assets: `raw.orders` is the asset `raw/orders`, whatever the prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The fields of `backfill.yml`. Paths are resolved: absolute, or a URI."""

    name: str = "backfill"
    """the project's name"""
    environment: str = "prod"
    """what plans are about and `promote` moves; also the schema of the views"""
    warehouse: str = ".backfill/warehouse"
    """where tables and records live: a folder, or a URI that Spark and delta-rs can write"""
    clock: datetime | None = None
    """a fixed "now" in UTC, for demos and tests, else the machine's"""
    batch_size: int | None = None
    """intervals a batch, for models that do not say, else about a minute's: see docs/plans.md#batches"""
    retention_days: int = 30
    """how long the janitor keeps what a release replaced, 14 to 30 days: so long one can go back, see
    docs/rollback.md"""
    cutover_grace: float = 5
    """with a shared metastore: seconds between the views being ready and their moving, all together"""
    tables: TableNames | None = None
    """with a shared metastore: where tables have names, which views then say instead of paths, as in
    `{schema: backfill_tables}`: see docs/catalogs.md"""
    watch_hours: float = 24
    """how long the watch after a change of published history goes on: see docs/watch.md"""
    consumers_stale_days: int = 90
    """how long what `consumers.yml` says counts as confirmed: see docs/consumers.md"""
    spark: dict[str, str] = field(default_factory=dict[str, str])
    """Spark settings on top of `spark-conf/`: see docs/spark.md"""
    cost: Cost | None = None
    """what the machine costs, for estimates and what came of them; without it nothing is said about money"""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    """whose approval a change of published rows needs, until rules are recorded: see docs/approvals.md"""
    windows: Windows | None = None
    """when heavy builds may run by the clock on the wall, without it at any time: see docs/windows.md"""
    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """which accounts act for whom, as in `{ana@example.com: {accounts: [ana]}}`: see docs/approvals.md"""
    dagster: DagsterNames = field(default_factory=DagsterNames)
    """what Dagster calls this project's assets and jobs, where it has other projects too: see docs/dagster.md"""
    untrusted: bool = False
    """the project's files may be a stranger's: execute none of their code, and write nothing; see
    docs/python-models.md"""

    def now(self) -> datetime:
        """The instant that decides which intervals are over."""
        return self.clock or datetime.now(UTC)
