"""Where may Spark compute something else than the engine that a query was written for? Each place, for people to check.

Queries are written for Spark by sqlglot. What it knows to write otherwise is written so; what is listed here is what
nobody can tell without the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from backfill_assets.importing.bounds import line_of
from backfill_assets.importing.engines import SAME_ENGINE, engine_of
from backfill_assets.importing.weekdays import numbered

_SAME = (
    exp.Count, exp.Sum, exp.Min, exp.Max, exp.Coalesce, exp.Case, exp.If, exp.Nullif, exp.And, exp.Or, exp.Not,
    exp.Abs, exp.Upper, exp.Cast, exp.Date, exp.TsOrDsToDate, exp.Exists, exp.RowNumber, exp.Rank, exp.DenseRank,
    exp.CurrentDate, exp.Anonymous, exp.Div, exp.Xor, exp.Query,
)  # fmt: skip
_ZONED = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDifference:
    """Something to be checked, at a line of the file."""

    line: int
    what: str
    why: str


def differences(tree: exp.Expr, dialect: str, line: int) -> list[EngineDifference]:
    """What of a query may be computed otherwise by Spark, one for each thing and line."""
    if engine_of(dialect) in SAME_ENGINE:
        return []
    found = [
        EngineDifference(line=line_of(n, line), what=what, why=why)
        for n in tree.walk()
        for what, why in _at(n, dialect)
    ]
    return sorted(dict.fromkeys(found), key=lambda d: (d.line, d.what))


def _at(node: exp.Expr, dialect: str) -> Iterator[tuple[str, str]]:
    match node:
        case exp.Func() if counted := numbered(node, dialect):
            if counted == "?":
                why = "Sunday is 0 there, unless WEEK_START says otherwise, and 1 here: it differs in all rows"
                yield "the number of a day of the week", why
        case exp.Div() | exp.IntDiv():
            yield (
                "division",
                f"of integers {dialect} may give an integer or a fraction; by zero it may give NULL, or stop",
            )
        case exp.Mod():
            yield "the remainder of a division", "of negative numbers, and by zero, engines differ"
        case exp.Ordered() if isinstance(node.parent, exp.Order) and isinstance(node.parent.parent, exp.Window):
            yield (
                "ORDER BY of a window",
                f"rows that are equal in it come in any order; NULLs are where {dialect} has them",
            )
        case exp.Order() if isinstance(node.parent, exp.AggFunc) and not isinstance(node.parent, exp.PERCENTILES):
            yield "ORDER BY in an aggregate", "Spark's collect_list has none: sort the array by array_sort"
        case exp.WindowSpec():
            yield "the frame of a window", "frames by RANGE over times and ties"
        case exp.Cast() | exp.TryCast() if node.to.this in _ZONED:
            yield "an instant with a time zone", "the session's time zone there is taken for UTC"
        case exp.Cast() | exp.TryCast() if node.to.this in exp.DataType.TEXT_TYPES and not isinstance(
            node.this, exp.Literal
        ):
            yield "a cast to text", "of numbers and instants the form may differ"
        case exp.Cast() | exp.TryCast() if node.to.this in exp.DataType.NUMERIC_TYPES:
            yield (
                f"a cast to {node.to.sql(dialect=dialect).lower()}",
                "of fractions it rounds or cuts off; of texts that are none it may stop or be NULL",
            )
        case exp.AtTimeZone() | exp.FromTimeZone():
            yield (
                "a conversion between time zones",
                "of a timestamp without a zone it goes the other way in some engines",
            )
        case exp.ApproxQuantile():
            why = (
                f"it is an approximation: here a value of the column, without interpolation; {dialect} may give another"
            )
            yield "an approximate percentile", why
        case exp.ApproxQuantiles():
            yield "`approx_quantiles(…)`", "Spark does not have it: write percentile_approx(column, array(…)) by hand"
        case exp.Quantile() | exp.Median() if engine_of(dialect) == "clickhouse":
            why = (
                "it is an approximation there where rows are many; Spark's is exact, so that it may give another value"
            )
            yield f"`{_name(node)}(…)`", why
        case exp.PercentileCont() | exp.PercentileDisc() | exp.Quantile() | exp.Median():
            yield f"`{_name(node)}(…)`", "it is exact; Spark's is of numbers only, and a double"
        case exp.Mode():
            yield "`mode(…)`", "of values that are as frequent, any may be given"
        case exp.Avg():
            yield "avg", "of decimals, digits and rounding differ"
        case exp.DPipe() | exp.Concat():
            yield "joined texts", "a NULL makes all of it NULL in some engines, and nothing in others"
        case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.SimilarTo():
            yield f"`{_name(node)}`", "escapes and collations of patterns differ"
        case exp.Interval() if node.unit is not None and str(node.unit).lower().startswith(
            ("month", "year", "quarter")
        ):
            yield "an interval of months", "at the end of months, engines differ"
        case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
            yield "a date and an interval", "the result is a date in some engines, a timestamp in others"
        case exp.Anonymous():
            yield f"`{node.name}(…)`", "sqlglot does not know it: it is written as it is, and may not be in Spark"
        case exp.Unnest() | exp.Lateral():
            yield "rows of an array", "an empty array keeps its row in some engines"
        case exp.Distinct() if node.args.get("on") is not None:
            yield "DISTINCT ON", "which row stays is not fixed, unless the order tells all rows apart"
        case exp.Bracket():
            yield "a place of an array", "it counts from 0 in some engines, from 1 in others"
        case exp.Func() if not isinstance(node, _SAME) and not isinstance(node, exp.Window):
            yield f"`{_name(node)}(…)`", f"it is written for Spark by sqlglot: {dialect}'s may differ at its edges"
        case _:
            pass


def _name(node: exp.Expr) -> str:
    names = getattr(type(node), "_sql_names", None) or [type(node).key]
    return str(names[0]).lower()
