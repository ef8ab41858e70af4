"""What would be done, and what is known before it begins, in Dagster? Jobs with the same answer as the commands."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from backfill_assets.app.preflight import read_preflight
from backfill_assets.app.preview import Preview, preview
from backfill_assets.core.escaping import markdown
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount_of
from backfill_assets.defs.job import Launched, job
from backfill_assets.defs.links import review_link
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.estimate_text import duration, saving
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.other_ways import other_ways
from backfill_assets.plan.scope_text import scope_words
from backfill_assets.plan.smallest_text import smallest_words
from backfill_assets.plan.stages import Build
from backfill_assets.promote.lifecycle import collision_text, parallel_plan_text, plan_text


@job("plan", step="make_plan", description="Say what changed, what is missing and what would be done. Changes nothing.")
def plan_job(run: Launched) -> None:
    """Plans, and stores nothing: the step's output has the plan, what it takes, whom it affects, what is in its way."""
    found = preview(run.context, run.request)
    plan, stored = found.plan, found.claim.continues
    following = found.following
    for sentence in _beside(found):
        run.log.warning(sentence)
    run.log.info(f"plan {plan.id}: {following.step.value}{f': {following.command}' if following.command else ''}")
    told = {
        "plan": dg.MetadataValue.md("\n".join(_table(found, run.context.project))),
        "next": following.command or following.step.value,
        "takes": _takes(found),
        "readers": _listed(_readers(found)),
        "in the way": _listed([*map(str, found.ahead), *map(str, found.blocking)]),
        "mind": _listed([*_words(found, run.context.project), *_beside(found)]),
        **({"stored plan": stored.id, **review_link("plan", stored.id)} if stored else {}),
    }
    run.step.add_output_metadata({name: value for name, value in told.items() if value})


@job("preflight", step="look_ahead", description="Say what is known of a plan before it begins. Changes nothing.")
def preflight_job(run: Launched) -> None:
    """Makes a sheet of each model that would change; fails when something of it blocks."""
    found = read_preflight(run.context, run.request)
    sheets = {sheet.model: dg.MetadataValue.md("\n".join(_sheet(sheet.to_json()))) for sheet in found.sheets}
    run.step.add_output_metadata(sheets or {"plan": f"plan {found.plan.id} changes nothing"})
    for gap in found.findings:
        (run.log.warning if gap.blocking else run.log.info)(str(gap))
    if blocking := [str(gap) for gap in found.findings if gap.blocking]:
        raise dg.Failure(description="\n\n".join(blocking), allow_retries=False)


def _table(found: Preview, project: Project) -> Iterator[str]:
    plan = found.plan
    yield f"Plan `{plan.id}` for {markdown(plan.environment)}"
    if plan.request.why:
        yield f"\n**Why:** {markdown(plan.request.why)}"
    yield "\n| model | change | to do |\n|---|---|---|"
    work = {stage.model: stage for stage in plan.work}
    for name in plan.models:
        change, stage = plan.changes.get(name), work.get(name)
        why = "; ".join([*([str(change)] if change else []), *plan.because.get(name, ())])
        todo = plan.kept.get(name, "wait")
        if stage is not None:
            verb = "build" if isinstance(stage, Build) else "audit"
            todo = f"{verb} {amount_of(stage.count, project.models[name].calendar)}, {stage.intervals}"
        yield f"| `{name}` | {markdown(why)} | {markdown(todo)} |"


def _takes(found: Preview) -> str:
    total = found.estimate.total.seconds
    return duration(total.low, total.high) if total else ""


def _readers(found: Preview) -> list[str]:
    return [
        f"{i.consumer.name} ({i.consumer.owner or 'no owner'}): {i.level.said}; "
        + "; ".join(f"{m.model}: {', '.join(str(c) for c in m.changes)}" for m in i.models)
        for i in found.impacts
        if i.level is not None
    ]


def _words(found: Preview, project: Project) -> list[str]:
    plan, models = found.plan, project.models
    said = [f"{name} by {way}: {plan.proof_of(name)}" for name, way in plan.strategies.items()]
    said += [*scope_words(plan), *copied_words(plan, models), *frozen_words(plan)]
    said += [f"{column.model}: {column.text}" for column in plan.rewired]
    said += [cut.words for cut in plan.cut_off]
    said += [f"{b.model} waits for {b.upstream} {b.needs}" for b in plan.blocked]
    said += [f"{warning.what}. {warning.why}; {warning.fix}" for warning in plan.warnings]
    said += smallest_words(plan, models, found.estimate)
    said += [f"{other.words} {other.command}" for other in other_ways(plan, models)]
    said += [str(fault) for fault in found.faults]
    less = saving(found.estimate)
    return [*said, *([less] if less else []), *([found.maintenance.sentence] if found.maintenance else [])]


def _beside(found: Preview) -> list[str]:
    """How it stands to plans that are open, what became of the world since, and which rules count."""
    claim = found.claim
    said = [collision_text(one) for one in claim.collisions]
    said += [f"applying it replaces your {plan_text(old)}" for old in claim.supersedes]
    said += [parallel_plan_text(one) for one in claim.beside]
    said += [f"this is what is left of {plan_text(claim.continues)}"] if claim.continues else []
    said += [
        f"{n.model} {n.intervals}: {n.what}; {'once this is promoted, ' if n.restate else ''}{n.remedy}"
        for n in found.late
    ]
    return [*said, *(found.amendment.words if found.amendment else ()), *found.notes]


def _sheet(said: dict[str, object]) -> Iterator[str]:
    yield "| topic | |\n|---|---|"
    for topic, text in said.items():
        if topic != "model":
            yield f"| {markdown(topic)} | {'**not said**' if text is None else markdown(text)} |"


def _listed(lines: list[str]) -> dg.MetadataValue[str | None] | None:
    return dg.MetadataValue.md("\n".join(f"- {markdown(line)}" for line in lines)) if lines else None
