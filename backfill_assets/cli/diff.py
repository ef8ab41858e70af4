"""How does a diff look in the terminal? Keys first, then rows, columns, days and slices, and rows from old to new."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from backfill_assets.app.diff import Compared
from backfill_assets.cli.terminal import grid, out, styled, that_fit
from backfill_assets.compare.codec import diff_id, diff_to_json
from backfill_assets.compare.diff import ModelDiff, RowGroup, Sample, moved
from backfill_assets.compare.diff_text import (
    change,
    column_lines,
    day_lines,
    key_lines,
    old_side,
    percent_text,
    row_line,
    say_both,
)
from backfill_assets.compare.months import months, months_json
from backfill_assets.compare.plots import ColumnSums, plot_series
from backfill_assets.core.codec import to_plain
from backfill_assets.core.escaping import one_line

DAYS, COLUMNS, BARS, SLICES = 10, 2, 60, 12
WIDE = 120
"""Columns of a terminal that has room for two columns day by day."""
_LEAST_FIRST = (7, 8, 6, 9, 10, 5, 4, 2)
"""What is told of a column that moved, by its place: what is left out first on a narrow terminal."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_STYLES = {"changed": "yellow", "added": "green", "removed": "red", "unpaired": "magenta"}


def diff_json(found: Compared) -> dict[str, object]:
    """A diff with its verdict, what columns read otherwise, and what a plot would show, as plain values."""
    diff = found.diff
    return {
        **diff_to_json(diff),
        "id": diff_id(diff),
        "same": diff.same,
        "expected": found.judgement.to_json(),
        "filled": [one.to_json() for one in found.filled],
        "lineage": to_plain(found.rewired),
        "known": {name: at.isoformat() for name, at in found.known.items()},
        "months": months_json(diff.models),
        "series": [s.to_json() for m in diff.models for s in plot_series(m)],
    }


def print_diff(found: Compared) -> None:
    """Every model that is different, the others in a line; what was expected and is not so comes last."""
    console, diff, judgement = out(), found.diff, found.judgement
    for model in diff.models:
        old = old_side(model, diff.old)
        console.print(Text(model.model, style="bold") + Text(f"  {old} → {diff.new}", style="dim"))
        if at := found.known.get(model.model):
            console.print(
                Text(f"  as compared by apply at {at:%Y-%m-%d %H:%M} UTC; both sides are as they were", style="dim")
            )
        for column in found.rewired:
            if column.model == model.model:
                console.print(Text(f"  {one_line(column.text)}", style="yellow"))
        _print_model(console, model, old, diff.new)
    if not diff.models:
        console.print(f"{diff.old} and {diff.new} show no model of the project")
    for one in judgement.held:
        console.print(Text("as expected ", style="green") + Text(f"{one} {'moved' if one.moves else 'did not move'}"))
    for surprise in judgement.surprises:
        console.print(Text("not as expected ", style="bold red") + Text(str(surprise)))
    for one in found.filled:
        word, style = ("as expected ", "green") if one.met else ("not as expected ", "bold red")
        console.print(Text(word, style=style) + Text(one_line(str(one))))


def _print_model(console: Console, model: ModelDiff, old: str, new: str) -> None:
    for line in key_lines(model, old, new):
        console.print(Text(f"  keys: {line}", style="red"))
    console.print(Text(f"  {row_line(model)}"))
    for line in [*column_lines(model), *day_lines(model, old, new)]:
        console.print(Text(f"  {line}", style="dim"))
    if model.moved:
        console.print(_columns(model, console.width))
    series = plot_series(model, at_most=COLUMNS if console.width >= WIDE else 1)
    if series:
        _print_days(console, series)
    if by_month := months(model):
        _print_slice(console, model, "month", by_month, series[0].column if series else None)
    for part in model.slices:
        _print_slice(console, model, part.column, part.groups, series[0].column if series else None)
        if not part.complete:
            console.print(f"  … and more values of {part.column}")
    if model.samples:
        console.print(_samples(model.samples))


def _columns(model: ModelDiff, width: int) -> Table:
    """The columns that moved, most of it first; on a narrow terminal less is told of each, and names stay whole."""
    heads = ("  column", "changed", "sum", "", "mean", "NULL", "distinct", "p50", "p95", "min", "max")
    rows: list[list[str]] = []
    there = {c.name: c for c in model.columns}
    for move in model.moved:
        column, a, b = there[move.column], move.old, move.new
        assert a is not None and b is not None
        number = column.kind in ("integer", "decimal", "float") and not column.masked and not column.key
        pairs = [(a.mean, b.mean)] if number else [None]
        pairs += [(a.nulls, b.nulls), (a.distinct, b.distinct) if a.distinct is not None else None]
        pairs += [(a.p50, b.p50), (a.p95, b.p95)] if number else [None, None]
        bounds = column.kind != "nested" and not column.masked
        pairs += [(a.min, b.min), (a.max, b.max)] if bounds else [None, None]
        rows.append(
            [
                f"  {one_line(move.column)}" + (" (masked)" if column.masked else ""),
                "" if column.key else percent_text(move.changed, model.total.rows.paired),
                " → ".join(say_both(a.sum, b.sum)) if number else "",
                change(move),
                *("" if p is None else one_line(_arrow(*say_both(*p))) for p in pairs),
            ]
        )
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    kept = that_fit([heads, *rows], width, _LEAST_FIRST)
    for n in kept:
        left = heads[n].strip() in ("column", "sum")
        table.add_column(heads[n], justify="left" if left else "right", no_wrap=True, overflow="fold")
    for row in rows:
        table.add_row(*(row[n] for n in kept))
    return table


def _arrow(one: str, other: str) -> str:
    return one if one == other else f"{one} → {other}"


def _print_days(console: Console, series: Sequence[ColumnSums]) -> None:
    """Sums by day: a line of bars for all days, and a table of the days in a row that differ most."""
    first = series[0]
    for one in series:
        if len(one.days) > DAYS:
            low, high = _bars(one)
            console.print(f"  {one.column} by day, {one.days[0]} … {one.days[-1]}")
            console.print(f"    old {low}\n    new {high}")
        if one.between_days:
            console.print(
                styled(
                    "  [yellow]{} moved between days:[/] its total is about the same, its days are not"
                    " (a time zone? another cut of the day?)",
                    one.column,
                )
            )
    count = min(DAYS, len(first.days))
    starts = range(len(first.days) - count + 1)
    at = max(starts, key=lambda i: (sum(map(abs, first.deltas[i : i + count])), -i))
    if count < len(first.days):
        console.print(f"  the {count} days in a row that differ most")
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("  day", no_wrap=True)
    for one in series:
        for name in (f"{one.column}, old", "new", "delta", ""):
            folds = name.endswith(", old")  # a long name of a column
            table.add_column(name, justify="left" if not name else "right", no_wrap=not folds, overflow="fold")
    for i in range(at, at + count):
        cells: list[str | Text] = []
        for one in series:
            delta = one.deltas[i]
            style = "red" if delta < 0 else "green" if delta > 0 else "dim"
            said = f"{delta:+,.6g}" if delta else "0"
            if one.changed[i] and one.old[i] is None and one.new[i] is None:  # too large, or NaN, on both sides
                said = "?"
            cells += [*say_both(one.old[i], one.new[i]), Text(said, style=style)]
            cells.append(Text(_swing(delta, max(map(abs, one.deltas))), style=style))
        table.add_row(f"  {first.days[i]}", *cells)
    console.print(table)


def _bars(series: ColumnSums) -> tuple[str, str]:
    """Old and new on one scale; several days share a bar when there are many."""
    size = -(-len(series.days) // BARS)
    lines = [
        [sum(v or 0.0 for v in side[i : i + size]) for i in range(0, len(side), size)]
        for side in (series.old, series.new)
    ]
    low, high = min(map(min, lines)), max(map(max, lines))
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    one, other = ("".join(_BLOCKS[round((v - low) / step)] for v in line) for line in lines)
    return one, other


def _swing(delta: float, most: float) -> str:
    """A bar to the left for less, to the right for more."""
    length = round(abs(delta) / most * _SWING) if most else 0
    bar = "█" * length if length else ("▏" if delta else "")
    return f"{bar:>{_SWING}}│" if delta < 0 else f"{'':>{_SWING}}│{bar}"


_SWING = 8
"""Characters of the longest bar."""


def _print_slice(console: Console, model: ModelDiff, name: str, groups: Sequence[RowGroup], column: str | None) -> None:
    """The values of a slice in which most is different."""
    different = [g for g in groups if not g.rows.same or any(moved(m, model.tolerance) for m in g.moves)]
    if not different:
        console.print(f"  by {name}: no difference in any of {len(groups):,}")
        return
    if column and any(group.move(column) for group in different):
        console.print(f"  by {name}, with the sum of {column}")
    table = grid(0)
    for group in sorted(different, key=lambda g: -(g.rows.changed + g.rows.added + g.rows.removed))[:SLICES]:
        rows, move = group.rows, group.move(column) if column else None
        sums = " → ".join(say_both(move.old.sum, move.new.sum)) if move and move.old and move.new else ""
        table.add_row(
            f"  {name} {one_line(group.name if group.name is not None else 'NULL')}",
            f"{rows.old:,} rows → {rows.new:,}",
            f"{rows.changed:,} changed ({percent_text(rows.changed, rows.paired)})",
            one_line(sums),
            change(move) if move else "",
        )
    console.print(table)
    if len(different) < len(groups):
        console.print(f"  {name}: no difference in the other {len(groups) - len(different):,}")
    if len(different) > SLICES:
        console.print(f"  … and {len(different) - SLICES:,} more that differ")


def _samples(samples: Sequence[Sample]) -> Table:
    """Rows, old → new; only what differs of a changed row."""
    keys = [name for name, _ in samples[0].key]
    columns = list(dict.fromkeys(name for s in samples for name, _ in (*s.old, *s.new)))
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in ["  sample", *keys, *columns]:
        table.add_column(one_line(name), overflow="fold")
    for sample in samples:
        old, new = dict(sample.old), dict(sample.new)
        cells: list[str | Text] = [one_line(_known(value)) for _, value in sample.key]
        for name in columns:
            if not old or not new:
                cells.append(one_line(_known((old or new).get(name))))
            elif old.get(name) == new.get(name):
                cells.append(styled("[dim]{}[/]", _known(old.get(name))))
            else:
                cells.append(one_line(f"{_known(old.get(name))} → {_known(new.get(name))}"))
        table.add_row(Text(f"  {sample.kind}", style=_STYLES[sample.kind]), *cells)
    return table


def _known(value: str | None) -> str:
    return "NULL" if value is None else value if len(value) <= 40 else f"{value[:39]}…"
