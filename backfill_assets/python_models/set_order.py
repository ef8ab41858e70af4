"""Where does code depend on the order of a set? Of texts it is another one in each process."""

from __future__ import annotations

import ast

_MAKES = frozenset({"set", "frozenset"})
_ANY_ORDER = frozenset({
    "all", "any", "difference", "frozenset", "intersection", "isdisjoint", "isin", "issubset", "issuperset", "len",
    "max", "min", "set", "sorted", "sum", "symmetric_difference", "union", "update",
})  # fmt: skip
"""Functions and methods to which the order of what they are given is all the same."""


def in_any_order(tree: ast.Module) -> frozenset[int]:
    """The nodes (`id`) that are a set and whose order decides: what is looped over, unpacked, listed, or popped of."""
    found = _Sets(tree)
    return frozenset(id(taken) for node in ast.walk(tree) for taken in found.used(node))


class _Sets:
    def __init__(self, tree: ast.Module) -> None:
        self._names: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_set(value):
                    self._names.add(name)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if self._is_set(value):
                    self._names.add(name)
                case _:
                    pass
        self._sorted = {
            id(a) for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n.func) in _ANY_ORDER for a in n.args
        }

    def used(self, node: ast.AST) -> list[ast.expr]:
        """Sets that a node takes in their order."""
        taken: list[ast.expr] = []
        match node:
            case ast.For(iter=through):
                taken = [through]
            case ast.ListComp(generators=loops) | ast.DictComp(generators=loops):
                taken = [loop.iter for loop in loops]
            case ast.GeneratorExp(generators=loops) if id(node) not in self._sorted:
                taken = [loop.iter for loop in loops]
            case ast.Starred(value=value):
                taken = [value]
            case ast.Call(func=ast.Attribute(attr="pop", value=value), args=[]):
                taken = [value]
            case ast.Call(func=func, args=args) if _name(func) not in _ANY_ORDER:
                taken = args
            case _:
                pass
        return [expr for expr in taken if self._is_set(expr)]

    def _is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set(elts=elements):
                return not all(isinstance(e, ast.Constant) and isinstance(e.value, int) for e in elements)
            case ast.SetComp():
                return True
            case ast.Call(func=ast.Name(id=name), args=args):
                return name in _MAKES and bool(args)
            case ast.Name(id=name):
                return name in self._names
            case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
                return self._is_set(left) or self._is_set(right)
            case _:
                return False


def _name(func: ast.expr) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
