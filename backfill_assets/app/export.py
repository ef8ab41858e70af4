"""Use case: the views of an environment for engines other than Spark, as a script of SQL. No JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from backfill_assets.adapters.durable import write_durably
from backfill_assets.adapters.pinned_files import pinned_files
from backfill_assets.app.context import Context
from backfill_assets.core.errors import PromotionError, StateError, UsageError
from backfill_assets.promote.trino_views import TrinoPlace
from backfill_assets.promote.view_scripts import ShownEnvironment, duckdb_script, trino_script
from backfill_assets.sql.other_engines import Dialect
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import Release, find_release, shown_at
from backfill_assets.state.table_contents import with_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """For which engine; of which environment (None: the project's), at which release (None: as it is now)."""

    dialect: Dialect
    environment: str | None = None
    release: str | None = None
    folder: Path | None = None
    """Where the script goes; None: nowhere, it is only returned."""
    trino: TrinoPlace = TrinoPlace(catalog="delta", tables="backfill_tables")  # noqa: RUF009 it is frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A script, and where it is."""

    script: str
    shown: ShownEnvironment
    file: Path | None


def export_views(context: Context, request: ExportRequest) -> Exported:
    """Write the script of an environment's views, aside and then in the place of an older one: who reads it finds the
    old one or the new one.

    Raises StateError when a table is not as it was promoted, PromotionError for an unknown release, or when there is
    nothing to show, UsageError for a folder that is called as a script would be.
    """
    if request.folder is not None:
        _refuse_file(request.folder)
    shown = _shown(context, request)
    with_counts(context.log, shown.models)
    if request.dialect == "trino":
        script = trino_script(shown, context.warehouse, request.trino)
    else:
        files_of = {model: partial(pinned_files, context.warehouse, model) for model in shown.pointers}
        script = duckdb_script(shown, files_of)
    if request.folder is None:
        return Exported(script=script, shown=shown, file=None)
    of = shown.environment if request.release is None or shown.release is None else _named(shown)
    file = request.folder / f"{of}.{request.dialect}.sql"
    try:
        write_durably(file.absolute(), script.encode())
    except OSError as error:
        raise StateError(f"{file} cannot be written", why=str(error), fix="name another folder") from None
    return Exported(script=script, shown=shown, file=file)


def _refuse_file(folder: Path) -> None:
    if folder.suffix.lower() == ".sql" and not folder.is_dir():
        raise UsageError(
            f"{folder} would be a folder",
            why="--out takes a folder; the script in it is called by its environment and engine",
            fix=f"name one: --out {folder.parent}; or print the script into a file: leave --out away, and > {folder}",
        )


def _named(shown: ShownEnvironment) -> str:
    assert shown.release is not None
    return f"{shown.environment}.{shown.release.id}"


def _at_once(control: Control, name: str) -> tuple[Environment, list[Release]]:
    """An environment and its releases, between which no promotion came: the rows of one would go by another's name."""
    while True:
        seen, releases = control.environments.read(name), control.releases.all(name)
        if control.environments.revision() == seen.revision:
            return seen, releases


def _shown(context: Context, request: ExportRequest) -> ShownEnvironment:
    name = request.environment or context.environment
    seen, releases = _at_once(context.control, name)
    chosen = find_release(releases, request.release) if request.release is not None else None
    release = chosen or (releases[-1] if releases else None)
    pointers = shown_at(seen.pointers, releases, chosen) if chosen is not None else seen.pointers
    if not pointers:
        known = ", ".join(context.control.environments.names()) or "nothing yet"
        raise PromotionError(
            f"{name} shows nothing{' at that release' if chosen else ''}",
            why=f"environments that show something: {known}",
            fix="name one with --environment, or promote: backfill promote",
        )
    newest = release is None or release == releases[-1]
    return ShownEnvironment(
        environment=name,
        pointers=pointers,
        release=release,
        newest=newest,
        written=datetime.now(UTC),
        retention_days=context.project.settings.retention_days,
        gone={move.model for one in releases for move in one.moves} - pointers.keys(),
        provisional=context.provisional(seen) if newest else {},
    )
