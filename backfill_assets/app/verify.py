"""Is a packet, and are the tables that it names, as they were when it was written?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.adapters.table_files import DeltaTableFiles
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import evidence_folder, is_release, release_folder
from backfill_assets.evidence.release_tables import Tables
from backfill_assets.evidence.verify import Verification, verify
from backfill_assets.evidence.write import MANIFEST
from backfill_assets.promote.lifecycle import named_or_newest_plan
from backfill_assets.state.releases import find_release


def verify_packet(target: str | None, open_context: Callable[[], Context]) -> Verification:
    """Verify a folder, with nothing but it where no warehouse is around it; or else a plan (None: the newest one) or a
    release of the project, which is opened only then."""
    if target is not None and _is_folder(target):
        return _verify_folder(target)
    context = open_context()
    if target is not None and is_release(context, target):
        release = find_release(context.control.releases.all(context.environment), target)
        digest, tables = release.evidence.get(release.id, ""), _tables_of(context.warehouse)
        found = verify(release_folder(context, release.id), None, pointed=tables, expected=digest)
        return _with_removals(context, found)
    record = named_or_newest_plan(context.control, target)
    folder, expected = evidence_folder(context, record)
    found = verify(folder, DeltaTableFiles(context.warehouse), expected=expected, genuine=not_genuine)
    return _with_removals(context, found)


def _with_removals(context: Context, found: Verification) -> Verification:
    """What the janitor did of all that is not as it was."""
    if found.ok:
        return found
    told = "\n".join(found.problems)
    removed = [
        f"{r.model}/{r.version} was removed by the janitor at {r.at:%Y-%m-%d %H:%M} UTC, as nothing showed it any more"
        for r in context.control.removals.all().values()
        if re.search(rf"\b{re.escape(f'{r.model}/{r.version}')}(?!\.?\w)", told)
    ]
    return replace(found, removed=tuple(removed))


def _is_folder(target: str) -> bool:
    return Path(target, MANIFEST).exists() or Path(target).is_dir() or "/" in target


def _verify_folder(target: str) -> Verification:
    folder = Path(target).resolve() if "://" not in target else None
    warehouse = folder.parent.parent if folder else None
    at_home = warehouse is not None and (warehouse / "_control").is_dir()
    tables = DeltaTableFiles(str(warehouse)) if at_home else None
    pointed = _tables_of(str(warehouse)) if at_home else None
    return verify(ArrowFolder(str(folder or target)), tables, pointed=pointed, genuine=not_genuine)


def _tables_of(warehouse: str) -> Tables:
    return Tables(log=DeltaTableLog(warehouse), storage=DeltaTableStorage(warehouse))
