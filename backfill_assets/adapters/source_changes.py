"""What changed a source, and of which time are the rows that it touched? Logs, statistics and file times: no JVM.

A Delta table says it itself: each commit's log entry names the files that it added and removed, and whether that
changed rows (`dataChange`: compaction does not). Its partition value or its statistics say what a file may hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast
from urllib.parse import unquote

from backfill_assets.adapters.known_days import KnownDays
from backfill_assets.adapters.log_entry import flaw
from backfill_assets.adapters.mapped_columns import other_columns, physical_names
from backfill_assets.adapters.parquet_footer import parquet_footer
from backfill_assets.adapters.source_days import (
    MOST_FILES,
    days_of_files,
    delta_days,
    physical_name,
    source_days,
    value_span,
)
from backfill_assets.adapters.source_files import SourceFile, can_list, files_at
from backfill_assets.adapters.source_pins import digest_of, placed_digest_of
from backfill_assets.adapters.source_ready import ready_until
from backfill_assets.adapters.source_table import source_table
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import LATEST, NOTHING, Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Source
from backfill_assets.plan.source_history import SourceChange, SourceHistory
from backfill_assets.project.object_store import arrow_path, reaching


class SourceChanges:
    """A SourceReader that looks at the tables and files themselves; not again into those whose days are `known`."""

    def __init__(self, known: KnownDays | None = None) -> None:
        self._known = known

    def history(self, source: Source, since: int) -> SourceHistory:
        if source.path is None:
            return SourceHistory(unwatched=f"{source.table} is a catalog table, read as it is")
        if source.format == "delta":
            return _delta(source, source.path, since)
        if not can_list(source.path):
            return SourceHistory(unwatched=f"{source.format} files in an object store are read as they are")
        return _files(source, source.path, self._known)

    def newest(self, source: Source) -> datetime | None:
        days = source_days(source, {}, self._known)
        end = days.span.end if days and days.span else LATEST
        return end if end < LATEST else None  # `9999-12-31` says nothing of how old the rows are

    def ready_until(self, source: Source) -> datetime | None:
        return ready_until(source, source.ready, source_days(source, {}, self._known)) if source.ready else None


def _delta(source: Source, path: str, since: int) -> SourceHistory:
    """The commits after `since` that changed rows, as far as the log reaches back."""
    table = source_table(source)
    if table is None:
        return SourceHistory(unwatched=f"there is no Delta table at {path}")
    head, log = table.version(), _Log(path)
    known = head  # every commit after this one has a log entry
    raw: list[tuple[int, list[dict[str, Any]]]] = []
    while known > since and (actions := log.actions(known)) is not None:
        raw.append((known, actions))
        known -= 1
    raw.reverse()
    reader = _Spans(source, path, table, known)
    changes: list[SourceChange] = []
    described = [(number, a["metaData"]) for number, actions in raw for a in actions if "metaData" in a]
    first = _first(path, known) if described else table
    renamed = _renamed(first, described) if described else {}
    for number, actions in raw:
        touched, coarse = reader.commit(actions)
        if number in renamed:
            changes.append(SourceChange(name=f"commit {number} ({renamed[number]})", commit=number, touches=None))
        elif touched != NOTHING:
            changes.append(SourceChange(name=f"commit {number}", commit=number, touches=touched, coarse=coarse))
    tables = [(number, str(said["id"])) for number, said in described]
    if first is not None:
        tables.insert(0, (known, str(first.metadata().id)))
    return SourceHistory(changes=changes, since=known, head=head, tables=tables)


def _first(path: str, known: int) -> Any:
    """The table as it was before what its log tells; None where nobody can say."""
    with suppress(StateError):
        return open_table(path, known) if known >= 0 else None
    return None


def _renamed(first: Any, described: Sequence[tuple[int, Mapping[str, Any]]]) -> dict[int, str]:
    """By commit, which names are of other columns from then on: a rename, or a drop before it, changes no file. Files
    that are written anew, as where the table maps no more, have the same columns by other names."""
    names = physical_names(json.loads(first.schema().to_json())) if first is not None else {}
    found: dict[int, str] = {}
    for number, said in described:
        now = physical_names(json.loads(said["schemaString"]))
        mapped = (said.get("configuration") or {}).get("delta.columnMapping.mode", "none") != "none"
        if mapped and (others := other_columns(names, now)):
            found[number] = f"another column is called {', '.join(others)}"
        names |= now
    return found


@dataclass(slots=True)
class _Log:
    """The JSON files of a table's log."""

    location: str

    def actions(self, commit: int) -> list[dict[str, Any]] | None:
        """The actions of a commit; None when its file is gone (the log is cleaned up after 30 days by default).

        Or damaged: where a checkpoint follows it, the table can be read all the same.
        """
        system, root = arrow_path(self.location)
        try:
            with reaching(self.location), system.open_input_stream(f"{root}/_delta_log/{commit:020}.json") as file:
                content = file.readall()
        except FileNotFoundError:
            return None
        if flaw(content, commit):
            return None
        return [json.loads(line) for line in content.splitlines() if line.strip()]


class _Spans:
    """Says of which time the files of commits may hold rows. Commits have to be asked for in their order."""

    def __init__(self, source: Source, path: str, table: Any, before: int) -> None:
        self._path, self._before = path, before
        self._time_column = source.time_column
        self._column = physical_name(table, source.time_column) if source.time_column else None
        self._seen: dict[str, Ranges | None] = {}
        self._older: Mapping[str, Ranges | None] | None = None

    def commit(self, actions: list[dict[str, Any]]) -> tuple[Ranges | None, bool]:
        """What a commit touched; None when one of its files does not say, nothing when it changed no rows. And whether
        a file of it is of several days."""
        found: list[Ranges | None] = []
        for action in actions:
            if (add := action.get("add")) is not None:
                said = self._said(add)
                self._seen[unquote(add["path"])] = said
                if add.get("dataChange", True):
                    found.append(said)
            elif (remove := action.get("remove")) is not None and remove.get("dataChange", True):
                found.append(self._removed(remove))
        said = [ranges for ranges in found if ranges is not None]
        if len(said) < len(found):
            return None, False
        return Ranges.of(i for ranges in said for i in ranges), any(map(_of_several_days, said))

    def _removed(self, remove: Mapping[str, Any]) -> Ranges | None:
        if (said := self._said(remove)) is not None:
            return said
        name = unquote(remove["path"])
        return self._seen[name] if name in self._seen else self._at_first().get(name)

    def _said(self, action: Mapping[str, Any]) -> Ranges | None:
        if self._column is None:
            return None
        parts = cast("Mapping[str, object]", action.get("partitionValues") or {})
        for name, value in parts.items():
            if name.lower() == self._column:
                return value_span(value, value)
        try:
            said = json.loads(action.get("stats") or "{}")
        except (ValueError, RecursionError):
            return None
        if not isinstance(said, dict):
            return None
        if said.get("numRecords") == 0:
            return NOTHING
        low, high = (
            next((v for n, v in (said.get(key) or {}).items() if n.lower() == self._column), None)
            for key in ("minValues", "maxValues")
        )
        return value_span(low, high)

    def _at_first(self) -> Mapping[str, Ranges | None]:
        """The files that were there before the first commit, by path: their removal does not repeat what they hold."""
        if self._older is None:
            self._older = self._snapshot()
        return self._older

    def _snapshot(self) -> dict[str, Ranges | None]:
        if self._before < 0:
            return {}
        try:
            table = open_table(self._path, self._before)
        except StateError:
            return {}
        if table is None or self._time_column is None:
            return {}
        return delta_days(table, self._time_column)


def _files(source: Source, root: str, known: KnownDays | None) -> SourceHistory:
    files = files_at(root, at_most=MOST_FILES + 1)
    if not files:
        return SourceHistory(unwatched=f"there are no files at {root}")
    if len(files) > MOST_FILES:
        return SourceHistory(unwatched=f"it has more than {MOST_FILES} files: to look at each takes too long")
    days = days_of_files(source, files, known) if source.time_column is not None else {}
    said = {file: _touched(source, file, days.get(file)) for file in files}
    changes = [
        SourceChange(name="/".join(f.inside), touches=s, at=f.written, coarse=s is not None and _of_several_days(s))
        for f, s in said.items()
    ]
    return SourceHistory(changes=changes, digests={digest_of(files), placed_digest_of(files)})


def _touched(source: Source, file: SourceFile, span: Ranges | None) -> Ranges | None:
    """The days that rows of a file are of. Where all of them are without a time nobody knows it: a query may read them
    by another column (`coalesce(at, loaded_at)`)."""
    if span is None:
        return _days_by_name(file)
    if not span and source.format == "parquet":
        footer = parquet_footer(file, source.time_column)
        return None if footer is None or footer.rows else span
    return span


def _days_by_name(file: SourceFile) -> Ranges | None:
    """By a folder or file that a day names."""
    for part in (*file.inside[:-1], file.inside[-1].split(".")[0]):
        try:
            start = utc(date.fromisoformat(part))
        except ValueError:
            continue
        return Ranges((Interval(start, start + timedelta(days=1)),))
    return None


def _of_several_days(span: Ranges) -> bool:
    return span.count(Cadence.DAILY) > 1
