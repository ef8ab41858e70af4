"""What was read of a table is kept until something is written to it: a command asks several times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from backfill_assets.state.store import ControlTable

T = TypeVar("T")


@dataclass(slots=True)
class Kept(Generic[T]):
    """What was read, and the state that the table had before; "" is of a table that does not say."""

    value: T
    state: str = ""

    def of(self, table: ControlTable, read: Callable[[], T]) -> T:
        """The value by now: what is kept where the table is as it was, else what `read` gives."""
        state = table.state()
        if not state or state != self.state:
            self.value, self.state = read(), state
        return self.value
