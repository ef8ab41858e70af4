"""What is the Delta table of a source? Others write it: where its log is damaged, the source is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import DamagedLogError, StateError
from backfill_assets.core.model import Source

if TYPE_CHECKING:
    from deltalake import DeltaTable


def source_table(source: Source, commit: int | None = None) -> DeltaTable | None:
    """The table at a source's path, at a commit (None: newest); None when there is no table.

    Raises StateError when its log is damaged, or does not reach to the commit.
    """
    assert source.path is not None
    try:
        return open_table(source.path, commit)
    except DamagedLogError as error:
        owner = f" by {source.owner}" if source.owner else ""
        raise StateError(
            f"the log of source {source.name} is damaged; nothing is read from it",
            why=f"{error.why}, in the table at {source.path}",
            fix=f"have the table restored{owner}, or written anew; or name another one in {source.file}:{source.line}",
        ) from None
