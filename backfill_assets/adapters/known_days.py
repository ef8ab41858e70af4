"""For which time does each file of a source have rows? It is remembered, by the stamp that a pin tells a file by.

Every plan asks it of all files. To read thousands of small ones takes seconds, and of a bucket's a request each.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.core import intervals
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Source
from backfill_assets.files.cache_files import read_private, write_private

_SETTLED = timedelta(seconds=2)
"""A file that was written so lately may be written once more under the same stamp."""
_READERS = ("csv_days", "csv_header", "json_days", "parquet_footer", "source_days", "source_files", "time_texts")
"""The modules beside this one that tell the days, by `core.intervals` and pyarrow: what other code said counts for
nothing."""


@dataclass(frozen=True, slots=True)
class KnownDays:
    """What is remembered, in a folder of the project's cache: a file for each source."""

    folder: Path

    def read(self, source: Source, pattern: str | None, files: Sequence[SourceFile]) -> dict[SourceFile, Ranges]:
        """What is known of those of the files that are as they were; texts were read by this pattern."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # none, half a file
            said: dict[str, Any] = json.loads(read_private(self._file(source)))
            if said["of"] == _key(source, pattern):
                known = {file: said["files"][file.place] for file in files if file.place in said["files"]}
                return {file: _ranges(days) for file, (stamp, *days) in known.items() if stamp == file.stamp}
        return {}

    def keep(
        self, source: Source, pattern: str | None, days: Mapping[SourceFile, Ranges | None], *, began: datetime
    ) -> None:
        """Remember these, in place of what was known; not what could not be told. `began`: when they were listed."""
        settled = began - _SETTLED
        files = {
            file.place: [file.stamp, *((part.start.isoformat(), part.end.isoformat()) for part in found)]
            for file, found in days.items()
            if found is not None and file.written < settled
        }
        with suppress(OSError):  # a disk that is full, a folder of somebody else's
            write_private(self._file(source), json.dumps({"of": _key(source, pattern), "files": files}))

    def _file(self, source: Source) -> Path:
        return self.folder / f"{hashlib.sha256(source.name.encode()).hexdigest()[:32]}.json"


def _ranges(days: Sequence[Sequence[str]]) -> Ranges:
    return Ranges.of(Interval(datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in days)


def _key(source: Source, pattern: str | None) -> str:
    """Names what else than a file's content decides what is said of it."""
    read = [source.format, source.path, source.time_column, sorted(source.options.items()), pattern]
    read += [(column.name, column.type) for column in source.columns]
    pyarrow = find_spec("pyarrow")
    code = [*(str(Path(__file__).with_name(f"{name}.py")) for name in _READERS), intervals.__file__]
    code += [pyarrow.origin] if pyarrow and pyarrow.origin else []
    stamps = [(s.st_mtime_ns, s.st_size) for s in map(os.stat, code)]
    return hashlib.sha256(repr((read, stamps)).encode()).hexdigest()
