"""Which commands are there, and what do they exit with? Each is thin: parse, call, print.

Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage, 3 some intervals are not complete or something is
found, 4 the gate is closed, 5 a diff is not as expected, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from backfill_assets.cli import building, gating, keeping, tools  # noqa: F401  # pyright: ignore[reportUnusedImport]
from backfill_assets.cli.base import INTERRUPTED, app  # the modules above gave it its commands
from backfill_assets.errors import BackfillError

__all__ = ["app", "main"]


def main() -> None:
    """The console script. User errors end in a message and exit code 1, never in a stack trace."""
    try:
        app()
    except BackfillError as error:
        _complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        _complain("interrupted: finished batches are kept; run the same command again to go on")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # batches in flight may be lost at any moment: nothing needs an orderly end


def _complain(text: str) -> None:
    from rich.text import Text

    from backfill_assets.cli.terminal import err

    console = err()
    first, _, rest = text.partition("\n")
    console.print(Text("backfill: ", style="bold red") + Text(first, style="bold") + Text(f"\n{rest}" if rest else ""))
