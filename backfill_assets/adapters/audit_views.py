"""How does Spark see what audits look at? The judged rows at their commit, and frozen tables beside them, as views."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from backfill_assets.adapters.inputs import check_pin, input_frame, model_frame, range_query
from backfill_assets.adapters.table_log import rows_within
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.audits.reads import texts
from backfill_assets.audits.relations import AuditedTable, Row
from backfill_assets.build.engine import AuditReads, Job, ShownModel, SourceInput
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Audit, Model
from backfill_assets.core.segments import Segments
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.sql.parsing import splice
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_PARTS = 50
"""Ranges that a filter names one by one. Of more, the whole span is read: what was not asked for is left out later."""


class AuditViews:
    """Relations over one session: temporary views, made when they are first asked for, dropped together."""

    def __init__(
        self, spark: SparkSession, warehouse: str, job: Job, commit: int, intervals: Ranges, reads: AuditReads
    ) -> None:
        self._spark, self._warehouse, self._job, self._commit = spark, warehouse, job, commit
        self._intervals, self._reads = intervals, reads
        span = intervals.span
        assert span is not None
        self._span = span
        self._made: list[str] = []
        self._tables: dict[str, AuditedTable] = {}

    def rows(self) -> str:
        return self._rows().view

    def columns(self) -> Sequence[str]:
        return self._rows().columns

    def _rows(self) -> AuditedTable:
        parts = list(self._intervals)
        return self._once("rows", lambda: self._rows_of(parts if len(parts) <= MOST_PARTS else [self._span]))

    def count(self) -> int:
        path = table_path(self._warehouse, self._job.model.name, self._job.version)
        return rows_within(path, self._commit, self._span)

    def shown(self) -> AuditedTable | None:
        return self._once("shown", lambda: self._own(self._reads.shown)) if self._reads.shown else None

    def around(self) -> AuditedTable | None:
        return self._once("around", lambda: self._own(self._reads.around)) if self._reads.around else None

    def whole(self) -> AuditedTable:
        own = Segments.of_table(self._job.version, self._commit, [ALL_TIME])
        covers = self._reads.built | self._job.beside.covers
        return self._once("whole", lambda: self._own(self._job.beside.over(own), covers))

    def table(self, name: str) -> AuditedTable:
        return self._once(f"table {name}", lambda: self._other(self._reads.tables[name]))

    def failures(self, audit: Audit, part: Interval) -> AuditedTable:
        model = self._job.model
        own = self.rows() if part == self._span else self._rows_of([part]).view
        reads = texts(audit.arguments["reads"])
        views = {name.lower(): own if name == model.name else self.table(name).view for name in reads}
        query = splice(str(audit.arguments["query"]), views)
        return self._view(range_query(self._spark, query, model, part))

    def ask(self, query: str) -> Sequence[Row]:
        return [row.asDict() for row in self._spark.sql(query).collect()]

    def drop(self) -> None:
        """Forget the views."""
        for view in self._made:
            self._spark.catalog.dropTempView(view)

    def _once(self, name: str, make: Callable[[], AuditedTable]) -> AuditedTable:
        if name not in self._tables:
            self._tables[name] = make()
        return self._tables[name]

    def _rows_of(self, parts: Sequence[Interval]) -> AuditedTable:
        path = table_path(self._warehouse, self._job.model.name, self._job.version)
        frame = self._spark.read.format("delta").option("versionAsOf", self._commit).load(path)
        return self._view(frame.where(in_interval(self._job.model, *parts)))

    def _own(self, segments: Segments, covers: Ranges | None = None) -> AuditedTable:
        frame = model_frame(self._spark, self._warehouse, self._job.model, segments)
        return self._of_model(frame, self._job.model, segments.covers if covers is None else covers)

    def _other(self, read: ShownModel | SourceInput) -> AuditedTable:
        match read:
            case ShownModel():
                frame = model_frame(self._spark, self._warehouse, read.model, read.segments)
                return self._of_model(frame, read.model, read.segments.covers | read.empty, read.model.mask)
            case SourceInput():
                check_pin(read)
                frame = input_frame(self._spark, self._warehouse, read)
                at = read.source.time_column or ""
                kinds = {f.name.lower(): f.dataType.typeName() for f in frame.schema.fields}
                return self._view(frame, at, dates=kinds.get(at.lower()) == "date", mask=read.source.mask)

    def _of_model(self, frame: DataFrame, model: Model, covers: Ranges, mask: Sequence[str] = ()) -> AuditedTable:
        return self._view(frame, model.time_column, dates=model.cadence is not Cadence.HOURLY, covers=covers, mask=mask)

    def _view(
        self,
        frame: DataFrame,
        time_column: str = "",
        *,
        dates: bool = False,
        covers: Ranges | None = None,
        mask: Sequence[str] = (),
    ) -> AuditedTable:
        name = f"audit_{threading.get_ident()}_{id(self)}_{len(self._made)}"
        frame.createOrReplaceTempView(name)
        self._made.append(name)
        columns = tuple(c.lower() for c in frame.columns)
        masked = frozenset(c.lower() for c in mask)
        return AuditedTable(
            view=name, columns=columns, time_column=time_column, dates=dates, covers=covers, mask=masked
        )
