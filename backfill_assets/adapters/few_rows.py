"""Of few rows, what takes a query's time? That Spark compiles it: sessions that see no more than few interpret it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from backfill_assets.adapters.source_files import can_list, files_at
from backfill_assets.adapters.table_log import open_table, table_rows
from backfill_assets.build.engine import Input, Job, ModelInput
from backfill_assets.core.errors import BackfillError
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 2_000
"""Rows that a job reads: what its query makes of them (pairs, days of a calendar) is not known."""
_ROW = 50
"""Bytes of a row in a file that does not tell how many it has."""
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


def interpret(session: SparkSession) -> Mapping[str, str]:
    """Let the session compile no queries, and exchange rows within one task; the settings that it had."""
    before = {name: str(session.conf.get(name)) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return before


def reads_few(job: Job, warehouse: str) -> bool:
    """Whether all inputs of a job together, and what is shown of its model, have few rows, as logs and the sizes of
    files tell. What nobody but Spark can look into has many, and so has what cannot be read now: whoever reads it says
    why. A job without inputs copies, or judges, any number."""
    if not job.inputs:
        return False
    try:
        return not any(rows > FEW for rows in accumulate(_rows(job, warehouse)))
    except (BackfillError, OSError):
        return False


def _rows(job: Job, warehouse: str) -> Iterator[int]:
    """Of each input, and of each table that is shown: as many as are counted only when they are asked for."""
    for read in job.inputs.values():
        yield _rows_of(read, warehouse)
    for version, commit in {(segment.version, segment.commit) for segment in job.shown}:
        yield _rows_of_table(warehouse, job.model.name, version, commit)


def _rows_of(read: Input, warehouse: str) -> int:
    if isinstance(read, ModelInput):
        return _rows_of_table(warehouse, read.model.name, read.version, read.commit)
    path = read.source.path
    if path is None or not can_list(path):
        return FEW + 1
    if read.source.format != "delta":
        return sum(file.bytes for file in files_at(path, at_most=FEW)) // _ROW
    if (table := open_table(path, int(str(read.pin["commit"])))) is None:
        return FEW + 1
    files = table.get_add_actions(flatten=True)
    names = [name for name in ("size_bytes", "num_records") if name in files.schema.names]
    return sum(_counted(*of) for of in zip(*(files.column(name).to_pylist() for name in names), strict=True))


def _rows_of_table(warehouse: str, model: str, version: str, commit: int) -> int:
    return sum(table_rows(table_path(warehouse, model, version), commit).values())


def _counted(size: int, rows: int | None = None) -> int:
    return size // _ROW if rows is None else rows
