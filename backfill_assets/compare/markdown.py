"""How does a diff look in Markdown? A table of models and one of columns: for Dagster, pull requests, packets."""

from __future__ import annotations

from backfill_assets.compare.diff import ModelDiff
from backfill_assets.compare.diff_text import (
    change,
    column_lines,
    day_lines,
    key_lines,
    percent_text,
    row_line,
    say_both,
)
from backfill_assets.compare.plots import plot_series
from backfill_assets.core.escaping import markdown

DAYS = 14


def model_markdown(model: ModelDiff, old: str, new: str) -> str:
    """One model: its rows, the columns that moved, and the days in which the most moved one differs most."""
    lines = [f"**{markdown(model.model)}**: {markdown(old)} → {markdown(new)}", ""]
    facts = [*key_lines(model, old, new), row_line(model), *column_lines(model), *day_lines(model, old, new)]
    lines += [f"- {markdown(line)}" for line in facts]
    there = {c.name: c for c in model.columns}
    if model.moved:
        lines += ["", "| column | changed | sum, old | new | | NULLs | distinct |", "|---|--:|--:|--:|--:|--:|--:|"]
    for move in model.moved:
        column, one, other = there[move.column], move.old, move.new
        assert one is not None and other is not None
        sums = [*say_both(one.sum, other.sum)] if one.sum is not None or other.sum is not None else ["", ""]
        nulls = f"{one.nulls:,} → {other.nulls:,}"
        distinct = f"{one.distinct:,} → {other.distinct:,}" if one.distinct is not None and other.distinct else ""
        changed = percent_text(move.changed, model.total.rows.paired)
        cells = " | ".join(map(markdown, sums))
        lines.append(
            f"| {markdown(column.name)} | {changed} | {cells} | {markdown(change(move))} | {nulls} | {distinct} |"
        )
    for series in plot_series(model, at_most=1):
        most = sorted(range(len(series.days)), key=lambda i: -abs(series.deltas[i]))[:DAYS]
        lines += ["", f"| day | {markdown(series.column)}, old | new | delta |", "|---|--:|--:|--:|"]
        lines += [
            f"| {series.days[i]} | {' | '.join(say_both(series.old[i], series.new[i]))} | {series.deltas[i]:+,.6g} |"
            for i in sorted(most)
        ]
    return "\n".join(lines)
