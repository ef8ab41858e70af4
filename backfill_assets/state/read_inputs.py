"""What did the batches read that made what is shown? Thousands of them, in columns: which texts say it of whom."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backfill_assets.state.columns import pairs
from backfill_assets.state.ledger import Kind, Ledger

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns, Numbers
    from backfill_assets.state.history import VersionHistory
    from backfill_assets.state.pieces import Pieces
    from backfill_assets.state.versions import VersionKey

Inputs = Mapping[str, Mapping[str, object]]
"""What was read of each upstream, as BUILT entries say it."""


@dataclass(slots=True, eq=False)
class ReadInputs:
    """The inputs of every BUILT entry of some models."""

    _said: Columns
    _rows: Mapping[VersionKey, Numbers]
    _texts: list[Inputs | None]

    @classmethod
    def of(cls, ledger: Ledger, models: Collection[str]) -> ReadInputs:
        """The recorded inputs of every BUILT entry of these models, read from the ledger."""
        import numpy as np

        where = {"kind": [Kind.BUILT.value], "model": list(models)}
        said = ledger.columns(("model", "version", "start", "end", "table_commit", "inputs"), where)
        every, told = pairs(said.texts["model"], said.texts["version"])
        order = np.argsort(every, kind="stable")
        keys, first = np.unique(every[order], return_index=True)
        rows = np.split(order, first[1:]) if len(order) else []
        found = {told(key): mine for key, mine in zip(keys.tolist(), rows, strict=True)}
        return cls(said, found, [None] * len(said.texts["inputs"].values))

    def text(self, code: int) -> Inputs:
        """What one of the texts says."""
        if (known := self._texts[code]) is None:
            known = self._texts[code] = json.loads(self._said.texts["inputs"].values[code])
        return known

    def codes(self, history: VersionHistory, pieces: Pieces) -> Numbers | None:
        """Which text says it of each of a version's pieces; None where it is not known of one."""
        import numpy as np

        rows = self._rows.get(history.key)
        if rows is None:
            return None if len(pieces) else np.zeros(0, np.int64)
        columns: Any = (self._said.numbers["end"][rows], self._said.numbers["table_commit"][rows])
        at = dict(zip(zip(*(c.tolist() for c in columns), strict=True), rows.tolist(), strict=True))
        ends, commits = history.plain.end[pieces.whole].tolist(), pieces.commit.tolist()
        places = [at.get(said, -1) for said in zip(ends, commits, strict=True)]
        return None if -1 in places else self._said.texts["inputs"].codes[np.array(places, np.int64)]

    def oldest(self, key: VersionKey) -> Iterator[tuple[str, int]]:
        """The sources of which the version's batches say the commit that they read, each with the oldest."""
        import numpy as np

        oldest: dict[str, int] = {}
        for code in np.unique(self._said.texts["inputs"].codes[self._rows[key]]).tolist() if key in self._rows else ():
            for source, said in self.text(code).items():
                commit = said.get("commit") if isinstance(said, dict) and "version" not in said else None
                if isinstance(commit, int):
                    oldest[source] = min(commit, oldest.get(source, commit))
        yield from oldest.items()
