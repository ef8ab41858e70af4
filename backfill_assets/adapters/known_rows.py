"""What did the sealed files of a ledger say? It is remembered as Arrow's own file of arrays, which is mapped, not read.

Of a ledger of years they are nearly all that there is: to decode them takes a second a command.
"""

from __future__ import annotations

import json
import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backfill_assets.files.cache_files import open_private, replacing_private
from backfill_assets.state.entries import Kind
from backfill_assets.state.ledger_rows import LedgerRows, VersionRows

_FORMAT = 1
_SAID = b"backfill"
_TYPES = {
    "start": "int64", "end": "int64", "number": "int64", "rows": "int64", "batch": "int64", "commit": "int32",
    "audits": "int32", "kind": "int8", "partial": "int8",
}  # fmt: skip
"""Of the arrays of rows."""


@dataclass(frozen=True, slots=True)
class KnownRowsFile:
    """A KnownRows in one file, of a folder of the project's cache."""

    file: Path

    def read(self, name: str) -> LedgerRows | None:
        import numpy as np
        import pyarrow as pa

        with suppress(OSError, ValueError, KeyError, TypeError, pa.ArrowException):  # none, or another release's
            with open_private(self.file) as opened:
                mapped = pa.py_buffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
            [part] = pa.ipc.open_file(mapped).read_all().to_batches()
            said: dict[str, Any] = json.loads((part.schema.metadata or {})[_SAID])
            if (said["format"], said["name"], said["kinds"]) == (_FORMAT, name, [*Kind]):
                arrays = {name: np.frombuffer(part.column(name).buffers()[1], kind) for name, kind in _TYPES.items()}
                return LedgerRows(
                    rows=VersionRows(**arrays),
                    places={(model, version): (first, last) for model, version, first, last in said["versions"]},
                    audits=tuple(said["audits"]),
                    last=int(said["last"]),
                )
        return None

    def keep(self, name: str, rows: LedgerRows) -> None:
        import pyarrow as pa

        said = {
            "format": _FORMAT,
            "name": name,
            "kinds": [*Kind],
            "audits": rows.audits,
            "last": rows.last,
            "versions": [[*key, *places] for key, places in rows.places.items()],
        }
        arrays = {name: pa.py_buffer(getattr(rows.rows, name)) for name in _TYPES}
        types = {name: pa.type_for_alias(kind) for name, kind in _TYPES.items()}
        parts = {n: pa.Array.from_buffers(types[n], len(rows.rows), [None, each]) for n, each in arrays.items()}
        table = pa.table(parts).replace_schema_metadata({_SAID: json.dumps(said)})
        with (
            suppress(OSError),
            replacing_private(self.file) as file,
        ):  # a disk that is full, a folder of somebody else's
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=len(rows.rows) or 1)  # one part: arrays are mapped as they are
            file.flush()
            os.fsync(file.fileno())  # half of it would not be noticed
