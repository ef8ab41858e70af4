"""How is this project set up? `backfill.yml`, the environment variables that override it, and where things live."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from backfill_assets.errors import Problem, ProjectError, SettingsError
from backfill_assets.intervals import utc

SETTINGS_FILE = "backfill.yml"
EMBEDDED_PROJECT = Path(__file__).parent / "demo"


class Cost(BaseModel):
    """What the machine costs while it works: the price of a core-hour and how many cores, or of a DBU and how many."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: str = Field(pattern=r"^[A-Z]{3}$")
    per_core_hour: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False)
    cores: int | None = Field(default=None, ge=1, strict=True, validate_default=True)
    per_dbu: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False, validate_default=True)
    dbu_per_hour: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False, validate_default=True)

    @field_validator("per_dbu")
    @classmethod
    def _one_price(cls, value: float | None, info: ValidationInfo) -> float | None:
        # info.data lacks what was refused already: that is reported by itself
        if "per_core_hour" in info.data and (value is None) == (info.data["per_core_hour"] is None):
            raise ValueError("exactly one of per_core_hour and per_dbu is the price")
        return value

    @field_validator("cores", "dbu_per_hour")
    @classmethod
    def _goes_with_its_price(cls, value: float | None, info: ValidationInfo) -> float | None:
        price = "per_core_hour" if info.field_name == "cores" else "per_dbu"
        if price in info.data and (value is None) != (info.data[price] is None):
            raise ValueError(f"{price} and {info.field_name} go together")
        return value

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


class Settings(BaseModel):
    """The fields of `backfill.yml`. Paths are resolved: absolute, or a URI."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "backfill"
    environment: str = Field(default="prod", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    warehouse: str = ".backfill/warehouse"
    clock: datetime | None = None
    """A fixed `now` (UTC), for demos and tests; None is the machine's clock."""
    batch_size: int = Field(default=90, ge=1)
    """Intervals a batch, for models that do not say."""
    cutover_grace: float = Field(default=5, ge=0)
    """Seconds between the views of a shared catalog being ready for a promotion and their moving, all together."""
    spark: dict[str, str] = Field(default_factory=dict[str, str])
    """Spark settings on top of `spark-conf/`."""
    cost: Cost | None = None
    """What estimates count with; None: nothing is said about money."""

    @field_validator("clock", mode="before")
    @classmethod
    def _clock_is_utc(cls, value: object) -> object:
        return utc(value) if isinstance(value, str | date) else value

    @field_validator("spark", mode="before")
    @classmethod
    def _spark_values_are_text(cls, value: object) -> object:
        return spark_conf(value) if isinstance(value, Mapping) else value

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
    file = root / SETTINGS_FILE
    raw: object = {}
    if file.is_file():
        try:
            raw = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        except yaml.YAMLError as error:
            raise ProjectError([yaml_problem(file, error)]) from None
    if not isinstance(raw, dict):
        raise ProjectError(
            [Problem(file=file, line=1, what="settings must be a mapping", fix="write `name: value` lines")]
        )
    if override := os.environ.get("BACKFILL_WAREHOUSE"):
        raw["warehouse"] = override
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as error:
        raise ProjectError(
            Problem(file=file, what=f"{'.'.join(map(str, e['loc']))}: {e['msg']}", fix=_fix(e["loc"]))
            for e in error.errors()
        ) from None
    return settings.model_copy(update={"warehouse": resolve_location(settings.warehouse, state_root(root))})


def _fix(place: tuple[int | str, ...]) -> str:
    if place[:1] == ("cost",):
        return (
            "write `cost: {currency: EUR, per_core_hour: 0.05, cores: 2}`"
            " or `cost: {currency: USD, per_dbu: 0.30, dbu_per_hour: 4}`"
        )
    return "see docs/settings.md"


def yaml_problem(file: Path, error: yaml.YAMLError, first_line: int = 1) -> Problem:
    """The problem that a YAML error describes; `first_line` is where the YAML text starts in the file."""
    mark = getattr(error, "problem_mark", None)
    return Problem(
        file=file,
        line=mark.line + first_line if mark else 0,
        what="this is not valid YAML",
        why=str(getattr(error, "problem", None) or error),
        fix="check indentation, colons and quotes at this line",
    )
