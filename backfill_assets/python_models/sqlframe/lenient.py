"""What of an author's file matters only where it is used? Other packages, and functions that nobody can follow.

A file has more than one model's code: `import pandas`, a UDF, a function with a `try`. Each of those is a name for
something unknown, and a model that uses it has no SQL; its neighbours have theirs. Only what does nothing else when it
is defined counts: no call but those that make a UDF, a type or a pattern.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from backfill_assets.python_models.names import Names, imports
from backfill_assets.python_models.sqlframe.escape import Escape, escaped
from backfill_assets.python_models.sqlframe.taint import rewritten
from backfill_assets.python_models.sqlframe.unknown import Unknown

ESCAPE, UNKNOWN = "__escape__", "__unknown__"
_MAKERS = re.compile(
    r"backfill_assets\.model|pyspark\.sql\.functions\.(pandas_)?udf|pyspark\.sql\.types\.[A-Z]\w*|re\.compile"
)
_NO_EFFECT = sys.stdlib_module_names | {"numpy", "pandas", "pyarrow", "pyspark"}
"""Packages that are imported for their names alone."""
_BUILT_IN = frozenset(("bool", "bytes", "dict", "float", "frozenset", "int", "list", "object", "set", "str", "tuple"))


def lenient(tree: ast.Module, local: Callable[[str], bool]) -> ast.Module:
    """The module, rewritten (`taint.py`); what cannot be followed, and matters only where it is used, is unknown.

    `local` tells whether a module is a file of the project.
    """
    names = _names(tree, local)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    body: list[ast.stmt] = []
    for node in tree.body:
        for part in _parts(node):
            name = (
                _imported(part, used, local) if isinstance(part, ast.Import | ast.ImportFrom) else _defined(part, names)
            )
            body += _rewritten(part) if name is None else _guarded(part, name)
    return ast.fix_missing_locations(ast.Module(body, tree.type_ignores))


def runtime() -> dict[str, Any]:
    """What `lenient` code calls."""
    return {ESCAPE: Escape, UNKNOWN: _unknown}


def _unknown(what: str) -> Unknown:
    escaped.pop()  # that of the definition: nothing has used it yet
    return Unknown(what)


def _rewritten(node: ast.stmt) -> list[ast.stmt]:
    return rewritten(ast.Module([node], [])).body


def _guarded(node: ast.stmt, name: str) -> list[ast.stmt]:
    """`try: …` around a definition."""
    call = ast.Call(ast.Name(UNKNOWN, ast.Load()), [ast.Constant(name)], [])
    known = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), node)
    try:
        body = _rewritten(node)
    except Escape:
        return [known]
    handler = ast.ExceptHandler(ast.Name(ESCAPE, ast.Load()), None, [known])
    return [ast.copy_location(ast.Try(body, [handler], [], []), node)]


def _parts(node: ast.stmt) -> Iterator[ast.stmt]:
    """`import a, b` as two."""
    match node:
        case ast.Import(names=names):
            yield from (ast.copy_location(ast.Import([n]), node) for n in names)
        case ast.ImportFrom(module=module, names=names, level=level) if module != "__future__":
            yield from (ast.copy_location(ast.ImportFrom(module, [n], level), node) for n in names)
        case _:
            yield node


def _imported(node: ast.Import | ast.ImportFrom, used: Collection[str], local: Callable[[str], bool]) -> str | None:
    """What an import of another package binds; None if it is there for what it does."""
    [alias] = node.names
    module = alias.name if isinstance(node, ast.Import) else node.module or ""
    root = module.partition(".")[0]
    name = alias.asname or (root if isinstance(node, ast.Import) else alias.name)
    if local(module) or getattr(node, "level", 0) or name == "*":
        return None
    return name if name in used or root in _NO_EFFECT else None


def _defined(node: ast.stmt, names: Names) -> str | None:
    """What a statement defines, if it does nothing else."""
    match node:
        case ast.FunctionDef(name=name, args=args, decorator_list=decorators, returns=returns):
            given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
            executed = [*args.defaults, *args.kw_defaults, returns, *(a and a.annotation for a in given)]
            harmless = all(_makes(d, names) for d in decorators) and all(_does_nothing(e, names) for e in executed if e)
            return name if harmless else None
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _does_nothing(value, names):
            return name
        case _:
            return None


def _does_nothing(node: ast.expr, names: Names) -> bool:
    """Whether an expression runs no code that may change anything."""
    match node:
        case ast.Constant() | ast.Name() | ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[])):
            return True
        case ast.Attribute(value=value):
            return _foreign(value, names)
        case ast.Subscript(value=value, slice=index):
            return _foreign(value, names) and _does_nothing(index, names)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _foreign(left, names) and _foreign(right, names)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(_does_nothing(item, names) for item in items)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _does_nothing(key, names) for key in keys) and all(
                _does_nothing(value, names) for value in values
            )
        case ast.Call():
            return _makes(node, names)
        case _:
            return False


def _makes(node: ast.expr, names: Names) -> bool:
    """Whether to call or to decorate with it gives a UDF, a type or a pattern, and does nothing else."""
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            return _makes(function, names) and all(
                _does_nothing(v, names) for v in (*args, *(k.value for k in keywords))
            )
        case _:
            made = names.spelled(node)
            return bool(made) and all(map(_MAKERS.fullmatch, made))


def _foreign(node: ast.expr, names: Names) -> bool:
    """Whether it is no object of the project: those may do anything when they are asked for an attribute."""
    match node:
        case ast.Name(id=name):
            return name in names.imported or (name in _BUILT_IN and name not in names.bound)
        case ast.Attribute(value=value):
            return _foreign(value, names)
        case _:
            return _does_nothing(node, names)


def _names(tree: ast.Module, local: Callable[[str], bool]) -> Names:
    """What the file's names mean, where one import and nothing else binds them."""
    imported, stars = imports(tree)
    times = Counter(name for node in ast.walk(tree) for name in _binds(node))
    if any(map(local, stars)):
        imported = {}  # it may bind each of them
    once = {name: full for name, full in imported.items() if times[name] == 1 and not local(full)}
    return Names(once, [star for star in stars if not local(star)], dict.fromkeys(times.keys() - once.keys()))


def _binds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case _:
            return
