"""What SQL do PySpark models stand for? By the product's compiler, many functions at one start of its worker."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from backfill_assets.project.fingerprint import python_logic
from backfill_assets.python_models.compiled import PythonFunction, PythonUpstream, compile_functions
from backfill_assets_tests.fuzz.case import TableSpec

Compiled = Mapping[str, str | None]
"""Code → SQL; None where the product does not see through it."""
_ROOT = Path("/nowhere")


def compiled(codes: Iterable[str], tables: Mapping[str, TableSpec]) -> Compiled:
    functions = {f"{name_of(code)}_{number}": (code, number) for number, code in enumerate(dict.fromkeys(codes))}
    if not functions:
        return {}
    texts = compile_functions([_function(name, code, tables) for name, (code, _) in functions.items()], None)
    return {code: texts.get(name) for name, (code, _) in functions.items()}


@cache
def name_of(code: str) -> str:
    return _definition(code).name


@cache
def reads_of(code: str) -> tuple[str, ...]:
    """The tables that it takes."""
    return tuple(a.arg for a in _definition(code).args.args if a.arg != "interval")


def logic_of(code: str) -> str:
    """What stands for code that is not seen through."""
    return f"{name_of(code)}:{python_logic([('models/m.py', ast.parse(code))])}"


def _definition(code: str) -> ast.FunctionDef:
    return next(node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))


def _function(name: str, code: str, tables: Mapping[str, TableSpec]) -> PythonFunction:
    upstreams = tuple(
        PythonUpstream(parameter=p, table=p, columns=tuple(tables[p].columns.items())) for p in reads_of(code)
    )
    code = code.replace(f"def {name_of(code)}(", f"def {name}(")
    path = _ROOT / "models" / f"{name}.py"
    return PythonFunction(name=name, path=path, code=code, root=_ROOT, digest=code, upstreams=upstreams)
