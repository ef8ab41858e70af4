"""Where is text printed? Consoles on which everything but our own styles is plain text.

Names, reasons and values come from files, tables and people. On a terminal an escape sequence in them would run, and
markup would be taken for ours: so consoles read no markup, styles are written with `styled`, and control characters
are shown as what they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from backfill_assets.core.escaping import one_line, visible

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


def print_json(value: object) -> None:
    """Print a value for a machine to standard output."""
    typer.echo(json.dumps(value, indent=2, default=str))


def print_result(as_json: bool, value: Callable[[], object], tell: Callable[[], None]) -> None:
    """Print a value for a machine, or tell it to a person."""
    if as_json:
        print_json(value())
    else:
        tell()


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


class Grid(Table):
    """A table in which nothing is cut: on a narrow terminal cells go on in the next line, the `whole` columns last."""

    whole: Collection[int] = ()

    def add_row(self, *cells: RenderableType | None, **more: Any) -> None:
        super().add_row(*cells, **more)
        for number, column in enumerate(self.columns):
            column.overflow, column.no_wrap = "fold", number in self.whole


def grid(*whole: int) -> Table:
    """Columns without lines; the ones with these numbers, from 0 on, hold names that stay in one line."""
    made = Grid.grid(padding=(0, 2))
    assert isinstance(made, Grid)
    made.whole = whole
    return made


def that_fit(cells: Sequence[Sequence[str]], width: int, drop: Iterable[int], gap: int = 2) -> list[int]:
    """The numbers of the columns that have room, of rows of `cells`; those to `drop` go first, one after the other.

    >>> that_fit([["campaign", "12", "7.5"]], 15, [1, 2]), that_fit([["campaign", "12", "7.5"]], 80, [1, 2])
    ([0, 2], [0, 1, 2])
    """
    wide = [max(map(len, column)) + gap for column in zip(*cells, strict=True)]
    kept = list(range(len(wide)))
    for number in drop:
        if sum(wide[n] for n in kept) <= width:
            break
        kept.remove(number)
    return kept
