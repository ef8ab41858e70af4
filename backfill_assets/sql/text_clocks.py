"""Which texts of a query does Spark take for the clock? `ds > 'today'` compares with the day on which it runs.

Spark makes a date or an instant of a text wherever one is asked for, without a cast being written: compared with a
date, combined with one (`coalesce`, CASE), given to a function of dates. 'now', 'today', 'yesterday' and 'tomorrow'
mean the clock then ('epoch' is a constant). A text is let be where nothing beside it can be a date or an instant.

Only what Spark computes before the query runs is looked at by it: literals, and calls over literals. The same text from
a column, also one of a subquery or a UNION of constants, is no date: the query fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from backfill_assets.core.model import Column
from backfill_assets.sql.constant_texts import may_spell_clock, name_of
from backfill_assets.sql.expression_types import expression_type
from backfill_assets.sql.signature.functions import words

Tables = Sequence[Sequence[Column]]
_MOVING = re.compile(
    r"[\x00-\x20]*(now|(today|yesterday|tomorrow)([ \t]*|[ \t]*[^a-z\s]\S*|[ \t]+\S+))[\x00-\x20]*", re.I
)
"""A zone may follow ("today UTC"), save behind 'now'; Spark trims control characters as well."""
_DAYTIME = re.compile(r"\s*T?\d{1,2}:\d{1,2}(:[^-]*)?\s*", re.I)
_INSTANTS = (
    exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ,
    exp.DataType.Type.DATETIME,
)  # fmt: skip
_PARTS = 100
"""More texts in a row than these are not put together."""
_COMPARES = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.EqualNull, exp.Between,
    exp.In, exp.Nullif,
)  # fmt: skip
_ONE_OF = (exp.Coalesce, exp.Greatest, exp.Least, exp.Lag, exp.Lead, exp.Array)
"""What gives one of its arguments, all of one type."""
_ALONE = (
    exp.Like, exp.ILike, exp.RegexpLike, exp.Alias, exp.Query, exp.Where, exp.Ordered, exp.And, exp.Or, exp.Not,
    exp.Table, exp.Lateral,
)  # fmt: skip
_THROUGH = (exp.Paren, exp.Window, exp.IgnoreNulls, exp.RespectNulls)
_TAKES_TEXTS = words("""
    ascii base64 btrim char_length character_length concat concat_ws contains crc32 encode endswith find_in_set
    format_string from_csv from_json get_json_object hash ilike initcap instr is_variant_null lcase left length
    levenshtein like locate lower lpad ltrim md5 named_struct octet_length parse_json position printf regexp
    regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat
    replace reverse right rlike rpad rtrim schema_of_csv schema_of_json schema_of_variant sha sha1 sha2 soundex split
    split_part startswith string struct substr substring substring_index to_json translate trim try_parse_json
    try_variant_get ucase unbase64 unhex upper variant_get xxhash64
""")
"""Functions that take a text as it is."""
_BY_FORMAT = words("to_date to_timestamp to_timestamp_ltz to_timestamp_ntz try_to_date try_to_timestamp")
"""Functions that read a text by the format that comes behind it, where words mean nothing."""
_GIVES_TEXTS = words("""
    base64 btrim concat_ws date_format format_string from_unixtime get_json_object hex initcap lcase left lower
    lpad ltrim md5 printf regexp_extract regexp_replace regexp_substr repeat replace right rpad rtrim sha sha1 sha2
    soundex split_part string substr substring substring_index to_char to_json translate trim ucase upper
""")


def clock_texts(tree: exp.Expr, tables: Tables | None = None) -> Iterator[exp.Expr]:
    """The texts in a parsed query that may mean the clock, and the calls over constants that may give one.

    `tables`: the columns of all tables that it reads (none of one: unknown); None: nothing is known of any.
    """
    types = _Types(tree, tables)
    held, spelled = set[int](), set[int]()
    for node in tree.walk(prune=lambda n: isinstance(n, exp.Hint)):
        if _is_moving(node) and _may_be_clock(node, types):
            yield node
            held |= {id(n) for n in _around(node)}
    for node in tree.walk(bfs=False, prune=lambda n: isinstance(n, exp.Hint) or id(n) in spelled):
        if id(node) not in held and may_spell_clock(node) and text_of(node) is None and _may_be_clock(node, types):
            yield node
            spelled.add(id(node))


def daytimes(tree: exp.Expr, tables: Tables) -> Iterator[exp.Expr]:
    """The texts that are a time without a day where Spark makes an instant of them for sure: in a cast, or compared
    with an instant. Elsewhere they may well be compared with texts like them."""
    named = {alias.alias.lower() for alias in tree.find_all(exp.Alias, exp.TableAlias)}

    def known(column: exp.Column) -> str | None:
        name = column.name.lower()
        types = {c.type for table in tables for c in table if c.name.lower() == name}
        return types.pop() if len(types) == 1 and name not in named else None

    for node in tree.find_all(exp.Cast, *_COMPARES):
        if isinstance(node, exp.Cast):
            texts = [node.this] if node.is_type(*_INSTANTS) else []
        else:
            every = _operands(node)
            types = [expression_type(n, known) for n in every if text_of(n) is None]
            texts = every if any(type_ and type_.startswith("timestamp") for type_ in types) else []
        yield from (n for n in texts if (text := text_of(n)) is not None and _DAYTIME.fullmatch(text))


def is_clock(text: str) -> bool:
    """Whether Spark takes a text for the clock where it makes a date or an instant of it."""
    return _MOVING.fullmatch(text) is not None


def _is_moving(node: exp.Expr) -> bool:
    if isinstance(node, exp.DPipe) and isinstance(node.parent, exp.DPipe):  # looked at with all of its row
        return False
    text = text_of(node)
    return text is not None and is_clock(text) and text_of(node.parent) is None


def _around(node: exp.Expr) -> Iterator[exp.Expr]:
    around: exp.Expr | None = node
    while around is not None:
        yield around
        around = around.parent


def text_of(node: exp.Expr | None) -> str | None:
    """The text that a literal is, or literals behind one another."""
    match node:
        case exp.Literal(is_string=True) | exp.RawString() | exp.National() | exp.UnicodeString():
            return node.name
        case exp.Paren():
            return text_of(node.this)
        case exp.Concat() | exp.DPipe() if not isinstance(node, exp.ConcatWs):
            texts: list[str] = []
            for part in node.expressions if isinstance(node, exp.Concat) else node.flatten(unnest=False):
                if (text := text_of(part)) is None or len(texts) == _PARTS:
                    return None
                texts.append(text)
            return "".join(texts)
        case _:
            return None


def _may_be_clock(node: exp.Expr, types: _Types) -> bool:
    while (parent := node.parent) is not None:
        match parent:
            case exp.Cast():  # and TryCast
                if not parent.is_type(*exp.DataType.TEXT_TYPES):
                    return parent.is_type(*exp.DataType.TEMPORAL_TYPES)
            case exp.If() if isinstance(parent.parent, exp.Case):
                case, condition = parent.parent, node.arg_key == "this"
                if condition:
                    return any(
                        map(types.may_be_time, [case.this, *(i.this for i in case.args["ifs"])] if case.this else [])
                    )
                if any(map(types.may_be_time, _results(case))):
                    return True
                node = case
                continue
            case exp.Case():
                if node.arg_key == "this":
                    return any(types.may_be_time(i.this) for i in parent.args["ifs"])
                if any(map(types.may_be_time, _results(parent))):
                    return True
            case exp.If():
                if node.arg_key == "this":
                    return False
                if any(types.may_be_time(parent.args.get(k)) for k in ("true", "false")):
                    return True
            case _ if isinstance(parent, _COMPARES):
                others = [n for n in _operands(parent) if n is not node]  # what is cast is itself no date
                return parent.args.get("query") is not None or any(map(types.may_be_time, others))
            case _ if isinstance(parent, _ONE_OF):
                if any(map(types.may_be_time, _operands(parent))):
                    return True
            case exp.PropertyEQ():  # a field of a struct
                return False
            case exp.Dot() | exp.Bracket() if node.arg_key == "this":  # a part of it
                pass
            case _ if isinstance(parent, _ALONE):
                return False
            case _ if isinstance(parent, _THROUGH):
                pass
            case _ if name_of(parent) in _BY_FORMAT and _operands(parent)[0] is node and len(_operands(parent)) > 1:
                return False
            case _ if isinstance(parent, exp.Concat | exp.DPipe) or name_of(parent) in _TAKES_TEXTS:
                if text_of(parent) is None and not may_spell_clock(parent):  # or not computed before the query runs
                    return False
            case _:
                return True
        node = parent
    return False


def _results(case: exp.Case) -> list[exp.Expr | None]:
    return [*(i.args.get("true") for i in case.args["ifs"]), case.args.get("default")]


def _operands(node: exp.Expr) -> list[exp.Expr]:
    return [n for n in node.iter_expressions() if not isinstance(n, exp.DataType)]


class _Types:
    """Types of columns by their names alone: what all tables, and all aliases of the query, have under that name."""

    def __init__(self, tree: exp.Expr, tables: Tables | None) -> None:
        self._known = tables is not None and all(tables)
        self._types: dict[str, set[str | None]] = {}
        for column in (c for table in tables or () for c in table):
            self._types.setdefault(column.name.lower(), set()).add(column.type)
        self._aliases: dict[str, list[exp.Expr]] = {}
        for alias in tree.find_all(exp.Alias):
            self._aliases.setdefault(alias.alias.lower(), []).append(alias.this)
        for alias in tree.find_all(exp.TableAlias, exp.Aliases):  # names for columns that come by their places
            names = alias.columns if isinstance(alias, exp.TableAlias) else alias.aliases
            for name in names:
                self._types.setdefault(name.name.lower(), set()).add(None)

    def may_be_time(self, node: exp.Expr | None) -> bool:
        """Whether an expression may be a date or an instant, or hold some."""
        if node is None or isinstance(node, exp.Null) or text_of(node) is not None:
            return False
        if isinstance(node, exp.Concat | exp.DPipe) or name_of(node) in _GIVES_TEXTS:
            return False
        if isinstance(node, exp.Paren):
            return self.may_be_time(node.this)
        return _is_time(expression_type(node, self._column))

    def _column(self, column: exp.Column) -> str | None:
        """A type that is no date's, where it is certain."""
        name = column.name.lower()
        if not self._known:
            return None
        found = set(self._types.get(name, ()))
        for expression in (aliases := self._aliases.pop(name, [])):
            mere = isinstance(expression, exp.Column) and expression.name.lower() == name
            found |= set[str | None]() if mere else {None if self.may_be_time(expression) else "string"}
        self._aliases |= {name: aliases} if aliases else {}
        return None if not found or any(map(_is_time, found)) else "string"


def _is_time(type_: str | None) -> bool:
    return type_ is None or "date" in type_ or "time" in type_
