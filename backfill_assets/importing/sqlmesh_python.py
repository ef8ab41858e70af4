"""What does a file of Python models of SQLMesh say, without being executed? Names and columns, by its literals."""

from __future__ import annotations

import ast

from backfill_assets.importing.foreign import Foreign, ForeignKind
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.types import spark_type


def python_model(place: str, text: str, dialect: str) -> list[Foreign]:
    """The models of a file, none of them translated: what reads them reads their tables."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [_refused(place, 1, "", {}, "its code is no Python")]
    found: list[Foreign] = []
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", []):
            if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name | ast.Attribute):
                continue
            if getattr(decorator.func, "id", getattr(decorator.func, "attr", "")) != "model":
                continue
            first = decorator.args[0] if decorator.args else None
            name = str(first.value) if isinstance(first, ast.Constant) else ""
            columns: dict[str, str] = {}
            for keyword in decorator.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    name = str(keyword.value.value)
                if keyword.arg == "columns" and isinstance(keyword.value, ast.Dict):
                    columns = _columns(keyword.value, dialect)
            found.append(_refused(place, decorator.lineno, name, columns, ""))
    if not found:
        return []  # a file of helpers
    return found


def _columns(said: ast.Dict, dialect: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in zip(said.keys, said.values, strict=True):
        kind = (
            spark_type(value.value, dialect)
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
            else None
        )
        if not isinstance(key, ast.Constant) or kind is None:
            return {}
        found[str(key.value)] = kind
    return found


def _refused(place: str, line: int, name: str, columns: dict[str, str], why: str) -> Foreign:
    fix = "write it as a model here (`backfill docs python-models`)"
    problem = Untranslatable("a Python model", why=why or "another tool's code is not executed", fix=fix, line=line)
    said = name or f"{place}:{line}"
    return Foreign(
        key=said.lower(), said=said, name=said.split(".")[-1], file=place, line=line, kind=ForeignKind.TABLE,
        dialect="", query="", table=name, columns=columns, problem=problem,
    )  # fmt: skip
