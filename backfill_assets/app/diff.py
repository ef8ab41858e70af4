"""How does what a plan built differ from what is shown? Diffs of two sides, and kept tables, by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from backfill_assets.app.context import Context
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff import SAMPLE, Diff, ModelDiff
from backfill_assets.compare.expect import Judgement, expectations, judge_moves
from backfill_assets.compare.filling import Filling, expected_filling, found_filling
from backfill_assets.compare.query import NoSharedKeyError
from backfill_assets.compare.questions import Question, questions
from backfill_assets.compare.renames import renamed_from
from backfill_assets.compare.sides import Side, cut, replaced_side, resolve_side
from backfill_assets.compare.stored_diffs import stored_answer
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import UNKNOWN
from backfill_assets.core.segments import Segments
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.lineage_changes import LineageChange, describe, lineage_changes, written_then
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.proof import Drift, kept_readers
from backfill_assets.plan.stages import Plan
from backfill_assets.promote.lifecycle import find_plan, only_open_plan
from backfill_assets.state.proofs import DIFF, newest_proofs
from backfill_assets.state.releases import out_of_sight, taken_out


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDiff:
    """What was compared of a model, and when."""

    diff: ModelDiff
    at: datetime

    def tells(self, other: ModelDiff) -> bool:
        """Whether that is what was compared, but for the examples."""
        return replace(other, samples=()) == replace(self.diff, samples=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """Which sides are compared, and how. `target` is a plan or `A..B`; None: the only open plan."""

    target: str | None = None
    models: tuple[str, ...] = ()
    """None named: all that either side shows."""
    within: Interval | None = None
    slices: tuple[str, ...] = ()
    """Columns by whose values it is compared as well."""
    tolerance: float | None = None
    """How far apart equal floats may be, relative; None: the model's."""
    sample: int = SAMPLE
    """Rows of how many keys of each kind are shown."""
    expect_moved: tuple[str, ...] = ()
    expect_unmoved: tuple[str, ...] = ()
    """`model` or `model.column`."""
    expect_filled: tuple[str, ...] = ()
    """`model.column=95%@2023-06-01`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A diff, and what is to be said about it."""

    diff: Diff
    judgement: Judgement
    """Whether what moved is as expected."""
    filled: tuple[Filling, ...] = ()
    """How far new columns are filled that somebody expects to be."""
    rewired: tuple[LineageChange, ...] = ()
    """Columns that read others on the new side."""
    known: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Models that were not compared again, since when that is known."""

    @property
    def as_expected(self) -> bool:
        return self.judgement.ok and all(one.met for one in self.filled)


def compare(context: Context, request: DiffRequest) -> Compared:
    """Compare two sides; what `apply` compared of a plan is not compared again where it answers what is asked.

    Raises UsageError for expectations about what there is not, and what `compare_sides` raises.
    """
    expected = expectations(context.project.column_names, request.expect_moved, request.expect_unmoved)
    filled = expected_filling(request.expect_filled, context.project.column_names)
    known = known_diffs(context, request.target)
    diff = compare_sides(
        context,
        request.target,
        models=request.models,
        within=request.within,
        slices=request.slices,
        tolerance=request.tolerance,
        sample=request.sample,
        known=known,
    )
    return Compared(
        diff=diff,
        judgement=judge_moves(diff, expected),
        filled=found_filling(diff, filled),
        rewired=rewired_columns(context, request.target, models=request.models),
        known={m.model: known[m.model].at for m in diff.models if m.model in known and known[m.model].tells(m)},
    )


def sides_of(context: Context, target: str | None = None) -> tuple[Side, Side]:
    """What a diff's target means, old and new: `A..B`, a plan (what it would replace, and its candidate), or (None) the
    only open plan. Raises PlanError, StateError when there is no such thing."""

    def named(name: str) -> Side:
        return resolve_side(name, context.project, context.control, context.log)

    if target and ".." in target:
        one, _, other = target.partition("..")
        return named(one), named(other)
    record = find_plan(context.control, target) if target else only_open_plan(context.control)
    shown, new = context.control.environments.read(record.environment), named(record.candidate)
    releases = context.control.releases.all(record.environment)
    old = replaced_side(shown, taken_out(releases, out_of_sight(releases), shown.removals))
    pointers = {m: pointer for m, pointer in old.pointers.items() if m in shown.pointers or m in new.pointers}
    return replace(old, pointers=pointers), new


def compare_sides(
    context: Context,
    target: str | None = None,
    *,
    models: Sequence[str] = (),
    within: Interval | None = None,
    slices: Sequence[str] = (),
    tolerance: float | None = None,
    sample: int = SAMPLE,
    without: Mapping[str, Ranges] | None = None,
    known: Mapping[str, KnownDiff] | None = None,
    unpaired: Callable[[NoSharedKeyError], None] | None = None,
) -> Diff:
    """Compare two sides of the project's models (none named: all that either shows). Opens a session only where
    days have to be read; `sample` is how many keys of each kind of row are shown. `without` are, by model,
    intervals that are left out; `known` comparisons are taken as they are where they answer what is asked. `unpaired`
    hears of models of which no two rows can be paired, which are left out; without it, that is an error.

    Raises PlanError for sides or columns that cannot be compared, StateError, BuildError.
    """
    from backfill_assets.adapters.diff import diff_model, sample_model

    old, new = sides_of(context, target)
    if without:
        old, new = cut(old, without), cut(new, without)
        models = [name for name in models if name in old.pointers and name in new.pointers]
        if not models:
            return Diff(old=old.name, new=new.name, models=())
    asked = questions(
        context.project,
        context.control.versions.all(),
        context.log,
        old,
        new,
        models=models,
        within=within,
        slices=slices,
        tolerance=tolerance,
    )
    salt = context.control.salt.get
    there = {q.model.name: known[q.model.name].diff for q in asked if known and q.model.name in known}

    def found(question: Question) -> ModelDiff:
        told = there.get(question.model.name)
        if told is None or not stored_answer(told, question):
            return diff_model(question, lambda: context.spark, context.warehouse, salt, sample=sample)
        if sample == SAMPLE:
            return told
        return sample_model(question, told, lambda: context.spark, context.warehouse, salt, sample=sample)

    def compared() -> Iterator[ModelDiff]:
        for question in asked:
            try:
                yield found(question)
            except NoSharedKeyError as error:
                if unpaired is None:
                    raise
                unpaired(error)

    return Diff(old=old.name, new=new.name, models=tuple(compared()))


def known_diffs(context: Context, target: str | None = None) -> dict[str, KnownDiff]:
    """What `apply` compared of the plan that a diff's target means, by model; nothing of other targets."""
    if target and ".." in target:
        return {}
    record = find_plan(context.control, target) if target else only_open_plan(context.control)
    if (proof := newest_proofs(context.control.proofs.of(record.id)).get(DIFF)) is None:
        return {}
    return {m.model: KnownDiff(diff=m, at=proof.at) for m in diff_from_json(proof.document).models if m.compared}


def rewired_columns(
    context: Context, target: str | None = None, *, models: Sequence[str] = ()
) -> tuple[LineageChange, ...]:
    """Which columns read others on the new side of a diff than on the old one, as the versions' records say.

    Raises PlanError, StateError for a target that means nothing.
    """
    old, new = sides_of(context, target)
    versions = context.control.versions.all()
    found: list[LineageChange] = []
    for name in context.project.models:
        one, other = (side.pointers.get(name) for side in (old, new))
        was, now = (versions.get((name, p.version)) if p else None for p in (one, other))
        if was and now and was.version != now.version and (not models or name in models):
            said = written_then(was.definition), written_then(now.definition)
            found += lineage_changes(name, was.signature, now.signature, *said, describe(context.project))
    return tuple(found)


def find_drift(context: Context, plan: Plan, facts: Facts) -> list[Drift]:
    """Where models that keep their tables would read other values than they were built from. Opens a session when
    there is something to compare."""
    found: list[Drift] = []
    for kept in kept_readers(context.project, plan):
        name = kept.upstream
        pointer = facts.environment.pointers[name]
        if kept.word and pointer.version != kept.word.version:
            continue  # the word is about a version that is not shown
        if name in plan.views:
            continue  # its tables stay, corrections and all
        version, commit = context.project.fingerprints[name], facts.tables.heads[name]
        built = Segments.of_table(version, commit, facts.tables.coverage[name].green)
        if not built:
            continue
        before = renamed_from(facts.shown.signature(name), context.project.signatures.get(name, UNKNOWN), kept.columns)
        differ = context.engine().differing(context.project.models[name], kept.columns, pointer.segments, built, before)
        if differ:
            again = {
                reader: Ranges.of(
                    affected_interval(context.project.models[reader], context.project.models[name], part)
                    for part in differ
                )
                & shown.covers
                for reader in kept.readers
                if (shown := facts.environment.pointers.get(reader))
            }
            found.append(Drift(kept=kept, intervals=differ, again=again))
    return found
