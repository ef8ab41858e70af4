"""What does a Spark error mean for a build? Some end a batch, some a part of it, some the run; others may pass."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from backfill_assets.adapters.jvm import jvm_answers, ran_out_of_memory
from backfill_assets.adapters.session_kind import is_remote, open_remote
from backfill_assets.adapters.types_of_files import MARK, other_type
from backfill_assets.core.errors import (
    BuildError,
    DataError,
    EngineDiedError,
    EngineOutOfMemoryError,
    RunEndedError,
    SourceChangedError,
    TransientBuildError,
    WriteConflictError,
)
from backfill_assets.core.masking import hide_values
from backfill_assets.files.no_access import no_access
from backfill_assets.plan.odd_files import IN_MICROSECONDS

CONFLICTS = (
    "ConcurrentAppend",
    "ConcurrentModification",
    "ConcurrentDelete",
    "ConcurrentTransaction",
    "ConcurrentWrite",
    "DELTA_CONCURRENT",
    "MetadataChanged",
    "DELTA_METADATA_CHANGED",
)
VANISHED = ("FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND", "java.io.FileNotFoundException")
_CLOSED = re.compile(r"FileNotFoundException: (?:file:)?(/(?:(?! \()[^\n])*) \(Permission denied\)")
"""What Java says of a file that this account may not read, or make."""
PAST = ("DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION", "DELTA_VERSION_NOT_FOUND")
"""Commits that are not kept."""
DISK = ("No space left on device", "Disk quota exceeded", "Read-only file system")
STOPPED = ("SparkContext was shut down", "stopped SparkContext", "SparkContext has been shutdown")
PASSING = (
    "java.net.",
    "java.util.concurrent.TimeoutException",
    "Connection reset",
    "ExecutorLostFailure",
    "FetchFailed",
)
TAKEN_OVER = "another process has taken over"
"""What the log store says of a commit of a process whose lease is another's (adapters/log_store)."""
DEPTH = ("Max iterations (", "java.lang.StackOverflowError")
"""Of queries whose steps are built upon one another by the hundred."""
DATA_STATES = {"21", "22", "23", "38"}
"""SQLSTATE classes that are about values: cardinality, data, constraints, what user code raised."""
DATA_CLASSES = (
    "ArithmeticException",
    "NumberFormatException",
    "DateTimeException",
    "DateTimeParseException",
    "ArrayIndexOutOfBoundsException",
    "api.python.PythonException",
    "SparkUpgradeException",
)
CODE_CLASSES = ("AnalysisException", "ParseException", "UnsupportedOperationException", "IllegalArgumentException")


@dataclass(frozen=True, slots=True)
class JavaCause:
    """One exception of a chain: its Java class and its message."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlace:
    """A model's query: its file, and its first line there (0: nobody knows, as it was read from a record)."""

    path: Path
    line: int
    refused: bool = True
    """Whether Spark refused it; else it ran, and it counts only where Spark says which of its lines failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCode:
    """A Python model's code: its file and those of the project (`root`) that it imports."""

    files: Collection[Path]
    root: Path

    def place(self, error: Exception) -> str:
        """Where it raised an error, or called what did: " (models/roi.py:7, in roi)"; "" where it was not running."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) in self.files]
        if not frames:
            return ""
        return f" ({_shown(Path(frames[-1].filename), self.root)}:{frames[-1].lineno}, in {frames[-1].name})"


def avro_package() -> str:
    """Maven's name of what reads Avro, which Spark does not bring along."""
    return f"org.apache.spark:spark-avro_2.13:{version('pyspark')}"


class QueryError(Exception):
    """Spark refused a model's query: `error` is what it said of it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def as_build_error(
    error: Exception,
    doing: str,
    *,
    root: Path | None = None,
    gone: EngineDiedError | None = None,
    masked: bool = False,
    query: QueryPlace | None = None,
    code: PythonCode | None = None,
) -> BuildError:
    """The error as one of ours; `doing` completes “cannot …”. `gone`: what happened where Spark's JVM does not answer
    any more. `masked`: its message may hold values that nobody should see. `query`: what Spark refused. `code`: a
    Python model's, which may have called for it."""
    if gone is not None:
        return gone
    found = classified(causes(error), doing, root=root, masked=masked, query=query)
    if code is not None and ".py:" not in found.why and (place := code.place(error)):  # a UDF's place says more
        found.why = found.why.rstrip(";") + place
    return found


def died(doing: str, jvm: object | None = None) -> EngineDiedError | None:
    """What happened to a JVM (None: the process's) that does not answer any more; None when it answers."""
    if jvm_answers(jvm):
        return None
    if is_remote(jvm) or open_remote() is not None:
        return server_lost(doing)
    return engine_died(doing, memory=ran_out_of_memory(jvm))


def server_lost(doing: str) -> EngineDiedError:
    """What a Spark Connect server is called that does not answer, or does not know the session any more."""
    return EngineDiedError(
        f"cannot {doing}: the connection to Spark's server was lost",
        why="the server ended or was started again, or the network between failed",
        fix="see that it runs, then run the same command again: finished batches are kept",
    )


def engine_died(doing: str, *, memory: bool = False) -> EngineDiedError:
    """What a dead JVM is called; `memory`: for want of which it ended."""
    if memory:
        return EngineOutOfMemoryError(
            f"cannot {doing}: Spark's JVM ran out of memory",
            why="what was computed at once did not fit into its heap (`spark.driver.memory`), and it ended itself",
            fix="raise `spark.driver.memory` in backfill.yml (`spark:`), or lower the models' `batch_size:` or "
            "`batch_concurrency:`, then run the same command again: finished batches are kept",
        )
    return EngineDiedError(
        f"cannot {doing}: Spark's JVM died",
        why="it was killed, or ran out of memory; no model's code is to blame for the message that is left of it",
        fix="run the same command again: finished batches are kept. If it dies again: raise `spark.driver.memory`, or "
        "lower the models' `batch_size:` or `batch_concurrency:`",
    )


def classified(
    chain: Sequence[JavaCause],
    doing: str,
    *,
    root: Path | None = None,
    masked: bool = False,
    query: QueryPlace | None = None,
) -> BuildError:
    """What the chain of exceptions, outermost first, means for a build, by the first of `RULES` that matches."""
    text = "\n".join(f"{c.kind}: {c.message}" for c in chain)
    reason = spark_reason(chain, root)
    shown = hide_values(reason) if masked else reason
    why = _placed(shown, query, root, text) if query else shown
    lacks_import = "ModuleNotFoundError" in reason
    failure = Failure(chain=chain, text=text, doing=doing, why=why, masked=masked, lacks_import=lacks_import)
    make = next((make for matches, make in RULES if matches(failure)), _passing)
    return make(failure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What Spark could not do, as `RULES` look at it."""

    chain: Sequence[JavaCause]
    text: str
    """The classes and messages of the whole chain."""
    doing: str
    why: str
    """The last cause, with its place in the project, as everybody may see it."""
    masked: bool
    """Whether messages may hold values that nobody should see."""
    lacks_import: bool
    """Whether a Python worker did not find a module."""

    @property
    def cannot(self) -> str:
        return f"cannot {self.doing}"

    @property
    def mend(self) -> str:
        """What helps where a model or its input is at fault."""
        if self.says("TIMESTAMP(NANOS"):
            return f"write the source's files again, in microseconds: {IN_MICROSECONDS}"
        if self.says("Failed to find data source: avro"):
            return f"let Spark fetch its reader, in backfill.yml: `spark: {{spark.jars.packages: {avro_package()}}}`"
        if self.lacks_import:
            return (
                "import it at the top of the model's file, or install it on the workers: of what a UDF imports as it "
                "runs, modules of the project are sent (`from package import module`)"
            )
        return "correct the model or its input, then run again"

    def says(self, *marks: str) -> bool:
        """Whether any of these is in the chain."""
        return any(mark in self.text for mark in marks)

    def is_a(self, *classes: str) -> bool:
        """Whether an exception of the chain is of one of these Java classes."""
        return any(c.kind.endswith(name) for c in self.chain for name in classes)

    def has_state(self, classes: Collection[str]) -> bool:
        """Whether an SQLSTATE of the chain is of one of these classes."""
        return any(state[:2] in classes for state in _SQLSTATE.findall(self.text))


def _no_disk(failure: Failure) -> BuildError:
    return disk_trouble(failure.cannot, next(m for m in DISK if failure.says(m)) if failure.masked else failure.why)


def _taken_over(failure: Failure) -> BuildError:
    return RunEndedError(
        failure.cannot,
        why=next(c.message for c in failure.chain if TAKEN_OVER in c.message),
        fix="see that the machine does not sleep, and run the same command again: finished batches are kept",
    )


def _conflict(failure: Failure) -> BuildError:
    return WriteConflictError(failure.cannot, why="another writer committed to the same partitions first")


def _no_memory(failure: Failure) -> BuildError:
    return DataError(
        failure.cannot,
        why=f"Spark's JVM had no memory left for it: {failure.why}",
        fix="raise `spark.driver.memory`, or lower the model's `batch_size:` or `batch_concurrency:`",
    )


def _too_deep(failure: Failure) -> BuildError:
    return BuildError(
        failure.cannot,
        why=f"Spark cannot follow a query of so many steps: {failure.why}",
        fix="split it: write some of its steps as models of their own, which it reads. Or let Spark go deeper, in "
        "`spark:` of backfill.yml: `spark.sql.analyzer.maxIterations: 1000`, and "
        "`spark.driver.extraJavaOptions: -Xss64m`",
    )


def _outside(failure: Failure) -> BuildError:
    fix = "filter the query to the interval: the time column must be >= :start and < :end"
    row = None if failure.masked else _VIOLATING.search(failure.text)
    if row is None:
        why = f"it computes rows outside the interval (or with an empty time column): {failure.why}"
    elif row["value"] == "null":
        why, fix = f"it computes a row whose {row['column']} is NULL: it is of no interval", f"give it one, or {fix}"
    else:
        why = f"it computes a row outside the interval: its {row['column']} is {_moment(row['value'])}"
    return DataError(failure.cannot, why=why, fix=fix)


def _moment(value: str) -> str:
    """A date or an instant as people write it: Delta tells the days, or microseconds, since 1970.

    >>> _moment("19733"), _moment("1704967200000000"), _moment("?")
    ('2024-01-11', '2024-01-11 10:00:00', '?')
    """
    try:
        if len(value) < len("1000000000"):
            return str(date(1970, 1, 1) + timedelta(days=int(value)))
        return str(datetime(1970, 1, 1) + timedelta(microseconds=int(value)))
    except (ValueError, OverflowError):
        return value


def _past(failure: Failure) -> BuildError:
    return BuildError(
        failure.cannot,
        why=f"a source cannot be read any more as the plan froze it: {failure.why}",
        fix="end the plan (`backfill plans`, `backfill abandon ID`), then apply: it reads the source as it is",
    )


def _closed(failure: Failure) -> BuildError:
    refused = no_access(_CLOSED.findall(failure.text)[0])
    return BuildError(f"{failure.cannot}: {refused.what}", why=refused.why, fix=refused.fix)


def _vanished(failure: Failure) -> BuildError:
    fix = "bring the file back, or plan again: backfill plan"
    return SourceChangedError(failure.cannot, why=failure.why, fix=fix)


def _damaged_log(failure: Failure) -> BuildError:
    return BuildError(
        failure.cannot,
        why=f"the log of a Delta table is damaged: {failure.why}",
        fix="`backfill doctor --deep` names all that is damaged in the warehouse; a source's has to be restored",
    )


def _malformed(failure: Failure) -> BuildError:
    of_a_day = re.search(r"reading file \S+/[^/=\s]+=", failure.text)  # others of the files can be read without it
    quoted = re.search(r'[^\s"\\,;|:{\[(]""', failure.text.partition("MALFORMED_RECORD_IN_PARSING")[2])
    escape = "where CSV writes a quote within quotes as two, add `escape: '\"'` to the source's `options:`. Else "
    lines = "where a quoted value goes on in the next line, add `multiLine: true` to the source's `options:`. Else "
    first = f"{escape * bool(quoted)}{lines * failure.says('MALFORMED_CSV_RECORD')}"
    return (DataError if of_a_day else BuildError)(
        failure.cannot,
        why=failure.why,
        fix=f"{first}correct the line in the file, or declare its column as `string` and cast it in the model; "
        "with `options: {mode: PERMISSIVE}` what cannot be read is NULL, with DROPMALFORMED its line goes",
    )


def _value(failure: Failure) -> BuildError:
    return DataError(failure.cannot, why=failure.why, fix=failure.mend)


def _file(failure: Failure) -> BuildError:
    fix = "restore the file, or leave it out, then run again"
    if failure.says("COLUMN_DATA_TYPE_MISMATCH"):
        fix = (
            "write the file again with the column's type in the others; or declare the wider type of both in "
            "`columns:` of the source, such as bigint: it is read so of all files then"
        )
    return DataError(failure.cannot, why=failure.why, fix=fix)


def _other_type(failure: Failure) -> BuildError:
    """Of rows that are in some files: the others can be computed without them."""
    return DataError(
        failure.cannot,
        why=other_type(failure.text) or failure.why,
        fix="write those files again that have the wrong one of both types; or declare in `columns:` of the source, "
        "with all others that are read, a type that is wider than each (of a struct, an array or a map the whole type)",
    )


def _code(failure: Failure) -> BuildError:
    return BuildError(failure.cannot, why=failure.why, fix=failure.mend)


def _passing(failure: Failure) -> BuildError:
    return TransientBuildError(failure.cannot, why=failure.why, fix="if it persists, read the log and the input")


RULES: tuple[tuple[Callable[[Failure], object], Callable[[Failure], BuildError]], ...] = (
    (lambda f: f.says(*STOPPED), lambda f: engine_died(f.doing)),
    (lambda f: f.says(*DISK), _no_disk),
    (lambda f: f.says(TAKEN_OVER), _taken_over),
    (lambda f: f.says(*CONFLICTS), _conflict),
    (lambda f: f.says("java.lang.OutOfMemoryError"), _no_memory),
    # A task that ends so has rows that a function cannot take.
    (lambda f: f.says(*DEPTH) and not f.says("stage failure"), _too_deep),
    (lambda f: f.says("DELTA_REPLACE_WHERE_MISMATCH"), _outside),
    (lambda f: f.says(*PAST), _past),
    (lambda f: _CLOSED.search(f.text), _closed),
    (lambda f: f.says(*VANISHED), _vanished),
    (lambda f: _LOG_FILE.search(f.text), _damaged_log),
    (lambda f: f.says(MARK), _other_type),
    # A query may parse, too.
    (lambda f: f.says("MALFORMED_RECORD_IN_PARSING") and f.says("FAILED_READ_FILE"), _malformed),
    (lambda f: f.has_state(DATA_STATES) or f.is_a(*DATA_CLASSES), _value),
    (lambda f: f.says("FAILED_READ_FILE") and not f.says(*PASSING), _file),
    (lambda f: f.says("SQLSTATE: 42") or f.is_a(*CODE_CLASSES), _code),
)
"""What each failure is: the first that matches decides, by the class of its error, whether it is tried again, divided,
or fatal. What none of them knows may pass.

First what the batch has no part in, the engine, the disk and the lease: all others would end there as well, whatever
else the chain says. Then another writer, which says nothing of the rows. Then what one mark tells, for general rules
below match most of it too: rows outside of the interval are an AnalysisException, a malformed line has the SQLSTATE of
a value. There, a closed file comes before one that is gone, as Java has both not found; and one that is gone before the
log, whose files may go as any other's. Of the general rules, a value comes before the file that it was read from, and
both before the code, whose exceptions Spark raises for any of them.
"""


def disk_trouble(cannot: str, why: str) -> RunEndedError:
    """A disk that is full or cannot be written: every other batch would end there as well."""
    full = "Read-only" not in why
    return RunEndedError(
        cannot,
        why=f"the disk is full: {why}" if full and "space" not in why else why,
        fix=("free some room" if full else "make it writable")
        + ", then run the same command again: finished batches are kept",
    )


def own_code_error(error: Exception, doing: str, code: PythonCode | None, *, masked: bool = False) -> BuildError:
    """What a Python model's function raised on the driver, with the place in its `code` (None: it has none)."""
    why = f"{type(error).__name__}: {error}".strip().rstrip(":")
    if any(mark in why for mark in DISK):
        return disk_trouble(f"cannot {doing}", next(m for m in DISK if m in why) if masked else why)
    why = hide_values(why) if masked else why
    if code is None:
        return TransientBuildError(f"cannot {doing}", why=why, fix="if it persists, report it with the log")
    return DataError(f"cannot {doing}", why=why + code.place(error), fix="correct the model's function")


def causes(error: Exception) -> list[JavaCause]:
    """The chain of Java exceptions behind a Python one, outermost first; the Python one's text where there is none."""
    found: list[JavaCause] = []
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        while java is not None and len(found) < _LONGEST:
            found.append(JavaCause(java.getClass().getName(), java.getMessage() or ""))
            java = java.getCause()
    except Exception:  # the JVM is gone, or too busy dying
        pass
    return found or [JavaCause(type(error).__name__, _text(error))]


def spark_reason(chain: Sequence[JavaCause], root: Path | None = None) -> str:
    """The last cause in one line: what boxes it (`ExecutionException: Boxed Exception`) is left out."""
    telling = [c for c in chain if c.message and "Boxed" not in c.message and not _repeats(c, chain)] or list(chain)
    last = telling[-1]
    if "PythonException" in last.kind or "Traceback (most recent call last)" in last.message:
        return _of_python(last.message, root)
    said = _first_line(last.message) or last.kind
    if last.kind.startswith("java.") and last.kind.rpartition(".")[2] not in said:
        said = f"{last.kind.rpartition('.')[2]}: {said}"
    reading = next((_first_line(c.message) for c in chain if "FAILED_READ_FILE" in c.message), "")
    return f"{reading} {said}" if reading and reading != said else said


def _placed(why: str, query: QueryPlace, root: Path | None, text: str) -> str:
    """With the file and its line instead of Spark's position, which counts from the query's first line."""
    at, within = (_POSITION.search(why) if query.refused else None), _CONTEXT.search(text)
    why = why[: at.start()].rstrip() if at else why
    if not (query.refused or within):
        return why
    file, found = _shown(query.path, root), at or within
    return f"{why} ({file}:{query.line + int(found[1]) - 1})" if found and query.line else f"{why} ({file})"


_LONGEST = 20
_VIOLATING = re.compile(r"violated by row with values:\s*- (?P<column>.+) : (?P<value>.*)")
_POSITION = re.compile(r"(?:;\s*|\()line (\d+),? pos \d+\)?;?$")
_CONTEXT = re.compile(r"== SQL \(line (\d+), position \d+\) ==")
_SQLSTATE = re.compile(r"SQLSTATE: (\w{5})")
_LOG_FILE = re.compile(r"reading file \S+/_delta_log/")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


def _repeats(cause: JavaCause, chain: Sequence[JavaCause]) -> bool:
    """Whether it says no more than the one that it is the cause of: `SparkException: java.lang.Error: x` and `x`."""
    return any(c is not cause and cause.message == f"{o.kind}: {o.message}" for c in chain for o in chain if o is c)


def _of_python(message: str, root: Path | None) -> str:
    """The last line of a worker's traceback, and the last place of the project in it."""
    lines = [line for line in message.splitlines() if line.strip() and not line.strip().startswith("SQLSTATE")]
    last = re.sub(r"\s*SQLSTATE: \w{5}$", "", lines[-1].strip()) if lines else "an error without a message"
    frames = _FRAME.findall(message)
    mine = [f for f in frames if root is not None and Path(f[0]).is_relative_to(root)] or frames
    if not mine:
        return last[:600]
    file, line, name = mine[-1]
    return f"{last[:600]} ({_shown(Path(file), root)}:{line}, in {name})"


def _shown(path: Path, root: Path | None) -> str:
    """A file of the project by its path there, another by its name."""
    return path.relative_to(root).as_posix() if root is not None and path.is_relative_to(root) else path.name


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # PySpark asks the JVM for the text of its exceptions
        return str(getattr(error, "_desc", "")) or type(error).__name__


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    skip = ("An error occurred while calling", "Traceback", "File ")
    useful = [line for line in lines if not line.startswith(skip)]
    return (useful or lines or [""])[0][:600]
