"""What does `backfill.yml` say? Every field checked; pydantic and YAML are imported by who reads the file, only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from backfill_assets.core.errors import Problem
from backfill_assets.core.settings import ApprovalRules, Cost, DagsterNames, Settings, TableNames
from backfill_assets.core.windows import EVERY_DAY, Window, Windows, minute, weekdays
from backfill_assets.files.documents import read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import Instant, Strict, Text, setting, text, validate_partly
from backfill_assets.project.dagster_names import key_parts, name_prefix
from backfill_assets.project.locations import wrong_environment, wrong_location
from backfill_assets.project.spark_settings import is_region, spark_conf, wrong_setting


def parse_settings(file: Path, problems: list[Problem]) -> Settings:
    """The settings as they are written (all defaults when there is no file); what is wrong has its default.

    Problems are appended, each with its line.
    """
    content = read_text(file, problems, missing=True)
    document = read_yaml(content, file, problems) if content is not None else None
    if document is None or document.data is None:
        return Settings()
    if not isinstance(document.data, Mapping):
        problems.append(document.problem(what="settings must be a mapping", fix="write `name: value` lines"))
        return Settings()
    fixes = {name: _fix(name) for name in _Settings.model_fields}
    read, _ = validate_partly(
        _Settings, document, document.data, problems, fixes=fixes, otherwise="see `backfill docs settings`", instead={}
    )
    if read is None:
        return Settings()
    found: dict[str, Any] = read.model_dump()
    cost, rules, tables = found.pop("cost"), found.pop("approvals"), found.pop("tables")
    dagster = DagsterNames(**found.pop("dagster"))
    people = {person: said["accounts"] for person, said in found.pop("people").items()}
    windows = tuple(Window(**said) for said in found.pop("windows") or ())
    return Settings(
        **found,
        cost=Cost(**cost) if cost else None,
        approvals=ApprovalRules(**rules),
        tables=TableNames(schema=tables["home"], catalog=tables["catalog"]) if tables else None,
        windows=Windows(windows) if windows else None,
        people=people,
        dagster=dagster,
    )


def _scalars(value: object) -> object:
    """Spark's settings as Spark wants them."""
    if not isinstance(value, Mapping):
        raise ValueError("not a mapping such as {spark.sql.shuffle.partitions: 4}")
    for name, one in value.items():
        if not isinstance(name, str) or isinstance(one, Mapping | list) or one is None:
            raise ValueError(f"`{name}` is not one name with one value")
        setting(one)
    found = spark_conf(value)
    if problem := wrong_setting(found):
        raise ValueError(problem)
    return found


def _owners(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError("not a mapping such as {growth@example.com: [ana@example.com]}")
    return {text(owner): people for owner, people in value.items()}


def _names(value: object) -> object:
    if not value:
        raise ValueError("nobody is named")
    return [value] if isinstance(value, str) else value


def _people(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError("not a mapping such as {ana@example.com: {accounts: [ana]}}")
    return {text(person): said for person, said in value.items()}


def _location(value: object) -> str:
    found = text(value)
    if problem := wrong_location(found):
        raise ValueError(problem)
    return found


def _environment(value: object) -> str:
    found = text(value)
    if problem := wrong_environment(found):
        raise ValueError(problem)
    return found


def _name(value: object) -> str:
    if not (found := text(value)):
        raise ValueError("a name must say something")
    return found


class _Cost(Strict):
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    per_core_hour: float | None = Field(default=None, gt=0, le=1e9, strict=True, allow_inf_nan=False)
    cores: int | None = Field(default=None, ge=1, le=1_000_000, strict=True, validate_default=True)
    per_dbu: float | None = Field(default=None, gt=0, le=1e9, strict=True, allow_inf_nan=False, validate_default=True)
    dbu_per_hour: float | None = Field(
        default=None, gt=0, le=1e9, strict=True, allow_inf_nan=False, validate_default=True
    )

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


class _Approvals(Strict):
    required: bool = Field(default=ApprovalRules().required, strict=True)
    self: bool = Field(default=ApprovalRules().self, strict=True)
    days: int = Field(default=ApprovalRules().days, ge=1, le=3660, strict=True)
    signatures: Literal["optional", "required"] = "optional"
    consumers: Literal["none", "high"] = "none"
    owners: Annotated[dict[str, Annotated[tuple[Text, ...], BeforeValidator(_names)]], BeforeValidator(_owners)] = (
        Field(default_factory=dict[str, tuple[str, ...]])
    )


class _Person(Strict):
    accounts: Annotated[tuple[Text, ...], BeforeValidator(_names)]


def _days(value: object) -> object:
    names: list[object] = list(value) if isinstance(value, list) else [value]
    if not names:
        raise ValueError("no day is named")
    return frozenset[int]().union(*(weekdays(one) for name in names for one in text(name).split(",")))


def _minute(value: object, info: ValidationInfo) -> int:
    return minute(text(value), last=info.field_name == "end")


def _listed(value: object) -> object:
    if (
        not value
        or not isinstance(value, list)
        or not all(isinstance(one, Mapping) for one in cast(list[object], value))
    ):
        raise ValueError("not a list of windows, each a mapping")
    return tuple(cast(list[object], value))


def _zone(value: object) -> str:
    if not is_region(found := text(value)):
        raise ValueError("not a time zone that this machine knows, such as Europe/Berlin")
    return found


class _Window(Strict):
    days: Annotated[frozenset[int], BeforeValidator(_days)] = EVERY_DAY
    start: Annotated[int, BeforeValidator(_minute)] = Field(alias="from")
    end: Annotated[int, BeforeValidator(_minute)] = Field(alias="to")
    time_zone: Annotated[str, BeforeValidator(_zone)] = "UTC"

    @field_validator("end")
    @classmethod
    def _some_of_the_day(cls, value: int, info: ValidationInfo) -> int:
        if value == info.data.get("start"):
            raise ValueError("it begins and ends at the same time; a whole day is from 00:00 to 24:00")
        return value


def _parts(value: object) -> tuple[str, ...]:
    return key_parts([text(one) for one in cast(list[object], value)] if isinstance(value, list) else text(value))


def _sources(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("not a list of sources")
    return tuple(text(one) for one in cast(list[object], value))


class _Dagster(Strict):
    key_prefix: Annotated[tuple[str, ...], BeforeValidator(_parts)] = ()
    job_prefix: Annotated[str, BeforeValidator(lambda value: name_prefix(text(value)))] = ""
    existing_assets: Annotated[tuple[str, ...], BeforeValidator(_sources)] = ()


def _catalog(value: object) -> str:
    found = text(value)
    if not _CATALOG.fullmatch(found):
        raise ValueError("not a name of ASCII letters, digits and _, no digit first")
    return found


_CATALOG = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class _Tables(Strict):
    home: Annotated[str, BeforeValidator(_environment)] = Field(alias="schema")
    catalog: Annotated[str, BeforeValidator(_catalog)] = TableNames(schema="").catalog


def _said(value: object) -> object:
    if value is None:
        raise ValueError("it has no value")
    return value


class _Settings(Strict):
    name: Annotated[str, BeforeValidator(_name)] = Settings().name
    environment: Annotated[str, BeforeValidator(_environment)] = Settings().environment
    warehouse: Annotated[str, BeforeValidator(_location)] = Settings().warehouse
    clock: Instant | None = None
    batch_size: Annotated[int | None, BeforeValidator(_said)] = Field(
        default=Settings().batch_size, ge=1, le=1_000_000, strict=True
    )
    retention_days: int = Field(default=Settings().retention_days, ge=14, le=30, strict=True)
    cutover_grace: float = Field(default=Settings().cutover_grace, ge=0, le=3600, strict=True, allow_inf_nan=False)
    tables: _Tables | None = None
    watch_hours: float = Field(default=Settings().watch_hours, gt=0, le=8784, strict=True, allow_inf_nan=False)
    untrusted: bool = Field(default=Settings().untrusted, strict=True)
    consumers_stale_days: int = Field(default=Settings().consumers_stale_days, ge=1, le=36_600, strict=True)
    spark: Annotated[dict[str, str], BeforeValidator(_scalars)] = Field(default_factory=dict[str, str])
    cost: _Cost | None = None
    approvals: _Approvals = Field(default_factory=_Approvals)
    windows: Annotated[tuple[_Window, ...] | None, BeforeValidator(_listed)] = None
    people: Annotated[dict[str, _Person], BeforeValidator(_people)] = Field(default_factory=dict[str, _Person])
    dagster: _Dagster = Field(default_factory=_Dagster)

    @field_validator("tables")
    @classmethod
    def _a_schema_of_their_own(cls, value: _Tables | None, info: ValidationInfo) -> _Tables | None:
        if value is not None and value.home.casefold() == str(info.data.get("environment", "")).casefold():
            raise ValueError(f"{value.home} is the environment: its schema has the views")
        return value

    @field_validator("people")
    @classmethod
    def _an_account_is_of_one_person(cls, value: dict[str, _Person]) -> dict[str, _Person]:
        known: dict[str, str] = {}
        for person, said in value.items():
            for name in (person, *said.accounts):
                if known.setdefault(name.casefold(), person) != person:
                    raise ValueError(f"{name} is listed for {known[name.casefold()]} and for {person}")
        return value


def _fix(name: str) -> str:
    if name == "cost":
        return (
            "write `cost: {currency: EUR, per_core_hour: 0.05, cores: 2}`"
            " or `cost: {currency: USD, per_dbu: 0.30, dbu_per_hour: 4}`"
        )
    if name == "approvals":
        return "write `approvals: {self: true}`, or see `backfill docs approvals`"
    if name == "tables":
        return "write `tables: {schema: backfill_tables}`: a schema of its own, and no environment's"
    if name == "windows":
        return (
            'write `windows:` and under it `- {days: [Mon-Fri], from: "22:00", to: "06:00", time_zone: Europe/Berlin}`'
        )
    if name == "dagster":
        return "write `dagster: {key_prefix: [marketing], job_prefix: marketing_}`; see `backfill docs dagster`"
    if name == "people":
        return "write `people: {ana@example.com: {accounts: [ana]}}`: each person once, with their accounts"
    return f"correct `{name}`, or leave it out; see `backfill docs settings`"
