"""Which expressions may a name of a file stand for? What it is assigned, and the items of a literal it loops over."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

Bindings = Mapping[str, "list[ast.expr] | None"]
"""By name; None: it may be something that cannot be read."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DEEPEST = 5


def module_bindings(tree: ast.Module) -> Bindings:
    """The names that a module binds outside of functions and classes."""
    own = dict.fromkeys(n.name for n in tree.body if isinstance(n, _DEFINITIONS))
    outer = (n for n in tree.body if not isinstance(n, _DEFINITIONS))
    return own | _bound([inner for n in outer for inner in ast.walk(n)], {})


def bindings(module: Bindings, node: ast.stmt) -> Bindings:
    """The names that a statement of a module binds, and those of the module itself."""
    return {**module, **_bound(list(ast.walk(node)), module)} if isinstance(node, _DEFINITIONS) else module


def _bound(nodes: Iterable[ast.AST], around: Bindings) -> dict[str, list[ast.expr] | None]:
    found: dict[str, list[ast.expr] | None] = {}
    stored, read = Counter[str](), Counter[str]()
    unread: set[str] = set()
    loops: list[ast.For | ast.comprehension] = []
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                stored[name] += 1
            case ast.arg(arg=name) | ast.AugAssign(target=ast.Name(id=name)):
                unread.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                unread.add(name)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _add(target, [value], found, read)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                _add(target, [value], found, read)
            case ast.For() | ast.comprehension():
                loops.append(node)
            case _:
                pass
    known = {**around, **found}
    for loop in loops:
        items = list(_items(loop.iter, known))
        if isinstance(loop.target, ast.Tuple):
            rows = [i.elts for i in items if isinstance(i, ast.Tuple) and len(i.elts) == len(loop.target.elts)]
            if len(rows) == len(items):
                for target, values in zip(loop.target.elts, zip(*rows, strict=True), strict=False):
                    _add(target, values, found, read)
        elif items:
            _add(loop.target, items, found, read)
    unread |= {name for name, times in stored.items() if times > read[name]}
    return {**found, **dict.fromkeys(unread)}


def _add(
    target: ast.expr, values: Iterable[ast.expr], found: dict[str, list[ast.expr] | None], read: Counter[str]
) -> None:
    if isinstance(target, ast.Name):
        found[target.id] = [*(found.get(target.id) or ()), *values]
        read[target.id] += 1


def _items(node: ast.expr, known: Bindings, depth: int = 0) -> Iterator[ast.expr]:
    """The items of a literal, or of a name that stands for one; none where they cannot be read."""
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            yield from items
        case ast.Dict(keys=keys):
            yield from (key for key in keys if key is not None)
        case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values" as part, value=of)):
            match of:
                case ast.Name(id=name) if len(known.get(name) or ()) == 1:
                    of = (known[name] or [of])[0]
                case _:
                    pass
            if isinstance(of, ast.Dict):
                pairs = [(k, v) for k, v in zip(of.keys, of.values, strict=True) if k is not None]
                for key, value in pairs:
                    yield {"keys": key, "values": value}.get(part, ast.Tuple(elts=[key, value], ctx=ast.Load()))
        case ast.Name(id=name) if depth < _DEEPEST and len(values := known.get(name) or ()) == 1:
            yield from _items(values[0], known, depth + 1)
        case _:
            return
