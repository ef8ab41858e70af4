"""How bad is a change of a contract for who reads the table? The impact levels, and the comparison that gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from backfill_assets.contracts.contract import Contract, Promise
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.sql.types import safe_cast


class Level(StrEnum):
    """From harmless to harmful."""

    COMPATIBLE = "compatible"
    """Whoever relied on the old contract can rely on the new one."""
    ADDITIVE = "additive"
    """There is more to read; nobody has to."""
    BEHAVIOURAL = "behavioural"
    """The same query runs and says something else."""
    BREAKING = "breaking"
    """A query that ran may fail, or does not mean any more what it meant."""
    UNKNOWN = "unknown"
    """Nobody can tell: it counts as breaking."""

    @property
    def said(self) -> str:
        """In words for people."""
        return Category.ADDITIVE.said if self is Level.ADDITIVE else self.value

    @property
    def rank(self) -> int:
        """Its place in the order."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractChange:
    """One difference between two contracts. `column` is empty when it is about the whole table."""

    level: Level
    what: str
    column: str = ""
    values: bool = False
    """It is about rows and values, not about a promise: it reaches only who reads days that change."""

    def __str__(self) -> str:
        return f"{self.column}: {self.what}" if self.column else self.what


def compare_contracts(
    old: Contract | None, new: Contract | None, change: TableChange | None = None
) -> tuple[ContractChange, ...]:
    """All that differs for readers, worst first. `change` is what the plan says of rows and values (None: not asked).

    None stands for a contract that nobody knows (`old`), or for a model that is gone (`new`).
    """
    if new is None:
        return (ContractChange(level=Level.BREAKING, what="the table is gone"),)
    if old is None:
        what = "what is published was recorded without a contract"
        return (ContractChange(level=Level.UNKNOWN, what=what), *_values(change))
    found = [*_table(old, new), *_columns(old, new, change), *_values(change)]
    return tuple(sorted(found, key=lambda c: -c.level.rank))


def worst(changes: tuple[ContractChange, ...]) -> Level | None:
    """The worst level; None when there is no change."""
    return max((c.level for c in changes), key=lambda level: level.rank, default=None)


def _table(old: Contract, new: Contract) -> Iterator[ContractChange]:
    if set(old.grain) != set(new.grain):
        what = f"one row is now a {', '.join(new.grain)}; it was a {', '.join(old.grain)}"
        yield ContractChange(level=Level.BREAKING, what=what)
    if old.cadence != new.cadence:
        yield ContractChange(level=Level.BREAKING, what=f"it is {new.cadence} now; it was {old.cadence}")
    if old.time_column != new.time_column:
        what = f"the time column is {new.time_column} now; it was {old.time_column}"
        yield ContractChange(level=Level.BREAKING, what=what)
    if old.columns != new.columns and [c.name for c in old.columns] != [c.name for c in new.columns]:
        kept = {c.name for c in old.columns} & {c.name for c in new.columns}
        if [c.name for c in old.columns if c.name in kept] != [c.name for c in new.columns if c.name in kept]:
            yield ContractChange(level=Level.COMPATIBLE, what="its columns come in another order")


def _columns(old: Contract, new: Contract, change: TableChange | None) -> Iterator[ContractChange]:
    before, after = {c.name: c for c in old.columns}, {c.name: c for c in new.columns}
    if before and not after:
        yield ContractChange(level=Level.UNKNOWN, what="its columns are known when it is built")
        return
    renamed = dict(change.renamed) if change else {}
    for name, was in before.items():
        now = after.get(name)
        if now is not None:
            yield from _column(was, now, same=_same(name, change))
        elif name in renamed:
            yield ContractChange(level=Level.BREAKING, column=name, what=f"is called {renamed[name]} now")
        else:
            yield ContractChange(level=Level.BREAKING, column=name, what="is gone")
    for name in after:
        if name not in before and name not in renamed.values():
            yield ContractChange(level=Level.ADDITIVE, column=name, what="is new")


def _column(was: Promise, now: Promise, *, same: bool) -> Iterator[ContractChange]:
    def found(level: Level, what: str) -> ContractChange:
        return ContractChange(level=level, column=was.name, what=what)

    if was.type != now.type and not same:
        level, what = _types(was.type, now.type)
        yield found(level, what)
    if was.nullable and not now.nullable:
        yield found(Level.COMPATIBLE, "is never NULL now")
    if not was.nullable and now.nullable:
        yield found(Level.BREAKING, "may be NULL now")
    if was.values != now.values:
        if was.values is None:
            yield found(Level.COMPATIBLE, f"is one of {_few(now.values)} now")
        elif now.values is None:
            yield found(Level.BEHAVIOURAL, f"may be anything now; it was one of {_few(was.values)}")
        else:
            if more := sorted(set(now.values) - set(was.values)):
                yield found(Level.BEHAVIOURAL, f"may be {_few(more)} now")
            if less := sorted(set(was.values) - set(now.values)):
                yield found(Level.BREAKING, f"is never {_few(less)} now")
    if was.semantics != now.semantics:
        if not was.semantics:
            yield found(Level.COMPATIBLE, f"its meaning is written down: {now.semantics}")
        else:
            said = f"it means: {now.semantics}" if now.semantics else "its meaning is not written down any more"
            yield found(Level.BEHAVIOURAL, f"{said} (was: {was.semantics})")


def _types(was: str | None, now: str | None) -> tuple[Level, str]:
    if was is None or now is None:
        return Level.UNKNOWN, f"has a type that the build will tell; it was {was}" if was else "has no recorded type"
    what = f"is {now} now; it was {was}"
    if was.startswith(_NESTED) or now.startswith(_NESTED):
        return Level.UNKNOWN, what
    if not safe_cast(was, now):
        return Level.BREAKING, what
    return (Level.COMPATIBLE if _kind(was) == _kind(now) else Level.BEHAVIOURAL), what


_NESTED = ("array<", "map<", "struct<", "variant")
_KINDS = {"tinyint": "whole", "smallint": "whole", "int": "whole", "bigint": "whole", "float": "real", "double": "real"}


def _kind(type_: str) -> str:
    return _KINDS.get(type_, type_.partition("(")[0])


def _same(name: str, change: TableChange | None) -> bool:
    """Whether the plan knows that a column is computed as it was, types included."""
    return change is not None and change.category is not Category.NEW and not change.rows and name not in change.columns


def _values(change: TableChange | None) -> Iterator[ContractChange]:
    if change is None:
        return
    if change.rows:
        yield ContractChange(level=Level.BEHAVIOURAL, what="other rows may be there", values=True)
    for name in change.columns:
        yield ContractChange(level=Level.BEHAVIOURAL, column=name, what="may have other values", values=True)


def _few(values: tuple[str, ...] | list[str] | None) -> str:
    listed = list(values or ())
    return ", ".join(listed[:6]) + (f" and {len(listed) - 6} more" if len(listed) > 6 else "")
