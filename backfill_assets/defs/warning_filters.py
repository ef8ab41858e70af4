"""Which of Dagster's warnings are not for the people who run a project? Those about features that we chose to use."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager

from dagster_shared.utils.warnings import BetaWarning


@contextmanager
def ignore_preview_warnings() -> Generator[None]:
    """Inside, nothing is said of backfill policies, pools and data versions being "beta": our tests watch them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetaWarning)
        yield
