"""Which models and sources do the names in the models' code mean, and in which order do models depend on each other?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Source, Upstream
from backfill_assets.core.wording import did_you_mean
from backfill_assets.project.draft import Draft, DraftRead
from backfill_assets.project.graph import cycles, ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """`order` is by dependency; `spelling` maps lower-cased names to the declared spelling."""

    drafts: Mapping[str, Draft]
    order: tuple[Draft, ...]
    upstreams: Mapping[str, tuple[Upstream, ...]]
    spelling: Mapping[str, str]


def link(
    drafts: list[Draft], sources: Mapping[str, Source], problems: list[Problem], *, certain: bool = True
) -> Linked:
    """Resolve names as Spark does, whatever their case. Unknown names, twins and cycles are problems.

    Unknown names are so only when it is `certain` that all names are known.
    """
    by_name = _unique(drafts, sources, problems)
    spelling = {name.lower(): name for name in (*sources, *by_name)}
    readers: dict[str, set[str]] = {}
    for draft in by_name.values():
        for read in draft.reads:
            readers.setdefault(read.name.lower(), set()).add(draft.name)
    upstreams = {d.name: _upstreams(d, spelling, readers, problems, certain) for d in by_name.values()}
    edges = {name: [u.name for u in above if u.name != name] for name, above in upstreams.items()}
    for chain in cycles(edges):
        first = by_name[chain[0]]
        line = next((r.line for r in first.reads if r.name.lower() == chain[1].lower()), first.line)
        what, fix = f"models depend on each other: {' reads '.join(chain)}", "remove one of these dependencies"
        problems.append(first.problem(line, what=what, fix=fix))
        # Cut, so that the other problems can still be found.
        for reader, read in pairwise(chain):
            edges[reader] = [e for e in edges[reader] if e != read]
    order = tuple(by_name[name] for name in ordered(edges))
    return Linked(drafts=by_name, order=order, upstreams=upstreams, spelling=spelling)


def _unique(drafts: list[Draft], sources: Mapping[str, Source], problems: list[Problem]) -> dict[str, Draft]:
    """The drafts by name; names that are taken already are problems."""
    taken: dict[str, str] = {n.lower(): f"the source at {s.file.name}:{s.line}" for n, s in sources.items()}
    unique: dict[str, Draft] = {}
    for draft in drafts:
        if (other := taken.get(draft.name.lower())) is not None:
            what, why = f"the name `{draft.name}` is taken", f"{other} has it, and Spark does not tell case apart"
            problems.append(draft.problem(draft.line, what=what, why=why, fix="rename one of them"))
            continue
        taken[draft.name.lower()] = f"the model in {draft.path.name}:{draft.line}"
        unique[draft.name] = draft
    return unique


def _upstreams(
    draft: Draft,
    spelling: Mapping[str, str],
    readers: Mapping[str, Collection[str]],
    problems: list[Problem],
    certain: bool,
) -> tuple[Upstream, ...]:
    """What a draft reads. A name that nobody has may be mistyped for one that the draft does not read yet, and not for
    that of a reader of it."""
    others = {r.name.lower() for r in draft.reads}
    found: dict[str, Upstream] = {}
    for read in draft.reads:
        name = spelling.get(read.name.lower())
        if name is None:
            if not certain:
                continue
            known = [n for key, n in spelling.items() if key not in others and n not in readers[read.name.lower()]]
            fix = _remedy(read, known)
            what, why = f"`{draft.name}` reads `{read.name}`", "no model or source has that name"
            problems.append(draft.problem(read.line, what=what, why=why, fix=fix))
        elif name == draft.name:
            fix = "read the model's own upstreams; for earlier intervals of them, set `lookback`"
            why = "then its rows would depend on the order in which intervals are built"
            problems.append(draft.problem(read.line, what=f"`{draft.name}` reads itself", why=why, fix=fix))
        else:
            found[f"{read.parameter}={name}"] = Upstream(name=name, parameter=read.parameter)
    return tuple(found.values())


def _remedy(read: DraftRead, known: list[str]) -> str:
    """What to write instead of a name that nobody has: what it is the last part of, or one that is close."""
    meant = [name for name in known if name.rpartition(".")[2].lower() == read.name.lower()]
    if not meant:
        return did_you_mean(read.name, known, f"add a model `{read.name}`, or declare it in sources.yml")
    if not read.parameter:
        return f"did you mean {' or '.join(f'`{name}`' for name in meant)}?"
    # A parameter of a Python function cannot have dots.
    written = [f'`upstream={{"{read.parameter}": "{name}"}}`' for name in meant]
    return f"write {' or '.join(written)} in @model(...)"
