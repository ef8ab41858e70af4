"""Could an expression over constants spell a word that Spark takes for the clock, such as `replace('2today', '2', '')`?

Spark computes what names no column before the query runs, and looks for 'today' in the outcome. Which text that is
nobody computes here: the letters that can be in it are counted, and a function that is not listed may give any.
"""

from __future__ import annotations

import re

from sqlglot import exp

from backfill_assets.sql.expression_types import expression_type
from backfill_assets.sql.parsing import WRITTEN_AS
from backfill_assets.sql.signature.functions import words

Letters = frozenset[str]
CLOCK_WORDS = ("now", "today", "tomorrow", "yesterday")
_ANY: Letters = frozenset("".join(CLOCK_WORDS))
_NONE: Letters = frozenset()
_OF_NUMBERS = frozenset("infinitynane")
"""`Infinity`, `NaN`, `1.0E10`."""
_KEEPS = words("""
    btrim coalesce concat concat_ws element_at get greatest if ifnull initcap lcase least left lower lpad ltrim
    nullif nvl nvl2 overlay regexp_extract regexp_replace regexp_substr repeat replace reverse right rpad rtrim
    split_part string substr substring substring_index translate trim ucase upper
""")
"""Functions whose texts have no other letters than the texts that they are given."""
_NO_TEXT = words("""
    abs add_months array ascii bigint ceil ceiling char_length character_length crc32 curdate current_date
    current_timestamp date date_add date_diff date_from_unix_date date_part date_sub date_trunc dateadd datediff
    datepart day dayofmonth dayofweek dayofyear double explode explode_outer extract floor hash hour inline int
    isnotnull isnull last_day length levenshtein locate make_date make_dt_interval make_interval make_timestamp
    make_ym_interval map map_from_arrays minute mod month months_between named_struct next_day now pi pmod
    posexplode posexplode_outer position pow quarter rand randn random round second sequence size split sqrt stack
    str_to_map struct timestamp timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff
    to_date to_timestamp to_timestamp_ltz to_timestamp_ntz trunc unix_date unix_timestamp uuid weekday weekofyear
    xxhash64 year
""")
"""Functions that give something else than a text, which has no letters of theirs when it is made one."""
_HOLDS = words("array map map_from_arrays named_struct split str_to_map struct")
"""Of these, what holds texts: made a text, it spells them."""
_NULL = frozenset("null")
_TIMES = exp.TimeStrToTime, exp.TsOrDsToTimestamp, exp.TsOrDsToDate
"""What sqlglot puts around arguments that are dates or instants."""
_NEVER_TEXT = (
    exp.Predicate, exp.Connector, exp.AggFunc, exp.Array, exp.Map, exp.VarMap, exp.Struct, exp.UDTF, *_TIMES,
)  # fmt: skip
_FORMATS = words("date_format from_unixtime")
_PRINTS = words("format_string printf")
_SLOTS = re.compile(r"%(\d+\$)?[-#+ 0,(]*\d*(\.\d+)?[sdSfn%]")
"""What `format_string` fills in without letters of its own: texts and numbers."""
_DIGITS = re.compile(r"%-?[YymdHMSIjf](strict)?|[^A-Za-z%']+|'[TZ]?'")
"""What gives digits in a format as sqlglot has it (in quotes too), and what stands between."""


def may_spell_clock(node: exp.Expr) -> bool:
    """Whether a call, `||`, CASE, index or field names no column and may give a text that is the clock."""
    if not isinstance(node, exp.Func | exp.DPipe | exp.Bracket | exp.Dot | exp.Case | exp.Collate):
        return False
    if isinstance(node, exp.DPipe) and isinstance(node.parent, exp.DPipe):  # looked at with all of its row
        return False
    if isinstance(node, _NEVER_TEXT) or name_of(node) in _NO_TEXT:
        return False
    if expression_type(node, lambda _: None) not in (None, "string"):
        return False
    if node.find(exp.Column, exp.Star, exp.Query, exp.Window) is not None:
        return False
    found = letters(node)
    return any(found.issuperset(word) for word in CLOCK_WORDS)


def name_of(node: exp.Expr) -> str:
    """A call's function, upper-cased, as it was written; nothing of what is no call."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else str(node.meta_get(WRITTEN_AS) or "")


def letters(node: exp.Expr | None) -> Letters:
    """The letters, without case, that the text of an expression over constants may hold.

    >>> from sqlglot import parse_one
    >>> sorted(letters(parse_one("'2A' || 'b'", dialect="spark")))
    ['a', 'b']
    """
    match node:
        case None | exp.Null() | exp.Placeholder() | exp.Parameter() | exp.DataType() | exp.Var():
            return _NONE
        case _ if isinstance(node, _TIMES):
            return _NONE
        case exp.Literal(is_string=True) | exp.RawString() | exp.National():
            return _of_text(node.name)
        case exp.Literal() if node.name.isdigit():
            return _NONE
        case exp.Literal() | exp.Neg():
            return _OF_NUMBERS
        case exp.Boolean():
            return frozenset("truefalse")
        case exp.Cast():
            if node.is_type(*exp.DataType.TEMPORAL_TYPES):
                return _NONE
            plain = node.is_type(*exp.DataType.TEXT_TYPES, *exp.DataType.NUMERIC_TYPES, exp.DataType.Type.BOOLEAN)
            return letters(node.this) | _OF_NUMBERS | frozenset("truefalse") if plain else _ANY
        case exp.DPipe():  # in a long row the tree is deep
            return _NONE.union(*map(letters, node.flatten(unnest=False)))
        case exp.Paren() | exp.Concat() | exp.Case() | exp.If() | exp.Coalesce() | exp.Nullif():
            return _of_parts(node)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return _OF_NUMBERS | _of_parts(node)
        case exp.Predicate() | exp.Connector() | exp.Not():
            return frozenset("truefalse")
        case exp.Bracket() | exp.Dot():
            return _of_parts(node)
        case exp.Identifier():  # a field's name
            return _NONE
        case _ if isinstance(node, exp.Array) or name_of(node) in _HOLDS:
            return _of_parts(node) | _NULL
        case _ if name_of(node) in _NO_TEXT:
            return _OF_NUMBERS
        case _ if name_of(node) in _FORMATS:
            return _of_format(node)
        case _ if name_of(node) in _PRINTS:
            return _of_printed(node)
        case _ if name_of(node) in _KEEPS:
            return _of_parts(node)
        case _:
            return _ANY


def _of_parts(node: exp.Expr) -> Letters:
    return _NONE.union(*map(letters, node.iter_expressions()))


def _of_text(text: str) -> Letters:
    return frozenset(c for c in text.casefold() if c.isalpha())


def _of_printed(node: exp.Expr) -> Letters:
    """Of a format with constants put in."""
    first, *rest = node.iter_expressions()
    if not isinstance(first, exp.Literal) or "%" in (plain := _SLOTS.sub("", first.name)):
        return _ANY
    return _of_text(plain).union(_NULL, _OF_NUMBERS, *map(letters, rest))


def _of_format(node: exp.Expr) -> Letters:
    """Of a date as text."""
    format_ = node.args.get("format")
    if format_ is None:
        return _NONE
    if not isinstance(format_, exp.Literal) or _DIGITS.sub("", format_.name):
        return _ANY
    return frozenset("tz")
