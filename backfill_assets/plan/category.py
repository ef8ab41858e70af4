"""What kind of change is it, compared with what an environment shows? Read off two signatures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from backfill_assets.core.model import ALL, Signature
from backfill_assets.project.algorithm import taken_whole


class Category(StrEnum):
    """Kinds of change, by what they mean for who reads the table."""

    NEW = "new"
    """The environment does not show the model yet."""
    UNCHANGED = "unchanged"
    """The same table: comments, formatting, CTE names, descriptions, owners and audits decide no row."""
    ADDITIVE = "additive"
    """The same rows and values, and more columns."""
    REMOVAL = "removal"
    """The same rows and values, fewer columns: nothing to recompute, but who reads those columns breaks."""
    BREAKING = "breaking"
    """Rows or values may differ: of the columns in `Change.columns`, or of all when that is empty."""

    @property
    def said(self) -> str:
        """In words for people.

        >>> Category.ADDITIVE.said, Category.BREAKING.said
        ('additive, non-breaking', 'breaking')
        """
        return "additive, non-breaking" if self is Category.ADDITIVE else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """How a table differs. `columns` are those whose values may differ; `rows` says that any row may."""

    category: Category
    rows: bool = False
    columns: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """(old, new) names of columns that are computed as before: they are among `removed` and `added` as well."""

    def __str__(self) -> str:
        parts: list[str] = []
        if self.rows:
            parts.append("rows may differ")
        elif self.columns:
            parts.append(f"{', '.join(self.columns)} may differ")
        renamed = dict(self.renamed)
        parts += [f"{old} is now called {new}" for old, new in self.renamed]
        if more := [c for c in self.added if c not in renamed.values()]:
            parts.append(f"adds {', '.join(more)}")
        if less := [c for c in self.removed if c not in renamed]:
            parts.append(f"removes {', '.join(less)}")
        return f"{self.category.said}: {'; '.join(parts)}" if parts else self.category.said


def change_between(shown: Signature | None, code: Signature, there: Collection[str] = ()) -> TableChange:
    """The change from what is shown (None: nothing) to what the code says.

    `there` are the columns that the shown table has, by its record: the signature of code that nobody looks into names
    those that its header declares, if any.
    """
    if shown is None:
        return TableChange(category=Category.NEW)
    old, new = shown.columns, code.columns
    known = {*old, *(c.lower() for c in there)} if taken_whole(shown) else old.keys()
    added = tuple(c for c in new if c not in known)
    removed = tuple(c for c in old if c not in new) if new else ()  # no column is named: nobody knows
    if shown.rows != code.rows:
        return TableChange(category=Category.BREAKING, rows=True, added=added, removed=removed)
    if taken_whole(shown) and taken_whole(code):  # the same code, which gives the same columns, whatever is declared
        return TableChange(category=Category.UNCHANGED)
    changed = tuple(c for c in new if c in old and old[c] != new[c])
    renamed = tuple((o, n) for o in removed for n in added if old[o] == new[n])
    if changed:
        category = Category.BREAKING
    elif removed:
        category = Category.REMOVAL
    else:
        category = Category.ADDITIVE if added else Category.UNCHANGED
    return TableChange(category=category, columns=changed, added=added, removed=removed, renamed=renamed)


def same_for(
    reader: Signature, upstream: str, change: TableChange, before: Sequence[str] = (), after: Sequence[str] = ()
) -> bool:
    """Whether a reader, its text as it is, gives the same over an upstream after the change.

    `before` and `after`: the upstream's columns in their orders. A column that is added may be taken by `*`, pair with
    others by its place, or be what a name means from then on. Of a reader that is not taken apart nobody can say.
    """
    reads = {
        r.column for refs in (reader.row_reads, *reader.column_reads.values()) for r in refs if r.table == upstream
    }
    would = {r.column for r in reader.would_read if r.table == upstream}
    if change.rows or not (reader.row_reads or reader.column_reads) or reads & {*change.columns, *change.removed}:
        return False
    if (reads | would) & set(change.added):
        return False
    there, then = [c for c in before if c in after], [c for c in after if c in before]
    return ALL not in would or (not change.added and not change.removed and there == then)


def affects(change: TableChange, reads: frozenset[str]) -> frozenset[str]:
    """Which of the columns that somebody reads may show other values, or are gone, after the change."""
    if change.rows:
        return reads
    return reads & {*change.columns, *change.removed}
