"""What came out otherwise than the plan said? Each is a finding that an owner mends, or accepts by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backfill_assets.compare.diff import Diff
from backfill_assets.compare.expect import Expectation, judge_moves
from backfill_assets.compare.filling import Filling
from backfill_assets.contracts.rerun import Reruns
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.wording import listed
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.proof import Drift
from backfill_assets.state.proofs import Finding


def unexpected(
    diff: Diff,
    changes: Mapping[str, TableChange],
    expected: Sequence[Expectation],
    markers: Mapping[str, str | None] | None = None,
) -> tuple[Finding, ...]:
    """What moved in a diff and should not have, and the other way round.

    `changes` is what the plan says of each model: a change that leaves rows alone leaves their number
    and all columns that it does not name. No change is expected to leave nothing of rows that are shown. `expected` is
    what somebody declared beside that.
    """
    found: list[Finding] = []
    implied: list[Expectation] = []
    for model in diff.models:
        if model.compared and model.total.rows.old and not model.total.rows.new:
            text = (
                f"none of the {model.total.rows.old:,} rows that are shown of {model.compared} is left, and none came"
            )
            found.append(Finding(name=f"{model.model}.empty", model=model.model, text=text))
            continue
        said = changes.get(model.model)
        if said is None or said.rows or said.category in (Category.NEW, Category.UNCHANGED) or not model.compared:
            continue
        rows, named = model.total.rows, {c.lower() for c in said.columns}
        keys = named & {c.lower() for c in model.grain}  # a row whose key has another value goes, and comes
        apart = any(day.rows.added != day.rows.removed for day in (*model.days, model.total))
        if apart if keys else rows.added or rows.removed:
            alone = f"is of {listed(sorted(keys))}, by which rows are told apart, and leaves their number alone"
            said_of_rows = alone if keys else "leaves rows alone"
            text = f"the change {said_of_rows}, but {rows.added:,} came and {rows.removed:,} went"
            found.append(Finding(name=f"{model.model}.rows", model=model.model, text=text))
        free = named | {((markers or {}).get(model.model) or "").lower()}
        declared = {e.column.lower() for e in expected if e.model == model.model}
        implied += [
            Expectation(model=model.model, column=c.name, moves=False)
            for c in model.columns
            if c.both and c.name.lower() not in free | declared
        ]
    surprises = judge_moves(diff, [*implied, *expected]).surprises
    return (*found, *(Finding(name=str(s.expected), model=s.expected.model, text=str(s)) for s in surprises))


def unfilled(found: Iterable[Filling]) -> tuple[Finding, ...]:
    """New columns that are not filled as far as their author expected."""
    return tuple(Finding(name=f"{c.expected}.filled", model=c.expected.model, text=str(c)) for c in found if not c.met)


def incomparable(lost: Mapping[str, Mapping[str, Ranges]]) -> tuple[Finding, ...]:
    """Published intervals whose files cannot be read: by model, what is wrong and where. What replaces them was
    compared with nothing."""
    return tuple(
        Finding(
            name=f"{name}.unreadable",
            model=name,
            text=f"what is shown of {Ranges.of(i for part in problems.values() for i in part)} cannot be read, and the "
            f"new rows were compared with nothing: {'; '.join(list(problems)[:3])}",
        )
        for name, problems in lost.items()
    )


def unpaired(reasons: Mapping[str, str]) -> tuple[Finding, ...]:
    """Models of which nothing tells which new row replaces which old one, and why."""
    return tuple(
        Finding(name=f"{name}.unpaired", model=name, text=f"the new rows were compared with nothing: {why}")
        for name, why in reasons.items()
    )


def unanswered(reruns: Reruns, consumers: Mapping[str, Consumer], models: Sequence[str]) -> tuple[Finding, ...]:
    """The consumers' queries that do not say what they have to say over the candidate. `models` are those that move."""
    return tuple(
        Finding(
            name=f"{r.consumer}.{r.evaluation or r.query}",
            model=next((m for m in models if m in consumers[r.consumer].reads), models[0]),
            text=f"the query {r.evaluation or r.query} of {r.consumer} {'; '.join(r.missed)}",
        )
        for r in reruns.reruns
        if not r.met
    )


def drifted(drift: Iterable[Drift]) -> tuple[Finding, ...]:
    """Tables that are kept although what they were built from has other values by now."""
    return tuple(
        Finding(name=f"{d.kept.upstream}.kept", model=d.kept.upstream, text=str(d).partition("\n")[0]) for d in drift
    )
