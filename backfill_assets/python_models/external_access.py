"""What could a Python model's code reach that is no part of it? By default anything that is not known to be harmless.

Said of what `python_reads` does not name more exactly: modules, attributes and builtins that open files, look at the
machine or find names by themselves, also where they are handed on and called by another name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

from backfill_assets.python_models.set_order import in_any_order

_HARMLESS = frozenset("""
    __future__ abc array ast base64 binascii bisect calendar cmath collections colorsys concurrent contextlib copy csv
    dataclasses datetime decimal difflib email enum errno fractions functools graphlib hashlib heapq hmac html ipaddress
    itertools json keyword logging math numbers operator pickle pprint queue random re reprlib secrets statistics string
    struct textwrap time tomllib traceback types typing unicodedata unittest urllib uuid warnings weakref xml zlib
    zoneinfo
""".split())  # fmt: skip  # noqa: SIM905
"""Modules of Python that read nothing by themselves, or of which clocks and chance are told elsewhere."""
_TOLD = frozenset({"builtins", "codecs", "glob", "importlib", "io", "os", "pathlib", "pkgutil", "runpy", "socket",
                   "subprocess", "sys"})  # fmt: skip
"""Modules whose functions are told where they are used."""
_READERS = frozenset("""
    adlfs aiohttp azure boto3 botocore deltalake dotenv fastparquet fsspec gcsfs google kafka openpyxl paramiko psycopg
    psycopg2 pymongo pymysql redis s3fs smart_open snowflake sqlalchemy urllib3
""".split())  # fmt: skip  # noqa: SIM905
"""Libraries that are there to read something."""
_ALLOWED = {
    "os": ("path.join", "path.dirname", "path.basename", "path.abspath", "path.normpath", "path.splitext",
           "path.split", "path.sep", "sep", "linesep", "fspath", "PathLike"),
    "sys": ("maxsize", "maxunicode", "float_info", "byteorder", "stdout", "stderr", "exit", "intern"),
    "io": ("StringIO", "BytesIO", "TextIOBase", "IOBase"),
    "builtins": (), "importlib": (), "codecs": ("encode", "decode"),
}  # fmt: skip
"""Of modules that can do both: what reads nothing."""
_SHARED = sys.stdlib_module_names | {"delta", "numpy", "pandas", "polars", "pyarrow", "pyspark"}
"""Modules that all models of a process have together; each has the project's by itself."""
HIDDEN_NAMES = {
    "sys.path": "changes where modules are looked for", "os.environ": "reads a variable of the environment",
}  # fmt: skip
_BUILTINS = frozenset({"open", "eval", "exec", "compile", "__import__", "__builtins__", "__loader__", "__spec__"})
_OF_THE_PROCESS = frozenset({"hash", "id"})
_OF_THE_SESSION = frozenset({"sparkSession", "sql_ctx", "_session", "_jdf", "_jvm", "_jsc", "_sc", "_jsparkSession"})
_OF_THE_CODE = frozenset({"__code__", "__globals__", "__builtins__", "__subclasses__", "__loader__", "__spec__"})
_LOOKING = frozenset({"exists", "glob", "is_dir", "is_file", "iterdir", "lstat", "readlink", "rglob", "stat"})
"""Methods of a path that look at the disk."""


class ExternalAccess:
    """Looks at the nodes of one module. `names`: what each imported name means, in full."""

    def __init__(self, tree: ast.Module, names: Mapping[str, str]) -> None:
        self._names = names
        self._own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self._own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} | set(names)
        self._own |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        self._in_any_order = in_any_order(tree)
        self._within = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}

    def of(self, node: ast.AST) -> str | None:
        """What a node may reach; None: nothing."""
        if id(node) in self._in_any_order:
            return "the order of a set is another one in each process, `sorted(…)` gives it one"
        match node:
            case ast.Import(names=aliases):
                return next((r for a in aliases if (r := _module(a.name))), None)
            case ast.ImportFrom(module=str() as module, level=0):
                return _module(module)
            case ast.Name(id=name, ctx=ast.Load()) if name not in self._own:
                return f"`{name}` may read anything" if name in _BUILTINS else None
            case ast.Call(func=ast.Name(id=name)) if name in _OF_THE_PROCESS and name not in self._own:
                return f"`{name}(…)` gives something else in each process"
            case ast.Call(func=ast.Name(id="getattr"), args=[of, name, *_]) if "getattr" not in self._own:
                return self._looked_up(of, name)
            case ast.Call(func=ast.Attribute(attr=name, value=of)) if name in _LOOKING:
                return None if self._dotted(of).startswith("pyspark.") else f"`….{name}(…)` looks at files"
            case ast.Attribute(attr=name, value=of, ctx=ast.Store() | ast.Del()):
                dotted = self._dotted(of)
                shared = dotted.partition(".")[0] in _SHARED
                return f"`{dotted}.{name}` is changed for every model that runs in the session" if shared else None
            case ast.Attribute(attr=name, value=of):
                return self._attribute(self._dotted(of), name, of)
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in self._within:
                module, _, rest = self._names.get(name, "").partition(".")
                return self._partly(module, rest)
            case _:
                return None

    def _looked_up(self, of: ast.expr, name: ast.expr) -> str | None:
        dotted = self._dotted(of)
        if isinstance(name, ast.Constant):
            return self._attribute(dotted, str(name.value), of)
        if dotted.partition(".")[0] in _TOLD:
            return f"`getattr({dotted}, …)` may be anything"
        return None

    def _attribute(self, dotted: str, name: str, of: ast.expr) -> str | None:
        if name in _OF_THE_SESSION or dotted.startswith("pyspark.SparkContext"):
            return f"`{name}` can read tables that are no upstreams"
        if name == "context" and isinstance(of, ast.Attribute) and of.attr == "rdd":
            return "`rdd.context` can read tables that are no upstreams"
        if name in _OF_THE_CODE:
            return f"`{name}` looks into the code itself"
        if dotted.startswith(("pandas", "numpy", "pyarrow", "polars")) and name.startswith(("read_", "scan_")):
            return f"`{dotted}.{name}` reads a file"
        module, _, rest = dotted.partition(".")
        return self._partly(module, f"{rest}.{name}" if rest else name)

    def _partly(self, module: str, rest: str) -> str | None:
        """Of a module that can do both: all but what is allowed of it. A module that is handed on: what it can do."""
        if told := next((what for n, what in HIDDEN_NAMES.items() if f"{module}.{rest}.".startswith(f"{n}.")), None):
            return f"`{module}.{rest}` {told}"
        allowed = _ALLOWED.get(module)
        if allowed is None or any(f"{a}.".startswith(f"{rest}.") or rest.startswith(f"{a}.") for a in allowed if rest):
            return None
        return f"`{module}{'.' * bool(rest)}{rest}` can read what is no part of the project"

    def _dotted(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._names:
            return ""
        return ".".join([self._names[node.id], *reversed(parts)])


def _module(name: str) -> str | None:
    first = name.partition(".")[0]
    if first in _READERS or (first in sys.stdlib_module_names and first not in _HARMLESS | _TOLD):
        return f"`{name}` can read what is no part of the project"
    return None
