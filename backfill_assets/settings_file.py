"""What does `backfill.yml` say? Every field checked; pydantic and YAML are imported by who reads the file, only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from backfill_assets.errors import Problem, ProjectError
from backfill_assets.intervals import utc
from backfill_assets.settings import ApprovalRules, Cost, Settings, spark_conf


def read_settings(file: Path) -> Settings:
    """The settings as they are written (all defaults when there is no file). Raises ProjectError with every problem."""
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
    try:
        found: dict[str, Any] = _Settings.model_validate(raw).model_dump()
    except ValidationError as error:
        raise ProjectError(
            Problem(file=file, what=f"{'.'.join(map(str, e['loc']))}: {e['msg']}", fix=_fix(e["loc"]))
            for e in error.errors()
        ) from None
    cost, rules = found.pop("cost"), found.pop("approvals")
    return Settings(**found, cost=Cost(**cost) if cost else None, approvals=ApprovalRules(**rules))


class _Cost(BaseModel):
    model_config = ConfigDict(extra="forbid")

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


class _Approvals(BaseModel):
    model_config = ConfigDict(extra="forbid")

    required: bool = ApprovalRules().required
    self: bool = ApprovalRules().self
    days: int = Field(default=ApprovalRules().days, ge=1)
    signatures: Literal["optional", "required"] = "optional"
    owners: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Settings().name
    environment: str = Field(default=Settings().environment, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    warehouse: str = Settings().warehouse
    clock: datetime | None = None
    batch_size: int = Field(default=Settings().batch_size, ge=1)
    retention_days: int = Field(default=Settings().retention_days, ge=14, le=30)
    cutover_grace: float = Field(default=Settings().cutover_grace, ge=0)
    watch_hours: float = Field(default=Settings().watch_hours, gt=0, allow_inf_nan=False)
    consumers_stale_days: int = Field(default=Settings().consumers_stale_days, ge=1)
    spark: dict[str, str] = Field(default_factory=dict[str, str])
    cost: _Cost | None = None
    approvals: _Approvals = Field(default_factory=_Approvals)

    @field_validator("clock", mode="before")
    @classmethod
    def _clock_is_utc(cls, value: object) -> object:
        return utc(value) if isinstance(value, str | date) else value

    @field_validator("spark", mode="before")
    @classmethod
    def _spark_values_are_text(cls, value: object) -> object:
        return spark_conf(value) if isinstance(value, Mapping) else value


def _fix(place: tuple[int | str, ...]) -> str:
    if place[:1] == ("cost",):
        return (
            "write `cost: {currency: EUR, per_core_hour: 0.05, cores: 2}`"
            " or `cost: {currency: USD, per_dbu: 0.30, dbu_per_hour: 4}`"
        )
    if place[:1] == ("approvals",):
        return "write `approvals: {self: true}`, or see docs/approvals.md"
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
