"""Where is text printed? Consoles on which everything but our own styles is plain text.

Names, reasons and values come from files, tables and people. On a terminal an escape sequence in them would run, and
markup would be taken for ours: so consoles read no markup, styles are written with `styled`, and control characters
are shown as what they are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from operator import ne
from textwrap import TextWrapper
from typing import cast

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from backfill_assets.core.escaping import one_line, visible

PIPE_WIDTH = 200
GAP = 2
"""Blanks between the columns of a grid."""
INDENT = Text(" " * 7)
"""Before what has no room in the line of its row."""
SECTION = Text("  ")
"""Before the lines of a section."""
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
    """Print a value for a machine to standard output: numbers that JSON has not, as NaN, as texts, as Spark does."""
    try:
        text = json.dumps(value, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=2, default=str)
    typer.echo(text)


def _finite(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return json.dumps(value)
        case dict():
            return {key: _finite(one) for key, one in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_finite(one) for one in cast("Sequence[object]", value)]
        case _:
            return value


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
    """A table in which nothing is cut: on a terminal that is too narrow, cells go on in the next line, between words.

    The `whole` columns, and those before them, stay columns.
    """

    whole: Collection[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = [[Text(cell) if isinstance(cell, str) else cell for cell in column.cells] for column in self.columns]
        texts = [[cell for cell in column if isinstance(cell, Text)] for column in cells]
        widths = [max((cell.cell_len for cell in column), default=0) for column in texts]
        fits = sum(widths) + GAP * (len(widths) - 1) <= options.max_width
        lines = bool(self.row_count) and not any({"\n", "\t"} & {*c.plain} for column in texts for c in column)
        if any(map(ne, cells, texts)) or (fits and not lines):
            yield from super().__rich_console__(console, options)  # what is no line of text is for rich to lay out
            return
        if fits:  # which rich would take a millisecond a row for
            for row in zip(*texts, strict=True):
                line = Text(" " * GAP).join(_filled(cell, width) for cell, width in zip(row, widths, strict=True))
                yield from line.render(console, end="\n")
            return
        for row in zip(*texts, strict=True):
            yield from _flowing(console, row, widths[: max(self.whole, default=-1) + 1], options.max_width)


def _flowing(console: Console, row: Sequence[Text], aligned: Sequence[int], width: int) -> Iterable[Text]:
    """A row in lines: its first cells in columns of these widths, each other one where there is room for it."""
    line, gap = Text(), Text(" " * GAP)
    for cell, columns in zip(row, aligned, strict=False):
        line += cell + Text(" " * (columns - cell.cell_len)) + gap
    for cell in filter(None, row[len(aligned) :]):
        if line.cell_len + cell.cell_len > width:
            line.rstrip()
            yield line
            *lines, line = [INDENT + part for part in cell.wrap(console, width - INDENT.cell_len)]
            yield from lines
        else:
            line += cell
        line += gap
    line.rstrip()
    yield line


def _filled(cell: Text, width: int) -> Text:
    filled = cell.copy()
    filled.pad_right(width - cell.cell_len)
    return filled


def grid(*whole: int) -> Table:
    """Columns without lines; the ones with these numbers, from 0 on, hold names that stay in one line."""
    made = Grid.grid(padding=(0, GAP))
    assert isinstance(made, Grid)
    made.whole = whole
    return made


def print_section(title: str, lines: Iterable[Text]) -> None:
    """A blank line, a heading and its lines, indented; nothing without lines.

    On a terminal a line that is too long goes on below its own beginning, between words; commands in it stay whole, and
    so does a line that is `no_wrap`.
    """
    console = out()
    every = [part for line in lines for part in line.split("\n")]
    if every:
        console.print()
        console.print(Text(title, style="bold"))
    for line in every:
        for part in _hanging(console, line):
            console.print(SECTION + part)


def _hanging(console: Console, line: Text) -> list[Text]:
    blanks = len(line.plain) - len(line.plain.lstrip())
    margin, room = line[:blanks], console.width - SECTION.cell_len - blanks - SECTION.cell_len
    if line.no_wrap or not console.is_terminal or line.cell_len + SECTION.cell_len <= console.width or room < 1:
        return [line]
    text = line[blanks:]
    pieces = TextWrapper(
        room, break_long_words=False, break_on_hyphens=False, drop_whitespace=False, replace_whitespace=False
    ).wrap(_COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), text.plain))
    parts = text.divide([*accumulate(map(len, pieces))][:-1])
    first, *rest = (part[len(part.plain) - len(part.plain.lstrip()) :] for part in parts)
    found = [margin + first, *(margin + SECTION + part for part in rest)]
    for part in found:
        part.rstrip()
    return found


_NO_BREAK = "\ue000"
"""A blank within a command, while lines are cut."""
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s,;'"-][^\s,;'"]*)"""
_ARGUMENTS = rf"--?[a-z][\w-]*(?:[ =]{_VALUE})?|[0-9a-f]{{8}}\b|r\d{{14}}-\w+|[^\s,;]+:\d{{4}}[^\s,;]*"
_COMMAND = re.compile(rf"`[^`]+`|\bbackfill [a-z]+(?: (?:{_ARGUMENTS}))*")
"""A command with its options and what it is about, as sentences name it: it is copied as a whole."""


def that_fit(cells: Sequence[Sequence[str]], width: int, drop: Iterable[int]) -> list[int]:
    """The numbers of the columns that have room, of rows of `cells`; those to `drop` go first, one after the other.

    >>> that_fit([["campaign", "12", "7.5"]], 15, [1, 2]), that_fit([["campaign", "12", "7.5"]], 80, [1, 2])
    ([0, 2], [0, 1, 2])
    """
    wide = [max(map(len, column)) + GAP for column in zip(*cells, strict=True)]
    kept = list(range(len(wide)))
    for number in drop:
        if sum(wide[n] for n in kept) <= width:
            break
        kept.remove(number)
    return kept
