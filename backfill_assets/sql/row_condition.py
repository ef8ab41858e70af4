"""Does a text say of each row by itself, and always alike, whether it is meant? What the scope of a restatement is."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.sql.expressions import columns_of, condition
from backfill_assets.sql.nondeterministic import uses_in_text
from backfill_assets.sql.parsing import parse

_SELECT = "SELECT "


def row_condition(value: str) -> tuple[str, tuple[str, ...]]:
    """The condition, and the columns that it names, as written.

    Raises ValueError for what is no condition of one row: aggregates, windows, subqueries, parameters, the clock,
    chance, functions that Spark does not have.

    >>> row_condition(" region = 'de' AND upper(Kind) <> 'B' ")
    ("region = 'de' AND upper(Kind) <> 'B'", ('region', 'Kind'))
    """
    text = condition(value)
    (tree,) = parse(f"{_SELECT}{text}\n").statements
    for use in uses_in_text(f"{_SELECT}{text}\n"):
        raise ValueError(f"{use.name}: {use.cause.why}")
    if tree.find(exp.Star):
        raise ValueError("`*` stands for columns that it does not name: name them")
    if tree.find(exp.UDTF):
        raise ValueError("a function that makes several rows of one is no condition on one row")
    if unknown := next(tree.find_all(exp.Anonymous), None):
        raise ValueError(f"{unknown.name}() is not known: it may be a function of one's own, which nobody looks into")
    for column in tree.find_all(exp.Column):
        if column.table:
            raise ValueError(f"`{column.sql('spark')}`: a column of the model is named by its name alone")
    columns = columns_of(text)
    if not columns:
        raise ValueError("it names no column")
    return text, columns


def renamed(text: str, names: dict[str, str]) -> str | None:
    """The condition with other names (lower-cased old one → new one) of its columns; None where their places are not
    known.

    >>> renamed("region = 'region' AND `region` <> ''", {"region": "Country"})
    "`Country` = 'region' AND `Country` <> ''"
    """
    (tree,) = parse(f"{_SELECT}{text}\n").statements
    edits: list[tuple[int, int, str]] = []
    for column in tree.find_all(exp.Column):
        start, end = column.this.meta_get("start"), column.this.meta_get("end")
        if start is None or end is None:
            return None
        first, last = start - len(_SELECT), end + 1 - len(_SELECT)
        if text[first:last].strip("`").lower() != column.name.lower():
            return None
        new = names[column.name.lower()].replace("`", "``")
        edits.append((first, last, f"`{new}`"))
    for first, last, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[last:]
    return text
