"""How are percentiles written for Spark? Exactly, as in the engines that have them; sqlglot writes approximations."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.importing.bounds import line_of
from backfill_assets.importing.engines import SAME_ENGINE
from backfill_assets.importing.found import Untranslatable

_NAMES: dict[type[exp.Expr], str] = {exp.PercentileCont: "PERCENTILE_CONT", exp.PercentileDisc: "PERCENTILE_DISC"}


def exact_percentiles(tree: exp.Expr, dialect: str, line: int) -> None:
    """Give all percentiles of a tree one form, in place: `… (share) WITHIN GROUP (ORDER BY value)`.

    Raises Untranslatable for those that Spark does not have.
    """
    if dialect in SAME_ENGINE:
        return
    for node in list(tree.find_all(exp.PercentileCont, exp.PercentileDisc, exp.Quantile)):
        if isinstance(node, exp.ApproxQuantile):
            continue
        if isinstance(node.parent, exp.WithinGroup):
            whole, share = node.parent, node.this
            [value, *more] = whole.expression.expressions
            if more:
                raise _refused(node, line, "it is ordered by several columns")
        elif isinstance(node, exp.Quantile):
            if dialect != "duckdb":
                continue
            whole, value, share = node, node.this, node.args["quantile"]  # a value of the column; Spark's interpolates
        else:
            whole, value, share = node, node.this, node.args.get("expression")
        if isinstance(share, exp.Order):  # DuckDB: quantile_cont(x, 0.5 ORDER BY x DESC)
            [by, *more] = share.expressions
            if more or by.this != value:
                raise _refused(node, line, "it is ordered by something else")
            value, share = by, share.this
        if isinstance(whole.parent, exp.RespectNulls):
            raise _refused(node, line, "NULLs count in it, and not in Spark's")
        if isinstance(whole.parent, exp.IgnoreNulls):
            whole = whole.parent  # they do not count in Spark's either, which has no word for it
        if share is None or isinstance(value, exp.Distinct):
            raise _refused(node, line, "Spark has no such form of it")
        if share.find(exp.Neg):
            raise _refused(node, line, "of a share below 0 it takes the largest values first; Spark has none")
        made = exp.PercentileCont if isinstance(node, exp.PercentileCont) else exp.PercentileDisc
        _put(whole, made(this=share.copy()), value)


def _put(whole: exp.Expr, share: exp.Expr, value: exp.Expr) -> None:
    """NULLs do not count: their place in the order is the one that needs no word in Spark."""
    descending = isinstance(value, exp.Ordered) and bool(value.args.get("desc"))
    by = value.this if isinstance(value, exp.Ordered) else value
    ordered = exp.Ordered(this=by.copy(), desc=descending, nulls_first=not descending)
    whole.replace(exp.WithinGroup(this=share, expression=exp.Order(expressions=[ordered])))


def for_spark(tree: exp.Query) -> exp.Query:
    """The tree with names of percentiles that sqlglot writes as they are."""
    tree = tree.copy()
    for node in list(tree.find_all(*_NAMES)):
        if isinstance(node.parent, exp.WithinGroup):
            node.replace(exp.Anonymous(this=_NAMES[type(node)], expressions=[node.this.copy()]))
    return tree


def _refused(node: exp.Expr, line: int, why: str) -> Untranslatable:
    said = " ".join(node.sql(comments=False).lower().split())
    fix = "write the model by hand, with percentile_cont, percentile_disc or percentile_approx"
    return Untranslatable(f"`{said[:80]}`", why=why, fix=fix, line=line_of(node, line))
