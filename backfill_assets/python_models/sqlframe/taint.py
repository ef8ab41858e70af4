"""Where could a part of the interval become a plain value? Authors' code is rewritten so that it does not.

Python joins texts and calls C functions without asking the values: `f"{day} "`, `"%s" % day`, `"-".join(days)`,
`day in "…"`, `Decimal(day)`. Those places call the functions below, which keep the result hidden or end in an Escape.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.interval import Hidden, HiddenText, hides, plain
from backfill_assets.python_models.sqlframe.unknown import Unknown

CALL, TEXT, SHOWN, MODULO, WITHIN = "__call__", "__text__", "__shown__", "__modulo__", "__within__"
SAME, CHANGED = "__same__", "__changed__"
_HERE = __name__.rpartition(".")[0]
_NAMES = frozenset(("__name__", "__doc__", "__all__", "__version__", "__author__"))
_PLAIN_CALLS = (isinstance, print, list, tuple, dict, zip, enumerate, reversed, bool, iter, next)
_CONVERSIONS: Mapping[int, Callable[[Any], Any]] = {-1: lambda v: v, ord("s"): lambda v: v.__str__()}


def rewritten(tree: ast.Module) -> ast.Module:
    """The module with these places replaced. Raises Escape for what cannot be followed at all."""
    return ast.fix_missing_locations(_Rewriter().visit(tree))


def runtime() -> dict[str, Any]:
    """What the rewritten code calls: names that authors' code cannot use; and what builtins are instead."""
    replaced = {"setattr": _setattr, "delattr": _delattr}
    return replaced | {
        CALL: _call, TEXT: _text, SHOWN: _shown, MODULO: _modulo, WITHIN: _within, SAME: _same, CHANGED: _changed,
    }  # fmt: skip


authors: set[str] = set()
"""The names of the modules that are authors': what their classes say that they are of."""


_COMPARED: Mapping[type[ast.cmpop], tuple[str, bool]] = {
    ast.In: (WITHIN, False), ast.NotIn: (WITHIN, True), ast.Is: (SAME, False), ast.IsNot: (SAME, True),
}  # fmt: skip
"""What is called instead of a comparison, and whether it says the opposite."""


class _Rewriter(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node  # it looks at the frame that it is called from
        return _calling(node, CALL, [node.func, *node.args], node.keywords)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                form = self.visit(value.format_spec) if value.format_spec else ast.Constant("")
                parts.append(_calling(value, SHOWN, [self.visit(value.value), ast.Constant(value.conversion), form]))
            else:
                parts.append(value)
        return _calling(node, TEXT, parts)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _calling(node, MODULO, [node.left, node.right]) if isinstance(node.op, ast.Mod) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.op, ast.Mod):
            raise Escape("%=")
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        kinds = {kind for op in node.ops for kind in _COMPARED if isinstance(op, kind)}
        if not kinds:
            return node
        if len(node.ops) > 1:
            raise Escape("a chain of comparisons with `in` or `is`")
        [kind] = kinds
        name, negated = _COMPARED[kind]
        found = _calling(node, name, [node.left, node.comparators[0]])
        return ast.copy_location(ast.UnaryOp(ast.Not(), found), node) if negated else found

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:
        raise Escape("a `case` that looks whether something is None, True or False")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        _no_internals(node.attr)
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _calling(node.value, CHANGED, [node.value])
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        _no_internals(node.id)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        raise Escape("a try, which would hide where SQLFrame differs from Spark")

    visit_TryStar = visit_Try  # type: ignore[assignment]


def _calling(at: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.Call:
    called = ast.copy_location(ast.Name(name, ast.Load()), at)
    return ast.copy_location(ast.Call(called, args, keywords or []), at)


def _no_internals(name: str) -> None:
    if name.startswith("__") and name.endswith("__") and name not in _NAMES:
        raise Escape(f"`{name}`: Python's own internals")


def _same(left: Any, right: Any) -> bool:
    if Unknown in (type(left), type(right)):
        raise Escape("whether something unknown is something else")
    return left is right


def _changed(of: Any) -> Any:
    """What an attribute is set of: nothing but the author's own. Others would see what is set on a library; and what is
    set on a stand-in need not be what it is on Spark's."""
    if isinstance(of, FunctionType | ModuleType):
        names = of.__globals__ if isinstance(of, FunctionType) else vars(of)
        own = _is_rewritten(names)
    else:
        own = (of if isinstance(of, type) else type(of)).__module__ in authors
    if not own:
        raise Escape("an attribute is set of what is not the author's")
    return of


def _is_rewritten(names: Mapping[str, Any]) -> bool:
    """Whether these are the globals of an author's module."""
    return CALL in names.get("__builtins__", ())


def _setattr(of: Any, name: str, value: Any) -> None:
    setattr(_changed(of), name, value)


def _delattr(of: Any, name: str) -> None:
    delattr(_changed(of), name)


_BY_NAME = (getattr, hasattr, _setattr, _delattr)


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what the author calls; with a part of the interval only what is known to keep it hidden."""
    if function is callable and Unknown in map(type, args):
        raise Escape("whether something unknown can be called")
    if function in _BY_NAME:
        _no_internals(str(args[1]))
    if function in (str, format) and hides(args[:1]):
        return HiddenText(format(plain(args[0]), *plain(args[1:])))
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, str):
        if function.__name__ == "join" and len(args) == 1:
            args = (list(args[0]),)
        if hides(args) or hides(kwargs):
            if function.__name__ not in ("join", "format", "format_map"):
                raise Escape(f"str.{function.__name__} of a part of the interval")
            text = plain(function.__self__)
            return HiddenText(getattr(text, function.__name__)(*plain(args), **plain(kwargs)))
    elif (hides(args) or hides(kwargs)) and not _keeps(function):
        raise Escape(f"a call of {getattr(function, '__name__', function)!r} with a part of the interval")
    return function(*args, **kwargs)


def _keeps(function: Any) -> bool:
    """Whether it is an author's function, a stand-in, a method of a container, or one that looks at no value."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return function.__module__.startswith(_HERE) or _is_rewritten(function.__globals__)
    if isinstance(function, type) and function not in _PLAIN_CALLS:
        return function.__module__.startswith(_HERE) or _keeps(function.__init__)
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, list | dict):
        return True
    return function in _PLAIN_CALLS


def _shown(value: Any, conversion: int, form: str) -> Any:
    """One value of an f-string."""
    if isinstance(value, Hidden) or hides(form):
        if conversion not in _CONVERSIONS:
            raise Escape("a part of the interval as Python writes it")
        return HiddenText(format(plain(_CONVERSIONS[conversion](value)), plain(form)))
    if hides(value):
        raise Escape("a container of the interval's parts as text")
    match conversion:
        case 115:
            value = str(value)
        case 114:
            value = repr(value)
        case 97:
            value = ascii(value)
        case _:
            pass
    return format(value, form)


def _text(*parts: Any) -> str:
    joined = "".join(plain(part) for part in parts)
    return HiddenText(joined) if hides(parts) else joined


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str) and (hides(left) or hides(right)):
        return HiddenText(plain(left) % plain(right))
    return left % right


def _within(item: Any, container: Any) -> bool:
    if isinstance(container, str) and hides(item):
        raise Escape("a search for a part of the interval")
    return item in container
