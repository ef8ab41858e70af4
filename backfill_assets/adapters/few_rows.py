"""Of few rows, what takes a query's time? That Spark compiles it: sessions that see no more than few interpret it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from backfill_assets.adapters.data_files import data_files
from backfill_assets.adapters.source_files import can_list, files_at
from backfill_assets.adapters.table_log import open_table, table_rows
from backfill_assets.build.engine import Input, Job, ModelInput
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.segments import Segments
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 2_000
"""Rows that a job reads: what its query makes of them (pairs, days of a calendar) is not known."""
FEW_COMPARED = 20_000
"""Rows of two sides that are compared by queries of ours, which are wide: compiling these takes longer than that."""
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


def held(warehouse: str, parts: Iterable[tuple[str, Segments]]) -> tuple[int, int]:
    """The bytes and rows of the files that hold segments of models, by their tables' logs: each file as often as it is
    read."""
    size = rows = 0
    for model, segments in parts:
        files = {
            (segment.version, file.path): (file.bytes, file.in_all)
            for segment, within in segments.tables()
            if (table := open_table(table_path(warehouse, model, segment.version), segment.commit)) is not None
            for file in data_files(table)
            if any(part.holds(file.at) for part in within)
        }
        size += sum(bytes_ for bytes_, _ in files.values())
        rows += sum(in_all for _, in_all in files.values())
    return size, rows


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
