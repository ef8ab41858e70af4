"""What does a name mean within a SELECT? Its tables, their columns, and the queries around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backfill_assets.core.digest import digest
from backfill_assets.core.model import ALL, Column, ColumnRef, Refs, Signature
from backfill_assets.sql.signature.marks import Mark, Opaque, mix

ABSENT = "?"
"""What a reference to a column begins with that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A model or source as a query reads it.

    `key`: columns that no two rows share; None: nobody vouches for any. `columns`: all that it has, in the order in
    which it is read; none: nobody knows them, unless the signature does.
    """

    name: str
    signature: Signature
    key: frozenset[str] | None = None
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Rows, columns in order (name as written, mark), and a set of columns that is unique.

    `table`: where columns are read of which nobody knows. `filtered`: what `rows` is a mere filter of, and by what.
    """

    rows: Mark
    columns: tuple[tuple[str, Mark], ...]
    key: frozenset[str] | None = None
    table: Table | None = None
    filtered: tuple[Mark, tuple[Mark, ...]] | None = None
    stars: Refs = frozenset()
    """The tables (with the column `*`) all of whose columns are listed: one more of theirs is one more here."""

    @property
    def known(self) -> bool:
        return self.table is None or bool(self.columns)

    def find(self, name: str) -> list[Mark]:
        """The columns of that name; of a table whose columns nobody knows, what it is taken for."""
        if not self.known:
            assert self.table is not None
            return [_column_of(self.table, name, None)]
        return [mark for column, mark in self.columns if column.lower() == name.lower()]


def table_relation(table: Table) -> Relation:
    columns = table.columns or tuple(Column(name=n, type=None) for n in table.signature.columns)
    return Relation(
        rows=Mark(table.signature.rows),
        columns=tuple((c.name, _column_of(table, c.name, c.type)) for c in columns),
        key=table.key,
        table=table,
        stars=frozenset((ColumnRef(table=table.name, column=ALL),)),
    )


def _column_of(table: Table, name: str, type_: str | None) -> Mark:
    name = name.lower()
    text = table.signature.columns.get(name) or digest("unknown", table.signature.rows, name)
    if type_ and type_.startswith("varchar"):
        type_ = "string"
    return Mark(text, frozenset((ColumnRef(table=table.name, column=name),)), type_)


@dataclass(slots=True)
class Placed:
    """A table of FROM: the names that it goes by, and what tells its columns from another's.

    `place`: its number among the tables that decide rows, or (a join that keeps the rows) what the join is.
    """

    names: frozenset[str]
    relation: Relation
    place: object
    hidden: bool = False


@dataclass(slots=True)
class Scope:
    """The tables of one SELECT, and the SELECT around it where this one is a subquery of an expression."""

    parent: Scope | None = None
    placed: list[Placed] = field(default_factory=list[Placed])
    merged: dict[str, Mark] = field(default_factory=dict[str, Mark])
    """Columns that USING makes one of two."""
    joined_by: tuple[tuple[str, ...], ...] = ()
    """The columns of USING by which each table of FROM is joined, in their order; of the first one, none."""
    alone: bool = True
    """Whether one table decides the rows: its columns need no place then."""

    def at(self, number: int, name: str, mark: Mark) -> Mark:
        """The mark of a column of the table with this number, as this SELECT sees it."""
        placed = self.placed[number]
        seen = mark if placed.place == 0 and self.alone else mix("of", placed.place, mark)
        return replace(seen, type=mark.type, origin=(number, name.lower()))

    def find(self, parts: Sequence[str]) -> tuple[Mark, Sequence[str]] | None:
        """The column of FROM that dotted names mean, and the fields of it that they go on with."""
        found = [*self._qualified(parts), *self._plain(parts)]
        if len(found) > 1:
            raise Opaque(f"`{'.'.join(parts)}` may mean several columns")
        return found[0] if found else None

    def around(self, parts: Sequence[str]) -> tuple[Mark, Sequence[str]] | None:
        """The column of a query around this one."""
        level, scope = 1, self.parent
        lacking = self.lacks(parts[0])
        while scope is not None:
            if (found := scope.find(parts)) is not None:
                mark, rest = found
                return mix("outer", level, mark).reading(lacking).typed(mark.type), rest
            lacking |= scope.lacks(parts[0])
            level, scope = level + 1, scope.parent
        return None

    def lacks(self, name: str) -> Refs:
        """A column that none of the tables has: if one had it, the name would mean that."""
        tables = {ref.table for p in self.placed for ref in p.relation.stars}
        return frozenset(ColumnRef(table=t, column=ABSENT + name.lower()) for t in tables)

    def stars(self, of: Sequence[str] = ()) -> Refs:
        """The tables whose columns `*` lists, or `a.*`."""
        name = ".".join(of).lower()
        return frozenset(
            ref for p in self.placed if not p.hidden and (not of or name in p.names) for ref in p.relation.stars
        )

    def everything(self, of: Sequence[str] = ()) -> list[tuple[str, Mark]]:
        """The columns that `*` means, or `a.*`."""
        chosen = [(n, p) for n, p in enumerate(self.placed) if not p.hidden]
        if of:
            name = ".".join(of).lower()
            chosen = [(n, p) for n, p in chosen if name in p.names]
            if len(chosen) != 1:
                raise Opaque(f"`{name}.*` of an unknown table")
        if not all(p.relation.known for _, p in chosen):
            raise Opaque("`*` of a table whose columns are unknown")
        front = self._front(one=bool(of))
        found = [] if of else list(self.merged.items())
        for number, placed in chosen:
            columns = placed.relation.columns
            if of and number < len(self.joined_by) and (not number or self.joined_by[number]):
                # Spark brings them to the front of what comes of the join, and of each table of it.
                columns = tuple(sorted(columns, key=lambda c: (*front, c[0].lower()).index(c[0].lower())))
            found += [
                (name, self.at(number, name, mark))
                for name, mark in columns
                if of or name.lower() not in self.merged or number > self._last(name.lower())
            ]
        return found

    def _last(self, name: str) -> int:
        """The number of the last table that is joined by a column of USING: what comes behind has its own."""
        return max(number for number, names in enumerate(self.joined_by) if name in names)

    def _front(self, *, one: bool) -> tuple[str, ...]:
        """The columns of USING. Where joins say it of several, or (of `one` table's star) the first one does not, their
        order is a matter of which tables have them."""
        said = {names for names in self.joined_by if names}
        if len(said) > 1 or (one and said and not self.joined_by[1]):
            raise Opaque("`*` over USING of some tables")
        return next(iter(said), ())

    def _qualified(self, parts: Sequence[str]) -> list[tuple[Mark, Sequence[str]]]:
        found: list[tuple[Mark, Sequence[str]]] = []
        for length in range(1, len(parts)):
            name = ".".join(parts[:length]).lower()
            for number, placed in enumerate(self.placed):
                if name in placed.names and not placed.hidden:
                    marks = placed.relation.find(parts[length])
                    found += [(self.at(number, parts[length], mark), parts[length + 1 :]) for mark in marks]
        return found

    def _plain(self, parts: Sequence[str]) -> list[tuple[Mark, Sequence[str]]]:
        name, rest = parts[0], parts[1:]
        if name.lower() in self.merged:
            return [(self.merged[name.lower()], rest)]
        seen = [(n, p) for n, p in enumerate(self.placed) if not p.hidden]
        if len(parts) > 1 and any(name.lower() in p.names for _, p in seen):
            found = [(n, m) for n, p in seen if p.relation.known for m in p.relation.find(name)]
        elif len(seen) > 1 and not all(p.relation.known for _, p in seen):
            raise Opaque(f"`{name}` may be of a table whose columns are unknown")
        else:
            found = [(n, m) for n, p in seen for m in p.relation.find(name)]
        return [(self.at(number, name, mark), rest) for number, mark in found]
