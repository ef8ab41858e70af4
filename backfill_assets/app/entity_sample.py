"""What would a plan change, for some entities? Their rows by the new logic, compared with what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backfill_assets.adapters.diff import diff_model
from backfill_assets.adapters.session import check_machine
from backfill_assets.app.carry_out import Follow, unseen
from backfill_assets.app.context import Context
from backfill_assets.app.diff import Compared
from backfill_assets.app.plan import plan_request
from backfill_assets.build.entity_sample import build_sample
from backfill_assets.build.hold import Hold
from backfill_assets.compare.diff import SAMPLE, Diff
from backfill_assets.compare.expect import judge_moves
from backfill_assets.compare.questions import Question, questions
from backfill_assets.compare.sides import Side
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, logic_of
from backfill_assets.plan.entities import EntitySample, followed, incomparable
from backfill_assets.plan.stages import Build, Request
from backfill_assets.state.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A sample of entities that was computed and compared. None of it is recorded: it proves nothing of other rows."""

    sample: EntitySample
    compared: Compared
    taken: Mapping[str, str]
    """What each model that was compared calls the key."""
    left: Mapping[str, str]
    """Why others of the plan were not."""

    @property
    def words(self) -> tuple[str, ...]:
        """What the comparison is of, in sentences."""
        return (
            f"This compares {self.sample}, taken by a hash of it: the same each time. It is no proof: nothing of it "
            "counts as built, can be approved or be promoted.",
            *(f"{name} is left out: {why}." for name, why in self.left.items()),
        )


def sample_entities(
    context: Context, request: Request, sample: EntitySample, *, hold: Hold | None = None, follow: Follow = unseen
) -> Sampled:
    """Compute what a plan would build, of a sample's entities only, in tables of its own, and compare it with what the
    environment shows of them. No plan is stored, and nothing is recorded of intervals.

    Raises UsageError for a key that no model has, PlanError where nothing is to be built, BuildError, HeldError.
    """
    facts = context.facts(every_version=request.all_versions)
    plan = plan_request(context, request, facts=facts)
    taken, left = followed(context.project, plan, sample)
    check_machine(context.project.root, context.project.settings)
    bench = context.bench(plan.sources, patches=plan.patches, frozen=plan.continued.frozen)
    bench = replace(bench, hold=hold or context.hold(), ignore_cron=request.ignore_cron)
    builds = [stage for stage in plan.stages if isinstance(stage, Build)]
    conditions = {name: sample.taken(column) for name, column in taken.items()}
    with follow(context, plan, bench.run) as listen:
        computed = build_sample(replace(bench, listen=listen), builds, conditions)
    salt = context.control.salt.get
    asked, unlike = _questions(context, facts.environment, computed, taken, sample)
    taken = {name: column for name, column in taken.items() if name not in unlike}
    found = [diff_model(one, lambda: context.spark, context.warehouse, salt, sample=SAMPLE) for one in asked]
    diff = Diff(old=facts.environment.name, new=str(sample), models=tuple(found))
    judgement = judge_moves(diff, ())
    return Sampled(sample=sample, compared=Compared(diff=diff, judgement=judgement), taken=taken, left=left | unlike)


def _questions(
    context: Context,
    shown: Environment,
    computed: Mapping[str, Segments],
    taken: Mapping[str, str],
    sample: EntitySample,
) -> tuple[list[Question], dict[str, str]]:
    """What both sides have of these entities, on the days that were computed; and why not of some models."""
    versions, models = context.control.versions.all(), context.project.models
    new = {
        name: Pointer(
            model=name,
            time_column=models[name].time_column,
            timestamps=models[name].cadence is Cadence.HOURLY,
            columns=versions[name, segments[0].version].columns,
            segments=segments,
        )
        for name, segments in computed.items()
    }
    old = {
        name: pointer.cut(new[name].covers)
        for name, pointer in shown.pointers.items()
        if name in new and pointer.covers & new[name].covers
    }
    revisions = {name: segments[0].version for name, segments in computed.items()}
    logic = {(name, logic_of(version)): versions[name, version] for name, version in revisions.items()}
    asked = questions(
        context.project,
        logic | versions,  # what the computed versions' columns mean, where none of them is built yet
        context.log,
        Side(name=shown.name, pointers=old),
        Side(name=str(sample), pointers=new),
    )
    found: list[Question] = []
    unlike: dict[str, str] = {}
    for question in asked:
        name, column = question.model.name, taken[question.model.name]
        was = question.renamed.get(column, column)
        if name in old and (why := incomparable((was, old[name].columns), (column, new[name].columns))):
            unlike[name] = why
        else:
            found.append(replace(question, taken=(sample.taken(was), sample.taken(column))))
    return found, unlike
