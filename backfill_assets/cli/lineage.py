"""What is a column made of, and who reads it? A tree up to the sources, and one down to the last reader."""

from __future__ import annotations

import difflib

from rich.tree import Tree

from backfill_assets.cli.terminal import out, styled
from backfill_assets.errors import UsageError
from backfill_assets.plan.why import ROWS, reads_of
from backfill_assets.snapshots.model import UNKNOWN, Project


def print_lineage(project: Project, target: str) -> None:
    """The trees of a model or of one of its columns. Raises PlanError for a name that is neither."""
    model, column = _resolve(project, target)
    console = out()
    signature = project.signatures[model]
    if not signature.column_reads:
        read = ", ".join(u.name for u in project.models[model].upstreams)
        console.print(f"{model} cannot be taken apart: it reads {read}")
    above = Tree(styled("[bold]{}[/] is made of", target))
    for name in [column] if column else list(signature.columns):
        _above(project, model, name, above if column else above.add(name))
    if not column and signature.row_reads:
        rows = above.add("which rows there are")
        for ref in sorted(signature.row_reads, key=lambda r: (r.table, r.column)):
            rows.add(f"{ref.table}.{ref.column}")
    below = Tree(styled("[bold]{}[/] is read by", target))
    _below(project, model, frozenset({column}) if column else None, below)
    console.print(above)
    console.print(below if below.children else styled("[bold]{}[/] is read by no model", target))


def lineage_json(project: Project, target: str) -> dict[str, object]:
    """The same, one step up and down, as plain values. Raises PlanError for a name that is neither."""
    model, column = _resolve(project, target)
    signature = project.signatures[model]
    return {
        "model": model,
        "columns": {
            name: sorted(f"{r.table}.{r.column}" for r in refs)
            for name, refs in signature.column_reads.items()
            if column in (None, name)
        },
        "rows": sorted(f"{r.table}.{r.column}" for r in signature.row_reads),
        "read_by": {
            reader: {c: sorted(used) for c, used in reads.items() if column in (None, c)}
            for reader, reads in _readers(project, model).items()
            if column is None or column in reads
        },
    }


def _above(project: Project, model: str, column: str, tree: Tree) -> None:
    for ref in sorted(project.signatures[model].column_reads.get(column, ()), key=lambda r: (r.table, r.column)):
        branch = tree.add(f"{ref.table}.{ref.column}")
        if ref.table in project.models:
            _above(project, ref.table, ref.column, branch)


def _below(project: Project, model: str, columns: frozenset[str] | None, tree: Tree) -> None:
    """Who reads these columns (None: any), and who reads what is made of them."""
    for reader, reads in _readers(project, model).items():
        uses = frozenset(use for name, uses in reads.items() if columns is None or name in columns for use in uses)
        if uses:
            branch = tree.add(styled("[bold]{}[/]{}", reader, f" for {', '.join(sorted(uses))}" if columns else ""))
            _below(project, reader, None if columns is None or ROWS in uses else uses, branch)


def _readers(project: Project, model: str) -> dict[str, dict[str, set[str]]]:
    """Which models read which columns of a model, and for which of their own."""
    found: dict[str, dict[str, set[str]]] = {}
    for name in project.downstream(model):
        reads = reads_of(project.signatures.get(name, UNKNOWN), model)
        found[name] = reads or {c: {ROWS} for c in project.signatures[model].columns}
    return found


def _resolve(project: Project, target: str) -> tuple[str, str | None]:
    model, _, column = target.partition(".")
    if model not in project.models:
        close = difflib.get_close_matches(model, project.models, n=1)
        raise UsageError(
            f"no model named {model}",
            why=f"the project has: {', '.join(project.models)}",
            fix=f"did you mean {close[0]}?" if close else "name one of these",
        )
    columns = project.signatures[model].columns
    if column and column.lower() not in columns:
        close = difflib.get_close_matches(column.lower(), columns, n=1)
        raise UsageError(
            f"{model} has no column {column}",
            why=f"it has: {', '.join(columns)}",
            fix=f"did you mean {close[0]}?" if close else "name one of these",
        )
    return model, column.lower() or None
