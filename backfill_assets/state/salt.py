"""What are masked values hashed with? A secret of the warehouse: who may read it may read the data as well."""

from __future__ import annotations

import secrets
from typing import cast

from backfill_assets.core.errors import ConflictError
from backfill_assets.state.store import Records, TableSpec

SALT = TableSpec(name="salt", columns={"name": "text", "value": "text"}, secret=True)
_NAME = "mask"


class Salt(Records):
    """The table of one row."""

    spec = SALT

    def get(self) -> bytes:
        """The salt; the first call makes it."""
        while True:
            rows, revision = self._table.read_at({"name": [_NAME]})
            if rows:
                return bytes.fromhex(cast(str, rows[0]["value"]))
            row = {"name": _NAME, "value": secrets.token_hex(32)}
            try:
                self._table.replace([row], where={"name": [_NAME]}, revision=revision, note={})
            except ConflictError:
                continue  # somebody else made it at this moment
