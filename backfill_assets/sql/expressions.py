"""Is this text one SQL expression, about a row or about many? What audits are told in SQL, looked at without Spark."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.sql.parsing import SqlError, named_by_text, parse


def condition(value: object) -> str:
    """A text that is true or false of a row; ValueError when it is something else."""
    text, tree = _expression(value)
    if tree.find(exp.AggFunc):
        raise ValueError("it aggregates rows; `aggregate` bounds an aggregate, here each row is asked")
    return text


def metric(value: object) -> str:
    """A text that aggregates rows to one value, such as `sum(clicks)`; ValueError when it is something else."""
    text, tree = _expression(value)
    # sqlglot does not know every aggregate of Spark, and none of one's own: an unknown function may be one.
    if not tree.find(exp.AggFunc, exp.Anonymous):
        raise ValueError("it aggregates nothing; write `sum(…)`, `count(*)`, `avg(…)` or the like")
    return text


def columns_of(text: str) -> tuple[str, ...]:
    """The columns that an expression names, each once, as written; of `address.city` the first part.

    >>> columns_of("clicks <= impressions AND `odd name`.x > clicks")
    ('clicks', 'impressions', 'odd name')
    """
    (tree,) = parse(f"SELECT {text}\n").statements
    named = [c.parts[0].name for c in tree.find_all(exp.Column, bfs=False) if not isinstance(c.this, exp.Star)]
    return tuple(dict.fromkeys(named))


def _expression(value: object) -> tuple[str, exp.Expr]:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("not a text with an SQL expression")
    text = value.strip()
    try:
        sql = parse(f"SELECT {text}\n")
    except SqlError as error:
        raise ValueError(f"not valid SQL: {error.why}") from None
    tree = sql.statements[0] if len(sql.statements) == 1 else None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or ";" in [t.text for t in sql.tokens]:
        raise ValueError("not one SQL expression")
    if any(value for name, value in tree.args.items() if name != "expressions"):
        raise ValueError("not one SQL expression: a FROM, WHERE or the like belongs in an `sql` audit")
    only = tree.expressions[0]
    if isinstance(only, exp.Alias | exp.Aliases | exp.Star):
        raise ValueError("an expression has no name and no `*`")
    if any(named_by_text(sql)):
        raise ValueError("IDENTIFIER(…) names something by a text, which no mask follows: write the name itself")
    if sql.parameters:
        raise ValueError("parameters are known in `sql` audits only")
    if only.find(exp.Query, exp.Window):
        raise ValueError("subqueries and windows belong in an `sql` audit")
    return text, only
