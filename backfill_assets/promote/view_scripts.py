"""How does another engine get the views of an environment? A script of SQL, which says of which release it is.

It does not move by itself: whoever wants the next release runs the next script.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from backfill_assets.core.escaping import one_line
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.duckdb_views import FilesOf, duckdb_view
from backfill_assets.promote.trino_views import TrinoPlace, trino_registrations, trino_view
from backfill_assets.sql.other_engines import name_text, value_text
from backfill_assets.state.environment import schema_name
from backfill_assets.state.releases import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEnvironment:
    """What an environment shows or showed, and as which release: None for a candidate, which has none."""

    environment: str
    pointers: Mapping[str, Pointer]
    release: Release | None
    newest: bool
    """Whether it is what the environment shows now."""
    written: datetime
    retention_days: int
    gone: Collection[str] = ()
    """Models that some release showed, and this one does not."""
    provisional: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])

    @property
    def models(self) -> list[Pointer]:
        return [self.pointers[model] for model in sorted(self.pointers)]


def duckdb_script(shown: ShownEnvironment, files_of: Mapping[str, FilesOf]) -> str:
    """The script for DuckDB, which makes all views in one transaction. Raises what `duckdb_view` does."""
    schema = name_text(schema_name(shown.environment))
    statements = ["BEGIN TRANSACTION", f"CREATE SCHEMA IF NOT EXISTS {schema}"]
    statements += [f"DROP VIEW IF EXISTS {schema}.{name_text(model)}" for model in sorted(shown.gone)]
    for pointer in shown.models:
        view = f"{schema}.{name_text(pointer.model)}"
        statements.append(f"CREATE OR REPLACE VIEW {view} AS\n{duckdb_view(pointer, files_of[pointer.model])}")
        statements.append(f"COMMENT ON VIEW {view} IS {value_text(_of(shown, pointer.model))}")
    return _script([*_head(shown, "DuckDB", _DUCKDB)], [*statements, "COMMIT"])


def trino_script(shown: ShownEnvironment, warehouse: str, place: TrinoPlace) -> str:
    """The script for Trino. Raises what `trino_view` does."""
    catalog, schema = name_text(place.catalog), name_text(schema_name(shown.environment))
    statements = [f"CREATE SCHEMA IF NOT EXISTS {catalog}.{name}" for name in (name_text(place.tables), schema)]
    statements += trino_registrations(shown.models, warehouse, place)
    statements += [f"DROP VIEW IF EXISTS {catalog}.{schema}.{name_text(model)}" for model in sorted(shown.gone)]
    for pointer in shown.models:
        said = value_text(_of(shown, pointer.model))
        view = f"{catalog}.{schema}.{name_text(pointer.model)}"
        statements.append(f"CREATE OR REPLACE VIEW {view} COMMENT {said} AS\n{trino_view(pointer, place)}")
    return _script([*_head(shown, "Trino", _TRINO)], statements)


_DUCKDB = (
    "Run it whole: duckdb shop.duckdb < FILE. It needs no extension for files in folders; for s3:// it does",
    "(INSTALL httpfs; LOAD httpfs; CREATE SECRET …). All views move in one transaction.",
)
_TRINO = (
    "Run it with `trino --ignore-errors -f FILE`: a table that has its name already is refused, which is right. Views",
    "move one after the other: a query of two of them meanwhile may see two releases.",
)


def _head(shown: ShownEnvironment, engine: str, how: Sequence[str]) -> list[str]:
    days = shown.retention_days
    stay = f"as long as {shown.environment} shows them, and at least {days} days after a release that replaces them."
    said = [f"Views of {shown.environment} for {engine}: {_release(shown)}."]
    said.append(f"Written at {shown.written:%Y-%m-%d %H:%M:%S} UTC by `backfill export views`.")
    if not shown.newest:
        said.append(f"{shown.environment} shows another release by now: this is an older one, as it was.")
    return [
        *said,
        "It does not move by itself: after each release, write and run it again.",
        f"The files stay {stay}",
        *how,
    ]


def _release(shown: ShownEnvironment) -> str:
    if shown.release is None:
        return "no release, but what a plan has built so far"
    return f"release {shown.release.id}, of {shown.release.at:%Y-%m-%d %H:%M:%S} UTC, by {one_line(shown.release.by)}"


def _of(shown: ShownEnvironment, model: str) -> str:
    part = shown.provisional.get(model)
    return f"{shown.environment}: {_release(shown)}" + (f"; provisional: {part}" if part else "")


def _script(head: Sequence[str], statements: Sequence[str]) -> str:
    return "".join([*(f"-- {line}\n" for line in head), *(f"\n{statement};\n" for statement in statements)])
