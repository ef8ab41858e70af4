"""Where is text printed? Consoles that do not fold lines when the output is a file or a pipe."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 200


def out() -> Console:
    """Standard output."""
    console = Console(soft_wrap=True, highlight=False)
    return console if console.is_terminal else Console(soft_wrap=True, highlight=False, width=PIPE_WIDTH)


def err() -> Console:
    """Standard error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    return console if console.is_terminal else Console(stderr=True, soft_wrap=True, highlight=False, width=PIPE_WIDTH)


def grid() -> Table:
    """Columns without lines."""
    return Table.grid(padding=(0, 2))
