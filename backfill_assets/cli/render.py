"""How do plans, outcomes and promotions look? One screen for a person, plain values for a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from backfill_assets.build.outcome import Outcome
from backfill_assets.cli.estimates import estimate_lines, estimate_markdown
from backfill_assets.cli.terminal import grid, out, styled
from backfill_assets.cli.texts import text_line
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.codec import to_plain
from backfill_assets.core.escaping import markdown, markdown_code, one_line
from backfill_assets.core.intervals import Ranges, ranges_json
from backfill_assets.core.model import Override, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import amount
from backfill_assets.plan.category import Category, Change
from backfill_assets.plan.commands import apply_command, restate_command, with_why
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import saving
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.reasons import first_few
from backfill_assets.plan.smallest_text import smallest_command, smallest_words
from backfill_assets.plan.stages import Approve, Audit, Build, Invalidate, Plan, Promote
from backfill_assets.plan.strategy import PROOF
from backfill_assets.plan.uncovered import Uncovered
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import elsewhere
from backfill_assets.watch.notice import Notice

SHOWN = 5


def print_plan(
    plan: Plan,
    project: Project,
    estimate: PlanEstimate,
    *,
    verdict: Verdict | None = None,
    stored: str = "",
    gaps: Sequence[Gap] = (),
    ahead: Sequence[Obstacle] = (),
    late: Sequence[Notice] = (),
) -> None:
    """The plan for a person: what is built, what is not and why, what it takes, what comes next.

    `verdict` is the gate's about a plan of which nothing is left to build, `stored` the open plan that it continues.
    `gaps` and what is `ahead` close the gate whatever is built, `late` is what is shown and was built before its
    sources changed.
    """
    console = out()
    console.print(
        Text("Plan ")
        + Text(plan.id, style="bold")
        + Text(f" for {plan.environment}, as of {plan.now:%Y-%m-%d %H:%M} UTC")
    )
    if plan.request.why:
        console.print(Text(f"Why: {one_line(plan.request.why)}"))
    table = grid(0, 1)
    for stage in plan.stages:
        match stage:
            case Build():
                table.add_row(
                    Text("build", style="green"),
                    Text(stage.model, style="bold"),
                    amount(stage.count, project.models[stage.model].cadence),
                    short(stage.intervals),
                    _batches(len(stage.batches), stage.concurrency),
                    stage.reason + _through(stage, plan),
                )
            case Audit():
                table.add_row(
                    Text("audit", style="cyan"),
                    Text(stage.model, style="bold"),
                    amount(stage.count, project.models[stage.model].cadence),
                    short(stage.intervals),
                    "",
                    "built, but not audited with the present audits",
                )
            case Invalidate():
                table.add_row(
                    Text("invalidate", style="yellow"),
                    Text(stage.model, style="bold"),
                    _units(stage, project),
                    short(stage.intervals),
                    stage.version,
                    stage.reason,
                )
            case Approve() | Promote():
                continue
    for name, reason in plan.kept.items():
        table.add_row(Text("keep", style="dim"), Text(name, style="dim"), "", "", "", Text(reason, style="dim"))
    for stuck in plan.blocked:
        cadence = project.models[stuck.model].cadence
        table.add_row(
            Text("wait", style="yellow"),
            Text(stuck.model, style="bold"),
            amount(stuck.count, cadence),
            short(stuck.intervals),
            "",
            f"needs {stuck.upstream} {short(stuck.needs)}",
        )
    console.print(table)
    for name in plan.models:
        lines = _change_lines(plan, name)
        if lines:
            console.print(Text(name, style="bold"))
            for line in lines:
                console.print(Text("  ") + line)
    print_copied(plan, project)
    if estimate.stages and len(estimate.unknown) == len(estimate.stages):
        console.print(
            styled("How long it takes nobody knows yet: [bold]backfill apply --sample 3[/] builds a little and tells.")
        )
    elif lines := estimate_lines(estimate):
        console.print("It takes")
        for line in lines:
            console.print(Text("  ") + line)
    if less := saving(estimate):
        console.print(Text(less))
    for sentence in smallest_words(plan, project.models, estimate):
        console.print(Text(one_line(sentence)))
    if command := smallest_command(plan):
        console.print(Text("Instead: ") + Text(one_line(command), style="bold"))
    print_frozen(plan, project)
    _print_cut_offs(plan, project)
    _print_warnings(console, plan)
    for text in plan.texts:
        console.print(Text(text_line(text, project)))
    moves = [stage for stage in plan.stages if isinstance(stage, Promote)]
    for sentence in (
        _then(plan, gaps, ahead) if verdict is None or verdict.open else ()
    ):  # the gate's own words come below
        console.print(Text(sentence))
    if plan.held:
        console.print(f"{', '.join(plan.held)} can be compared then; a plan without the dual run moves it.")
    if plan.blocked:
        stuck = ", ".join(dict.fromkeys(b.model for b in plan.blocked))
        console.print(f"In {plan.environment}, {stuck} stays as it is until nothing of it waits.")
    if plan.work or plan.invalidations or plan.texts:
        next_step = apply_command(plan.request) if stored else with_why(apply_command(plan.request), plan.request)
        console.print(Text("Next: ") + Text(one_line(next_step), style="bold"))
    elif verdict is not None and not verdict.open:
        console.print(f"Nothing to build, and {plan.environment} cannot move yet:")
        for obstacle in verdict.obstacles:
            console.print(Text(f"  {obstacle}".replace("\n", "\n  ")))
    elif verdict is not None and moves:
        console.print(Text("Nothing to build. Next: ") + Text(f"backfill promote {stored}".strip(), style="bold"))
    elif plan.owners and not plan.blocked:
        console.print(
            styled(
                "Nothing to build. Next: [bold]{}[/], so that the owners have a plan to approve",
                apply_command(plan.request),
            )
        )
    elif moves and not plan.blocked:
        console.print(styled("Nothing to build. Next: [bold]{}[/]", _promote_command(plan)))
    elif not plan.blocked and late:
        console.print("Nothing is missing, but sources changed since what is shown was built:")
        for notice in late:
            console.print(Text(f"  {notice.model} {short(notice.intervals)}: {notice.what}"))
        arguments = tuple(a for notice in late for a in notice.restate)
        console.print(Text("Next: ") + Text(restate_command(arguments), style="bold"))
    elif not plan.blocked:
        console.print("Nothing to do.")


def print_copied(plan: Plan, project: Project) -> None:
    """What is copied instead of being computed."""
    for sentence in copied_words(plan, project.models):
        out().print(Text(sentence))


def print_frozen(plan: Plan, project: Project) -> None:
    """Which state of its sources the rest of an open plan reads, where they changed since."""
    for sentence in frozen_words(plan, project.models):
        out().print(Text(sentence, style="yellow"))


def _print_cut_offs(plan: Plan, project: Project) -> None:
    """What is left out for want of rows to read, of the models that read sources; the others follow from these."""
    direct = [cut for cut in plan.cut_off if cut.reads[0] in project.sources]
    for cut in direct:
        rest = amount(cut.count, project.models[cut.model].cadence)
        have = "has" if len(cut.reads) == 1 else "have"
        out().print(
            styled("[yellow]{} {} no rows[/] for {} of {}, ", ", ".join(cut.reads), have, rest, cut.model)
            + Text(f"{short(cut.intervals)}: not expected until there are some")
        )
    if direct:
        out().print(
            styled("[dim]Where a source may rightly have none, write `cut_off: false` for it in sources.yml.[/]")
        )


def print_uncovered(found: Sequence[Uncovered]) -> None:
    """Where sources have no rows for what is to be built."""
    for gap in found:
        has = f"has {gap.has}" if gap.has else "has no rows"
        out().print(
            styled(
                "[yellow]{} has no rows in {}[/], which {} reads; it {}",
                gap.source,
                short(gap.intervals),
                gap.model,
                has,
            )
        )


def uncovered_json(found: Sequence[Uncovered]) -> list[dict[str, object]]:
    """The same as plain values."""
    return [
        {
            "source": gap.source,
            "model": gap.model,
            "intervals": ranges_json(gap.intervals),
            "count": gap.count,
            "has": ranges_json(gap.has),
        }
        for gap in found
    ]


def plan_markdown(
    plan: Plan, project: Project, estimate: PlanEstimate, gaps: Sequence[Gap] = (), ahead: Sequence[Obstacle] = ()
) -> str:
    """The plan as a comment of a pull request; `gaps` and what is `ahead` close the gate whatever is built."""
    why = [f"**Why:** {markdown(plan.request.why)}", ""] if plan.request.why else []
    lines = [f"## Plan `{plan.id}` for {plan.environment}", "", *why, "| model | change | to do |", "|---|---|---|"]
    work = {stage.model: stage for stage in plan.work}
    for name in plan.models:
        change, stage = plan.changes.get(name), work.get(name)
        said = markdown("; ".join([str(change) if change else "", *plan.because.get(name, ())]).strip("; "))
        if stage is not None:
            verb = "build" if isinstance(stage, Build) else "audit"
            todo = f"{verb} {amount(stage.count, project.models[name].cadence)}, {short(stage.intervals)}"
        else:
            todo = markdown(plan.kept.get(name, "wait"))
        lines.append(f"| `{name}` | {said} | {todo} |")
    for name, release in plan.reverts.items():
        lines += ["", f"**A revert**: `{name}` has the code of release {markdown(release)} again."]
    for name, way in plan.strategies.items():
        if _is_told(plan.changes.get(name)):
            lines += ["", f"`{name}` by **{way}**: {PROOF[way]}."]
    for sentence in (*copied_words(plan, project.models), *frozen_words(plan, project.models)):
        lines += ["", markdown(sentence)]
    for found in plan.rewired:
        lines += ["", f"`{found.model}`: {markdown(found.text)}."]
    for cut in plan.cut_off:
        reads = ", ".join(f"`{name}`" for name in cut.reads)
        lines += ["", f"Of `{cut.model}`, {short(cut.intervals)} is not expected yet: there are no rows in {reads}."]
    for stuck in plan.blocked:
        lines += ["", f"`{stuck.model}` waits for `{stuck.upstream}` {short(stuck.needs)}."]
    if table := estimate_markdown(estimate):
        lines += ["", *table]
    if less := saving(estimate):
        lines += ["", markdown(less)]
    for sentence in smallest_words(plan, project.models, estimate):
        lines += ["", markdown(sentence)]
    if command := smallest_command(plan):
        lines += ["", f"Instead: {markdown_code(command)}"]
    for word in plan.overrides:
        lines += [
            "",
            f"**By the author's word**, `{word.model}` has {markdown(_word(word))} ({markdown_code(word.place)}).",
        ]
    for warning in plan.warnings:
        told = markdown(f"{warning.what}. {warning.why}; {warning.fix}.")
        lines += ["", f"Warning, {markdown_code(warning.place)}: {told}"]
    for stage in plan.invalidations:
        what = f"`{stage.model}` {stage.version}, {short(stage.intervals)}"
        lines += ["", f"Invalidates {what}: {markdown(stage.reason)}."]
    for sentence in _then(plan, gaps, ahead):
        first, *rest = sentence.splitlines()
        lines += ["", markdown(first), *([""] if rest else []), *(f"- {markdown(line.strip())}" for line in rest)]
    return "\n".join(lines)


def print_ahead(plan: Plan, ahead: Sequence[Obstacle]) -> None:
    """Before anything is built: what the gate will refuse then."""
    if ahead:
        lines = ["This can be built, but not be shown then:", *ahead_lines(ahead)]
        out().print(Text("\n".join(lines), style="yellow"))


def ahead_lines(ahead: Sequence[Obstacle]) -> list[str]:
    """What the gate will refuse, with the remedies."""
    return [f"  {line}" for obstacle in ahead for line in one_line_each(str(obstacle))]


def _then(plan: Plan, gaps: Sequence[Gap] = (), ahead: Sequence[Obstacle] = ()) -> list[str]:
    """What follows when everything is built; nothing is announced that `gaps`, or what is `ahead`, forbid."""
    said: list[str] = []
    for stage in plan.stages:
        match stage:
            case Approve():
                asked = " and by ".join(map(str, stage.owners))
                said.append(f"Then it needs approval by {asked}: published rows change.")
            case Promote():
                models = first_few(one.model for one in stage.models)
                if gaps:
                    lines = [f"  {line}" for gap in gaps for line in one_line_each(str(gap))]
                    head = (
                        f"{models} cannot be shown in {stage.environment} before this is mended (backfill preflight):"
                    )
                    said.append("\n".join([head, *lines]))
                if ahead:
                    head = f"{models} cannot be shown in {stage.environment}, also when all of it is built:"
                    said.append("\n".join([head, *ahead_lines(ahead)]))
                if not gaps and not ahead:
                    said.append(f"Then backfill promote shows {models} in {stage.environment}, in one step.")
            case Build() | Audit() | Invalidate():
                pass
    return said


def one_line_each(text: str) -> list[str]:
    """The lines of a text of ours, each with its control characters visible."""
    return [one_line(line) for line in text.splitlines()]


def _change_lines(plan: Plan, name: str) -> list[Text]:
    """What kind of change a model is, and by way of which columns; nothing where there is nothing to say."""
    change = plan.changes.get(name)
    because = plan.because.get(name, ())
    given = [
        Text(f"by the author's word: {_word(word)} ({word.place})", style="bold yellow")
        for word in plan.overrides
        if word.model == name
    ] + [
        Text(f"by the author's word about {word.model}: see there", style="bold yellow")
        for word in plan.overrides
        if name in word.reaches
    ]
    reads = [Text(one_line(found.text), style="yellow") for found in plan.rewired if found.model == name]
    way = plan.strategies.get(name)
    how = [Text(f"{way}: {PROOF[way]}", style="dim")] if way and _is_told(change) else []
    if change is None or (change.category in (Category.NEW, Category.UNCHANGED) and not because and not given):
        return [*given, *how]
    if release := plan.reverts.get(name):
        given = [Text(f"a revert: its code is that of release {release} again", style="bold"), *given]
    style = {Category.BREAKING: "red", Category.REMOVAL: "yellow", Category.ADDITIVE: "green"}
    word, _, rest = str(change).partition(":")
    head = Text(word, style=style.get(change.category, "dim")) + Text(f":{rest}" if rest else "")
    return [head, *given, *reads, *(Text(line, style="dim") for line in because), *how]


def _is_told(change: Change | None) -> bool:
    """Whether there is a history whose way of changing is to be told."""
    return change is None or change.category is not Category.NEW


def _word(word: Override) -> str:
    return f"the rows of version {word.version}, and its values in {first_few(word.columns)}, because: {word.reason}"


def _print_warnings(console: Console, plan: Plan) -> None:
    for warning in plan.warnings:
        console.print(Text("warning ", style="yellow") + Text(f"{warning.place}: {warning.what}"))
        for word, said in (("why", warning.why), ("fix", warning.fix)):
            if said:
                console.print(Text(f"  {word}: {said}"))


def print_outcomes(plan: Plan, outcomes: Mapping[str, Outcome], project: Project, opened: str = "") -> None:
    """What an apply did, what failed, and how to mend it; `opened` is the id of the stored plan that it worked on."""
    console = out()
    for stage in plan.invalidations:
        console.print(f"Invalidated {stage.model} {short(stage.intervals)} of version {stage.version}")
    if not plan.work:
        console.print(f"Nothing to build: plan {opened or plan.id} has no missing interval.")
    table = grid(0, 1)
    for name, outcome in outcomes.items():
        cadence = project.models[name].cadence
        done, asked = outcome.green.count(cadence), outcome.requested.count(cadence)
        table.add_row(
            Text("done" if outcome.ok else "incomplete", style="green" if outcome.ok else "red"),
            Text(name, style="bold"),
            f"{done} of {amount(asked, cadence)} green",
            f"{outcome.rows:,} rows",
            f"{outcome.wall:.1f} s",
        )
    if outcomes:
        console.print(table)
    for outcome in outcomes.values():
        if outcome.partial:
            console.print(f"{outcome.model} {short(outcome.partial)} is not over: it is missing again when it is.")
        if outcome.rowless:
            cadence = project.models[outcome.model].cadence
            none = f"{amount(outcome.rowless.count(cadence), cadence)}: {short(outcome.rowless)}"
            console.print(
                styled(
                    "[yellow]{} has no rows[/] on {}. If it should have some, add the audit [bold]completeness[/]; "
                    "it passed without one",
                    outcome.model,
                    none,
                )
            )
        if outcome.changes is not None:
            console.print(
                styled(
                    "[dim]{} merged: {}; {} bytes rewritten[/]", outcome.model, outcome.changes, f"{outcome.bytes:,}"
                )
            )
        _print_trouble(console, outcome)
    for stuck in plan.blocked:
        console.print(styled("[yellow]{} waits[/] for {} {}", stuck.model, stuck.upstream, short(stuck.needs)))
    if plan.blocked or not all(o.ok for o in outcomes.values()):
        console.print(
            styled("What is green is kept. After mending the cause: [bold]{}[/]", apply_command(plan.request))
        )


def print_next(plan: Plan, opened: str) -> None:
    """What comes after an apply that is complete; `opened` is the id of the stored plan that it worked on."""
    if any(isinstance(stage, Promote) for stage in plan.stages):
        steps = [f"backfill approve {opened}"] if opened and plan.owners else []
        steps.append(f"backfill promote {opened}".strip() if plan.patches else _promote_command(plan))
        out().print(
            styled("{} still shows what it showed. Next: ", plan.environment)
            + Text(", then ").join(Text(step, style="bold") for step in steps)
        )


def _promote_command(plan: Plan) -> str:
    return apply_command(plan.request).replace("apply", "promote", 1)


def print_promotion(before: Environment, after: Environment, verdict: Verdict) -> None:
    """What moved, or everything that is in the way."""
    console = out()
    if not verdict.open:
        count = len(verdict.obstacles)
        things = "1 thing is" if count == 1 else f"{count} things are"
        console.print(styled("[bold red]Not promoted:[/] {} in the way of {}", things, after.name))
        for obstacle in verdict.obstacles:
            console.print(Text(f"  {obstacle}".replace("\n", "\n  ")))
        return
    if not verdict.pointers:
        console.print(f"{after.name} shows all of it already: nothing to promote.")
        return
    release = after.releases[verdict.pointers[0].model]
    console.print(
        Text("Promoted ")
        + Text(f"{len(verdict.pointers)} model{'s' * (len(verdict.pointers) != 1)}", style="bold")
        + Text(f" to {after.name} in one commit ({release})")
    )
    table = grid(0)
    for pointer in verdict.pointers:
        old = before.pointers.get(pointer.model)
        was = _was(old, pointer)
        table.add_row(f"  {after.name}.{pointer.model}", pointer.version, short(pointer.covers), Text(was, style="dim"))
    console.print(table)


def _was(old: Pointer | None, new: Pointer) -> str:
    """What a promotion did to a model: what came, and what is shown from other tables by now."""
    if old is None:
        return "new"
    if old.version != new.version:
        return f"was {old.version}"
    said = [f"{short(part)} restated" for part in (elsewhere(old, new),) if part]
    said += [f"{short(part)} more" for part in (new.covers - old.covers,) if part]
    return f"same version, {', '.join(said) or 'other columns'}"


def outcomes_json(outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    """Outcomes as plain values; `seconds` are summed over batches by phase."""
    return {
        name: {
            "version": o.version,
            "complete": o.ok,
            "requested": ranges_json(o.requested),
            "green": ranges_json(o.green),
            "partial": ranges_json(o.partial),
            "built": ranges_json(o.built),
            "red": ranges_json(o.red),
            "rowless": ranges_json(o.rowless),
            "rows": o.rows,
            "bytes": o.bytes,
            "changes": to_plain(o.changes),
            "wall_seconds": round(o.wall, 3),
            "seconds": {phase: round(s, 3) for phase, s in o.seconds.items()},
            "failures": [{"interval": str(f.interval), "error": f.error} for f in o.failures],
            "waits": [
                {"intervals": ranges_json(w.intervals), "upstream": w.upstream, "needs": ranges_json(w.needs)}
                for w in o.waits
            ],
            "failed_audits": [
                {
                    "audit": r.check,
                    "interval": str(r.interval),
                    "blocking": r.blocking,
                    "observed": r.observed,
                    "expected": r.expected,
                    "sample": list(r.sample),
                }
                for r in o.results
                if not r.passed
            ],
        }
        for name, o in outcomes.items()
    }


def promotion_json(before: Environment, after: Environment, verdict: Verdict) -> dict[str, object]:
    """A promotion, or the closed gate, as plain values."""
    return {
        "environment": after.name,
        "open": verdict.open,
        "revision": {"before": before.revision, "after": after.revision},
        "promoted": [
            {
                "model": p.model,
                "version": p.version,
                "release": after.releases.get(p.model),
                "covers": ranges_json(p.covers),
            }
            for p in verdict.pointers
            if verdict.open
        ],
        "in_the_way": obstacles_json(verdict.obstacles),
    }


def obstacles_json(found: Sequence[Obstacle]) -> list[dict[str, object]]:
    """What is in the way, as plain values."""
    return [
        {"model": o.model, "what": o.what, "intervals": ranges_json(o.intervals), "remedy": o.remedy} for o in found
    ]


def short(ranges: Ranges) -> str:
    """A set of ranges that stays short however many there are."""
    parts = [str(i) for i in ranges]
    more = f" and {len(parts) - SHOWN} more ranges" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more


def _print_trouble(console: Console, outcome: Outcome) -> None:
    for failure in outcome.failures:
        console.print(Text(f"{failure.error}", style="red"))
    failed = [r for r in outcome.results if not r.passed]
    for check in sorted({r.check for r in failed}):
        of = [r for r in failed if r.check == check]
        first = of[0]
        where = short(Ranges.of(r.interval for r in of))
        mark = Text("audit failed", style="red") if first.blocking else Text("warning", style="yellow")
        detail = f"{first.observed}; expected {first.expected}"
        console.print(styled("{} {}.{} on {}: {}", mark, outcome.model, check, where, detail))
        if first.sample:
            console.print(Text(f"  e.g. {'; '.join(first.sample)}", style="dim"))
    for waiting in outcome.waits:
        lacks = f"{waiting.upstream} {short(waiting.needs)}"
        console.print(styled("[yellow]{} waits[/] on {} for {}", outcome.model, short(waiting.intervals), lacks))


def _through(stage: Build, plan: Plan) -> str:
    return f"; {short(stage.open)} through {plan.now:%Y-%m-%d %H:%M} UTC only" if stage.open else ""


def _units(stage: Invalidate, project: Project) -> str:
    model = project.models.get(stage.model)
    return amount(stage.count, model.cadence) if model else f"{stage.count} intervals"


def _batches(count: int, concurrency: int) -> str:
    if count == 1:
        return "1 batch"
    at_once = min(count, concurrency)
    return f"{count} batches, {at_once} at a time" if at_once > 1 else f"{count} batches, one by one"
