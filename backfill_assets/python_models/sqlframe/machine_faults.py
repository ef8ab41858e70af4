"""Was it the machine that failed, or does the function do what SQL does not show? By the error, and where it arose.

A file of Python or of a library that cannot be read, or memory that others use, says nothing of a model's code: it is
not remembered of it.
"""

from __future__ import annotations

import resource
import sys
import traceback
from collections.abc import Collection
from pathlib import Path

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
    frames = traceback.extract_tb(error.__traceback__)
    if frames and Path(frames[-1].filename) in authors:
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


def _most_memory() -> int:
    """The most bytes that this process had at once."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found << 10
