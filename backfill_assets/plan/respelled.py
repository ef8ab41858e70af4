"""Which columns of a view get other letters, capital or small, by what a plan moves? Spark takes both for one column.

Readers that tell letters apart (pandas, Arrow, polars) do not find them any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from backfill_assets.core.model import Project
from backfill_assets.core.wording import listed
from backfill_assets.plan.stages import PlanWarning

if TYPE_CHECKING:
    from backfill_assets.plan.facts import Facts

Respelled = tuple[tuple[str, str], ...]
"""(shown, new) names."""


def respelled(project: Project, facts: Facts, moves: Iterable[tuple[str, str]]) -> dict[str, Respelled]:
    """By model: the columns that get other letters when these versions (model, version) are shown.

    A table that is there says how it writes them; of one that is to come, the code does.
    """
    found: dict[str, Respelled] = {}
    for name, version in moves:
        pointer = facts.environment.pointers.get(name)
        written = facts.tables.spelled.get((name, version)) or [c.name for c in project.columns.get(name, ())]
        if pointer is not None and (other := in_other_letters([c for c, _ in pointer.columns], written)):
            found[name] = other
    return found


def in_other_letters(before: Iterable[str], after: Iterable[str]) -> Respelled:
    """The names of one side that the other one writes with other letters.

    >>> in_other_letters(["ds", "Land", "n"], ["DS", "Land", "N"])
    (('ds', 'DS'), ('n', 'N'))
    """
    there = {name.lower(): name for name in after}
    return tuple((name, now) for name in before if (now := there.get(name.lower(), name)) != name)


def respelled_warnings(project: Project, environment: str, columns: Mapping[str, Respelled]) -> tuple[PlanWarning, ...]:
    """A warning for each of these models, with the consumers who name such a column, or all of the model's."""
    return tuple(
        PlanWarning(
            model=name,
            place=project.models[name].path.relative_to(project.root).as_posix(),
            what=f"{name}: " + ", ".join(f"column {old} will be called {new} in {environment}" for old, new in pairs),
            why="Spark takes both for one column; readers that tell letters apart (pandas, Arrow, polars) do not find "
            + f"{listed([old for old, _ in pairs])} any more{_readers(project, name, pairs)}",
            fix=f"write {listed([old for old, _ in pairs])} in the code, as before, or let these readers know",
        )
        for name, pairs in columns.items()
    )


def _readers(project: Project, name: str, pairs: Respelled) -> str:
    about = {old.lower() for old, _ in pairs}
    who = [
        c.name
        for c in project.consumers.values()
        if name in c.reads and (not c.use(name).columns or about & {u.lower() for u in c.use(name).columns})
    ]
    return f". Who reads it, by consumers.yml: {', '.join(who)}" if who else ""
