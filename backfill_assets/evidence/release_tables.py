"""Are the pointers and commits that a release's packet names still there, with the rows that it states? No Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer, pointer_from_json
from backfill_assets.core.segments import Segment
from backfill_assets.evidence.tables import SHOWN
from backfill_assets.state.table_contents import difference
from backfill_assets.state.tables import TableLog, TableStorage
from backfill_assets.state.view_types import two_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The version tables of a warehouse: their logs, and the files in their folders."""

    log: TableLog
    storage: TableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """What was looked at, and all that is not as the packet says."""

    problems: tuple[str, ...] = ()
    tables: int = 0
    data_files: int = 0


def look_at_pointers(said: Mapping[str, Any], tables: Tables) -> Pointed:
    """Hold what the packet (`release.json`) says that is shown since against the tables' logs and the sizes of files.

    A commit that is gone, rows in another number, a file that is away or of another size, a batch that is another, a
    column whose rows cannot have the type of its view.
    What the release showed before is not looked at: it may have been removed since.
    """
    problems: list[str] = []
    seen: set[tuple[str, str]] = set()
    files = 0
    for model in said["models"]:
        if model["after"] is None:
            continue
        pointer = pointer_from_json(json.dumps(model["after"]))
        problems += [f"{pointer.model} cannot be read: {each} {each.intervals}" for each in two_types(pointer)]
        for segment in pointer.segments:
            found, count = _segment(pointer, segment, tables)
            problems += found
            files += count
            seen.add((pointer.model, segment.version))
        problems += _batches(model, tables.log)
    return Pointed(problems=tuple(dict.fromkeys(problems)), tables=len(seen), data_files=files)


def _segment(pointer: Pointer, segment: Segment, tables: Tables) -> tuple[list[str], int]:
    where = f"{pointer.model}/{segment.version}"
    try:
        there = tables.log.contents(pointer.model, segment.version, segment.commit)
    except StateError as error:
        why = error.why or error.what
        return [f"{where} cannot be read at commit {segment.commit}, which shows {segment.interval}: {why}"], 0
    problems: list[str] = []
    if why := difference(segment, there):
        problems.append(f"{where} at commit {segment.commit} has {why}")
    found = tables.storage.readable(pointer.model, segment.version, segment.commit, segment.interval, footers=False)
    problems += [f"{where}: {what}" for what in found.broken[:SHOWN]]
    more = len(found.broken) - SHOWN
    return [*problems, *([f"and {more:,} more files of {where}"] if more > 0 else [])], found.files


def _batches(model: Mapping[str, Any], log: TableLog) -> list[str]:
    """The batches that the packet names and that are not in the commits that it names; of tables that are there."""
    problems: list[str] = []
    name = model["model"]
    for version in dict.fromkeys(b["version"] for b in model["batches"]):
        try:
            commits = (
                {c.table_commit: c.batch for c in log.commits(name, version)} if log.head(name, version) >= 0 else {}
            )
        except StateError:  # said of its segments
            continue
        for batch in model["batches"]:
            found = commits.get(batch["commit"])
            if batch["version"] != version or not commits or found == batch["batch"]:
                continue
            is_ = "gone" if found is None else f"another: {found or 'something else than this system wrote it'}"
            problems.append(f"commit {batch['commit']} of {name}/{version}, batch {batch['batch']}, is {is_}")
    return problems
