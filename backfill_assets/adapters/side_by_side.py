"""How are several questions asked of Spark at a time? Of little data, most of what each takes is one thread's work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_AT_ONCE = 4
"""More of them wait for the same cores."""


def side_by_side(session: SparkSession, asks: Sequence[Callable[[], T]]) -> list[T]:
    """What each gives, in this order. Raises what the first of them raises, when all have ended; what interrupts the
    wait for them ends all that the session computes."""
    if len(asks) < 2:
        return [ask() for ask in asks]
    with ThreadPoolExecutor(min(len(asks), _AT_ONCE), thread_name_prefix="ask") as pool:
        asked = [pool.submit(ask) for ask in asks]
        try:
            return [one.result() for one in asked]
        except Exception:
            raise  # others may compute in the same session
        except BaseException:
            with suppress(Exception):  # a JVM that is gone has nothing to interrupt
                session.interruptAll()
            raise
