"""Which columns are computed from others than before? The lineage of two versions compared, with what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from backfill_assets.core.model import ColumnRef, Model, Project, Signature
from backfill_assets.core.wording import first_few
from backfill_assets.plan.reasons import ROWS

ColumnTexts = Mapping[str, str]
"""What is written about the columns of a version, by lower-cased name; a column of which nothing is lacks."""
MOST_NAMED = 3
"""How many columns a sentence names on each side."""
Meaning = Literal["unchanged", "changed", "unwritten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageChange:
    """Columns of a model (lower-cased; ROWS: which rows there are) that read others than before, all the same ones.

    `before` are no longer read and `now` are new, as `table.column`; `meaning` is what became of the written meaning of
    the columns themselves.
    """

    model: str
    columns: tuple[str, ...]
    before: tuple[str, ...]
    now: tuple[str, ...]
    meaning: Meaning
    text: str
    """All of it as a sentence, with what is written about the columns that are new."""


def lineage_changes(
    model: str,
    old: Signature,
    new: Signature,
    was: ColumnTexts,
    says: ColumnTexts,
    described: Callable[[ColumnRef], str],
) -> tuple[LineageChange, ...]:
    """What each column of both versions reads otherwise; nothing where one of the two was not looked into.

    `was` and `says` are what is written about the columns of each, `described` what is written about an upstream's.
    """
    if not (old.column_reads and new.column_reads):
        return ()
    found: dict[tuple[frozenset[ColumnRef], frozenset[ColumnRef], Meaning], list[str]] = {}
    for name, reads in [*new.column_reads.items(), (ROWS, new.row_reads)]:
        before = old.row_reads if name == ROWS else old.column_reads.get(name)
        if before is None or before == reads:
            continue
        meaning: Meaning = "unwritten"
        if name in was or name in says:
            meaning = "unchanged" if was.get(name) == says.get(name) else "changed"
        found.setdefault((before - reads, reads - before, meaning), []).append(name)
    return tuple(
        LineageChange(
            model=model,
            columns=tuple(columns),
            before=_names(gone),
            now=_names(come),
            meaning=meaning,
            text=_text(columns, gone, come, meaning, described),
        )
        for (gone, come, meaning), columns in found.items()
    )


def written(columns: Iterable[tuple[str, str]], semantics: Mapping[str, str]) -> dict[str, str]:
    """What is written about columns, by lower-cased name: descriptions, and what a contract says that they mean."""
    found = {name.lower(): _plain(text) for name, text in columns if text.strip()}
    for name, text in semantics.items():
        found[name.lower()] = "; ".join(filter(None, (found.get(name.lower(), ""), _plain(text))))
    return found


def written_in(model: Model) -> dict[str, str]:
    """What a model's header says of its columns."""
    return written(((c.name, c.description) for c in model.columns), model.terms.semantics)


def written_then(definition: Mapping[str, Any]) -> dict[str, str]:
    """What the header said of which a version was made."""
    columns = cast(list[list[str | None]], definition.get("columns") or ())
    semantics = (definition.get("contract") or {}).get("semantics") or {}
    return written(((str(c[0]), str(c[2] or "")) for c in columns if len(c) > 2), semantics)


def describe(project: Project) -> Callable[[ColumnRef], str]:
    """What the project's files say of a column of a source or model; "" where nothing."""
    known = {name: source.columns for name, source in project.sources.items()} | dict(project.columns)
    said = {
        (table, column.name.lower()): _plain(column.description) for table, each in known.items() for column in each
    }
    return lambda ref: said.get((ref.table, ref.column.lower()), "")


def _text(
    columns: list[str],
    gone: frozenset[ColumnRef],
    come: frozenset[ColumnRef],
    meaning: Meaning,
    described: Callable[[ColumnRef], str],
) -> str:
    names = [name for name in columns if name != ROWS]
    subject = first_few(names) if names else "which rows there are"
    if names and ROWS in columns:
        subject += ", and which rows there are,"
    many = len(columns) > 1
    reads, read = ("read" if many else "reads"), "read"
    if not names:
        reads, read = "depends on", "depend on"
    new = [f"{ref.table}.{ref.column}{_said(described(ref))}" for ref in _ordered(come)]
    if new and gone:
        said = f"{subject} now {reads} {first_few(new, MOST_NAMED)} instead of {first_few(_names(gone), MOST_NAMED)}"
    elif new:
        said = f"{subject} now {reads} {first_few(new, MOST_NAMED)} as well"
    else:
        said = f"{subject} {'do' if many else 'does'} not {read} {first_few(_names(gone))} any more"
    whose = "their" if many else "its"
    match meaning:
        case "unchanged":
            return f"{said}; {whose} written meaning is unchanged"
        case "changed":
            return f"{said}; {whose} written meaning was changed as well"
        case "unwritten":
            return said


def _said(text: str) -> str:
    """`('the customer's wall clock, without a zone')`."""
    return f" ('{text.rstrip('.')}')" if text else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


def _ordered(refs: frozenset[ColumnRef]) -> list[ColumnRef]:
    return sorted(refs, key=lambda ref: (ref.table, ref.column))


def _names(refs: frozenset[ColumnRef]) -> tuple[str, ...]:
    return tuple(f"{ref.table}.{ref.column}" for ref in _ordered(refs))
