"""What does a Python model's file say? Functions under `@model(...)`, read without importing the file."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from backfill_assets.core.errors import Problem
from backfill_assets.files.documents import UNREADABLE, Document, Path_
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import name_problem
from backfill_assets.project.draft import Draft, DraftRead
from backfill_assets.project.fingerprint import python_logic
from backfill_assets.project.header import parse_header
from backfill_assets.python_models.pivots import open_pivots
from backfill_assets.python_models.reached import reached
from backfill_assets.python_models.reads import Unseen, build_reads, is_model_decorator
from backfill_assets.python_models.uses import uses_in_python

INTERVAL = "interval"
_MARKED = re.compile(r"^@(?:\w+\.)?model\b(?:(?!^@|^def )[\s\S])*?^[ \t]*def (\w+)", re.MULTILINE)
"""The names of models in a file that is no Python as it stands."""


def read_python_models(path: Path, root: Path, problems: list[Problem]) -> list[Draft]:
    """The models in a `.py` file; their own problems are appended."""
    code = read_text(path, problems)
    tree = _parse(path, code, problems) if code is not None else None
    if code is None or tree is None:
        return [_unread(path, name, code or "") for name in _MARKED.findall(code or "")]
    marked: list[tuple[ast.FunctionDef, ast.expr]] = []
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", ()):
            if not is_model_decorator(decorator):
                continue
            if isinstance(node, ast.FunctionDef):
                marked.append((node, decorator))
                break
            what, fix = f"`{getattr(node, 'name', '')}` is no function", "put @model(...) on a plain `def`"
            problems.append(Problem(file=path, line=decorator.lineno, what=what, why="a model is one", fix=fix))
            return [_unread(path, str(getattr(node, "name", path.stem)), code)]
    if not marked:
        fix = f"put @model(...) on its function, or rename the file to _{path.name} if it only helps others"
        problems.append(Problem(file=path, line=1, what="no function here is a model", fix=fix))
        return []
    constants = dict(_constants(tree))
    modules = list(_modules(path, tree, root, problems))
    reads = build_reads(modules, root)
    files = {file.relative_to(root.resolve()).as_posix(): file.read_bytes() for file in reads.files}
    return [
        replace(
            _draft(path, code, node, decorator, constants, python_logic(modules, files), problems),
            uses=tuple(uses_in_python(node, modules)),
            open_pivots=tuple(open_pivots(node, modules)),
            text=code,
            modules=(*(name for name, _ in modules), *files),
            unseen=_not_of_others(reads.unseen, node, [other for other, _ in marked], modules),
        )
        for node, decorator in marked
    ]


def _not_of_others(
    unseen: Sequence[Unseen],
    model: ast.FunctionDef,
    models: Sequence[ast.FunctionDef],
    modules: Sequence[tuple[str, ast.Module]],
) -> tuple[Unseen, ...]:
    """What a model may look at: all but what stands in other models' functions of its file, which it does not call, and
    which nothing else of the file mentions or could hand on."""
    called = {id(each.node) for each in reached(model, modules)}
    rest = [node for node in modules[0][1].body if node not in models]
    mentioned = {n.id for node in rest for n in ast.walk(node) if isinstance(n, ast.Name)}
    others = [n for n in models if id(n) not in called and n.name not in mentioned and not _is_open(n)]
    lines = {line for node in others for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    own = modules[0][0]
    return tuple(each for each in unseen if each.file != own or each.line not in lines)


def _is_open(model: ast.FunctionDef) -> bool:
    """Whether what a function does may reach others: by another decorator, or a variable of its module."""
    return len(model.decorator_list) > 1 or any(isinstance(node, ast.Global) for node in ast.walk(model))


def _unread(path: Path, name: str, code: str) -> Draft:
    return Draft(
        name=name, path=path, language="python", code=code, document=Document(file=path), header=None, read=False
    )  # fmt: skip


def _draft(
    path: Path, code: str, node: ast.FunctionDef, decorator: ast.expr, constants: Mapping[str, ast.expr], logic: str,
    problems: list[Problem],
) -> Draft:  # fmt: skip
    data: dict[str, Any] = {}
    lines: dict[Path_, int] = {}
    document = Document(file=path, line=decorator.lineno, data=data, lines=lines)
    if problem := name_problem(node.name):
        fix = "rename the function: ASCII letters (a-z, A-Z), digits and _"
        problems.append(
            Problem(file=path, line=node.lineno, what=f"`{node.name[:60]}` cannot name a model", why=problem, fix=fix)
        )
    if isinstance(decorator, ast.Call):
        if decorator.args:
            first, fix = decorator.args[0].lineno, 'write `owner="…"`'
            problems.append(Problem(file=path, line=first, what="@model takes named arguments only", fix=fix))
        for keyword in decorator.keywords:
            line = keyword.value.lineno
            if keyword.arg is None:
                what, fix = "@model cannot take `**`", "write each argument; the file is read without running it"
                problems.append(Problem(file=path, line=line, what=what, fix=fix))
                continue
            lines[(keyword.arg,)] = keyword.lineno
            try:
                data[keyword.arg] = _literal(keyword.value, (keyword.arg,), constants, lines)
            except _Twice as twice:
                data[keyword.arg] = UNREADABLE
                why = "one of them would silently be ignored"
                what = f"`{twice.key}` is given twice"
                problems.append(Problem(file=path, line=twice.line, what=what, why=why, fix="keep one of them"))
            except _NotLiteral as error:
                data[keyword.arg] = UNREADABLE
                what = f"`{keyword.arg}` is not a literal"
                why = "the arguments of @model are read without running the file"
                fix = "write the value itself, or the name of a constant that this file assigns a literal to"
                problems.append(Problem(file=path, line=error.line, what=what, why=why, fix=fix))
    mapping = data.pop("upstream", {})
    header, wrong = parse_header(document, problems)
    if not any(isinstance(n, ast.Return) and n.value for n in _own(node)):
        fix = "end it with `return` and the DataFrame of the interval's rows"
        problems.append(Problem(file=path, line=node.lineno, what=f"`{node.name}` returns nothing", fix=fix))
    return Draft(
        name=node.name, path=path, line=node.lineno, language="python", code=code, document=document, header=header,
        wrong=wrong, reads=tuple(_reads(document, node, mapping, problems)), logic=f"{node.name}:{logic}",
        description=ast.get_docstring(node) or "",
    )  # fmt: skip


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own(child)


def _reads(document: Document, node: ast.FunctionDef, mapping: object, problems: list[Problem]) -> Iterator[DraftRead]:
    if mapping is UNREADABLE:
        return
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
        yield DraftRead(
            name=mapping[parameter.arg] if mapped else parameter.arg,
            line=document.line_of("upstream", parameter.arg) if mapped else parameter.lineno,
            parameter=parameter.arg,
        )


class _Twice(Exception):
    def __init__(self, key: str, line: int) -> None:
        self.key, self.line = key, line


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
                if key.value in values:
                    raise _Twice(str(key.value), key.lineno)
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


def _modules(path: Path, tree: ast.Module, root: Path, problems: list[Problem]) -> Iterator[tuple[str, ast.Module]]:
    """The module and all of the project's modules that it imports, directly or not."""
    pending, seen = [(path, tree)], {path}
    while pending:
        file, module = pending.pop()
        yield file.relative_to(root).as_posix(), module
        for imported in _imports(file, module, root):
            if imported not in seen:
                seen.add(imported)
                text = read_text(imported, problems)
                inner = _parse(imported, text, problems) if text is not None else None
                if inner is not None:
                    pending.append((imported, inner))


def _imports(file: Path, tree: ast.Module, root: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), (file.parent, root, root / "models"))
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            above = file.parents[node.level - 1 : node.level] if node.level else ()
            places = tuple(above) if node.level else (file.parent, root, root / "models")
            yield from _files(base, places)
            for alias in node.names:
                if alias.name == "*":
                    yield from _package(base, places)
                yield from _files([*base, alias.name], places)


def _files(parts: list[str], places: tuple[Path, ...]) -> Iterator[Path]:
    """The files that importing a dotted name runs: packages on the way, and the module."""
    for place in places:
        for length in range(1, len(parts) + 1):
            stem = place.joinpath(*parts[:length])
            yield from (f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file())


def _package(parts: list[str], places: tuple[Path, ...]) -> Iterator[Path]:
    """Every module of a package: `import *` may import those that its `__all__` names."""
    for place in places:
        if parts and (folder := place.joinpath(*parts)).is_dir():
            yield from sorted(folder.glob("*.py"))


def _parse(path: Path, code: str, problems: list[Problem]) -> ast.Module | None:
    line, fix = 1, "correct the file at this line"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an author's strings: they are shown when the code runs
            tree = ast.parse(code)
            compile(code, path, "exec", dont_inherit=True)  # runs nothing; a keyword given twice is told here only
            return tree
    except SyntaxError as error:
        line, why = error.lineno or 1, error.msg
    except (RecursionError, MemoryError):
        why, fix = "it is nested too deeply", "write it in several steps"
    except ValueError as error:
        why = str(error)
    problems.append(Problem(file=path, line=line, what="this is not valid Python", why=why, fix=fix))
    return None
