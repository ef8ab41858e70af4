"""Nothing that the parser would log on the way: what matters of it is said in our own words, or left to Spark."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def unlogged() -> Generator[None]:
    """Without the parser's warnings, as of statements (`SHOW VIEWS`) and functions that it does not know."""
    logger = logging.getLogger("sqlglot")

    def nothing(_: logging.LogRecord) -> bool:
        return False

    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)
