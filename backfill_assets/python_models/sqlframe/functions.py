"""What stands for `pyspark.sql.functions`? Calls of the functions in `forms.py`, written as Spark's own."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlframe.base import functions as sqlframe_functions
from sqlglot import exp

from backfill_assets.python_models.sqlframe.columns import (
    PLAIN_NAME,
    Column,
    called,
    column,
    literal,
    named,
    operand,
)
from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.forms import FUNCTIONS, SQL_NAMES
from backfill_assets.python_models.sqlframe.interval import Hidden, plain
from backfill_assets.python_models.sqlframe.proxy import unwrap, wrap


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: its letter (`forms.py`), and the name that it may be given by."""

    kind: str
    name: str
    optional: bool
    repeated: bool


def parameters(form: str) -> list[Parameter]:
    """The parameters of a form.

    >>> [(p.name, p.kind, p.optional) for p in parameters("n scale:I?")]
    [('', 'n', False), ('scale', 'I', True)]
    """
    found: list[Parameter] = []
    for text in form.split():
        name, _, kind = text.rpartition(":")
        found.append(Parameter(kind[0], name, kind.endswith("?"), kind.endswith("*")))
    return found


def stand_ins() -> dict[str, Callable[..., Any]]:
    """The functions that authors may call, by name."""
    made = {name: _function(name, parameters(form)) for name, form in FUNCTIONS.items()}
    return made | {
        "col": named, "column": named, "lit": _lit, "expr": _expr, "when": _when, "broadcast": lambda frame: frame,
        "count": _count, "count_distinct": _count_distinct, "countDistinct": _count_distinct,
        "sum_distinct": lambda col: called("sum", exp.Distinct(expressions=[operand(named(col))])),
        **{n: _ordered(n) for n in ("asc", "desc", "asc_nulls_first", "asc_nulls_last", "desc_nulls_first",
                                    "desc_nulls_last")},
    }  # fmt: skip


def _function(name: str, form: list[Parameter]) -> Callable[..., Column]:
    def call(*args: Any, **kwargs: Any) -> Column:
        return called(SQL_NAMES.get(name, name), *_bound(name, form, args, kwargs))

    return call


def _bound(name: str, form: list[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[exp.Expr]:
    """The arguments as SQL. Raises Escape for those that are not of the form."""
    given, rest = list(args), dict(kwargs)
    for parameter in form:
        if parameter.repeated:
            while given:
                yield _argument(parameter, given.pop(0))
        elif given:
            yield _argument(parameter, given.pop(0))
        elif parameter.name in rest:
            yield _argument(parameter, rest.pop(parameter.name))
        elif not parameter.optional:
            raise Escape(f"{name} without an argument that it needs")
        else:
            break
    if given or rest:
        raise Escape(f"{name} with arguments that are not proved")


def _argument(parameter: Parameter, value: Any) -> exp.Expr:
    seen = plain(value)
    match parameter.kind:
        case "S":
            fits = isinstance(seen, str)
        case "I":
            fits = type(seen) is int
        case "B":
            fits = type(seen) is bool
        case "L":
            fits = (seen is not None and isinstance(value, Column | str | int | float)) or isinstance(value, Hidden)
        case "K":
            return literal(value) if type(seen) is int else operand(named(value))
        case "X":
            return literal(float(seen)) if type(seen) in (int, float) else operand(named(value))
        case _:
            return operand(named(value))
    if not fits:
        raise Escape(f"a {type(value).__name__} for a parameter that it is not proved for")
    return literal(value)


def _lit(value: Any = None) -> Column:
    return value if isinstance(value, Column) else column(literal(value))


def _when(condition: Any, value: Any) -> Column:
    if not isinstance(condition, Column):
        raise Escape("when() of no column")
    return wrap(sqlframe_functions.when(unwrap(condition), unwrap(value)))


def _count(col: Any) -> Column:
    return called("count", exp.Star() if type(col) is str and col == "*" else operand(named(col)))


def _count_distinct(*cols: Any) -> Column:
    if not cols:
        raise Escape("count_distinct of nothing")
    return called("count", exp.Distinct(expressions=[operand(named(c)) for c in cols]))


def _ordered(name: str) -> Callable[[Any], Column]:
    return lambda col: getattr(named(col), name)()


def _expr(text: Any) -> Column:
    return column(exp.Paren(this=parsed(text)))


def parsed(text: Any) -> exp.Expr:
    """SQL text of an author. Raises Escape unless what it is parsed to says exactly the same, token by token."""
    said = plain(text)
    if not isinstance(said, str):
        raise Escape("SQL that is no text")
    tree = sqlglot.parse_one(said, dialect="spark")
    foreign = isinstance(tree, exp.Alias) or tree.find(exp.Query, exp.Star, exp.Placeholder)
    if foreign or _tokens(said) != _tokens(tree.sql(dialect="spark")):
        raise Escape("SQL text that sqlglot may read as something else")
    if any(not PLAIN_NAME.fullmatch(i.name) for i in tree.find_all(exp.Identifier)):
        raise Escape("SQL text with names that are not plain")
    return tree.transform(lambda n: exp.to_identifier(n.name.lower()) if isinstance(n, exp.Identifier) else n)


def _tokens(text: str) -> list[str]:
    """What is in the text, whatever the spacing and the case of what is no string."""
    tokens = sqlglot.tokenize(text, dialect="spark")
    return [repr(t.text) if t.token_type.name == "STRING" else t.text.lower() for t in tokens]
