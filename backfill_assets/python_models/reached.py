"""Which statements does a Python model reach? What its function mentions by name, in its file and those it imports.

A function or constant of a file of the project counts as reached when anything that is reached mentions its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backfill_assets.python_models.bindings import bindings, module_bindings
from backfill_assets.python_models.names import Names, imports
from backfill_assets.python_models.reads import is_model_decorator


@dataclass(frozen=True, slots=True)
class Reached:
    """A statement; `file` is empty where it is the model's own."""

    file: str
    node: ast.stmt
    names: Names


def reached(model: ast.FunctionDef, modules: Sequence[tuple[str, ast.Module]]) -> Iterator[Reached]:
    """`modules` are the model's own (the first one) and those it imports, by their file."""
    defined: dict[str, list[tuple[str, ast.stmt]]] = {}
    for file, tree in modules:
        for node in tree.body:
            for name in _defines(node):
                defined.setdefault(name, []).append((file, node))
    imported = {file: imports(tree) for file, tree in modules}
    bound = {file: module_bindings(tree) for file, tree in modules}
    own, seen = modules[0][0], set[int]()
    pending: list[tuple[str, ast.stmt]] = [(own, model)]
    while pending:
        file, node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        names = Names(*imported[file], bindings(bound[file], node))
        yield Reached(file="" if file == own else file, node=node, names=names)
        for name in _mentions(node):
            pending += defined.get(name, [])


def walk(node: ast.stmt) -> Iterator[ast.AST]:
    """Every node, without the decorator that makes a model of a function."""
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(inner, ast.expr) and is_model_decorator(inner)):
            yield from ast.walk(inner)


def _mentions(node: ast.stmt) -> set[str]:
    names: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            names.add(inner.attr)
    if isinstance(node, ast.FunctionDef):
        # A parameter is named as an upstream model is, whose function may be in the same file.
        names -= {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return names


def _defines(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return
