"""Which type does Spark give this expression? Only what is certain: None for everything else."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from backfill_assets.sql.types import INTEGERS, MOST_DIGITS, decimal, decimal_parts, spark_type

Known = Callable[[exp.Column], str | None]

_FIXED: dict[type[exp.Expr], str] = {
    **dict.fromkeys((exp.Count, exp.CountIf, exp.ApproxDistinct), "bigint"),
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.Length), "int"),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Quarter), "int"),
    **dict.fromkeys((exp.Hour, exp.Minute, exp.Second, exp.WeekOfYear), "int"),
    **dict.fromkeys((exp.Sqrt, exp.Exp, exp.Ln, exp.Pow, exp.Stddev, exp.StddevPop, exp.StddevSamp), "double"),
    **dict.fromkeys((exp.Variance, exp.VariancePop, exp.Corr, exp.PercentRank, exp.CumeDist), "double"),
    **dict.fromkeys((exp.Lower, exp.Upper, exp.Trim, exp.ConcatWs, exp.Initcap, exp.MD5, exp.SHA2), "string"),
    **dict.fromkeys((exp.RegexpReplace, exp.RegexpExtract), "string"),
    **dict.fromkeys((exp.CurrentDate, exp.LastDay, exp.TsOrDsToDate, exp.TsOrDsAdd), "date"),
    **dict.fromkeys((exp.CurrentTimestamp,), "timestamp"),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.And, exp.Or), "boolean"),
    **dict.fromkeys(
        (exp.Not, exp.Is, exp.In, exp.Between, exp.Like, exp.RegexpLike, exp.Exists, exp.Boolean), "boolean"
    ),
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr), "boolean"),
}
_SAME_AS_ARGUMENT = (
    exp.Paren, exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.IgnoreNulls,
    exp.RespectNulls, exp.Filter, exp.Lag, exp.Lead, exp.Window, exp.Alias,
)  # fmt: skip


def expression_type(node: exp.Expr, known: Known) -> str | None:
    """The type of an expression over columns whose types `known` gives."""
    if (fixed := _FIXED.get(type(node))) is not None:
        return fixed
    if isinstance(node, _SAME_AS_ARGUMENT):
        return expression_type(node.this, known)
    match node:
        case exp.Column():
            return known(node)
        case exp.Cast():  # and TryCast
            return _declared(node)
        case exp.Literal():
            return _literal(node)
        case exp.Sum():
            return _sum(expression_type(node.this, known))
        case exp.Avg():
            return _average(expression_type(node.this, known))
        case exp.Coalesce():
            return _common([node.this, *node.expressions], known)
        case exp.If():
            otherwise = node.args.get("false")
            return _common([node.args["true"], *([otherwise] if otherwise else [])], known)
        case exp.Case():
            default = node.args.get("default")
            return _common([*(i.args["true"] for i in node.args["ifs"]), *([default] if default else [])], known)
        case exp.Nullif():
            return expression_type(node.this, known)
        case exp.Neg() | exp.Abs() | exp.Round():
            type_ = expression_type(node.this, known)
            return type_ if type_ in (*INTEGERS, "float", "double") else None
        case exp.DateDiff():
            return None if node.args.get("unit") else "int"
        case exp.Div():
            return _division(node, known)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _arithmetic(node, known)
        case exp.TimestampTrunc():
            return "timestamp" if expression_type(node.this, known) in ("timestamp", "date") else None
        case _:
            return None


def _declared(node: exp.Cast) -> str | None:
    try:
        name = spark_type(node.to.sql("spark"))
    except ValueError:
        return None
    return None if name.startswith(("char", "varchar")) else name


def _literal(node: exp.Literal) -> str | None:
    if node.is_string:
        return "string"
    if node.this.isdigit():
        return "int" if int(node.this) < 2**31 else "bigint" if int(node.this) < 2**63 else None
    return None


def _sum(argument: str | None) -> str | None:
    if argument in INTEGERS:
        return "bigint"
    if argument in ("float", "double"):
        return "double"
    if parts := decimal_parts(argument):
        return decimal(min(parts[0] + 10, MOST_DIGITS), parts[1])
    return None


def _average(argument: str | None) -> str | None:
    if argument in INTEGERS or argument in ("float", "double"):
        return "double"
    parts = decimal_parts(argument)
    return decimal(parts[0] + 4, parts[1] + 4) if parts and parts[0] <= 34 else None


def _common(nodes: list[exp.Expr], known: Known) -> str | None:
    """The type that all share, NULLs aside. Spark's widening of different types is left to Spark."""
    types = {expression_type(n, known) for n in nodes if not isinstance(n, exp.Null)}
    if len(types) < 2:
        return types.pop() if types else None
    if types <= set(INTEGERS):
        return max((t for t in types if t), key=INTEGERS.index)
    if None not in types and types <= {*INTEGERS, "double"}:
        return "double"
    return None


def _division(node: exp.Div, known: Known) -> str | None:
    sides = (expression_type(node.this, known), expression_type(node.expression, known))
    return "double" if all(s in (*INTEGERS, "float", "double") for s in sides) else None


def _arithmetic(node: exp.Binary, known: Known) -> str | None:
    left, right = expression_type(node.this, known), expression_type(node.expression, known)
    if left in INTEGERS and right in INTEGERS:
        return max((left, right), key=INTEGERS.index)
    numbers = (*INTEGERS, "float", "double")
    if "double" in (left, right) and left in numbers and right in numbers:
        return "double"
    return None
