"""What Spark's errors mean: told by their chain of causes, each as real Spark 4.2 with Delta 4.4 gave it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from backfill_assets.adapters.spark_errors import (
    JavaCause,
    PythonCode,
    QueryPlace,
    as_build_error,
    avro_package,
    causes,
    classified,
    died,
    own_code_error,
    spark_reason,
)
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

ROOT = Path("/project")
MODELS = Path(__file__).parents[3] / "docs" / "models.md"
TASK = JavaCause(
    "org.apache.spark.SparkException",
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/t. SQLSTATE: 58030",
)
CAST = JavaCause(
    "org.apache.spark.SparkNumberFormatException",
    '[CAST_INVALID_INPUT] The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed. '
    "SQLSTATE: 22018\n== SQL (line 1, position 1) ==\ncast(v as int)",
)
PYTHON = JavaCause(
    "org.apache.spark.api.python.PythonException",
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
    '  File "/project/models/roi.py", line 25, in f\n    return 1//(x-7)\n           ~^^~~~~~\n'
    '  File "/usr/lib/python3/helper.py", line 3, in g\n    return h(x)\n'
    "ZeroDivisionError: integer division or modulo by zero\n SQLSTATE: 38000",
)
GONE = JavaCause(
    "org.apache.spark.SparkException",
    "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///d/1.csv. File does not exist. "
    "SQLSTATE: KD001",
)
CORRUPT = JavaCause(
    "org.apache.spark.SparkException",
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///d/1.parquet.  SQLSTATE: KD001",
)
LOG = JavaCause(CORRUPT.kind, CORRUPT.message.replace("/d/1.parquet", "/w/m/v/_delta_log/00000000000000000001.json"))
LAZY = JavaCause(
    PYTHON.kind,
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
    '  File "/project/models/scored.py", line 18, in lazy\n    from _helper import score\n'
    "ModuleNotFoundError: No module named '_helper'\n SQLSTATE: 38000",
)
BOXED = JavaCause("java.util.concurrent.ExecutionException", "Boxed Exception")


@pytest.mark.parametrize(
    ("chain", "kind", "why"),
    [
        pytest.param([TASK, CAST], DataError, "[CAST_INVALID_INPUT] The value 'x'", id="a cast in a task"),
        pytest.param(
            [TASK, PYTHON],
            DataError,
            "ZeroDivisionError: integer division or modulo by zero (models/roi.py:25, in f)",
            id="a Python UDF",
        ),
        pytest.param(
            [GONE, JavaCause("java.io.FileNotFoundException", "File file:/d/1.csv does not exist")],
            SourceChangedError,
            "1.csv",
            id="a file that is away",
        ),
        pytest.param(
            [
                CORRUPT,
                JavaCause("java.lang.RuntimeException", "file:/d/1.parquet is not a Parquet file (length is too low)"),
            ],
            DataError,
            "file:///d/1.parquet.",
            id="a corrupt file",
        ),
        pytest.param(
            [LOG, JavaCause("com.fasterxml.jackson.core.JsonParseException", "[MALFORMED_RECORD_IN_PARSING] x")],
            BuildError,
            "the log of a Delta table is damaged: [FAILED_READ_FILE.NO_HINT]",
            id="a corrupt log",
        ),
        pytest.param(
            [
                JavaCause(
                    "java.lang.RuntimeException", "Max iterations (100) reached for batch Resolution, please set …"
                )
            ],
            BuildError,
            "so many steps",
            id="a query that is too deep for the analyzer",
        ),
        pytest.param(
            [JavaCause("java.lang.StackOverflowError", "")],
            BuildError,
            "so many steps",
            id="a query that is too deep for the stack",
        ),
        pytest.param(
            [
                JavaCause("org.apache.spark.SparkException", "Job aborted due to stage failure: Task 0 in stage 1.0"),
                JavaCause("java.lang.StackOverflowError", "at java.util.regex.Pattern"),
            ],
            TransientBuildError,
            "StackOverflowError",
            id="a function that is too deep for a row",
        ),
        pytest.param(
            [CORRUPT, JavaCause("java.net.SocketTimeoutException", "Read timed out")],
            TransientBuildError,
            "Read timed out",
            id="a file that cannot be reached",
        ),
        pytest.param(
            [JavaCause("org.apache.spark.sql.AnalysisException", "[UNRESOLVED_COLUMN] no column `x`. SQLSTATE: 42703")],
            BuildError,
            "[UNRESOLVED_COLUMN]",
            id="a column that does not exist",
        ),
        pytest.param(
            [
                JavaCause(
                    "org.apache.spark.sql.AnalysisException", "[PATH_NOT_FOUND] Path does not exist. SQLSTATE: 42K03"
                )
            ],
            SourceChangedError,
            "Path does not exist",
            id="a folder that is away",
        ),
        pytest.param(
            [JavaCause("org.apache.spark.sql.AnalysisException", "[DELTA_VERSION_NOT_FOUND] Cannot. SQLSTATE: 22003")],
            BuildError,
            "a source cannot be read any more as the plan froze it",
            id="a commit that is not kept",
        ),
        pytest.param(
            [JavaCause("io.delta.exceptions.ConcurrentAppendException", "[DELTA_CONCURRENT_APPEND] Files were added")],
            WriteConflictError,
            "another writer",
            id="another writer",
        ),
        pytest.param(
            [BOXED, JavaCause("java.lang.OutOfMemoryError", "Java heap space")],
            DataError,
            "OutOfMemoryError: Java heap space",
            id="too big for the memory",
        ),
        pytest.param(
            [TASK, JavaCause("java.io.IOException", "No space left on device")],
            RunEndedError,
            "No space left on device",
            id="a full disk",
        ),
        pytest.param(
            [JavaCause("java.lang.IllegalStateException", "Cannot call methods on a stopped SparkContext.")],
            EngineDiedError,
            "killed, or ran out of memory",
            id="a stopped context",
        ),
        pytest.param(
            [BOXED, JavaCause("java.lang.InternalError", "odd"), JavaCause("java.lang.Error", "")],
            TransientBuildError,
            "InternalError: odd",
            id="something else",
        ),
        pytest.param(
            [JavaCause("org.apache.spark.SparkException", "Job aborted: ExecutorLostFailure (executor 1 exited)")],
            TransientBuildError,
            "ExecutorLostFailure",
            id="a lost executor",
        ),
    ],
)
def test_each_error_is_told_by_its_causes(chain: list[JavaCause], kind: type[BuildError], why: str) -> None:
    """What may pass is tried again, what is of rows is divided, what is of the code ends the batch; the reason is the
    last cause, without what boxes it."""
    error = classified(chain, "build m 2024-01-01", root=ROOT)
    assert type(error) is kind
    assert error.what.startswith("cannot build m 2024-01-01")
    assert why in error.why and "Boxed" not in error.why and "\n" not in error.why


@pytest.mark.parametrize(
    ("kind", "again", "divided"),
    [
        (BuildError, False, False),
        (DataError, False, True),
        (TransientBuildError, True, True),
        (WriteConflictError, True, False),
        (SourceChangedError, True, False),
        (EngineDiedError, True, False),
        (RunEndedError, False, False),
    ],
)
def test_what_comes_of_each_kind(kind: type[BuildError], again: bool, divided: bool) -> None:
    """The whole table of what is tried again and what is divided."""
    assert (kind.retryable, kind.divisible) == (again, divided)


def test_a_folder_that_this_account_may_not_write_to(tmp_path: Path) -> None:
    """Java says that there is no such file: neither did one go, nor is a source at fault."""
    said = JavaCause("java.io.FileNotFoundException", f"{tmp_path}/ds=2024-01-02/part-0.parquet (Permission denied)")
    error = classified([TASK, JavaCause(said.kind, f"{said.kind}: {said.message}")], "build m 2024-01-02", root=ROOT)
    assert not error.retryable and "may not use" in error.what and f"{tmp_path} is of" in error.why
    assert "chmod g+s" in error.fix and "bring the file back" not in error.fix
    gone = f"{said.kind}: {tmp_path}/a.csv (No such file or directory); chmod: /x (Permission denied)"
    assert "bring the file back" in classified([TASK, JavaCause(said.kind, gone)], "build m", root=ROOT).fix


def test_an_exception_without_java_is_its_own_cause() -> None:
    """Also one whose text cannot be had, because the JVM that knows it is gone."""

    class Dead(Exception):
        _desc = "what it was"

        def __str__(self) -> str:
            raise AssertionError

    assert causes(ValueError("x")) == [JavaCause("ValueError", "x")]
    assert spark_reason(causes(Dead())) == "what it was"


def test_a_functions_own_error_names_its_file_and_line(tmp_path: Path) -> None:
    """What a Python model's function raises where it is called; an SQL model has no function to correct."""
    code, error = raised_in(tmp_path, "{}['x']", {})
    mine, sql = (own_code_error(error, "build roi", of) for of in (code, None))
    assert str(mine) == (
        "cannot build roi\nwhy: KeyError: 'x' (models/roi.py:2, in roi)\nfix: correct the model's function"
    )
    assert "correct the model" not in str(sql)


def test_what_spark_refuses_of_a_function_names_its_line(tmp_path: Path) -> None:
    """The line that called for it, in the model's file; a place in a UDF is named already, and says more."""

    def refuse(why: str) -> None:
        raise AnalysisError(why)

    class AnalysisError(Exception):
        pass

    code, error = raised_in(tmp_path, "refuse('no column a')", {"refuse": refuse})
    assert as_build_error(error, "prepare roi", code=code).why == "no column a (models/roi.py:2, in roi)"
    assert as_build_error(error, "prepare roi", code=None).why == "no column a"
    elsewhere = PythonCode(files={tmp_path / "models" / "other.py"}, root=tmp_path)
    assert as_build_error(error, "prepare roi", code=elsewhere).why == "no column a"
    code, error = raised_in(tmp_path, "refuse('ValueError: x (lib/a.py:2, in a)')", {"refuse": refuse})
    assert as_build_error(error, "build roi", code=code).why == "ValueError: x (lib/a.py:2, in a)"


def raised_in(root: Path, expression: str, space: dict[str, object]) -> tuple[PythonCode, Exception]:
    """The code of a model that is an expression, and what it raises."""
    file = root / "models" / "roi.py"
    exec(compile(f"def roi(interval):\n    return {expression}\n", str(file), "exec"), space)
    with pytest.raises(Exception) as caught:
        space["roi"](None)  # type: ignore[operator]
    return PythonCode(files={file}, root=root), caught.value


def test_a_full_disk_is_said_so_from_python_too() -> None:
    """delta-rs and Python write as well."""
    error = own_code_error(OSError(28, "No space left on device"), "build m", None)
    assert isinstance(error, RunEndedError) and "free some room" in error.fix
    error = own_code_error(OSError(30, "Read-only file system"), "build m", None)
    assert isinstance(error, RunEndedError) and "make it writable" in error.fix


def test_a_module_that_workers_lack() -> None:
    """What a UDF imports as it runs: the name, the place, and where the import belongs."""
    error = classified([TASK, LAZY], "build scored", root=ROOT)
    assert error.why == "ModuleNotFoundError: No module named '_helper' (models/scored.py:18, in lazy)"
    assert "at the top of the model's file" in error.fix


@pytest.mark.parametrize(
    ("code", "kind"), [(52, EngineOutOfMemoryError), (3, EngineOutOfMemoryError), (1, EngineDiedError)]
)
def test_how_a_jvm_ended_says_why(code: int, kind: type[EngineDiedError]) -> None:
    """Spark ends its JVM with a code of its own when the heap is full; the setting to raise is named in any case."""
    with subprocess.Popen(["sh", "-c", f"exit {code}"]) as process:
        gone = died("build a 2024-01-01", SimpleNamespace(proc=process))
    assert type(gone) is kind
    assert gone is not None and "spark.driver.memory" in gone.fix and ("ran out" in gone.what) is (code != 1)


SUBQUERY = "[UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.X] Unsupported subquery expression. SQLSTATE: 0A000"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (f"{SUBQUERY}; line 1 pos 64", f"{SUBQUERY} (models/lsub.sql:6)"),
        (f"{SUBQUERY}; line 3 pos 2;\n'Project ['x]\n+- OneRowRelation", f"{SUBQUERY} (models/lsub.sql:8)"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at 'x'. SQLSTATE: 42601 (line 2, pos 7)\n\n== SQL ==\n",
         "[PARSE_SYNTAX_ERROR] Syntax error at 'x'. SQLSTATE: 42601 (models/lsub.sql:7)"),
        (SUBQUERY, f"{SUBQUERY} (models/lsub.sql)"),
    ],
)  # fmt: skip
def test_a_query_that_is_refused_is_told_with_its_file_and_line(said: str, why: str) -> None:
    """Spark counts from the query's first line, and the file has a header above it."""
    chain = [JavaCause("org.apache.spark.sql.catalyst.ExtendedAnalysisException", said)]
    query = QueryPlace(path=ROOT / "models" / "lsub.sql", line=6)
    found = classified(chain, "prepare lsub", root=ROOT, query=query)
    assert str(found).splitlines()[:2] == ["cannot prepare lsub", f"why: {why}"]


def test_a_value_that_fails_is_told_with_the_line_that_reads_it() -> None:
    """Of the model's own SQL, where Spark says it; a message without a place is left as it is."""
    ran = QueryPlace(path=ROOT / "models" / "d.sql", line=6, refused=False)
    told = classified([CAST], "build d", root=ROOT, query=ran).why
    assert told.endswith("because it is malformed. SQLSTATE: 22018 (models/d.sql:6)")
    assert "models/" not in classified([TASK], "build d", root=ROOT, query=ran).why
    assert "models/" not in classified([CAST], "audit d", root=ROOT).why
    star = "[INVALID_USAGE_OF_STAR] not allowed. SQLSTATE: 42000\n== SQL (line 3, position 8) ==\ncount(b.*)"
    refused = QueryPlace(path=ROOT / "models" / "d.sql", line=6)
    assert classified([JavaCause("x", star)], "prepare d", root=ROOT, query=refused).why.endswith("(models/d.sql:8)")


def test_a_query_from_a_record_has_no_line() -> None:
    """Its file may say something else by now."""
    chain = [JavaCause("org.apache.spark.sql.catalyst.ExtendedAnalysisException", f"{SUBQUERY}; line 1 pos 64")]
    query = QueryPlace(path=ROOT / "models" / "lsub.sql", line=0)
    assert classified(chain, "prepare lsub", root=ROOT, query=query).why == f"{SUBQUERY} (models/lsub.sql)"
    assert classified(chain, "compare lsub", root=ROOT).why == f"{SUBQUERY}; line 1 pos 64"


def test_a_column_of_another_type_in_a_file_can_be_declared() -> None:
    """Not written again alone: Spark reads the narrower ones as the wider type that is declared."""
    said = "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Error while reading file a.parquet. SQLSTATE: KD001"
    error = classified([JavaCause("org.apache.spark.SparkException", said)], "build a")
    assert "declare the wider type of both in `columns:`" in error.fix


def test_instants_finer_than_sparks_are_said_how_to_write() -> None:
    said = "[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,true)). SQLSTATE: 42846"
    error = classified([JavaCause("org.apache.spark.sql.AnalysisException", said)], "prepare a")
    assert "coerce_timestamps='us'" in error.fix


def test_what_reads_avro_is_named() -> None:
    said = "Failed to find data source: avro. Avro is built-in but external data source module since Spark 2.4."
    error = classified([JavaCause("org.apache.spark.sql.AnalysisException", said)], "prepare a")
    assert avro_package() in error.fix and avro_package() in MODELS.read_text()
