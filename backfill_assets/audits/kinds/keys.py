"""Is there one row of each key: in each interval, or in the whole table?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from backfill_assets.audits.across import count_across, sample_across
from backfill_assets.audits.kinds.base import AuditKind, Filtered, Tolerant
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.model import STABLE_KEY, Model
from backfill_assets.core.wording import listed
from backfill_assets.files.validation import ColumnNames
from backfill_assets.sql.text import interval_text, key_text, names

Scope = Annotated[Literal["table"] | None, BeforeValidator(lambda value: None if value == "interval" else value)]
"""Whether a key is looked for in the whole table, and not in its interval only."""


class UniqueGrain(Tolerant):
    kind = "unique_grain"
    example = "- unique_grain"
    page = (
        ("- unique_grain", "no two rows have the same grain; every model has this audit, declared or not"),
        (
            "",
            "with `{scope: table}`, for a grain without the time column: and no key is in another interval of the "
            "table, or of what is shown beside it",
        ),
    )

    scope: Scope = None

    def wrong(self, grain: Sequence[str], time_column: str) -> Iterator[tuple[str, str, str]]:
        yield from _time_in_key(self.scope, grain, time_column, "the grain")

    def cells(self, model: Model) -> Sequence[str]:
        return [f"count(*) - count(DISTINCT struct({names(model.grain)}))"]

    def distinct(self, model: Model) -> str:
        return names(model.grain)

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        super().find(look, passes, found)
        if self.scope:
            _add(found.failures[self.called], count_across(look, look.model.grain))

    def samples(self, look: AuditScope) -> Sequence[str]:
        elsewhere = [sample_across(look, look.model.grain)] if self.scope else []
        return [_repeated(look, look.model.grain), *elsewhere]

    def rule(self, model: Model) -> str:
        return f"one row per {', '.join(model.grain)}{_in_table(self.scope)}"

    def meaning(self, model: Model) -> str:
        return f"There is only one row for each {listed(model.grain)}{_in_table(self.scope)}."


class StableKey(AuditKind):
    """What a merged model's grain is asked: a batch merges its own interval only."""

    kind = STABLE_KEY
    page = (
        (
            "",
            "merged models whose grain lacks the time column have it: no key is in another interval as well; see "
            "[writes](writes.md)",
        ),
    )

    columns: ColumnNames

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        found.failures[self.called] = count_across(look, self.columns)

    def samples(self, look: AuditScope) -> Sequence[str]:
        return [sample_across(look, self.columns)]

    def rule(self, model: Model) -> str:
        return "no key that is in another interval, too"


class Unique(Filtered):
    kind = "unique"
    example = "- unique: [event_id]"
    page = (
        ("- unique: [ad_id, channel]", "no two rows have the same values in these columns; NULL is a value"),
        ("- unique: {columns: [ad_id], scope: table}", "nor has a row of any other interval"),
    )
    short = "columns"

    columns: ColumnNames
    scope: Scope = None

    def title(self) -> Sequence[str]:
        return (self.kind, *self.columns)

    def wrong(self, grain: Sequence[str], time_column: str) -> Iterator[tuple[str, str, str]]:
        yield from _time_in_key(self.scope, self.columns, time_column, "the key")

    def cells(self, model: Model) -> Sequence[str]:
        key = f"struct({names(self.columns)})"
        if self.where is not None:
            return [f"count_if({self.where}\n) - count(DISTINCT CASE WHEN {self.where}\nTHEN {key} END)"]
        return [f"count(*) - count(DISTINCT {key})"]

    def distinct(self, model: Model) -> str:
        return names(self.columns) if self.where is None else self.called

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        super().find(look, passes, found)
        if self.scope:
            _add(found.failures[self.called], count_across(look, self.columns, self.where))

    def samples(self, look: AuditScope) -> Sequence[str]:
        elsewhere = [sample_across(look, self.columns, self.where)] if self.scope else []
        return [_repeated(look, self.columns, _only(self.where)), *elsewhere]

    def rule(self, model: Model) -> str:
        return f"one row per {', '.join(self.columns)}{_in_table(self.scope)}"

    def meaning(self, model: Model) -> str:
        return f"There is only one row for each {listed(self.columns)}{_in_table(self.scope)}."


def _in_table(scope: str | None) -> str:
    return " in the whole table" if scope else ""


def _time_in_key(
    scope: str | None, columns: Sequence[str], time_column: str, what: str
) -> Iterator[tuple[str, str, str]]:
    if scope and time_column.lower() in {c.lower() for c in columns}:
        yield (
            f"`scope: table` asks nothing more of {what} ({', '.join(columns)})",
            f"the time column `{time_column}` is in it: two intervals cannot have the same key",
            "remove `scope`, or name the columns that no two rows of the table may share",
        )


def _add(counted: dict[datetime, Any], more: Mapping[datetime, int]) -> None:
    for at, keys in more.items():
        counted[at] = counted.get(at, 0) + keys


def _only(where: str | None) -> str:
    # An author's text may end in a comment: what follows it is on a line of its own.
    return "" if where is None else f" WHERE {where}\n"


def _repeated(look: AuditScope, columns: Sequence[str], where: str = "") -> str:
    """The keys that more than one row has."""
    at = interval_text(look.model)
    return (
        f"SELECT {at} AS {INTERVAL}, {key_text(columns, look.model.mask)} AS sample FROM {look.tables.rows()}{where} "
        f"GROUP BY {at}, {names(columns)} HAVING count(*) > 1"
    )
