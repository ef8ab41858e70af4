"""Under which contract was a version promoted last? Audits and meanings change without a new version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from backfill_assets.state.store import Records, TableSpec

CONTRACTS = TableSpec(
    name="contracts",
    columns={"environment": "text", "model": "text", "version": "text", "contract": "text", "at": "time"},
)


class ContractTable(Records):
    """The append-only table of contracts that differ from those that versions were made under."""

    spec = CONTRACTS

    def read(self, environment: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The newest contract by (model, version), as it was stored; nothing where none was."""
        rows = sorted(self._table.read({"environment": [environment]}), key=lambda r: cast(datetime, r["at"]))
        return {(cast(str, r["model"]), cast(str, r["version"])): json.loads(cast(str, r["contract"])) for r in rows}

    def append(
        self, environment: str, contracts: Mapping[tuple[str, str], Mapping[str, object]], *, at: datetime
    ) -> None:
        """Record contracts by (model, version), all in one commit."""
        if contracts:
            self._table.append(
                [
                    {
                        "environment": environment,
                        "model": model,
                        "version": version,
                        "contract": json.dumps(contract, sort_keys=True),
                        "at": at,
                    }
                    for (model, version), contract in contracts.items()
                ]
            )
