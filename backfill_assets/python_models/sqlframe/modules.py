"""What may authors' files import? Each other, stand-ins for PySpark and the clock, and what cannot reach the world."""

from __future__ import annotations

import ast
import builtins
import datetime as real
import importlib
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlframe.base import types as sqlframe_types
from sqlframe.base.types import DataType

from backfill_assets.python_models.decorator import model
from backfill_assets.python_models.sqlframe import lenient, taint
from backfill_assets.python_models.sqlframe.columns import Column, Window, WindowSpec
from backfill_assets.python_models.sqlframe.escape import Escape, refusing
from backfill_assets.python_models.sqlframe.frames import Frame, Grouped
from backfill_assets.python_models.sqlframe.functions import stand_ins
from backfill_assets.python_models.sqlframe.interval import Date, Datetime
from backfill_assets.python_models.sqlframe.unknown import Unknown

PURE = (
    "__future__", "collections", "collections.abc", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "json", "logging", "math", "operator", "string", "textwrap", "typing",
)  # fmt: skip
"""What cannot reach a clock, a file, the environment or chance."""
_BUILTINS = (
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "callable", "chr", "classmethod", "complex",
    "delattr", "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "getattr", "hasattr",
    "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object",
    "oct", "ord", "pow", "print", "property", "range", "repr", "reversed", "round", "set", "setattr", "slice",
    "sorted", "staticmethod", "str", "sum", "super", "tuple", "zip", "None", "True", "False", "Ellipsis",
    "NotImplemented", "__build_class__", "__name__", "__doc__",
)  # fmt: skip
"""Not among them: open, input, eval, exec, compile, breakpoint, help, hash, id, type, vars, globals, locals, dir."""


_ALL = re.compile(r"^__all__[^=\n]*= *(\[.*?\]|\(.*?\))", re.MULTILINE | re.DOTALL)


class Modules:
    """The project's modules: `files` are the texts of those that the fingerprint knows of, by path."""

    def __init__(self, path: Path, root: Path, files: Mapping[Path, str]) -> None:
        self._path, self._files = path, files
        self._places = (path.parent, root, root / "models")
        self._local: dict[str, ModuleType] = {}
        self._builtins = {name: getattr(builtins, name) for name in _BUILTINS} | {
            name: error for name, error in vars(builtins).items()
            if isinstance(error, type) and issubclass(error, BaseException)
        }  # fmt: skip
        self._builtins |= taint.runtime() | lenient.runtime() | {"__import__": self._import}
        self._known = _stand_ins()

    def run(self, code: str) -> ModuleType:
        """The model's own file. Raises whatever stands in its way."""
        return self._run(ModuleType(f"backfill_model_{self._path.stem}"), code, self._path)

    def _run(self, module: ModuleType, code: str, path: Path) -> ModuleType:
        tree = lenient.lenient(ast.parse(code), self._is_local)
        module.__dict__["__builtins__"] = self._builtins
        taint.authors.add(module.__name__)
        exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)
        return module

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: tuple[str, ...] | None = (), level: int = 0
    ) -> Any:
        if level:
            raise Escape("a relative import")
        if self._is_local(name):
            module = self._load(name)
            for item in fromlist or ():
                if item == "*":
                    raise Escape("import * of a module of the project")
                if item not in vars(module) and self._find([*name.split("."), item]):
                    self._load(f"{name}.{item}")
            return module if fromlist else self._local[name.split(".")[0]]
        if name in self._known:
            return self._known[name if fromlist else name.split(".")[0]]
        if name in PURE:
            return importlib.import_module(name if fromlist else name.split(".")[0])
        raise Escape(f"import {name}")

    def _load(self, name: str) -> ModuleType:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            dotted = ".".join(parts[:length])
            if dotted in self._local:
                continue
            file = self._find(parts[:length])
            if file is None:
                raise ModuleNotFoundError(dotted)
            module = self._local[dotted] = ModuleType(dotted)
            if file.suffix:
                self._run(module, self._files[file], file)
            if length > 1:
                setattr(self._local[".".join(parts[: length - 1])], parts[length - 1], module)
        return self._local[name]

    def _is_local(self, module: str) -> bool:
        return self._find(module.split(".")[:1]) is not None

    def _find(self, parts: list[str]) -> Path | None:
        """The file of a module, or the folder of a package without one, among the files that are known."""
        for place in self._places:
            stem = place.joinpath(*parts)
            for file in (stem / "__init__.py", stem.with_suffix(".py")):
                if file in self._files:
                    return file
            if any(stem in file.parents for file in self._files):
                return stem
        return None


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # Python asks for `__path__` and the like itself
        raise Escape(f"{self.__name__}.{name}")


def exported(module: str) -> list[str]:
    """The names that `from module import *` binds, as its file says; it is not imported."""
    package, *rest = module.split(".")
    found = find_spec(package)
    for folder in (found and found.submodule_search_locations) or ():
        stem = Path(folder, *rest)
        for file in (stem / "__init__.py", stem.with_suffix(".py")):
            if file.is_file() and (said := _ALL.search(file.read_text(encoding="utf-8"))):
                return [str(name) for name in ast.literal_eval(said[1])]
    return []


_EXPORTED = {
    name: exported(name)
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types", "pyspark.sql.window",
                 "pyspark.sql.dataframe", "pyspark.sql.column", "backfill_assets")
}  # fmt: skip
"""Read before the worker may open no file."""


def _stand_ins() -> dict[str, ModuleType]:
    def module(name: str, **content: Any) -> ModuleType:
        made = _Module(name)
        names = _EXPORTED.get(name, [])
        vars(made).update({other: Unknown(f"{name}.{other}") for other in names} | content)
        if names:
            vars(made)["__all__"] = names
        return made

    class SparkSession(metaclass=type("Meta", (type,), {"__getattr__": refusing("session")})):
        """For annotations: a session can read tables that are no upstreams."""

        __init__ = refusing("session")

    functions = module("pyspark.sql.functions", **stand_ins())
    types = module("pyspark.sql.types", **{n: v for n, v in vars(sqlframe_types).items() if _is_type(v)})
    classes = {"DataFrame": Frame, "Column": Column, "GroupedData": Grouped, "SparkSession": SparkSession}
    windows = {"Window": Window(), "WindowSpec": WindowSpec}
    homes = {
        "dataframe": module("pyspark.sql.dataframe", DataFrame=Frame),
        "column": module("pyspark.sql.column", Column=Column),
        "window": module("pyspark.sql.window", **windows),
    }
    sql = module("pyspark.sql", **classes, **windows, functions=functions, types=types, **homes)
    real_names = ("timedelta", "timezone", "tzinfo", "time", "UTC", "MINYEAR", "MAXYEAR")
    clock = {name: getattr(real, name) for name in real_names}
    return {
        "pyspark": module("pyspark", sql=sql),
        "pyspark.sql": sql,
        "pyspark.sql.functions": functions,
        "pyspark.sql.types": types,
        **{f"pyspark.sql.{name}": home for name, home in homes.items()},
        "datetime": module("datetime", date=Date, datetime=Datetime, **clock),
        "backfill_assets": module("backfill_assets", model=model),
    }


def _is_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, DataType)
