"""What may authors' code do to the machine while it is compiled? Compute for a while, and nothing else.

Layers that hold by themselves: no variables (the worker's caller), limits of the kernel on time, memory, files and
processes, Linux's user and network namespaces, Landlock and seccomp where there are any, and Python's audit hook.
docs/python-models.md says what each of them prevents.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from backfill_assets.python_models.sqlframe.escape import Escape
from backfill_assets.python_models.sqlframe.kernel import kernel_layers

_ANSWER = 8 << 20
"""Bytes that an answer may have."""
_LONGEST = 300
MACHINE, WHOLE = 75, 76
"""How a child ends that failed for a reason of the machine, or of the function's, which it wrote down."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    "socket.", "subprocess.", "os.", "shutil.", "tempfile.", "ctypes.", "mmap.", "pty.", "fcntl.", "signal.",
    "resource.", "sqlite3.", "syslog.", "gc.", "ftplib.", "http.", "urllib.", "smtplib.", "webbrowser.", "winreg.",
    "_winapi.", "cpython.", "sys.set", "sys.addaudithook", "pickle.", "faulthandler.", "pathlib.", "glob.",
)  # fmt: skip
"""Events that end in an Escape, by how they begin."""
_ALLOWED = ("os.listdir", "os.scandir")
"""What importing a module of the standard library does."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one function may take: seconds by the clock and of CPU, bytes of memory."""

    seconds: int
    bytes: int


def confine(limits: Limits, *, keep: int) -> None:
    """Give up everything but computing and writing to `keep`, for good. Called in a child process."""
    os.setpgid(0, 0)
    signal.alarm(limits.seconds + 1)  # nobody handles it, so it ends the child, wherever that is
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.closerange(3, keep)
    os.closerange(keep + 1, 1024)
    sys.dont_write_bytecode, sys.pycache_prefix = True, None  # what it still imports it compiles, or finds beside
    readable = tuple(_readable())
    kernel_layers(readable)
    _limit(resource.RLIMIT_CPU, limits.seconds)
    _limit(resource.RLIMIT_AS, limits.bytes)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, 32)
    _limit(resource.RLIMIT_NPROC, 0)
    sys.addaudithook(_auditing(readable))


class Compiled(NamedTuple):
    """What became of a function: its SQL, what failed of the machine, or why it has none."""

    sql: str | None = None
    fault: str = ""
    why: str = ""


def wait(child: int, reading: int, limits: Limits) -> Compiled:
    """What the child wrote; no SQL when it failed, took too long or wrote too much."""
    found, until = bytearray(), time.monotonic() + limits.seconds
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while (left := until - time.monotonic()) > 0 and len(found) <= _ANSWER:
            if select.select([pipe], [], [], left)[0]:
                piece = pipe.read(1 << 16)
                if not piece:
                    break
                found += piece
        else:
            _kill(child)
    _, status = os.waitpid(child, 0)
    _kill(child)  # and whatever it may have started
    said = found.decode("utf-8", "replace")
    if status == 0:
        return Compiled(sql=said)
    match os.waitstatus_to_exitcode(status):
        case code if code == MACHINE:
            return Compiled(fault=said[:_LONGEST] or "no reason was given")
        case code if code == WHOLE:
            return Compiled(why=said[:_LONGEST])
        case _:
            allowed = f"{limits.seconds} s, {limits.bytes >> 20} MiB"
            return Compiled(why=f"it ended its process, or takes more than it may ({allowed})")


def _kill(child: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _limit(what: int, value: int) -> None:
    with suppress(ValueError, OSError):  # a kernel that knows no such limit, or has a lower one
        resource.setrlimit(what, (value, value))


def _readable() -> list[str]:
    """The folders that an import may still need: Python's own, and those of this worker's libraries."""
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *_folders("os", "_socket", "_json")}
    return [f for f in sorted(stdlib | _folders("sqlglot", "sqlframe", __package__ or "")) if Path(f).is_dir()]


def _folders(*modules: str) -> set[str]:
    files = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return {str(Path(file).resolve().parent) for file in files if file}


def _auditing(readable: tuple[str, ...]) -> Any:
    """The hook. It cannot be taken off again; what it refuses is refused to every later line of this process."""

    def within(path: Any) -> bool:
        text = os.path.realpath(os.fsdecode(path))
        return any(text == folder or text.startswith(folder + os.sep) for folder in readable)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if isinstance(path, int):
                return
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
                isinstance(flags, int) and flags & _WRITING
            )
            if writes or not within(path):
                raise Escape(f"open {path!r}")
        elif event.startswith(_REFUSED) and event not in _ALLOWED:
            raise Escape(event)

    return hook
