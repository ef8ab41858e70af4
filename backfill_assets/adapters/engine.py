"""How does Spark compute a batch? Frozen inputs in, one `replaceWhere` commit out, audits at exactly that commit."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from backfill_assets.adapters.alone import one_alone
from backfill_assets.adapters.audit_views import AuditViews
from backfill_assets.adapters.batch_rows import column, needs_keys, settled
from backfill_assets.adapters.checksums import differing
from backfill_assets.adapters.durable import sync_commits
from backfill_assets.adapters.inputs import check_pins, model_frame
from backfill_assets.adapters.job_rows import JobRows, in_query
from backfill_assets.adapters.jvm import current_jvm
from backfill_assets.adapters.lost_rows import without_lost
from backfill_assets.adapters.merge import carry, marked, merge
from backfill_assets.adapters.scoped_rows import changed_outside, scoped_rows
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.spark_errors import (
    PythonCode,
    QueryError,
    QueryPlace,
    as_build_error,
    died,
    own_code_error,
)
from backfill_assets.adapters.table_log import (
    DeltaTableLog,
    batch_metadata,
    data_commit,
    history,
    open_table,
    rows_within,
)
from backfill_assets.adapters.version_table import create_version_table, in_interval
from backfill_assets.audits.counts import Counts
from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import scan_audits
from backfill_assets.build.engine import AuditReads, Job, OneAlone, SourceInput
from backfill_assets.core.errors import BackfillError, DataError, TransientBuildError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import NO_ROWS, Segments, logic_of
from backfill_assets.state.tables import DataCommit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkEngine:
    """An Engine over one Spark session."""

    def __init__(self, spark: SparkSession, *, warehouse: str, root: Path) -> None:
        self._spark, self._warehouse, self._root = spark, warehouse, root
        self._rows = JobRows(spark, warehouse=warehouse, root=root)
        self._jvm = spark if is_remote(spark) else current_jvm()

    def prepare(self, job: Job, sample: Interval) -> tuple[tuple[str, str], ...]:
        with self._errors(f"prepare {job.model.name}", job):
            frame = marked(self._rows.of(job, sample), job.model)
            with in_query(job.model):  # a remote session looks into the query no earlier
                schema = frame.schema
            first = job.version == logic_of(job.version)  # a revision is another table of what was there before
            return create_version_table(job, schema, self._rows.location(job), promised=first)

    def write(self, job: Job, batch: str, interval: Interval) -> DataCommit:
        model = job.model
        with self._errors(f"build {model.name} {interval}", job, ran=True), self._limited(job, batch, interval):
            check_pins(job)
            frame = self._rows.checked(job, interval)
            if job.taken:
                frame = frame.where(job.taken)
            if job.scope:
                frame = scoped_rows(frame, self._rows.shown(job, interval), model, job.scope, self._rows.keys_of(job))
            if needs_keys(model):
                with settled(frame, model, interval) as (rows, count):
                    self._write_rows(job, batch, interval, rows, count)
            else:
                self._replace(job, batch, interval, frame)
            check_pins(job)
            self._rows.check_keys(job)  # again: a source that is not frozen may have changed
        commit = self._commit_of(job, batch)
        self._rows.made(job, commit.rows)
        if job.scope:
            self._check_scope(job, commit.table_commit, interval)
        if commit.changes is None:
            return commit
        return replace(commit, rows=self._count(job, commit.table_commit, interval))

    def one_alone(self, job: Job, commit: int, interval: Interval) -> OneAlone | None:
        doing = f"compute one of {job.model.name} {interval} by itself"
        with self._errors(doing, job), self._limited(job, "alone", interval):
            return one_alone(self._rows, job, self._warehouse, commit, interval)

    def copy(self, job: Job, batch: str, segments: Segments) -> DataCommit:
        span = segments.covers.span
        assert span is not None
        with self._errors(f"copy {job.model.name} {span}", job):
            frame = model_frame(self._rows.session(job), self._warehouse, job.model, segments)
            create_version_table(job, frame.schema, self._rows.location(job))
            self._replace(job, batch, span, frame)
        return self._commit_of(job, batch)

    def copy_renamed(
        self, job: Job, batch: str, interval: Interval, segments: Segments, columns: Sequence[tuple[str, str]]
    ) -> DataCommit:
        doing = f"copy {job.model.name} {interval}"
        with self._errors(doing, job), self._limited(job, batch, interval):
            self._replace(job, batch, interval, self._rows.renamed(job, segments, columns))
        return self._commit_of(job, batch)

    def _check_scope(self, job: Job, commit: int, interval: Interval) -> None:
        """Compare what was committed outside of the job's scope with what is shown."""
        assert job.scope is not None
        with self._errors(f"compare {job.model.name} {interval}", job):
            own = Segments.of_table(job.version, commit, [interval])
            written = model_frame(self._rows.session(job), self._warehouse, job.model, own)
            shown = self._rows.shown(job, interval)
            changed = changed_outside(written, shown, job.model, job.scope, self._rows.keys_of(job))
        if changed:
            raise DataError(
                f"cannot build {job.model.name} {interval}",
                why=f"rows that do not match {job.scope.where} are not those that are shown any more, in "
                f"{', '.join(changed)}: nothing of this batch is published",
                fix="run it again; if it stays so, restate the days whole",
            )

    def _replace(self, job: Job, batch: str, interval: Interval, frame: DataFrame) -> None:
        """Commit the rows in place of the interval's."""
        # A task per day or a few: else each task leaves a file in each day. Rebalance splits a day that is too big.
        (
            frame.hint("rebalance", column(job.model.time_column))
            .write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", in_interval(job.model, interval))
            .option("userMetadata", batch_metadata(batch, interval))
            .save(self._rows.location(job))
        )

    def _write_rows(self, job: Job, batch: str, interval: Interval, rows: DataFrame, count: int) -> None:
        """Commit rows that are one a key, as the model says."""
        model, spark, location = job.model, self._rows.session(job), self._rows.location(job)
        table = open_table(location)
        assert table is not None
        head = table.version()
        empty = not self._count(job, head, interval)
        if model.updated_at is not None:
            others = job.shown.in_other_tables(job.version).cut(Ranges((interval,)))
            own = Segments.of_table(job.version, head, [interval])  # a merge leaves these as they are
            for known in (others, NO_ROWS if empty or model.write == "merge" else own):
                if there := without_lost(self._warehouse, model, known):
                    rows = carry(rows, model_frame(spark, self._warehouse, model, there), model)
        if model.write == "replace":
            self._replace(job, batch, interval, rows)
            return
        merge(spark, rows, model, location, interval, batch_metadata(batch, interval), head=head, empty=empty)
        commit = self._commit_of(job, batch)
        # What differs was found at `head`. If somebody wrote the interval since, or wrote a key twice, a merge of that
        # does not end in the batch's rows. Replacing does.
        if (
            self._meanwhile(job, interval, head, commit.table_commit)
            or self._count(job, commit.table_commit, interval) != count
        ):
            self._replace(job, batch, interval, rows)

    def _meanwhile(self, job: Job, interval: Interval, after: int, before: int) -> bool:
        """Whether a commit between these two may have changed rows of the interval."""
        return before > after + 1 and any(
            c.interval is None or Ranges((c.interval,)) & Ranges((interval,))
            for c in DeltaTableLog(self._warehouse).commits(job.model.name, job.version)
            if after < c.table_commit < before
        )

    def _count(self, job: Job, commit: int, interval: Interval) -> int:
        return rows_within(self._rows.location(job), commit, interval)

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Mapping[datetime, Counts]:
        with (
            self._errors(f"audit {job.model.name} {intervals.span}", job, reads),
            self._views_of(job, commit, intervals, reads) as views,
        ):
            return scan_audits(job.model, intervals, views)

    def sample(
        self, job: Job, commit: int, intervals: Ranges, reads: AuditReads, audit: str
    ) -> Mapping[datetime, Sequence[str]]:
        declared = next(a for a in job.model.audits if a.name == audit)
        with (
            self._errors(f"sample {job.model.name} {intervals.span}", job, reads),
            self._views_of(job, commit, intervals, reads) as views,
        ):
            return sample_failures(job.model, declared, intervals, views)

    def differing(
        self,
        model: Model,
        columns: Sequence[str],
        shown: Segments,
        built: Segments,
        before: Mapping[str, str] = MappingProxyType({}),
    ) -> Ranges:
        with self._told(f"compare versions of {model.name}", model, masked=bool(model.mask)):
            return differing(self._spark, self._warehouse, model, columns, shown, built, before)

    def cancel(self) -> None:
        with suppress(Exception):  # a JVM that is gone has nothing to interrupt
            self._spark.interruptAll()
        self._rows.cancel()

    @contextmanager
    def _views_of(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Generator[AuditViews]:
        """The table's rows of these intervals at a commit, and what audits look at beside them, as temporary views."""
        views = AuditViews(self._rows.session(job), self._warehouse, job, commit, intervals, reads)
        try:
            yield views
        finally:
            views.drop()

    def _commit_of(self, job: Job, batch: str) -> DataCommit:
        """The commit that the batch made. Spark does not return it; the table's log knows."""
        for limit in (20, None):
            for info in history(self._rows.location(job), limit):
                commit = data_commit(info)
                if commit.batch == batch:
                    # Before the ledger says that it is there.
                    sync_commits(self._rows.location(job), [commit.table_commit])
                    return commit
        raise TransientBuildError(
            f"cannot find the commit of {job.model.name}, batch {batch}", why="the table's log does not hold it"
        )

    @contextmanager
    def _limited(self, job: Job, batch: str, interval: Interval) -> Generator[None]:
        """Interrupt what this thread's session does when the model's timeout is over."""
        if job.model.timeout is None:
            yield
            return
        spark, over, late = self._rows.session(job), threading.Event(), threading.Event()

        def interrupt() -> None:
            if over.wait(job.model.timeout):
                return
            late.set()
            with suppress(Exception):
                spark.interruptAll()
            while not over.wait(1):  # between two jobs of a batch there is nothing to interrupt
                with suppress(Exception):
                    spark.interruptAll()

        threading.Thread(target=interrupt, name=f"timeout-{batch}", daemon=True).start()
        try:
            yield
        except Exception:
            if late.is_set():
                raise DataError(
                    f"cannot build {job.model.name} {interval}",
                    why=f"it took longer than the model's timeout of {timedelta(seconds=job.model.timeout)}",
                    fix="raise `timeout:` in the model's header, or lower `batch_size:`",
                ) from None
            raise
        finally:
            over.set()

    def _errors(
        self, doing: str, job: Job, reads: AuditReads | None = None, *, ran: bool = False
    ) -> AbstractContextManager[None]:
        return self._told(doing, job.model, masked=_reads_masked(job, reads), ran=ran)

    @contextmanager
    def _told(self, doing: str, model: Model, *, masked: bool, ran: bool = False) -> Generator[None]:
        """Spark's errors and those of a model's function as ours; of masked values nothing is told, nor chained. `ran`:
        the only SQL that runs in the block is the model's."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except BackfillError as error:
            raise error from (None if masked else error.__cause__)
        except (PySparkException, Py4JError, QueryError) as raised:
            refused = isinstance(raised, QueryError)
            error = raised.error if refused else raised
            place = QueryPlace(path=model.path, line=model.code_line, refused=refused)
            query = place if refused or (ran and model.language == "sql") else None
            gone = died(doing, self._jvm)
            code = self._code(model)
            found = as_build_error(error, doing, root=self._root, gone=gone, masked=masked, query=query, code=code)
            raise found from (None if masked else error)
        except Exception as error:  # a Python model's own code; or the connection to a JVM that is gone
            if (gone := died(doing, self._jvm)) is not None:
                raise gone from (None if masked else error)
            raise own_code_error(error, doing, self._code(model), masked=masked) from (None if masked else error)

    def _code(self, model: Model) -> PythonCode | None:
        if model.language == "sql":
            return None
        return PythonCode(files={model.path, *(self._root / name for name in model.files)}, root=self._root)


def _reads_masked(job: Job, reads: AuditReads | None) -> bool:
    read = [*job.inputs.values(), *(reads.tables.values() if reads else ())]
    masks = [i.source.mask if isinstance(i, SourceInput) else i.model.mask for i in read]
    return bool(job.model.mask) or any(masks)
