"""How are truncations of times written for Spark? By its words for units: what it does not know becomes NULL."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.importing.bounds import line_of
from backfill_assets.importing.engines import SAME_ENGINE, engine_of
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.spans import TRUNCATIONS, UNKNOWN, elsewhere, unit_of

_DATES = ("week", "month", "quarter", "year")
"""What Spark's trunc, which gives a date, is for; all else is date_trunc's."""
_OTHER_WEEKS = {"tsql": ("week", "wk", "ww"), "oracle": ("day", "dy", "d", "w", "ww")}
"""Units that are weeks from another day than Monday, by dialects."""


def spark_truncations(tree: exp.Expr, dialect: str, line: int) -> None:
    """Give all truncations of a tree Spark's units, in place. Raises Untranslatable for those that it does not have."""
    dialect = engine_of(dialect)
    if dialect in SAME_ENGINE:
        return
    for node in list(tree.find_all(*TRUNCATIONS)):
        unit = _unit(node, dialect, line)
        if isinstance(node, exp.DateTrunc) and unit in _DATES:
            node.set("unit", exp.Literal.string(unit.upper()))
        elif isinstance(node, exp.TimestampTrunc):
            node.set("unit", exp.var(unit.upper()))
        else:
            new = exp.TimestampTrunc(this=node.this.copy(), unit=exp.var(unit.upper()))
            new.meta.update(node.meta)
            date = isinstance(node, exp.DateTrunc) and unit == "day" and dialect == "bigquery"
            node.replace(exp.cast(new, "date") if date else new)


def _unit(node: exp.Expr, dialect: str, line: int) -> str:
    said, unit = node.args.get("unit"), unit_of(node)
    word = said.name.lower() if isinstance(said, exp.Expr) else ""
    fix = "write it there in another way, or the model by hand"
    if elsewhere(node):
        why = "Spark truncates in its own time zone, which is UTC: rows would be of other times"
    elif (isinstance(said, exp.WeekStart) and unit == UNKNOWN) or word in _OTHER_WEEKS.get(dialect, ()):
        why = "its weeks do not begin on Monday, as Spark's do: rows would be of other weeks"
        fix = "let it give weeks from Monday there (ISOWEEK, iso_week), or write the model by hand"
    elif unit == UNKNOWN:
        why = "Spark does not know the unit, and makes NULL of it"
    else:
        return unit
    text = " ".join(node.sql(dialect=dialect or None, comments=False).split())
    raise Untranslatable(f"`{text[:80]}`", why=why, fix=fix, line=line_of(node, line))
