"""Which promotion is under way? At most one an environment, and enough of it written down to finish or withdraw it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backfill_assets.errors import PromotionError
from backfill_assets.state.environment import Pointer, pointer_from_json
from backfill_assets.state.store import Store, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A promotion that altered views and has not finished: which release, from which pointers (None: new) to which."""

    environment: str
    release: str
    moves: tuple[tuple[Pointer | None, Pointer], ...]
    opened: datetime


JOURNAL = TableSpec(
    name="promotions",
    columns={"environment": "text", "release": "text", "moves": "text", "opened": "time"},
)


class Journal:
    """The open promotions: a row an environment, gone when the promotion is over."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(JOURNAL)

    def current(self, environment: str) -> Promotion | None:
        """The promotion that is open in this environment."""
        rows = self._table.read({"environment": [environment]})
        if not rows:
            return None
        (row,) = rows
        moves = tuple(
            (pointer_from_json(old) if old else None, pointer_from_json(new))
            for old, new in json.loads(cast(str, row["moves"]))
        )
        return Promotion(
            environment=environment,
            release=cast(str, row["release"]),
            moves=moves,
            opened=cast(datetime, row["opened"]),
        )

    def open(self, promotion: Promotion) -> None:
        """Write the promotion down before it touches any view. Raises PromotionError when another one is open."""
        rows, revision = self._table.read_at({"environment": [promotion.environment]})
        if rows:
            raise PromotionError(
                f"another promotion of {promotion.environment} is under way",
                why=f"release {rows[0]['release']} opened its journal at {rows[0]['opened']:%Y-%m-%d %H:%M:%S} UTC",
                fix="wait for it; if its process died, the next `backfill promote` finishes it first",
            )
        self._table.replace(
            [
                {
                    "environment": promotion.environment,
                    "release": promotion.release,
                    "moves": json.dumps([(old.to_json() if old else "", new.to_json()) for old, new in promotion.moves]),
                    "opened": promotion.opened,
                }
            ],
            where={"environment": [promotion.environment]},
            revision=revision,
            note={"release": promotion.release},
        )

    def close(self, promotion: Promotion) -> None:
        """The promotion is over (or withdrawn): forget it. Closing twice is fine."""
        rows, revision = self._table.read_at({"environment": [promotion.environment]})
        if any(row["release"] == promotion.release for row in rows):
            self._table.replace(
                [],
                where={"environment": [promotion.environment]},
                revision=revision,
                note={"release": promotion.release},
            )


def models_of(moves: Sequence[tuple[Pointer | None, Pointer]]) -> list[str]:
    """The models that the moves are about."""
    return [new.model for _, new in moves]
