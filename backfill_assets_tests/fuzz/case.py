"""What is fuzzed? A chain of models, an edit of it, and the tables that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Models = Mapping[str, str]
"""Name → Spark SQL, in an order in which each model reads those before it only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """A source: Spark types by column, in order. `key`: columns that an audit finds unique."""

    columns: Mapping[str, str]
    key: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`old` and `new` have the same models, of which at least one differs. `kind`: how it was made."""

    old: Models
    new: Models
    kind: str
    tables: Mapping[str, TableSpec]
    rows: Mapping[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    """The rows of the tables, where they are not those of `data.DATASETS`."""
    dataset: int = 0

    @property
    def reached(self) -> tuple[str, ...]:
        """The first model that was edited, and those behind it."""
        first = next((i for i, n in enumerate(self.old) if self.old[n] != self.new[n]), 0)
        return tuple(self.old)[first:]

    @property
    def edited(self) -> tuple[str, ...]:
        return tuple(name for name in self.old if self.old[name] != self.new[name])
