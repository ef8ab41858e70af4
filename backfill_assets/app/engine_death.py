"""Did Spark's JVM die? What comes of it is any error: of a connection, of the gateway, of Spark."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from backfill_assets.core.errors import EngineDiedError


def engine_death(doing: str) -> EngineDiedError | None:
    """What happened to the process's JVM, if there is one and it does not answer any more; `doing` completes
    “cannot …”."""
    if "pyspark" not in sys.modules:
        return None
    from backfill_assets.adapters.spark_errors import died

    return died(doing)


@contextmanager
def telling_of_death(doing: str) -> Generator[None]:
    """What breaks in the block because the JVM died is an EngineDiedError."""
    try:
        yield
    except EngineDiedError:
        raise
    except Exception as error:
        if (gone := engine_death(doing)) is not None:
            raise gone from error
        raise
