"""How are rows and readers' answers compared in Dagster, whoever built them? Jobs that do what the commands do."""

from __future__ import annotations

import dagster as dg

from backfill_assets.app.consumers import rerun_consumers
from backfill_assets.app.diff import SAMPLE, DiffRequest, compare
from backfill_assets.contracts.rerun import Rerun
from backfill_assets.core.wording import listed
from backfill_assets.defs.diff import diff_events
from backfill_assets.defs.job import Launched, job
from backfill_assets.plan.request_parsing import between
from backfill_assets.promote.lifecycle import only_open_plan


@job("diff", step="compare", description="Compare old and new rows, day by day. Changes nothing.")
def diff_job(run: Launched) -> None:
    """Compares two sides; each model gets an observation with what differs. Fails when that is not as expected."""
    said = run.said
    request = DiffRequest(
        target=said.get("target"),
        models=tuple(said.get("model", ())),
        within=between(said.get("start"), said.get("end")),
        slices=tuple(said.get("slice", ())),
        tolerance=said.get("tolerance"),
        sample=run.config["sample"] if run.config["sample"] is not None else SAMPLE,
        expect_moved=tuple(said.get("expect_moved", ())),
        expect_unmoved=tuple(said.get("expect_unmoved", ())),
        expect_filled=tuple(said.get("expect_filled", ())),
    )
    found = compare(run.context, request)
    for event in diff_events(run.context.project, found.diff):
        run.log.info(str(event.description))
        run.step.log_event(event)
    for column in found.rewired:
        run.log.warning(f"{column.model}: {column.text}")
    if not found.as_expected:
        wrong = [*map(str, found.judgement.surprises), *(str(one) for one in found.filled if not one.met)]
        raise dg.Failure(description="\n".join(wrong), allow_retries=False)


@job("consumers", step="ask_consumers", description="List who reads prod, or run their queries over a plan.")
def consumers_job(run: Launched) -> None:
    """Says who reads what; with `check`, runs their queries over an open plan, and fails when an answer is not as it
    has to be."""
    if not run.config["check"]:
        for consumer in run.context.project.consumers.values():
            run.log.info(f"{consumer.name} ({consumer.owner or 'no owner'}) reads {listed(list(consumer.reads))}")
        return
    found = rerun_consumers(run.context, run.said.get("plan") or only_open_plan(run.context.control).id)
    for rerun in found.reruns:
        same = ", the same rows as are shown" if rerun.same else ""
        (run.log.info if rerun.met else run.log.warning)(f"{_named(rerun)}: {listed(rerun.missed) or 'ok'}{same}")
    if not found.met:
        bad = [f"{_named(r)}: {listed(r.missed)}" for r in found.reruns if not r.met]
        raise dg.Failure(description="\n".join(bad), allow_retries=False)


def _named(rerun: Rerun) -> str:
    return f"{rerun.consumer}.{rerun.evaluation or rerun.query}"
