"""How does a plan look as a comment of a pull request?"""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.cli.estimates import estimate_markdown
from backfill_assets.cli.plan_words import afterwards, has_history, kept_warning_words, override_words
from backfill_assets.cli.ranges import short
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.escaping import markdown, markdown_code
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount_of
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import saving
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.other_ways import other_ways
from backfill_assets.plan.scope_text import scope_words
from backfill_assets.plan.sized_batches import sized_words
from backfill_assets.plan.smallest_text import smallest_command, smallest_words
from backfill_assets.plan.stages import Build, Plan
from backfill_assets.plan.warnings import parted
from backfill_assets.promote.obstacle import Obstacle


def plan_markdown(
    plan: Plan,
    project: Project,
    estimate: PlanEstimate,
    gaps: Sequence[Gap] = (),
    ahead: Sequence[Obstacle] = (),
    first: Sequence[str] = (),
) -> str:
    """The plan as a comment of a pull request; `gaps` and what is `ahead` close the gate whatever is built. `first`:
    lines that come before all else."""
    why = [f"**Why:** {markdown(plan.request.why)}", ""] if plan.request.why else []
    begin = [*first, ""] if first else []
    lines = [
        f"## Plan `{plan.id}` for {plan.environment}",
        "",
        *begin,
        *why,
        "| model | change | to do |",
        "|---|---|---|",
    ]
    work = {stage.model: stage for stage in plan.work}
    for name in plan.models:
        change, stage = plan.changes.get(name), work.get(name)
        said = markdown("; ".join([str(change) if change else "", *plan.because.get(name, ())]).strip("; "))
        if stage is not None:
            verb = "build" if isinstance(stage, Build) else "audit"
            todo = f"{verb} {amount_of(stage.count, project.models[name].calendar)}, {short(stage.intervals)}"
        else:
            todo = markdown(plan.kept.get(name, "wait"))
        lines.append(f"| `{name}` | {said} | {todo} |")
    for name, release in plan.reverts.items():
        lines += ["", f"**A revert**: `{name}` has the code of release {markdown(release)} again."]
    for name, way in plan.strategies.items():
        if has_history(plan.changes.get(name)):
            lines += ["", f"`{name}` by **{way}**: {markdown(plan.proof_of(name))}."]
    for sentence in (*scope_words(plan), *copied_words(plan, project.models), *frozen_words(plan)):
        lines += ["", markdown(sentence)]
    for sentence in sized_words(plan):
        lines += ["", markdown(sentence)]
    for found in plan.rewired:
        lines += ["", f"`{found.model}`: {markdown(found.text)}."]
    for cut in plan.cut_off:
        reads = ", ".join(f"`{name}`" for name in cut.reads)
        waits = cut.reads[0] in project.sources and project.sources[cut.reads[0]].ready
        verb = "is" if len(cut.reads) == 1 else "are"
        why = f"{reads} {verb} not ready" if waits else f"there are no rows in {reads}"
        lines += ["", f"Of `{cut.model}`, {short(cut.intervals)} is not expected yet: {why}."]
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
    for other in other_ways(plan, project.models):
        lines += ["", f"{markdown(other.words)} {markdown_code(other.command)}"]
    for word in plan.overrides:
        lines += [
            "",
            f"**Declared equivalent** (same_as): `{word.model}` has {markdown(override_words(word))}"
            f" ({markdown_code(word.place)}).",
        ]
    warnings, kept = parted(plan, project)
    for warning in warnings:
        told = markdown(f"{warning.what}. {warning.why}; {warning.fix}.")
        lines += ["", f"Warning, {markdown_code(warning.place)}: {told}"]
    if kept:
        sentence, command = kept_warning_words(kept)
        lines += ["", f"Warnings: {markdown(sentence)} {markdown_code(command)}"]
    for stage in plan.invalidations:
        what = f"`{stage.model}` {stage.version}, {short(stage.intervals)}"
        lines += ["", f"Invalidates {what}: {markdown(stage.reason)}."]
    for sentence in afterwards(plan, gaps, ahead):
        first, *rest = sentence.splitlines()
        lines += ["", markdown(first), *([""] if rest else []), *(f"- {markdown(line.strip())}" for line in rest)]
    return "\n".join(lines)
