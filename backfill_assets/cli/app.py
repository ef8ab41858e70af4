"""Which commands are there, and what do they exit with? Each is thin: parse, call, print.

Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage, 3 some intervals are not complete or something is
found, 4 the gate is closed, 5 a diff is not as expected, 70 an error of the program itself, 130 interrupted,
143 terminated.
"""

# pyright: reportUnusedImport=false

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from typer.main import get_command

# isort: off
# The order is that of `backfill --help`.
from backfill_assets.cli import (  # noqa: F401
    adopt_command,
    import_command,
    build_commands,
    release_commands,
    operation_commands,
    pin_commands,
    warehouse_commands,
    export_command,
    tool_commands,
)

# isort: on
from backfill_assets.app.engine_death import engine_death
from backfill_assets.cli.base import CRASHED, CUT_OFF, app  # the modules above gave it its commands
from backfill_assets.cli.signals import listening, say_ended
from backfill_assets.core.errors import BackfillError, UsageError
from backfill_assets.crash import crashed
from backfill_assets.files.no_access import SHARED, NoAccessError, no_access

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app", "main"]


def main() -> None:
    """The console script. Every error ends in a message and an exit code, never in a stack trace."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # another encoding costs letters, not the command
    gc.set_threshold(200_000, 30, 30)  # by default a quarter of a plan is spent on walking over the ledger's entries
    atexit.register(gc.freeze)  # nor are they walked over once more, when all of it ends
    with listening() as ending:
        try:
            _refuse_other_bytes(sys.argv)
            command()()
        except BaseException as error:  # Typer makes an exit without a word of a KeyboardInterrupt
            if not ending.number:
                _end(error)
        say_ended(ending)
        sys.stdout.flush()
        os._exit(ending.code)  # batches in flight may be lost at any moment: nothing needs an orderly end


@cache
def command() -> Callable[[], object]:
    """All commands, which Typer makes of their functions' parameters: once a process."""
    return get_command(app)


def _refuse_other_bytes(arguments: list[str]) -> None:
    """What a shell handed on in another encoding, or with a zero byte, cannot be recorded anywhere."""
    for argument in arguments[1:]:
        if "\0" in argument or (not argument.isprintable() and any("\ud800" <= c <= "\udfff" for c in argument)):
            said = argument.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
            why, fix = (
                "an argument is text in UTF-8, without zero bytes",
                "write it in UTF-8, or name the file otherwise",
            )
            raise UsageError(f"{said[:80]} is no text", why=why, fix=fix)


def _end(error: BaseException) -> NoReturn:
    """Say what went wrong, and exit."""
    if isinstance(error, BackfillError):
        _complain(str(error))
        sys.exit(error.exit_code)
    if isinstance(error, BrokenPipeError):  # who read the output has seen enough, as in `backfill status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CUT_OFF)
    if isinstance(error, PermissionError) and error.filename:  # whatever it was about: the machine's rights
        _complain(
            str(no_access(os.fsdecode(error.filename), f"give this account the rights; in a warehouse, {SHARED}"))
        )
        sys.exit(NoAccessError.exit_code)
    if not isinstance(error, Exception):
        raise error
    if (gone := engine_death(error, "go on")) is not None:
        _complain(str(gone))
        sys.exit(gone.exit_code)
    _complain(crashed(error, sys.argv))
    sys.stdout.flush()
    sys.exit(CRASHED)


def _complain(text: str) -> None:
    from rich.text import Text

    from backfill_assets.cli.terminal import err

    console = err()
    first, _, rest = text.partition("\n")
    console.print(Text("backfill: ", style="bold red") + Text(first, style="bold") + Text(f"\n{rest}" if rest else ""))
