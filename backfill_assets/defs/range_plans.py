"""Which plan does a materialized range belong to? The open one that covers its days, or a new one, like `apply`'s.

So whatever is built from the UI, or by `dagster asset materialize`, has a candidate to look at, a comparison, and an id
that `approve` and `promote` take; and it is refused where `apply` would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import dagster as dg

from backfill_assets.app.apply import Checked, check_rows
from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.check_texts import problems
from backfill_assets.app.context import Context
from backfill_assets.app.plan import continued_reads, plan_by_now, plan_request
from backfill_assets.build.bench import Workbench
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pin import Pins
from backfill_assets.defs.diff import log_checked
from backfill_assets.defs.links import link_run, review_link
from backfill_assets.defs.names import model_key
from backfill_assets.defs.next_words import what_comes_next
from backfill_assets.defs.partitions import partition_start
from backfill_assets.defs.plan_tags import named_plan, recorded_plan, recording
from backfill_assets.defs.report import Worked
from backfill_assets.defs.runs import BACKFILL_TAG
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faulty import refuse_faulty
from backfill_assets.plan.frozen_text import continued_words
from backfill_assets.plan.older_logic import refuse_parts
from backfill_assets.plan.plan import asked_of
from backfill_assets.plan.renamed_columns import still_copied
from backfill_assets.plan.stages import Build, Request
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.promote.lifecycle import find_plan, parallel_plan_text
from backfill_assets.state.plans import PlanRecord, PlanStatus

Scope = Mapping[str, Interval]
"""Model → the range that is materialized of it."""


def plan_of(context: Context, step: dg.AssetExecutionContext, model: Model, interval: Interval, pins: Pins) -> str:
    """The plan that a step works on: the one that its run is tagged with, the newest open one that covers the run's
    days, or else a new one, which freezes the run's pins; "" when there is nothing to plan. The run is tagged with it.

    Raises PlanError when another plan is in the way, the tag names none, or the interval is shown by older logic, and
    ProjectError where the model cannot be computed as its sources are by now.
    """
    refuse_faulty(context.project, Request(select=(model.name,)))
    run = step.instance.get_run_by_id(step.run.run_id) or step.run
    pointer = context.control.environments.read(context.environment).pointers.get(model.name)
    refuse_parts(context.project, pointer, model.name, interval)
    if named := named_plan(context.project, run.tags):
        find_plan(context.control, named)
        return named
    if ours := recorded_plan(context.project, run.tags):
        record = find_plan(context.control, ours)
        if record.live and model.name in record.versions:
            return ours
    scope = _scope(step, run, context.project, model, interval)
    facts = context.facts()
    covering = [r for r in context.control.plans.all() if r.live and _covers(context, facts, r, scope)]
    if covering:
        plan = covering[-1].id
    else:
        made = plan_request(context, request_for(context.project, scope), facts=facts)
        made = replace(made, sources={**made.sources, **{name: pins[name] for name in pins}})
        opened = open_plan(context, made, facts)
        if opened is None:
            return ""
        plan = opened.plan.id
        for other in opened.beside:
            Log(step).info(parallel_plan_text(other))
    step.instance.add_run_tags(run.run_id, recording(context.project, plan))
    link_run(step.instance, run, f"plan {plan} on the reviewer's page", "plan", plan)
    return plan


def as_planned(
    context: Context, step: dg.AssetExecutionContext, bench: Workbench, plan: str, model: Model, interval: Interval
) -> Workbench:
    """The workbench, with what the plan says: sources as it froze them, whichever run goes on with it, its batches, and
    what is copied. What that means is logged."""
    found = continued_reads(context, plan, model.name, Ranges((interval,)), bench.pins)
    for sentence in continued_words(found, bench.pins):
        Log(step).warning(sentence)
    said = stored_plan(context.control, plan)
    copies: dict[str, Copied] = {}
    if said and model.name in said.copies:
        whole = Ranges((interval,))
        copies[model.name] = still_copied(context.project, context.facts(), model.name, said.copies[model.name], whole)
    stages = said.stages if said else ()
    planned = {s.model: s.batches for s in stages if isinstance(s, Build) and s.version == bench.version(s.model)}
    return replace(bench, frozen=found.frozen, copies=copies, planned=planned)


def request_for(project: Project, scope: Scope) -> Request:
    """What `apply` would be asked for. Of models of several cadences, the days of the shortest one say the range, when
    it touches all that is asked of the others; else the range from the first day to the last of all of them."""
    names = tuple(name for name in project.models if name in scope)
    first, last = max(i.start for i in scope.values()), min(i.end for i in scope.values())
    if first >= last or any(
        not _within(scope[name], project.models[name].cadence.cover(Interval(first, last))) for name in names
    ):
        first, last = min(i.start for i in scope.values()), max(i.end for i in scope.values())
    return Request(select=names, start=first, end=last)


def worked_on(context: Context, step: dg.AssetExecutionContext, plan: str) -> Worked:
    """Show in the plan's candidate what is complete; when all of it is, try its texts and compare it with what is
    shown. Says what comes next."""
    facts = context.facts()
    shown = show_candidate(context, plan, facts)
    record, checked = find_plan(context.control, plan), Checked()
    if shown is not None and record.status is PlanStatus.APPLIED:
        checked = check_rows(context, plan_by_now(context, facts, record), record.id, facts)
        log_checked(context.project, step, checked)
    said = what_comes_next(context, record, checked.proved.in_the_way)
    Log(step).info(f"plan {record.id}: {said}")
    metadata = {"plan": record.id, "next": said, **review_link("plan", record.id)}
    return Worked(metadata=metadata, problems=tuple(problems(checked.texts, context.project)))


def _covers(context: Context, facts: Facts, record: PlanRecord, scope: Scope) -> bool:
    """Whether a plan leads to the loaded versions of the models, in all of these days."""
    if record.environment != context.environment:
        return False
    targets, request = {t.model: t for t in record.targets}, stored_request(context.control, record.id)
    if request.restate or request.forward_only:
        return False  # days of another table, or the rest of the days as they are shown
    return all(
        (target := targets.get(name)) is not None
        and target.version == context.project.fingerprints[name]
        and not Ranges((interval,)) - asked_of(context.project, facts, request, name)
        for name, interval in scope.items()
    )


def _scope(
    step: dg.AssetExecutionContext, run: dg.DagsterRun, project: Project, model: Model, interval: Interval
) -> Scope:
    """What the Dagster backfill that the run is of is about, or else the run itself."""
    found: dict[str, Interval] = {}
    backfill = step.instance.get_backfill(run.tags[BACKFILL_TAG]) if BACKFILL_TAG in run.tags else None
    data = backfill.asset_backfill_data if backfill else None
    subsets = data.target_subset.partitions_subsets_by_asset_key if data else {}
    for name, each in project.models.items():
        subset = subsets.get(model_key(project, name))
        keys = sorted(subset.get_partition_keys()) if subset else []
        if keys:
            found[name] = Interval(partition_start(keys[0]), each.cadence.shift(partition_start(keys[-1]), 1))
    if model.name in found:
        return found
    chosen = step.job_def.asset_layer.selected_asset_keys
    names = [n for n, m in project.models.items() if model_key(project, n) in chosen and m.cadence is model.cadence]
    return dict.fromkeys({*names, model.name}, interval)


def _within(inner: Interval, outer: Interval) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
