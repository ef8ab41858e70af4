"""Does the loaded text of a model give the rows that its table has? A few intervals, computed beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from backfill_assets.build.build import Workbench, build
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments
from backfill_assets.plan.changed_texts import ChangedText
from backfill_assets.plan.patch import Patch
from backfill_assets.project.stored import from_definition
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.state.versions import records_of


def compare_texts(bench: Workbench, found: Sequence[ChangedText]) -> tuple[TextCheck, ...]:
    """Compute each sample by the loaded text, compare it with the table, and record what came of it.

    Where rows differ, the text that built the table computes the interval as well, from the same inputs: what differs
    in both is late source data, which the watch finds, and no fault of the text. Samples are written to revisions that
    nothing points at; the janitor removes them. What waits for an upstream is not recorded: the next run tries again.
    """
    checks: list[TextCheck] = []
    for one in found:
        if (check := _check(bench, one)) is not None:
            bench.control.text_checks.put(check)
            checks.append(check)
    return tuple(checks)


def _check(bench: Workbench, one: ChangedText) -> TextCheck | None:
    model = bench.project.models[one.model]
    check = TextCheck(
        model=one.model, version=one.version, text=one.text, intervals=one.intervals, at=datetime.now(UTC)
    )
    outcome, tried = _compute(bench, model, one.trial, one.intervals)
    if outcome.failures:
        return replace(check, error=outcome.failures[0].error)
    if outcome.waits or not tried:
        return None
    differ = bench.engine().differing(model, one.columns, one.kept, tried)
    if differ:
        differ = differ - _differs_in_both(bench, one, differ, tried)
    return replace(check, differ=differ)


def _differs_in_both(bench: Workbench, one: ChangedText, differ: Ranges, tried: Segments) -> Ranges:
    """Where the text that built the table gives, by now, what the loaded one gives."""
    newest = bench.control.versions.get(one.model, one.version)
    assert newest is not None
    *_, record = records_of(newest)
    try:
        old = from_definition(one.model, one.version, record.definition)
    except StateError:
        return NOTHING
    if {u.name for u in old.upstreams} - {*bench.project.models, *bench.project.sources}:
        return NOTHING
    outcome, again = _compute(bench, old, one.trial_of_old, differ)
    if outcome.failures or outcome.waits:
        return NOTHING
    return differ - bench.engine().differing(old, one.columns, again, tried)


def _compute(bench: Workbench, model: Model, version: str, sample: Ranges) -> tuple[Outcome, Segments]:
    """The sample in a revision of its own, by this text; without audits, which say nothing of the text."""
    bare = replace(model, audits=())
    project = replace(bench.project, models={**bench.project.models, model.name: bare})
    patch = Patch(version=version, intervals=sample)
    outcome = build(replace(bench, project=project, patches={model.name: patch}), model.name, sample)
    commit = bench.log.head(model.name, version)
    return outcome, patch.segments(commit)
