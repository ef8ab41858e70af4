"""What of SQLFrame is not as PySpark? Mended before any author's code runs."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

from sqlframe.base import functions as sqlframe_functions
from sqlframe.base.column import Column as SqlColumn
from sqlframe.base.util import get_func_from_session
from sqlframe.standalone import StandaloneSession
from sqlglot import exp

from backfill_assets.python_models.sqlframe.escape import Escape

_original_lit = SqlColumn._lit.__func__  # type: ignore[attr-defined]
_original_operand: Any = SqlColumn.column_expression.fget  # type: ignore[attr-defined]


def mend_sqlframe() -> None:
    """Once in a process; its children have it too."""
    StandaloneSession()  # the first session made is everybody's
    SqlColumn._lit = classmethod(_literal)  # type: ignore[method-assign]
    SqlColumn.column_expression = property(_operand)  # type: ignore[assignment,method-assign]
    for name, function in vars(sqlframe_functions).copy().items():
        if hasattr(function, "unsupported_engines"):
            inner = function.__wrapped__  # without a name for the column that SQLFrame gives and Spark does not
            inner.unsupported_engines = function.unsupported_engines
            setattr(sqlframe_functions, name, inner)
    get_func_from_session("col")  # imports, once for all children


def _literal(cls: type[SqlColumn], value: Any) -> SqlColumn:
    """A float is a double to PySpark, and a whole Decimal no integer; SQL reads their digits as other types."""
    if isinstance(value, float) and repr(value) == "-0.0":
        return cls(exp.cast(exp.Literal.string("-0.0"), "double"))
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int) or exponent > 0:
            raise Escape("a Decimal that SQL has no literal for")
        if exponent == 0:
            return cls(exp.cast(exp.convert(value), f"decimal({len(digits)}, 0)"))
    if isinstance(value, float) and isfinite(value):
        return cls(exp.cast(exp.Literal.number(repr(value)), "double"))
    return _original_lit(cls, value)


def _operand(column: SqlColumn) -> exp.Expr:
    """SQLFrame leaves the parentheses of `a == (b > c)` out, and SQL reads that as `(a == b) > c`."""
    expression: exp.Expr = _original_operand(column)
    operator = isinstance(expression, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Predicate)
    return exp.Paren(this=expression) if operator and not isinstance(expression, exp.Paren | exp.Func) else expression
