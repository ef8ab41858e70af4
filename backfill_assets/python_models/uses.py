"""Which functions that give something else each time does a Python model call? Its code is read, not run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeGuard

from backfill_assets.python_models.column_sql import text_clock_uses
from backfill_assets.python_models.library_clocks import cause_of_call, cause_of_mention, holds_clocks, is_now
from backfill_assets.python_models.named_functions import SPARK, functions_of
from backfill_assets.python_models.names import Names
from backfill_assets.python_models.reached import reached, walk
from backfill_assets.sql.nondeterministic import FUNCTIONS, FunctionUse, Nondeterminism, uses_in_text

_SAMPLES = ("sample", "sampleBy", "randomSplit")
_TAKE_SQL = {"expr": "SELECT ", "selectExpr": "SELECT ", "where": "SELECT ", "filter": "SELECT ", "sql": ""}
"""Methods and functions that take SQL text, and what makes a query of it."""
_HOLE = "h"
"""What stands in SQL for a part of its text that cannot be read: a column, as a rule."""
_FUNCTIONS_OF_SPARK = ("pyspark.sql.functions", "pyspark.sql.functions.builtin", "pyspark.sql.connect.functions")


def uses_in_python(model: ast.FunctionDef, modules: Iterable[tuple[str, ast.Module]]) -> Iterator[FunctionUse]:
    """The uses that a model reaches. `modules` are its own (the first one) and those it imports, by their file."""
    files = list(modules)
    for part in reached(model, files):
        for use in _uses(part.node, part.names):
            yield replace(use, file=part.file)


def _uses(statement: ast.stmt, names: Names) -> Iterator[FunctionUse]:
    nodes = list(walk(statement))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    for node in nodes:
        if (isinstance(node, ast.Attribute | ast.Name) or _is_getattr(node)) and id(node) not in called:
            yield from _of_mention(node, names)
        if isinstance(node, ast.Attribute) and not names.spelled(node) and is_now(node, names):
            yield FunctionUse(name=f"{node.attr}()", cause=Nondeterminism.CLOCK, line=node.lineno)
        if isinstance(node, ast.Call):
            yield from _of_call(node, names)
            yield from _of_texts(node, names)
            yield from _of_lookup(node, names)
        yield from text_clock_uses(node, names)


def _of_mention(node: ast.Attribute | ast.Name | ast.Call, names: Names) -> Iterator[FunctionUse]:
    """Of what is handed on: it may be called by any name. A name of the file is told where it is bound."""
    if names.is_own(node):
        return
    for dotted in names.spelled(node):
        last = dotted.rpartition(".")[2]
        if (cause := _cause_of_mention(dotted)) is not None:
            yield FunctionUse(name=f"{last if dotted.startswith(SPARK) else dotted}()", cause=cause, line=node.lineno)
        elif dotted.startswith(SPARK) and last == "__dict__":
            yield FunctionUse(name="__dict__", cause=Nondeterminism.UNREAD, line=node.lineno)


def _cause_of_mention(dotted: str) -> Nondeterminism | None:
    if dotted.startswith(SPARK):
        return FUNCTIONS.get(dotted.rpartition(".")[2])
    return cause_of_mention(dotted)


def _of_lookup(call: ast.Call, names: Names) -> Iterator[FunctionUse]:
    """Of `getattr` with a name that nobody can read, and of `vars`."""
    match call:
        case ast.Call(func=ast.Name(id="vars"), args=[module]):
            unread = True
        case ast.Call(func=ast.Name(id="getattr"), args=[module, name, *_]):
            unread = names.texts(name) is None
        case _:
            return
    if unread and any(m in _FUNCTIONS_OF_SPARK or holds_clocks(m) for m in names.spelled(module)):
        yield FunctionUse(name=ast.unparse(call), cause=Nondeterminism.UNREAD, line=call.lineno)


def _of_call(call: ast.Call, names: Names) -> Iterator[FunctionUse]:
    line, found = call.lineno, names.spelled(call.func)
    for dotted in found:
        if names.is_own(call.func) and _cause_of_mention(dotted) is not None:
            continue
        if not dotted.startswith(SPARK):
            if (cause := cause_of_call(dotted, call, names)) is not None:
                yield FunctionUse(name=f"{dotted}()", cause=cause, line=line)
            continue
        functions, given = functions_of(dotted, call, names)
        if functions is None:
            yield FunctionUse(name=f"{ast.unparse(call.func)}(…)", cause=Nondeterminism.UNREAD, line=line)
        for function in functions or ():
            if function in FUNCTIONS:
                yield FunctionUse(name=f"{function}()", cause=FUNCTIONS[function], line=line)
            elif function == "unix_timestamp" and not given:
                yield FunctionUse(name="unix_timestamp()", cause=Nondeterminism.CLOCK, line=line)
    if not found and isinstance(call.func, ast.Attribute) and call.func.attr in _SAMPLES:
        yield FunctionUse(name=f"{call.func.attr}()", cause=Nondeterminism.SAMPLE, line=line)


def _of_texts(call: ast.Call, names: Names) -> Iterator[FunctionUse]:
    """Of SQL that a call takes as text."""
    spelled = [name.rpartition(".")[2] for name in names.spelled(call.func)]
    methods = [call.func.attr] if isinstance(call.func, ast.Attribute) else spelled
    for method in methods:
        if method in _TAKE_SQL:
            for given in (*call.args, *(k.value for k in call.keywords)):
                for text in names.texts(given, hole=_HOLE) or ():
                    for use in uses_in_text(_TAKE_SQL[method] + text):
                        yield replace(use, line=given.lineno)


def _is_getattr(node: ast.AST) -> TypeGuard[ast.Call]:
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, *_]):
            return True
        case _:
            return False
