"""Of which clauses is a query made? Only those that are seen through: anything else raises Opaque.

query   = [WITH name [(columns)] [AS] (query), …] body [ORDER BY …] [LIMIT …] [OFFSET …]
body    = term { UNION | EXCEPT | MINUS | INTERSECT [ALL | DISTINCT] term }
term    = SELECT … | (query)
SELECT [DISTINCT] … FROM table { join } { LATERAL VIEW … } [WHERE] [GROUP BY] [HAVING] [WINDOW] [QUALIFY]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backfill_assets.sql.signature.functions import words
from backfill_assets.sql.signature.marks import Opaque
from backfill_assets.sql.signature.tokens import Node, Tok, TokenGroup, TokenKind, split

Nodes = tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """One entry of the SELECT list. `alias` as written; none of a mere expression."""

    nodes: Nodes
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromItem:
    """A table of FROM. `kind`: how it is joined (nothing for the first)."""

    kind: str = ""
    table: tuple[str, ...] = ()
    query: Query | None = None
    alias: str | None = None
    columns: tuple[str, ...] = ()
    on: Nodes = ()
    using: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LateralView:
    outer: bool
    function: str
    arguments: Nodes
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    start: int
    distinct: bool
    projections: tuple[Projection, ...]
    items: tuple[FromItem, ...]
    laterals: tuple[LateralView, ...] = ()
    where: Nodes = ()
    group: Nodes = ()
    having: Nodes = ()
    qualify: Nodes = ()
    windows: dict[str, Nodes] = field(default_factory=dict[str, Nodes])


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperation:
    kind: str
    distinct: bool
    left: Body
    right: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Cte:
    name: str
    columns: tuple[str, ...]
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    body: Body
    ctes: tuple[Cte, ...] = ()
    order: Nodes = ()
    limit: Nodes = ()
    offset: Nodes = ()


Body = Select | SetOperation | Query
_JOINS = {
    "JOIN": "INNER", "INNER JOIN": "INNER", "CROSS JOIN": "INNER", "LEFT JOIN": "LEFT", "LEFT OUTER JOIN": "LEFT",
    "RIGHT JOIN": "RIGHT", "RIGHT OUTER JOIN": "RIGHT", "FULL JOIN": "FULL", "FULL OUTER JOIN": "FULL",
    "LEFT SEMI JOIN": "SEMI", "SEMI JOIN": "SEMI", "LEFT ANTI JOIN": "ANTI", "ANTI JOIN": "ANTI",
}  # fmt: skip
"""What is written, and which of them mean the same: the rewrite `join words`."""
_SET_OPERATIONS = {"UNION": "UNION", "EXCEPT": "EXCEPT", "MINUS": "EXCEPT", "INTERSECT": "INTERSECT"}
_ENDS = words("""
    from where group having qualify window order limit offset union except minus intersect lateral join inner
    left right full cross semi anti natural on using sort cluster distribute select with
""")


def is_query(group: TokenGroup) -> bool:
    """Whether brackets hold a query, and not an expression."""
    inner = group.nodes
    while len(inner) >= 1 and isinstance(inner[0], TokenGroup) and inner[0].opened == "(":
        inner = inner[0].nodes
    return bool(inner) and isinstance(inner[0], Tok) and inner[0].is_word("SELECT", "WITH")


def read_query(nodes: Sequence[Node]) -> Query:
    """The clauses of a whole query; raises Opaque."""
    reader = _Reader(nodes)
    query = reader.query()
    reader.end()
    return query


class _Reader:
    """Goes over the nodes of one pair of brackets."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes, self._at = nodes, 0

    # --- queries ------------------------------------------------------------------------------------------------------

    def query(self) -> Query:
        ctes: list[Cte] = []
        if self._take("WITH"):
            ctes.append(self._cte())
            while self._take_symbol(","):
                ctes.append(self._cte())
        body = self._body()
        order = limit = offset = ()
        if self._take("ORDER"):
            self._expect("BY")
            order = self._expression()
        if self._take("LIMIT"):
            limit = self._expression()
        if self._take("OFFSET"):
            offset = self._expression()
        return Query(body=body, ctes=tuple(ctes), order=order, limit=limit, offset=offset)

    def end(self) -> None:
        if self._at < len(self._nodes):
            node = self._nodes[self._at]
            raise Opaque(f"`{node.text}`" if isinstance(node, Tok) else "brackets")

    def _cte(self) -> Cte:
        name = self._name()
        columns = self._names()
        self._take("AS")
        return Cte(name=name.lower(), columns=columns, query=self._bracketed())

    def _body(self) -> Body:
        left = self._term()
        kinds: set[str] = set()
        while (word := self._peek_word()) in _SET_OPERATIONS:
            self._at += 1
            kind = _SET_OPERATIONS[word]
            kinds.add(kind)
            if "INTERSECT" in kinds and len(kinds) > 1:
                raise Opaque("INTERSECT beside other set operations")
            distinct = not self._take("ALL")
            if distinct:
                self._take("DISTINCT")
            left = SetOperation(kind=kind, distinct=distinct, left=left, right=self._term())
        return left

    def _term(self) -> Body:
        if isinstance(self._peek(), TokenGroup):
            return self._bracketed()
        return self._select()

    def _bracketed(self) -> Query:
        group = self._peek()
        if not isinstance(group, TokenGroup) or group.opened != "(":
            raise Opaque("no query where there should be one")
        self._at += 1
        return read_query(group.nodes)

    # --- SELECT -------------------------------------------------------------------------------------------------------

    def _select(self) -> Select:
        first = self._peek()
        self._expect("SELECT")
        assert isinstance(first, Tok)
        distinct = self._take("DISTINCT")
        if not distinct:
            self._take("ALL")
        projections = tuple(_projection(p) for p in split(self._expression()))
        if not self._take("FROM"):
            raise Opaque("no FROM")
        items = self._from()
        laterals: list[LateralView] = []
        while self._take("LATERAL"):
            laterals.append(self._lateral())
        parts: dict[str, Nodes] = {}
        windows: dict[str, Nodes] = {}
        while (word := self._peek_word()) in ("WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW"):
            if word in parts:
                raise Opaque(f"{word} twice")
            self._at += 1
            if word == "GROUP":
                self._expect("BY")
            if word == "WINDOW":
                windows = self._windows()
            parts[word] = () if word == "WINDOW" else self._expression()
        return Select(
            start=first.start, distinct=distinct, projections=projections, items=items, laterals=tuple(laterals),
            where=parts.get("WHERE", ()), group=parts.get("GROUP", ()), having=parts.get("HAVING", ()),
            qualify=parts.get("QUALIFY", ()), windows=windows,
        )  # fmt: skip

    def _from(self) -> tuple[FromItem, ...]:
        items = [self._item("")]
        while self._take_symbol(","):
            items.append(self._item("INNER"))
        listed = len(items) > 1
        while (kind := self._join()) is not None:
            if listed:
                raise Opaque("JOIN behind a list of tables")
            items.append(self._item(kind))
        return tuple(items)

    def _join(self) -> str | None:
        words: list[str] = []
        while (word := self._peek_word(len(words))) in (
            "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER", "SEMI", "ANTI", "NATURAL",
        ):  # fmt: skip
            words.append(word)
            if word == "JOIN":
                break
        if not words:
            return None
        if (kind := _JOINS.get(" ".join(words))) is None:
            raise Opaque(" ".join(words))
        self._at += len(words)
        return kind

    def _item(self, kind: str) -> FromItem:
        node = self._peek()
        table: tuple[str, ...] = ()
        query: Query | None = None
        if isinstance(node, TokenGroup):
            if not is_query(node):
                raise Opaque("joins in brackets")
            query = self._bracketed()
        else:
            table = (self._name("Table."),)
            while self._take_symbol("."):
                table = (*table, self._name("Table."))
        alias, columns = self._alias()
        on: Nodes = ()
        using: tuple[str, ...] = ()
        if kind and self._take("ON"):
            on = self._expression()
        elif kind and self._take("USING"):
            using = tuple(n.lower() for n in self._names())
            if not using:
                raise Opaque("USING nothing")
        return FromItem(kind=kind, table=table, query=query, alias=alias, columns=columns, on=on, using=using)

    def _alias(self) -> tuple[str | None, tuple[str, ...]]:
        named = self._take("AS")
        node = self._peek()
        if isinstance(node, Tok) and node.kind is TokenKind.NAME and node.role == "TableAlias.this":
            self._at += 1
            return node.name.lower(), self._names()
        if named:
            raise Opaque("an alias that is not seen as one")
        return None, ()

    def _lateral(self) -> LateralView:
        self._expect("VIEW")
        outer = self._take("OUTER")
        function, group = self._peek(), self._peek(1)
        if not isinstance(function, Tok) or not isinstance(group, TokenGroup) or group.opened != "(":
            raise Opaque("LATERAL VIEW of no function")
        self._at += 2
        alias, columns = self._alias()
        if alias is None:
            raise Opaque("LATERAL VIEW without a name")
        if not columns and self._take("AS"):
            columns = (self._name().lower(),)
            while self._take_symbol(","):
                columns = (*columns, self._name().lower())
        return LateralView(
            outer=outer, function=function.name.upper(), arguments=group.nodes, alias=alias, columns=columns
        )

    def _windows(self) -> dict[str, Nodes]:
        found: dict[str, Nodes] = {}
        while True:
            name = self._name().lower()
            self._expect("AS")
            group = self._peek()
            if not isinstance(group, TokenGroup) or name in found:
                raise Opaque("a window that is not defined by itself")
            self._at += 1
            found[name] = group.nodes
            if not self._take_symbol(","):
                return found

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _expression(self) -> Nodes:
        """The nodes up to the next clause."""
        first = self._at
        while (node := self._peek()) is not None and not self._ends(node):
            self._at += 1
        if first == self._at:
            raise Opaque("an empty clause")
        return tuple(self._nodes[first : self._at])

    def _ends(self, node: Node) -> bool:
        if not isinstance(node, Tok) or node.kind is not TokenKind.WORD or node.text not in _ENDS:
            return False
        before = self._nodes[self._at - 1] if self._at else None
        if isinstance(before, Tok):
            if node.text == "GROUP" and before.is_word("WITHIN"):
                return False
            if node.text == "FROM" and before.is_word("DISTINCT"):  # IS [NOT] DISTINCT FROM
                earlier = self._nodes[self._at - 2] if self._at > 1 else None
                return not (isinstance(earlier, Tok) and earlier.is_word("IS", "NOT"))
            if node.text == "EXCEPT" and before.is_symbol("*"):
                return False
        return not (node.text in ("LEFT", "RIGHT") and isinstance(self._peek(1), TokenGroup))

    def _peek(self, ahead: int = 0) -> Node | None:
        at = self._at + ahead
        return self._nodes[at] if at < len(self._nodes) else None

    def _peek_word(self, ahead: int = 0) -> str:
        node = self._peek(ahead)
        return node.text if isinstance(node, Tok) and node.kind is TokenKind.WORD else ""

    def _take(self, word: str) -> bool:
        found = self._peek_word() == word
        self._at += found
        return found

    def _take_symbol(self, symbol: str) -> bool:
        node = self._peek()
        found = isinstance(node, Tok) and node.is_symbol(symbol)
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise Opaque(f"no {word} where there should be one")

    def _name(self, role: str = "") -> str:
        node = self._peek()
        if not isinstance(node, Tok) or node.kind is not TokenKind.NAME or not node.role.startswith(role):
            raise Opaque("no name where there should be one")
        self._at += 1
        return node.name

    def _names(self) -> tuple[str, ...]:
        """Names in brackets, if there are any."""
        group = self._peek()
        if not isinstance(group, TokenGroup) or group.opened != "(":
            return ()
        self._at += 1
        names: list[str] = []
        for part in split(group.nodes):
            if len(part) != 1 or not isinstance(part[0], Tok) or part[0].kind not in (TokenKind.NAME, TokenKind.COLUMN):
                raise Opaque("something else than names in brackets")
            names.append(part[0].name)
        return tuple(names)


def _projection(nodes: Nodes) -> Projection:
    last = nodes[-1]
    if len(nodes) > 1 and isinstance(last, Tok) and last.kind is TokenKind.NAME and last.role == "Alias.alias":
        rest = nodes[:-1]
        if isinstance(rest[-1], Tok) and rest[-1].is_word("AS"):
            rest = rest[:-1]
        if not rest:
            raise Opaque("a name for nothing")
        return Projection(nodes=rest, alias=last.name)
    return Projection(nodes=nodes)
