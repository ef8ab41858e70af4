"""How does a plan look on a screen?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from backfill_assets.app.next_step import NextStep, Step, next_step, restate_late
from backfill_assets.cli.estimates import estimate_lines
from backfill_assets.cli.plan_stages import cut_off_lines, stage_lines
from backfill_assets.cli.plan_words import afterwards, ahead_lines, has_history, kept_warning_words, override_words
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import out, print_section, styled
from backfill_assets.cli.texts import text_line
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Project
from backfill_assets.plan.category import Category
from backfill_assets.plan.commands import awaited_command
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import saving
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.leases import Collision
from backfill_assets.plan.other_ways import other_ways
from backfill_assets.plan.scope_text import scope_words
from backfill_assets.plan.sized_batches import sized_words
from backfill_assets.plan.smallest_text import smallest_command, smallest_words
from backfill_assets.plan.stages import Plan, PlanWarning
from backfill_assets.plan.strategy import Strategy
from backfill_assets.plan.warnings import parted
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.watch.notice import Notice


def print_plan(
    plan: Plan,
    project: Project,
    estimate: PlanEstimate,
    *,
    verdict: Verdict | None = None,
    following: NextStep | None = None,
    gaps: Sequence[Gap] = (),
    ahead: Sequence[Obstacle] = (),
    late: Sequence[Notice] = (),
    collisions: Sequence[Collision] = (),
    more: Callable[[], None] = lambda: None,
) -> None:
    """The plan for a person: what is built, what is not and why, what it takes, what comes next.

    `verdict` is the gate's about a plan of which nothing is left to build, `following` what is done next, where more is
    known than that.
    `gaps` and what is `ahead` close the gate whatever is built, `late` is what is shown and was built before its
    sources changed; `collisions` are in the way of applying it. `more` prints what else there is to say, before what
    comes next: that is the last line.
    """
    console = out()
    console.print(
        Text("Plan ")
        + Text(plan.id, style="bold")
        + Text(f" for {plan.environment}, as of {plan.now:%Y-%m-%d %H:%M} UTC")
    )
    if plan.request.why:
        console.print(Text(f"Why: {one_line(plan.request.why)}"))
    console.print(stage_lines(plan, project))
    print_section("What changes", _changed_lines(plan))
    print_section("Time and cost", _cost_lines(estimate))
    print_section("Other ways", _other_lines(plan, project, estimate))
    print_section("Notes", _note_lines(plan, project))
    if verdict is None or verdict.open:  # else the gate's own words come below
        print_section("Approval and promotion", _afterwards_lines(plan, gaps, ahead, approved=verdict is not None))
    more()
    following = following or next_step(plan, verdict, late=late)
    if late and following.step is not Step.RESTATE:
        lines = _late_lines(late)
        if any(notice.restate for notice in late):
            lines += [Text("Once this plan is promoted:"), _command(restate_late(late))]
        print_section("Built before their sources changed, and left as they are by this plan", lines)
    console.print()
    _print_next(plan, project, following, verdict, late, collisions)


def _changed_lines(plan: Plan) -> list[Text]:
    """Each model of which there is something to say, with that."""
    found: list[Text] = []
    for name in plan.models:
        if lines := _change_lines(plan, name):
            found += [Text(name, style="bold"), *(Text("  ") + line for line in lines)]
    return found


def _cost_lines(estimate: PlanEstimate) -> list[Text]:
    """How long it takes and what it costs, or how to find out; and what that saves."""
    if estimate.stages and len(estimate.unknown) == len(estimate.stages):
        found = [styled("Not known yet: [bold]backfill apply --sample 3[/] builds a little and measures it.")]
    else:
        found = estimate_lines(estimate)
    less = saving(estimate)
    return [*found, *([Text(less)] if less else [])]


def _other_lines(plan: Plan, project: Project, estimate: PlanEstimate) -> list[Text]:
    """What could be asked for instead: less, or by another strategy; each with its command."""
    found = [Text(one_line(sentence)) for sentence in smallest_words(plan, project.models, estimate)]
    if command := smallest_command(plan):
        found.append(_command(command))
    for other in other_ways(plan, project.models):
        found += [Text(one_line(other.words)), _command(other.command)]
    return found


def _command(command: str) -> Text:
    return Text(f"  {one_line(command)}", style="bold", no_wrap=True)


def _note_lines(plan: Plan, project: Project) -> list[Text]:
    """Why batches are as long as they are, what is copied, read as it was or left out, and what is odd."""
    return [
        *(Text(one_line(sentence), style="dim") for sentence in sized_words(plan)),
        *_copied_lines(plan, project),
        *_frozen_lines(plan),
        *cut_off_lines(plan, project),
        *_warning_lines(plan, project),
        *(Text(text_line(text, project)) for text in plan.texts),
    ]


def _afterwards_lines(plan: Plan, gaps: Sequence[Gap], ahead: Sequence[Obstacle], *, approved: bool) -> list[Text]:
    found = [Text(sentence) for sentence in afterwards(plan, gaps, ahead, approved=approved)]
    if plan.held:
        held = ", ".join(plan.held)
        found.append(Text(f"{held} can be compared then, and stays in {plan.environment} as it is: by dual-run."))
    if plan.blocked:
        stuck = ", ".join(dict.fromkeys(b.model for b in plan.blocked))
        found.append(Text(f"{plan.environment} keeps what it shows of {stuck} until the days that wait are built too."))
    return found


def _print_next(
    plan: Plan,
    project: Project,
    following: NextStep,
    verdict: Verdict | None,
    late: Sequence[Notice],
    collisions: Sequence[Collision],
) -> None:
    command = Text(one_line(following.command), style="bold")
    match following.step:
        case Step.APPLY:
            out().print(Text("Next: ") + command)
        case Step.CONFIGURATION:
            out().print("Next: mend Spark's configuration as said above, then plan again")
        case Step.COLLIDES:
            other = collisions[0].plan.id
            abandon = Text(f"backfill abandon {other}", style="bold")
            promoted = f"Next: wait until plan {other} is promoted (from the code that it was made with), or drop it: "
            out().print(Text(promoted) + abandon + "; then plan again")
        case Step.CLOSED:
            out().print(f"Nothing to build, and {plan.environment} cannot move yet:")
            for obstacle in verdict.obstacles if verdict else ():
                out().print(Text(f"  {obstacle}".replace("\n", "\n  ")))
        case Step.PROMOTE:
            out().print(Text("Nothing to build. Next: ") + command)
        case Step.OWNERS:
            out().print(Text("Nothing to build. Next: ") + command + ", so that the owners have a plan to approve")
        case Step.RESTATE:
            out().print("Nothing is missing, but sources changed since what is shown was built:")
            for line in _late_lines(late):
                out().print(Text("  ") + line)
            out().print(Text("Next: ") + command)
        case Step.NOTHING:
            out().print("Nothing to do.")
        case Step.WAIT:  # for what is said above
            if more := awaited_command(plan, project.models):
                out().print(Text("Next: ") + Text(one_line(more), style="bold"))


def _late_lines(late: Sequence[Notice]) -> list[Text]:
    found: list[Text] = []
    for notice in late:
        found.append(Text(f"{notice.model} {short(notice.intervals)}: {notice.what}"))
        if not notice.restate:
            found.append(Text(f"  fix: {one_line(notice.remedy)}"))
        elif notice.first:
            found.append(Text(f"  first: {one_line(notice.first)}"))
    return found


def print_applying(plan: Plan, whole: Plan, project: Project) -> None:
    """What is to be known before a plan, or this part of it, is built: what is copied, what is read as it was, and what
    is odd."""
    for line in (*_copied_lines(plan, project), *_frozen_lines(whole), *_warning_lines(whole, project)):
        out().print(line)


def _copied_lines(plan: Plan, project: Project) -> list[Text]:
    """What is copied instead of being computed."""
    return [Text(one_line(sentence)) for sentence in (*scope_words(plan), *copied_words(plan, project.models))]


def _frozen_lines(plan: Plan) -> list[Text]:
    """Which state of its sources the rest of an open plan reads, where they changed since."""
    return [Text(sentence, style="yellow") for sentence in frozen_words(plan)]


def print_ahead(ahead: Sequence[Obstacle], gaps: Sequence[Gap]) -> None:
    """Before anything is built: what the gate will refuse then."""
    if ahead or gaps:
        lines = ["This can be built, but not be shown then:", *ahead_lines(ahead), *ahead_lines(gaps)]
        out().print(Text("\n".join(lines), style="yellow"))


def _change_lines(plan: Plan, name: str) -> list[Text]:
    """What kind of change a model is, and by way of which columns; nothing where there is nothing to say."""
    change = plan.changes.get(name)
    because = plan.because.get(name, ())
    given = [
        Text(f"declared equivalent (same_as): {override_words(word)} ({word.place})", style="bold yellow")
        for word in plan.overrides
        if word.model == name
    ] + [
        Text(f"declared equivalent by the same_as of {word.model}: see there", style="bold yellow")
        for word in plan.overrides
        if name in word.reaches
    ]
    reads = [Text(one_line(found.text), style="yellow") for found in plan.rewired if found.model == name]
    way = plan.strategies.get(name)
    builds = way is not Strategy.FULL_REBUILD or any(stage.model == name for stage in plan.work)
    told = way and has_history(change) and builds  # all of it may be built by now
    how = [Text(one_line(f"{way}: {plan.proof_of(name)}"), style="dim")] if told else []
    if change is None or (change.category in (Category.NEW, Category.UNCHANGED) and not because and not given):
        return [*given, *how]
    if release := plan.reverts.get(name):
        given = [Text(f"a revert: its code is that of release {release} again", style="bold"), *given]
    style = {Category.BREAKING: "red", Category.REMOVAL: "yellow", Category.ADDITIVE: "green"}
    word, _, rest = str(change).partition(":")
    head = Text(word, style=style.get(change.category, "dim")) + Text(f":{rest}" if rest else "")
    return [head, *given, *reads, *(Text(line, style="dim") for line in because), *how]


def _warning_lines(plan: Plan, project: Project) -> list[Text]:
    """The warnings of a plan; of models that it leaves as they are, only of which there are some."""
    told, kept = parted(plan, project)
    found = _told_lines(told)
    if kept:
        sentence, command = kept_warning_words(kept)
        found.append(Text("warning ", style="yellow") + Text(f"{sentence} ") + Text(command, style="bold"))
    return found


def print_warnings(warnings: Sequence[PlanWarning]) -> None:
    """What is odd without being an error, each with its place."""
    for line in _told_lines(warnings):
        out().print(line)


def _told_lines(warnings: Sequence[PlanWarning]) -> list[Text]:
    found: list[Text] = []
    for warning in warnings:
        found.append(Text("warning ", style="yellow") + Text(f"{warning.place}: {warning.what}"))
        found += [Text(f"  {word}: {said}") for word, said in (("why", warning.why), ("fix", warning.fix)) if said]
    return found
