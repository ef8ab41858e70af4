"""What does a Python model's file say? Functions under `@model(...)`, read without importing the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from backfill_assets.errors import Problem
from backfill_assets.snapshots.documents import Document, Path_
from backfill_assets.snapshots.draft import Draft, Read
from backfill_assets.snapshots.fingerprint import is_model_decorator, python_logic
from backfill_assets.snapshots.header import parse_header
from backfill_assets.snapshots.python_uses import uses_in_python

INTERVAL = "interval"


def read_python_models(path: Path, root: Path, problems: list[Problem]) -> list[Draft]:
    """The models in a `.py` file; their own problems are appended."""
    code = path.read_text(encoding="utf-8-sig")
    tree = _parse(path, code, problems)
    if tree is None:
        return []
    marked = [
        (node, decorator)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if is_model_decorator(decorator)
    ]
    if not marked:
        fix = f"put @model(...) on its function, or rename the file to _{path.name} if it only helps others"
        problems.append(Problem(file=path, line=1, what="no function here is a model", fix=fix))
        return []
    constants = dict(_constants(tree))
    modules = list(_modules(path, tree, root))
    drafts = [
        replace(
            _draft(path, code, node, decorator, constants, python_logic(modules), problems),
            uses=tuple(uses_in_python(node, modules)),
        )
        for node, decorator in marked
    ]
    return [replace(draft, modules=tuple(name for name, _ in modules)) for draft in drafts]


def _draft(
    path: Path, code: str, node: ast.FunctionDef, decorator: ast.expr, constants: Mapping[str, ast.expr], logic: str,
    problems: list[Problem],
) -> Draft:  # fmt: skip
    data: dict[str, Any] = {}
    lines: dict[Path_, int] = {}
    document = Document(file=path, line=decorator.lineno, data=data, lines=lines)
    before = len(problems)
    if isinstance(decorator, ast.Call):
        if decorator.args:
            problems.append(document.problem(what="@model takes named arguments only", fix='write `owner="…"`'))
        for keyword in decorator.keywords:
            line = keyword.value.lineno
            if keyword.arg is None:
                what, fix = "@model cannot take `**`", "write each argument; the file is read without running it"
                problems.append(Problem(file=path, line=line, what=what, fix=fix))
                continue
            lines[(keyword.arg,)] = keyword.lineno
            try:
                data[keyword.arg] = _literal(keyword.value, (keyword.arg,), constants, lines)
            except _NotLiteral as error:
                what = f"`{keyword.arg}` is not a literal"
                why = "the arguments of @model are read without running the file"
                fix = "write the value itself, or the name of a constant that this file assigns a literal to"
                problems.append(Problem(file=path, line=error.line, what=what, why=why, fix=fix))
    complete = len(problems) == before
    mapping = data.pop("upstream", {})
    header = parse_header(document, problems) if complete else None
    return Draft(
        name=node.name, path=path, line=node.lineno, language="python", code=code, document=document, header=header,
        reads=tuple(_reads(document, node, mapping, problems)), logic=f"{node.name}:{logic}",
        description=ast.get_docstring(node) or "",
    )  # fmt: skip


def _reads(document: Document, node: ast.FunctionDef, mapping: object, problems: list[Problem]) -> Iterator[Read]:
    if not isinstance(mapping, dict) or not all(isinstance(v, str) for v in mapping.values()):
        fix = 'write upstream={"parameter": "model_or_source"}'
        problems.append(document.problem("upstream", what="`upstream` must map parameters to names", fix=fix))
        mapping = {}
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [p.arg for p in parameters]
    if arguments.vararg or arguments.kwarg:
        fix = "name each upstream as a parameter"
        what = f"`{node.name}` takes * or **"
        why = "parameters name upstreams"
        problems.append(Problem(file=document.file, line=node.lineno, what=what, why=why, fix=fix))
    if INTERVAL not in names:
        fix = f"write `def {node.name}({', '.join([*names, INTERVAL])})` and give only rows within it"
        why = "without it every batch would compute the whole table"
        what = f"`{node.name}` has no parameter `{INTERVAL}`"
        problems.append(Problem(file=document.file, line=node.lineno, what=what, why=why, fix=fix))
    for parameter in mapping:
        if parameter not in names or parameter == INTERVAL:
            fix = f"parameters are: {', '.join(n for n in names if n != INTERVAL)}"
            what = f"`upstream` names `{parameter}`, which is not a parameter of `{node.name}`"
            problems.append(document.problem("upstream", parameter, what=what, fix=fix))
    for parameter in parameters:
        if parameter.arg == INTERVAL:
            continue
        mapped = parameter.arg in mapping
        yield Read(
            name=mapping[parameter.arg] if mapped else parameter.arg,
            line=document.line_of("upstream", parameter.arg) if mapped else parameter.lineno,
            parameter=parameter.arg,
        )


class _NotLiteral(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


def _literal(node: ast.expr, path: Path_, constants: Mapping[str, ast.expr], lines: dict[Path_, int]) -> Any:
    """The value of a literal, with the line of every key and item in it. Raises _NotLiteral."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            items: list[Any] = []
            for index, item in enumerate(node.elts):
                lines[(*path, index)] = item.lineno
                items.append(_literal(item, (*path, index), constants, lines))
            return items
        case ast.Dict():
            values: dict[Any, Any] = {}
            for key, value in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant):
                    raise _NotLiteral(value.lineno)
                lines[(*path, str(key.value))] = key.lineno
                values[key.value] = _literal(value, (*path, str(key.value)), constants, lines)
            return values
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name() if node.id in constants:
            # Its lines are those of the use: one problem, at one place.
            return _literal(constants[node.id], path, {k: v for k, v in constants.items() if k != node.id}, {})
        case _:
            raise _NotLiteral(node.lineno)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that the module assigns exactly once, at its top level."""
    seen: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                twice.add(name)
            case _:
                continue
        if name in seen:
            twice.add(name)
        seen[name] = value
    yield from ((n, v) for n, v in seen.items() if n not in twice)


def _modules(path: Path, tree: ast.Module, root: Path) -> Iterator[tuple[str, ast.Module]]:
    """The module and all of the project's modules that it imports, directly or not."""
    pending, seen = [(path, tree)], {path}
    while pending:
        file, module = pending.pop()
        yield file.relative_to(root).as_posix(), module
        for imported in _imports(file, module, root):
            if imported not in seen:
                seen.add(imported)
                inner = _parse(imported, imported.read_text(encoding="utf-8-sig"), [])
                if inner is not None:
                    pending.append((imported, inner))


def _imports(file: Path, tree: ast.Module, root: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), (file.parent, root, root / "models"))
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            places = (file.parents[node.level - 1],) if node.level else (file.parent, root, root / "models")
            yield from _files(base, places)
            for alias in node.names:
                yield from _files([*base, alias.name], places)


def _files(parts: list[str], places: tuple[Path, ...]) -> Iterator[Path]:
    """The files that importing a dotted name runs: packages on the way, and the module."""
    for place in places:
        for length in range(1, len(parts) + 1):
            stem = place.joinpath(*parts[:length])
            yield from (f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file())


def _parse(path: Path, code: str, problems: list[Problem]) -> ast.Module | None:
    try:
        return ast.parse(code)
    except SyntaxError as error:
        fix = "correct the file at this line"
        line = error.lineno or 1
        problems.append(Problem(file=path, line=line, what="this is not valid Python", why=error.msg, fix=fix))
        return None
