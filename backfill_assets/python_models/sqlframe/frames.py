"""What stands for PySpark's DataFrames and groups?"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from sqlframe.base.column import Column as SqlColumn
from sqlframe.standalone import StandaloneDataFrame, StandaloneGroupedData
from sqlglot import exp

from backfill_assets.python_models.sqlframe.columns import PLAIN_NAME, Column, defined, flat, keys, named, plain_name
from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.forms import FRAME_METHODS, GROUPED_METHODS
from backfill_assets.python_models.sqlframe.functions import parsed
from backfill_assets.python_models.sqlframe.proxy import Proxy, unwrap, wrap, wraps

_JOINS = {
    "inner", "cross", "outer", "full", "fullouter", "full_outer", "left", "leftouter", "left_outer", "right",
    "rightouter", "right_outer", "semi", "leftsemi", "left_semi", "anti", "leftanti", "left_anti",
}  # fmt: skip
_OWN_NAMES = {"row_num", "num_nulls"}
"""Columns that SQLFrame makes itself."""
_numbers = itertools.count(1)


class Grouped(Proxy, proved=GROUPED_METHODS):
    """`pyspark.sql.GroupedData`."""

    __slots__ = ()

    def agg(self, *columns: Any) -> Frame:
        if not columns or not all(isinstance(c, Column) for c in columns):
            raise Escape("agg of something else than columns")
        made = self._inner.agg(*unwrap(columns))
        names = [c._inner.expression.meta.get("display_name") for c in columns]
        made.display_name_mapping.update({name.lower(): name for name in names if name})  # SQLFrame forgets them here
        return wrap(made)

    def count(self) -> Frame:
        return wrap(self._inner.count())


class Frame(Proxy, proved=FRAME_METHODS):
    """`pyspark.sql.DataFrame`."""

    __slots__ = ("_number",)

    def __init__(self, inner: Any) -> None:
        self._inner, self._number = inner, next(_numbers)
        for column in inner.expression.expressions:
            if isinstance(column, exp.Alias) and (
                not isinstance(column.this, exp.Column) or column.this.name != column.alias
            ):
                defined[column.alias] = self._number

    @property
    def columns(self) -> list[str]:
        return self._inner.columns

    def __getattr__(self, name: str) -> Any:
        if name not in self.columns:
            raise Escape(f"DataFrame.{name}")
        return self[name]

    def __getitem__(self, name: Any) -> Any:
        if type(name) is not str:
            raise Escape("an item of a table that is no column of it")
        if name not in self.columns:
            raise Escape(f"Column {name!r} could not be resolved: the table has no such item")
        column = self._inner[name]
        column.expression.meta["table"] = self._number
        return wrap(column)

    def select(self, *columns: Any) -> Frame:
        if not flat(columns):
            raise Escape("SQLFrame takes no columns for all")
        return wrap(
            self._inner.select(*unwrap([c if type(c) is str and c == "*" else named(c) for c in flat(columns)]))
        )

    def where(self, condition: Any) -> Frame:
        if isinstance(condition, str):
            condition = wrap(SqlColumn(exp.Paren(this=parsed(condition))))
        if not isinstance(condition, Column):
            raise Escape("a condition that is no column")
        return wrap(self._inner.where(unwrap(condition)))

    filter = where

    def groupBy(self, *columns: Any) -> Grouped:
        return wrap(self._inner.groupBy(*unwrap([named(c) for c in flat(columns)])))

    groupby = groupBy

    def agg(self, *columns: Any) -> Frame:
        return self.groupBy().agg(*columns)

    def withColumn(self, colName: str, col: Any) -> Frame:
        return self.withColumns({colName: col})

    def withColumns(self, columns: dict[str, Any]) -> Frame:
        if not columns or not all(isinstance(c, Column) for c in columns.values()):
            raise Escape("a column that is none")
        return wrap(self._inner.withColumns({plain_name(n): unwrap(c) for n, c in columns.items()}))

    def withColumnRenamed(self, existing: str, new: str) -> Frame:
        return self.withColumnsRenamed({existing: new})

    def withColumnsRenamed(self, names: dict[str, str]) -> Frame:
        there = {name.casefold() for name in self.columns}
        found = {plain_name(old): plain_name(new) for old, new in names.items() if old.casefold() in there}
        return wrap(self._inner.withColumnsRenamed(found)) if found else self  # Spark ignores names that are not there

    def join(self, other: Any, on: Any = None, how: str = "inner") -> Frame:
        names = [on] if isinstance(on, str | Column) else on
        if not isinstance(other, Frame) or str(how) not in _JOINS or (on is None) != (how == "cross"):
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
            keys.update(name.lower() for name in names or () if isinstance(name, str))
        if how.startswith(("right", "full", "outer")):
            # or a WHERE of the same SELECT would be on the left key, which Spark does not show
            joined = joined._convert_leaf_to_cte()
        return wrap(joined)

    def crossJoin(self, other: Any) -> Frame:
        return self.join(other, how="cross")

    def orderBy(self, *columns: Any, ascending: Any = None) -> Frame:
        if self._inner.expression.args.get("order"):
            raise Escape("SQLFrame adds a second order to the first")
        if ascending not in (None, True, False) or not columns:
            raise Escape("an order of several directions, or by nothing")
        return wrap(self._inner.orderBy(*unwrap([named(c) for c in flat(columns)]), ascending=ascending))

    sort = orderBy

    def limit(self, num: int) -> Frame:
        if type(num) is not int:
            raise Escape("a limit that is no integer")
        return wrap(self._inner.limit(num))

    def distinct(self) -> Frame:
        return wrap(self._inner.distinct())

    def dropDuplicates(self, subset: Any = None) -> Frame:
        return wrap(self._inner.dropDuplicates([plain_name(n) for n in subset]) if subset else self._inner.distinct())

    drop_duplicates = dropDuplicates

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

    def drop(self, *columns: Any) -> Frame:
        gone = {c if isinstance(c, str) else c._inner.alias_or_name.strip("`") for c in columns}
        dropped: Frame = wrap(self._inner.drop(*sorted(gone)))
        if [c.casefold() for c in dropped.columns] != [
            c.casefold() for c in self.columns if c.casefold() not in {g.casefold() for g in gone}
        ]:
            raise Escape("SQLFrame drops other columns")
        return dropped

    def alias(self, alias: str) -> Frame:
        """Columns cannot be named by it: `x.k` is no plain name."""
        plain_name(alias)
        return self

    def transform(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return func(self, *args, **kwargs)

    def hint(self, *args: Any) -> Frame:
        """Which rows come out does not depend on how Spark goes about it."""
        return self

    cache = persist = unpersist = repartition = coalesce = hint

    def _checked(self) -> Frame:
        names = [name.casefold() for name in self._inner.columns]
        if len(set(names)) != len(names) or not all(PLAIN_NAME.fullmatch(name) for name in names):
            raise Escape("a column without a plain name, or two of one name")  # SQLFrame loses track of both
        if _OWN_NAMES & set(names):
            raise Escape("SQLFrame has columns of these names itself")
        if not all(isinstance(c, exp.Alias | exp.Column | exp.Star) for c in self._inner.expression.expressions):
            raise Escape("a column that Spark would name by its expression")
        return self


def upstream(session: Any, table: str, columns: list[tuple[str, str]]) -> Frame:
    """A table that a function takes, with its columns as the project knows them."""
    names = [exp.column(name.lower()) for name, _ in columns]  # SQLFrame takes a quoted name for another one
    source = exp.Table(this=exp.to_identifier(table, quoted=True))
    frame = session._create_df(exp.select(*names).from_(source))
    frame.display_name_mapping.update({name.lower(): name for name, _ in columns})
    return Frame(frame)


wraps(lambda value: isinstance(value, StandaloneDataFrame), lambda value: Frame(value)._checked())
wraps(lambda value: isinstance(value, StandaloneGroupedData), Grouped)
