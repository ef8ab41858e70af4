"""Which rows do two sides compare? SQL over their tables, or over what is kept of them where that is little."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import kept
from backfill_assets.adapters.few_rows import FEW_COMPARED, held, interpret
from backfill_assets.compare.questions import Question
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.views import plain_view
from backfill_assets.sql.text import within

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = Callable[[Ranges], tuple[str, str]]
"""The rows of both sides within ranges of what is compared, as queries."""
LITTLE = 32_000_000
"""Bytes of both sides' files: a comparison asks seven queries or so, and to open a thousand small files takes each of
them seconds."""
TASKS = 4
"""Of so little, more tasks than this take longer to start than to run."""


@contextmanager
def rows_of_sides(session: SparkSession, question: Question, warehouse: str, *, once: bool) -> Generator[Rows]:
    """The rows that a question compares; of little they are read once, and kept while the block runs, unless they are
    asked for `once`."""
    assert question.old is not None and question.new is not None
    sides = tuple(zip((question.old, question.new), question.taken, strict=True))

    def text(pointer: Pointer, taken: str, ranges: Ranges) -> str:
        view = plain_view(pointer.cut(ranges), warehouse)
        return f"SELECT * FROM ({view}) WHERE {taken}" if taken else view

    def read(ranges: Ranges) -> tuple[str, str]:
        old, new = (text(*side, ranges) for side in sides)
        return old, new

    parts = [(pointer.model, pointer.cut(question.compared).segments) for pointer, _ in sides]
    size, rows = held(warehouse, parts)
    if rows <= FEW_COMPARED and size <= LITTLE:
        interpret(session)
        session.conf.set("spark.sql.adaptive.enabled", "false")
    if once or size > LITTLE:
        yield read
        return

    def of_kept(ranges: Ranges) -> tuple[str, str]:
        times = (within(pointer.time_column, ranges, timestamps=pointer.timestamps) for pointer, _ in sides)
        old, new = (f"SELECT * FROM {view} WHERE {when}" for view, when in zip(_VIEWS, times, strict=True))
        return old, new

    with ExitStack() as block:
        for view, query in zip(_VIEWS, read(question.compared), strict=True):
            block.enter_context(kept(session.sql(query).coalesce(TASKS))).createOrReplaceTempView(view)
            block.callback(session.catalog.dropTempView, view)
        yield of_kept


_VIEWS = ("bf_side_old", "bf_side_new")
