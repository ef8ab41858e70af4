"""How does a worker get what a UDF imports as it runs? There is no such module, so the driver sends what is imported.

An import of the project's modules within a function becomes a lookup, `name = __late_imports__["lib.scores", "score"]`.
On the driver that imports, when it is asked; sent to a worker it is a dictionary of what it stands for, by value.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

LOOKUP = "__late_imports__"
Key = tuple[str, str]
"""A module, and what is taken from it; "" for the module itself."""


class LateImports:
    """The lookup of one module, on the driver. `importing` opens a scope in which the project's modules are found."""

    def __init__(self, keys: Collection[Key], importing: Callable[[], AbstractContextManager[None]]) -> None:
        self._keys, self._importing = keys, importing
        self._modules: dict[str, ModuleType] = {}

    def __getitem__(self, key: Key) -> Any:
        with self._importing():
            return self._imported(*key)

    def __reduce__(self) -> tuple[object, ...]:
        # Items come after the dictionary itself: modules may import each other.
        return dict, (), None, None, self._items()

    def _items(self) -> Iterator[tuple[Key, Any]]:
        with self._importing():
            yield from [(key, self._imported(*key)) for key in sorted(self._keys)]

    def _imported(self, module: str, name: str) -> Any:
        found = self._modules.get(module) or self._modules.setdefault(module, importlib.import_module(module))
        if name and not hasattr(found, name):
            return importlib.import_module(f"{module}.{name}")
        return getattr(found, name) if name else found


def with_lookups(tree: ast.Module, names: Collection[str]) -> tuple[ast.Module, Collection[Key]]:
    """A module, its imports of these modules within functions made lookups; and what they look up. It is changed.

    `import a.b` (without `as`) and relative imports stay: they bind, or begin with, a package.
    """
    change = _Change(names)
    return ast.fix_missing_locations(change.visit(tree)), change.keys


class _Change(ast.NodeTransformer):
    def __init__(self, names: Collection[str]) -> None:
        self._names, self._depth = names, 0
        self.keys: set[Key] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._within(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._within(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.stmt]:
        ours = [a.name in self._names and ("." not in a.name or a.asname is not None) for a in node.names]
        if not self._depth or not any(ours):
            return node
        return [
            self._lookup(node, a.asname or a.name, (a.name, ""))
            if mine
            else ast.copy_location(ast.Import(names=[a]), node)
            for a, mine in zip(node.names, ours, strict=True)
        ]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        module = node.module or ""
        if not self._depth or node.level or not self._is_ours(module):
            return node
        return [self._lookup(node, a.asname or a.name, self._key(module, a.name)) for a in node.names]

    def _key(self, module: str, name: str) -> Key:
        # A package without a file of its own may be another project's by now: what it has is not asked.
        whole = f"{module}.{name}"
        return (whole, "") if module not in self._names and whole in self._names else (module, name)

    def _is_ours(self, module: str) -> bool:
        """A module of the project, or a package of it that has no file of its own."""
        return module in self._names or any(name.startswith(f"{module}.") for name in self._names)

    def _within(self, node: ast.AST) -> ast.AST:
        self._depth += 1
        try:
            return self.generic_visit(node)
        finally:
            self._depth -= 1

    def _lookup(self, node: ast.stmt, name: str, key: Key) -> ast.stmt:
        self.keys.add(key)
        (made,) = ast.parse(f"{name} = {LOOKUP}[{key!r}]").body
        for part in ast.walk(made):
            ast.copy_location(part, node)
        return made
