"""Which problems of a project are those of other people's data? A source whose columns its data says may lose one.

Nobody edited a file: what is published goes on without the models that cannot be computed from it, and the way back is
open. Whoever plans these models hears of the problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backfill_assets.audits.reads import audit_tables
from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Model, Source
from backfill_assets.core.reach import reach
from backfill_assets.project.linking import Linked
from backfill_assets.project.sources import Sources


def source_faults(
    linked: Linked, sources: Sources, problems: Sequence[Problem], models: Mapping[str, Model]
) -> Mapping[str, tuple[Problem, ...]]:
    """Model → what may keep it from being computed because of what sources say by now: problems of its own file, where
    it reads sources whose data says their columns; and those of these sources, and of what its audits look up,
    where it is one of `models`. Nothing where there are other problems: then a file is wrong."""
    found: dict[str, tuple[Problem, ...]] = {}
    left = set(problems)
    for draft in linked.order:
        above = reach([draft.name], lambda name: [u.name for u in linked.upstreams.get(name, ())])
        asked = [name for name in above if name in sources.found_out]
        mine = [p for p in problems if asked and p.file == draft.path]
        audited = audit_tables(models[draft.name]) if draft.name in models else ()
        read = dict.fromkeys((*(u.name for u in linked.upstreams[draft.name]), *audited))
        theirs = [problem for name in read for problem in sources.faults.get(name, ())]
        if mine or theirs:
            found[draft.name] = (*(_because(p, asked, sources) for p in mine), *theirs)
        left.difference_update(mine, theirs)
    return {} if left else found


def _because(problem: Problem, asked: Sequence[str], sources: Sources) -> Problem:
    """The problem with what may have made it: nobody may have edited the file that it is told of."""
    told = "; ".join(
        f"{name} has these columns by now, as {_whose(sources.entries[name])}: "
        f"{', '.join(c.name for c in sources.entries[name].columns)}"
        for name in asked
        if sources.entries[name].columns
    )
    told = f"if nobody edited this file: {told}" if told else ""
    return replace(problem, why="; ".join(part for part in (problem.why, told) if part))


def _whose(source: Source) -> str:
    """Who says it. Of Parquet files Spark asks one; what only others have is read where `columns:` declares it."""
    return (
        "its data says" if source.format == "delta" else "its first file says (declare `columns:` for what others have)"
    )
