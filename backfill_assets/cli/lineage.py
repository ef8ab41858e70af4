"""What is a column made of, and who reads it? A tree up to the sources, and one down to the last reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.tree import Tree

from backfill_assets.cli.terminal import out, styled
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.errors import UsageError
from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.core.wording import did_you_mean
from backfill_assets.plan.reasons import ROWS, reads_of

ColumnsShown = Mapping[str, Sequence[str]]
"""The columns of each model that an environment shows."""


def print_lineage(project: Project, target: str, shown: ColumnsShown) -> None:
    """The trees of a model or of one of its columns. Raises UsageError for a name that is neither."""
    model, column = _resolve(project, target, shown)
    console = out()
    signature = project.signatures[model]
    names, whence = _columns(project, model, shown)
    if _whole(project, model):
        console.print(f"{model}: its column lineage is unknown: any column may come from all that it reads")
        console.print(f"its columns are those that {whence}" if names else f"its columns: {whence}")
    above = Tree(styled("[bold]{}[/] is made of", target))
    for name in [column] if column else names:
        _above(project, model, name, above if column else above.add(name))
    if not column and signature.row_reads:
        rows = above.add("which rows there are")
        for ref in sorted(signature.row_reads, key=lambda r: (r.table, r.column)):
            rows.add(f"{ref.table}.{ref.column}")
    below = Tree(styled("[bold]{}[/] is read by", target))
    _below(project, model, frozenset({column}) if column else None, below)
    console.print(above)
    console.print(below if below.children else styled("[bold]{}[/] is read by no model and no consumer", target))


def lineage_json(project: Project, target: str, shown: ColumnsShown) -> dict[str, object]:
    """The same, one step up and down, as plain values; `consumers` without columns declare none, and may read any.
    Raises UsageError for a name that is neither.

    Of a model whose code nobody looks into, `columns` is empty and `reads` says what any of `names` may come from.
    """
    model, column = _resolve(project, target, shown)
    signature = project.signatures[model]
    whole = _whole(project, model)
    return {
        "model": model,
        "names": _columns(project, model, shown)[0],
        "reads": [u.name for u in project.models[model].upstreams] if whole else [],
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
        "consumers": [
            {"name": consumer.name, "kind": consumer.kind, "owner": consumer.owner, "columns": list(read)}
            for consumer, read in _consumers(project, model, frozenset({column}) if column else None)
        ],
    }


def _whole(project: Project, model: str) -> bool:
    return not project.signatures[model].column_reads


def _columns(project: Project, model: str, shown: ColumnsShown) -> tuple[list[str], str]:
    """The names of a model's columns, lower-cased, and who says so."""
    if declared := list(project.signatures[model].columns):
        return declared, "its header declares"
    if there := [name.lower() for name in shown.get(model, ())]:
        return there, f"{project.settings.environment} shows; its header declares none"
    return [], "its header declares none, and they are known when it is built"


def _above(project: Project, model: str, column: str, tree: Tree) -> None:
    if _whole(project, model):
        for upstream in project.models[model].upstreams:
            tree.add(f"{upstream.name}, any column")
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
    for consumer, read in _consumers(project, model, columns):
        owner = f" of {consumer.owner}" if consumer.owner else ""
        what = f": {', '.join(read)}" if read else ", any column: it declares none"
        tree.add(styled("[bold]{}[/]{}", consumer.name, f" ({consumer.kind}{owner}){what}"))


def _consumers(
    project: Project, model: str, columns: frozenset[str] | None
) -> Iterator[tuple[Consumer, tuple[str, ...]]]:
    """Who declares to read these columns (None: any) of a model, and which of them; none where it does not say."""
    for consumer in project.consumers.values():
        if model in consumer.reads:
            declared = consumer.use(model).columns
            read = tuple(c for c in declared if columns is None or c.lower() in columns)
            if read or not declared:
                yield consumer, read


def _readers(project: Project, model: str) -> dict[str, dict[str, set[str]]]:
    """Which models read which columns of a model, and for which of their own."""
    found: dict[str, dict[str, set[str]]] = {}
    for name in project.downstream(model):
        reads = reads_of(project.signatures.get(name, UNKNOWN), model)
        found[name] = reads or {c: {ROWS} for c in project.signatures[model].columns}
    return found


def _resolve(project: Project, target: str, shown: ColumnsShown) -> tuple[str, str | None]:
    model, _, column = target.partition(".")
    if model not in project.models:
        raise UsageError(
            f"no model named {model}",
            why=f"the project has: {', '.join(project.models)}",
            fix=did_you_mean(model, project.models, "name one of these", quote=""),
        )
    names, whence = _columns(project, model, shown)
    if column and not names:
        raise UsageError(
            f"nobody knows whether {model} has a column {column}",
            why=whence,
            fix=f"declare `columns:` in {project.models[model].path.name}, or build it: backfill apply",
        )
    if column and column.lower() not in names:
        raise UsageError(
            f"{model} has no column {column}",
            why=f"it has: {', '.join(names)}",
            fix=did_you_mean(column.lower(), names, "name one of these", quote=""),
        )
    return model, column.lower() or None
