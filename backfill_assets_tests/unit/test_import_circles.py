"""Can every module be read before those that need it? No imports go in a circle, even those for the type checker."""

from __future__ import annotations

from graphlib import TopologicalSorter

from grimp import build_graph


def test_no_modules_import_each_other() -> None:
    """Raises CycleError, which names the circle; imports inside of functions count."""
    graph = build_graph("backfill_assets", cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()
