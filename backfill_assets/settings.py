"""How is this project set up? `backfill.yml`, the environment variables that override it, and where things live."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backfill_assets.errors import SettingsError

SETTINGS_FILE = "backfill.yml"
EMBEDDED_PROJECT = Path(__file__).parent / "demo"


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
class ApprovalRules:
    """Whose yes a change of published history needs, and what counts as one."""

    required: bool = True
    self: bool = False
    """Whether the author of a plan may approve it; that it was so is recorded."""
    days: int = 14
    """After so many days an approval is over."""
    signatures: str = "optional"
    """`required`: only approvals with an SSH signature of somebody in `allowed_signers` count."""
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Owner → who may say yes for it. One that is not here: anybody but the author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The fields of `backfill.yml`. Paths are resolved: absolute, or a URI."""

    name: str = "backfill"
    environment: str = "prod"
    warehouse: str = ".backfill/warehouse"
    clock: datetime | None = None
    """A fixed `now` (UTC), for demos and tests; None is the machine's clock."""
    batch_size: int = 90
    """Intervals a batch, for models that do not say."""
    retention_days: int = 30
    """How long what a release replaced is kept by the janitor: so long, one can go back to it."""
    cutover_grace: float = 5
    """Seconds between the views of a shared catalog being ready for a promotion and their moving, all together."""
    watch_hours: float = 24
    """How long the watch after a change of published history goes on."""
    consumers_stale_days: int = 90
    """How long what `consumers.yml` says counts as confirmed."""
    spark: dict[str, str] = field(default_factory=dict[str, str])
    """Spark settings on top of `spark-conf/`."""
    cost: Cost | None = None
    """What estimates count with; None: nothing is said about money."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)

    def now(self) -> datetime:
        """The instant that decides which intervals are over."""
        return self.clock or datetime.now(UTC)


def spark_conf(values: Mapping[Any, Any]) -> dict[str, str]:
    """Spark settings as Spark wants them: YAML's `true` is the text `true`."""
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in values.items()}


def project_root(project: str | Path | None = None) -> Path:
    """The project's folder: the argument, else BACKFILL_PROJECT, else the embedded demo.

    Raises SettingsError when the folder does not exist.
    """
    chosen = project or os.environ.get("BACKFILL_PROJECT") or EMBEDDED_PROJECT
    root = Path(chosen).expanduser().resolve()
    if not root.is_dir():
        raise SettingsError(
            f"no project at {chosen}",
            why="the folder does not exist",
            fix=f"create one with `backfill init {chosen}`, or name another with --project DIR or BACKFILL_PROJECT",
        )
    return root


def state_root(root: Path) -> Path:
    """Where relative paths start: the project's folder; for the embedded demo the checkout, else the cwd."""
    if root != EMBEDDED_PROJECT.resolve():
        return root
    checkout = Path(__file__).resolve().parent.parent
    return checkout if (checkout / "pyproject.toml").is_file() else Path.cwd()


def cache_folder(root: Path) -> Path:
    """Where what can be made again is kept: BACKFILL_CACHE, else beside the project's state."""
    return Path(os.environ.get("BACKFILL_CACHE") or state_root(root) / ".backfill" / "cache")


def resolve_location(location: str, base: Path) -> str:
    """A path made absolute against `base`; a URI (`s3://…`) as it is."""
    if "://" in location:
        return location.rstrip("/")
    return str((base / Path(location).expanduser()).resolve())


def load_settings(root: Path) -> Settings:
    """Read `<root>/backfill.yml` (all defaults when it is missing). Raises ProjectError with every problem at once."""
    from backfill_assets.settings_file import read_settings

    settings = read_settings(root / SETTINGS_FILE)
    warehouse = os.environ.get("BACKFILL_WAREHOUSE") or settings.warehouse
    return replace(settings, warehouse=resolve_location(warehouse, state_root(root)))
