"""What does a Spark error mean for a build? Deterministic ones end a batch, others are worth another attempt."""

from __future__ import annotations

from backfill_assets.errors import BuildError, TransientBuildError

CONFLICTS = (
    "ConcurrentAppend",
    "ConcurrentModification",
    "ConcurrentDelete",
    "ConcurrentTransaction",
    "DELTA_CONCURRENT",
)
OUTSIDE = ("DELTA_REPLACE_WHERE_MISMATCH", "replaceWhere")


def as_build_error(error: Exception, doing: str) -> BuildError:
    """The error as one of ours; `doing` completes “cannot …”."""
    from pyspark import errors

    text = _text(error)
    condition = _condition(error)
    if any(mark in text for mark in CONFLICTS):
        return TransientBuildError(f"cannot {doing}", why="another writer committed to the same partitions first")
    if condition == "DELTA_REPLACE_WHERE_MISMATCH" or "DELTA_REPLACE_WHERE_MISMATCH" in text:
        return BuildError(
            f"cannot {doing}",
            why=f"it computes rows outside the interval (or with an empty time column): {_first_line(text)}",
            fix="filter the query to the interval: the time column must be >= :start and < :end",
        )
    deterministic = (
        errors.AnalysisException,
        errors.ParseException,
        errors.ArithmeticException,
        errors.ArrayIndexOutOfBoundsException,
        errors.DateTimeException,
        errors.NumberFormatException,
        errors.IllegalArgumentException,
        errors.PythonException,
        errors.UnsupportedOperationException,
        errors.SparkUpgradeException,
    )
    user_state = getattr(error, "getSqlState", lambda: None)() or ""
    if isinstance(error, deterministic) or user_state[:2] in {"22", "42", "21", "23"}:
        return BuildError(
            f"cannot {doing}", why=_first_line(text), fix="correct the model or its input, then run again"
        )
    return TransientBuildError(
        f"cannot {doing}", why=_first_line(text), fix="if it persists, read the log and the input"
    )


def _condition(error: Exception) -> str:
    get = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return (get() if get else None) or ""


def _text(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return f"{error}\n{java.toString()}" if java is not None else str(error)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    skip = ("An error occurred while calling", "Traceback", "File ")
    useful = [line for line in lines if not line.startswith(skip)]
    return (useful or lines or ["no message"])[0][:600]
