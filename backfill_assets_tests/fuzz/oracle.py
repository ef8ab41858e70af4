"""Does what really comes out agree with what the product said?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from backfill_assets.core.model import ALL, ColumnRef
from backfill_assets.plan.category import same_for
from backfill_assets_tests.fuzz.case import Pair
from backfill_assets_tests.fuzz.engine import Result
from backfill_assets_tests.fuzz.frames import is_python
from backfill_assets_tests.fuzz.verdict import Said, Verdict


class Claim(StrEnum):
    """What was said of a model, from most to least."""

    KEPT = "kept"
    """The same table: rows, columns and values."""
    SAME = "same rows"
    """Additive or removal: the same rows, and the same values in every column that is in both."""
    COLUMNS = "columns"
    """The same rows; some columns may have other values."""
    ROWS = "rows"
    """Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Something that was said of a model, and is not so."""

    model: str
    said: str
    found: str


def claim(verdict: Verdict) -> Claim:
    if verdict.kept:
        return Claim.KEPT
    if verdict.change.rows:
        return Claim.ROWS
    return Claim.COLUMNS if verdict.change.columns else Claim.SAME


def contradiction(model: str, verdict: Verdict, old: Result, new: Result) -> Contradiction | None:
    """What is wrong in what was said of one model, if anything."""
    said = f"{'kept, ' if verdict.kept else ''}{verdict.change}"

    def wrong(found: str) -> Contradiction:
        return Contradiction(model=model, said=said, found=found)

    for one, result in ((verdict.old, old), (verdict.new, new)):
        if (twins := _twins(one, result)) is not None:
            return wrong(f"{' and '.join(twins)} have one hash and other values")
        names = {c.name.lower() for c in one.columns}
        if names and names != set(result.types):
            return wrong(f"its columns are {', '.join(result.types)}, not {', '.join(sorted(names))}")
    kind = claim(verdict)
    if kind is Claim.ROWS:
        return None
    if kind is Claim.KEPT and sorted(old.types) != sorted(new.types):
        return wrong(f"other columns: {', '.join(old.types)} → {', '.join(new.types)}")
    pairs = _equal_columns(verdict, old, new)
    ours, theirs = [o for o, _ in pairs], [n for _, n in pairs]
    if moved := [f"{o}: {old.types[o]} → {new.types[n]}" for o, n in pairs if old.types[o] != new.types[n]]:
        return wrong(f"another type of {', '.join(moved)}")
    before, after = old.of(ours), new.of(theirs)
    if before == after:
        return None
    lost, added = before - after, after - before
    names = ", ".join(ours) or "no column"
    return wrong(f"of {names}: {lost.total()} rows less {_some(lost)}, {added.total()} more {_some(added)}")


def unaffected(
    pair: Pair, model: str, verdicts: Mapping[str, Verdict], old: Result, new: Result
) -> Contradiction | None:
    """A reader whose text nobody edited, and of which nothing that it reads may differ: it has to give the same."""
    if pair.old[model] != pair.new[model]:
        return None
    said = verdicts[model].old
    signature = said.signature
    tables = {r.table for refs in (signature.row_reads, *signature.column_reads.values()) for r in refs}
    if said.opaque or not tables & verdicts.keys():
        return None
    if is_python(pair.old[model]):  # compiled to the names of the columns that are there
        signature = replace(signature, would_read=frozenset(ColumnRef(table=t, column=ALL) for t in verdicts))
    for name, verdict in verdicts.items():
        before, after = ([c.name.lower() for c in one.columns] for one in (verdict.old, verdict.new))
        if name != model and not same_for(signature, name, verdict.change, before, after):
            return None
    both = [c for c in old.types if c in new.types]
    if old.of(both) == new.of(both):
        return None
    return Contradiction(model=model, said="nothing that it reads may differ", found="other rows")


def really_equal(old: Result, new: Result) -> bool:
    """Whether what was said to differ did not: the columns that are in both have the same rows."""
    common = [c for c in old.types if c in new.types]
    if any(old.types[c] != new.types[c] for c in common):
        return False
    return old.of(common) == new.of(common)


def _equal_columns(verdict: Verdict, old: Result, new: Result) -> list[tuple[str, str]]:
    """Columns (old, new) that are said to hold the same: by name, and renamed ones."""
    before, after = verdict.old.signature.columns, verdict.new.signature.columns
    if not before and not after:  # opaque: kept as a whole
        return [(c, c) for c in old.types if c in new.types]
    found = [(c, c) for c in before if before[c] == after.get(c) and c in old.types and c in new.types]
    return found + [(o, n) for o, n in verdict.change.renamed if o in old.types and n in new.types]


def _twins(said: Said, result: Result) -> tuple[str, str] | None:
    """Two columns of one table with one hash that differ in a row."""
    first: dict[str, str] = {}
    at = {name: index for index, name in enumerate(result.types)}
    for name, mark in said.signature.columns.items():
        other = first.setdefault(mark, name)
        if other != name and name in at and other in at and any(r[at[name]] != r[at[other]] for r in result.rows):
            return other, name
    return None


def _some(rows: Mapping[tuple[str, ...], int]) -> str:
    return "; ".join("(" + ", ".join(row) + ")" for row in list(rows)[:3])
