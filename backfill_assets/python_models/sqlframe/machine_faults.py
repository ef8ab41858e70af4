"""Was it the machine that failed, or does the function do what SQL does not show, and where? By the error, and where it
arose.

A file of Python or of a library that cannot be read, or memory that others use, says nothing of a model's code: it is
not remembered of it.
"""

from __future__ import annotations

import os
import resource
import sys
import traceback
from collections.abc import Collection
from pathlib import Path

from backfill_assets.python_models.sqlframe.escape import Escape

_OURS = frozenset({"backfill_assets", "sqlframe", "sqlglot", *sys.stdlib_module_names})


def machine_fault(error: BaseException, authors: Collection[Path], memory: int) -> str:
    """What failed of the machine, in one line; "" where the error is the function's own doing.

    `authors` are the project's files: what arises in one of them is their doing. `memory`: the bytes that a function
    may have.

    >>> machine_fault(PermissionError(13, "Permission denied", "/usr/lib/python3/decimal.py"), (), 0)
    "PermissionError: [Errno 13] Permission denied: '/usr/lib/python3/decimal.py'"
    >>> machine_fault(ModuleNotFoundError("No module named 'pandas'", name="pandas"), (), 0)
    ''
    """
    if (places := _places(error)) and places[-1][0] in authors:
        return ""
    match error:
        case OSError(errno=int()):
            fault = True
        case ImportError(name=str(name)):
            fault = name.partition(".")[0] in _OURS
        case MemoryError():
            fault = _most_memory() < memory // 2
        case _:
            fault = False
    return f"{type(error).__name__}: {error}".splitlines()[0] if fault else ""


def reason(error: BaseException, root: Path, authors: Collection[Path]) -> str:
    """Why the function has no SQL, in one line, with the last of its lines that led there. `root`: the project's
    folder."""
    said = str(error) if isinstance(error, Escape) else f"{type(error).__name__}: {error}"
    lines = [f"{os.path.relpath(file, root)}:{line}: " for file, line in _places(error) if file in authors]
    return f"{lines[-1] if lines else ''}{said}".splitlines()[0]


def _places(error: BaseException) -> list[tuple[Path, int]]:
    """File and line of each call that led to an error; no file is opened for it."""
    return [(Path(f.f_code.co_filename), line) for f, line in traceback.walk_tb(error.__traceback__)]


def _most_memory() -> int:
    """The most bytes that this process had at once."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found << 10
