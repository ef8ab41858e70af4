"""Where is text printed? Consoles on which everything but our own styles is plain text.

Names, reasons and values come from files, tables and people. On a terminal an escape sequence in them would run, and
markup would be taken for ours: so consoles read no markup, styles are written with `styled`, and control characters
are shown as what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from backfill_assets.inert import one_line, visible

PIPE_WIDTH = 200
_PART = re.compile(r"(\[/?[a-z ]*\]|\{\})")


def styled(template: str, *values: object) -> Text:
    """Text with styles: `[bold]…[/]` in the template, and `{}` where a value goes, which is no template.

    >>> styled("[bold]{}[/] waits", "[red]a").plain
    '[red]a waits'
    """
    made, style, rest = Text(), "", iter(values)
    for part in _PART.split(template):
        if part == "{}":
            value = next(rest)
            made.append_text(value) if isinstance(value, Text) else made.append(one_line(str(value)), style)
        elif _PART.fullmatch(part):
            style = "" if part.startswith("[/") else part[1:-1]
        else:
            made.append(part, style)
    return made


def echo(text: object = "") -> None:
    """Print plain text to standard output."""
    typer.echo(visible(str(text)))


class InertConsole(Console):
    """A console that reads no markup, and prints no control character but its own styles."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            clean = segment.text if segment.control else visible(segment.text)
            yield segment if clean == segment.text else Segment(clean, segment.style)


def out() -> Console:
    """Standard output."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """One that does not fold lines when the output is a file or a pipe."""
    console = InertConsole(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def grid() -> Table:
    """Columns without lines."""
    return Table.grid(padding=(0, 2))
