"""Did Spark's JVM die? What comes of it is any error: of a connection, of the gateway, of Spark."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from backfill_assets.core.errors import EngineDiedError


def engine_death(error: BaseException, doing: str) -> EngineDiedError | None:
    """What happened to the process's JVM, if it does not answer any more and the error may have come of that; `doing`
    completes “cannot …”."""
    of_spark = type(error).__module__.partition(".")[0] in ("py4j", "pyspark", "grpc")
    if "pyspark" not in sys.modules or not (of_spark or isinstance(error, OSError)):
        return None
    from backfill_assets.adapters.spark_errors import died

    return died(doing)


@contextmanager
def telling_of_death(doing: str) -> Generator[None]:
    """What breaks in the block because the JVM died is an EngineDiedError."""
    try:
        yield
    except Exception as error:
        if (gone := engine_death(error, doing)) is not None:
            raise gone from error
        raise
