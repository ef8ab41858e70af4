"""How is a plan carried out? Its models in dependency order, independent ones side by side, in one session."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from graphlib import TopologicalSorter

from backfill_assets.audits.reads import tables_read
from backfill_assets.build.bench import Workbench
from backfill_assets.build.build import build
from backfill_assets.build.ledger_edits import invalidate
from backfill_assets.build.outcome import Outcome
from backfill_assets.build.text_check import refused_text
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.stages import Build, Plan

MODELS_AT_ONCE = 2
WAKES = 0.5
"""Seconds after which the main thread looks up from its wait: only it runs the handlers of signals, and one that came
to another thread (Arrow's, Delta's, one of ours) does not wake it."""


def apply(bench: Workbench, plan: Plan) -> dict[str, Outcome]:
    """Invalidate, build and audit what the plan says; returns what came of each model, in dependency order.

    A model whose upstreams failed in part is built where it can be. Nothing is promoted.
    """
    planned = {stage.model: stage.batches for stage in plan.work if isinstance(stage, Build)}
    bench = replace(bench, now=plan.now, ignore_cron=plan.request.ignore_cron, planned=planned, copies=plan.copies)
    invalidate(bench.control, bench.log, plan.invalidations, now=plan.now, run=bench.run)
    work: dict[str, Ranges] = {}
    for stage in plan.work:
        work[stage.model] = work.get(stage.model, Ranges()) | stage.intervals
    graph = TopologicalSorter(
        {name: [read for read in tables_read(bench.project.models[name]) if read in work] for name in work}
    )
    graph.prepare()
    outcomes: dict[str, Outcome] = {}
    with bench.beating(), ThreadPoolExecutor(max_workers=MODELS_AT_ONCE, thread_name_prefix="model") as pool:
        running: dict[Future[Outcome], str] = {}
        try:
            while graph.is_active():
                for name in graph.get_ready():
                    running[pool.submit(_tried, bench, name, work[name])] = name
                done, _ = wait(running, timeout=WAKES, return_when=FIRST_COMPLETED)
                for future in done:
                    name = running.pop(future)
                    outcomes[name] = future.result()
                    graph.done(name)
        except BaseException:
            bench.stop.set()
            raise
    return {name: outcomes[name] for name in bench.project.models if name in outcomes}


def _tried(bench: Workbench, name: str, intervals: Ranges) -> Outcome:
    """Build and audit what is missing of these intervals, unless the text that is loaded is refused."""
    return refused_text(bench, name, intervals) or build(bench, name, intervals)
