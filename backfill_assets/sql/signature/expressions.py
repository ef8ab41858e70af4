"""What does an expression give, for a row of its SELECT? The mark of its tokens, columns replaced by their own marks.

Brackets, calls, CASE and columns are units with a mark of their own; between units the tokens stay as they are written,
so that nobody has to know which operator binds first. What is seen through beyond that is in `rewrites`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backfill_assets.sql.signature.clauses import Nodes, is_query
from backfill_assets.sql.signature.functions import (
    AGGREGATE,
    KNOWN,
    NAMES_ITS_FIELDS,
    WINDOW_ONLY,
    WITHOUT_ARGUMENTS,
    words,
)
from backfill_assets.sql.signature.keywords import PLAIN, PREDICATES, TYPES, UNITS
from backfill_assets.sql.signature.marks import Mark, Opaque, mix
from backfill_assets.sql.signature.nodes import conjuncts, is_windowed, quantified, variable, variables_of, written
from backfill_assets.sql.signature.relations import Scope
from backfill_assets.sql.signature.rewrites import (
    COMPARISONS,
    Item,
    Literal,
    counts_rows,
    function_name,
    listed,
)
from backfill_assets.sql.signature.together import flat, together
from backfill_assets.sql.signature.tokens import Node, Tok, TokenGroup, TokenKind, split
from backfill_assets.sql.types import spark_type

_OF_WINDOWS = words("rows range unbounded preceding following current row between and partition order by")
_OF_ORDER = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
_UNIT_FIRST = frozenset({"EXTRACT", "DATE_ADD", "DATEADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF"})
_WITH_WORDS = {
    "EXTRACT": UNITS | {"FROM"}, "TRIM": frozenset({"BOTH", "LEADING", "TRAILING", "FROM"}),
    "SUBSTRING": frozenset({"FROM", "FOR"}), "SUBSTR": frozenset({"FROM", "FOR"}), "POSITION": frozenset({"IN"}),
    "DATEADD": UNITS, "DATE_ADD": UNITS, "DATEDIFF": UNITS, "DATE_DIFF": UNITS,
}  # fmt: skip
"""Functions whose arguments may hold words of their own."""
_NO_CALLS = PREDICATES | {"AND", "OR", "WHEN", "THEN", "ELSE", "DIV", "INTERVAL"}
_SYMBOLS = frozenset({"+", "-", "*", "/", "%", "|", "&", "^", "~", "||", "<<", ">>", ">>>", "!", "->", *COMPARISONS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionContext:
    """Where an expression stands.

    `groups`: the rows that an aggregate gathers, `window`: those that a window sees; None where there may be none.
    `outputs` finds a column of the SELECT itself by its name, `first`: whether it is looked for before FROM, too.
    """

    scope: Scope
    subquery: Callable[[Nodes, Scope], Mark]
    groups: Mark | None = None
    window: Mark | None = None
    windows: Mapping[str, Nodes] = field(default_factory=dict[str, Nodes])
    outputs: Callable[[str], Mark | None] | None = None
    both: bool = False
    """Whether a name is looked for in the outputs and in FROM, and must mean the same in both."""
    variables: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def within(self, words: frozenset[str] = frozenset()) -> ExpressionContext:
        return replace(self, words=words)


def value(nodes: Sequence[Node], context: ExpressionContext) -> Mark:
    """The mark of an expression. Raises Opaque."""
    return together(items_of(nodes, context))


def conditions(nodes: Sequence[Node], context: ExpressionContext) -> list[list[Item]]:
    """What AND joins, each as a row of items; brackets around all of it, or around a part, go away."""
    nodes = tuple(nodes)
    while len(nodes) == 1 and isinstance(nodes[0], TokenGroup) and nodes[0].opened == "(" and not is_query(nodes[0]):
        nodes = nodes[0].nodes
    parts = conjuncts(nodes)
    if len(parts) == 1:
        return [items_of(nodes, context)]
    return [c for part in parts for c in conditions(part, context)]


# --- items ------------------------------------------------------------------------------------------------------------


def items_of(nodes: Sequence[Node], context: ExpressionContext) -> list[Item]:
    """Words and symbols as they are; columns, calls, brackets and CASE as marks."""
    return _Items(nodes, context).all()


class _Items:
    """Goes over the nodes of one expression."""

    def __init__(self, nodes: Sequence[Node], context: ExpressionContext) -> None:
        self._nodes, self._context, self._at = nodes, context, 0
        self._items: list[Item] = []
        if variables := variables_of(nodes):
            self._context = replace(context, variables=context.variables | variables)

    def all(self) -> list[Item]:
        while self._at < len(self._nodes):
            node = self._nodes[self._at]
            self._at += 1
            if isinstance(node, TokenGroup):
                self._group(node)
            else:
                self._token(node)
        return self._items

    def _next(self, ahead: int = 0) -> Node | None:
        at = self._at + ahead
        return self._nodes[at] if at < len(self._nodes) else None

    def _is_operand(self) -> bool:
        """Whether what came last is something that has a value."""
        return bool(self._items) and not isinstance(self._items[-1], str)

    def _group(self, group: TokenGroup) -> None:
        match group.opened:
            case "CASE":
                self._items.append(_case(group.nodes, self._context.within()))
            case "[":
                if not self._is_operand():
                    raise Opaque("an index of nothing")
                self._replace("at", value(group.nodes, self._context.within()))
            case _ if is_query(group):
                self._items.append(self._context.subquery(group.nodes, self._context.scope))
            case _:
                parts = split(group.nodes)
                following = self._next()
                if isinstance(following, Tok) and following.is_symbol("->"):
                    self._items.append(mix("variables", *[variable(p) for p in parts]))
                elif len(parts) == 1:
                    self._items.append(value(parts[0], self._context.within()))
                else:  # a struct: its fields have the names of the columns
                    marks = [value(p, self._context.within()) for p in parts]
                    self._items.append(mix("struct", marks, written(group.nodes)))

    def _replace(self, *parts: object) -> None:
        """Put what came last and this together: a postfix binds before all else."""
        operand = together([self._items.pop()])
        self._items.append(mix(*parts[:1], operand, *parts[1:]))

    def _token(self, tok: Tok) -> None:
        match tok.kind:
            case TokenKind.COLUMN:
                self._column(tok)
            case TokenKind.STRING | TokenKind.NUMBER:
                self._items.append(Literal(tok.text))
            case TokenKind.SYMBOL:
                self._symbol(tok)
            case TokenKind.NAME:
                if isinstance(self._next(), TokenGroup) and tok.name.upper() in KNOWN and not tok.role:
                    raise Opaque("a quoted function")
                self._items.append(self._variable(tok.name))
            case TokenKind.WORD:
                self._word(tok)

    def _variable(self, name: str) -> Mark:
        if name.lower() not in self._context.variables:
            raise Opaque(f"`{name}`")
        return mix("variable", name)

    def _column(self, tok: Tok) -> None:
        parts = [tok.name]
        for _ in range(tok.parts - 1):
            dot, part = self._next(), self._next(1)
            if not isinstance(dot, Tok) or not dot.is_symbol(".") or not isinstance(part, Tok) or not part.name:
                raise Opaque(f"`{tok.name}`")
            parts.append(part.name)
            self._at += 2
        if parts[0].lower() in self._context.variables:
            raise Opaque(f"`{tok.name}` is a variable and a column")
        mark, rest = _resolved(parts, self._context)
        self._items.append(mix("field", mark, list(rest)) if rest else mark)

    def _symbol(self, tok: Tok) -> None:
        following = self._next()
        if tok.text == ":" and not self._is_operand() and isinstance(following, Tok):
            self._at += 1
            self._items.append(mix("parameter", following.name or following.text))
        elif tok.text == "." and self._is_operand() and isinstance(following, Tok) and following.name:
            self._at += 1
            self._replace("field", [following.name])
        elif tok.text == "::" and self._is_operand():
            if isinstance(self._items[-1], Literal) and self._items[-2:-1] == ["-"]:
                raise Opaque("`-1::…`: to Spark the sign is a part of the number")
            start = self._at
            self._at += 2 if isinstance(self._next(1), TokenGroup) else 1
            operand = together([self._items.pop()])
            self._items.append(_cast("CAST", operand, self._nodes[start : self._at]))
        elif tok.text in _SYMBOLS:
            self._items.append(tok.text)
        else:
            raise Opaque(f"`{tok.text}`")

    def _word(self, tok: Tok) -> None:
        following = self._next()
        before = self._items[-1] if self._items else None
        if isinstance(following, TokenGroup) and quantified(self._nodes, self._at - 1):
            self._at += 1
            patterns = [value(p, self._context.within()) for p in split(following.nodes)]
            self._items += [tok.text, mix("list", *patterns)]
        elif isinstance(following, TokenGroup) and following.opened == "(" and tok.text not in _NO_CALLS:
            if tok.text == "EXISTS" and is_query(following):
                self._at += 1
                self._items.append(mix("exists", self._context.subquery(following.nodes, self._context.scope)))
                return
            self._at += 1
            self._call(tok.text, following)
        elif tok.text == "IN" and isinstance(following, TokenGroup) and not is_query(following):
            self._at += 1
            rows = [items_of(p, self._context.within()) for p in split(following.nodes)]
            single = [row[0] for row in rows if len(row) == 1]
            marks = [together(row) for row in rows]
            self._items += ["IN", mix("list", *(listed(single, marks) if len(single) == len(rows) else marks))]
        elif self._may_be(tok.text, following, before):
            self._items.append(tok.text)
        else:
            raise Opaque(f"`{tok.text}`")

    def _may_be(self, word: str, following: Node | None, before: Item | None) -> bool:
        """Whether a word that is no column is a keyword in this place."""
        if word in TYPES and isinstance(following, Tok) and following.kind is TokenKind.STRING:
            return True
        if word in UNITS and (isinstance(before, Literal) or before == "TO"):
            return True
        return word in self._context.words or word in PLAIN - UNITS - TYPES

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, name: str, group: TokenGroup) -> None:
        if name in ("CAST", "TRY_CAST"):
            at = next((i for i, n in enumerate(group.nodes) if isinstance(n, Tok) and n.is_word("AS")), 0)
            self._items.append(_cast(name, value(group.nodes[:at], self._context.within()), group.nodes[at + 1 :]))
            return
        if name not in KNOWN:
            raise Opaque(f"the function {name.lower()}")
        windowed = is_windowed(self._nodes, self._at)
        gathers = name in AGGREGATE and not windowed
        if ((name in WINDOW_ONLY) and not windowed) or (windowed and name not in AGGREGATE | WINDOW_ONLY):
            raise Opaque(f"{name.lower()} without a window, or with one")
        context = self._context.within(_WITH_WORDS.get(name, frozenset()))
        if gathers:
            if context.groups is None:
                raise Opaque("an aggregate where none can be")
            # Spark looks names up in FROM there, in HAVING as well.
            context = replace(context, groups=None, window=None, outputs=None)
        if windowed:
            context = replace(context, window=None)
        arguments = split(group.nodes)
        if not arguments and name not in WITHOUT_ARGUMENTS:
            raise Opaque(f"{name.lower()}()")
        if name in _UNIT_FIRST:
            self._no_column_called_like_a_unit(arguments)
        rows = [self._argument(name, a, context) for a in arguments]
        marks: list[object] = [together(row) for row in rows] if not _counts(name, rows) else ["rows"]
        names = written(group.nodes) if name in NAMES_ITS_FIELDS else []
        modifiers = self._modifiers(context) if gathers or windowed else []
        over: list[object] = []
        if gathers:
            over = ["groups", self._context.groups]
        elif windowed:
            if self._context.window is None:
                raise Opaque("a window where none can be")
            over = ["window", self._context.window]
        type_ = "bigint" if name in ("COUNT", "COUNT_IF") else "int" if name in ("ROW_NUMBER", "RANK") else None
        self._items.append(mix("call", function_name(name, len(rows)), marks, names, modifiers, over).typed(type_))

    def _argument(self, name: str, nodes: Nodes, context: ExpressionContext) -> list[Item]:
        first = nodes[0]
        if isinstance(first, Tok) and first.is_word("DISTINCT"):
            return [mix("distinct", together(self._argument("", nodes[1:], context)))]
        if isinstance(nodes[-1], Tok) and nodes[-1].is_symbol("*") and len(nodes) in (1, 3):
            if name == "COUNT" and len(nodes) == 1:
                return ["*"]
            of = [first.name] if len(nodes) == 3 and isinstance(first, Tok) and first.name else []
            if len(nodes) == 3 and not of:
                raise Opaque("a star")
            star = mix("star", *[[column, mark] for column, mark in context.scope.everything(of)])
            return [star.reading(context.scope.stars(of))]
        if name in NAMES_ITS_FIELDS:
            for at, node in enumerate(nodes):
                if isinstance(node, Tok) and node.is_word("AS"):
                    nodes = nodes[:at]  # the name is among those that are written
                    break
        return items_of(nodes, context)

    def _no_column_called_like_a_unit(self, arguments: Sequence[Nodes]) -> None:
        first = arguments[0][0]
        if isinstance(first, Tok) and first.is_word(*UNITS) and self._context.scope.find([first.name]):
            raise Opaque(f"`{first.name}` is a unit and a column")

    def _modifiers(self, context: ExpressionContext) -> list[object]:
        """FILTER, IGNORE NULLS, WITHIN GROUP and OVER behind a call."""
        found: list[object] = []
        while isinstance(node := self._next(), Tok) and node.is_word("FILTER", "IGNORE", "RESPECT", "WITHIN", "OVER"):
            following = self._next(1)
            self._at += 2
            if node.text in ("IGNORE", "RESPECT"):
                if not isinstance(following, Tok) or not following.is_word("NULLS"):
                    raise Opaque(node.text)
                found.append(node.text)
                continue
            if node.text == "WITHIN":
                following = self._next()
                self._at += 1
            if node.text == "OVER" and isinstance(following, Tok):
                nodes = context.windows.get(following.name.lower())
                if nodes is None:
                    raise Opaque(f"the window {following.text}")
                following = TokenGroup("(", nodes)
            if not isinstance(following, TokenGroup) or following.opened != "(":
                raise Opaque(node.text)
            if node.text == "FILTER":
                if not isinstance(following.nodes[0], Tok) or not following.nodes[0].is_word("WHERE"):
                    raise Opaque("FILTER")
                inner: object = value(following.nodes[1:], context.within())
            else:
                spec = context.within(_OF_WINDOWS | _OF_ORDER)
                inner = [flat(items_of(part, spec)) for part in split(following.nodes)]
            found.append([node.text, inner])
        return found


def _counts(name: str, rows: Sequence[Sequence[Item]]) -> bool:
    return len(rows) == 1 and counts_rows(name, rows[0])


def _resolved(parts: Sequence[str], context: ExpressionContext) -> tuple[Mark, Sequence[str]]:
    own = context.outputs(parts[0].lower()) if context.outputs is not None and len(parts) == 1 else None
    inside = context.scope.find(parts)
    if inside is not None:
        if own is not None and context.both and own.text != inside[0].text:
            raise Opaque(f"`{parts[0]}` is a column of FROM and one of the SELECT")
        return inside
    outside = context.scope.around(parts)
    if own is not None and outside is not None:
        raise Opaque(f"`{parts[0]}` is a column of the SELECT and of one around it")
    if own is not None:
        return own.reading(context.scope.lacks(parts[0])), ()
    if outside is None:
        raise Opaque(f"column {'.'.join(parts)} is not known")
    return outside


def _cast(name: str, operand: Mark, nodes: Sequence[Node]) -> Mark:
    """`casts`: to a plain type."""
    first, *rest = nodes or [None]
    if not isinstance(first, Tok) or not first.is_word(*TYPES):
        raise Opaque("a cast to another type")
    text = first.text
    if rest:
        if len(rest) != 1 or not isinstance(rest[0], TokenGroup) or rest[0].opened != "(":
            raise Opaque("a cast to another type")
        numbers = [
            n.text for n in rest[0].nodes if isinstance(n, Tok) and n.kind in (TokenKind.NUMBER, TokenKind.SYMBOL)
        ]
        text += f"({''.join(numbers)})"
    try:
        type_ = spark_type(text)
    except ValueError:
        raise Opaque("a cast to another type") from None
    return mix("cast", name, operand, type_).typed(type_)


def _case(nodes: Sequence[Node], context: ExpressionContext) -> Mark:
    """`ELSE NULL`: CASE by its parts."""
    parts: list[tuple[str, list[Node]]] = [("", [])]
    for node in nodes:
        if isinstance(node, Tok) and node.is_word("WHEN", "THEN", "ELSE"):
            parts.append((node.text, []))
        else:
            parts[-1][1].append(node)
    first, *rest = parts
    if rest and rest[-1][0] == "ELSE" and len(rest[-1][1]) == 1:
        only = rest[-1][1][0]
        if isinstance(only, Tok) and only.is_word("NULL"):
            rest = rest[:-1]
    operand = [value(first[1], context)] if first[1] else []
    return mix("case", operand, [[word, value(part, context)] for word, part in rest])
