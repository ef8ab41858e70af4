"""Which SQL stands for a PySpark expression that makes a date or an instant of a text? `F.lit("now").cast("date")`.

As much of it as shows which texts Spark takes for the clock: what else is in it counts as a column of texts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from backfill_assets.core.model import Column
from backfill_assets.python_models.named_functions import SPARK, functions_of
from backfill_assets.python_models.names import Names
from backfill_assets.sql.nondeterministic import FunctionUse, uses_in_text
from backfill_assets.sql.text_clocks import is_clock

_TEXT = Column(name="c", type="string")
_CASTS = {"cast": "CAST", "astype": "CAST", "try_cast": "TRY_CAST"}
_TIMES = ("date", "timestamp", "timestamp_ltz", "timestamp_ntz")
_TYPES = {"DateType": "date", "TimestampType": "timestamp", "TimestampNTZType": "timestamp_ntz"}
_OF_TIMES = frozenset("""
    add_months date_add date_diff date_format date_part date_sub date_trunc dateadd datediff datepart day dayname
    dayofmonth dayofweek dayofyear extract from_utc_timestamp hour last_day minute month monthname months_between
    next_day quarter second to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp
    trunc try_to_date try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear
    year
""".split())  # fmt: skip  # noqa: SIM905
"""Functions that take a date or an instant."""
_OF_TEXTS = frozenset("""
    btrim coalesce concat concat_ws format_string greatest ifnull initcap lcase least left lower lpad ltrim nvl
    regexp_replace repeat replace reverse right rpad rtrim substr substring translate trim ucase upper
""".split())  # fmt: skip  # noqa: SIM905
"""Functions that give a text of the texts that they take."""
_DEEPEST = 12


def text_clock_uses(node: ast.AST, names: Names) -> Iterator[FunctionUse]:
    """The texts that mean the clock where one node makes a time of them; at its line."""
    for text in filter(_holds_text, _asked(node, names)):
        for use in uses_in_text(f"SELECT {text}", [(_TEXT,)]):
            yield replace(use, line=getattr(node, "lineno", 0))


def _asked(node: ast.AST, names: Names) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _CASTS and (cast := _cast(node, names, 0)):
            yield cast
        case ast.Call() if (function := _function(node, names)[0]) in _OF_TIMES:
            yield _call(function, node, names, 0)
        case _:
            return


def _function(call: ast.Call, names: Names) -> tuple[str, list[ast.expr]]:
    """The function of Spark that is called, and its arguments; empty where it is none."""
    for dotted in names.spelled(call.func):
        if dotted.startswith(SPARK):
            functions, given = functions_of(dotted, call, names)
            return next(iter(functions or ()), ""), given
    return "", []


def _column(node: ast.expr, names: Names, depth: int) -> str:
    """The SQL of an expression that is a column; `c` where it cannot be read."""
    if depth > _DEEPEST:
        return "c"
    match node:
        case ast.Call(func=ast.Attribute(attr="alias" | "name", value=of)):
            return _column(of, names, depth + 1)
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _CASTS:
            return _cast(node, names, depth) or "c"
        case ast.Call():
            function, given = _function(node, names)
            if function == "lit" and given:
                texts = names.texts(given[0])
                return _quoted(_told(texts)) if texts else "c"
            return _call(function, node, names, depth) if function in _OF_TIMES | _OF_TEXTS else "c"
        case ast.Name(id=name) if name not in names.imported and len(values := names.bound.get(name) or ()) == 1:
            return _column(values[0], names.within(name), depth + 1)
        case _:
            return "c"


def _cast(call: ast.Call, names: Names, depth: int) -> str | None:
    assert isinstance(call.func, ast.Attribute)
    given = [*call.args, *(k.value for k in call.keywords)]
    type_ = _type(given[0], names) if given else None
    word = _CASTS[call.func.attr]
    return f"{word}({_column(call.func.value, names, depth + 1)} AS {type_})" if type_ else None


def _type(node: ast.expr, names: Names) -> str | None:
    """The type of times, or of texts, that is cast to."""
    texts = names.texts(node)
    if texts:
        kinds = [text.strip() for text in texts]
        return next((kind for kind in kinds if kind.lower() in _TIMES), "string" if "string" in kinds else None)
    called = node.func if isinstance(node, ast.Call) else node
    return next((t for s in names.spelled(called) if (t := _TYPES.get(s.rpartition(".")[2]))), None)


def _call(function: str, call: ast.Call, names: Names, depth: int) -> str:
    given = [_argument(a, place, names, depth + 1) for place, a in enumerate(_function(call, names)[1])]
    return f"{function}({', '.join(given)})"


def _argument(node: ast.expr, place: int, names: Names, depth: int) -> str:
    """A bare text is a column's name in front, and a format or the like behind."""
    if place and isinstance(node, ast.Constant):
        return _quoted(str(node.value)) if isinstance(node.value, str) else str(node.value)
    return _column(node, names, depth)


def _told(texts: Sequence[str]) -> str:
    """Of the texts that an expression may be, one that is the clock if any is."""
    return next(filter(is_clock, texts), texts[0])


def _holds_text(sql: str) -> bool:
    return "'" in sql


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
