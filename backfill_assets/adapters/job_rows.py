"""What are a job's rows, before anything computes them? A session for each model, its inputs as views, its function."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.commit_log import WRITER, check_log_store
from backfill_assets.adapters.few_rows import FEW, interpret, reads_few
from backfill_assets.adapters.heartbeat import process_token
from backfill_assets.adapters.inputs import check_pin, input_frame, range_query, renamed_frame
from backfill_assets.adapters.merge import marked
from backfill_assets.adapters.model_code import load_function
from backfill_assets.adapters.returned import frame_of
from backfill_assets.adapters.scoped_rows import keys_frame
from backfill_assets.adapters.source_keys import SourceKeys
from backfill_assets.adapters.spark_errors import QueryError
from backfill_assets.adapters.version_table import check_columns, in_interval
from backfill_assets.build.engine import Job, ModelInput, SourceInput
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments
from backfill_assets.plan.missing import read_window
from backfill_assets.project.object_store import is_s3
from backfill_assets.project.spark_settings import of_a_version
from backfill_assets.sql.parsing import splice
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


class JobRows:
    """The rows of jobs, over one Spark session. Each model gets a session of its own for its settings and temporary
    views."""

    def __init__(self, spark: SparkSession, *, warehouse: str, root: Path) -> None:
        self._spark, self._warehouse, self._root = spark, warehouse, root
        self._sessions: dict[str, SparkSession] = {}
        self._compiling: dict[str, Mapping[str, str]] = {}
        self._modules: dict[str, Callable[..., Any]] = {}
        self._views: dict[tuple[int, str], threading.Lock] = {}
        self._lock = threading.Lock()
        self._keys = SourceKeys(warehouse)

    def of(self, job: Job, interval: Interval) -> DataFrame:
        """The rows of the interval, not computed yet. What the job reads has the keys that are declared."""
        spark, model = self.session(job), job.model
        self.check_keys(job)
        if model.language == "sql":
            # Together: a first look at a Delta table costs a cold JVM more than a second, and it is one thread's work.
            with ThreadPoolExecutor(max(1, len(job.inputs))) as pool:
                names = pool.map(lambda item: self._input_view(spark, *item), job.inputs.items())
                views = dict(zip(map(str.lower, job.inputs), names, strict=True))
            with in_query(model):
                return range_query(spark, splice(model.code, views), model, interval)
        arguments: dict[str, Any] = {"interval": interval}
        for upstream in model.upstreams:
            read = job.inputs[upstream.name]
            frame = input_frame(spark, self._warehouse, read)
            if isinstance(read, ModelInput):
                window = read_window(model, read.model, interval)
                frame = frame.where(in_interval(read.model, window) if window else "false")
            arguments[upstream.parameter or upstream.name] = frame
        return frame_of(self._function(job)(**arguments), model, self._root)

    def checked(self, job: Job, interval: Interval) -> DataFrame:
        """The same, with the columns of the version's table: else BuildError."""
        frame = marked(self.of(job, interval), job.model)
        with in_query(job.model):
            schema = frame.schema
        check_columns(job, schema, self.location(job), interval)
        return frame

    def shown(self, job: Job, interval: Interval) -> DataFrame:
        """The interval's rows as they are shown, with the columns of the version's table."""
        same = [(name.lower(), name.lower()) for name in self._table(job).schema.names]
        try:
            return self.renamed(job, job.below.cut(Ranges((interval,))), same)
        except BuildError as error:
            error.fix = error.fix or "restate these days whole"
            raise

    def renamed(self, job: Job, segments: Segments, columns: Sequence[tuple[str, str]]) -> DataFrame:
        """Rows of other tables with the columns of the version's; `columns`: their names, old and new."""
        return renamed_frame(self.session(job), self._warehouse, job.model, segments, columns, self._table(job).schema)

    def keys_of(self, job: Job) -> DataFrame | None:
        """The keys of the job's scope, where it is one of keys."""
        if job.scope is None or job.ids is None:
            return None
        return keys_frame(self.session(job), job.ids, job.scope, self._table(job).schema)

    def check_keys(self, job: Job) -> None:
        """Raise DataError where a source that the job reads has a declared key twice."""
        for read in job.inputs.values():
            self._keys.check(self.session(job), read)

    def session(self, job: Job) -> SparkSession:
        """The session that computes the job."""
        key = _session_key(job)
        with self._lock:
            if key not in self._sessions:
                session = self._spark.newSession()
                if reads_few(job, self._warehouse):
                    self._compiling[key] = interpret(session)
                for name, value in of_a_version(job.model.spark).items():
                    session.conf.set(name, value)
                # A batch without rows, over none, and a merge that changes nothing are commits as well: the ledger
                # finds each batch by its commit.
                session.conf.set("spark.databricks.delta.skipRecordingEmptyCommits", "false")
                if is_s3(self._warehouse):
                    check_log_store(session, self._warehouse)
                    session.conf.set(WRITER, process_token())  # the log store looks for it before each commit
                self._sessions[key] = session
            return self._sessions[key]

    def made(self, job: Job, rows: int) -> None:
        """Compile what a job's session asks from now on, where few rows became many."""
        if rows <= FEW:
            return
        key = _session_key(job)
        with self._lock:
            if (before := self._compiling.pop(key, None)) is not None:
                for name, value in {**before, **of_a_version(job.model.spark)}.items():
                    self._sessions[key].conf.set(name, value)

    def _table(self, job: Job) -> DataFrame:
        return self.session(job).read.format("delta").load(self.location(job))

    def _input_view(self, spark: SparkSession, name: str, read: ModelInput | SourceInput) -> str:
        if isinstance(read, ModelInput):
            at = digest(read.version, str(read.commit), *map(str, read.over))
        else:
            at = read.pin.get("commit", read.pin.get("files", "now"))
            if "table" in read.pin:
                at = f"{at}_{digest(read.pin['table'])[:8]}"
        view = f"{name.replace('.', '_')}__at_{at}"
        with self._lock:
            made = self._views.setdefault((id(spark), view), threading.Lock())
        with made:  # reading a snapshot takes seconds: others wait only for the view that they want
            if not spark.catalog.tableExists(view):
                frame = input_frame(spark, self._warehouse, read)
                check_pin(read)  # a view of files of which one was away for a moment would be read for good
                frame.createOrReplaceTempView(view)
        return view

    def _function(self, job: Job) -> Callable[..., Any]:
        """The model's function, from its file's text as the project was loaded: what the fingerprint is of."""
        model = job.model
        with self._lock:
            # A published version's stored code may be loaded beside the project's.
            key = digest(model.name, model.code, dict(model.files))
            if key not in self._modules:
                self._modules[key] = load_function(model, self._root)
            return self._modules[key]

    def cancel(self) -> None:
        for spark in tuple(self._sessions.values()):
            with suppress(Exception):  # a JVM that is gone has nothing to interrupt
                spark.interruptAll()

    def location(self, job: Job) -> str:
        return table_path(self._warehouse, job.model.name, job.version)


def _session_key(job: Job) -> str:
    # A tag is known to the thread that set it only, so another one can interrupt no less than a whole session:
    # batches that have a timeout have a session each. A MERGE takes its commit's metadata from its session.
    alone = job.model.timeout is not None or job.model.write == "merge"
    return f"{job.model.name}/{threading.get_ident()}" if alone else job.model.name


@contextmanager
def in_query(model: Model) -> Generator[None]:
    """What Spark says here of a model of SQL is about its query."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if model.language != "sql":
            raise
        raise QueryError(error) from error
