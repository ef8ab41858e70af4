"""What stands for PySpark's columns and windows?"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlframe.base.column import Column as SqlColumn
from sqlframe.base.types import DataType
from sqlframe.base.window import WindowSpec as SqlWindow
from sqlglot import exp

from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.forms import CASTS, COLUMN_METHODS, WINDOW_METHODS
from backfill_assets.python_models.sqlframe.interval import Hidden, Writes
from backfill_assets.python_models.sqlframe.proxy import Proxy, unwrap, wrap, wraps

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL = re.compile(r"decimal\( *\d+ *, *\d+ *\)")

defined: dict[str, int] = {}
"""A column's name -> the number of the last table that gave it a new meaning."""
keys: set[str] = set()
"""Names that an outer join was on: SQLFrame does not tell `left.key` from `right.key` after it."""


class Column(Proxy, Writes, proved=COLUMN_METHODS):
    """`pyspark.sql.Column`."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _given(self) -> SqlColumn:
        if any(map(_outdated, self._inner.expression.find_all(exp.Column))):
            raise Escape("a table's column that has another meaning by now")
        return self._inner.copy()  # SQLFrame writes into the columns it is given, and authors use one in several frames

    def alias(self, name: str) -> Column:
        return wrap(self._inner.alias(plain_name(name)))

    name = alias

    def cast(self, dataType: Any) -> Column:
        text = dataType.simpleString() if isinstance(dataType, DataType) else dataType
        if not isinstance(text, str) or not (text.lower() in CASTS or _DECIMAL.fullmatch(text.lower())):
            raise Escape(f"a cast to {text}")
        return wrap(self._inner.cast(text.lower()))

    astype = cast

    def isin(self, *values: Any) -> Column:
        items = list(values[0]) if len(values) == 1 and isinstance(values[0], list | set | tuple) else list(values)
        if not items or isinstance(values[0], set):
            raise Escape("IN of nothing, or of a set, which has no order")
        return wrap(self._given().isin(unwrap(items)))

    def startswith(self, other: Any) -> Column:
        return called("startswith", self, literal(other))

    def endswith(self, other: Any) -> Column:
        return called("endswith", self, literal(other))

    def contains(self, other: Any) -> Column:
        return called("contains", self, literal(other))

    def rlike(self, other: str) -> Column:
        return called("rlike", self, literal(other))

    def like(self, other: str) -> Column:
        return called("like", self, literal(other))

    def ilike(self, other: str) -> Column:
        return called("ilike", self, literal(other))

    def isNaN(self) -> Column:
        return called("isnan", self)

    def substr(self, startPos: Any, length: Any) -> Column:
        if isinstance(startPos, Column) != isinstance(length, Column):
            raise Escape("substr of a column and a number")
        return called("substring", self, literal(startPos), literal(length))

    def getItem(self, key: Any) -> Column:
        if isinstance(key, Proxy | slice):
            raise Escape("an item that a column names")
        return column(exp.Bracket(this=operand(self), expressions=[literal(key)], offset=0))

    __getitem__ = getItem

    def when(self, condition: Any, value: Any) -> Column:
        if not isinstance(self._inner.expression, exp.Case) or self._inner.expression.args.get("default"):
            raise Escape("when() of what is no when()")
        return wrap(self._given().when(unwrap(condition), unwrap(value)))

    def otherwise(self, value: Any) -> Column:
        if not isinstance(self._inner.expression, exp.Case) or self._inner.expression.args.get("default"):
            raise Escape("otherwise() of what is no when()")
        return wrap(self._given().otherwise(unwrap(value)))

    def over(self, window: Any) -> Column:
        if not isinstance(window, WindowSpec):
            raise Escape("a window that is none")
        return wrap(self._given().over(unwrap(window)))


class WindowSpec(Proxy, proved=WINDOW_METHODS):
    """`pyspark.sql.WindowSpec`. Spark replaces a partition or order that is set twice; SQLFrame adds to it."""

    __slots__ = ()

    def partitionBy(self, *cols: Any) -> WindowSpec:
        return self._set("partition_by", "partitionBy", cols)

    def orderBy(self, *cols: Any) -> WindowSpec:
        return self._set("order", "orderBy", cols)

    def rowsBetween(self, start: int, end: int) -> WindowSpec:
        return wrap(self._inner.rowsBetween(_offset(start), _offset(end)))

    def rangeBetween(self, start: int, end: int) -> WindowSpec:
        return wrap(self._inner.rangeBetween(_offset(start), _offset(end)))

    def _set(self, key: str, method: str, cols: tuple[Any, ...]) -> WindowSpec:
        if self._inner.expression.args.get(key) or not cols:
            raise Escape(f"{method} of a window that has one, or by nothing")
        return wrap(getattr(self._inner, method)(*unwrap([named(c) for c in flat(cols)])))


class Window:
    """`pyspark.sql.Window`."""

    unboundedPreceding, unboundedFollowing, currentRow = -(1 << 63), (1 << 63) - 1, 0

    def __getattr__(self, name: str) -> Any:
        if name not in WINDOW_METHODS:
            raise Escape(f"Window.{name}")
        return getattr(WindowSpec(SqlWindow(exp.Window())), name)


def column(expression: exp.Expr) -> Column:
    """What authors get for an expression."""
    return Column(SqlColumn(expression))


def called(name: str, *args: Column | exp.Expr, **modifiers: Any) -> Column:
    """A call of a function, by the name that Spark knows it by. Not SQLFrame's nor sqlglot's own functions, which write
    some that differ alike."""
    expressions = [operand(a) if isinstance(a, Column) else a for a in args]
    return column(exp.Anonymous(this=name, expressions=expressions, **modifiers))


def operand(value: Column) -> exp.Expr:
    """The expression of a column without its alias, in parentheses where it needs them."""
    return value._given().column_expression


def literal(value: Any) -> exp.Expr:
    """A value as Spark's `lit` takes it; a column as it is."""
    if isinstance(value, Column):
        return operand(value)
    if not isinstance(value, Hidden) and isinstance(value, list | tuple | dict | Proxy):
        raise Escape("a literal of many values")
    return SqlColumn._lit(unwrap(value)).expression


def named(value: Any) -> Column:
    """A column, or the column of a name."""
    if isinstance(value, Column):
        return value
    if isinstance(value, Hidden) or not isinstance(value, str):
        raise Escape(f"a column that is a {type(value).__name__}")
    return wrap(SqlColumn.ensure_col(plain_name(value)))


def plain_name(name: Any) -> str:
    """A name that SQL reads as PySpark does: no dots, no quotes, nothing of the interval."""
    if isinstance(name, Hidden) or not isinstance(name, str) or not PLAIN_NAME.fullmatch(name):
        raise Escape("a column without a plain name")
    return name


def flat(columns: tuple[Any, ...]) -> list[Any]:
    """PySpark takes columns one by one or as one list."""
    return list(columns[0]) if len(columns) == 1 and isinstance(columns[0], list | tuple) else list(columns)


def _offset(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Escape("a frame that no integer bounds")
    return value


def _outdated(found: exp.Column) -> bool:
    """Whether `table.name` may be what SQLFrame has lost: it looks for the name in the latest table."""
    meta: Mapping[str, Any] = found.meta
    at = meta.get("table")
    return bool(found.table) and (found.name in keys or (at is not None and defined.get(found.name, 0) > at))


wraps(lambda value: isinstance(value, SqlColumn), Column)
wraps(lambda value: isinstance(value, SqlWindow), WindowSpec)
