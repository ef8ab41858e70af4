"""What became of the parts of another tool's project: models, sources, what to check, and what was not translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class Untranslatable(Exception):
    """A construct that cannot be expressed here; `line` counts from 1 in the file it was read from."""

    def __init__(self, what: str, *, why: str = "", fix: str = "", line: int = 1, file: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.fix, self.line, self.file = what, why, fix, line, file


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One thing that was not translated. `model` is empty for what belongs to none."""

    model: str = ""
    place: str
    """`models/orders.sql:12`, from the other project's folder."""
    what: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCheck:
    """A place of a model, or of a source, that was translated and has to be looked at."""

    model: str
    place: str
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What has another form here, without any doubt about rows."""

    model: str
    place: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedModel:
    """A model's file. Without `checks` its rows are known to be the same; `table` is where its rows are there."""

    name: str
    text: str
    origin: str
    reads: tuple[str, ...]
    checks: tuple[ToCheck, ...] = ()
    remarks: tuple[Remark, ...] = ()
    inlined: tuple[str, ...] = ()
    table: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A table that others write: its name, where it is, and its columns as Spark types.

    It is a `table` of the catalog, or the text of a CSV file that is copied (`seed`, its name and content). `more` are
    further keys of its entry. `checks` are for people to look at.
    """

    name: str
    table: str = ""
    seed: tuple[str, str] | None = None
    columns: Mapping[str, str]
    description: str = ""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    checks: tuple[ToCheck, ...] = ()


@dataclass(slots=True, kw_only=True)
class Translation:
    """All of a project. `within` are models that became a part of those that read them, by name, with the place."""

    models: dict[str, TranslatedModel] = field(default_factory=dict[str, TranslatedModel])
    sources: dict[str, ReadSource] = field(default_factory=dict[str, ReadSource])
    within: dict[str, str] = field(default_factory=dict[str, str])
    left: list[Left] = field(default_factory=list[Left])
    remarks: list[Remark] = field(default_factory=list[Remark])
    checks: list[ToCheck] = field(default_factory=list[ToCheck])
    """Of what belongs to all models."""
    consumers: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    consumer_places: dict[str, str] = field(default_factory=dict[str, str])
    """Where each of them is said, by its name here."""


def refused(error: Untranslatable, model: str, file: str) -> Left:
    """What the report says of a refusal."""
    place = f"{error.file or file}:{error.line}"
    return Left(model=model, place=place, what=error.what, why=error.why, fix=error.fix)
