"""Which number has a day of the week? Spark counts from Sunday as 1, others from Sunday as 0 or from Monday as 1;
sqlglot writes the function's name alone."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.importing.engines import SAME_ENGINE, engine_of

_FROM_ZERO = ("duckdb", "postgres", "redshift")
"""Dialects in which Sunday is 0. In Snowflake a parameter of the session says what it is."""
_SUNDAY = ("dow", "dayofweek", "weekday", "day_of_week")
_MONDAY = ("isodow", "dayofweekiso", "dayofweek_iso", "dow_iso")


def spark_weekdays(tree: exp.Expr, dialect: str) -> None:
    """Give the numbers of days of the week of a tree the values that they have there, in place."""
    for node in list(tree.find_all(exp.Func)):
        match numbered(node, dialect):
            case "0":
                _replace(node, exp.Sub(this=exp.DayOfWeek(this=_day(node)), expression=exp.Literal.number(1)))
            case "iso":
                monday = exp.Anonymous(this="WEEKDAY", expressions=[_day(node)])
                _replace(node, exp.Add(this=monday, expression=exp.Literal.number(1)))
            case _:
                pass


def numbered(node: exp.Expr, dialect: str) -> str:
    """From where a day of the week is counted there, where that is known and not as in Spark: `0` (Sunday), `iso`
    (Monday is 1), `?` where a parameter says it; else empty."""
    engine = engine_of(dialect)
    if engine in ("", *SAME_ENGINE):
        return ""
    match node:
        case exp.DayOfWeekIso():
            return "iso"
        case exp.DayOfWeek():
            word = "dow"
        case exp.Extract():
            word = node.name.lower()
        case exp.Anonymous() if node.name.lower() in ("date_part", "datepart") and len(node.expressions) == 2:
            word = node.expressions[0].name.lower()
        case exp.Anonymous() if engine == "duckdb" and node.name.lower() == "weekday" and len(node.expressions) == 1:
            word = "dow"
        case _:
            return ""
    if word in _MONDAY:
        return "iso"
    if word not in _SUNDAY:
        return ""
    return "0" if engine in _FROM_ZERO else "?" if engine == "snowflake" else ""


def _day(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous):
        return node.expressions[-1].copy()
    return (node.expression if isinstance(node, exp.Extract) else node.this).copy()


def _replace(node: exp.Expr, new: exp.Expr) -> None:
    new.meta.update(node.meta)
    node.replace(exp.Paren(this=new))
