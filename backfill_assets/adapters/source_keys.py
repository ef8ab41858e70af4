"""Is the key that `sources.yml` declares for a source unique? Looked at before anything is computed from the source.

What counts as unchanged may rest on it (a LEFT JOIN on a unique key keeps the rows), so a model that reads a source
with a false key is not built, and no sample of its text is computed: without either, nothing is promoted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from backfill_assets.adapters.inputs import input_frame
from backfill_assets.build.engine import Input, SourceInput
from backfill_assets.core.errors import BuildError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = 3


class SourceKeys:
    """Checks each source once as a plan froze it; one that is not frozen, each time."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse
        self._checked: dict[str, threading.Lock] = {}
        self._good: set[str] = set()
        self._lock = threading.Lock()

    def check(self, spark: SparkSession, read: Input) -> None:
        """Raise BuildError when rows share a key. A key that is NULL in several rows counts as shared."""
        if not isinstance(read, SourceInput) or not read.source.key:
            return
        frozen = bool(read.pin.keys() & {"commit", "files"})
        place = json.dumps([read.source.name, read.source.key, dict(read.pin)], default=str)
        with self._lock:
            alone = self._checked.setdefault(place, threading.Lock())
        with alone:  # the batches of a run begin together
            if place in self._good:
                return
            self._look(spark, read)
            if frozen:
                self._good.add(place)

    def _look(self, spark: SparkSession, read: SourceInput) -> None:
        from pyspark.sql import functions as F

        source = read.source
        names = [f"`{name.replace('`', '``')}`" for name in source.key]
        groups = input_frame(spark, self._warehouse, read).groupBy(*names).agg(F.count("*").alias("rows of one key"))
        several = groups.where(F.col("rows of one key") > 1)
        found = several.orderBy(F.col("rows of one key").desc(), *names).limit(_SHOWN + 1).collect()
        if not found:
            return
        keys = [f"{_named(source.key, row)} ({row[-1]} rows)" for row in found[:_SHOWN]]
        more = ", …" if len(found) > _SHOWN else ""
        raise BuildError(
            f"source {source.name} has several rows of one key ({', '.join(source.key)})",
            why=f"{'; '.join(keys)}{more}: nothing that rests on the key is true",
            fix=f"correct the source, or remove its `key:` ({source.file.name}:{source.line}); what was the same by the"
            " key then counts as another version",
        )


def _named(key: Sequence[str], row: Sequence[object]) -> str:
    return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in zip(key, row, strict=False))
