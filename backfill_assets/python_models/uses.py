"""Which functions that give something else each time does a Python model call? Its code is read, not run.

What a model reaches is followed by name: a function or constant of its file, or of a file of the project that is
imported, counts as reached when anything that is reached mentions its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from backfill_assets.python_models.reads import is_model_decorator
from backfill_assets.sql.constant_texts import CLOCK_WORDS
from backfill_assets.sql.nondeterministic import FUNCTIONS, FunctionUse, Nondeterminism, uses_in_text

_CALLS = {
    **dict.fromkeys(
        (
            "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
            "time.time", "time.time_ns", "time.gmtime", "time.localtime", "time.strftime", "time.ctime",
            "time.monotonic", "time.perf_counter", "time.process_time", "pandas.Timestamp.now",
            "pandas.Timestamp.utcnow", "pandas.Timestamp.today",
        ),
        Nondeterminism.CLOCK,
    ),
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "os.urandom"), Nondeterminism.CHANCE),
}  # fmt: skip
_MAKE_TIMES = ("pandas.Timestamp", "pandas.to_datetime")
_CHANCE = ("random.", "secrets.", "numpy.random.")
_SEEDED = ("random.Random", "random.seed", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.seed")
_SAMPLES = ("sample", "sampleBy", "randomSplit")
_TAKE_SQL = {"expr": "SELECT ", "selectExpr": "SELECT ", "where": "SELECT ", "filter": "SELECT ", "sql": ""}
"""Methods and functions that take SQL text, and what makes a query of it."""
_FUNCTIONS_OF_SPARK = "pyspark.sql.functions"


def uses_in_python(model: ast.FunctionDef, modules: Iterable[tuple[str, ast.Module]]) -> Iterator[FunctionUse]:
    """The uses that a model reaches. `modules` are its own (the first one) and those it imports, by their file."""
    files = list(modules)
    defined: dict[str, list[tuple[str, ast.stmt, Mapping[str, str]]]] = {}
    for file, tree in files:
        names = dict(_imports(tree))
        for node in tree.body:
            for name in _defines(node):
                defined.setdefault(name, []).append((file, node, names))
    own, seen = files[0][0], set[int]()
    pending: list[tuple[str, ast.stmt, Mapping[str, str]]] = [(own, model, dict(_imports(files[0][1])))]
    while pending:
        file, node, names = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for use in _uses(node, names):
            yield replace(use, file="" if file == own else file)
        for name in _mentions(node):
            pending += defined.get(name, [])


def _uses(node: ast.stmt, names: Mapping[str, str]) -> Iterator[FunctionUse]:
    for call in _walk(node):
        if isinstance(call, ast.Attribute | ast.Name) or _is_getattr(call):  # handed on, it may be called by any name
            dotted = _dotted(call, names)
            if dotted.startswith("pyspark.") and (last := dotted.rpartition(".")[2]) in FUNCTIONS:
                yield FunctionUse(name=f"{last}()", cause=FUNCTIONS[last], line=call.lineno)
            elif dotted in _CALLS:
                yield FunctionUse(name=f"{dotted}()", cause=_CALLS[dotted], line=call.lineno)
            elif dotted.startswith(_CHANCE) and dotted not in _SEEDED:
                yield FunctionUse(name=f"{dotted}()", cause=Nondeterminism.CHANCE, line=call.lineno)
        if not isinstance(call, ast.Call):
            continue
        dotted, line = _dotted(call.func, names), call.lineno
        last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted.rpartition(".")[2]
        if dotted.startswith("pyspark."):
            if last in FUNCTIONS:
                yield FunctionUse(name=f"{last}()", cause=FUNCTIONS[last], line=line)
            elif last == "unix_timestamp" and not call.args and not call.keywords:
                yield FunctionUse(name="unix_timestamp()", cause=Nondeterminism.CLOCK, line=line)
        elif dotted in _CALLS:
            yield FunctionUse(name=f"{dotted}()", cause=_CALLS[dotted], line=line)
        elif dotted in _MAKE_TIMES and any(isinstance(a, ast.Constant) and a.value in CLOCK_WORDS for a in call.args):
            yield FunctionUse(name=f"{dotted}()", cause=Nondeterminism.CLOCK, line=line)
        elif dotted.startswith(_CHANCE):
            if not (dotted in _SEEDED and (call.args or call.keywords)):
                yield FunctionUse(name=f"{dotted}()", cause=Nondeterminism.CHANCE, line=line)
        elif not dotted and last in _SAMPLES:
            yield FunctionUse(name=f"{last}()", cause=Nondeterminism.SAMPLE, line=line)
        if last in _TAKE_SQL:
            for text in call.args:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    for use in uses_in_text(_TAKE_SQL[last] + text.value):
                        yield replace(use, line=text.lineno)


def _is_getattr(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"


def _walk(node: ast.stmt) -> Iterator[ast.AST]:
    """Every node, without the decorator that makes a model of a function."""
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(inner, ast.expr) and is_model_decorator(inner)):
            yield from ast.walk(inner)


def _mentions(node: ast.stmt) -> set[str]:
    names: set[str] = set()
    for inner in _walk(node):
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


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name means, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == "*" and node.module == _FUNCTIONS_OF_SPARK:
                    yield from ((name, f"{node.module}.{name}") for name in (*FUNCTIONS, "unix_timestamp", "expr"))
                else:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """What is called, in full; empty when that is no imported name."""
    parts: list[str] = []
    while True:
        match node:
            case ast.Attribute(attr=name, value=of):
                pass
            case ast.Call(func=ast.Name(id="getattr"), args=[of, ast.Constant(value=str() as name), *_]):
                pass
            case _:
                break
        parts.append(name)
        node = of
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])
