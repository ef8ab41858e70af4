"""Use cases of the warehouse as a whole: whose it is, what is wrong with its records, its copy and its way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.adapters.accepting import WarehouseStatus, adopt, forget, warehouse_status
from backfill_assets.adapters.account import account
from backfill_assets.adapters.backup import Manifest, backup, missing_outside
from backfill_assets.adapters.cluster import probe_executors
from backfill_assets.adapters.integrity import IntegrityReport, check_integrity, check_logs
from backfill_assets.adapters.probe import probe
from backfill_assets.adapters.repair import SetAside, repair
from backfill_assets.adapters.restore import Restored, restore
from backfill_assets.adapters.rights import check_rights
from backfill_assets.adapters.server import server_found
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.source_files import can_list, files_at
from backfill_assets.adapters.source_pins import MOST_OBJECTS
from backfill_assets.adapters.warehouse import open_store
from backfill_assets.app.context import Context
from backfill_assets.core.errors import SettingsError
from backfill_assets.project.object_store import is_s3
from backfill_assets.project.settings import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepting:
    """What is to be done before the look: at most one of these."""

    adopt: bool = False
    """Take it for this project's, with its records as they are now, and with the reason `why`."""
    forget: bool = False
    """Remember nothing of it."""
    repair: bool = False
    """Set aside newest log entries that a loss of power damaged."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The warehouse as it is now, and what a repair has set aside."""

    status: WarehouseStatus
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What a backup consists of, and what it cannot have."""

    manifest: Manifest
    missing: tuple[str, ...]
    """Which files of adopted tables are not where they were: a restore would not have them either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtBack:
    """Which warehouse a backup was put in the place of, and what came of it."""

    warehouse: str
    restored: Restored


def look_at_rights(root: Path) -> str:
    """Who may use the folders of a project's warehouse. Raises SettingsError where somebody who has to may not."""
    return check_rights(load_settings(root).warehouse)


def accept_warehouse(root: Path, asked: Accepting) -> Accepted:
    """Do what is asked, and say whose the warehouse is and what is wrong with it.

    Raises SettingsError for options that exclude each other, StateError for what cannot be adopted or repaired.
    """
    if asked.adopt != bool(asked.why) or asked.adopt + asked.forget + asked.repair > 1:
        raise SettingsError(
            "--adopt and --why go together, and --forget and --repair stand alone",
            why="what is adopted is kept with its reason",
            fix='backfill warehouse --adopt --why "restored from the nightly snapshot"',
        )
    settings = load_settings(root)
    if asked.adopt:
        adopt(settings, root, by=account(), why=asked.why)
    if asked.forget:
        forget(settings, root)
    set_aside = repair(settings, root, by=account()) if asked.repair else ()
    return Accepted(status=warehouse_status(settings, root), set_aside=set_aside)


def back_up_warehouse(root: Path, target: Path, *, data: bool) -> BackedUp:
    """Copy the records, and with `data` the versions' tables, into an empty folder. Raises StateError."""
    settings = load_settings(root)
    open_store(settings, root)  # what is lost or older than it was is no backup
    made = backup(settings.warehouse, target, data=data)
    return BackedUp(manifest=made, missing=tuple(missing_outside(settings.warehouse)) if data else ())


def restore_warehouse(root: Path, source: Path, *, over_newer: bool) -> BroughtBack:
    """Put a backup in the warehouse's place. Raises StateError, as `restore` says."""
    settings = load_settings(root)
    done = restore(source, settings, root, over_newer=over_newer, by=account())
    return BroughtBack(warehouse=settings.warehouse, restored=done)


def probe_store(context: Context) -> str:
    """Try where the warehouse is with every client, in an object store; "" for a folder. Raises SettingsError."""
    return probe(context.warehouse, lambda: context.spark) if is_s3(context.warehouse) else ""


def probe_server(context: Context) -> str:
    """Try the Spark Connect server that the project uses, and that it sees the warehouse as the other clients do.
    Raises SettingsError."""
    session: object = context.spark  # opened: versions, Delta Lake, settings and one file are looked at
    assert is_remote(session)
    return f"{server_found(session)}; {probe(context.warehouse, lambda: context.spark)}"


def probe_cluster(context: Context) -> str:
    """Try the executors of the cluster that the project uses, and that they see the warehouse as this process does.
    Raises SettingsError."""
    session = context.spark
    answer = probe_executors(session)
    return answer if is_s3(context.warehouse) else f"{answer}; {probe(context.warehouse, lambda: session)}"


def reach_sources(places: Sequence[str]) -> str:
    """Look at what is stored where sources are; what was found. Raises SettingsError for what cannot be reached."""
    return "; ".join(_found_at(place) if can_list(place) else place for place in places)


def _found_at(place: str) -> str:
    if not (files := files_at(place, at_most=MOST_OBJECTS + 1)):
        raise SettingsError(
            f"there are no files at {place}",
            why="the bucket answers, and holds nothing below that name",
            fix="load the source, or correct its path in sources.yml",
        )
    return f"{place}: {'more than ' * (len(files) > MOST_OBJECTS)}{min(len(files), MOST_OBJECTS):,} files"


def check_warehouse(context: Context, *, every_file: bool) -> IntegrityReport:
    """Look at everything that the warehouse holds, and say what is damaged. `every_file`: not a few of each table."""
    return check_integrity(context.control, context.warehouse, every_file=every_file)


def check_tables(context: Context) -> int:
    """Look at the logs of all versions' tables, shown or not: how many there are. Raises StateError, which names those
    that are damaged."""
    return check_logs(context.control, context.warehouse)
