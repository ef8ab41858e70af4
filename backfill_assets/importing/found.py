"""What became of the parts of another tool's project: models, sources, and what was not translated, with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class Untranslatable(Exception):
    """A construct that is not known to mean the same here; `line` counts from 1 in the file it was read from."""

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
class Remark:
    """What differs of a model that was translated, or what of it has no meaning here."""

    model: str
    place: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedModel:
    """A model's file. `columns` are Spark types by name, as far as they are known."""

    name: str
    text: str
    origin: str
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A table that others write: its name, where it is called so, and its columns as Spark types."""

    name: str
    table: str
    columns: Mapping[str, str]
    description: str = ""


@dataclass(slots=True, kw_only=True)
class Translation:
    """All of a project."""

    models: dict[str, TranslatedModel] = field(default_factory=dict[str, TranslatedModel])
    sources: dict[str, ReadSource] = field(default_factory=dict[str, ReadSource])
    left: list[Left] = field(default_factory=list[Left])
    remarks: list[Remark] = field(default_factory=list[Remark])


def refused(error: Untranslatable, model: str, file: str) -> Left:
    """What the report says of a refusal."""
    place = f"{error.file or file}:{error.line}"
    return Left(model=model, place=place, what=error.what, why=error.why, fix=error.fix)
