"""Does the loaded text of a model give the rows that its table has? A few intervals, computed beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from backfill_assets.build.bench import Workbench
from backfill_assets.build.build import build
from backfill_assets.build.events import silence
from backfill_assets.build.outcome import FailedInterval, Outcome
from backfill_assets.build.recheck import current_coverage
from backfill_assets.core.errors import BuildError, StateError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.segments import Segments
from backfill_assets.plan.changed_texts import ChangedText, by_another_text, changed_texts, remedy
from backfill_assets.plan.patch import Patch
from backfill_assets.project.stored import from_definition
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.state.versions import Version, records_of


def refused_text(bench: Workbench, name: str, intervals: Ranges) -> Outcome | None:
    """What a build of these intervals comes to where the loaded text of the model gives other rows than the one that
    its version was built by, or that cannot be told: nothing is built; what it gave would lie among that version's
    rows, and stay there when the text is corrected. None where it may be built. A text that nobody tried yet is tried
    first."""
    if error := _not_its_text(bench, name):
        span = intervals.span
        assert span is not None
        have, _ = current_coverage(bench, name)
        return Outcome(
            model=name,
            version=bench.version(name),
            requested=intervals,
            green=intervals & have[name].complete,
            failures=(FailedInterval(interval=span, error=str(error)),),
        )
    return None


def _not_its_text(bench: Workbench, name: str) -> BuildError | None:
    """Why nothing is built of a model's version by the loaded text; None where it may be."""
    version = bench.project.fingerprints[name]
    versions = bench.control.versions.all()
    record = versions.get((name, version))
    if record is None or not by_another_text(bench.project, name, record):
        return None
    itself = replace(bench, patches={}, planned={}, copies={}, ids=None, listen=silence)
    have, heads = current_coverage(itself, name)
    found = changed_texts(bench.project, versions, {name: have[name]}, {name: heads[name, version]})
    check = next(iter(compare_texts(itself, found)), None)
    if not found or (check is not None and check.equal):
        return None
    if check is None:
        why = f"version {version} was built by another one, and the two were not compared yet"
    elif check.error:
        why = f"it cannot be compared with the one that built version {version}: {check.error}"
    else:
        why = f"it gives other rows than version {version} in {check.differ}"
    what = f"{name} counts as unchanged, and nothing is built by its text"
    return BuildError(what, why=why, fix=remedy(bench.project, name))


def compare_texts(bench: Workbench, found: Sequence[ChangedText]) -> tuple[TextCheck, ...]:
    """Compute each sample by the loaded text, compare it with the table, and record what came of it.

    Where rows differ, the text that built the table computes the interval as well, from the same inputs: what differs
    in both is late source data, which the watch finds, and no fault of the text; unless what it reads is of another
    version by now, and only the author's word, `same_as`, says that this makes no difference. Samples are written to
    revisions that nothing points at; the janitor removes them. What waits for an upstream is not recorded: the next
    run tries again.
    What was compared before is not compared again.
    """
    known = bench.control.text_checks.all() if found else {}
    checks: list[TextCheck] = []
    for one in found:
        check = known.get(one.key)
        if (check is None or check.error) and (check := _check(bench, one)) is not None:
            bench.control.text_checks.put(check)
        if check is not None:
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
    if outcome.waits or one.intervals - outcome.green:  # it was held, or stopped
        return None
    differ = bench.engine().differing(model, one.columns, one.kept, tried)
    if differ:
        differ = differ - _differs_in_both(bench, one, differ, tried)
    return replace(check, differ=differ)


def _differs_in_both(bench: Workbench, one: ChangedText, differ: Ranges, tried: Segments) -> Ranges:
    """Where the text that built the table gives, now, what the loaded one gives. It reads what was renamed since by the
    name of then."""
    newest = bench.control.versions.get(one.model, one.version)
    assert newest is not None
    *_, record = records_of(newest)
    project = _with_names(bench.project, bench.project.models[one.model], record)
    now = project.fingerprints
    if one.model in project.overrides and any(now.get(n) != version for n, version in record.upstream.items()):
        return (
            NOTHING  # by their author's word, the rows are those that were computed from other versions than there are
        )
    try:
        old = from_definition(one.model, one.version, record.definition)
    except StateError:
        return NOTHING
    if {u.name for u in old.upstreams} - {*project.models, *project.sources}:
        return NOTHING
    outcome, again = _compute(replace(bench, project=project), old, one.trial_of_old, differ)
    if outcome.failures or outcome.waits:
        return NOTHING
    return differ - bench.engine().differing(old, one.columns, again, tried)


def _with_names(project: Project, model: Model, record: Version) -> Project:
    """The project, with the models that the loaded text reads by the names that its version was built from them by."""
    now = project.fingerprints
    called = {now[u.name]: u.name for u in model.upstreams if u.name in now}
    other = {
        name: called[version]
        for name, version in record.upstream.items()
        if now.get(name) != version and version in called
    }
    return replace(
        project,
        models={**project.models, **{name: project.models[own] for name, own in other.items()}},
        fingerprints={**project.fingerprints, **{name: record.upstream[name] for name in other}},
    )


def _compute(bench: Workbench, model: Model, version: str, sample: Ranges) -> tuple[Outcome, Segments]:
    """The sample in a revision of its own, by this text; without audits, which say nothing of the text."""
    bare = replace(model, audits=())
    project = replace(bench.project, models={**bench.project.models, model.name: bare})
    patch = Patch(version=version, intervals=sample)
    outcome = build(replace(bench, project=project, patches={model.name: patch}), model.name, sample)
    commit = bench.log.head(model.name, version)
    return outcome, patch.segments(commit)
