"""What is a consumer? Somebody who reads prod views: what of them, how far back, and what shows that it still works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from backfill_assets.core.intervals import Interval

CONSUMERS_FILE = "consumers.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What is read of one model: these columns (none named: all), of the newest days (None: of all history)."""

    columns: tuple[str, ...] = ()
    history: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a column of a query's result may be; both ends are included, and NULL is within."""

    column: str
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerQuery:
    """A query of a consumer over the views, and what its result must be like."""

    name: str
    sql: str
    min_rows: int | None = None
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How an agent or a model was judged, and on which days of data. Either `query` (a name) or `command` is set."""

    name: str
    days: Interval
    query: str = ""
    command: str = ""
    variables: tuple[str, ...] = ()
    """The environment variables that the command gets beside the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Somebody who reads prod views: a dashboard, an export, a notebook, a model, an agent."""

    name: str
    kind: str = "dashboard"
    owner: str = ""
    criticality: str = "medium"
    how: str = "view"
    """`view`: sees a promotion at once. `export`: with its next run. `extract`: when its copy is refreshed."""
    reads: tuple[str, ...] = ()
    """The models."""
    uses: Mapping[str, ModelUse] = field(default_factory=dict[str, ModelUse])
    """What it reads of each of them."""
    notice: int = 0
    """How many days before a change its owner wants to know of it."""
    queries: tuple[ConsumerQuery, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    last_verified: date | None = None
    """When somebody last made sure that all this is so; None: nobody ever did."""
    description: str = ""
    url: str = ""
    file: Path
    line: int = 0

    def use(self, model: str) -> ModelUse:
        """What it reads of a model; everything, where it does not say."""
        return self.uses.get(model, ModelUse())
