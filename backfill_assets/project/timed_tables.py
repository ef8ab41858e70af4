"""Which of the tables that a query reads have a time column, by their names in the query?"""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.model import Column, Model, Source
from backfill_assets.project.outputs import Outputs
from backfill_assets.sql.timed_table import TimedTable


def timed_tables(
    outputs: Outputs,
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    columns: Mapping[str, tuple[Column, ...]],
) -> dict[str, TimedTable]:
    """Upstreams of a model of SQL; `columns` are those that it sees of them."""
    found: dict[str, TimedTable] = {}
    for key, name in outputs.names.items():
        model = models.get(name)
        if time := model.time_column if model else sources[name].time_column:
            cadence = model.cadence if model else None
            found[f"@{key}"] = TimedTable(time=time, columns=columns.get(name, ()), cadence=cadence)
    return found
