"""`dagster dev` without the word that a `dagster.yaml` is not used, for a home whose file is a link to that one."""

from __future__ import annotations

import logging
import sys

from dagster._cli import main

NOT_USED = "will not be used to configure Dagster"
"""Dagster compares folders, not files: it says so of any home that is not the working folder."""


def is_news(record: logging.LogRecord) -> bool:
    return NOT_USED not in record.getMessage()


if __name__ == "__main__":
    logging.getLogger("dagster").addFilter(is_news)
    sys.argv[0] = "dagster"
    main()
