"""Which data files hold which rows of a version's table? From its log; of an adopted table also from what was counted.

An adopted table is a log of ours over files of somebody else's: it names them in full, and one of them may have rows of
many days, so that the log alone does not tell the rows of a day.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from backfill_assets.adapters.durable import local, write_durably
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import utc

if TYPE_CHECKING:
    from deltalake import DeltaTable

ORIGIN = "backfill.adopted"
"""The property of an adopted table that says where its rows come from."""
COUNTS = "_adopted.json"
"""The file, in the version's folder, that says how many rows of which interval each file has; Delta's VACUUM leaves
what begins with `_`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFile:
    """A data file's rows of one interval, which begins `at`. `rows` are those, `in_all` those of the file."""

    path: str
    """From the table's folder; in full where it is a file of another table."""
    at: datetime
    bytes: int
    rows: int
    in_all: int

    @property
    def elsewhere(self) -> bool:
        return is_outside(self.path)

    @property
    def inside(self) -> str:
        """Its path from `root`."""
        return self.path.removeprefix("/")

    def root(self, location: str) -> str:
        """The folder that `inside` is in, of a table at a location."""
        return "/" if self.elsewhere else location


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedFrom:
    """What was adopted: a Delta table's folder, one of its commits, and the table's id."""

    location: str
    commit: int
    table: str


def is_outside(path: str) -> bool:
    """Whether a file that a log names is outside of the table's folder."""
    return path.startswith("/")


def origin_of(table: DeltaTable) -> AdoptedFrom | None:
    """What an opened table was adopted from; None for one of ours."""
    said = table.metadata().configuration.get(ORIGIN)
    return AdoptedFrom(**json.loads(said)) if said else None


def origin_text(origin: AdoptedFrom) -> str:
    """The origin as the property says it."""
    return json.dumps(asdict(origin), sort_keys=True)


def write_counts(location: str, counts: Mapping[str, Mapping[datetime, int]]) -> None:
    """Record how many rows of which interval each file of an adopted table has."""
    said = {path: {at.isoformat(): rows for at, rows in of.items()} for path, of in counts.items()}
    write_durably(Path(location, COUNTS), json.dumps(said, sort_keys=True).encode())


def read_counts(location: str) -> dict[str, dict[datetime, int]]:
    """The rows by file and interval of an adopted table. Raises StateError where nobody can tell them."""
    try:
        said = json.loads(Path(location, COUNTS).read_text(encoding="utf-8"))
        return {str(path): {utc(at): int(rows) for at, rows in of.items()} for path, of in said.items()}
    except FileNotFoundError:
        why = f"there is no {COUNTS}, which is written before anything shows them"
    except (OSError, ValueError, TypeError, AttributeError) as error:
        why = f"{COUNTS} is damaged: {error}"
    raise StateError(
        f"the rows of an adopted table were not counted: {location.rstrip('/')}",
        why=why,
        fix="run `backfill adopt` as at first, with the same table: it counts them again; or restore from a backup",
    )


def data_files(table: DeltaTable) -> Iterator[IntervalFile]:
    """The files of each interval of an opened table. Raises StateError where those of an adopted one were not counted.

    A file with rows of several intervals comes once for each.
    """
    if origin_of(table) is not None:
        yield from _adopted(table)
        return
    actions = table.get_add_actions(flatten=True)
    day = next(n for n in actions.schema.names if n.startswith("partition."))
    columns = (actions.column(n).to_pylist() for n in (day, "path", "size_bytes", "num_records"))
    for value, path, size, rows in zip(*columns, strict=True):
        if value is not None:
            yield IntervalFile(path=unquote(path), at=_instant(value), bytes=size, rows=rows or 0, in_all=rows or 0)


_instant = lru_cache(10_000)(utc)
"""The files of all tables are of the same days."""


def _adopted(table: DeltaTable) -> Iterator[IntervalFile]:
    folder = local(table.table_uri)
    assert folder is not None
    counts = read_counts(folder)
    actions = table.get_add_actions(flatten=True)
    columns = (actions.column(n).to_pylist() for n in ("path", "size_bytes"))
    for path, size in zip(*map(list, columns), strict=True):
        of = counts.get(unquote(path), {})
        for at, rows in of.items():
            yield IntervalFile(path=unquote(path), at=at, bytes=size, rows=rows, in_all=sum(of.values()))
