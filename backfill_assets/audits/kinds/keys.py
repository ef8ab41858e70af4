"""Is there one row of each key?"""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.audits.kinds.base import AuditKind, Filtered, Tolerant
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import Look
from backfill_assets.audits.text import interval_text, key_text, names
from backfill_assets.core.model import STABLE_KEY, Model
from backfill_assets.core.wording import listed
from backfill_assets.files.validation import ColumnNames


class UniqueGrain(Tolerant):
    kind = "unique_grain"
    example = "- unique_grain"
    page = (("- unique_grain", "no two rows have the same grain; every model has this audit, declared or not"),)

    def cells(self, model: Model) -> Sequence[str]:
        return [f"count(*) - count(DISTINCT struct({names(model.grain)}))"]

    def distinct(self, model: Model) -> str:
        return names(model.grain)

    def samples(self, look: Look) -> Sequence[str]:
        return [_repeated(look, look.model.grain)]

    def rule(self, model: Model) -> str:
        return f"one row per {', '.join(model.grain)}"

    def meaning(self, model: Model) -> str:
        return f"There is only one row for each {listed(model.grain)}."


class StableKey(AuditKind):
    """Counted by the engine: it is about rows of other intervals, too."""

    kind = STABLE_KEY
    page = (
        (
            "",
            "merged models whose grain lacks the time column have it: no key is in another interval as well; see "
            "[writes](writes.md)",
        ),
    )

    columns: ColumnNames

    def rule(self, model: Model) -> str:
        return "no key that is in another interval, too"


class Unique(Filtered):
    kind = "unique"
    example = "- unique: [event_id]"
    page = (("- unique: [ad_id, channel]", "no two rows have the same values in these columns; NULL is a value"),)
    short = "columns"

    columns: ColumnNames

    def title(self) -> Sequence[str]:
        return (self.kind, *self.columns)

    def cells(self, model: Model) -> Sequence[str]:
        key = f"struct({names(self.columns)})"
        if self.where is not None:
            return [f"count_if({self.where}\n) - count(DISTINCT CASE WHEN {self.where}\nTHEN {key} END)"]
        return [f"count(*) - count(DISTINCT {key})"]

    def distinct(self, model: Model) -> str:
        return names(self.columns) if self.where is None else self.called

    def samples(self, look: Look) -> Sequence[str]:
        return [_repeated(look, self.columns, "" if self.where is None else f" WHERE {self.where}\n")]

    def rule(self, model: Model) -> str:
        return f"one row per {', '.join(self.columns)}"

    def meaning(self, model: Model) -> str:
        return f"There is only one row for each {listed(self.columns)}."


def _repeated(look: Look, columns: Sequence[str], where: str = "") -> str:
    """The keys that more than one row has."""
    at = interval_text(look.model)
    return (
        f"SELECT {at} AS {INTERVAL}, {key_text(columns, look.model.mask)} AS sample FROM {look.tables.rows()}{where} "
        f"GROUP BY {at}, {names(columns)} HAVING count(*) > 1"
    )
