"""The relations that a query joins, the days that their columns are of, and the refusal of a part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from backfill_assets.importing.bounds import MACRO
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRelation:
    """What a FROM may name. `dated`: its rows are of days, and its columns with `day` say which. `bounded`: of the
    wanted days only. `key` are the columns of its GROUP BY, when all of them are given."""

    columns: Mapping[str, Value]
    dated: bool = False
    bounded: bool = False
    key: tuple[str, ...] = ()


@dataclass(slots=True)
class JoinedRelation:
    """One relation of a FROM: what it is called, and whether its rows may be missing (LEFT JOIN)."""

    name: str
    relation: NamedRelation
    optional: bool
    bounds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


Member = tuple[str, str]
"""A part's name and a column of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two columns of one day. `joined`: the part of the LEFT JOIN whose ON says so; of other parts it says nothing."""

    one: Member
    other: Member
    joined: str = ""


def looker(parts: Sequence[JoinedRelation], dialect: str) -> Callable[[exp.Column], Value]:
    """What a column is that an expression names; a bound where it has no meaning is refused."""

    def look(node: exp.Column) -> Value:
        if node.name.lower().startswith(MACRO):
            macro = node.name.lower().removeprefix(MACRO)
            raise Untranslatable(
                f"`@{macro}` outside of a condition `column BETWEEN start AND end` in WHERE",
                why="its value depends on how many days are computed at once",
                fix="filter by it, and give the day by a column",
                line=first_line(node),
            )
        part = part_of(node, parts, dialect)
        return part.relation.columns[node.name.lower()]

    return look


def part_of(node: exp.Column, parts: Sequence[JoinedRelation], dialect: str) -> JoinedRelation:
    """The one part that a column is of. Raises Untranslatable."""
    if node.args.get("db"):
        raise refuse(node, dialect, why="a column with the schema of its table", fix="give the table an alias")
    name, table = node.name.lower(), node.table.lower()
    found = [p for p in parts if (not table or p.name == table) and name in p.relation.columns]
    if len(found) != 1:
        why = "several tables have a column of that name" if found else "no table that is read is known to have it"
        raise refuse(node, dialect, why=why, fix="declare the columns of the source, or write its table's name before")
    return found[0]


def day_column(node: exp.Expr) -> exp.Column | None:
    """The column of which this is the value or the day."""
    while True:
        match node:
            case exp.Column():
                return node
            case exp.Paren() | exp.Date() | exp.TsOrDsToDate():
                node = node.this
            case exp.Cast() if type(node) is exp.Cast and node.to.sql(dialect="spark").upper() == "DATE":
                node = node.this
            case _:
                return None


def link_of(node: exp.Expr, parts: Sequence[JoinedRelation], joined: str) -> Link | None:
    """The two columns of which an equality says that they are of the same day."""
    if not isinstance(node, exp.EQ):
        return None
    left, right = day_column(node.this), day_column(node.expression)
    if left is None or right is None:
        return None
    one, other = part_of(left, parts, ""), part_of(right, parts, "")
    kinds = {one.relation.columns[left.name.lower()].kind, other.relation.columns[right.name.lower()].kind}
    if not kinds <= {"date", "timestamp"}:
        return None
    return Link(one=(one.name, left.name.lower()), other=(other.name, right.name.lower()), joined=joined)


def connected(start: Member, links: Sequence[Link], days: Mapping[str, set[Member]]) -> set[Member]:
    """What is of the day of one column. A LEFT JOIN leads to what it joins only: a row without a match stays."""
    group, size = {start}, 0
    while size < len(group):
        size = len(group)
        for link in links:
            for here, there in ((link.one, link.other), (link.other, link.one)):
                if here in group and link.joined in ("", there[0]):
                    group.add(there)
        for own in days.values():  # the day columns of one relation are of one day
            if group & own:
                group |= own
    return group


def has_bounds(node: exp.Expr) -> bool:
    """Whether a bound is in an expression."""
    return any(c.name.lower().startswith(MACRO) for c in node.find_all(exp.Column))


def first_line(node: exp.Expr) -> int:
    """The first line that a name in an expression is at."""
    return min((i.meta_get("line") for i in node.find_all(exp.Identifier) if i.meta_get("line")), default=1)


def refuse(node: exp.Expr, dialect: str, *, what: str = "", why: str = "", fix: str = "") -> Untranslatable:
    """The error for a part of a query, with its text and line."""
    said = " ".join(node.sql(dialect=dialect or None, comments=False).split()).replace(MACRO, "@")
    return Untranslatable(
        what or f"`{said[:120]}`",
        why=why or "it is not on the list of what is known to mean the same here",
        fix=fix or "write the model's query for Spark yourself",
        line=first_line(node),
    )
