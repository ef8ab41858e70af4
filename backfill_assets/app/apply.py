"""How is what is missing built beside what is shown? A plan is opened, carried out, and compared with what is shown.

Three steps, one after the other, so that whoever calls them can tell what is known before hours of building.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from backfill_assets.app.amendment import amend_continued
from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.carry_out import Carried, Follow, carry_out, unseen
from backfill_assets.app.check_texts import check_texts
from backfill_assets.app.context import Context
from backfill_assets.app.engine_death import telling_of_death
from backfill_assets.app.estimate import estimate_plan, measure_run, plan_maintenance
from backfill_assets.app.gate import obstacles_ahead
from backfill_assets.app.plan import plan_by_now, plan_request
from backfill_assets.app.preflight import find_blocking
from backfill_assets.app.prove import Proved, prove_built
from backfill_assets.app.watch import find_older_moves
from backfill_assets.build.hold import Hold
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.errors import BackfillError
from backfill_assets.plan.actual import Actual
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.commands import apply_command, promote_command
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.maintenance import Maintenance
from backfill_assets.plan.part import Part, part_plan
from backfill_assets.plan.sample import sample_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import Opened, ended_text, find_plan
from backfill_assets.promote.lone_authors import lone_author_words
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanStatus
from backfill_assets.state.text_checks import TextCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A plan that is about to be built."""

    whole: Plan
    plan: Plan
    """What is built of it now: all, a sample, or a `part` that somebody named."""
    sample: bool
    part: bool = False
    opened: Opened | None
    """The stored plan; None for one without stages."""
    facts: Facts
    """How things were before anything was built."""
    ahead: tuple[Obstacle, ...]
    """What will stand in its way when all of it is built."""
    estimate: PlanEstimate
    maintenance: Maintenance | None
    """In which windows it is built; None where there are none, or nothing is built."""
    amendment: Amendment | None = None
    """What became of the world since the stored plan that is gone on with was opened."""
    gaps: tuple[Gap, ...] = ()
    """What preflight misses, and closes the gate."""
    notes: tuple[str, ...] = ()
    """That nobody but its author is left to approve it, and what it would show was built before its sources changed."""

    @property
    def stored(self) -> str:
        """The id of the stored plan, or ""."""
        return self.opened.plan.id if self.opened else ""

    @property
    def by_plan(self) -> str:
        """The id of the stored plan where only that can be promoted: of rows that lie over others; "" otherwise."""
        return self.stored if self.whole.patches else ""

    @property
    def to_promote(self) -> Request:
        """What a promotion is asked for beside `by_plan`: nothing where that names a plan."""
        return Request() if self.by_plan else self.whole.request


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What came of it."""

    started: Started
    carried: Carried
    actual: Actual
    facts: Facts
    """How things are now that it is built."""
    held: str = ""
    """Why it ended before all was begun or compared: it was not to wait, or somebody ended its plan; "" otherwise."""
    goes_on: bool = True
    """Whether the same request goes on from there: not where its plan has ended."""
    candidate: Environment | None
    """What the plan's own environment shows; None when the plan was ended meanwhile, or none was stored."""

    @property
    def failed(self) -> bool:
        """Whether something went wrong of what was begun."""
        return any(outcome.failures or outcome.red for outcome in self.carried.outcomes.values())

    @property
    def all_green(self) -> bool:
        """Whether all that this run could build is built and green, and still wanted."""
        return self.carried.ok and self.goes_on

    @property
    def complete(self) -> bool:
        """Whether nothing of the plan waits for what it reads, either."""
        return self.all_green and not self.started.plan.blocked


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found of rows that are complete."""

    texts: tuple[TextCheck, ...] = ()
    proved: Proved = field(default_factory=Proved)
    unproved: BackfillError | None = None
    """Why they could not be compared with what is shown: what was built is as good, and the gate stays closed."""
    seconds: float = 0.0
    """How long it took to find out."""

    @property
    def equal(self) -> bool:
        """Whether each text that counts as unchanged gives the rows of its version."""
        return all(check.equal for check in self.texts)


def start_apply(context: Context, request: Request, *, sample: int | None = None, only: Sequence[Part] = ()) -> Started:
    """Plan and store the plan, before anything is built; of a `sample`, that many intervals of each model are built,
    with `only` these days.

    Raises PlanError on a collision, and for days of which there is nothing to do; SettingsError, having stored nothing,
    when this machine cannot build.
    """
    facts = context.facts(every_version=request.all_versions)
    whole = plan_request(context, request, facts=facts)
    plan = part_plan(whole, context.project, only) if only else whole
    opened = open_plan(context, whole, facts)
    before = opened.plan if opened and opened.continues else None
    if sample is not None:
        plan = sample_plan(whole, context.project, sample)
    estimate = estimate_plan(context, plan)
    return Started(
        whole=whole,
        plan=plan,
        sample=sample is not None,
        part=bool(only),
        opened=opened,
        facts=facts,
        ahead=obstacles_ahead(context, whole, facts),
        estimate=estimate,
        maintenance=plan_maintenance(context, plan, estimate),
        amendment=amend_continued(context, before, whole, facts),
        gaps=find_blocking(context, whole, facts) if whole.stages else (),
        notes=(
            *(lone_author_words(whole.owners, facts.rules_for(context.project), opened.plan.authors) if opened else ()),
            *map(str, find_older_moves(context, facts, whole)),
        ),
    )


def build_plan(
    context: Context, started: Started, *, run: str = "", follow: Follow = unseen, hold: Hold | None = None
) -> Built:
    """Build and audit it, and show in its candidate environment what is complete.

    `hold` is asked before each batch; None: what the settings say, and it waits.
    """
    began, hold = datetime.now(UTC), hold or context.hold()
    if started.stored:
        hold.plan_ended = lambda: ended_text(context.control, started.stored)
    carried = carry_out(context, started.plan, run=run, follow=follow, hold=hold)
    actual = measure_run(context, started.plan, carried.run, began, hold.waited)
    every = started.whole.request.all_versions
    facts = context.facts(every_version=every) if carried.run else started.facts
    candidate = show_candidate(context, started.stored, facts) if started.stored else None
    over = ended_text(context.control, started.stored) if started.stored and not candidate else ""
    return Built(
        started=started,
        carried=carried,
        actual=actual,
        facts=facts,
        candidate=candidate,
        held=over or ("" if carried.ok else hold.ended),
        goes_on=not over and not hold.with_plan,
    )


def check_plan(context: Context, built: Built) -> Checked:
    """Try the texts that count as unchanged, and compare what is complete with what is shown; nothing else is, and it
    does not wait for what cannot be built yet. Of a part: once the whole plan is complete."""
    if not built.all_green:
        return Checked()
    started = built.started
    if not started.part:
        return check_rows(context, started.plan, "" if started.sample else started.stored, built.facts)
    if left_of_plan(context, started):
        return Checked()
    whole = plan_by_now(context, built.facts, find_plan(context.control, started.stored))
    return check_rows(context, whole, started.stored, built.facts)


def left_of_plan(context: Context, started: Started) -> str:
    """The command that builds the rest of a plan of which a part was built; "" where there is none."""
    if not started.part or find_plan(context.control, started.stored).status is PlanStatus.APPLIED:
        return ""
    return apply_command(started.whole.request)


def not_promoted(built: Built, checked: Checked) -> str:
    """That a promotion which was asked for did not begin; where some models only wait, with what shows the others."""
    started = built.started
    only_waits = built.all_green and started.plan.blocked and not started.by_plan
    can_be_shown = only_waits and checked.equal and not (checked.unproved or checked.proved.in_the_way)
    shows = f" To show what is complete: {promote_command(started.whole.request)}" if can_be_shown else ""
    return f"Nothing was promoted.{shows}"


def check_rows(context: Context, plan: Plan, stored: str, facts: Facts) -> Checked:
    """The same of a plan whose rows are there; without a `stored` one only its texts are tried."""
    began = time.monotonic()
    texts = check_texts(context, plan)
    proved, unproved = Proved(), None
    try:
        if stored:
            with telling_of_death("compare what was built"):
                proved = prove_built(context, stored, plan, facts)
    except BackfillError as error:
        unproved = error
    return Checked(texts=texts, proved=proved, unproved=unproved, seconds=time.monotonic() - began)
