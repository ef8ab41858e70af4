"""Which rows of restated days are computed again? Those of a scope; the others are copied as they are shown.

A scope is told by columns of the model's key. So a row is in it or not by its key alone, before and after: none comes
in, none goes out, and of the rows that stay nothing changes. Where a row can move, because the condition is about
another column, keys decide: what a key had or has in the scope is computed again. See decision 0040.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.digest import digest
from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.interval_index import IntervalIndex
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import revision_of
from backfill_assets.plan.ids import Ids, check_ids
from backfill_assets.plan.patch import Patch, RowScope
from backfill_assets.plan.stages import Request
from backfill_assets.plan.stale_inputs import StaleInput
from backfill_assets.sql.types import is_number
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.shown_state import ShownState


class _Whole(Exception):
    """Why a model is computed again whole."""


def with_scope(
    project: Project,
    patches: Mapping[str, Patch],
    named: Sequence[str],
    request: Request,
    shown: Mapping[str, Pointer],
    standing: Mapping[str, ShownState],
    stale: Iterable[StaleInput],
) -> dict[str, Patch]:
    """The patches of a restatement, of the rows that the request names in the `named` models, and of the rows that
    these reach in their readers; whole where that cannot be told. `shown` is what the environment shows, `standing`
    what is known of it, and `stale` what of it is beside other rows than it was computed from.

    Raises UsageError for what names no rows of a model, PlanError for days that have no rows to copy.
    """
    option = "--ids" if request.ids else "--where"
    older: dict[str, Ranges] = {}
    for each in stale:
        older[each.model] = older.get(each.model, NOTHING) | each.intervals
    found: dict[str, Patch] = {}
    for name, patch in patches.items():
        model = project.models[name]
        above = [found[u.name] for u in model.upstreams if u.name in found]
        own = _asked(project, model, request, shown[name]) if name in named else None
        copied = _not_copied(shown[name], standing.get(name, ShownState()), older.get(name, NOTHING), patch)
        if own and copied:
            raise PlanError(
                f"{name} cannot be restated in a part of its rows: {copied}",
                why="the other rows of these days are copied as they are shown",
                fix=f"restate these days of {name} whole, without {option}",
            )
        try:
            scope = _reached(model, found, own, request.ids) if above else own
            if copied:
                raise _Whole(copied)
            said = ""
        except _Whole as whole:
            if own:
                raise PlanError(
                    f"{name} cannot be restated in a part of its rows beside what it reads: {whole}",
                    why=f"all rows of its days would be computed again, and {option} names some",
                    fix=f"leave {name} out, it follows what it reads: {option} is about the models that are named; or "
                    f"restate these days whole, without {option}",
                ) from None
            scope, said = None, str(whole)
        version = digest(patch.version, *(_decided(scope) if scope else []), *(p.version for p in above))
        found[name] = replace(patch, version=revision_of(patch.version, version[:8]), scope=scope, whole=said)
    return found


def _asked(project: Project, model: Model, request: Request, shown: Pointer) -> RowScope:
    if request.ids is None:
        return scope_of(project, model, request.where)
    check_ids(request.ids, model, {name.lower(): kind for name, kind in shown.columns})
    return _of_keys(request.ids, request.ids.columns)


def _of_keys(ids: Ids, columns: tuple[str, ...]) -> RowScope:
    return RowScope(where=ids.called(columns), columns=columns, ids=ids.digest)


def _decided(scope: RowScope) -> list[object]:
    """What tells one scope from others: of keys not what their file was called."""
    return [scope.ids, *scope.columns] if scope.ids else [scope.where, scope.by_key]


def scope_of(project: Project, model: Model, where: str) -> RowScope:
    """The scope that a condition on a model's columns is. Raises UsageError when it is none."""
    from backfill_assets.sql.row_condition import row_condition

    def refuse(why: str, fix: str) -> UsageError:
        return UsageError(f"--where {one_line(where)} is no scope of {model.name}", why=why, fix=fix)

    key = ", ".join(model.grain)
    if not where.isprintable():
        raise refuse("it has line breaks or other control characters, and plans quote it", "write it in one line")
    try:
        text, named = row_condition(where)
    except ValueError as error:
        raise refuse(str(error), f"write a condition on one row of it, such as {_example(project, model)}") from None
    columns = {column.name.lower(): column.name for column in project.columns.get(model.name, ())}
    if strange := [name for name in named if columns and name.lower() not in columns]:
        raise refuse(f"it has no column {', '.join(strange)}", f"its columns are {', '.join(columns.values())}")
    if hidden := {c.lower() for c in model.mask}.intersection(name.lower() for name in named):
        raise refuse(
            f"{', '.join(sorted(hidden))} is masked, and plans and packets quote the condition",
            f"name rows by other columns of it; its key is {key}",
        )
    grain = {column.lower() for column in model.grain}
    if not grain:
        raise refuse("the model says no grain: which row is which nobody knows", "add `grain:` to its header")
    by_key = not grain.issuperset(name.lower() for name in named)
    if by_key and model.dedupe:
        raise refuse(
            f"it is about other columns than the key ({key}), and of several rows of a key only the latest stays",
            f"name rows by {key}, or restate the days whole",
        )
    if by_key and model.time_column.lower() not in grain:
        others = ", ".join(name for name in named if name.lower() not in grain)
        raise refuse(
            f"{others} is no part of its key ({key}), and a key may be on any day: a row that moved to another day and "
            "out of the scope would be lost",
            f"name rows by {key}, or restate the days whole",
        )
    return RowScope(where=text, columns=tuple(name.lower() for name in named), by_key=by_key)


def _example(project: Project, model: Model) -> str:
    """A condition on a column of the key, of its type."""
    apart = {model.time_column.lower(), *(c.lower() for c in model.mask)}
    name = next((c for c in reversed(model.grain) if c.lower() not in apart), "region")
    kinds = {column.name.lower(): column.type or "" for column in project.columns.get(model.name, ())}
    kind = kinds.get(name.lower(), "")
    value = "42" if is_number(kind) else "DATE '2024-03-01'" if kind == "date" else "'de'"
    value = "true" if kind == "boolean" else value
    return f'--where "{name} = {value}"'


def _reached(model: Model, found: Mapping[str, Patch], own: RowScope | None, ids: Ids | None) -> RowScope:
    """The rows of a model that its restated upstreams reach. `own`: what is asked of it. Raises _Whole."""
    from backfill_assets.sql.passed_columns import RowsMixed, passed_columns
    from backfill_assets.sql.row_condition import renamed

    above = {u.name: found[u.name] for u in model.upstreams if u.name in found}
    (name, patch), *others = above.items()
    scope = patch.scope
    if scope is None:
        raise _Whole(f"{name} is computed again whole")
    if scope.by_key:
        raise _Whole(f"rows of {name} may have other values of {', '.join(scope.columns)} than before")
    if model.language != "sql":
        raise _Whole("nobody can tell which rows a Python function puts together")
    try:
        passed = passed_columns(model.code, name, scope.columns, [other for other, _ in others])
    except RowsMixed as mixed:
        raise _Whole(str(mixed)) from None
    columns = tuple(passed[c].lower() for c in scope.columns)
    if ids:
        reached = _of_keys(ids, columns)
    else:
        same = all(old == new.lower() for old, new in passed.items())
        text = scope.where if same else renamed(scope.where, passed)
        if text is None:
            raise _Whole("the condition cannot be written with its columns")
        reached = RowScope(where=text, columns=columns)
    if hidden := {c.lower() for c in model.mask}.intersection(reached.columns):
        raise _Whole(f"{', '.join(sorted(hidden))} is masked, and the condition would be quoted with it")
    if lacking := set(reached.columns) - {column.lower() for column in model.grain}:
        raise _Whole(f"{', '.join(sorted(lacking))} is no part of its key")
    if own is not None and own != reached:
        raise _Whole(f"rows of {name} reach others of it than those that are asked for")
    return reached


def _not_copied(pointer: Pointer, known: ShownState, stale: Ranges, patch: Patch) -> str:
    """Why what is shown of the days cannot be copied; "" when it can."""
    bad: dict[str, Ranges] = {
        "is of older logic": pointer.older.covers,
        "was adopted from another table": pointer.segments.adopted.covers,
        "is of no batch that the ledger knows": known.unknown,
        "was written to by others since": Ranges.of(i for part in known.foreign.values() for i in part),
        "does not pass its audits": known.failed,
        "was built before it was over": known.partial,
        "was computed from other rows of what it reads than are shown": stale,
    }
    said = [f"{part} {what}" for what, ranges in bad.items() if (part := ranges & patch.intervals)]
    return f"what is shown of {', '.join(said)}" if said else ""


def changed_beside(have: Coverage, version: str, shown: ShownState) -> Ranges:
    """The intervals of a restatement in a scope whose other rows were copied from a batch that is not shown any more.
    What is shown of the restatement itself is as it was promoted."""
    found: list[Interval] = []
    parts = IntervalIndex((part.interval, part) for part in shown.parts)
    for interval, entry in have.sources:
        if entry.origin is None or not entry.origin.scope:
            continue
        for there, part in parts.meeting(interval):
            if part.segment.version != version and (part.entry is None or part.entry.batch != entry.origin.batch):
                found += Ranges((there,)) & Ranges((interval,))
    return Ranges.of(found)


def scope_suffix(patch: Patch) -> str:
    """What comes after the reason of a build: `, where region = 'de'`."""
    return f", where {patch.scope.where}" if patch.scope else f", whole: {patch.whole}" if patch.whole else ""
