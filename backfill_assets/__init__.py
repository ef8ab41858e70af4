"""What does a person import? Definitions, the model decorator, reading, a Spark session, and the root of all errors.

This is all of the Python API (docs/api.md); what takes long to import is imported when it is called.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.core.errors import BackfillError
from backfill_assets.python_models.decorator import model

if TYPE_CHECKING:
    import pyarrow as pa
    from dagster import Definitions
    from pyspark.sql import SparkSession

__all__ = ["BackfillError", "build_definitions", "model", "read", "spark"]


def build_definitions(
    project: str | Path | None = None,
    *,
    key_prefix: str | Sequence[str] | None = None,
    job_prefix: str | None = None,
    existing_assets: Sequence[str] | None = None,
    in_process: bool = True,
) -> Definitions:
    """Dagster definitions of a project's folder (BACKFILL_PROJECT or the embedded demo when none is given).

    What keeps several projects apart is `dagster:` in `backfill.yml`, or given here: what the keys of all assets and
    the names of all jobs begin with, and which sources are assets of others. Without `in_process` no executor is named
    for the code location, so that it can have its own.
    """
    from backfill_assets.defs.build_definitions import build_definitions as build

    return build(
        project,
        key_prefix=key_prefix,
        job_prefix=job_prefix,
        existing_assets=existing_assets,
        in_process=in_process,
    )


def read(
    model: str,
    *,
    environment: str | None = None,
    consumer: str | None = None,
    columns: Sequence[str] | None = None,
    start: date | datetime | str | None = None,
    end: date | datetime | str | None = None,
    settled: bool = False,
    project: str | Path | None = None,
) -> pa.Table:
    """The rows that an environment shows of a model, as an Arrow table (`.to_pandas()` for pandas). No JVM.

    The environment is the argument, else BACKFILL_ENVIRONMENT, else the project's. A `consumer` that is pinned there
    reads the models that it is kept on as its release showed them (`settled`: by what was provisional then).
    `start` and `end` cut to a half-open range of the time column; `settled` leaves out what is provisional: intervals
    that a routine run may still replace as their sources change; and those that are not over, or were not when they
    were built. Raises StateError when there is nothing to read, UsageError for an environment and a consumer.
    """
    from backfill_assets.adapters.reader import read_pointer, settled_part, show
    from backfill_assets.adapters.warehouse import open_store
    from backfill_assets.core.errors import UsageError
    from backfill_assets.project.consumers import consumer_names
    from backfill_assets.project.settings import load_settings, project_root
    from backfill_assets.promote.pinning import known_consumer
    from backfill_assets.state.control import Control
    from backfill_assets.state.ledger import by_version
    from backfill_assets.state.pinned import pin_environment, pinned_as, settled_then
    from backfill_assets.state.settling import settling

    if environment is not None and consumer is not None:
        raise UsageError(
            "an environment and a consumer are named", why="each says what is read", fix="name one of them"
        )
    root = project_root(project)
    settings = load_settings(root)
    control, name = Control.over(open_store(settings, root, remember=False)), _meant(environment, settings.environment)
    seen = control.environments.read(pin_environment(consumer) if consumer is not None else name)
    pin = pinned_as(control, seen)
    if consumer is not None and pin is None:
        known_consumer(consumer, consumer_names(root))
    elif consumer is not None and pin is not None and (pin.environment != name or model not in pin.pointers):
        pin = None  # a candidate is asked for, or another environment; or what it came to read since
    # Before the pointers: what is settled by now is shown as it stays.
    known = None
    if settled:
        known = settled_then(control, pin) if pin is not None else settling(control, name, settings.now())
    pointer = show(seen if pin is not None else control.environments.read(name), model)
    if known is not None:
        entries = by_version(control.ledger.entries([model]))
        pointer = settled_part(pointer, known, control.versions.all(), entries)
    return read_pointer(pointer, settings.warehouse, columns=columns, start=start, end=end)


def spark(*, environment: str | None = None, project: str | Path | None = None) -> SparkSession:
    """A Spark session that has `<environment>.<model>` views, all of one release. Call it again to see a newer one."""
    from backfill_assets.adapters.session import spark_session
    from backfill_assets.adapters.spark_views import show_environment
    from backfill_assets.adapters.warehouse import open_store
    from backfill_assets.project.settings import load_settings, project_root
    from backfill_assets.state.control import Control
    from backfill_assets.state.provisional import provisional_parts

    root = project_root(project)
    settings = load_settings(root)
    control = Control.over(open_store(settings, root, remember=False))
    shown = control.environments.read(_meant(environment, settings.environment))
    parts = provisional_parts(control, shown, settings.now())
    return show_environment(spark_session(root, settings), shown, settings.warehouse, provisional=parts)


def _meant(environment: str | None, default: str) -> str:
    return environment or os.environ.get("BACKFILL_ENVIRONMENT") or default
