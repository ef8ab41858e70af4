"""How does a Dagster run fail? With the reason and the remedy; an error that nobody expected leaves a report."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg

from backfill_assets.app.engine_death import engine_death
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.escaping import visible
from backfill_assets.crash import crashed


@contextmanager
def short_failures() -> Generator[None]:
    """Turns every error of an op into a dg.Failure that says what, why and what to do; Dagster's own pass."""
    try:
        yield
    except BackfillError as error:
        raise dg.Failure(description=visible(str(error)), allow_retries=False) from None
    except (dg.Failure, dg.RetryRequested, dg.DagsterError):
        raise
    except Exception as error:
        told = engine_death(error, "go on") or crashed(error, sys.argv)
        raise dg.Failure(description=visible(str(told))) from None
