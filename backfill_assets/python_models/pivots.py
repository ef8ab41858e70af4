"""Where does a Python model pivot without naming the values? Its columns are other ones where other values come."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backfill_assets.python_models.names import Names
from backfill_assets.python_models.reached import reached, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPivot:
    """`pivoted` is the column as it is written; `file` is relative to the project where it is not the model's own."""

    pivoted: str
    line: int
    file: str = ""


def open_pivots(model: ast.FunctionDef, modules: Iterable[tuple[str, ast.Module]]) -> Iterator[OpenPivot]:
    """`modules` are the model's own (the first one) and those it imports, by their file."""
    for part in reached(model, list(modules)):
        for node in walk(part.node):
            if (pivoted := _pivoted(node, part.names)) is not None:
                # The call begins where its chain of methods does, lines before.
                yield OpenPivot(pivoted=ast.unparse(pivoted), line=pivoted.lineno, file=part.file)


def _pivoted(node: ast.AST, names: Names) -> ast.expr | None:
    """The column of `.pivot(column)`, which pandas and polars have with other arguments."""
    match node:
        case ast.Call(func=ast.Attribute(attr="pivot", value=of), args=args, keywords=keywords):
            given = {k.arg: k.value for k in keywords}
            if names.spelled(of) or None in given or not set(given) <= {"pivot_col", "values"} or len(args) > 2:
                return None
            values = args[1] if len(args) == 2 else given.get("values")
            nothing = values is None or (isinstance(values, ast.Constant) and values.value is None)
            column = args[0] if args else given.get("pivot_col")
            return column if nothing else None
        case _:
            return None
