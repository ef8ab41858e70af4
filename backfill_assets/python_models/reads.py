"""What does a Python model read while it is built that its code does not show? Files, modules by name, variables.

A file of the project that a literal names is a part of the model's version. Of anything else its author is warned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from backfill_assets.python_models.external_access import HIDDEN_NAMES, ExternalAccess

_OPEN = ("open", "io.open", "codecs.open")
_OPENERS = (*_OPEN, "pathlib.Path", "Path")
_READING = ("read_text", "read_bytes", "open")
"""Methods of a path that read it."""
_HIDDEN = {
    "importlib.import_module": "imports a module by name", "importlib.reload": "imports a module by name",
    "__import__": "imports a module by name", "runpy.run_path": "runs a file", "runpy.run_module": "runs a file",
    "exec": "runs text as code", "eval": "runs text as code", "compile": "runs text as code",
    "os.getenv": "reads a variable of the environment", "os.popen": "runs a program", "os.system": "runs a program",
}  # fmt: skip
_HIDDEN_MODULES = {
    "pkgutil": "looks for modules", "importlib.resources": "reads files of a package", "subprocess": "runs a program",
    "requests": "reads the network", "urllib.request": "reads the network", "socket": "reads the network",
    "httpx": "reads the network", "glob": "looks for files",
}  # fmt: skip
_LIBRARIES = ("pandas", "numpy", "pyarrow", "polars", "duckdb")
_OF_LIBRARIES = ("read_", "load", "genfromtxt", "fromfile", "scan_")
"""How the names of their functions begin that read a file."""
_SESSION = ("sparkSession", "SparkSession")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Something that the version does not depend on: `what` it is, in a file of the project."""

    file: str
    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReads:
    """`files` are those of the project that literals name."""

    files: tuple[Path, ...] = ()
    unseen: tuple[Unseen, ...] = ()


def build_reads(modules: Iterable[tuple[str, ast.Module]], root: Path) -> BuildReads:
    """What the modules (file from the project's folder, tree) read as they are built, found in their text."""
    files: dict[Path, None] = {}
    unseen: dict[Unseen, None] = {}
    for name, tree in modules:
        names = dict(_imports(tree))
        reach, told = ExternalAccess(tree, names), set[int]()
        for node in ast.walk(tree):  # what is around something comes before it
            if id(node) in told:
                continue
            found = _read(node, names, root / name, root)
            if isinstance(found, Path):
                files[found] = None
            elif found := found or reach.of(node):
                unseen[Unseen(file=name, line=getattr(node, "lineno", 0), what=found)] = None
            if found:
                told |= {id(n) for n in _named(node)}
    return BuildReads(files=tuple(sorted(files)), unseen=tuple(unseen))


def _named(node: ast.AST) -> Iterator[ast.AST]:
    """The names and attributes by which a node says what it calls: told with it."""
    inner = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call) and isinstance(inner, ast.Name) and inner.id == "getattr":
        yield from ast.walk(node.args[0])
    while isinstance(inner, ast.Attribute | ast.Name | ast.Call):
        yield inner
        if isinstance(inner, ast.Name):
            return
        inner = inner.value if isinstance(inner, ast.Attribute) else inner.func


def mentions_docstrings(tree: ast.Module) -> bool:
    """Whether code may use docstrings as data."""
    return any(
        (isinstance(node, ast.Name) and node.id == "__doc__")
        or (isinstance(node, ast.Attribute) and node.attr in ("__doc__", "getdoc"))
        or (isinstance(node, ast.Constant) and node.value == "__doc__")
        for node in ast.walk(tree)
    )


def _read(node: ast.AST, names: Mapping[str, str], file: Path, root: Path) -> Path | str | None:
    """A file of the project, what else is read, or nothing."""
    if isinstance(node, ast.Call):
        dotted = _dotted(node.func, names)
        if (named := _names_file(node, names)) is not None:
            return _literal(named, names, file, root) or _unseen_file(node, named, dotted)
        if dotted in _HIDDEN:
            return f"`{dotted}(…)` {_HIDDEN[dotted]}"
        for module, what in _HIDDEN_MODULES.items():
            if dotted.startswith(module + "."):
                return f"`{dotted}(…)` {what}"
    if isinstance(node, ast.Attribute):
        dotted = _dotted(node, names)
        if dotted in HIDDEN_NAMES:
            return f"`{dotted}` {HIDDEN_NAMES[dotted]}"
        if node.attr == _SESSION[0] or dotted.startswith("pyspark.sql.SparkSession."):
            return f"`{node.attr}` can read tables that are no upstreams"
    return None


def _names_file(node: ast.Call, names: Mapping[str, str]) -> ast.expr | None:
    """What says which file a call reads, of calls that read one. A library is asked for many things besides."""
    dotted, inner = _dotted(node.func, names), node.func
    if isinstance(inner, ast.Attribute) and inner.attr in _READING and dotted not in _OPENERS:
        return inner.value
    last = dotted.rpartition(".")[2]
    if dotted in _OPEN or (dotted.startswith(_LIBRARIES) and last.startswith(_OF_LIBRARIES)):
        return node.args[0] if node.args else inner
    return None


def _unseen_file(node: ast.Call, named: ast.expr, dotted: str) -> str | None:
    """What is said of a call that reads a file which nobody knows."""
    if not (isinstance(node.func, ast.Attribute) and node.func.value is named):
        return f"`{dotted}(…)` reads a file"
    return f"`….{node.func.attr}()` reads a file" if node.func.attr != "open" else None


def _literal(node: ast.expr, names: Mapping[str, str], file: Path, root: Path) -> Path | None:
    """The file of the project that an expression names by literals, from the module's own folder or the project's."""
    with suppress(OSError, ValueError):  # what is no path: too long, a NUL in it, no name
        text = _path(node, names, file)
        for base in (file.parent, root) if text is not None else ():
            found = (base / (text or "")).resolve()
            if found.is_file() and found.is_relative_to(root.resolve()):
                return found
    return None


def anchored(tree: ast.Module, file: Path, root: Path) -> None:
    """Let a module (which is at `file`) read the files that `build_reads` finds, wherever the process was started.

    A path that literals say is the found file, where there is one; elsewhere, as on an executor that was sent the file,
    it is as it is written. The tree is changed. What is opened to be written stays.
    """
    names = dict(_imports(tree))
    for node in list(ast.walk(tree)):
        named = _names_file(node, names) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or named is None or _writes(node, names):
            continue
        by_file = any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(named))
        if not by_file and (found := _literal(named, names, file, root)) is not None:
            if isinstance(node.func, ast.Attribute) and node.func.value is named:
                node.func.value = _where_there(found, "__import__('pathlib').Path", named)
            else:
                node.args[0] = _where_there(found, "", named)


def _where_there(found: Path, kind: str, written: ast.expr) -> ast.expr:
    """A file's path, made one of a kind, where it is; else what was written."""
    place = repr(str(found))
    chosen = ast.parse(f"{kind}({place}) if __import__('os').path.isfile({place}) else None", mode="eval").body
    for part in ast.walk(chosen):
        ast.copy_location(part, written)
    cast(ast.IfExp, chosen).orelse = written
    return chosen


def _writes(node: ast.Call, names: Mapping[str, str]) -> bool:
    """Whether a call opens a file to write to it, or in a mode that nobody knows."""
    function = _dotted(node.func, names) in _OPEN
    if not function and not (isinstance(node.func, ast.Attribute) and node.func.attr == "open"):
        return False
    given = {k.arg: k.value for k in node.keywords}
    at = int(function)
    mode = given.get("mode") or (node.args[at] if len(node.args) > at else ast.Constant(value="r"))
    return not (isinstance(mode, ast.Constant) and isinstance(mode.value, str) and not set(mode.value) & set("wax+"))


def _path(node: ast.expr, names: Mapping[str, str], file: Path) -> Path | None:
    """The path that an expression is, when it is built from literals and `__file__` alone."""
    match node:
        case ast.Constant(value=str() as text):
            return Path(text)
        case ast.Name(id="__file__"):
            return file
        case ast.Call(func=func, args=args) if _dotted(func, names) in ("pathlib.Path", "os.path.join", "str"):
            parts = [_path(a, names, file) for a in args]
            return Path(*[p for p in parts if p is not None]) if parts and None not in parts else None
        case ast.Call(func=func, args=[inner]) if _dotted(func, names) in ("os.path.dirname", "os.path.abspath"):
            found = _path(inner, names, file)
            return found and (found.parent if _dotted(func, names).endswith("dirname") else found)
        case ast.Call(func=ast.Attribute(value=inner, attr="resolve" | "absolute"), args=[]):
            return _path(inner, names, file)
        case ast.Call(func=ast.Attribute(value=inner, attr="with_name"), args=[ast.Constant(value=str() as text)]):
            found = _path(inner, names, file)
            return found and found.with_name(text)
        case ast.Attribute(value=inner, attr="parent"):
            found = _path(inner, names, file)
            return found and found.parent
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            one, other = _path(left, names, file), _path(right, names, file)
            return one / other if one is not None and other is not None else None
        case _:
            return None


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """The name in full; a name that nothing imports is a builtin's, or the module's own."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or (parts and node.id not in names):
        return ""
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


def is_model_decorator(node: ast.expr) -> bool:
    """Whether a decorator is `@model(...)` or `@backfill_assets.model(...)`."""
    target = node.func if isinstance(node, ast.Call) else node
    match target:
        case ast.Name(id="model") | ast.Attribute(value=ast.Name(id="backfill_assets"), attr="model"):
            return True
        case _:
            return False
