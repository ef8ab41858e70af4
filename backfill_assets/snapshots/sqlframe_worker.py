"""What SQL does a PySpark function build? Runs authors' code on stand-ins, in a process that plans nothing.

The stand-ins hand what they are given to SQLFrame and let nothing else through: a function that reads a value which its
SQL would not show (a row, the interval, the clock, a file) ends in `Escape`, and then it has no SQL. So two functions
of the same SQL do the same. Reads a request from stdin; writes a line `[name, SQL or null]` for each function.
"""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false, reportDeprecated=false
# The stand-ins reach into SQLFrame's classes and into each other, and take less than what they stand for.

from __future__ import annotations

import ast
import builtins
import datetime as real
import importlib
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn, TypeVar

import sqlglot
from sqlframe.base import functions as sqlframe_functions
from sqlframe.base import types as sqlframe_types
from sqlframe.base.column import Column as SqlColumn
from sqlframe.base.types import DataType
from sqlframe.base.util import get_func_from_session
from sqlframe.base.window import WindowSpec as SqlWindow
from sqlframe.standalone import StandaloneDataFrame, StandaloneGroupedData, StandaloneSession
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from backfill_assets.snapshots.python import model

# Unlike each other in every part that a format can print, and further apart than anybody adds days.
START = real.datetime(1987, 6, 5, 7, 41, 13, tzinfo=real.UTC)
END = real.datetime(2345, 10, 18, 19, 23, 47, tzinfo=real.UTC)

# What cannot reach a clock, a file, the environment or chance.
PURE = {
    "__future__", "collections", "collections.abc", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "json", "logging", "math", "operator", "string", "textwrap", "typing",
}  # fmt: skip
FORBIDDEN_BUILTINS = ("open", "input", "eval", "exec", "compile", "breakpoint", "help", "hash", "id", "type")
# The SQL of the first leaves an argument out or is that of another function; the others are no functions of Spark.
FORBIDDEN_FUNCTIONS = (
    "array_size", "extract", "input_file_name", "nth_value", "percentile", "randstr",
    "get_active_spark_context", "get_func_from_session", "meta",
)  # fmt: skip
JOINS = {
    "inner", "cross", "outer", "full", "fullouter", "full_outer", "left", "leftouter", "left_outer", "right",
    "rightouter", "right_outer", "semi", "leftsemi", "left_semi", "anti", "leftanti", "left_anti",
}  # fmt: skip
C = TypeVar("C")
_escaped: list[str] = []
_defined: dict[str, int] = {}  # a column's name -> the number of the last table that gave it a new meaning
_tables = itertools.count(1)
_keys: set[str] = set()  # names that an outer join was on: SQLFrame does not tell `left.key` from `right.key` after it


class Escape(BaseException):
    """The function looked at something that its SQL does not show. No author's `except Exception` stops it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        _escaped.append(what)  # even if somebody does stop it


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what authors print is no answer
        request = json.load(sys.stdin)
        _mend_sqlframe()
        for function in request["functions"]:
            answers.write(json.dumps([function["name"], _in_child(function, request["seconds"])]) + "\n")
            answers.flush()


def _in_child(function: Mapping[str, Any], seconds: int) -> str | None:
    """The SQL by a child process: what one function hangs in, breaks or leaves behind is no other's concern."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(seconds)  # nobody handles it, so it ends the child, wherever that is
            text = compile_function(function)
            with os.fdopen(writing, "w", encoding="utf-8") as file:
                file.write(text)
            os._exit(0)
        except BaseException as error:
            print(f"{function['name']}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        text = file.read()
    return text if os.waitpid(child, 0)[1] == 0 else None


def compile_function(function: Mapping[str, Any]) -> str:
    """The function's SQL. Raises whatever stands in its way."""
    called = vars(Modules(Path(function["path"]), Path(function["root"])).run(function["code"]))[function["name"]]
    text = _sql(called, function["upstreams"], START, END)
    # Text of the interval can be compared where nothing notices. A second look, from the other side of every date:
    if _shape(text) != _shape(_sql(called, function["upstreams"], END, START)):
        raise Escape("another interval gives other SQL")
    if _escaped:
        raise Escape("it went on after an escape")
    return text


def _sql(called: Callable[..., Any], upstreams: list[Any], start: real.datetime, end: real.datetime) -> str:
    session = StandaloneSession()
    _keys.clear()
    _defined.clear()
    arguments: dict[str, Any] = {u["parameter"]: _upstream(session, u["table"], u["columns"]) for u in upstreams}
    frame = called(**arguments, interval=Interval(start, end))
    if not isinstance(frame, Frame):
        raise Escape("it returns no DataFrame")
    text = frame._inner.sql(dialect="spark", optimize=False, pretty=True)
    if isinstance(text, list) or ";" in re.sub(r"'(?:[^'\\]|\\.)*'|`[^`]*`", "", text):
        raise Escape("more than one statement")
    # SQLFrame writes names that nothing defines when it has lost track of a join; sqlglot refuses those.
    schema: dict[str, object] = {_quoted(u["table"]): {_quoted(n): t for n, t in u["columns"]} for u in upstreams}
    qualified = qualify(sqlglot.parse_one(text, dialect="spark"), dialect="spark", schema=schema)
    if not isinstance(qualified, exp.Query):
        raise Escape("no query")
    names = [n.casefold() for n in qualified.named_selects]
    if names != [n.casefold() for n in frame.columns] or "*" in names:
        raise Escape("columns without names")
    return text


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _upstream(session: Any, table: str, columns: list[tuple[str, str]]) -> Frame:
    names = [exp.column(name.lower()) for name, _ in columns]  # SQLFrame takes a quoted name for another one
    source = exp.Table(this=exp.to_identifier(table, quoted=True))
    frame = session._create_df(exp.select(*names).from_(source))
    frame.display_name_mapping.update({name.lower(): name for name, _ in columns})
    return Frame(frame)


def _shape(text: str) -> str:
    """SQL without its texts, and with CTEs, whose names are hashes of what is in them, counted."""
    seen: dict[str, str] = {}
    bare = re.sub(r"'(?:[^'\\]|\\.)*'", "?", text)
    return re.sub(r"`t\d+`", lambda match: seen.setdefault(match[0], f"`cte{len(seen)}`"), bare)


# What goes into SQLFrame, and what comes out of it.


def unwrap(value: Any) -> Any:
    """A value as SQLFrame may see it. Raises Escape for what SQL does not show: a lambda, an object of the author's."""
    match value:
        case Proxy():
            inner = value._inner
            if isinstance(inner, SqlColumn) and any(map(_outdated, inner.expression.find_all(exp.Column))):
                raise Escape("a table's column that has another meaning by now")
            # SQLFrame writes into the columns it is given, and authors use one column in several frames.
            return inner.copy() if isinstance(inner, SqlColumn) else inner
        case HiddenDatetime() | HiddenDate():
            return value._shown()
        case HiddenText():
            return value._shown()
        case real.timedelta() if value.microseconds:
            raise Escape("SQLFrame drops microseconds")
        case str() | int() | float() | bool() | None | Decimal() | real.date() | real.timedelta() | bytes():
            return value
        case DataType():
            return value
        case list():
            return [unwrap(item) for item in value]
        case tuple():
            return tuple(unwrap(item) for item in value)
        case dict():
            return {unwrap(key): unwrap(item) for key, item in value.items()}
        case _:
            raise Escape(f"a value of type {type(value).__name__}")


def _outdated(column: exp.Column) -> bool:
    """Whether `table.name` may be what SQLFrame has lost: it looks for the name in the latest table."""
    named = column.meta.get("table")
    return bool(column.table) and (column.name in _keys or (named is not None and _defined.get(column.name, 0) > named))


def wrap(value: Any) -> Any:
    match value:
        case SqlColumn():
            return Column(value)
        case _ if isinstance(value, StandaloneDataFrame):
            return Frame(value)._checked()
        case _ if isinstance(value, StandaloneGroupedData):
            return Grouped(value)
        case SqlWindow():
            return WindowSpec(value)
        case _:
            raise Escape(f"an answer of type {type(value).__name__}")


def _mend_sqlframe() -> None:
    StandaloneSession()  # the first session made is everybody's
    SqlColumn._lit = classmethod(_literal)  # type: ignore[method-assign]
    SqlColumn.column_expression = property(_operand)  # type: ignore[assignment,method-assign]
    for name, function in vars(sqlframe_functions).copy().items():
        if hasattr(function, "unsupported_engines"):
            inner = function.__wrapped__  # without a name for the column that SQLFrame gives and Spark does not
            inner.unsupported_engines = function.unsupported_engines
            setattr(sqlframe_functions, name, inner)
    get_func_from_session("col")  # imports, once for all children


_original_lit = SqlColumn._lit.__func__  # type: ignore[attr-defined]
_original_operand: Any = SqlColumn.column_expression.fget  # type: ignore[attr-defined]


def _literal(cls: type[SqlColumn], value: Any) -> SqlColumn:
    """A float is a double to PySpark; the same digits in SQL text are a decimal."""
    if isinstance(value, float) and isfinite(value):
        return cls(exp.cast(exp.Literal.number(repr(value)), "double"))
    return _original_lit(cls, value)


def _operand(column: SqlColumn) -> exp.Expr:
    """SQLFrame leaves the parentheses of `a == (b > c)` out, and SQL reads that as `(a == b) > c`."""
    expression: exp.Expr = _original_operand(column)
    operator = isinstance(expression, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Predicate)
    return exp.Paren(this=expression) if operator and not isinstance(expression, exp.Paren | exp.Func) else expression


class Proxy:
    """An object of SQLFrame that shows authors only what was tried and is right."""

    __slots__ = ("_inner",)
    _inner: Any

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> NoReturn:
        raise Escape(f"{type(self).__name__}.{name}")

    def __bool__(self) -> bool:
        raise Escape("the truth of a column or table")

    def __iter__(self) -> NoReturn:
        raise Escape("the items of a column or table")


def _passed(name: str) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any, **kwargs: Any) -> Any:
        return wrap(getattr(self._inner, name)(*unwrap(args), **unwrap(kwargs)))

    return method


def _passing(*names: str) -> Callable[[type[C]], type[C]]:
    def add(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, _passed(name))
        return cls

    return add


@_passing(
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__", "__rand__", "__ror__",
    "__invert__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__",
    "__mod__", "__rmod__", "__neg__", "__pow__", "__rpow__", "alias", "asc", "desc", "asc_nulls_first",
    "asc_nulls_last", "desc_nulls_first", "desc_nulls_last", "when", "otherwise", "isNull", "isNotNull", "eqNullSafe",
    "startswith", "endswith", "contains", "rlike", "like", "ilike", "substr", "isin", "between", "getItem",
    "getField", "cast",
)  # fmt: skip
class Column(Proxy):
    """`pyspark.sql.Column`."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Column:
        return wrap(self._inner.getItem(unwrap(key)))

    def over(self, window: Any) -> Column:
        if not isinstance(window, WindowSpec):
            raise Escape("a window that is none")
        return wrap(self._inner.over(unwrap(window)))

    name = alias = _passed("alias")
    astype = cast = _passed("cast")


@_passing("rowsBetween", "rangeBetween")
class WindowSpec(Proxy):
    """`pyspark.sql.WindowSpec`. Spark replaces a partition or order that is set twice; SQLFrame adds to it."""

    __slots__ = ()

    def partitionBy(self, *cols: Any) -> WindowSpec:
        return self._set("partition_by", "partitionBy", cols)

    def orderBy(self, *cols: Any) -> WindowSpec:
        return self._set("order", "orderBy", cols)

    def _set(self, key: str, method: str, cols: tuple[Any, ...]) -> WindowSpec:
        if self._inner.expression.args.get(key):
            raise Escape(f"{method} of a window that has one")
        return wrap(getattr(self._inner, method)(*unwrap(cols)))


class Window:
    """`pyspark.sql.Window`."""

    unboundedPreceding, unboundedFollowing, currentRow = -(1 << 63), (1 << 63) - 1, 0

    def __getattr__(self, name: str) -> Any:
        if name not in ("partitionBy", "orderBy", "rowsBetween", "rangeBetween"):
            raise Escape(f"Window.{name}")
        return getattr(WindowSpec(SqlWindow(exp.Window())), name)


class Grouped(Proxy):
    """`pyspark.sql.GroupedData`."""

    __slots__ = ()

    def agg(self, *columns: Any) -> Frame:
        if not columns or not all(isinstance(c, Column) for c in columns):
            raise Escape("agg of something else than columns")
        return wrap(self._inner.agg(*unwrap(columns)))

    def count(self) -> Frame:
        return wrap(self._inner.count())


@_passing("distinct", "limit", "withColumnRenamed", "withColumnsRenamed", "crossJoin", "dropna", "groupBy", "groupby")
class Frame(Proxy):
    """`pyspark.sql.DataFrame`."""

    __slots__ = ("_number",)

    def __init__(self, inner: Any) -> None:
        self._inner, self._number = inner, next(_tables)
        for column in inner.expression.expressions:
            if isinstance(column, exp.Alias) and (
                not isinstance(column.this, exp.Column) or column.this.name != column.alias
            ):
                _defined[column.alias] = self._number

    @property
    def columns(self) -> list[str]:
        return self._inner.columns

    @property
    def na(self) -> Any:
        return SimpleNamespace(fill=self.fillna, drop=self.dropna)

    def __getattr__(self, name: str) -> Any:
        if name not in self.columns:
            raise Escape(f"DataFrame.{name}")
        return self[name]

    def __getitem__(self, name: Any) -> Any:
        if type(name) is not str or name not in self.columns:
            raise Escape("an item of a table that is no column of it")
        column = self._inner[name]
        column.expression.meta["table"] = self._number
        return wrap(column)

    def select(self, *columns: Any) -> Frame:
        if not _flat(columns):
            raise Escape("SQLFrame takes no columns for all")
        return wrap(self._inner.select(*unwrap(_flat(columns))))

    def where(self, condition: Any) -> Frame:
        if not isinstance(condition, Column | str):
            raise Escape("a condition that is no column")
        return wrap(self._inner.where(unwrap(condition)))

    filter = where

    def agg(self, *columns: Any) -> Frame:
        return self.groupBy().agg(*columns)

    def withColumn(self, name: str, column: Any) -> Frame:
        return self.withColumns({name: column})

    def withColumns(self, columns: dict[str, Any]) -> Frame:
        if not all(isinstance(c, Column) for c in columns.values()):
            raise Escape("a column that is none")
        return wrap(self._inner.withColumns(unwrap(columns)))

    def join(self, other: Any, on: Any = None, how: str = "inner") -> Frame:
        names = [on] if isinstance(on, str | Column) else on
        if not isinstance(other, Frame) or str(how) not in JOINS or (on is None) != (how == "cross"):
            raise Escape("a join of another kind")
        if names is not None:
            kinds = {type(name) for name in names}
            if kinds not in ({str}, {Column}):
                raise Escape("a join on both names and conditions")
            if any(isinstance(n, Column) and isinstance(n._inner.column_expression, exp.Column) for n in names):
                raise Escape("SQLFrame takes a condition that is a column for a name")
            if kinds == {Column} and {c.casefold() for c in self.columns} & {c.casefold() for c in other.columns}:
                raise Escape("a condition on columns of one name, which SQLFrame mixes up")
        # SQLFrame takes the key of a second join from the first table, even after a full join.
        left = self._inner._convert_leaf_to_cte() if self._inner.expression.args.get("joins") else self._inner
        joined = left.join(other._inner, on=unwrap(on), how=how)
        if how not in ("inner", "cross"):
            _keys.update(name.lower() for name in names or () if isinstance(name, str))
        if how.startswith(("right", "full", "outer")):
            # or a WHERE of the same SELECT would be on the left key, which Spark does not show
            joined = joined._convert_leaf_to_cte()
        return wrap(joined)

    def orderBy(self, *columns: Any, ascending: Any = None) -> Frame:
        if self._inner.expression.args.get("order"):
            raise Escape("SQLFrame adds a second order to the first")
        return wrap(self._inner.orderBy(*unwrap(_flat(columns)), ascending=ascending))

    sort = orderBy

    def union(self, other: Any) -> Frame:
        return self._combined("union", other)

    unionAll = union

    def intersect(self, other: Any) -> Frame:
        return self._combined("intersect", other)

    def exceptAll(self, other: Any) -> Frame:
        return self._combined("exceptAll", other)

    def unionByName(self, other: Any, allowMissingColumns: bool = False) -> Frame:
        return self._combined("unionByName", other, allowMissingColumns)

    def _combined(self, method: str, other: Any, missing: bool = False) -> Frame:
        if not isinstance(other, Frame) or (len(other.columns) != len(self.columns) and not missing):
            raise Escape(f"{method} of tables that do not fit")
        return wrap(getattr(self._inner, method)(other._inner, *([True] if missing else [])))

    def dropDuplicates(self, subset: Any = None) -> Frame:
        return wrap(self._inner.dropDuplicates(unwrap(subset)))

    drop_duplicates = dropDuplicates

    def fillna(self, value: Any, subset: Any = None) -> Frame:
        if not isinstance(value, dict):
            if not subset:
                raise Escape("which columns fillna fills depends on their types")
            value = dict.fromkeys([subset] if isinstance(subset, str) else subset, value)
        filled = {name: self._inner[name].isNull() for name in value}
        return wrap(
            self._inner.withColumns(
                {
                    n: sqlframe_functions.when(null, unwrap(value[n])).otherwise(self._inner[n])
                    for n, null in filled.items()
                }
            )
        )

    def drop(self, *columns: Any) -> Frame:
        gone = {c if isinstance(c, str) else c._inner.alias_or_name.strip("`") for c in columns}
        dropped: Frame = wrap(self._inner.drop(*sorted(gone)))
        if [c.casefold() for c in dropped.columns] != [
            c.casefold() for c in self.columns if c.casefold() not in {g.casefold() for g in gone}
        ]:
            raise Escape("SQLFrame drops other columns")
        return dropped

    def transform(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    def hint(self, *args: Any) -> Frame:
        """Which rows come out does not depend on how Spark goes about it."""
        return self

    cache = persist = unpersist = repartition = coalesce = hint

    def _checked(self) -> Frame:
        names = [name.casefold() for name in self._inner.columns]
        if len(set(names)) != len(names) or not all(re.fullmatch(r"[a-z_][a-z0-9_]*", name) for name in names):
            raise Escape("a column without a plain name, or two of one name")  # SQLFrame loses track of both
        if {"row_num", "num_nulls"} & set(names):
            raise Escape("SQLFrame has columns of these names itself")
        return self


def _flat(columns: tuple[Any, ...]) -> list[Any]:
    return list(columns[0]) if len(columns) == 1 and isinstance(columns[0], list | tuple) else list(columns)


# The interval, which may go into SQL but not into a decision.


def _hidden(what: str) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> NoReturn:
        raise Escape(f"the interval's {what}")

    return method


def _hiding(*names: str) -> Callable[[type[C]], type[C]]:
    def add(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, _hidden(name))
        for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            setattr(cls, name, _not_compared)
        return cls

    return add


def _not_compared(self: Any, other: Any) -> Any:
    if isinstance(other, Column):
        return NotImplemented  # then Python asks the column, which can
    raise Escape("a comparison with the interval")


@_hiding(
    "__hash__", "__bool__", "__contains__", "__iter__", "__len__", "__int__", "__float__", "__mod__", "__rmod__",
    "__mul__", "__rmul__", "__complex__", "__index__",
    *(name for name in vars(str) if not name.startswith("_") and name not in ("replace", "strip")),
)  # fmt: skip
class HiddenText(str):
    """Text of the interval."""

    __slots__ = ()

    def _shown(self) -> str:
        return str.__str__(str.__add__(self, ""))[:]

    def __str__(self) -> str:
        return "".join(str.__iter__(self))  # how SQLFrame asks

    def __add__(self, other: str) -> HiddenText:
        return HiddenText(str.__add__(str.__str__(self), other))

    def __radd__(self, other: str) -> HiddenText:
        return HiddenText(str.__add__(other, str.__str__(self)))

    def __getitem__(self, key: Any) -> HiddenText:
        return HiddenText(str.__getitem__(self, key))

    def replace(self, *args: Any) -> HiddenText:
        return HiddenText(str.replace(self, *args))

    def strip(self, *args: Any) -> HiddenText:
        return HiddenText(str.strip(self, *args))


class _Standing(type):
    """`isinstance(x, date)` is as true of a stand-in as of the real class; the real ones make real values."""

    def __instancecheck__(cls, instance: object) -> bool:
        stands_for = cls.__dict__.get("_stands_for")
        return isinstance(instance, stands_for) if stands_for else type.__instancecheck__(cls, instance)


class Date(real.date, metaclass=_Standing):
    """`datetime.date` without today."""

    _stands_for = real.date
    today = fromtimestamp = _hidden("clock")

    @classmethod
    def fromisoformat(cls, text: str) -> Date:
        _no_hidden(text)
        return super().fromisoformat(text)


class Datetime(real.datetime, metaclass=_Standing):
    """`datetime.datetime` without now, and without the machine's zone."""

    _stands_for = real.datetime
    now = utcnow = today = fromtimestamp = utcfromtimestamp = timestamp = _hidden("clock")

    @classmethod
    def fromisoformat(cls, text: str) -> Datetime:
        _no_hidden(text)
        return super().fromisoformat(text)

    @classmethod
    def strptime(cls, text: str, form: str) -> Datetime:
        _no_hidden(text)
        return super().strptime(text, form)

    @classmethod
    def combine(cls, date: Any, time: Any, *zone: Any) -> Any:
        _no_hidden(date)
        return super().combine(date, time, *zone)


def _no_hidden(value: object) -> None:
    if isinstance(value, HiddenText | HiddenDate | HiddenDatetime):
        raise Escape("a part of the interval")


class _HiddenTime:
    """What the interval's dates and datetimes share: text and steps."""

    __slots__ = ()

    def _shown(self) -> Any:
        raise NotImplementedError

    def isoformat(self, *args: Any, **kwargs: Any) -> HiddenText:
        return HiddenText(self._shown().isoformat(*args, **kwargs))

    def strftime(self, form: str) -> HiddenText:
        return HiddenText(self._shown().strftime(form))

    def __str__(self) -> str:
        return HiddenText(str(self._shown()))

    def __format__(self, form: str) -> str:
        return HiddenText(format(self._shown(), form))

    def __repr__(self) -> str:
        return HiddenText(repr(self._shown()))

    def __add__(self, step: real.timedelta) -> Any:
        return type(self)._of(self._shown() + step)  # type: ignore[attr-defined]

    __radd__ = __add__

    def __sub__(self, step: Any) -> Any:
        if isinstance(step, Column):
            return NotImplemented
        if not isinstance(step, real.timedelta):
            raise Escape("a length of the interval")
        return type(self)._of(self._shown() - step)  # type: ignore[attr-defined]

    __rsub__ = _hidden("length")


_PARTS = ("__hash__", "__bool__", "__reduce__", "__reduce_ex__", "year", "month", "day", "weekday", "isoweekday",
          "isocalendar", "toordinal", "timetuple", "ctime")  # fmt: skip


def _parts(cls: type[C]) -> type[C]:
    for name in ("year", "month", "day", "hour", "minute", "second", "microsecond", "fold"):
        if hasattr(cls, name):
            setattr(cls, name, property(_hidden(name)))
    return cls


@_parts
@_hiding(*_PARTS, "replace")
class HiddenDate(_HiddenTime, Date):
    """A day of the interval."""

    @classmethod
    def _of(cls, value: real.date) -> Any:
        return cls(value.year, value.month, value.day)

    def _shown(self) -> real.date:
        return real.date.fromisoformat(real.date.isoformat(self))


@_parts
@_hiding(*_PARTS, "time", "timetz", "timestamp", "utctimetuple", "dst")
class HiddenDatetime(_HiddenTime, Datetime):
    """An instant of the interval."""

    @classmethod
    def _of(cls, value: real.datetime) -> Any:
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return cls(*parts, tzinfo=value.tzinfo)

    def _shown(self) -> real.datetime:
        return real.datetime.fromisoformat(real.datetime.isoformat(self))

    def date(self) -> Any:
        return HiddenDate._of(self._shown().date())

    def replace(self, **parts: Any) -> Any:
        if set(parts) != {"tzinfo"} or parts["tzinfo"] not in (None, real.UTC):
            raise Escape("a part of the interval")
        return self._of(self._shown().replace(**parts))

    def astimezone(self, zone: Any = None) -> Any:
        if zone is not real.UTC or self._shown().tzinfo is not real.UTC:
            raise Escape("the interval in a zone, whose rules one day does not tell")
        return self


class Interval:
    """`backfill_assets.intervals.Interval`, of which only the ends may be named."""

    __slots__ = ("end", "start")

    def __init__(self, start: real.datetime, end: real.datetime) -> None:
        self.start, self.end = HiddenDatetime._of(start), HiddenDatetime._of(end)

    def __getattr__(self, name: str) -> NoReturn:
        raise Escape(f"Interval.{name}")

    __eq__ = __hash__ = __str__ = __repr__ = __format__ = _hidden("text or value")  # type: ignore[assignment]


# What authors' files may import.


class Modules:
    """The project's modules, run with stand-ins for PySpark and the clock, and with nothing that reads the world."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._places = (path.parent, root, root / "models")
        self._local: dict[str, ModuleType] = {}
        self._builtins = {k: v for k, v in vars(builtins).items() if k not in FORBIDDEN_BUILTINS}
        self._builtins["__import__"] = self._import
        self._known = _stand_ins()

    def run(self, code: str) -> ModuleType:
        return self._run(ModuleType(f"backfill_model_{self._path.stem}"), code, self._path)

    def _run(self, module: ModuleType, code: str, path: Path) -> ModuleType:
        tree = ast.parse(code)
        if any(isinstance(node, ast.Try | ast.TryStar) for node in ast.walk(tree)):
            raise Escape("a try, which would hide where SQLFrame differs from Spark")
        module.__dict__["__builtins__"] = self._builtins
        exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)
        return module

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: tuple[str, ...] | None = (), level: int = 0
    ) -> Any:
        if level:
            raise Escape("a relative import")
        if self._find(name.split(".")[:1]):
            module = self._load(name)
            for item in fromlist or ():
                if item not in vars(module) and self._find([*name.split("."), item]):
                    self._load(f"{name}.{item}")
            return module if fromlist else self._local[name.split(".")[0]]
        if name in self._known:
            return self._known[name if fromlist else name.split(".")[0]]
        if name in PURE:
            return importlib.import_module(name if fromlist else name.split(".")[0])
        raise Escape(f"import {name}")

    def _load(self, name: str) -> ModuleType:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            dotted = ".".join(parts[:length])
            if dotted in self._local:
                continue
            file = self._find(parts[:length])
            if file is None:
                raise ModuleNotFoundError(dotted)
            module = self._local[dotted] = ModuleType(dotted)
            if file.suffix:
                self._run(module, file.read_text(encoding="utf-8-sig"), file)
            if length > 1:
                setattr(self._local[".".join(parts[: length - 1])], parts[length - 1], module)
        return self._local[name]

    def _find(self, parts: list[str]) -> Path | None:
        for place in self._places:
            stem = place.joinpath(*parts)
            for file in (stem / "__init__.py", stem.with_suffix(".py")):
                if file.is_file():
                    return file
            if stem.is_dir():
                return stem
        return None


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # Python asks for `__path__` and the like itself
        raise Escape(f"{self.__name__}.{name}")


def _stand_ins() -> dict[str, ModuleType]:
    def module(name: str, **content: Any) -> ModuleType:
        made = _Module(name)
        vars(made).update(content)
        return made

    class SparkSession(metaclass=type("Meta", (type,), {"__getattr__": _hidden("session")})):
        """For annotations: a session can read tables that are no upstreams."""

        __init__ = _hidden("session")

    names = (n for n in vars(sqlframe_functions) if not n.startswith("_") and n not in FORBIDDEN_FUNCTIONS)
    made = {n: _function(getattr(sqlframe_functions, n)) for n in names if _is_function(n)}
    functions = module("pyspark.sql.functions", **made | {"broadcast": lambda frame: frame})
    types = module("pyspark.sql.types", **{n: v for n, v in vars(sqlframe_types).items() if _is_type(v)})
    classes = {"DataFrame": Frame, "Column": Column, "GroupedData": Grouped, "SparkSession": SparkSession}
    windows = {"Window": Window(), "WindowSpec": WindowSpec}
    homes = {
        "dataframe": module("pyspark.sql.dataframe", DataFrame=Frame),
        "column": module("pyspark.sql.column", Column=Column),
        "window": module("pyspark.sql.window", **windows),
    }
    sql = module("pyspark.sql", **classes, **windows, functions=functions, types=types, **homes)
    real_names = ("timedelta", "timezone", "tzinfo", "time", "UTC", "MINYEAR", "MAXYEAR")
    clock = {name: getattr(real, name) for name in real_names}
    return {
        "pyspark": module("pyspark", sql=sql),
        "pyspark.sql": sql,
        "pyspark.sql.functions": functions,
        "pyspark.sql.types": types,
        **{f"pyspark.sql.{name}": home for name, home in homes.items()},
        "datetime": module("datetime", date=Date, datetime=Datetime, **clock),
        "backfill_assets": module("backfill_assets", model=model),
    }


def _is_function(name: str) -> bool:
    value = getattr(sqlframe_functions, name)
    return hasattr(value, "unsupported_engines") and callable(value)


def _is_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, DataType)


def _function(function: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return wrap(function(*unwrap(args), **unwrap(kwargs)))

    return call


if __name__ == "__main__":
    main()
